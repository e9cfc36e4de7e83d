package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/scope"
)

// update brings the index in dir up to date with the sessions below root.
func update(t testing.TB, dir, root string) *indexer.Result {
	t.Helper()
	res, err := indexer.Update(context.Background(), options(dir, root))
	if err != nil {
		t.Fatalf("update: %v", err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	return res
}

func options(dir, root string) indexer.Options {
	return indexer.Options{
		Dir:     dir,
		Adapter: pi.New(),
		Roots:   []adapter.Root{{Path: root, Origin: "test", Follow: true}},
		Now:     time.Now,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		PID:     os.Getpid(),
	}
}

// fields are those whose terms make up the state of an index.
var fields = []segment.Field{
	segment.FieldText, segment.FieldKind, segment.FieldRole, segment.FieldTool, segment.FieldProvider, segment.FieldModel,
	segment.FieldCustom, segment.FieldEntry, segment.FieldFlag, segment.FieldImage, segment.FieldEntryHash,
}

// state writes down everything an index says, in a form that does not depend on
// file numbers, segments or the order of work: one line a posting, one a copy
// mark, one a fact of a record.
func state(t testing.TB, r *index.Reader) []string {
	t.Helper()
	var lines []string
	paths := make(map[uint32]string)
	tokens, documents := uint64(0), 0
	set, err := r.Facts(context.Background(), record.FactKinds[:]...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Summaries() {
		paths[s.File] = s.Path
		tokens += s.Tokens
		documents += s.Documents
		rec, err := r.Record(s.File)
		if err != nil {
			t.Fatalf("record of %s: %v", s.Path, err)
		}
		lines = append(lines, recordLines(s, rec)...)
		facts, err := set.Facts(s.File)
		if err != nil {
			t.Fatalf("facts of %s: %v", s.Path, err)
		}
		lines = append(lines, factLines(s.Path, facts)...)
	}
	lengths, live := make(map[string]uint32), 0
	for _, seg := range r.Segments() {
		name := func(doc uint32) string {
			id := seg.ID(doc)
			if paths[id.File] == "" {
				t.Fatalf("document %d is of no file that the index knows (%v, %v)", doc, id, seg.Fault())
			}
			return fmt.Sprintf("%s:%d:%d", paths[id.File], id.Offset, id.Part)
		}
		for _, f := range fields {
			var terms [][]byte
			seg.Terms(f, nil, func(term []byte, _ int) bool {
				terms = append(terms, slices.Clone(term))
				return true
			})
			for _, term := range terms {
				p := seg.Postings(f, term)
				for {
					doc, freq, length, ok := p.Next()
					if !ok {
						break
					}
					if f != segment.FieldText {
						freq, length = 0, 0
					} else {
						lengths[name(doc)] = length
					}
					if f == segment.FieldKind {
						live++
					}
					lines = append(lines, fmt.Sprintf("%s %s=%q freq %d of %d", name(doc), f, term, freq, length))
				}
			}
		}
	}
	if err := r.Fault(); err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for n := range maps.Values(lengths) {
		sum += uint64(n)
	}
	if sum != tokens || r.Tokens() != tokens {
		t.Errorf("documents hold %d tokens, the summaries say %d, the reader %d", sum, tokens, r.Tokens())
	}
	if live != documents || r.Documents() != documents {
		t.Errorf("%d documents, the summaries say %d, the reader %d", live, documents, r.Documents())
	}
	sort.Strings(lines)
	return lines
}

// recordLines writes down a record, without what may differ between two indexes
// of the same bytes: the file's number and times.
func recordLines(s session.Summary, rec *session.Record) []string {
	at := func(format string, args ...any) string { return s.Path + " " + fmt.Sprintf(format, args...) }
	s2 := rec.Summary
	s.File, s2.File = 0, 0
	s.Mtime, s2.Mtime, s.Ctime, s2.Ctime, s.Inode, s2.Inode = 0, 0, 0, 0, 0, 0
	lines := []string{at("summary %+v", s), at("record %+v", s2), at("labels %v", rec.Labels), at("models %v", rec.Models), at("problems %v", rec.Problems), at("blocks %x %x", rec.Blocks, rec.Partial)}
	for _, n := range rec.Nodes {
		lines = append(lines, at("node %+v", n))
	}
	return lines
}

// factLines writes down facts.
func factLines(path string, f *session.Facts) (lines []string) {
	for _, u := range f.Usages {
		lines = append(lines, fmt.Sprintf("%s usage %+v", path, u))
	}
	for _, c := range f.Calls {
		lines = append(lines, fmt.Sprintf("%s call %+v", path, c))
	}
	for _, t := range f.Touches {
		lines = append(lines, fmt.Sprintf("%s touch %+v", path, t))
	}
	return lines
}

// equalStates fails the test where the two states differ, naming a few lines.
func equalStates(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	count := make(map[string]int)
	for _, l := range want {
		count[l]++
	}
	for _, l := range got {
		count[l]--
	}
	var diff []string
	for _, l := range slices.Sorted(maps.Keys(count)) {
		switch n := count[l]; {
		case n > 0:
			diff = append(diff, "- "+l)
		case n < 0:
			diff = append(diff, "+ "+l)
		}
	}
	more := ""
	if len(diff) > 20 {
		diff, more = diff[:20], "\n…"
	}
	t.Fatalf("%s: the index is not that of a fresh build (- fresh, + this):\n%s%s", what, strings.Join(diff, "\n"), more)
}

// compareStates fails the test unless the index equals a rebuilt one, in every
// posting and record. It returns the new one.
func compareStates(t testing.TB, what string, r *index.Reader, root string) *index.Reader {
	t.Helper()
	fresh := update(t, filepath.Join(t.TempDir(), "fresh"), root).Reader
	equalStates(t, what, state(t, r), state(t, fresh))
	return fresh
}

// compareWithFresh does the same and asks both indexes. Equal states give equal
// answers unless searching depends on file numbers, segments or their order, so
// that ten queries at the end of a sequence of changes are enough.
func compareWithFresh(t testing.TB, what string, r *index.Reader, root string) {
	t.Helper()
	fresh := compareStates(t, what, r, root)
	for _, text := range queries(fresh, testkit.HowMany(10, 10, 200)) {
		got, want := answer(t, r, text), answer(t, fresh, text)
		if got != want {
			t.Fatalf("%s: the answer to %q is not that of a fresh build:\n%s\nfresh:\n%s", what, text, got, want)
		}
	}
}

// queries makes up to most queries of words from all of the dictionary, in turn
// single ones, pairs, excluded words, phrases, words with an error and prefixes.
func queries(r *index.Reader, most int) []string {
	var words []string
	for _, seg := range r.Segments() {
		seg.Terms(segment.FieldText, nil, func(term []byte, _ int) bool {
			words = append(words, string(term))
			return true
		})
	}
	slices.Sort(words)
	words = slices.Compact(words)
	var list []string
	for i := range most {
		if len(words) == 0 {
			break
		}
		w, other := words[i*len(words)/most], words[(i*7+3)%len(words)]
		forms := []string{w, w + " " + other, "+" + w + " NOT " + other, `"` + w + " " + other + `"`, w + "x", string([]rune(w)[:1]) + "*"}
		if runes := []rune(w); len(runes) > 2 {
			forms[5] = string(runes[:2]) + "*"
		}
		list = append(list, forms[i%len(forms)])
	}
	return list
}

// answer is the answer to a query, without what two indexes of the same bytes
// may differ in.
func answer(t testing.TB, r *index.Reader, text string) string {
	t.Helper()
	resp, err := search.Run(context.Background(), r, pi.New(), disk{}, search.Request{Text: text, Spec: filter.Spec{Scope: scope.All}})
	if err != nil {
		return "error: " + err.Error()
	}
	resp.Index.Generation = 0
	data, err := json.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// disk opens session files.
type disk struct{}

func (disk) Open(path string) (entry.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	return sessionFile{f, info}, err
}

type sessionFile struct {
	*os.File
	info fs.FileInfo
}

func (f sessionFile) Size() int64        { return f.info.Size() }
func (f sessionFile) ModTime() time.Time { return f.info.ModTime() }
