package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/lab/ranking"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
)

// An answer to a question takes few tokens, and seldom lacks what was asked for. Models read the list
// of tools before every answer.
func TestQuestionsCostLittle(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	const questions, mostTokens, mostOfTools = 30, 750, 2500
	ask := func(set *ranking.Set, sessions string, least int) {
		defer set.Close()
		g := newAgent(t, sessions)
		told, err := set.Ask(t.Context(), g.ClientSession, ranking.Questions(set.Queries, questions), nil)
		testkit.Check(t, err)
		if tokens, listed := ranking.Median(told); tokens > mostTokens || listed < least {
			t.Errorf("%s: %d tokens (p50), want at most %d; %d of %d questions have their answer listed, want %d: see go run ./lab/bench/answers", set.Name, tokens, mostTokens, listed, len(told), least)
		}
		tools, err := g.ListTools(t.Context(), nil)
		testkit.Check(t, err)
		if shown, _ := ranking.ToolTokens(tools.Tools); shown > mostOfTools {
			t.Errorf("the list of tools takes %d tokens, want at most %d", shown, mostOfTools)
		}
	}
	work := t.TempDir()
	made, err := ranking.OpenMade(work, testkit.Root())
	testkit.Check(t, err)
	ask(made, filepath.Join(work, "sessions"), 27)
	real, err := ranking.OpenReal(t.TempDir(), testkit.Root(), testkit.Fixtures())
	if !errors.Is(err, ranking.ErrMissing) { // real sessions are not part of the repository
		testkit.Check(t, err)
		ask(real, filepath.Join(testkit.Fixtures(), "real"), 24)
	}
}

// agentOf returns an agent over sessions of pi.
func agentOf(t *testing.T, list ...stories.Story) *agent {
	t.Helper()
	dir := t.TempDir()
	for i := range list {
		testkit.Check(t, os.WriteFile(filepath.Join(dir, list[i].Name+".jsonl"), []byte(list[i].Text()), 0o644))
	}
	return newAgent(t, dir)
}

// A search lists three sessions, the first one with three hits and the others with their best one.
// Hits without the weightiest word are counted after the first one with every word.
func TestSearchListsWhatMatters(t *testing.T) {
	t.Parallel()
	var list []stories.Story
	said := func(name, text string) stories.Turn { return stories.Prompt(text).Named(name) }
	for i := range 5 { // alike texts would be one hit
		s := stories.Story{Name: fmt.Sprint("both", i), Start: stories.Day}
		for j, about := range []string{"at the counter", "in the cellar, again", "on paper for the auditor", "after the holidays"} {
			s.Entries = append(s.Entries, said(fmt.Sprintf("b%d%d", i, j), fmt.Sprintf("%s, the wallet of the zebra works in town %d", about, i)))
		}
		if i < 2 {
			s.Entries = append(s.Entries, said(fmt.Sprint("p", i), fmt.Sprintf("a purse for the okapi of town %d", i)))
		}
		list = append(list, s)
	}
	for i := range 4 {
		s := stories.Story{Name: fmt.Sprint("half", i), Start: stories.Day}
		for j := range 30 {
			text := fmt.Sprintf("something else, number %d%d", i, j)
			if j < 2 {
				text = fmt.Sprintf("wallet number %d%d", i, j)
			} else if j < 4 {
				text = fmt.Sprintf("purse number %d%d", i, j)
			}
			s.Entries = append(s.Entries, said(fmt.Sprintf("h%d%d", i, j), text))
		}
		list = append(list, s)
	}
	g := agentOf(t, list...)
	shape := func(arguments string) (a answer, hits []int) {
		a, _, _ = g.call("search", arguments)
		for _, s := range a.Sessions {
			hits = append(hits, len(s.Hits))
		}
		return a, hits
	}
	a, hits := shape(`{"query":"wallet zebra"}`)
	if !slices.Equal(hits, []int{3, 1, 1}) || a.NextCursor == "" {
		t.Errorf("hits of each session: %v", hits)
	}
	all := a.items()
	for a.NextCursor != "" {
		if a, hits = shape(fmt.Sprintf(`{"query":"wallet zebra","cursor":%q}`, a.NextCursor)); len(hits) > 3 {
			t.Errorf("%d sessions on a page", len(hits))
		}
		all = append(all, a.items()...)
	}
	if text := strings.Join(all, "\n"); len(all) != 7 || strings.Contains(text, "half") || strings.Contains(text, " number ") {
		t.Errorf("all pages list %d hits, want 7: %s", len(all), text)
	}
	if a, hits = shape(`{"query":"wallet zebra","perSession":2,"limit":5}`); !slices.Equal(hits, []int{2, 2, 2, 2, 2}) || a.Looser != 8 || a.Folded != 8 {
		t.Errorf("with perSession 2: %v, %d looser, %d of them folded", hits, a.Looser, a.Folded)
	}
	if a, hits = shape(`{"query":"wallet zebra","any":true,"limit":20}`); len(hits) != len(list) || a.Folded != 0 {
		t.Errorf("with any: %v, %d folded", hits, a.Folded)
	}
	if a, _ = shape(`{"query":"wallet zebra","flat":true,"limit":200}`); len(a.Hits) == 0 || slices.ContainsFunc(a.Hits, func(h hitRow) bool { return strings.Contains(h.Text, " number ") }) || a.Folded != 8 {
		t.Errorf("flat: %d hits, %d folded", len(a.Hits), a.Folded)
	}
	if a, hits = shape(`{"query":"purse okapi"}`); !slices.Equal(hits, []int{1, 1}) || a.Looser != 8 || a.Folded != 8 || a.NextCursor != "" {
		t.Errorf("two hits with every word: %v, %d looser, %d folded", hits, a.Looser, a.Folded)
	}
	if a, hits = shape(`{"query":"purse okapi","any":true,"limit":20}`); len(hits) != 6 || a.Folded != 0 {
		t.Errorf("the same with any: %v, %d folded", hits, a.Folded)
	}
	if a, hits = shape(`{"query":"wallet unheard"}`); len(hits) != 3 || a.Folded != 0 {
		t.Errorf("without a hit with every word: %v, %d folded", hits, a.Folded)
	}
}

// A recap tells of each session what is open and how it ended before what it changed, and of many
// changed files how many there are.
func TestRecapBeginsWithWhatIsOpen(t *testing.T) {
	t.Parallel()
	s := stories.Story{Name: "long", Start: stories.Day, CWD: "/srv"}
	s.Entries = append(s.Entries, stories.Prompt("change them"))
	for i := range 9 {
		s.Entries = append(s.Entries, stories.Called("write", map[string]any{"path": fmt.Sprintf("/srv/f%d.go", i), "content": "x"}), stories.Result("write", "ok", false))
	}
	s.Entries = append(s.Entries, stories.Reply("All nine are changed."), stories.Prompt("and the tenth?"))
	g := agentOf(t, s, stories.Story{Name: "short", Start: stories.Day.AddDate(0, 0, -1), Entries: []stories.Turn{stories.Prompt("hello"), stories.Reply("Hello!")}})
	a, _, _ := g.call("recap", `{}`)
	if len(a.Sessions) != 2 {
		t.Fatalf("%d sessions", len(a.Sessions))
	}
	var got []string
	for _, f := range a.Sessions[0].Facts {
		got = append(got, f.What+" "+f.Text)
	}
	want := []string{`open no reply to "and the tenth?"`, "ends All nine are changed."}
	for i := range 5 {
		want = append(want, fmt.Sprintf("changed f%d.go · written", i))
	}
	if want = append(want, "changed 4 more"); !slices.Equal(got, want) {
		t.Errorf("facts %q, want %q", got, want)
	}
}
