package filter_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/scope"
)

// field compiles a field as it is typed in a query.
func field(t *testing.T, text string) *filter.Filter {
	t.Helper()
	root, _ := syntax.Parse(text)
	node, ok := root.(*syntax.Field)
	if !ok {
		t.Fatalf("%q is no field", text)
	}
	f, err := filter.Field(node.Name, node.Value, node.Quoted, filter.Env{Now: stories.Day})
	if err != nil {
		t.Fatalf("field %s: %v", text, err)
	}
	return f
}

func TestSessions(t *testing.T) {
	s := &session.Summary{Path: "/home/ann/.store/sessions/app/2026_01a1f7de.jsonl", Name: "Fix the Café login"}
	s.ID, s.CWD = "01a1f7de-aaaa", "/home/ann/src/app"
	spec := func(set func(*filter.Spec)) *filter.Filter {
		var spec filter.Spec
		set(&spec)
		return spec.Compile()
	}
	for _, c := range []struct {
		name string
		f    *filter.Filter
		want bool
	}{
		{"empty", (&filter.Spec{}).Compile(), true},
		{"id", spec(func(s *filter.Spec) { s.Sessions = []string{"01A1"} }), true},
		{"one of two ids", spec(func(s *filter.Spec) { s.Sessions = []string{"ffff", "01a1"} }), true},
		{"other id", spec(func(s *filter.Spec) { s.Sessions = []string{"a1f7"} }), false},
		{"no id", spec(func(s *filter.Spec) { s.Sessions = []string{""} }), false},
		{"path", spec(func(f *filter.Spec) { f.Sessions = []string{s.Path} }), true},
		{"file name", spec(func(s *filter.Spec) { s.Sessions = []string{"2026_01a1f7de"} }), true},
		{"cwd", spec(func(s *filter.Spec) { s.CWD = "/home/ann/src" }), true},
		{"cwd with a slash", spec(func(s *filter.Spec) { s.CWD = "/home/ann/src/" }), true},
		{"sibling of the cwd", spec(func(s *filter.Spec) { s.CWD = "/home/ann/src/ap" }), false},
		{"project", spec(func(s *filter.Spec) { s.Projects = []string{"APP"} }), true},
		{"end of a project", spec(func(s *filter.Spec) { s.Projects = []string{"src/app"} }), true},
		{"part of a project", spec(func(s *filter.Spec) { s.Projects = []string{"pp"} }), false},
		{"both hold", spec(func(s *filter.Spec) { s.CWD, s.Projects = "/home", []string{"app"} }), true},
		{"one does not", spec(func(s *filter.Spec) { s.CWD, s.Projects = "/home", []string{"web"} }), false},
		{"title:cafe", field(t, "title:cafe"), true},
		{"title:logout", field(t, "title:logout"), false},
		{"is:named", field(t, "is:named"), true},
		{"session:01a1", field(t, "session:01a1"), true},
		{"cwd:/home/ann", field(t, "cwd:/home/ann"), true},
		{"cwd:/home/bob", field(t, "cwd:/home/bob"), false},
		{"restricted", (&filter.Filter{}).WithSessions(func(*session.Summary) bool { return false }), false},
	} {
		if got := c.f.Session(s); got != c.want {
			t.Errorf("%s: Session() = %t, want %t", c.name, got, c.want)
		}
	}
}

// A glob leaves out the files that some whole elements of their path match, and what
// is below such a directory.
func TestExcludes(t *testing.T) {
	const path = "/home/ann/sessions/--src-app--/a[1].jsonl"
	for _, c := range []struct {
		glob     string
		excluded bool
	}{
		{"a[1].jsonl", false}, // a class: the file would be a1.jsonl
		{"a?1?.jsonl", true},
		{"a[1.jsonl", false},
		{"*.jsonl", true},
		{"*.json", false},
		{"sessions", true},
		{"sessions/", true},
		{"session", false},
		{"--src-*", true},
		{"ann/sessions", true},
		{"ann/*/*/*.jsonl", true},
		{"ann/*/*.jsonl", false},
		{"ann/**/*.jsonl", true},
		{"**/--src-app--/**", true},
		{"/home/**", true},
		{"/ann/**", false},
		{"/home/ann/sessions", true},
		{"{web,--src-app--}", true},
	} {
		f := (&filter.Spec{Excludes: []string{c.glob}}).Compile()
		if got := !f.Session(&session.Summary{Path: path}); got != c.excluded {
			t.Errorf("the glob %q excludes %s: %t, want %t", c.glob, path, got, c.excluded)
		}
	}
	// A bracket without a partner is itself.
	f := (&filter.Spec{Excludes: []string{"b[1*"}}).Compile()
	if f.Session(&session.Summary{Path: "/s/b[1x.jsonl"}) {
		t.Error("b[1* does not exclude b[1x.jsonl")
	}
	if !f.Session(&session.Summary{Path: "/s/b1x.jsonl"}) {
		t.Error("b[1* excludes b1x.jsonl")
	}
	f = (&filter.Spec{Excludes: []string{"nothing", "b?.jsonl"}}).Compile()
	if f.Session(&session.Summary{Path: "/s/b1.jsonl"}) {
		t.Error("one of two globs does not exclude")
	}
}

func TestEntries(t *testing.T) {
	at := func(text string) int64 {
		tm, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return tm.UnixMilli()
	}
	meta := filter.Meta{Time: at("2026-05-01T12:00:00Z"), Active: true, Label: "Keep this"}
	for text, want := range map[string]bool{
		"after:2026-05-01": true, "after:2026-05-02": false,
		"before:2026-05-02": true, "before:2026-05-01": false,
		"branch:active": true, "branch:abandoned": false, "branch:any": true,
		"label:KEEP": true, "label:drop": false,
	} {
		f := field(t, text)
		if got := f.Entry(meta); got != want {
			t.Errorf("%s: Entry() = %t, want %t", text, got, want)
		}
		if text != "branch:any" && !f.TestsEntries() {
			t.Errorf("%s does not test entries", text)
		}
	}
	// The verdict on a session agrees with all of its entries.
	s := &session.Summary{Oldest: time.UnixMilli(meta.Time), Newest: time.UnixMilli(meta.Time + 1000)}
	s.Timestamp = s.Oldest
	for text, want := range map[string]filter.Verdict{
		"after:2026-05-01": filter.All, "after:2026-05-02": filter.None, "label:keep": filter.None, "branch:active": filter.Unknown,
	} {
		if got := field(t, text).EntryVerdict(s); got != want {
			t.Errorf("%s: EntryVerdict() = %d, want %d", text, got, want)
		}
	}
	// An entry without any time has that of the file.
	s.Timestamp, s.Mtime = time.Time{}, stories.Day.AddDate(0, 1, 0).UnixNano()
	if got := field(t, "after:2026-05-10").EntryVerdict(s); got != filter.Unknown {
		t.Errorf("of a file without the time of its start, changed later: EntryVerdict() = %d, want %d", got, filter.Unknown)
	}
}

// The index and a part that is read again agree on keywords.
func TestDocsAndPartsAgree(t *testing.T) {
	l := stories.New(t,
		stories.Story{Name: "a", CWD: "/src/app", Entries: []stories.Turn{
			stories.Prompt("fix it"), stories.Reply("fixed"), stories.Result("bash", "exit 1", true), stories.Result("read", "text", false),
			stories.Called("bash", map[string]any{"command": "make"}),
		}},
		stories.Story{Name: "b", CWD: "/src/web", Entries: []stories.Turn{stories.Prompt("hello")}},
	)
	kinds := func(f *filter.Filter, pass func(uint32) bool) []session.Kind {
		var got []session.Kind
		for _, seg := range l.Reader.Segments() {
			docs := f.Docs(seg, nil, pass)
			for doc := range uint32(seg.Len()) {
				id := seg.ID(doc)
				if kind := l.Kinds[id]; kind != "" && docs.Has(doc) {
					got = append(got, kind)
				}
			}
		}
		slices.Sort(got)
		return got
	}
	everything := func(uint32) bool { return true }
	for _, c := range []struct {
		spec filter.Spec
		want []session.Kind
	}{
		{filter.Spec{Scope: scope.All}, []session.Kind{"call", "prompt", "prompt", "reply", "result", "result"}},
		{filter.Spec{Kinds: []session.Kind{"prompt"}}, []session.Kind{"prompt", "prompt"}},
		{filter.Spec{Scope: scope.All, Tools: []string{"BASH"}}, []session.Kind{"call", "result"}},
		{filter.Spec{Scope: scope.All, Tools: []string{"bas"}}, nil},
		{filter.Spec{Scope: scope.All, Error: true}, []session.Kind{"result"}},
		{filter.Spec{Scope: scope.All, Models: []string{"acme/opus"}}, []session.Kind{"call", "reply"}},
		{filter.Spec{Scope: scope.All, Roles: []string{"user"}, Kinds: []session.Kind{"reply"}}, nil},
	} {
		if diff := cmp.Diff(c.want, kinds(c.spec.Compile(), everything), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("documents of %+v (-want +got):\n%s", c.spec, diff)
		}
	}
	if got := kinds((&filter.Spec{Scope: scope.All, CWD: "/src/app"}).Compile(), func(uint32) bool { return false }); len(got) > 0 {
		t.Errorf("%v of sessions that do not pass", got)
	}

	e := &session.Entry{Identity: session.Identity{Role: "toolResult"}, Said: session.Said{IsError: true, Provider: "acme", Model: "opus-9"}}
	p := &session.Part{Kind: session.KindResult, Tool: "bash"}
	for _, c := range []struct {
		field string
		want  bool
	}{
		{"kind:result", true}, {"kind:prompt,result", true}, {"kind:prompt", false}, {"tool:Bash", true}, {"tool:bas", false},
		{"role:toolresult", true}, {"is:error", true}, {"model:acme/opus", true}, {"model:acme-opus", false},
		{"after:2026-05-02", false}, {"cwd:/nowhere", true}, // sessions are not tested
	} {
		if got := field(t, c.field).Part(e, p, stories.Day); got != c.want {
			t.Errorf("%s: Part() = %t, want %t", c.field, got, c.want)
		}
	}
	if _, err := filter.Field("kind", "nonsense", false, filter.Env{}); err == nil {
		t.Error("kind:nonsense is no error")
	}
}

// until is a context that is done once it was asked a number of times.
type until struct {
	context.Context
	left int
}

func (c *until) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// An expression ends soon after its search, within a text of many megabytes.
func TestExpressionEndsWithItsSearch(t *testing.T) {
	t.Parallel()
	test, err := filter.NewTextTest("re", "a.{300}[0-9]$", filter.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := append(bytes.Repeat([]byte("ab "), 1<<20), bytes.Repeat([]byte("a1"), 400)...)
	part := &filter.Part{Ctx: t.Context(), Entry: &session.Entry{Parts: []session.Part{{Text: text}}}}
	if !test.Matches(part) {
		t.Error("a search that goes on finds nothing")
	}
	ctx := &until{t.Context(), 2}
	if part.Ctx = ctx; test.Matches(part) || ctx.left != -1 {
		t.Errorf("a search that ended goes on: asked %d times after that", -1-ctx.left)
	}
}
