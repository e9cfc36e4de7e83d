package query

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/index/analysis"
	"pigrep/internal/lab/stories"
)

// The floors of the ranking, and what plain BM25 must not reach.
const (
	floorFirst     = 0.90 // hit@1
	floorThree     = 0.95 // hit@3
	floorMean      = 0.93 // MRR
	ceilingPlain   = 0.6  // hit@1 of plain BM25
	leastQueries   = 60
	leastSessions  = 40
	mostRank       = 50 // what is further down counts as not found
	distractorDocs = 5  // that hold all words of a query
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
	for line := range strings.Lines(read(t, "../testdata/ranking/queries.txt")) {
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

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// readStories reads the sessions that were written by hand.
func readStories(t testing.TB) []story {
	t.Helper()
	var list []story
	for line := range strings.Lines(read(t, "../testdata/ranking/sessions.txt")) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "== "); ok {
			f := strings.Split(head, " | ")
			start, err := time.Parse(time.DateOnly, f[2])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, story{Name: f[0], ID: "0000-" + f[0], CWD: f[1], Start: start})
			continue
		}
		s := &list[len(list)-1]
		mark, text, _ := strings.Cut(line, " ")
		id := fmt.Sprintf("%s.%d", s.Name, len(s.Entries))
		if rest, ok := strings.CutPrefix(text, "["); ok {
			id, text, _ = strings.Cut(rest, "] ")
		}
		e := rankedEntry(mark, strings.ReplaceAll(text, " / ", "\n"))
		if mark == "L" {
			e.Fields["targetId"] = s.Entries[len(s.Entries)-1].ID
		}
		e.Minute = len(s.Entries)
		s.Entries = append(s.Entries, e.Named(id))
	}
	return list
}

func rankedEntry(mark, text string) turn {
	switch mark {
	case ">":
		return prompt(text)
	case "<":
		return reply(text)
	case "?":
		return stories.Said(map[string]any{"type": "thinking", "thinking": text})
	case "$":
		return called("bash", map[string]any{"command": text})
	case "@":
		tool, argument, _ := strings.Cut(text, " ")
		return called(tool, map[string]any{"path": argument})
	case "=", "=!":
		return result("bash", text, mark == "=!")
	case "!":
		command, output, _ := strings.Cut(text, " => ")
		return turn{Message: map[string]any{"role": "bashExecution", "command": command, "output": output, "exitCode": 0}}
	case "E":
		return turn{Message: map[string]any{"role": "assistant", "content": []any{}, "stopReason": "error", "errorMessage": text}}
	case "T":
		return turn{Fields: map[string]any{"type": "session_info", "name": text}}
	case "L":
		return turn{Fields: map[string]any{"type": "label", "label": text}}
	case "S":
		return turn{Fields: map[string]any{"type": "compaction", "summary": text, "tokensBefore": 1000}}
	}
	panic("no entry begins with " + mark)
}

var filler = strings.Fields(`the a of to in is for with that on as it by from at be this was are or an we can has not all more when
value list name path item line file count result status total entry field level state group node type mode step part
update create remove change move copy merge apply start finish open keep send return handle process select
module package version release branch review ticket report sample example detail notes draft summary option default
north green seven little yellow river window garden letter paper market winter corner bridge silver`)

// distractors makes, for each query, documents with all of its words: out of
// order and apart. They lie in sessions of their own, one of each sort, so that
// those of a query are in different ones.
func distractors(wishes []wish) []story {
	const shelves = 12
	list := make([]story, 0, 6*shelves)
	for sort := range 6 {
		for n := range shelves {
			list = append(list, story{
				Name: fmt.Sprintf("noise-%d-%02d", sort, n), CWD: "/home/dev/misc", Start: time.Date(2026, time.Month(2+n%3), 1+2*n, 8, 0, 0, 0, time.UTC),
			})
		}
	}
	for n, w := range wishes {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		some := func(count int) string {
			words := make([]string, count)
			for i := range words {
				words[i] = filler[r.IntN(len(filler))]
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
		docs := [6]turn{
			result("bash", scatter(3, 12, "\n"), false),
			result("read", scatter(2, 2, "\n"), false),
			reply(scatter(2, 4, " ")),
			stories.Said(map[string]any{"type": "thinking", "thinking": scatter(2, 3, " ")}),
			called("bash", map[string]any{"command": "echo " + scatter(1, 3, " ")}),
			prompt("Here is what I pasted:\n" + scatter(2, 8, "\n")),
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

func rankIn(ids, want []string) int {
	return slices.IndexFunc(ids, func(id string) bool { return slices.Contains(want, id) }) + 1
}

// model is the documents of a library in memory.
type model struct{ *stories.Corpus }

// plainRanks ranks the documents by BM25 with any of the words as typed.
func (m model) plainRanks(text string, entryOf func(*stories.Doc) string) []string {
	var a analysis.Analyzer
	terms := map[string]bool{}
	a.Walk([]byte(text), func(t analysis.Token) { terms[string(t.Term)] = true })
	type scored struct {
		d     *stories.Doc
		score float64
	}
	var list []scored
	for i := range m.Docs {
		d := &m.Docs[i]
		sum := 0.0
		for term := range terms {
			if f := d.Freq[term]; f > 0 {
				sum += m.IDF(m.DF[term]) * m.TF(float64(f), d.Length)
			}
		}
		if sum > 0 {
			list = append(list, scored{d, math.Round(sum*1e9) / 1e9})
		}
	}
	slices.SortFunc(list, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.d.Path, y.d.Path), cmp.Compare(x.d.ID.Offset, y.d.ID.Offset))
	})
	ids := []string{}
	for _, x := range list[:min(mostRank, len(list))] {
		ids = append(ids, entryOf(x.d))
	}
	return ids
}

func TestRanking(t *testing.T) {
	wishes, list := readWishes(t), readStories(t)
	if len(wishes) < leastQueries || len(list) < leastSessions {
		t.Fatalf("%d queries over %d sessions, want at least %d over %d", len(wishes), len(list), leastQueries, leastSessions)
	}
	l := newLibrary(t, append(list, distractors(wishes)...)...)
	m := model{l.Corpus()}
	entryOf := func(d *stories.Doc) string {
		rec, err := l.Reader.Record(d.ID.File)
		if err != nil {
			t.Fatal(err)
		}
		return rec.Nodes[rec.NodeAt(d.ID.Offset)].ID
	}
	var all, tuning, held, plain, sessions tally
	for _, w := range wishes {
		resp := l.search(Request{Text: w.text, Flat: true, Limit: mostRank})
		ids := []string{}
		for _, h := range resp.Hits {
			ids = append(ids, h.EntryID)
		}
		rank := rankIn(ids, w.want)
		all.add(rank)
		if w.held {
			held.add(rank)
		} else {
			tuning.add(rank)
			if rank != 1 {
				t.Logf("%s: rank %d, want %s, got %s", w.text, rank, w.want, ids[:min(3, len(ids))])
			}
		}
		if n := m.withAll(w.words, entryOf, w.want); n < distractorDocs {
			t.Errorf("%s: %d distractors hold all of %q, want at least %d", w.text, n, w.words, distractorDocs)
		}
		plain.add(rankIn(m.plainRanks(w.text, entryOf), w.want))

		grouped := l.search(Request{Text: w.text, PerSession: 1})
		ids = ids[:0]
		for _, s := range grouped.Sessions {
			ids = append(ids, strings.TrimPrefix(s.SessionID, "0000-"))
		}
		want := []string{}
		for _, s := range list {
			if slices.ContainsFunc(s.Entries, func(e turn) bool { return slices.Contains(w.want, e.ID) }) {
				want = append(want, s.Name)
			}
		}
		sessions.add(rankIn(ids, want))
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
func (m model) withAll(words []string, entryOf func(*stories.Doc) string, want []string) int {
	var a analysis.Analyzer
	terms := map[string]bool{}
	for _, w := range words {
		a.Walk([]byte(w), func(t analysis.Token) { terms[string(t.Term)] = true })
	}
	n := 0
next:
	for i := range m.Docs {
		for term := range terms {
			if m.Docs[i].Freq[term] == 0 {
				continue next
			}
		}
		if !slices.Contains(want, entryOf(&m.Docs[i])) {
			n++
		}
	}
	return n
}
