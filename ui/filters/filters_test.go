package filters

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Commas join the names of a filter, and a name may have commas itself.
func TestCommasJoinNames(t *testing.T) {
	lists := []string{"a, b", `"c,d",e`, "f"}
	want := []string{"a", "b", "a, b", "c,d", "e", `"c,d",e`, "f"}
	f := Filters{Roles: lists, Tools: lists, Models: lists, Projects: lists, Sessions: lists, Excludes: lists}
	spec, err := f.Spec(time.Time{}, func(path string) string { return path })
	for name, got := range map[string][]string{"roles": spec.Roles, "tools": spec.Tools, "models": spec.Models, "projects": spec.Projects, "sessions": spec.Sessions} {
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s %q, error %v; want %q", name, got, err, want)
		}
	}
	if !slices.Equal(spec.Excludes, lists) {
		t.Errorf("globs %q, want them as written", spec.Excludes)
	}
}

// An error names its filters as the client writes them, wherever it does so.
func TestErrorsAreSpelledByTheClient(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	flag := func(n Name) string { return "--" + string(n) }
	for _, test := range []struct {
		filters       Filters
		message, flag string // the beginning of each
		hint          string
	}{
		{Filters{Scope: "everything"}, "scope: unknown scope", "--scope: unknown scope", ""},
		{Filters{Kinds: []string{"call,promt"}}, "kind: unknown kind", "--kind: unknown kind", ""},
		{Filters{Scope: "all", Kinds: []string{"call"}}, "scope and kind cannot be combined", "--scope and --kind cannot be combined", "name the kinds"},
		{Filters{Branch: "dead"}, "branch: ", "--branch: ", ""},
		{Filters{Since: "soon"}, "since: ", "--since: ", "2 weeks ago"},
		{Filters{Until: "--until"}, "until: ", "--until: ", "2 weeks ago"},
		{Filters{Since: "today", Until: "yesterday"}, "since 2026-03-20T00:00:00Z is after until 2026-03-19T23:59:59Z", "--since 2026-03-20T00:00:00Z is after --until", "swap"},
	} {
		_, err := test.filters.Spec(now, func(path string) string { return path })
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%+v: error %v, want an *Error", test.filters, err)
			continue
		}
		if !strings.HasPrefix(e.Error(), test.message) || !strings.HasPrefix(e.Message(flag), test.flag) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%+v: %q, as a flag %q, hint %q; want %q, %q, %q", test.filters, e.Error(), e.Message(flag), e.Hint, test.message, test.flag, test.hint)
		}
	}
}
