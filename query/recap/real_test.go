package recap

import (
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
)

// truth is what a reader marked in a session file.
type truth struct {
	file  string
	facts []string
}

func readTruth(t *testing.T) (list []truth) {
	t.Helper()
	data, err := os.ReadFile("testdata/truth.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "== "):
			list = append(list, truth{file: line[3:]})
		default:
			last := &list[len(list)-1]
			last.facts = append(last.facts, line)
		}
	}
	return list
}

// says reports whether a fact is the one that a reader marked.
func says(f *Fact, marked string) bool {
	what, rest, _ := strings.Cut(marked, " ")
	if what != string(f.What) {
		return false
	}
	switch f.What {
	case Changed:
		return rest == fmt.Sprintf("%s %d %d %d", path.Base(session.Slashed(f.Text)), f.Edits, f.Writes, f.Deletes)
	case Failed:
		command, passed := strings.CutPrefix(rest, "passed ")
		return passed == (f.Passed != nil) && strings.HasPrefix(f.Text, command)
	case Commit:
		return rest == f.Hash
	}
	return strings.Contains(f.Text, rest)
}

// Of the facts that a reader marked in real sessions, most are told, and hardly any that the reader did not mark.
func TestReal(t *testing.T) {
	if testkit.Fixtures() == "" {
		// Real sessions are not part of the repository.
		t.Skip("SKIPPED: PIGREP_FIXTURES names no directory with real sessions: recap is not measured")
	}
	list := readTruth(t)
	var roots []adapter.Root
	for _, dir := range []string{"real", "agents"} {
		roots = append(roots, adapter.Root{Path: filepath.Join(testkit.Fixtures(), dir), Origin: "test"})
	}
	a := adapter.NewRegistry(adapter.Environment{Getenv: func(string) string { return "" }}, agents.All()...)
	a.In(roots)
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	res, err := indexer.Update(t.Context(), indexer.Options{
		Dir: t.TempDir(), Adapter: a, Roots: roots, Now: now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Reader.Close()
	told, right, marked, found := 0, 0, 0, 0
	for _, x := range list {
		facts := factsOf(t, res.Reader, a, filepath.Join(testkit.Fixtures(), filepath.FromSlash(x.file)))
		told, marked = told+len(facts), marked+len(x.facts)
		for i := range facts {
			if slices.ContainsFunc(x.facts, func(m string) bool { return says(&facts[i], m) }) {
				right++
			} else {
				t.Logf("%s: told, not marked: %+v", path.Base(x.file), facts[i])
			}
		}
		for _, m := range x.facts {
			if slices.ContainsFunc(facts, func(f Fact) bool { return says(&f, m) }) {
				found++
			} else {
				t.Logf("%s: marked, not told: %s", path.Base(x.file), m)
			}
		}
	}
	precision, recall := float64(right)/float64(told), float64(found)/float64(marked)
	t.Logf("%d sessions: precision %.3f of %d facts, recall %.3f of %d", len(list), precision, told, recall, marked)
	if precision < 0.95 || recall < 0.9 {
		t.Errorf("precision %.3f, recall %.3f; want at least 0.95 and 0.9", precision, recall)
	}
}

func factsOf(t *testing.T, r *index.Reader, a adapter.Adapter, file string) []Fact {
	t.Helper()
	resp, err := Run(t.Context(), r, a, stories.Disk{}, Request{Path: file})
	if err != nil || len(resp.Sessions) != 1 {
		t.Fatalf("%s: %v, %d sessions", file, err, len(resp.Sessions))
	}
	return slices.DeleteFunc(resp.Sessions[0].Facts, func(f Fact) bool { return f.SessionPath != "" }) // of subagents, which have files of their own
}
