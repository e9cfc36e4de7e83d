package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"

	"pigrep/internal/near"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

// File is a parsed settings file.
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

// settingsPath returns the path of the settings file, and whether the user named it.
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
	read := os.ReadFile
	if !named {
		read = readUnnamed
	}
	data, err := read(path)
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

// readUnnamed reads a file that the user did not name. A named pipe would block every
// command.
func readUnnamed(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is a named pipe")}
	}
	return os.ReadFile(path)
}

// settingsProblem returns an error at a position of the settings file.
func settingsProblem(path string, line, column int, hint, format string, args ...any) error {
	return &problem.Error{Code: codeSettings, Hint: hint,
		Message: fmt.Sprintf("%s:%d:%d: ", path, line, column) + fmt.Sprintf(format, args...)}
}

const settingsHint = "`pigrep config` lists the keys, `pigrep config --sample` shows their syntax"

func Parse(root *cobra.Command, path string, data []byte) (map[string]Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		line, column := 1, 1
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column = e.Position()
		}
		return nil, settingsProblem(path, line, column, settingsHint, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	places := keyPlaces(data)
	values := make(map[string]Value)
	// In file order, so that the first error is reported.
	for _, p := range places {
		value, ok := lookUp(tree, p.key)
		if !ok {
			continue
		}
		at, err := checkSetting(root, path, p, value)
		if err != nil {
			return nil, err
		}
		if at.Values != nil {
			values[p.key] = at
		}
	}
	return values, checkTUI(path, values)
}

// keyPlace is the position of a key or a table.
type keyPlace struct {
	key          string
	line, column int
}

// keyPlaces lists the keys and tables of a valid file in file order.
func keyPlaces(data []byte) []keyPlace {
	var places []keyPlace
	var p unstable.Parser
	p.Reset(data)
	var table []string
	var visit func(n *unstable.Node, below []string)
	visit = func(n *unstable.Node, below []string) {
		key := slices.Clone(below)
		var start unstable.Position
		for it := n.Key(); it.Next(); {
			if len(key) == len(below) {
				start = p.Shape(it.Node().Raw).Start
			}
			key = append(key, string(it.Node().Data))
		}
		places = append(places, keyPlace{strings.Join(key, "."), start.Line, start.Column})
		if n.Kind != unstable.KeyValue {
			table = key
			return
		}
		if v := n.Value(); v.Kind == unstable.InlineTable {
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
	return places
}

// lookUp finds the value of a dotted key.
func lookUp(tree map[string]any, key string) (any, bool) {
	name, rest, below := strings.Cut(key, ".")
	v, ok := tree[name]
	if !ok || !below {
		return v, ok
	}
	if inner, isTable := v.(map[string]any); isTable {
		return lookUp(inner, rest)
	}
	return nil, false
}

// checkSetting converts the value of a key to values of its flag. Tables have no values.
func checkSetting(root *cobra.Command, path string, p keyPlace, value any) (Value, error) {
	at := Value{Line: p.line, Column: p.column}
	fail := func(hint, format string, args ...any) (Value, error) {
		return at, settingsProblem(path, p.line, p.column, hint, format, args...)
	}
	_, isTable := value.(map[string]any)
	tables := append(settingTables(), tuiTables()...)
	if isTable && slices.Contains(tables, p.key) {
		return at, nil
	}
	if !isTable && isTUIKey(p.key) { // checkTUI checks the rest
		var err error
		if at.Values, err = texts(value); err != nil {
			return fail(`as in: next = ["down", "ctrl+n"]`, "%s takes a text in quotes, or a list of them", p.key)
		}
		return at, nil
	}
	i := slices.IndexFunc(Table, func(s setting) bool { return s.Key() == p.key })
	switch {
	case i >= 0:
	case isTable:
		return fail(NearestHint(tables, p.key), "unknown table %s", p.key)
	case slices.Contains(tables, p.key):
		return fail("write ["+p.key+"]", "%s is a table", p.key)
	default:
		return fail(NearestHint(Keys(), p.key), "unknown key %s", p.key)
	}
	s := &Table[i]
	_, f := s.FlagOf(root)
	values, want := valuesOf(f.Value.Type(), value)
	if want != "" {
		return fail("as in: "+sampleOf(root, s), "%s takes %s", p.key, want)
	}
	at.Values = values
	if words := s.words(root); len(words) > 0 && !slices.Contains(words, at.Values[0]) {
		return fail("one of "+strings.Join(words, ", "), "%s: there is no %q", p.key, at.Values[0])
	}
	if valueName(f) == "DIR" {
		for i, dir := range at.Values {
			at.Values[i] = besideFile(path, dir)
		}
	}
	return at, nil
}

// valuesOf converts a value of the file to the values of a flag of a type. If it has the
// wrong type, want says what the flag takes.
func valuesOf(flagType string, value any) (values []string, want string) {
	switch flagType {
	case "bool":
		if v, ok := value.(bool); ok {
			return []string{strconv.FormatBool(v)}, ""
		}
		return nil, "true or false"
	case "int":
		if v, ok := value.(int64); ok && v >= 0 {
			return []string{strconv.FormatInt(v, 10)}, ""
		}
		return nil, "a number from 0 on"
	case "string":
		if v, ok := value.(string); ok {
			return []string{v}, ""
		}
		return nil, "a text in quotes"
	}
	values, err := texts(value)
	if err != nil {
		return nil, "a list of texts in quotes"
	}
	return values, ""
}

// besideFile resolves a relative path against the directory of the settings file: it
// must not depend on the working directory.
func besideFile(file, path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "~") || strings.HasPrefix(path, "file:") {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
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
		var keys []string
		for _, n := range names {
			keys = append(keys, n[strings.LastIndexByte(n, '.')+1:])
		}
		if key := near.Nearest(keys, name); len(key) > 0 {
			return NearestHint(names, key[0])
		}
	}
	if len(found) == 0 {
		return settingsHint
	}
	return "the nearest is " + strings.Join(found, ", ") + "; " + settingsHint
}
