package index_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

var withoutKnown = cmpopts.IgnoreFields(session.Record{}, "Known")

// model is what an index must have, kept in maps.
type model struct {
	docs    map[segment.ID]segment.Document
	records map[uint32]*session.Record // full
	bases   map[uint32]*session.Record
}

func (m *model) clone() *model {
	return &model{maps.Clone(m.docs), maps.Clone(m.records), maps.Clone(m.bases)}
}

// deleteFrom deletes the documents of a file from an offset on.
func (m *model) deleteFrom(file uint32, offset int64) {
	maps.DeleteFunc(m.docs, func(id segment.ID, _ segment.Document) bool { return id.File == file && id.Offset >= offset })
}

var words = []string{
	"timeout", "connection", "getUserName", "get_user_name", "a", "héllo", "支持测试", "x1y2", "ERR_FAILED",
	strings.Repeat("long", 40), "conn", "connect",
}

func anyDocument(t *rapid.T, file uint32, offset int64, part int) segment.Document {
	keyword := func(label string) string {
		return rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(t, label)
	}
	return segment.Document{
		ID:       segment.ID{File: file, Offset: offset, Part: part},
		Kind:     rapid.SampledFrom([]session.Kind{session.KindPrompt, session.KindReply, session.KindCall}).Draw(t, "kind"),
		Role:     keyword("role"),
		Tool:     keyword("tool"),
		Provider: keyword("provider"),
		Model:    keyword("model"),
		EntryID:  keyword("entry"), CustomType: keyword("custom"),
		Error: rapid.Bool().Draw(t, "error"), Search: rapid.Bool().Draw(t, "search"),
		Copy: rapid.Uint64Range(0, 3).Draw(t, "copy"),
		Text: []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "text"), " ")),
	}
}

// readOn appends entries to a file of the model and to a batch, the last of them
// perhaps unterminated.
func (m *model) readOn(t *rapid.T, b *index.Batch, file uint32) {
	base := m.bases[file].Clone()
	m.deleteFrom(file, base.Checkpoint.Offset)
	rec := base
	entries := rapid.IntRange(0, 4).Draw(t, "entries")
	tail := entries > 0 && rapid.Bool().Draw(t, "tail")
	offset := base.Checkpoint.Offset
	for i := range entries {
		if tail && i == entries-1 {
			base.Checkpoint.Offset = offset
			rec = base.Clone()
			rec.TailBytes = 10 + int64(rapid.IntRange(0, 1).Draw(t, "tail bytes"))
		}
		rec.Nodes = append(rec.Nodes, session.Node{ID: fmt.Sprint("e", offset), Type: "message", Offset: offset})
		for part := range rapid.IntRange(0, 3).Draw(t, "parts") {
			d := anyDocument(t, file, offset, part)
			m.docs[d.ID] = d
			rec.Documents++
			rec.Tokens += uint64(b.Add(&d))
		}
		offset += 1 + int64(rapid.IntRange(0, 300).Draw(t, "length"))
	}
	var full *session.Record
	if rec == base {
		base.Checkpoint.Offset = offset
	} else {
		full = rec
	}
	if full != nil && m.records[file].TailBytes == full.TailBytes && m.bases[file].Checkpoint.Offset == base.Checkpoint.Offset {
		full.TailBytes += 5 // the indexer would not have read an unchanged file
	}
	b.Put(base, full)
	m.bases[file], m.records[file] = base, rec
}

func (m *model) files() []uint32 { return slices.Sorted(maps.Keys(m.records)) }

// change applies a random batch to the model and returns it.
func (m *model) change(t *rapid.T, w *index.Writer) *index.Batch {
	b := index.NewBatch()
	touched := make(map[uint32]bool)
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		files := slices.DeleteFunc(m.files(), func(f uint32) bool { return touched[f] })
		kind := rapid.SampledFrom([]string{"new", "read on", "replace", "delete", "touch"}).Draw(t, "change")
		if len(files) == 0 {
			kind = "new"
		}
		var file uint32
		if kind == "new" {
			file = w.NextFile()
			r := &session.Record{Summary: session.Summary{File: file, Path: fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "path"), "/", file)}}
			m.records[file], m.bases[file] = r, r
		} else {
			file = rapid.SampledFrom(files).Draw(t, "file")
		}
		touched[file] = true
		switch kind {
		case "new", "read on":
			m.readOn(t, b, file)
		case "replace":
			b.DeleteFile(file)
			m.deleteFrom(file, 0)
			r := &session.Record{Summary: session.Summary{File: file, Path: m.records[file].Path}}
			m.records[file], m.bases[file] = r, r
			m.readOn(t, b, file)
		case "delete":
			b.DeleteFile(file)
			m.deleteFrom(file, 0)
			delete(m.records, file)
			delete(m.bases, file)
		case "touch":
			base, full := m.bases[file].Clone(), m.records[file].Clone()
			base.Mtime++
			full.Mtime++
			if m.records[file].TailBytes == 0 {
				full = nil
			}
			b.Put(base, full)
			m.bases[file] = base
			if m.records[file] = full; full == nil {
				m.records[file] = base
			}
		}
	}
	return b
}

// contents is everything in an index as sorted text, for comparing.
type contents struct {
	IDs, Text, Keywords, Terms, Copies, Files []string
	Summaries                                 []session.Summary
	Records                                   map[uint32]*session.Record
	Documents                                 int
	Tokens                                    uint64
}

func (m *model) contents() contents {
	c := contents{Records: m.records, Summaries: []session.Summary{}}
	var a analysis.Analyzer
	terms := make(map[string]bool)
	for id, d := range m.docs {
		c.IDs = append(c.IDs, id.String())
		c.Files = append(c.Files, fmt.Sprint(id, " in ", id.File))
		freqs := make(map[string]int)
		length := a.Walk(d.Text, func(t analysis.Token) { freqs[string(t.Term)]++ })
		c.Tokens += uint64(length)
		for term, freq := range freqs {
			c.Text = append(c.Text, fmt.Sprintf("%q in %v: %d/%d", term, id, freq, length))
			terms[term] = true
		}
		for f, v := range map[segment.Field]string{
			segment.FieldFile: segment.FileTerm(id.File), segment.FieldKind: string(d.Kind), segment.FieldRole: d.Role, segment.FieldTool: d.Tool,
			segment.FieldProvider: d.Provider, segment.FieldModel: d.Model, segment.FieldEntry: d.EntryID, segment.FieldCustom: d.CustomType,
			segment.FieldFlag: map[bool]string{true: segment.FlagError}[d.Error], segment.FieldImage: d.Image,
			segment.FieldSearch: map[bool]string{true: segment.Yes}[d.Search], segment.FieldEntryHash: segment.EntryHashTerm(d.Copy),
		} {
			if v != "" {
				c.Keywords = append(c.Keywords, fmt.Sprintf("%s %s: %v", f, v, id))
			}
		}
		if a.Cut() {
			c.Keywords = append(c.Keywords, fmt.Sprintf("%s %s: %v", segment.FieldFlag, segment.FlagCut, id))
		}
		if d.Copy != 0 {
			c.Copies = append(c.Copies, fmt.Sprint(id, " ", segment.EntryHashTerm(d.Copy)))
		}
	}
	c.Terms = slices.Collect(maps.Keys(terms))
	for _, r := range m.records {
		c.Summaries = append(c.Summaries, r.Summary)
		c.Documents += r.Documents
	}
	slices.SortFunc(c.Summaries, func(a, b session.Summary) int { return cmp.Compare(a.Path, b.Path) })
	c.sort()
	return c
}

func (c *contents) sort() {
	for _, list := range [][]string{c.IDs, c.Text, c.Keywords, c.Terms, c.Copies, c.Files} {
		slices.Sort(list)
	}
}

// readContents reads everything with a reader.
func readContents(t interface{ Fatalf(string, ...any) }, r *index.Reader) contents {
	c := contents{Records: make(map[uint32]*session.Record), Documents: r.Documents(), Tokens: r.Tokens()}
	c.Summaries = append([]session.Summary{}, r.Summaries()...)
	for _, s := range c.Summaries {
		rec, err := r.Record(s.File)
		if err != nil {
			t.Fatalf("Record(%d): %v", s.File, err)
		}
		c.Records[s.File] = rec
	}
	terms := make(map[string]bool)
	for _, s := range r.Segments() {
		files := s.Files()
		id := func(doc uint32) segment.ID {
			id := s.ID(doc)
			if id.File == segment.NoFile {
				t.Fatalf("ID(%d): not a document", doc)
			}
			return id
		}
		walk := func(f segment.Field, each func(term string)) {
			s.Terms(f, nil, func(term []byte, count int) bool {
				if count < 1 {
					t.Fatalf("Terms(%s): %q has %d documents", f, term, count)
				}
				each(string(term))
				return true
			})
		}
		walk(segment.FieldText, func(term string) {
			at := s.PostingsOffset(segment.FieldText, []byte(term))
			p, count := s.PostingsAt(at), s.CountAt(at)
			n, last := 0, -1
			for {
				doc, freq, length, ok := p.Next()
				if !ok {
					break
				}
				if int(doc) <= last {
					t.Fatalf("Postings(%q): %d after %d", term, doc, last)
				}
				last = int(doc)
				n++
				terms[term] = true
				c.Text = append(c.Text, fmt.Sprintf("%q in %v: %d/%d", term, id(doc), freq, length))
			}
			if n != count {
				t.Fatalf("Postings(%q): %d of %d, %v", term, n, count, s.Fault())
			}
		})
		for _, f := range segment.Fields() {
			if f == segment.FieldText {
				continue
			}
			walk(f, func(term string) {
				b := s.Bitmap(f, []byte(term))
				for it := b.Iterator(); it.HasNext(); {
					doc := it.Next()
					c.Keywords = append(c.Keywords, fmt.Sprintf("%s %s: %v", f, term, id(doc)))
					if f == segment.FieldFile {
						c.IDs = append(c.IDs, id(doc).String())
						c.Files = append(c.Files, fmt.Sprint(id(doc), " in ", files.File(doc)))
					}
				}
				if f == segment.FieldFile {
					s.EntryHashes(b.ToArray(), func(doc uint32, copy uint64) {
						c.Copies = append(c.Copies, fmt.Sprint(id(doc), " ", segment.EntryHashTerm(copy)))
					})
				}
				b.Clear() // it is ours
			})
		}
	}
	if err := r.Fault(); err != nil {
		t.Fatalf("Fault: %v", err)
	}
	c.Terms = slices.Collect(maps.Keys(terms))
	c.sort()
	return c
}

// Whatever is committed, in whatever batches, with whatever merges in between: what is published is what the model says.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := tempDir(t)
		m := &model{docs: map[segment.ID]segment.Document{}, records: map[uint32]*session.Record{}, bases: map[uint32]*session.Record{}}
		w, err := index.OpenWriter(dir, index.WriterOptions{})
		if err != nil {
			rt.Fatalf("OpenWriter: %v", err)
		}
		defer func() { _ = w.Close() }()
		published := (*model)(nil)
		check := func(rt *rapid.T) {
			if published == nil {
				return
			}
			r, err := index.Open(dir)
			if err != nil {
				rt.Fatalf("Open: %v", err)
			}
			defer r.Close()
			if diff := testkit.Diff(published.contents(), readContents(rt, r), withoutKnown); diff != "" {
				rt.Fatalf("index is not as the model (-want +got): %s", diff)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				if err := w.Commit(m.change(rt, w)); err != nil {
					rt.Fatalf("Commit: %v", err)
				}
				if got := len(w.Summaries()); got != len(m.records) {
					rt.Fatalf("%d summaries, want %d", got, len(m.records))
				}
			},
			"publish": func(rt *rapid.T) {
				if _, err := w.Publish(); err != nil {
					rt.Fatalf("Publish: %v", err)
				}
				published = m.clone()
				check(rt)
				w.Settle()
				checkStore(rt, dir)
			},
			"merge": func(rt *rapid.T) {
				if err := w.Merge(); err != nil {
					rt.Fatalf("Merge: %v", err)
				}
			},
			"merge bulk": func(rt *rapid.T) {
				if err := w.MergeSmallBulk(t.Context()); err != nil {
					rt.Fatalf("MergeBulk: %v", err)
				}
				published = m.clone()
				check(rt)
			},
			"compact": func(rt *rapid.T) {
				if err := w.Compact(t.Context()); err != nil {
					rt.Fatalf("Compact: %v", err)
				}
				published = m.clone()
				check(rt)
				checkStore(rt, dir)
			},
			"reopen": func(rt *rapid.T) {
				check(rt) // of what was published before the last commits
				if err := w.Close(); err != nil {
					rt.Fatalf("Close: %v", err)
				}
				if w, err = index.OpenWriter(dir, index.WriterOptions{}); err != nil {
					rt.Fatalf("OpenWriter: %v", err)
				}
				for file, want := range m.bases {
					got, err := w.RecordToContinue(file)
					if err != nil {
						rt.Fatalf("Record(%d): %v", file, err)
					}
					if diff := testkit.Diff(want, got, withoutKnown); diff != "" {
						rt.Fatalf("Record(%d) of the writer: %s", file, diff)
					}
				}
			},
		})
	})
}
