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
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
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
		Roots:   []adapter.Root{{Path: root, Origin: "test"}},
		Now:     time.Now,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
		PID:     os.Getpid(),
	}
}

// fields are those whose terms make up the state of an index.
var fields = []segment.Field{
	segment.FieldText, segment.FieldKind, segment.FieldRole, segment.FieldTool, segment.FieldProvider, segment.FieldModel,
	segment.FieldCustom, segment.FieldEntry, segment.FieldFlag, segment.FieldEntryHash,
}

// state writes down everything an index says, in a form that does not depend on
// file numbers, segments or the order of work: one line a posting, one a copy
// mark, one a fact of a record.
func state(t testing.TB, r *index.Reader) []string {
	t.Helper()
	var lines []string
	paths := make(map[uint32]string)
	tokens, documents := uint64(0), 0
	set, err := r.Facts(context.Background(), record.FactUsages|record.FactDetails)
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
		var facts session.Facts
		if err := set.Decode(s.File, &facts); err != nil {
			t.Fatalf("facts of %s: %v", s.Path, err)
		}
		lines = append(lines, factLines(s.Path, &facts)...)
	}
	lengths, live := make(map[string]uint32), 0
	for _, seg := range r.Segments() {
		name := func(doc uint32) string {
			id, ok := seg.ID(doc)
			if !ok || paths[id.File] == "" {
				t.Fatalf("document %d is of no file that the index knows (%v)", doc, id)
			}
			return fmt.Sprintf("%s:%d:%d", paths[id.File], id.Offset, id.Part)
		}
		for _, f := range fields {
			var terms [][]byte
			if err := seg.Terms(f, nil, func(term []byte, _ int) bool {
				terms = append(terms, slices.Clone(term))
				return true
			}); err != nil {
				t.Fatal(err)
			}
			for _, term := range terms {
				p, err := seg.Postings(f, term)
				if err != nil {
					t.Fatal(err)
				}
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

// compareWithFresh fails the test unless the index equals one built anew, in
// every posting and record, and gives the same answers.
func compareWithFresh(t testing.TB, what string, r *index.Reader, root string) {
	t.Helper()
	fresh := update(t, filepath.Join(t.TempDir(), "fresh"), root)
	equalStates(t, what, state(t, r), state(t, fresh.Reader))
	for _, text := range queries(fresh.Reader) {
		got, want := answer(t, r, text), answer(t, fresh.Reader, text)
		if got != want {
			t.Fatalf("%s: the answer to %q is not that of a fresh build:\n%s\nfresh:\n%s", what, text, got, want)
		}
	}
}

// mostQueries bounds how many queries the two indexes are asked.
const mostQueries = 200

// queries makes queries of the words that the index holds: single ones, pairs,
// prefixes, phrases and words with an error.
func queries(r *index.Reader) []string {
	var words []string
	for _, seg := range r.Segments() {
		_ = seg.Terms(segment.FieldText, nil, func(term []byte, _ int) bool {
			words = append(words, string(term))
			return true
		})
	}
	slices.Sort(words)
	words = slices.Compact(words)
	step := max(1, 5*len(words)/mostQueries)
	var list []string
	for i := 0; i < len(words); i += step {
		w, other := words[i], words[(i*7+3)%len(words)]
		list = append(list, w, w+" "+other, "+"+w+" NOT "+other, `"`+w+" "+other+`"`, w+"x")
		if runes := []rune(w); len(runes) > 2 {
			list = append(list, string(runes[:2])+"*")
		}
	}
	return list[:min(mostQueries, len(list))]
}

// answer is the answer to a query, without what two indexes of the same bytes
// may differ in.
func answer(t testing.TB, r *index.Reader, text string) string {
	t.Helper()
	resp, err := query.Search(context.Background(), r, pi.New(), disk{}, query.Request{Text: text, Spec: filter.Spec{Scope: scope.All}})
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
