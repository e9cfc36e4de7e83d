package fix

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
)

// The line that is looked for says which error it is.
func TestFailureLine(t *testing.T) {
	for output, want := range map[string]string{
		"Exit code 1\nTraceback (most recent call last):\n  File \"/srv/load.py\", line 3\nModuleNotFoundError: No module named 'yaml'": "ModuleNotFoundError: No module named 'yaml'",
		"src/a.ts(1,2): error TS2305: Module has no exported member 'A'.\nnpm error Lifecycle script `check` failed with error:":        "src/a.ts(1,2): error TS2305: Module has no exported member 'A'.",
		"npm error Lifecycle script `check` failed\nmake: *** [check] Error 2\n\nCommand exited with code 2":                            "",
		"Exit code 2\nls: cannot access 'x': No such file or directory":                                                                 "ls: cannot access 'x': No such file or directory",
		"FAIL\tpigrep/ui/cli\t1.2s":                  "",
		"--- FAIL: TestX (0.00s)":                    "",
		"Command aborted":                            "",
		"Command timed out after 120 seconds":        "",
		"error: script \"test\" exited with 1":       "",
		"husky - pre-commit script failed":           "",
		"error: build failed":                        "",
		"error: aborting due to 3 previous errors":   "",
		"Error: Process completed with exit code 1.": "",
		"three files\nchanged":                       "",
	} {
		f := Failure{Output: output, Known: true}
		if got := f.line(); got != want {
			t.Errorf("line of %q: %q, want %q", output, got, want)
		}
	}
	quiet := Failure{Output: "ls: cannot access 'x': No such file or directory"}
	if got := quiet.line(); got != "" {
		t.Errorf("of a command that may have succeeded: %q", got)
	}
}

// An error is the same one in another directory, on another line and at another time; not about another thing.
func TestSteady(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"../core/src/a.ts(1,2): error TS2305: no member 'A'", "core/src/a.ts(17,4): error TS2305: no member 'A'", true},
		{"./main.go:12:3: undefined: x", "main.go:99:1: undefined: x", true},
		{"\x1b[31mError: \x1b[0mcannot find module 'x'", "Error: cannot find module 'x'", true},
		{"cat: /a/notes.txt: No such file", "cat: /b/notes.txt: No such file", true},
		{"12:00:01 error: lock is held by pid 17 for 1.5s", "13:07:59 error: lock is held by pid 4711 for 20ms", true},
		{"SyntaxError: bad token at line 3", "SyntaxError: bad token at line 8", true},
		{"cat: /x/a/notes.txt: No such file", "cat: /x/b/notes.txt: No such file", false},
		{"main.go:12:3: undefined: x", "main.go:12:3: undefined: y", false},
		{"a.go:12:3: undefined: x", "b.go:12:3: undefined: x", false},
		{"Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 127.0.0.1:6379", false},
		{"error TS2305: no member 'A'", "error TS2305: no member 'B'", false},
		{"No module named 'yaml'", "No module named 'toml'", false},
		{"error: requires node 18", "error: requires node 22", false},
		{"HTTP 401: Bad credentials", "HTTP 403: Bad credentials", false},
	} {
		if a, b := steady(c.a, "/a"), steady(c.b, "/b"); (a == b) != c.same {
			t.Errorf("%q and %q: %q and %q, want the same: %v", c.a, c.b, a, b, c.same)
		}
	}
}

// realFailure is a shell command of a real session that failed.
type realFailure struct {
	path, id, cwd, text string
}

// realFailures indexes the real sessions of all agents, and returns the commands that failed there.
func realFailures(t *testing.T) (*index.Reader, adapter.Adapter, []realFailure) {
	t.Helper()
	if testkit.Fixtures() == "" {
		t.Skip("SKIPPED: PIGREP_FIXTURES names no directory with real sessions: repairs are not measured")
	}
	all := adapter.NewRegistry(adapter.Environment{Getenv: func(string) string { return "" }}, agents.All()...)
	var roots []adapter.Root
	for _, name := range []string{"real", "agents", "public"} {
		roots = append(roots, adapter.Root{Path: filepath.Join(testkit.Fixtures(), name), Origin: "test"})
	}
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	res, err := indexer.Update(t.Context(), indexer.Options{Dir: t.TempDir(), Adapter: all, Roots: roots, Now: now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid()})
	testkit.Check(t, err)
	r := res.Reader
	t.Cleanup(func() { r.Close() })
	set, err := r.Facts(t.Context(), record.CallFacts, record.DetailFacts)
	testkit.Check(t, err)
	reader := entry.NewReader(stories.Disk{}, all)
	defer reader.Use(nil)
	var list []realFailure
	for i := range r.Summaries() {
		rec, err := r.Record(r.Summaries()[i].File)
		testkit.Check(t, err)
		facts, err := set.Facts(rec.File)
		testkit.Check(t, err)
		reader.Use(&rec.Summary)
		for _, c := range facts.Calls {
			at := rec.NodeAt(c.Result)
			if !c.Shell || !c.HasResult || !c.Failed || at < 0 {
				continue
			}
			list = append(list, realFailure{rec.Path, rec.ID, rec.CWD, textAt(t, reader, rec, at)})
		}
	}
	return r, all, list
}

func textAt(t *testing.T, reader *entry.Reader, rec *session.Record, at int) (text string) {
	t.Helper()
	n := &rec.Nodes[at]
	err := reader.Read(entry.RefOf(n, rec.Contexts.At(at)), entry.Identity{ID: n.ID}, func(e *session.Entry) {
		for _, p := range e.Parts {
			text += string(p.Text) + "\n"
		}
	})
	if err != nil && !errors.Is(err, entry.ErrChanged) { // it has no parts, or its file is compressed
		t.Fatal(err)
	}
	return text
}

var (
	tails  = regexp.MustCompile(`\n+Command exited with code \d+\n$`)
	digits = regexp.MustCompile(`\d+`)
	places = regexp.MustCompile(`\(\d+,\d+\)`)
	things = regexp.MustCompile(`'[^'\n]{3,60}'`)
)

// What is said after a failure is about the same error, and names a repair that worked: of real failures,
// as they are, with those of the own session left out, in another directory at other lines, and about other things.
func TestRecallIsPrecise(t *testing.T) {
	r, all, failures := realFailures(t)
	asked, said, right := 0, 0, 0
	ask := func(f realFailure, text, cwd string, wanted bool, excludes ...string) {
		asked++
		req := Request{Spec: filter.Spec{Excludes: excludes}}
		x, err := Recall(t.Context(), r, all, stories.Disk{}, Failure{Output: text, CWD: cwd, Known: true}, req)
		testkit.Check(t, err)
		if x == nil {
			return
		}
		said++
		why := judge(t, r, all, x, text)
		if why == "" && !wanted {
			why = "it is about another thing"
		}
		if why != "" {
			t.Logf("%s: %s: %q\nsays %q", filepath.Base(f.path), why, text[max(0, len(text)-300):], x.Error.Text)
			return
		}
		right++
	}
	for _, f := range failures {
		ask(f, f.text, f.cwd, true, filter.LiteralGlob(f.path), "*"+filter.LiteralGlob(f.id)+"*")
		ask(f, f.text, f.cwd, true) // another session has the same failure
		ask(f, "Exit code 1\n"+tails.ReplaceAllString(f.text, ""), f.cwd, true)
		moved := places.ReplaceAllString(f.text, "(571,3)")
		if len(f.cwd) > 1 {
			moved = strings.ReplaceAll(moved, f.cwd, "/srv/elsewhere/project")
		}
		ask(f, moved, "/srv/elsewhere/project", true)
		if other := things.ReplaceAllString(f.text, "'another'"); other != f.text {
			ask(f, other, f.cwd, false)
		}
	}
	t.Logf("%d failures: %d answers, %d of them right", asked, said, right)
	if asked < 200 || said < 20 || right*10 < said*9 {
		t.Errorf("%d of %d answers to %d failures are right, want 9 of 10, and 20 of them", right, said, asked)
	}
}

// judge says what is wrong with a remedy, "" if nothing is: it reads the session file itself.
func judge(t *testing.T, r *index.Reader, all adapter.Adapter, x *Remedy, text string) string {
	t.Helper()
	line := strings.TrimSpace(strings.Split(x.Error.Text, "\n")[0])
	plain := func(s string) string { return digits.ReplaceAllString(filepath.Base(strings.TrimSpace(s)), "#") }
	same := false
	for l := range strings.Lines(text) {
		same = same || plain(l) == plain(line)
	}
	if !same {
		return "it is another error"
	}
	var rec *session.Record
	for i := range r.Summaries() {
		if r.Summaries()[i].Path == x.SessionPath {
			var err error
			rec, err = r.Record(r.Summaries()[i].File)
			testkit.Check(t, err)
		}
	}
	reader := entry.NewReader(stories.Disk{}, all)
	reader.Use(&rec.Summary)
	defer reader.Use(nil)
	if x.Passed.Offset <= x.Error.Offset {
		return "the repair came first"
	}
	for at := rec.NodeAt(x.Passed.Offset) + 1; at < len(rec.Nodes); at++ {
		if strings.Contains(textAt(t, reader, rec, at), line) {
			return "the error came back"
		}
	}
	return ""
}
