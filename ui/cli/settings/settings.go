// Package settings reads the settings file, and says where the values of a run come from.
package settings

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/terminal"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/printer"
)

const (
	// EnvConfig names the settings file; noSettings is its value for none.
	EnvConfig  = "PIGREP_CONFIG"
	NoSettings = "none"

	codeSettings = "settings"

	searching = "search" // the command whose flags shared settings have
)

// setting is a flag that the settings file can set. Its key is the long name of the
// flag, in the table of its command or, for shared flags, at the top level. Type, values
// and meaning are those of the flag.
type setting struct {
	command  string // and the commands below it; "" for a shared flag
	flag     string
	Standard string     // the default; "" if it is not a single value
	Note     string     // describes the default then
	Env      []variable // override the file
	Yields   []string   // flags that, if given, override the file
}

// variable is an environment variable that sets a setting.
type variable struct {
	Name  string
	value string // the value it sets; "" for the value of the variable
}

// Table is the only table of settings. The parser, `pigrep config`, the sample file,
// completion and the docs use it. It has no flags that start an action, such as
// --rebuild, or that hide results, such as --error.
var Table = []setting{
	{flag: "session-dir", Note: "pi's own directories"},
	// --session-dir must not use the index of the user's own sessions.
	{flag: "index-dir", Note: "in the user's cache directory", Env: []variable{{Name: location.EnvIndexDir}}, Yields: []string{"session-dir"}},
	{flag: "exclude", Note: "none"},
	{flag: "scope", Standard: string(scope.Default), Yields: []string{"kind"}},
	{flag: "follow", Standard: "false"},
	{flag: "max-line", Standard: strconv.Itoa(flags.StandardMaxLine)},
	{flag: "no-update", Standard: "false"},
	{flag: "redact", Standard: "false"},
	{flag: "dates", Standard: "false"},
	{flag: "color", Standard: string(terminal.Auto), Env: []variable{{"NO_COLOR", string(terminal.Never)}, {"FORCE_COLOR", string(terminal.Always)}}},
	{flag: "hyperlink", Standard: string(terminal.Auto)},
	{flag: "quiet", Standard: "false", Yields: []string{"verbose"}},
	{flag: "verbose", Standard: "false", Yields: []string{"quiet"}},
	{command: searching, flag: "limit", Note: fmt.Sprintf("%d, with flat %d", search.DefaultLimit, search.DefaultFlatLimit)},
	{command: searching, flag: "per-session", Standard: strconv.Itoa(search.DefaultPerSession)},
	{command: searching, flag: "all-words", Standard: "false"},
	{command: searching, flag: "flat", Standard: "false"},
	{command: searching, flag: "sort", Standard: rank.SortNames[0]},
	{command: searching, flag: "context", Standard: "0", Yields: []string{"after-context", "before-context"}},
	{command: searching, flag: "no-pager", Standard: "false"},
	{command: "grep", flag: "context", Standard: "0", Yields: []string{"after-context", "before-context", "count", "files-with-matches"}},
	{command: "sessions", flag: "limit", Note: "all, with a query 20"},
	{command: "sessions", flag: "no-pager", Standard: "false"},
	{command: "show", flag: "full", Standard: "false"},
	{command: "show", flag: "no-pager", Standard: "false"},
	{command: "tools", flag: "no-chart", Standard: "false"},
	{command: "tools", flag: "utc", Standard: "false"},
	{command: "usage", flag: "no-chart", Standard: "false"},
	{command: "usage", flag: "prices", Note: "none"},
	{command: "usage", flag: "utc", Standard: "false"},
}

func (s *setting) Key() string {
	if s.command == "" {
		return s.flag
	}
	return s.command + "." + s.flag
}

// FlagOf returns the flag of the setting and its command; for shared flags, search.
func (s *setting) FlagOf(root *cobra.Command) (*cobra.Command, *pflag.Flag) {
	name := s.command
	if name == "" {
		name = searching
	}
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c, c.Flags().Lookup(s.flag)
		}
	}
	return nil, nil
}

// words returns all values of the setting, nil if it is open.
func (s *setting) words(root *cobra.Command) []string {
	cmd, _ := s.FlagOf(root)
	complete, ok := cmd.GetFlagCompletionFunc(s.flag)
	if !ok {
		return nil
	}
	words, _ := complete(cmd, nil, "")
	return words
}

// concerns reports whether the setting applies to the command.
func (s *setting) concerns(cmd *cobra.Command) bool {
	for c := cmd; s.command != "" && c.Name() != s.command; c = c.Parent() {
		if !c.HasParent() {
			return false
		}
	}
	f := cmd.Flags().Lookup(s.flag)
	return f != nil && !f.Hidden
}

// valueName returns the name of the flag's value in help.
func valueName(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	return name
}

// settingTables lists the commands with their own settings.
func settingTables() []string {
	var names []string
	for i := range Table {
		if c := Table[i].command; c != "" && !slices.Contains(names, c) {
			names = append(names, c)
		}
	}
	return names
}

func Keys() []string {
	keys := make([]string, len(Table))
	for i := range Table {
		keys[i] = Table[i].Key()
	}
	return keys
}

// origin is where the value of a setting comes from.
type origin string

const (
	fromDefault     origin = "default"
	fromFile        origin = "file"
	fromEnvironment origin = "environment"
	fromFlag        origin = "flag"
)

// origin returns where the value of the setting comes from in this run, and for the
// environment the variable.
func (s *setting) origin(a *app.App, cmd *cobra.Command, file *File) (origin, *variable) {
	concerns := s.concerns(cmd)
	if concerns && cmd.Flags().Changed(s.flag) {
		return fromFlag, nil
	}
	for i := range s.Env {
		if a.Getenv(s.Env[i].Name) != "" {
			return fromEnvironment, &s.Env[i]
		}
	}
	if _, ok := file.said[s.Key()]; !ok || concerns && slices.ContainsFunc(s.Yields, cmd.Flags().Changed) {
		return fromDefault, nil
	}
	return fromFile, nil
}

// Apply sets the flags that were not given to the values of the settings file,
// which is checked against all commands of root.
// Commands that read no sessions ignore the file, so that help works even if it is
// invalid.
func Apply(a *app.App, cmd *cobra.Command, root func() *cobra.Command) error {
	if f := cmd.Flags().Lookup("session-dir"); f == nil || f.Hidden {
		return nil
	}
	file, err := Read(a, root)
	if err != nil {
		return err
	}
	for i := range Table {
		s := &Table[i]
		if !s.concerns(cmd) {
			continue
		}
		if from, _ := s.origin(a, cmd, file); from != fromFile {
			continue
		}
		for _, v := range file.said[s.Key()].Values {
			if err := cmd.Flags().Lookup(s.flag).Value.Set(v); err != nil {
				at := file.said[s.Key()]
				return settingsProblem(file.Path, at.Line, at.Column, settingsHint, "%s: %v", s.Key(), err)
			}
		}
	}
	return nil
}

// Rows returns the settings with these keys, or all without keys, as they are in
// this run. standard returns the values that a default stands for.
func Rows(a *app.App, root, cmd *cobra.Command, file *File, keys []string, standard func(key, standard string) []string) []printer.Setting {
	var rows []printer.Setting
	for i := range Table {
		s := &Table[i]
		if len(keys) > 0 && !slices.Contains(keys, s.Key()) {
			continue
		}
		row := settingRow(a, root, cmd, file, s)
		if row.Source == string(fromDefault) {
			row.Values = standard(s.Key(), s.Standard)
		}
		rows = append(rows, row)
	}
	return append(rows, tuiRows(file, keys)...)
}

// settingRow returns the value and the source of a setting in this run.
func settingRow(a *app.App, root, cmd *cobra.Command, file *File, s *setting) printer.Setting {
	from, v := s.origin(a, cmd, file)
	row := printer.Setting{Key: s.Key(), Source: string(from), Note: s.Note}
	switch from {
	case fromFlag:
		row.From, row.Values = "--"+s.flag, FlagValues(cmd.Flags().Lookup(s.flag))
	case fromEnvironment:
		row.From, row.Values = "$"+v.Name, []string{v.value}
		if v.value == "" {
			row.Values = []string{a.Getenv(v.Name)}
		}
	case fromFile:
		at := file.said[s.Key()]
		row.From, row.Values = fmt.Sprintf("%s:%d", file.Path, at.Line), at.Values
	}
	_, f := s.FlagOf(root)
	row.Type = f.Value.Type()
	return row
}

// FlagValues returns the values of a flag.
func FlagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}
