package index_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/search/query"
	engine "github.com/blevesearch/bleve_index_api"
	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/lab/testkit"
)

// fataler is a *testing.T or a *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

// openStore opens the store of an index as any program that uses Bleve does. The caller
// closes it.
func openStore(t fataler, dir string) bleve.Index {
	store, err := bleve.OpenUsing(filepath.Join(dir, "store"), map[string]any{"read_only": true})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	return store
}

// checkStore fails unless Bleve reads in the store what our reader reads in the index.
// Call Settle first.
func checkStore(t fataler, dir string) {
	r, err := index.Open(dir)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer r.Close()
	if want := filepath.Join(dir, "store"); r.Store() != want {
		t.Fatalf("Store = %q, want %s", r.Store(), want)
	}
	store := openStore(t, dir)
	defer store.Close()
	want := readContents(t, r)
	if diff := gocmp.Diff(inStore(want), storeContents(t, store)); diff != "" {
		t.Fatalf("the store differs from the index (-index +store): %s", diff)
	}
	count, err := store.DocCount()
	if err != nil || count != uint64(r.Documents()) {
		t.Fatalf("the store has %d documents, want %d (%v)", count, r.Documents(), err)
	}
	if diff := gocmp.Diff(dictionaries(t, r), storeDictionaries(t, store)); diff != "" {
		t.Fatalf("the dictionaries differ (-index +store): %s", diff)
	}
}

// inStore returns the part of the contents that the store shows.
func inStore(c contents) contents {
	return contents{IDs: c.IDs, Text: c.Text, Keywords: c.Keywords, Copies: c.Copies}
}

func storeReader(t fataler, store bleve.Index) engine.IndexReader {
	advanced, err := store.Advanced()
	if err != nil {
		t.Fatalf("Advanced: %v", err)
	}
	r, err := advanced.Reader()
	if err != nil {
		t.Fatalf("Reader: %v", err)
	}
	return r
}

// storeContents reads the documents, postings and doc values of a store.
func storeContents(t fataler, store bleve.Index) contents {
	r := storeReader(t, store)
	defer r.Close()
	must := func(err error) {
		if err != nil {
			t.Fatalf("read the store: %v", err)
		}
	}
	var c contents
	all, err := r.DocIDReaderAll()
	must(err)
	copies, err := r.DocValueReader([]string{string(segment.FieldEntryHash)})
	must(err)
	for {
		doc, err := all.Next()
		must(err)
		if doc == nil {
			break
		}
		id, err := r.ExternalID(doc)
		must(err)
		c.IDs = append(c.IDs, id)
		must(copies.VisitDocValues(doc, func(_ string, term []byte) { c.Copies = append(c.Copies, id+" "+string(term)) }))
	}
	for field, terms := range storeDictionaries(t, store) {
		for _, term := range terms {
			postings, err := r.TermFieldReader(context.Background(), []byte(term), field, true, true, false)
			must(err)
			n := uint64(0)
			for {
				hit, err := postings.Next(nil)
				must(err)
				if hit == nil {
					break
				}
				n++
				id, err := r.ExternalID(hit.ID)
				must(err)
				if field == string(segment.FieldText) {
					c.Text = append(c.Text, fmt.Sprintf("%q in %s: %d/%.0f", term, id, hit.Freq, math.Round(1/(hit.Norm*hit.Norm))))
				} else {
					c.Keywords = append(c.Keywords, fmt.Sprintf("%s %s: %s", field, term, id))
				}
			}
			if n != postings.Count() {
				t.Fatalf("the store counts %d documents with %s %q, has %d", postings.Count(), field, term, n)
			}
		}
	}
	c.sort()
	return c
}

// dictionaries lists the terms of each field, those of deleted documents included.
func dictionaries(t fataler, r *index.Reader) map[string][]string {
	all := make(map[string][]string)
	for _, f := range segment.Fields() {
		terms := make(map[string]bool)
		for _, s := range r.Segments() {
			s.Terms(f, nil, func(term []byte, _ int) bool { terms[string(term)] = true; return true })
		}
		all[string(f)] = append([]string{}, slices.Sorted(maps.Keys(terms))...)
	}
	return all
}

func storeDictionaries(t fataler, store bleve.Index) map[string][]string {
	all := make(map[string][]string)
	for _, f := range segment.Fields() {
		all[string(f)] = []string{}
		dictionary, err := store.FieldDict(string(f))
		if err != nil {
			t.Fatalf("FieldDict(%s): %v", f, err)
		}
		for {
			entry, err := dictionary.Next()
			if err != nil {
				t.Fatalf("dictionary of %s: %v", f, err)
			}
			if entry == nil {
				break
			}
			all[string(f)] = append(all[string(f)], entry.Term)
		}
		_ = dictionary.Close()
	}
	return all
}

// fixtures are the directories with session files of pi.
func fixtures(t *testing.T) []string {
	t.Helper()
	roots, err := filepath.Glob("../testdata/pi/v*")
	if err != nil || len(roots) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	roots = append(roots, "../testdata/sessions")
	if dir := testkit.Fixtures(); dir != "" && !testing.Short() {
		roots = append(roots, filepath.Join(dir, "pi"), filepath.Join(dir, "real"))
	}
	return roots
}

// From real sessions, Bleve reads what our reader reads, and its queries find the same
// documents.
func TestStoreOfFixtures(t *testing.T) {
	testkit.Unraced(t)
	for _, root := range fixtures(t) {
		t.Run(filepath.Base(root), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "index")
			res, err := indexer.Update(t.Context(), indexer.Options{
				Dir: dir, Adapter: pi.New(), Roots: []adapter.Root{{Path: root}}, Now: time.Now, BatchBytes: testkit.HowMany(1<<20, 100<<10, 100<<10),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { res.Reader.Close() })
			if res.Reader.Documents() == 0 {
				t.Fatal("no documents")
			}
			checkStore(t, dir)
			checkQueries(t, dir)
		})
	}
}

// An update renews a changed store even if it has nothing else to do. If another writer
// has the lock, it neither waits nor fails, and leaves the store as it is.
func TestUpdateRenewsTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	update := func() {
		t.Helper()
		res, err := indexer.Update(t.Context(), indexer.Options{
			Dir: dir, Adapter: pi.New(), Roots: []adapter.Root{{Path: "../testdata/sessions"}}, Now: time.Now, Store: true, Wait: time.Minute,
		})
		if err != nil || !res.Complete() {
			t.Fatalf("Update: complete %v, %v", res.Complete(), err)
		}
		if err := res.Reader.Close(); err != nil {
			t.Fatal(err)
		}
	}
	update()
	if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, dir)
	update()
	if got := openReader(t, dir).Store(); got != "" {
		t.Errorf("%s was made while another writer had the lock", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	update()
	checkStore(t, dir)
}

// checkQueries compares the results of Bleve's queries with those of our reader.
func checkQueries(t *testing.T, dir string) {
	r := openReader(t, dir)
	store := openStore(t, dir)
	defer store.Close()
	having := make(map[string][]string) // documents by term
	for _, s := range r.Segments() {
		s.Walk(segment.FieldText, func(term []byte, doc, _, _ uint32) {
			having[string(term)] = append(having[string(term)], s.ID(doc).String())
		})
		if err := s.Fault(); err != nil {
			t.Fatal(err)
		}
	}
	// union returns the documents that have any of the terms.
	union := func(terms map[string]bool) []string {
		var ids []string
		for term := range terms {
			ids = append(ids, having[term]...)
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	matching := func(list func(s *segment.Segment, add func(term []byte))) []string {
		terms := make(map[string]bool)
		for _, s := range r.Segments() {
			list(s, func(term []byte) { terms[string(term)] = true })
		}
		return union(terms)
	}
	check := func(what string, q query.FieldableQuery, want []string) {
		t.Helper()
		q.SetField(string(segment.FieldText))
		if diff := gocmp.Diff(want, search(t, store, q), emptyIsNil); diff != "" {
			t.Errorf("%s (-index +store): %s", what, diff)
		}
	}
	terms := slices.Sorted(maps.Keys(having))
	last := ""
	for i := 0; i < len(terms); i += len(terms)/50 + 1 {
		term := terms[i]
		check("term "+term, bleve.NewTermQuery(term), union(map[string]bool{term: true}))
		prefix := string([]rune(term)[:(len([]rune(term))+1)/2])
		check("prefix "+prefix, bleve.NewPrefixQuery(prefix), matching(func(s *segment.Segment, add func([]byte)) {
			s.Terms(segment.FieldText, []byte(prefix), func(term []byte, _ int) bool { add(term); return true })
		}))
		if len(term) < 20 {
			fuzzy := bleve.NewFuzzyQuery(term)
			fuzzy.Fuzziness = 1
			check("fuzzy "+term, fuzzy, matching(func(s *segment.Segment, add func([]byte)) {
				s.Fuzzy(segment.FieldText, nil, []byte(term), 1, add)
			}))
		}
		if last != "" {
			both := bleve.NewConjunctionQuery()
			for _, term := range []string{term, last} {
				q := bleve.NewTermQuery(term)
				q.SetField(string(segment.FieldText))
				both.AddQuery(q)
			}
			want := slices.DeleteFunc(union(map[string]bool{term: true}), func(id string) bool { return !slices.Contains(having[last], id) })
			if diff := gocmp.Diff(want, search(t, store, both), emptyIsNil); diff != "" {
				t.Errorf("%s and %s (-index +store): %s", term, last, diff)
			}
		}
		last = term
	}
}

var emptyIsNil = gocmp.Transformer("empty", func(list []string) []string { return append([]string{}, list...) })

// search returns the ids of all documents that a query of Bleve finds.
func search(t *testing.T, store bleve.Index, q query.Query) []string {
	t.Helper()
	count, err := store.DocCount()
	if err != nil {
		t.Fatal(err)
	}
	res, err := store.Search(bleve.NewSearchRequestOptions(q, int(count), 0, false))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, hit := range res.Hits {
		ids = append(ids, hit.ID)
	}
	slices.Sort(ids)
	return ids
}

// storedIndex returns an index of four files, with its store, and its writer.
func storedIndex(t *testing.T) (dir string, w *index.Writer) {
	t.Helper()
	dir = t.TempDir()
	w = openWriter(t, dir)
	for i := range 4 {
		addFile(t, w, fmt.Sprintf("words of file%d", i))
	}
	return dir, w
}

// addFile commits and publishes one more file, and waits until the store has it.
func addFile(t *testing.T, w *index.Writer, text string) {
	t.Helper()
	b := index.NewBatch()
	file := w.NextFile()
	putFile(b, file, fmt.Sprint("/", file), text)
	commit(t, w, b)
	publish(t, w)
	w.Settle()
}

// Whatever Bleve or a crash did to a store, publishing repairs it.
func TestStoreIsRenewed(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The damages remove and replace segments that are open, which Windows refuses.
		t.Skip("on Windows nothing can be done to a store whose segments are open")
	}
	write := func(t *testing.T, path, text string) {
		t.Helper()
		_ = os.RemoveAll(path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(t *testing.T, store, inner string) error{
		"deleted": func(t *testing.T, store, _ string) error { return os.RemoveAll(store) },
		"garbage in root": func(t *testing.T, _, inner string) error {
			write(t, inner+"/root.bolt", strings.Repeat("x", 9000))
			return nil
		},
		"empty root": func(t *testing.T, _, inner string) error { write(t, inner+"/root.bolt", ""); return nil },
		"left by a crash": func(t *testing.T, store, inner string) error {
			write(t, inner+"/root.bolt.tmp", "half")
			write(t, store+"/index_meta.json.tmp", "half")
			return nil
		},
		"other meta":                  func(t *testing.T, store, _ string) error { write(t, store+"/index_meta.json", "{}"); return nil },
		"meta of an unfinished write": func(t *testing.T, store, _ string) error { write(t, store+"/index_meta.json_temp", "{}"); return nil },
		"segments missing": func(t *testing.T, _, inner string) error {
			links, err := filepath.Glob(inner + "/*.zap")
			for _, link := range links {
				_ = os.Remove(link)
			}
			return err
		},
		"other segments": func(t *testing.T, _, inner string) error {
			links, err := filepath.Glob(inner + "/*.zap")
			for _, link := range links {
				write(t, link, "text")
			}
			write(t, inner+"/00000000ffff.zap", "text")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, w := storedIndex(t)
			checkStore(t, dir)
			if openReader(t, dir).StoreChanged() {
				t.Error("StoreChanged is true of a new store")
			}
			if err := damage(t, filepath.Join(dir, "store"), filepath.Join(dir, "store", "store")); err != nil {
				t.Fatal(err)
			}
			if got := readContents(t, openReader(t, dir)); got.Documents != 4 {
				t.Errorf("%d documents, want 4", got.Documents)
			}
			publish(t, w) // nothing new
			w.Settle()
			checkStore(t, dir)
			if left := listFiles(t, filepath.Join(dir, "store")); len(left) != 2+len(openReader(t, dir).Segments()) {
				t.Errorf("the store has %v", left)
			}
			for _, err := range openReader(t, dir).Verify(t.Context()) {
				t.Errorf("Verify: %v", err)
			}
		})
	}
}

// precious makes a directory with a file.
func precious(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "precious"), []byte("data"), 0o644)
}

// What is in the place of a store, or of a part of it, and was not made by pigrep stays as
// it is. The index does without a store.
func TestStoreInTheWay(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(store, elsewhere string) error{
		"a file": func(store, _ string) error { return os.WriteFile(store, []byte("precious"), 0o644) },
		"a link": func(store, elsewhere string) error { return os.Symlink(elsewhere, store) },
		"an inner file": func(store, _ string) error {
			return errors.Join(os.Mkdir(store, 0o755), os.WriteFile(store+"/store", []byte("precious"), 0o644))
		},
		"an inner link": func(store, elsewhere string) error {
			return errors.Join(os.Mkdir(store, 0o755), os.Symlink(elsewhere, store+"/store"))
		},
		"a directory as root":      func(store, _ string) error { return precious(store + "/store/root.bolt") },
		"a directory as new root":  func(store, _ string) error { return precious(store + "/store/root.bolt.tmp") },
		"a directory as meta":      func(store, _ string) error { return precious(store + "/index_meta.json") },
		"a directory as a segment": func(store, _ string) error { return precious(store + "/store/7ffffffffffb.zap") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, w := storedIndex(t)
			store, elsewhere := filepath.Join(dir, "store"), t.TempDir()
			err := errors.Join(os.RemoveAll(store), os.WriteFile(filepath.Join(elsewhere, "root.bolt"), []byte("precious"), 0o600), put(store, elsewhere))
			if err != nil {
				t.Skip("Windows makes no links, and removes no file that is open:", err)
			}
			before := testkit.Tree(t, dir)
			maps.DeleteFunc(before, func(path, what string) bool { return !strings.HasPrefix(path, store) || strings.HasPrefix(what, "d") })
			maps.Copy(before, testkit.Tree(t, elsewhere))
			addFile(t, w, "more words")
			r := openReader(t, dir)
			if got := r.Store(); got != "" || r.Documents() != 5 {
				t.Errorf("a store in %q, and %d documents; want none, and 5", got, r.Documents())
			}
			if err := w.Compact(t.Context()); err != nil {
				t.Errorf("Compact: %v", err)
			}
			now := testkit.Tree(t, dir)
			maps.Copy(now, testkit.Tree(t, elsewhere))
			for path, what := range before {
				if now[path] != what {
					t.Errorf("%s was %s and is %s", path, what, now[path])
				}
			}
		})
	}
}

// Commits and publishing succeed where no store can be made or renewed. Only Compact
// fails, if an old store is left, because that may show what was deleted.
func TestIndexWithoutStore(t *testing.T) {
	t.Run("not writable", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write into a directory without permission")
		}
		dir, w := storedIndex(t)
		inner := filepath.Join(dir, "store", "store")
		if err := os.Chmod(inner, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(inner, 0o700) })
		addFile(t, w, "more words")
		if got := openReader(t, dir).Documents(); got != 5 {
			t.Errorf("%d documents, want 5", got)
		}
		if err := w.Compact(t.Context()); err == nil {
			t.Error("Compact does not say that an old store is left")
		}
		if err := os.Chmod(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		addFile(t, w, "even more words")
		checkStore(t, dir)
	})
}

// Nothing that was deleted is left in a compacted index, its store included.
func TestCompactedStore(t *testing.T) {
	dir, w := storedIndex(t)
	b := index.NewBatch()
	b.DeleteFile(1)
	commit(t, w, b)
	publish(t, w)
	if err := w.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkStore(t, dir)
	if links, err := filepath.Glob(filepath.Join(dir, "store", "store", "*.zap")); err != nil || len(links) != 1 {
		t.Errorf("%v, %v, want one segment", links, err)
	}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "file0") {
			t.Errorf("%s has a deleted word", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A rebuilt index has a new store.
func TestRebuiltStore(t *testing.T) {
	dir, w := storedIndex(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w, err := index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
	if err != nil {
		t.Fatal(err)
	}
	checkStore(t, dir) // nothing is published yet, so it is still the old one
	addFile(t, w, "words")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkStore(t, dir)
}

// A program that has the store open in Bleve, and so its lock, blocks no publishing, and
// keeps what it opened.
func TestStoreWhileBleveReads(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The promise is about replacing files that Bleve has open, which Windows refuses.
		t.Skip("on Windows a store that Bleve has open cannot be renewed; the next publish does it")
	}
	dir, w := storedIndex(t)
	old := openStore(t, dir)
	defer old.Close()
	addFile(t, w, "more words")
	if err := w.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkStore(t, dir)
	if got := search(t, old, bleve.NewTermQuery("words")); len(got) != 4 {
		t.Errorf("the old store finds %v, want 4 documents", got)
	}
}

// Bleve may write into the store, even while the index changes: that changes no segment
// of the index, and the next publishing replaces what Bleve wrote.
func TestBleveWritesIntoTheStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		// Windows denies the opening of every link of a file while one is being removed.
		t.Skip("no other link of a segment can be opened while Bleve removes its own")
	}
	dir, w := storedIndex(t)
	undamaged := func() {
		t.Helper()
		for _, err := range openReader(t, dir).Verify(t.Context()) {
			t.Errorf("Verify: %v", err)
		}
	}
	store, err := bleve.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		// If links were numbered upwards, Bleve would now write its next segment into one of these.
		for j := range 3 {
			addFile(t, w, fmt.Sprintf("later words of file%d%d", i, j))
		}
		indexed := make(chan error, 1)
		go func() {
			indexed <- store.Index(fmt.Sprint(i), map[string]string{"text": "other words", "kind": "prompt"})
		}()
		select {
		case err := <-indexed:
			if err != nil {
				t.Fatalf("Bleve cannot index: %v", err)
			}
		case <-time.After(time.Minute):
			undamaged()
			t.Fatal("Bleve has not finished after a minute")
		}
	}
	if err := store.Close(); err != nil {
		t.Logf("Bleve cannot close: %v", err)
	}
	undamaged()
	addFile(t, w, "words after Bleve")
	checkStore(t, dir)

	// With no other writer, Bleve also deletes and merges.
	if store, err = bleve.Open(filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	if err := store.Index("foreign", map[string]string{"text": "foreign"}); err != nil {
		t.Fatal(err)
	}
	if !openReader(t, dir).StoreChanged() {
		t.Error("StoreChanged misses what Bleve wrote")
	}
	want := search(t, store, bleve.NewTermQuery("words"))
	if len(want) != 17 {
		t.Fatalf("the store finds %v, want 17 documents", want)
	}
	for _, id := range want[:6] {
		if err := store.Delete(id); err != nil {
			t.Fatal(err)
		}
	}
	advanced, err := store.Advanced()
	if err != nil {
		t.Fatal(err)
	}
	if err := advanced.(*scorch.Scorch).ForceMerge(t.Context(), &mergeplan.SingleSegmentMergePlanOptions); err != nil {
		t.Fatal(err)
	}
	if got := search(t, store, bleve.NewTermQuery("words")); !slices.Equal(got, want[6:]) {
		t.Errorf("after the deletion Bleve finds %v, want %v", got, want[6:])
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	undamaged()
	if got := found(t, openReader(t, dir), segment.FieldText, "words"); len(got) != 17 {
		t.Errorf("we find %v, want 17 documents", got)
	}
	publish(t, w)
	w.Settle()
	checkStore(t, dir)
}
