package syntax

import (
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/near"
	"pigrep/query/engine/filter"
)

// A Form is a form of the query language other than fields.
type Form struct{ Form, Meaning string }

// Forms is the table of these forms, for help.
var Forms = []Form{
	{"auth token", "entries with all words close together rank first, entries that lack a word lower"},
	{"+auth token", "auth is required"},
	{"a AND b", "both are required"},
	{"a OR b, ( )", "alternatives and grouping"},
	{"NOT word, !word", "excludes the word; bash and zsh need quotes around !word, and a leading - is part of a word (rm -rf)"},
	{"-kind:result", "excludes what the field matches"},
	{`"exit code 137"`, "the exact phrase; case and white space are folded"},
	{"getUserName", "the identifier in any spelling (get_user_name); its parts rank lower"},
	{"src/auth/login.ts", "paths, dotted names, flags, error codes and UUIDs: whole and by their parts"},
	{"conn*", "words that begin with conn"},
	{"colour~, colour~2", "spellings within 1 or 2 edits"},
}

// foreignOperators maps operators of other query languages to ours.
var foreignOperators = map[string]string{"&&": "AND", "&": "AND", "||": "OR", "|": "OR", "And": "AND", "Or": "OR", "Not": "NOT"}

// startsField reports whether the text begins with the name of a field, a colon
// and a value.
func startsField(text string) bool {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return false
	}
	row := filter.LookupField(name)
	if row == nil || EndsToken(value) || value[0] == ':' && name != "re" || strings.HasPrefix(value, `""`) && EndsToken(value[2:]) {
		return false
	}
	return !row.Closed() || accepts(row, value)
}

// accepts reports whether a text begins with one of the field's values.
func accepts(f *filter.Row, value string) bool {
	value = strings.TrimPrefix(value, `"`)
	for _, w := range append(slices.Clone(f.Values), f.Also) {
		if rest, ok := strings.CutPrefix(value, w); ok && w != "" && (EndsToken(rest) || rest[0] == '"') {
			return true
		}
	}
	return false
}

func newField(t token) *Field {
	name, value, _ := strings.Cut(t.text, ":")
	f := &Field{Name: name, Value: value, Pos: t.Pos}
	if len(value) > 1 && value[0] == '"' && filter.ClosingQuote(value, 0) == len(value)-1 {
		f.Quoted = true
		if f.Value = value[1 : len(value)-1]; name == "re" {
			f.Value = unquoteRegexp(f.Value)
		} else {
			f.Value = filter.Unquote(f.Value)
		}
	}
	return f
}

// unquoteRegexp takes away the backslashes before quotes and leaves all others,
// which belong to the expression.
func unquoteRegexp(s string) string { return strings.NewReplacer(`\\`, `\\`, `\"`, `"`).Replace(s) }

// quoteRegexp undoes unquoteRegexp.
func quoteRegexp(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// nearestField returns the field with the most similar name, and how many edits
// away it is.
func nearestField(name string) (nearest string, edits int) {
	edits = 1 << 30
	for _, f := range filter.Fields {
		if d := near.Distance(name, f.Field, 20); d < edits {
			nearest, edits = f.Field, d
		}
	}
	return nearest, edits
}

// fieldWarning says why a word that looks like a field is not one, "" if it does not
// look like a field.
func fieldWarning(word string) string {
	name, value, ok := strings.Cut(word, ":")
	if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) }) {
		return ""
	}
	row := filter.LookupField(name)
	switch {
	case row != nil && (value == "" || value == `""`):
		return fmt.Sprintf("%q is searched as text: %s: needs a value, as in %s", word, name, row.Example)
	case row != nil && row.Closed() && !strings.HasPrefix(value, ":"):
		return fmt.Sprintf("%q is searched as text: %s: knows %s only", Shorten(word), name, strings.Join(row.Values, ", "))
	case row != nil || value == "" || strings.ContainsAny(value[:1], `:/\`):
		return "" // a::b, http://x, C:\x
	}
	near, edits := nearestField(strings.ToLower(name))
	if edits <= max(1, len(name)/2) {
		return fmt.Sprintf("%q is searched as text: there is no field %q, did you mean %s:?", Shorten(word), Shorten(name), near)
	}
	if strings.Trim(value, "0123456789") == "" {
		return "" // localhost:8080, main:12
	}
	return fmt.Sprintf("%q is searched as text: there is no field %q", Shorten(word), Shorten(name))
}
