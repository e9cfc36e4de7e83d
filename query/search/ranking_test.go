package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/lab/ranking"
	"pigrep/lab/stories"
)

// The floors of the ranking, and what plain BM25 must not reach.
const (
	floorFirst     = 0.90 // hit@1
	floorThree     = 0.95 // hit@3
	floorMean      = 0.93 // MRR
	ceilingPlain   = 0.6  // hit@1 of plain BM25
	leastQueries   = 60
	leastSessions  = 40
	distractorDocs = 5 // that hold all words of a query
)

// A wish is a query and the entries that a person who types it wants.
type wish struct {
	text  string
	want  []string
	words []string // of its distractors
	held  bool     // not to be looked at while tuning
}

func readWishes(t testing.TB) []wish {
	t.Helper()
	var list []wish
	data, err := os.ReadFile("../../testdata/ranking/queries.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var w wish
		line, w.held = strings.CutPrefix(strings.TrimSpace(line), "h ")
		text, rest, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("no => in the query %q", line)
		}
		w.text = text
		want, words, other := strings.Cut(rest, " ; ")
		if !other {
			words = strings.Trim(text, `"`)
		}
		w.want, w.words = strings.Split(want, ", "), strings.Fields(words)
		list = append(list, w)
	}
	return list
}

// distractors makes, for each query, documents with all of its words: out of
// order and apart. They lie in sessions of their own, one of each sort, so that
// those of a query are in different ones.
func distractors(wishes []wish) []stories.Story {
	const shelves = 12
	list := make([]stories.Story, 0, 6*shelves)
	for sort := range 6 {
		for n := range shelves {
			list = append(list, stories.Story{
				Name: fmt.Sprintf("noise-%d-%02d", sort, n), CWD: "/home/dev/misc", Start: time.Date(2026, time.Month(2+n%3), 1+2*n, 8, 0, 0, 0, time.UTC),
			})
		}
	}
	for n, w := range wishes {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		some := func(count int) string {
			words := make([]string, count)
			for i := range words {
				words[i] = ranking.Filler[r.IntN(len(ranking.Filler))]
			}
			return strings.Join(words, " ")
		}
		// scatter writes each word so often, with so much before each.
		scatter := func(often, gap int, between string) string {
			var b strings.Builder
			for range often {
				for _, i := range r.Perm(len(w.words)) {
					b.WriteString(some(gap+r.IntN(gap)) + between + w.words[i] + between)
				}
			}
			return b.String() + some(gap)
		}
		docs := [6]stories.Turn{
			stories.Result("bash", scatter(3, 12, "\n"), false),
			stories.Result("read", scatter(2, 2, "\n"), false),
			stories.Reply(scatter(2, 4, " ")),
			stories.Said(map[string]any{"type": "thinking", "thinking": scatter(2, 3, " ")}),
			stories.Called("bash", map[string]any{"command": "echo " + scatter(1, 3, " ")}),
			stories.Prompt("Here is what I pasted:\n" + scatter(2, 8, "\n")),
		}
		for sort, e := range docs {
			s := &list[sort*shelves+(n*5+sort)%shelves]
			s.Entries = append(s.Entries, e)
		}
	}
	return list
}

// A tally counts the ranks at which wishes were found.
type tally struct{ queries, first, three, mean float64 }

func (t *tally) add(rank int) { // 1 is first, 0 not found
	t.queries++
	if rank == 1 {
		t.first++
	}
	if 1 <= rank && rank <= 3 {
		t.three++
	}
	if rank > 0 {
		t.mean += 1 / float64(rank)
	}
}

func (t tally) String() string {
	return fmt.Sprintf("%2.0f queries: hit@1 %.3f, hit@3 %.3f, MRR %.3f", t.queries, t.first/t.queries, t.three/t.queries, t.mean/t.queries)
}

func TestRanking(t *testing.T) {
	wishes := readWishes(t)
	list, err := ranking.ReadStories("../../testdata/ranking/sessions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(wishes) < leastQueries || len(list) < leastSessions {
		t.Fatalf("%d queries over %d sessions, want at least %d over %d", len(wishes), len(list), leastQueries, leastSessions)
	}
	l, err := ranking.OpenStories(t.TempDir(), append(list, distractors(wishes)...))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all, tuning, held, plain, sessions tally
	for _, w := range wishes {
		want := map[ranking.Entry]int{}
		for _, id := range w.want {
			e, err := l.Find(id)
			if err != nil {
				t.Fatal(err)
			}
			want[e] = ranking.Best
		}
		flat, err := l.Flat(w.text)
		if err != nil {
			t.Fatal(err)
		}
		rank := ranking.Rank(flat.Entries, want)
		all.add(rank)
		if w.held {
			held.add(rank)
		} else {
			tuning.add(rank)
			if rank != 1 {
				first := make([]string, min(3, len(flat.Entries)))
				for i := range first {
					first[i] = l.Position(flat.Entries[i])
				}
				t.Logf("%s: rank %d, want %s, got %s", w.text, rank, w.want, first)
			}
		}
		if n := withAll(l, w.words, want); n < distractorDocs {
			t.Errorf("%s: %d distractors hold all of %q, want at least %d", w.text, n, w.words, distractorDocs)
		}
		plain.add(ranking.Rank(l.Plain(w.text).Entries, want))

		grouped, err := l.Grouped(w.text)
		if err != nil {
			t.Fatal(err)
		}
		sessions.add(1 + slices.IndexFunc(grouped.Sessions, func(path string) bool {
			for e := range want {
				if e.Path == path {
					return true
				}
			}
			return false
		}))
	}
	t.Logf("entries, all      %v", all)
	t.Logf("entries, tuning   %v", tuning)
	t.Logf("entries, held out %v", held)
	t.Logf("sessions, all     %v", sessions)
	t.Logf("plain BM25        %v", plain)
	n := float64(len(wishes))
	for _, c := range []struct {
		name        string
		have, floor float64
	}{
		{"hit@1", all.first / n, floorFirst},
		{"hit@3", all.three / n, floorThree},
		{"MRR", all.mean / n, floorMean},
		{"hit@1 of sessions", sessions.first / n, floorFirst},
		{"MRR of sessions", sessions.mean / n, floorMean},
	} {
		if c.have < c.floor {
			t.Errorf("%s is %.3f, want at least %.2f", c.name, c.have, c.floor)
		}
	}
	if plain.first/n > ceilingPlain {
		t.Errorf("hit@1 of plain BM25 is %.3f: the set is too easy above %.2f", plain.first/n, ceilingPlain)
	}
}

// withAll counts the documents that hold all of the words, those wanted left out.
func withAll(l *ranking.Library, words []string, want map[ranking.Entry]int) int {
	terms := ranking.Terms(strings.Join(words, " "))
	n := 0
	for i := range l.Corpus.Docs {
		d := &l.Corpus.Docs[i]
		lacks := func(term string) bool { return d.Freq[term] == 0 }
		if _, wanted := want[l.EntryOf(d)]; !wanted && !slices.ContainsFunc(terms, lacks) {
			n++
		}
	}
	return n
}
