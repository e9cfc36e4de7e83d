package oracle_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/e2e/oracle"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/scope"
)

// queriesEach is how many queries each set of session files answers.
func queriesEach() int { return testkit.Rounds(2, 5, 10) }

// asked is a collection of session files as the oracle has them, and indexes of them.
type asked struct {
	fail    func(format string, args ...any) // ends the check
	corpus  *oracle.Corpus
	readers map[string]*index.Reader // that answer alike, by how they came about
	large   bool                     // whether a search may give up counting; then it says so, and is not compared
}

func TestOracleKnowsEveryField(t *testing.T) {
	var names []string
	for _, f := range filter.Fields {
		names = append(names, f.Field)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(oracle.FieldNames()))); diff != "" {
		t.Error(diff)
	}
}

func whole() float64 { return 1 }

func options(dir, root string) indexer.Options {
	return indexer.Options{
		Dir: dir, Adapter: pi.New(), Roots: []adapter.Root{{Path: root, Origin: "test", Follow: true}},
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	}
}

// A search finds what the oracle says, whatever the query and the session files are, and
// the same whether the files were indexed at once, as they grew, or in memory.
func TestQueriesAgainstOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(base)
		a := &asked{fail: rt.Fatalf, readers: map[string]*index.Reader{}}
		defer a.close()
		root := filepath.Join(base, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			rt.Fatal(err)
		}
		files := oracle.Sessions().Draw(rt, "files")
		for range rapid.IntRange(0, 2).Draw(rt, "updates before") {
			if _, err := files.Write(root, func() float64 { return float64(rapid.IntRange(0, 20).Draw(rt, "twentieths")) / 20 }); err != nil {
				rt.Fatal(err)
			}
			a.index("grown", base, root, false)
		}
		paths, err := files.Write(root, whole)
		if err != nil {
			rt.Fatal(err)
		}
		a.index("grown", base, root, false)
		a.index("at once", base, root, false)
		a.index("in memory", base, root, true)
		if a.corpus, err = oracle.Read(paths...); err != nil {
			rt.Fatal(err)
		}
		a.draw(rt)
	})
}

// index updates the index of this name, in memory if nothing may be written.
func (a *asked) index(name, base, root string, memory bool) {
	o := options(filepath.Join(base, name), root)
	if memory {
		w, err := index.OpenWriter(o.Dir, index.WriterOptions{PID: 4321})
		if err != nil {
			a.fail("%v", err)
		}
		defer w.Close()
		o.Memory = true
	}
	res, err := indexer.Update(context.Background(), o)
	if err != nil || !res.Complete() {
		a.fail("update: %v, %+v", err, res)
	}
	if old := a.readers[name]; old != nil {
		old.Close()
	}
	a.readers[name] = res.Reader
}

func (a *asked) close() {
	for _, r := range a.readers {
		r.Close()
	}
}

// draw asks random queries.
func (a *asked) draw(rt *rapid.T) {
	pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "way") }
	for range queriesEach() {
		a.check(a.corpus.Queries(false).Draw(rt, "query"), rapid.SampledFrom(scope.Scopes).Draw(rt, "scope"), pick)
	}
	tight := a.corpus.Queries(true)
	a.laws(tight.Draw(rt, "p"), tight.Draw(rt, "q"))
}

// answer returns the places of all hits of a query, sorted; with allWords, of those that lack
// nothing. All indexes give the same answer.
func (a *asked) answer(text string, within scope.Scope, allWords bool) (places []oracle.Place, resp *search.Response) {
	for name, r := range a.readers {
		got, err := search.Run(context.Background(), r, pi.New(), stories.Disk{}, search.Request{
			Text: text, Spec: filter.Spec{Scope: within}, Flat: true, Limit: search.All, AllWords: allWords, PhraseBytes: 1 << 40, Env: filter.Env{Now: stories.Day},
		})
		if err != nil {
			a.fail("%s: %v", text, err)
		}
		got.Index = search.IndexState{}
		if resp == nil {
			resp = got
		} else if diff := cmp.Diff(resp, got, cmpopts.IgnoreUnexported(search.Response{})); diff != "" {
			a.fail("%s, all words %t: the index %s answers otherwise:\n%s", text, allWords, name, diff)
		}
	}
	for i := range resp.Hits {
		places = append(places, placeOf(&resp.Hits[i]))
	}
	return oracle.Sorted(places), resp
}

func placeOf(h *search.Hit) oracle.Place {
	return oracle.Place{Path: h.SessionPath, Offset: h.Offset, Number: h.Part}
}

// check compares all answers to a query, written in two ways, with the oracle.
func (a *asked) check(q *oracle.Node, within scope.Scope, pick func(int) int) {
	text, again := q.String(), q.Print(pick)
	total, resp := a.answer(text, within, true)
	if a.large && !resp.TotalIsExact {
		return
	}
	a.compare(q, within, true, resp)
	every, all := a.answer(text, within, false)
	a.compare(q, within, false, all)
	lackNothing, lackLittle := 0, 0 // a word that says little, such as "a", may lack in a full hit
	for i := range all.Hits {
		if h := &all.Hits[i]; len(h.Missing) == 0 {
			lackNothing++
		} else if len(h.Missing) == len(h.MissingCommon) {
			lackLittle++
		}
	}
	if n := len(total); len(resp.Hits) != n || lackNothing != n || resp.Total != n || resp.TotalAny != n || all.Total != n+lackLittle || all.TotalAny != len(all.Hits) || len(every) != len(all.Hits) {
		a.fail("%s: with all words %d hits, %d of %d; without, %d of %d hits lack nothing and %d little, total %d of %d", text, n, resp.Total, resp.TotalAny, lackNothing, len(all.Hits), lackLittle, all.Total, all.TotalAny)
	}
	if !resp.TotalIsExact || !all.TotalIsExact || slices.ContainsFunc(resp.Warnings, func(w string) bool { return strings.Contains(w, "as text") }) {
		a.fail("%s: exact %t and %t, warnings %q", text, resp.TotalIsExact, all.TotalIsExact, resp.Warnings)
	}
	if got, _ := a.answer(again, within, true); !slices.Equal(got, total) {
		a.fail("with all words %s\nfinds %v\nbut %s\nfinds %v", text, total, again, got)
	}
	if got, _ := a.answer(again, within, false); !slices.Equal(got, every) {
		a.fail("%s\nfinds %v\nbut %s\nfinds %v", text, every, again, got)
	}
}

func (a *asked) compare(q *oracle.Node, within scope.Scope, allWords bool, resp *search.Response) {
	var hits []oracle.Hit
	for i := range resp.Hits {
		h := oracle.Hit{Place: placeOf(&resp.Hits[i])}
		for _, c := range resp.Hits[i].Copies {
			h.Copies = append(h.Copies, c.SessionPath)
		}
		hits = append(hits, h)
	}
	if list := a.corpus.Differences(q, within, allWords, hits); len(list) > 0 {
		a.fail("%v\nin scope %s, all words %t:\n%s", q, within, allWords, strings.Join(list[:min(len(list), 8)], "\n"))
	}
}

// laws checks what holds of any tight queries, whatever the oracle says.
func (a *asked) laws(p, q *oracle.Node) {
	node := func(op oracle.Op, items ...*oracle.Node) *oracle.Node { return &oracle.Node{Op: op, Items: items} }
	not := func(n *oracle.Node) *oracle.Node { return node(oracle.Negation, n) }
	everything := &oracle.Node{Op: oracle.Field, Name: "branch", Text: "any"}
	find := func(n *oracle.Node) []oracle.Place {
		places, _ := a.answer(node(oracle.And, everything, n).String(), scope.All, true)
		return a.corpus.Originals(places)
	}
	equal := func(law string, x, y []oracle.Place) {
		if !slices.Equal(x, y) {
			a.fail("%s, with p = %v and q = %v:\n%v\n%v", law, p, q, x, y)
		}
	}
	union := func(x, y []oracle.Place) []oracle.Place { return oracle.Sorted(slices.Concat(x, y)) }
	inP, inQ, both := find(p), find(q), find(node(oracle.List, p, q))
	equal("p OR q is the union", find(node(oracle.Or, p, q)), union(inP, inQ))
	equal("all is p or NOT p", a.corpus.Originals(a.corpus.Places()), union(inP, find(not(p))))
	equal("none is p and NOT p", nil, find(node(oracle.And, p, not(p))))
	equal("De Morgan for OR", find(not(node(oracle.Or, p, q))), find(node(oracle.And, not(p), not(q))))
	equal("De Morgan for AND", find(not(node(oracle.And, p, q))), find(node(oracle.Or, not(p), not(q))))
	equal("p q with all words is p AND q", both, find(node(oracle.And, p, q)))
	equal("a group is flat", both, find(node(oracle.And, node(oracle.And, p, q), p)))
	equal("a group of words is flat", both, find(node(oracle.List, p, node(oracle.List, q, p))))
	equal("another word adds nothing", inP, union(both, inP))
}

// The same of the sessions of the repository, and of the fixtures, without large ones.
func TestQueriesOfSessionsAgainstOracle(t *testing.T) {
	t.Parallel()
	testkit.Unraced(t)
	root := t.TempDir()
	var paths []string
	for _, path := range testkit.SessionFiles(t) {
		if info, err := os.Stat(path); err != nil || info.Size() > int64(testkit.HowMany(8, 64, 1024))<<10 {
			continue // the oracle reads all texts for each query
		}
		name := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimSuffix(path, ".snapshot"))
		to := filepath.Join(root, fmt.Sprint(len(paths), name[max(0, len(name)-200):]))
		if !strings.HasSuffix(to, ".jsonl") {
			to += ".jsonl"
		}
		data, err := os.ReadFile(path)
		testkit.Check(t, err)
		testkit.Check(t, os.WriteFile(to, data, 0o644))
		paths = append(paths, to)
	}
	corpus, err := oracle.Read(paths...)
	if err != nil {
		t.Fatal(err)
	}
	whole := &asked{fail: t.Fatalf, readers: map[string]*index.Reader{}}
	defer whole.close()
	whole.index("at once", t.TempDir(), root, false)
	rapid.Check(t, func(rt *rapid.T) {
		a := &asked{fail: rt.Fatalf, corpus: corpus, readers: whole.readers, large: true}
		a.draw(rt)
	})
}

// The same beside a watcher, which indexes files as they grow.
func TestQueriesBesideWatcher(t *testing.T) {
	t.Parallel()
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- indexer.Watch(ctx, indexer.WatchOptions{Options: options(dir, root), Tell: func(e indexer.WatchEvent) {
			if e.Kind != indexer.WatchReady && e.Kind != indexer.WatchUpdated {
				t.Errorf("the watcher says: %v %v", e.Kind, e.Err)
			}
		}})
	}()
	defer func() {
		cancel()
		testkit.Check(t, <-done)
	}()
	for seed := range testkit.Rounds(1, 3, 20) {
		files := oracle.Sessions().Example(seed)
		var paths []string
		for _, share := range []float64{0.3, 0.6, 1} {
			var err error
			paths, err = files.Write(root, func() float64 { return share })
			testkit.Check(t, err)
			waitFor(t, dir, root)
		}
		corpus, err := oracle.Read(paths...)
		testkit.Check(t, err)
		r, err := index.Open(dir)
		testkit.Check(t, err)
		a := &asked{fail: t.Fatalf, corpus: corpus, readers: map[string]*index.Reader{"beside a watcher": r}}
		for i := range queriesEach() {
			a.check(corpus.Queries(false).Example(i), scope.All, func(int) int { return 0 })
		}
		a.close()
		for _, path := range paths {
			testkit.Check(t, os.Remove(path))
		}
	}
}

// waitFor waits until the index has all that is in the files. It looks again and again: a
// watcher may say that it has updated the index before it has read the last change.
func waitFor(t *testing.T, dir, root string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if r, err := index.Open(dir); err == nil {
			lag := indexer.Behind(indexer.Discover(pi.New(), []adapter.Root{{Path: root, Follow: true}}, nil), r.Table())
			r.Close()
			if lag.Files == 0 {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("the watcher does not follow")
		}
	}
}
