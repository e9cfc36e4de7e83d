package query

import "strings"

// FieldRow describes one field of the query language.
type FieldRow struct {
	Name    string
	Value   string // what its value is, for people
	Example string
}

// Fields is the table of fields. The parser knows no others, and help is made
// from it.
var Fields = []FieldRow{
	{"kind", "a kind of part", "kind:call"},
	{"role", "who speaks", "role:user"},
	{"tool", "the name of a tool", "tool:bash"},
	{"is", "error: results, replies and shells that say error", "is:error"},
	{"model", "part of a model's name, or of provider/model", "model:opus"},
	{"cwd", "a directory, or one below it", "cwd:~/src/app"},
	{"project", "a path, or the last element of one", "project:app"},
	{"session", "the beginning of a session id", "session:01a1f7de"},
	{"branch", "active or abandoned: whether pi goes on from there", "branch:abandoned"},
	{"after", "a time, inside", "after:2026-01-01"},
	{"before", "a time, outside", "before:2w"},
}

func fieldRow(name string) *FieldRow {
	for i := range Fields {
		if Fields[i].Name == name {
			return &Fields[i]
		}
	}
	return nil
}

// startsField reports whether the text begins with the name of a field, a colon
// and a value.
func startsField(text string) bool {
	name, value, ok := strings.Cut(text, ":")
	if !ok || fieldRow(name) == nil {
		return false
	}
	return !endsToken(value) && value[0] != ':' && value != `""` && (name != "is" || strings.HasPrefix(value, "error"))
}

func newField(t token) *Field {
	name, value, _ := strings.Cut(t.text, ":")
	f := &Field{Name: name, Value: value, Pos: t.Pos}
	if len(value) > 1 && value[0] == '"' && closingQuote(value, 0) == len(value)-1 {
		f.Value, f.Quoted = unquote(value[1:len(value)-1]), true
	}
	return f
}

// nearestField returns the field whose name is at most one edit away, "" when
// there is none, or more than one edit would be most of the name.
func nearestField(name string) string {
	for _, f := range Fields {
		if len(f.Name) >= 4 && name != f.Name && editDistance(name, f.Name, 2) <= 1+len(f.Name)/7 {
			return f.Name
		}
	}
	return ""
}
