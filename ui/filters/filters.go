// Package filters reads filters as people and agents write them, and turns them into
// those of a request. Flags and arguments of tools have the same names and values, so
// that both are read here; an error names the filters it is about, and each client
// spells them in its own way.
package filters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/scope"
)

// Filters are filters as they were written. Empty ones let everything through.
type Filters struct {
	Scope    string
	Kinds    []string // each, like those of the other lists of names, may be several joined with commas
	Roles    []string
	Tools    []string
	Sessions []string
	CWD      string
	Projects []string
	Models   []string
	Since    string
	Until    string
	Error    bool
	Branch   string
	Excludes []string

	NoSearches bool // filter.Spec.NoSearches
}

// Name is the name of a filter.
type Name string

// The filters that an error may be about.
const (
	scopeName  Name = "scope"
	kindName   Name = "kind"
	branchName Name = "branch"
	sinceName  Name = "since"
	untilName  Name = "until"
)

// Error says what is wrong with filters.
type Error struct {
	Hint  string // "" for none
	Topic string // the help topic that explains it; "" for none

	format string
	args   []any // some of them Names
	err    error
}

func (e *Error) Error() string { return e.Message(func(n Name) string { return string(n) }) }

func (e *Error) Unwrap() error { return e.err }

// Message is the error with the names of filters as spell writes them.
func (e *Error) Message(spell func(Name) string) string {
	args := slices.Clone(e.args)
	for i, arg := range args {
		if name, ok := arg.(Name); ok {
			args[i] = spell(name)
		}
	}
	return fmt.Sprintf(e.format, args...)
}

// wrong is the error of the value of one filter.
func wrong(name Name, err error) *Error {
	return &Error{format: "%v: %v", args: []any{name, err}, err: err}
}

// Spec turns the filters into those of a request. Relative times count from now;
// absolute resolves a path. The error is an *Error.
func (f *Filters) Spec(now time.Time, absolute func(path string) string) (filter.Spec, error) {
	spec := filter.Spec{
		Roles: named(f.Roles), Tools: named(f.Tools), Models: named(f.Models), Projects: named(f.Projects),
		Excludes: f.Excludes, Error: f.Error, NoSearches: f.NoSearches,
	}
	for _, s := range named(f.Sessions) {
		if strings.ContainsAny(s, `/\`) || strings.HasSuffix(s, ".jsonl") {
			s = absolute(s)
		}
		spec.Sessions = append(spec.Sessions, s)
	}
	if f.CWD != "" {
		spec.CWD = absolute(f.CWD)
	}
	var err error
	if spec.Scope, spec.Kinds, err = f.text(); err != nil {
		return spec, err
	}
	if spec.Branch, err = entry.ParseBranch(f.Branch); err != nil {
		return spec, wrong(branchName, err)
	}
	spec.Since, spec.Until, err = f.times(now)
	return spec, err
}

// named returns what the lists of a filter may name.
func named(lists []string) (names []string) {
	for _, list := range lists {
		names = append(names, syntax.Alternatives(list)...)
	}
	return names
}

// text reads which kinds of text are meant.
func (f *Filters) text() (s scope.Scope, kinds []session.Kind, err error) {
	explained := func(name Name, err error) error {
		e := wrong(name, err)
		e.Topic = "scopes"
		return e
	}
	if f.Scope != "" {
		if s, err = scope.Parse(f.Scope); err != nil {
			return "", nil, explained(scopeName, err)
		}
	}
	for _, value := range f.Kinds {
		for _, word := range syntax.Values(value) {
			k, err := scope.ParseKind(word)
			if err != nil {
				return "", nil, explained(kindName, err)
			}
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	if f.Scope != "" && len(kinds) > 0 {
		return "", nil, &Error{format: "%v and %v cannot be combined", args: []any{scopeName, kindName}, Hint: "name the kinds, or the scope"}
	}
	return s, kinds, nil
}

// times reads the span of time that is meant: from since on and before until.
func (f *Filters) times(now time.Time) (since, until time.Time, err error) {
	read := func(name Name, value string) (timespec.Span, error) {
		span, err := timespec.Parse(value, now)
		if err != nil {
			e := wrong(name, err)
			e.Hint = "forms that work: " + strings.Join(timespec.Examples, ", ")
			return span, e
		}
		return span, nil
	}
	if f.Since != "" {
		span, err := read(sinceName, f.Since)
		if err != nil {
			return since, until, err
		}
		since = span.Start
	}
	if f.Until != "" {
		span, err := read(untilName, f.Until)
		if err != nil {
			return since, until, err
		}
		until = span.End.Add(1) // the end of the span is inside, that of the request is not
	}
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return since, until, &Error{
			format: "%v %s is after %v %s", args: []any{sinceName, since.Format(time.RFC3339), untilName, until.Add(-1).Format(time.RFC3339)},
			Hint: "swap the two times",
		}
	}
	return since, until, nil
}
