//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
)

// asked returns the queries for the sessions of the repository.
func asked(t *testing.T) []*query {
	t.Helper()
	tree := &tree{"testdata", []string{filepath.Join(testkit.Root(), "testdata", "sessions")}}
	work := t.TempDir()
	testkit.Check(t, os.Mkdir(filepath.Join(work, "home"), 0o755))
	program, err := testkit.Build(work)
	testkit.Check(t, err)
	return queries(tree.name, newProgram(t.Context(), program, "old", work, tree).values())
}

func TestQueries(t *testing.T) {
	all := asked(t)
	if len(all) < 1500 {
		t.Errorf("%d queries, want 1500 at least", len(all))
	}
	again := asked(t)
	if !slices.EqualFunc(all, again, func(a, b *query) bool { return a.line() == b.line() }) {
		t.Error("the same corpus gives different queries the second time")
	}

	commands := map[string]int{}
	var lines strings.Builder
	for _, q := range all {
		commands[strings.Join(q.words, " ")]++
		lines.WriteString(q.line() + "\n")
		for _, a := range q.args {
			if strings.HasSuffix(a, "-dir") || a == "-o" && q.words[0] == "export" || a == "--exec" || a == "--rebuild" {
				t.Errorf("%s has %s: a query must not write or run anything", q.line(), a)
			}
		}
	}
	for _, c := range []string{
		"", "search", "grep", "sessions", "show", "resume", "export", "tools", "tools calls", "tools commands", "tools files", "usage", "index", "status", "doctor", "mcp",
		"fix", "similar", "recap", "blame", "log", "report", "keep", "config",
	} {
		if commands[c] == 0 {
			t.Errorf("no query for the command %q", c)
		}
	}
	for _, f := range filter.Fields {
		if n := strings.Count(lines.String(), f.Field+":"); n < 4 {
			t.Errorf("the field %s is in %d queries, want 4 at least", f.Field, n)
		}
	}
}

// A corpus without sessions is asked as much, about examples.
func TestQueriesOfNothing(t *testing.T) {
	silent, _ := standIn(t, "silent", "")
	p := &program{ctx: t.Context(), path: silent, home: t.TempDir()}
	if n := len(queries("none", p.values())); n < 1000 {
		t.Errorf("%d queries about nothing, want 1000 at least", n)
	}
}

func TestDifference(t *testing.T) {
	long := strings.Repeat("x", 500)
	for _, c := range []struct {
		name     string
		old, new answer
		want     []string // lines, in order
	}{
		{"the same", answer{"a\n", "b\n", 1}, answer{"a\n", "b\n", 1}, nil},
		{"exit code", answer{Code: 0}, answer{Code: 2}, []string{"exit code 0, now 2"}},
		{"error", answer{Stderr: "a\nb\n"}, answer{Stderr: "a\nc\n"}, []string{"stderr", "@@ line 2 @@", "  a", "- b", "+ c"}},
		{"line more", answer{Stdout: "a\nb\nc\n"}, answer{Stdout: "a\nx\nb\nc\n"}, []string{"stdout", "@@ line 2 @@", "  a", "+ x", "  b", "  c"}},
		{"line less", answer{Stdout: "a\nb\nc\n"}, answer{Stdout: "a\nc\n"}, []string{"stdout", "@@ line 2 @@", "  a", "- b", "  c"}},
		{"nothing now", answer{Stdout: "a\n"}, answer{}, []string{"stdout", "@@ line 1 @@", "- a"}},
		{"field of JSON", answer{Stdout: `{"a":1,"b":[2]}`}, answer{Stdout: `{"a":1,"b":[3]}`}, []string{"stdout", "@@ line 4 @@", "  {", `    "a": 1,`, `    "b": [`, "-     2", "+     3", "    ]", "  }"}},
		{"JSON over several lines", answer{Stdout: "{\"a\":[\n{\"b\":1}\n]}\n"}, answer{Stdout: "{\"a\":[\n{\"b\":2}\n]}\n"}, []string{"stdout", "@@ line 4 @@", "  {", `    "a": [`, "      {", `-       "b": 1`, `+       "b": 2`, "      }", "    ]", "  }"}},
		{"order of fields", answer{Stdout: `{"a":1,"b":2}`}, answer{Stdout: `{"b":2,"a":1}`}, []string{"stdout", "@@ line 2 @@", "  {", `-   "a": 1,`, `-   "b": 2`, `+   "b": 2,`, `+   "a": 1`, "  }"}},
		{"white space in JSON", answer{Stdout: `{"a":1}`}, answer{Stdout: `{"a": 1}`}, []string{"stdout", "@@ line 1 @@", `- {"a":1}`, `\ no newline at the end`, `+ {"a": 1}`, `\ no newline at the end`}},
		{"no newline at the end", answer{Stdout: "a\n"}, answer{Stdout: "a"}, []string{"stdout", "@@ line 1 @@", "- a", "+ a", `\ no newline at the end`}},
		{"long line", answer{Stdout: long + "a\n"}, answer{Stdout: long + "b\n"}, []string{"stdout", "@@ line 1 @@", "- …" + strings.Repeat("x", 100) + "a", "+ …" + strings.Repeat("x", 100) + "b"}},
	} {
		var want string
		if c.want != nil {
			want = strings.Join(c.want, "\n") + "\n"
		}
		if got := difference(c.old, c.new); got != want {
			t.Errorf("%s: difference is\n%swant\n%s", c.name, got, want)
		}
	}
}

// A large difference stays short.
func TestDifferenceIsShort(t *testing.T) {
	var a, b strings.Builder
	for range 10000 {
		a.WriteString("a\n")
		b.WriteString("b\n")
	}
	got := difference(answer{Stdout: a.String()}, answer{Stdout: b.String()})
	if n := strings.Count(got, "\n"); n > shownLines+4 {
		t.Errorf("the difference of 10000 lines takes %d", n)
	}
}

func TestNormal(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{`/w/index/old/x is not an index`, `/w/index/new/x is not an index`},
		{"time=2026-11-21T23:10:52.358Z level=DEBUG msg=a took=1.5ms n=1", "time=2026-11-22T00:00:00.1Z level=DEBUG msg=a took=489µs n=1"},
		{`"sizeBytes":88618,"newest":"2026-09-15T12:00:02.000Z","updated":"2026-11-21T23:17:50.668Z","n":1`, `"sizeBytes":87625,"newest":"2026-09-15T12:00:02.000Z","updated":"2026-11-21T23:17:50.807Z","n":1`},
		{`{"generation":8,"n":1}`, `{"generation":10,"n":1}`},
		{`Next page: cursor eyJnIjoyLCJyIjoxODMxNTM3ODUyMTc3ODU0MDIyMCwiYSI6M31H8HCO7aSQyw"`, `Next page: cursor eyJnIjoyLCJyIjozMTYwNDIwMjczNTYyOTE0ODk1LCJhIjozfVbJMEF3kkYg"`},
	} {
		if old, new := (&program{index: "/w/index/old/x"}).normal(c.old), (&program{index: "/w/index/new/x"}).normal(c.new); old != new {
			t.Errorf("these must count as equal:\n%s\n%s", old, new)
		}
	}
	for _, c := range []struct{ old, new string }{
		{`{"timestamp":"2026-11-21T23:10:52.358Z"}`, `{"timestamp":"2026-11-21T23:10:52.359Z"}`},
		{`{"score":69.1915}`, `{"score":69.1916}`},
		{`"sizeBytes":1,"updated":"a","n":1`, `"sizeBytes":1,"updated":"a","n":2`},
		{`Next page: cursor eyJnIjoyLCJyIjoxODMxNTM3ODUyMTc3ODU0MDIyMCwiYSI6M31H8HCO7aSQyw"`, `Next page: cursor eyJnIjoyLCJyIjoxODMxNTM3ODUyMTc3ODU0MDIyMCwiYSI6NH1H8HCO7aSQyw"`},
	} {
		if p := (&program{index: "/i"}); p.normal(c.old) == p.normal(c.new) {
			t.Errorf("these must count as different:\n%s\n%s", c.old, c.new)
		}
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	r := &report{out: &out, allow: regexp.MustCompile("pigrep grep")}
	q := func(command string) *query { return &query{corpus: "c", words: []string{command}} }
	r.add(&tree{name: "c"}, []*result{{query: q("grep")}, {query: q("grep"), difference: "x\n"}})
	if !r.finish() {
		t.Error("an intended difference makes the run fail")
	}
	r.add(&tree{name: "c"}, []*result{{query: q("show"), difference: "the difference\n"}})
	if r.finish() {
		t.Error("a difference does not make the run fail")
	}
	for _, want := range []string{"different: c: pigrep show\n", "the difference\n", "c       grep     2        1      0          1\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// standIn writes a shell script that answers in place of a build and logs each run.
func standIn(t *testing.T, name, body string) (path, log string) {
	t.Helper()
	path, log = filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$*\" >>"+log+"\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, log
}

func TestCompare(t *testing.T) {
	old, oldLog := standIn(t, "old", `echo '{"answer":1}'`)
	same, _ := standIn(t, "same", `echo '{"answer":1}'`)
	other, _ := standIn(t, "other", `case "$*" in *--fork*) echo '{"answer":2}';; *) echo '{"answer":1}';; esac`)
	work := t.TempDir()
	run := func(new, allow string) (bool, string) {
		t.Helper()
		var out bytes.Buffer
		ok, err := compare(t.Context(), &options{old: old, new: new, work: work, only: "pigrep resume --json", allow: allow}, &out)
		if err != nil {
			t.Fatal(err)
		}
		return ok, out.String()
	}
	if ok, out := run(same, "^$"); !ok {
		t.Errorf("two builds with the same answers differ:\n%s", out)
	}
	runs, err := os.ReadFile(oldLog)
	if err != nil || !strings.Contains(string(runs), "resume --session-dir") {
		t.Fatalf("the old build ran %q, %v; want the directories behind the command", runs, err)
	}
	if ok, out := run(other, "^$"); ok || !strings.Contains(out, `-   "answer": 1`) {
		t.Errorf("a difference is not shown:\n%s", out)
	}
	if ok, out := run(other, "resume.*--fork"); !ok || strings.Contains(out, "answer") {
		t.Errorf("an intended difference is not counted as one:\n%s", out)
	}
}

// A build whose answer depends on the clock gets a second chance; one that gives
// another answer each time differs.
func TestCompareAsksAgain(t *testing.T) {
	aging, _ := standIn(t, "aging", `cat "$HOME/age" 2>/dev/null; echo "2 weeks ago" >"$HOME/age"`)
	random, _ := standIn(t, "random", `echo "$$"`)
	for new, want := range map[string]bool{aging: true, random: false} {
		work := t.TempDir()
		testkit.Check(t, os.Mkdir(filepath.Join(work, "home"), 0o755))
		side := func(path string) *program {
			return &program{ctx: t.Context(), path: path, home: filepath.Join(work, "home")}
		}
		q := &query{words: []string{"resume"}}
		if r := ask(side(new), side(new), []*query{q})[0]; (r.difference == "") != want {
			t.Errorf("%s: difference %q, want none: %t", filepath.Base(new), r.difference, want)
		}
	}
}
