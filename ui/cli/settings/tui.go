package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pigrep/internal/terminal"
	"pigrep/ui/printer"
	"pigrep/ui/tui"
)

// The settings file can also change the keys and colours of the TUI. They are not flags,
// so they have tables of their own, whose keys package tui defines.

// tuiTable is the table that contains those of keys and colours.
const tuiTable = "tui"

func tuiKey(table, name string) string { return tuiTable + "." + table + "." + name }

// tuiTables lists the tables of the TUI.
func tuiTables() []string {
	return []string{tuiTable, tuiTable + "." + tui.KeysTable, tuiTable + "." + tui.ColorsTable}
}

// TUIKeys lists the keys of these tables.
func TUIKeys() []string {
	var keys []string
	for _, c := range tui.Choices() {
		keys = append(keys, tuiKey(c.Table, c.Name))
	}
	return keys
}

// isTUIKey reports whether a key of the settings file is in the tables of the TUI.
func isTUIKey(key string) bool {
	return slices.ContainsFunc(tuiTables()[1:], func(table string) bool { return strings.HasPrefix(key, table+".") })
}

// tuiConfig returns the configuration of the TUI in a settings file.
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

// TUI returns the configuration of the TUI.
func (f *File) TUI() tui.Config { return tuiConfig(f.said) }

// checkTUI checks the configuration of the TUI in a settings file.
func checkTUI(path string, values map[string]Value) error {
	if e := tuiConfig(values).Check(); e != nil {
		at := values[tuiKey(e.Table, e.Name)]
		return settingsProblem(path, at.Line, at.Column, e.Hint, "%s: %s", tuiKey(e.Table, e.Name), e.Reason)
	}
	return nil
}

// texts returns a string or an array of strings as a list.
func texts(value any) ([]string, error) {
	if v, ok := value.(string); ok {
		return []string{v}, nil
	}
	list, ok := value.([]any)
	values := []string{}
	for _, v := range list {
		text, isText := v.(string)
		ok = ok && isText
		values = append(values, text)
	}
	if !ok {
		return nil, errors.New("not a list of texts")
	}
	return values, nil
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
			var text strings.Builder
			terminal.WriteColumns(&text, "# ", c.Help)
			b.WriteString(strings.ReplaceAll(text.String(), "\n  ", "\n# "))
		}
		line, err := toml.Marshal(map[string]any{c.Name: c.Values})
		if err != nil {
			panic(err) // the values are ours
		}
		b.WriteString("#" + strings.TrimSpace(string(line)) + "\n")
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
		row := printer.Setting{Key: key, Values: c.Values, Note: "none", Type: "stringArray", Source: string(fromDefault)}
		if changed {
			row.Values, row.Source, row.From = at.Values, string(fromFile), fmt.Sprintf("%s:%d", file.Path, at.Line)
		}
		rows = append(rows, row)
	}
	return rows
}
