// Package settings reads the settings file, and says where the values of a run come from.
package settings

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/terminal"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
	"pigrep/ui/tui"
)

const (
	// EnvConfig names the settings file; noSettings is its value for none.
	EnvConfig  = "PIGREP_CONFIG"
	NoSettings = "none"

	codeSettings = "settings"

	searching = "search" // the command whose flags shared settings have
)

// setting is a flag that the settings file can set. Its key is the long name of the flag, in the
// table of its command or, for shared flags, at the top level. Its type, values and meaning are the
// same as for the flag.
type setting struct {
	name     string // of the key, if the flag has another
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
	{flag: "session-dir", Note: "agents' own directories"},
	// --session-dir must not use the index of the user's own sessions.
	{flag: "index-dir", Note: "in the user's cache directory", Env: []variable{{Name: location.EnvIndexDir}}, Yields: []string{"session-dir"}},
	{name: "agents", flag: "agent", Note: "all"},
	{flag: "exclude", Note: "none"},
	{flag: "scope", Standard: string(scope.Default), Yields: []string{"kind"}},
	{flag: "follow", Standard: "false"},
	{flag: "max-line", Standard: strconv.Itoa(flags.StandardMaxLine)},
	{flag: "max-session", Standard: strconv.Itoa(flags.StandardMaxSession)},
	{flag: "hosts", Note: "none"},
	{flag: "no-update", Standard: "false"},
	{flag: "keep", Note: "none"},
	{flag: "keep-limit", Standard: strconv.Itoa(flags.StandardKeepLimit)},
	{flag: "keep-compress", Standard: strconv.Itoa(flags.StandardKeepCompress)},
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
	{command: "hook", flag: "off", Standard: "false"},
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
		return cmp.Or(s.name, s.flag)
	}
	return s.command + "." + s.flag
}

// FlagOf returns the flag of the setting and its command; for shared flags, search.
func (s *setting) FlagOf(root *cobra.Command) (*cobra.Command, *pflag.Flag) {
	cmd, _, _ := root.Find([]string{cmp.Or(s.command, searching)}) // the table names no others
	return cmd, cmd.Flags().Lookup(s.flag)
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

func (s *setting) concerns(cmd *cobra.Command) bool {
	for c := cmd; s.command != "" && c.Name() != s.command; c = c.Parent() {
		if !c.HasParent() {
			return false
		}
	}
	f := cmd.Flags().Lookup(s.flag)
	return f != nil && (!f.Hidden || flags.IsQuiet(f))
}

func valueName(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	return name
}

func Keys() []string { return lists.Map(Table, func(s setting) string { return s.Key() }) }

// Where the value of a setting comes from.
const (
	fromDefault     = "default"
	fromFile        = "file"
	fromEnvironment = "environment"
	fromFlag        = "flag"
)

// origin returns where the value of the setting comes from in this run, and for the
// environment the variable.
func (s *setting) origin(a *app.App, cmd *cobra.Command, file *File) (from string, v *variable) {
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
// Commands that read no sessions, here or elsewhere, ignore the file, so that help works even if it is
// invalid.
func Apply(a *app.App, cmd *cobra.Command, root func() *cobra.Command) error {
	if f := cmd.Flags().Lookup("session-dir"); (f == nil || f.Hidden) && cmd.Flags().Lookup(flags.On) == nil {
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

// units are those that the value of a flag is named by.
var units = map[string]string{"MB": "MB", "GB": "GB", "DAYS": "days"}

// Rows returns the settings with these keys, or all without keys, as they are in
// this run. standard returns the values that a default stands for.
func Rows(a *app.App, root, cmd *cobra.Command, file *File, keys []string, standard func(key, standard string) []string) []printer.Setting {
	var rows []printer.Setting
	for i := range Table {
		s := &Table[i]
		if len(keys) > 0 && !slices.Contains(keys, s.Key()) {
			continue
		}
		_, f := s.FlagOf(root)
		from, v := s.origin(a, cmd, file)
		row := printer.Setting{Key: s.Key(), Source: from, Note: s.Note, Type: f.Value.Type(), Unit: units[valueName(f)]}
		switch from {
		case fromDefault:
			row.Values = standard(s.Key(), s.Standard)
		case fromFlag:
			row.From, row.Values = "--"+s.flag, FlagValues(cmd.Flags().Lookup(s.flag))
		case fromEnvironment:
			row.From, row.Values = "$"+v.Name, []string{cmp.Or(v.value, a.Getenv(v.Name))}
		case fromFile:
			at := file.said[s.Key()]
			row.From, row.Values = fmt.Sprintf("%s:%d", file.Path, at.Line), at.Values
		}
		rows = append(rows, row)
	}
	return append(rows, tuiRows(file, keys)...)
}

func FlagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

type File struct {
	Path   string // "" if there is no directory for one
	Exists bool
	said   map[string]Value // by key
}

// Value is the value of a key in the settings file, and its position.
type Value struct {
	Values       []string
	Line, Column int
}

func settingsPath(a *app.App) (path string, named bool) {
	switch v := a.Getenv(EnvConfig); {
	case v == NoSettings:
		return "", true
	case v != "":
		return a.Absolute(v), true
	case a.ConfigDir != "":
		return filepath.Join(a.ConfigDir, "pigrep", "config.toml"), false
	}
	return "", false
}

// Read reads and checks the whole settings file, including the settings of other
// commands.
func Read(a *app.App, root func() *cobra.Command) (*File, error) {
	path, named := settingsPath(a)
	file := &File{Path: path}
	if path == "" {
		return file, nil
	}
	var data []byte
	info, err := os.Stat(path)
	if err == nil && !named && info.Mode()&fs.ModeNamedPipe != 0 { // it would block every command
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is a named pipe")}
	} else {
		data, err = os.ReadFile(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return file, nil
	case errors.Is(err, fs.ErrNotExist):
		return file, &problem.Error{Code: codeSettings, Message: fmt.Sprintf("settings file %s does not exist ($%s)", path, EnvConfig),
			Hint: "create one with `pigrep config --sample`, or unset $" + EnvConfig}
	case err != nil:
		return file, &problem.Error{Code: codeSettings, Message: "cannot read the settings file", Err: err,
			Hint: "check its permissions, or ignore it: " + EnvConfig + "=" + NoSettings}
	}
	file.Exists = true
	file.said, err = Parse(root(), path, data)
	return file, err
}

func settingsProblem(path string, line, column int, hint, format string, args ...any) error {
	return &problem.Error{Code: codeSettings, Hint: hint,
		Message: fmt.Sprintf("%s:%d:%d: ", path, line, column) + fmt.Sprintf(format, args...)}
}

const settingsHint = "`pigrep config` lists the keys, `pigrep config --sample` shows their syntax"

func Parse(root *cobra.Command, path string, data []byte) (map[string]Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := toml.Unmarshal(data, &map[string]any{}); err != nil {
		line, column := 1, 1
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column = e.Position()
		}
		return nil, settingsProblem(path, line, column, settingsHint, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	values := make(map[string]Value)
	// In file order, so that the first error is reported.
	for _, w := range writtenIn(data) {
		if err := w.check(root, path); err != nil {
			return nil, err
		}
		if !w.isTable() {
			values[w.key] = w.Value
		}
	}
	if e := tuiConfig(values).Check(); e != nil {
		at := values[tuiKey(e.Table, e.Name)]
		return values, settingsProblem(path, at.Line, at.Column, e.Hint, "%s: %s", tuiKey(e.Table, e.Name), e.Reason)
	}
	return values, nil
}

// written is a key or a table in the file, with its value: a text, a number, true or false, or a
// list.
type written struct {
	Value
	key  string
	kind unstable.Kind // of the value, or of the table; Invalid for a list of other things than texts
}

func (w *written) isTable() bool {
	return w.kind == unstable.Table || w.kind == unstable.InlineTable
}

// writtenIn lists the keys and tables of a valid file in file order.
func writtenIn(data []byte) []written {
	var list []written
	var p unstable.Parser
	p.Reset(data)
	var table []string
	var visit func(n *unstable.Node, below []string)
	visit = func(n *unstable.Node, below []string) {
		key := slices.Clone(below)
		w := written{kind: n.Kind}
		for it := n.Key(); it.Next(); {
			if len(key) == len(below) {
				start := p.Shape(it.Node().Raw).Start
				w.Line, w.Column = start.Line, start.Column
			}
			key = append(key, string(it.Node().Data))
		}
		w.key = strings.Join(key, ".")
		if n.Kind != unstable.KeyValue {
			list, table = append(list, w), key
			return
		}
		v := n.Value()
		switch w.kind = v.Kind; v.Kind {
		case unstable.Array:
			w.Values = []string{}
			for it := v.Children(); it.Next(); {
				if w.Values = append(w.Values, string(it.Node().Data)); it.Node().Kind != unstable.String {
					w.kind = unstable.Invalid
				}
			}
		case unstable.InlineTable:
		default:
			w.Values = []string{string(v.Data)}
		}
		list = append(list, w)
		if w.kind == unstable.InlineTable {
			for it := v.Children(); it.Next(); {
				visit(it.Node(), key)
			}
		}
	}
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			visit(n, nil)
		case unstable.KeyValue:
			visit(n, table)
		}
	}
	return list
}

// check checks the key, and turns its value into a value of its flag.
func (w *written) check(root *cobra.Command, path string) error {
	fail := func(hint, format string, args ...any) error {
		return settingsProblem(path, w.Line, w.Column, hint, format, args...)
	}
	commands := slices.Compact(lists.Map(Table, func(s setting) string { return s.command }))
	tables := append(commands[1:], tuiTables()...) // the first settings are shared
	if w.isTable() && slices.Contains(tables, w.key) {
		return nil
	}
	isTUI := slices.ContainsFunc(tuiTables()[1:], func(table string) bool { return strings.HasPrefix(w.key, table+".") })
	if !w.isTable() && isTUI { // tui.Config.Check checks the rest
		if w.kind != unstable.String && w.kind != unstable.Array {
			return fail(`as in: next = ["down", "ctrl+n"]`, "%s takes a text in quotes, or a list of them", w.key)
		}
		return nil
	}
	i := slices.IndexFunc(Table, func(s setting) bool { return s.Key() == w.key })
	switch {
	case i >= 0:
	case w.isTable():
		return fail(NearestHint(tables, w.key), "unknown table %s", w.key)
	case slices.Contains(tables, w.key):
		return fail("write ["+w.key+"]", "%s is a table", w.key)
	default:
		return fail(NearestHint(Keys(), w.key), "unknown key %s", w.key)
	}
	s := &Table[i]
	_, f := s.FlagOf(root)
	if want := w.fit(f.Value.Type()); want != "" {
		return fail("as in: "+sampleOf(root, s), "%s takes %s", w.key, want)
	}
	if words := s.words(root); len(words) > 0 {
		for _, v := range w.Values {
			if !slices.Contains(words, v) {
				return fail("one of "+strings.Join(words, ", "), "%s: there is no %q", w.key, v)
			}
		}
	}
	if valueName(f) == "DIR" {
		for i, dir := range w.Values {
			if dir != "" && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~") && !strings.HasPrefix(dir, "file:") {
				w.Values[i] = filepath.Join(filepath.Dir(path), dir) // it must not depend on the working directory
			}
		}
	}
	return nil
}

// fit says what a flag of a type takes, if that is not what is written.
func (w *written) fit(flagType string) (want string) {
	switch {
	case flagType == "bool" && w.kind != unstable.Bool:
		return "true or false"
	case flagType == "int":
		n, err := strconv.ParseInt(strings.Join(w.Values, ""), 0, 64)
		if w.kind != unstable.Integer || err != nil || n < 0 {
			return "a number from 0 on"
		}
		w.Values = []string{strconv.FormatInt(n, 10)}
	case flagType == "string" && w.kind != unstable.String:
		return "a text in quotes"
	case flagType == "stringArray" && w.kind != unstable.String && w.kind != unstable.Array:
		return "a list of texts in quotes"
	}
	return ""
}

// NearestHint suggests names for an unknown one: the same key in its table, or a similar
// name.
func NearestHint(names []string, name string) string {
	found := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, "."+name) })
	if len(found) == 0 {
		found = near.Nearest(names, name)
		found = found[:min(1, len(found))]
	}
	if len(found) == 0 && !strings.Contains(name, ".") { // it may be a key of a table
		keys := lists.Map(names, func(n string) string { return n[strings.LastIndexByte(n, '.')+1:] })
		if key := near.Nearest(keys, name); len(key) > 0 {
			return NearestHint(names, key[0])
		}
	}
	if len(found) == 0 {
		return settingsHint
	}
	return "the nearest is " + strings.Join(found, ", ") + "; " + settingsHint
}

// The settings file can also change the keys and colours of the TUI. They are not flags,
// so they have tables of their own, whose keys package tui defines.

// tuiTable is the table that contains the tables of keys and colours.
const tuiTable = "tui"

func tuiKey(table, name string) string { return tuiTable + "." + table + "." + name }

func tuiTables() []string {
	return []string{tuiTable, tuiTable + "." + tui.KeysTable, tuiTable + "." + tui.ColorsTable}
}

// TUIKeys lists the keys of these tables.
func TUIKeys() []string {
	return lists.Map(tui.Choices(), func(c tui.Choice) string { return tuiKey(c.Table, c.Name) })
}

func tuiConfig(values map[string]Value) tui.Config {
	c := tui.Config{Keys: make(map[string][]string), Colors: make(map[string][]string)}
	for key, at := range values {
		if rest, ok := strings.CutPrefix(key, tuiKey(tui.KeysTable, "")); ok {
			c.Keys[rest] = at.Values
		} else if rest, ok := strings.CutPrefix(key, tuiKey(tui.ColorsTable, "")); ok {
			c.Colors[rest] = at.Values
		}
	}
	return c
}

func (f *File) TUI() tui.Config { return tuiConfig(f.said) }

func remark(text string) string {
	var b strings.Builder
	terminal.WriteColumns(&b, "# ", text)
	return strings.ReplaceAll(b.String(), "\n  ", "\n# ")
}

func lineOf(key string, value any) string {
	line, err := toml.Marshal(map[string]any{key: value})
	if err != nil {
		panic(err) // the values are ours
	}
	return strings.TrimSpace(string(line))
}

// sampleTUI returns the TUI's part of the sample file, with every key commented out.
func sampleTUI() string {
	var b strings.Builder
	table := ""
	for _, c := range tui.Choices() {
		if c.Table != table {
			table = c.Table
			fmt.Fprintf(&b, "\n[%s.%s]\n\n", tuiTable, table)
		}
		if c.Help != "" {
			b.WriteString(remark(c.Help))
		}
		b.WriteString("#" + lineOf(c.Name, c.Values) + "\n")
	}
	return b.String()
}

// tuiRows returns the settings of the TUI with these keys, or without keys those that
// the file changes.
func tuiRows(file *File, keys []string) []printer.Setting {
	var rows []printer.Setting
	for _, c := range tui.Choices() {
		key := tuiKey(c.Table, c.Name)
		at, changed := file.said[key]
		if len(keys) > 0 && !slices.Contains(keys, key) || len(keys) == 0 && !changed {
			continue
		}
		row := printer.Setting{Key: key, Values: c.Values, Note: "none", Type: "stringArray", Source: fromDefault}
		if changed {
			row.Values, row.Source, row.From = at.Values, fromFile, fmt.Sprintf("%s:%d", file.Path, at.Line)
		}
		rows = append(rows, row)
	}
	return rows
}

func sampleOf(root *cobra.Command, s *setting) string {
	_, f := s.FlagOf(root)
	text := cmp.Or(map[string]string{"DIR": "~/data", "FILE": "~/prices.txt", "HOST": "laptop"}[valueName(f)], "*/scratch/*")
	if words := s.words(root); len(words) > 0 {
		if text = words[len(words)-1]; f.Value.Type() == "stringArray" {
			text = words[0]
		}
	}
	value := map[string]any{"bool": true, "int": 20, "string": text}[f.Value.Type()]
	if value == nil {
		value = []string{text}
	}
	return lineOf(cmp.Or(s.name, s.flag), value)
}

// Sample returns a settings file with every key commented out.
func Sample(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Settings of pigrep. Each key is a flag of the same name; the flag and the\n" +
		"# environment go before it. Relative paths are taken from this directory.\n")
	command := ""
	for i := range Table {
		s := &Table[i]
		if s.command != command {
			command = s.command
			fmt.Fprintf(&b, "\n[%s]\n", command)
		}
		_, f := s.FlagOf(root)
		_, usage := pflag.UnquoteUsage(f)
		usage = strings.TrimPrefix(usage, valueName(f))
		if s.Standard != "" && s.Standard != "false" && s.Standard != "0" && !strings.Contains(usage, "default") {
			usage += " (default " + s.Standard + ")"
		}
		b.WriteString("\n" + remark(usage) + "#" + sampleOf(root, s) + "\n")
	}
	return b.String() + sampleTUI()
}

// Set writes a list into the settings file, in the line of its key or in a new first line, and
// leaves all else as it is.
func Set(ctx context.Context, a *app.App, root func() *cobra.Command, key string, values []string) error {
	file, err := Read(a, root)
	if err != nil {
		return err
	}
	line := lineOf(key, values)
	failed := func(err error) error {
		return &problem.Error{Code: codeSettings, Message: "cannot write the settings file", Err: err, Hint: fmt.Sprintf("write into %s: %s", file.Path, line)}
	}
	if file.Path == "" {
		return &problem.Error{Code: codeSettings, Message: "there is no settings file to write into", Hint: "see $" + EnvConfig}
	}
	data, err := os.ReadFile(file.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	lines := bytes.SplitAfter(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	if at, ok := file.said[key]; ok {
		lines[at.Line-1] = []byte(line + "\n")
	} else {
		lines = slices.Insert(lines, 0, []byte(line+"\n"))
	}
	data = bytes.Join(lines, nil)
	if said, err := Parse(root(), file.Path, data); err != nil || !slices.Equal(said[key].Values, values) {
		return failed(fmt.Errorf("%s is not on a line of its own", key))
	}
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o700); err != nil {
		return failed(err)
	}
	out, err := files.FindOutput(file.Path)
	if err != nil {
		return failed(err)
	}
	out.Overwrite = true
	if err := out.Write(ctx, 0o600, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return failed(err)
	}
	return nil
}
