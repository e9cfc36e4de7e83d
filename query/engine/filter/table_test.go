package filter_test

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/index/analysis"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
)

// sample returns a value of a filter as a flag or, in a query, as a field.
func sample(r *filter.Row, inQuery bool) string {
	_, example, _ := strings.Cut(r.Example, ":")
	switch {
	case inQuery:
		return strings.Trim(example, `"`)
	case r.Value == "":
		return "true"
	case len(r.Values) > 0:
		return r.Values[0]
	}
	return cmp.Or(example, "some")
}

// Every filter is read, says that it restricts, and can be removed again. An empty value
// restricts nothing or is refused.
func TestEveryFilterIsReadAndRemoved(t *testing.T) {
	for i := range filter.Table {
		r := &filter.Table[i]
		if r.Name == "" {
			continue
		}
		spec, err := filter.Written{r.Name: {sample(r, false)}}.Spec(filter.Env{})
		if err != nil || reflect.ValueOf(spec).IsZero() {
			t.Errorf("%s %q: %+v, error %v", r.Name, sample(r, false), spec, err)
			continue
		}
		if r.Name != filter.Here { // which sets cwd
			active := r.Active(&spec)
			if r.Clear(&spec); !active || !reflect.ValueOf(spec).IsZero() {
				t.Errorf("%s: active %t, and when cleared %+v", r.Name, active, spec)
			}
		}
		empty := []string{"", "  "}
		if r.Many {
			empty = append(empty, ",", " , ")
		}
		for _, value := range empty {
			spec, err = filter.Written{r.Name: {value}}.Spec(filter.Env{})
			if (err == nil) != r.Blank || !reflect.ValueOf(spec).IsZero() {
				t.Errorf("%s with the value %q: %+v, error %v", r.Name, value, spec, err)
			}
		}
	}
}

// A field without a value is refused as well: the query says so and searches for its text.
func TestFieldsNeedValues(t *testing.T) {
	for _, r := range filter.Fields {
		for _, value := range []string{" ", ",", " , "} {
			if value != " " && !r.Many {
				continue
			}
			if text, err := filter.NewTextTest(r.Field, value, filter.Env{}, &analysis.Analyzer{}); text != nil || err != nil {
				continue // it is about text, in which a blank counts
			}
			if f, err := filter.Field(r.Field, value, false, filter.Env{}); err == nil {
				t.Errorf("%s:%q is the filter %+v", r.Field, value, f)
			}
		}
	}
}

// The query language takes every field, and nothing else in its place.
func TestEveryFieldIsOfTheQueryLanguage(t *testing.T) {
	for _, r := range filter.Fields {
		root, warnings := syntax.Parse(r.Example)
		f, ok := root.(*syntax.Field)
		if !ok || f.Name != r.Field || f.Value != sample(r, true) || len(warnings) > 0 {
			t.Errorf("%s is %+v, warnings %q", r.Example, root, warnings)
			continue
		}
		text, err := filter.NewTextTest(f.Name, f.Value, filter.Env{}, &analysis.Analyzer{})
		if err == nil && text == nil {
			var compiled *filter.Filter
			if compiled, err = filter.Field(f.Name, f.Value, f.Quoted, filter.Env{}); err == nil && compiled.Empty() {
				t.Errorf("%s tests nothing", r.Example)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", r.Example, err)
		}
	}
}

// Commas join the names of a filter, and a name may have commas itself.
func TestCommasJoinNames(t *testing.T) {
	lists := []string{"a, b", `"c,d",e`, "f"}
	want := []string{"a", "b", "a, b", "c,d", "e", `"c,d",e`, "f"}
	written := make(filter.Written)
	for _, name := range []string{"role", "tool", "model", "project", "session", "exclude"} {
		written[name] = lists
	}
	spec, err := written.Spec(filter.Env{})
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
	flag := func(name string) string { return "--" + name }
	for _, test := range []struct {
		filters       filter.Written
		message, flag string // the beginning of each
		hint          string
	}{
		{filter.Written{"scope": {"everything"}}, "scope: unknown scope", "--scope: unknown scope", ""},
		{filter.Written{"kind": {"call,promt"}}, "kind: unknown kind", "--kind: unknown kind", ""},
		{filter.Written{"scope": {"all"}, "kind": {"call"}}, "scope and kind cannot be combined", "--scope and --kind cannot be combined", "name the kinds"},
		{filter.Written{"branch": {"dead"}}, "branch: ", "--branch: ", ""},
		{filter.Written{"since": {"soon"}}, "since: ", "--since: ", "2 weeks ago"},
		{filter.Written{"until": {"--until"}}, "until: ", "--until: ", "2 weeks ago"},
		{filter.Written{"since": {"today"}, "until": {"yesterday"}}, "since 2026-03-20T00:00:00Z is after until 2026-03-19T23:59:59Z", "--since 2026-03-20T00:00:00Z is after --until", "swap"},
	} {
		_, err := test.filters.Spec(filter.Env{Now: now})
		e, ok := errors.AsType[*filter.Error](err)
		if !ok {
			t.Errorf("%+v: error %v, want an *Error", test.filters, err)
			continue
		}
		if !strings.HasPrefix(e.Error(), test.message) || !strings.HasPrefix(e.Message(flag), test.flag) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%+v: %q, as a flag %q, hint %q; want %q, %q, %q", test.filters, e.Error(), e.Message(flag), e.Hint, test.message, test.flag, test.hint)
		}
	}
}
