package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/scope"
)

// Env gives values of filters their meaning.
type Env struct {
	Now    time.Time                // relative dates count from here
	Expand func(path string) string `json:"-"` // makes a path absolute; nil leaves it as it is

	Host string `json:"-"` // what who asks calls this machine; "": ThisHost

	// Filters beside the query say what is wanted, so that the query itself need not.
	Filtered bool
}

func (e Env) expand(path string) string {
	if e.Expand == nil {
		return path
	}
	return e.Expand(path)
}

// Field returns the Filter of a field of a query. A quoted value is one value, whatever
// commas it has.
func Field(name, value string, quoted bool, env Env) (*Filter, error) {
	row := LookupField(name)
	if row == nil {
		return nil, fmt.Errorf("there is no field %q", name)
	}
	if row.isEmpty(value) {
		return nil, fmt.Errorf("%s: needs a value, as in %s", name, row.Example)
	}
	in := row.newReading(value, quoted, env)
	in.spec, in.more = &Spec{Scope: scope.All}, &Filter{}
	meaning := row.field
	if name == row.Name && name != row.Field { // as the flag
		meaning = nil
	}
	if err := in.apply(meaning); err != nil {
		return nil, err
	}
	in.spec.compile(in.more)
	if in.more.Empty() { // branch:any
		in.more.sessions = append(in.more.sessions, func(*session.Summary) bool { return true })
	}
	return in.more, nil
}

// apply sets what the value means, which first says if that is not nil.
func (r *reading) apply(first func(*reading) error) error {
	switch {
	case first != nil:
		return first(r)
	case r.read != nil:
		return r.read(r)
	}
	return r.set()
}

// NewTextTest returns the TextTest of a field, nil if it needs none.
func NewTextTest(name, value string, env Env, a *analysis.Analyzer) (*TextTest, error) {
	row := LookupField(name)
	if row == nil || row.text == nil {
		return nil, nil
	}
	return row.text(row.newReading(value, true, env), a)
}

// Written are filters as people and agents write them: the values of each, by its name.
// Switches have the value "true". Nil lets everything through.
type Written map[string][]string

// Value returns the value of a filter that has one; "" if it is not given.
func (w Written) Value(name string) string {
	if len(w[name]) == 0 {
		return ""
	}
	return w[name][len(w[name])-1]
}

func (w Written) On(name string) bool { return w.Value(name) == yes }

// Switch turns a switch on or off.
func (w Written) Switch(name string, on bool) {
	if w[name] = nil; on {
		w[name] = []string{yes}
	}
}

// An Error says what is wrong with filters as they were written.
type Error struct {
	Hint  string // "" for none
	Topic string // the help topic that explains it; "" for none

	text func(spell func(name string) string) string
	err  error
}

func (e *Error) Error() string { return e.Message(func(name string) string { return name }) }

func (e *Error) Unwrap() error { return e.err }

func (e *Error) Message(spell func(name string) string) string { return e.text(spell) }

// Spec reads the filters. The error is an *Error.
func (w Written) Spec(env Env) (Spec, error) {
	var s Spec
	for i := range Table {
		row := &Table[i]
		read := func(name string, first func(*reading) error) error {
			for _, value := range w[name] {
				if row.Blank && row.isEmpty(value) {
					continue
				}
				if err := row.readInto(&s, value, env, first); err != nil {
					return &Error{
						Hint: row.Hint, Topic: row.Topic, err: err,
						text: func(spell func(string) string) string { return spell(name) + ": " + err.Error() },
					}
				}
			}
			return nil
		}
		if err := read(row.Name, nil); err != nil {
			return s, err
		}
		if row.Name == Since || row.Name == Until {
			if err := read(row.Field, row.field); err != nil {
				return s, err
			}
		}
	}
	return s, w.conflict(&s)
}

func (r *Row) readInto(s *Spec, value string, env Env, first func(*reading) error) error {
	if r.isEmpty(value) {
		return errors.New("the value is empty")
	}
	in := r.newReading(value, false, env)
	in.spec = s
	return in.apply(first)
}

// isEmpty reports whether a value is blank, or a list without a name.
func (r *Row) isEmpty(value string) bool {
	if r.Many {
		return strings.Trim(value, ", \t\n") == ""
	}
	return strings.TrimSpace(value) == ""
}

// conflict returns the error of filters that exclude each other.
func (w Written) conflict(s *Spec) error {
	both := func(a, b, hint string) error {
		return &Error{Hint: hint, text: func(spell func(string) string) string {
			return spell(a) + " and " + spell(b) + " cannot be combined"
		}}
	}
	switch {
	case s.Scope != "" && len(s.Kinds) > 0:
		return both(Scope, Kind, "name the kinds, or the scope")
	case w.On(Here) && w.Value(CWD) != "":
		return both(Here, CWD, "--here is the same as --cwd .")
	case !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until):
		return &Error{Hint: "swap the two times", text: func(spell func(string) string) string {
			return fmt.Sprintf("%s %s is after %s %s", spell(Since), s.Since.Format(time.RFC3339), spell(Until), s.Until.Add(-1).Format(time.RFC3339))
		}}
	}
	return nil
}

// InQuery returns the values that a field needs for the same filter in a query, from a Spec that
// the filters were read into.
func (w Written) InQuery(row *Row, s *Spec) (values []string) {
	if !row.Active(s) {
		return nil
	}
	switch v := row.member(s).(type) {
	case *[]session.Kind:
		return names(*v)
	case *[]string:
		for _, list := range *v {
			for _, value := range Values(list) {
				if !slices.Contains(values, value) {
					values = append(values, value)
				}
			}
		}
		return values
	case *string:
		return []string{*v}
	case *bool:
		return []string{row.Name}
	}
	if row.Name == Until { // the field excludes the end of its time
		return []string{s.Until.UTC().Format(time.RFC3339)}
	}
	return w[row.Name]
}

// Values returns the values in a list. Commas separate them, except in quotes around a
// value.
func Values(list string) (values []string) {
	for rest := list; rest != ""; {
		var value string
		if end := ClosingQuote(rest, 0); rest[0] == '"' && end > 0 && strings.HasPrefix(rest[end+1:]+",", ",") {
			value, rest = Unquote(rest[1:end]), strings.TrimPrefix(rest[end+1:], ",")
		} else {
			value, rest, _ = strings.Cut(rest, ",")
			value = strings.TrimSpace(value)
		}
		if value != "" {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return []string{list}
	}
	return values
}

// Alternatives returns what a list may name: its values and, since a name may have commas,
// the whole list.
func Alternatives(list string) []string {
	values := Values(list)
	if len(values) > 1 {
		values = append(values, list)
	}
	return values
}

// ClosingQuote returns the offset of the partner of the quote at open, 0 if it has none.
func ClosingQuote(text string, open int) int {
	for i := open + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return 0
}

// Quote writes a text in quotes.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Unquote undoes Quote; a backslash before anything else is itself.
func Unquote(s string) string { return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s) }
