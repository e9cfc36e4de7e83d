package cli

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/terminal"
	"pigrep/query"
	"pigrep/query/rank"
	"pigrep/scope"
)

const (
	// envConfig names the settings file; noSettings is its value for none.
	envConfig  = "PIGREP_CONFIG"
	noSettings = "none"

	codeSettings = "settings"
)

// setting is a flag that the settings file can set. Its key is the long name of the
// flag, in the table of its command or, for shared flags, at the top level. Type, values
// and meaning are those of the flag.
type setting struct {
	command  string // and the commands below it; "" for a shared flag
	flag     string
	standard string     // the default; "" if it is not a single value
	note     string     // describes the default then
	env      []variable // override the file
	yields   []string   // flags that, if given, override the file
}

// variable is an environment variable that sets a setting.
type variable struct {
	name  string
	value string // the value it sets; "" for the value of the variable
}

// settings is the only table of settings. The parser, `pigrep config`, the sample file,
// completion and the docs use it. It has no flags that start an action, such as
// --rebuild, or that hide results, such as --error.
var settings = []setting{
	{flag: "session-dir", note: "pi's own directories"},
	// --session-dir must not use the index of the user's own sessions.
	{flag: "index-dir", note: "in the user's cache directory", env: []variable{{name: envIndexDir}}, yields: []string{"session-dir"}},
	{flag: "exclude", note: "none"},
	{flag: "scope", standard: string(scope.Default), yields: []string{"kind"}},
	{flag: "follow", standard: "false"},
	{flag: "max-line", standard: strconv.Itoa(standardMaxLine)},
	{flag: "no-update", standard: "false"},
	{flag: "redact", standard: "false"},
	{flag: "dates", standard: "false"},
	{flag: "color", standard: string(terminal.Auto), env: []variable{{"NO_COLOR", string(terminal.Never)}, {"FORCE_COLOR", string(terminal.Always)}}},
	{flag: "hyperlink", standard: string(terminal.Auto)},
	{flag: "quiet", standard: "false", yields: []string{"verbose"}},
	{flag: "verbose", standard: "false", yields: []string{"quiet"}},
	{command: searchName, flag: "limit", note: fmt.Sprintf("%d, with flat %d", query.DefaultLimit, query.DefaultFlatLimit)},
	{command: searchName, flag: "per-session", standard: strconv.Itoa(query.DefaultPerSession)},
	{command: searchName, flag: "all-words", standard: "false"},
	{command: searchName, flag: "flat", standard: "false"},
	{command: searchName, flag: "sort", standard: rank.SortNames[0]},
	{command: searchName, flag: "context", standard: "0", yields: []string{"after-context", "before-context"}},
	{command: searchName, flag: "no-pager", standard: "false"},
	{command: "grep", flag: "context", standard: "0", yields: []string{"after-context", "before-context", "count", "files-with-matches"}},
	{command: "sessions", flag: "limit", note: "all, with a query 20"},
	{command: "sessions", flag: "no-pager", standard: "false"},
	{command: "show", flag: "full", standard: "false"},
	{command: "show", flag: "no-pager", standard: "false"},
	{command: "tools", flag: "no-chart", standard: "false"},
	{command: "tools", flag: "utc", standard: "false"},
	{command: "usage", flag: "no-chart", standard: "false"},
	{command: "usage", flag: "prices", note: "none"},
	{command: "usage", flag: "utc", standard: "false"},
}

func (s *setting) key() string {
	if s.command == "" {
		return s.flag
	}
	return s.command + "." + s.flag
}

// flagOf returns the flag of the setting and its command; for shared flags, search.
func (s *setting) flagOf(root *cobra.Command) (*cobra.Command, *pflag.Flag) {
	name := s.command
	if name == "" {
		name = searchName
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
	cmd, _ := s.flagOf(root)
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
	for i := range settings {
		if c := settings[i].command; c != "" && !slices.Contains(names, c) {
			names = append(names, c)
		}
	}
	return names
}

func settingKeys() []string {
	keys := make([]string, len(settings))
	for i := range settings {
		keys[i] = settings[i].key()
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
func (s *setting) origin(a *App, cmd *cobra.Command, file *settingsFile) (origin, *variable) {
	concerns := s.concerns(cmd)
	if concerns && cmd.Flags().Changed(s.flag) {
		return fromFlag, nil
	}
	for i := range s.env {
		if a.Getenv(s.env[i].name) != "" {
			return fromEnvironment, &s.env[i]
		}
	}
	if _, ok := file.said[s.key()]; !ok || concerns && slices.ContainsFunc(s.yields, cmd.Flags().Changed) {
		return fromDefault, nil
	}
	return fromFile, nil
}

// applySettings sets the flags that were not given to the values of the settings file.
// Commands that read no sessions ignore the file, so that help works even if it is
// invalid.
func (a *App) applySettings(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("session-dir"); f == nil || f.Hidden {
		return nil
	}
	file, err := a.readSettings()
	if err != nil {
		return err
	}
	for i := range settings {
		s := &settings[i]
		if !s.concerns(cmd) {
			continue
		}
		if from, _ := s.origin(a, cmd, file); from != fromFile {
			continue
		}
		for _, v := range file.said[s.key()].values {
			if err := cmd.Flags().Lookup(s.flag).Value.Set(v); err != nil {
				at := file.said[s.key()]
				return settingsProblem(file.path, at.line, at.column, settingsHint, "%s: %v", s.key(), err)
			}
		}
	}
	return nil
}
