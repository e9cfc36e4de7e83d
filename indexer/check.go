package indexer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/content"
	"pigrep/internal/session"
)

// Finding is something wrong with an index.
type Finding struct {
	Path string `json:"path,omitempty"` // the session file, "" if it concerns the whole index
	What string `json:"what"`
}

// Report is the result of a check.
type Report struct {
	Generation uint64    `json:"generation"`
	Files      int       `json:"files"`
	Documents  int       `json:"documents"`
	Compared   int       `json:"compared"` // files that were read and compared part by part
	Changed    int       `json:"changed"`  // files that were not compared, because they are new or have changed
	Findings   []Finding `json:"findings"`
}

func (r *Report) add(path, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{path, fmt.Sprintf(format, args...)})
}

// Check verifies the newest generation: its files are as they were written, and
// documents, records and summaries agree. A deep check also reads the session files, and
// verifies that every part is in the index with exactly its terms, and that facts
// agree with the files. An index that cannot be opened is a finding; the error is the
// context's, or one that prevents the check.
func Check(ctx context.Context, o Options, deep bool) (*Report, error) {
	r := &Report{}
	reader, err := index.Open(o.Dir)
	if errors.Is(err, index.ErrDamaged) || errors.Is(err, index.ErrVersion) {
		r.add("", "%v", err)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer reader.Close()
	reader.Unnamed()
	r.Generation = reader.Generation()
	for _, err := range reader.Verify(ctx) {
		r.add("", "%v", err)
	}
	held, err := holdings(ctx, reader)
	var facts *record.FactSet
	if err == nil {
		facts, err = reader.Facts(ctx, record.FactKinds[:]...)
	}
	if errors.Is(err, index.ErrDamaged) {
		r.add("", "%v", err)
		return r, nil
	}
	if err != nil {
		return r, err
	}
	var files map[string]File
	if deep {
		files = make(map[string]File)
		for _, f := range Discover(o.Adapter, o.Roots, o.Archive).Files {
			files[f.Path] = f
		}
	}
	for _, s := range reader.Summaries() {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		r.Files++
		r.Documents += len(held[s.File])
		rec := r.checkRecord(reader, facts, s, held[s.File])
		if deep && rec != nil {
			if fit, err := facts.BareFit(s.File); err != nil {
				r.add(s.Path, "its facts cannot be read: %v", err)
			} else if !fit {
				r.add(s.Path, "the list of its entries without documents does not match its facts")
			}
			r.compare(ctx, o.Adapter, rec, files[s.Path], held[s.File])
		}
		delete(held, s.File)
		delete(files, s.Path)
	}
	r.Changed += len(files)
	for _, file := range slices.Sorted(maps.Keys(held)) {
		r.add("", "%d documents of file %d, which the index does not know", len(held[file]), file)
	}
	return r, ctx.Err()
}

// checkRecord compares a summary, its record and the documents in the index. It returns
// the record with its facts, nil if something is wrong.
func (r *Report) checkRecord(reader *index.Reader, facts *record.FactSet, s session.Summary, held map[place]print) *session.Record {
	rec, err := reader.Record(s.File)
	switch {
	case err != nil:
		r.add(s.Path, "its session record cannot be read: %v", err)
	case rec == nil:
		r.add(s.Path, "its session record is missing")
	case !reflect.DeepEqual(s, rec.Summary):
		r.add(s.Path, "its summary and its session record differ")
	case len(held) != s.Documents:
		r.add(s.Path, "%d documents, and %d should be there", len(held), s.Documents)
	default:
		rec.Dead = nil // what other files say is not stored
		if rec.Facts, err = facts.Facts(s.File); err == nil {
			return rec
		}
		r.add(s.Path, "its facts cannot be read: %v", err)
	}
	return nil
}

// place addresses a document within its file.
type place struct {
	offset int64
	part   int
}

// print is a hash of the terms of a document and their counts, independent of their
// order.
type print uint64

func (p *print) add(f segment.Field, term []byte, freq, length uint32) {
	h := xxhash.NewWithSeed(uint64(freq)<<32 | uint64(length))
	_, _ = h.WriteString(string(f))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(term)
	*p += print(h.Sum64())
}

// copyValues is a pseudo field for the doc values of segment.FieldEntryHash, which
// are stored next to its postings.
const copyValues segment.Field = "copy values"

// holdings returns the print of every document, by file, from the postings.
func holdings(ctx context.Context, reader *index.Reader) (map[uint32]map[place]print, error) {
	held := make(map[uint32]map[place]print)
	for _, seg := range reader.Segments() {
		prints := make([]print, seg.Len())
		live := make([]bool, seg.Len())
		for _, f := range segment.Fields() {
			seg.Walk(f, func(term []byte, doc, freq, length uint32) {
				prints[doc].add(f, term, freq, length)
				live[doc] = true
			})
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		var docs []uint32
		for doc := range prints {
			if live[doc] {
				docs = append(docs, uint32(doc))
			}
		}
		seg.EntryHashes(docs, func(doc uint32, mark uint64) {
			if mark != 0 {
				prints[doc].add(copyValues, []byte(segment.EntryHashTerm(mark)), 0, 0)
			}
		})
		for _, doc := range docs {
			id := seg.ID(doc)
			if id.File == segment.NoFile {
				continue
			}
			if held[id.File] == nil {
				held[id.File] = make(map[place]print)
			}
			held[id.File][place{id.Offset, id.Part}] += prints[doc]
		}
	}
	return held, reader.Fault()
}

// compare reads the indexed part of a session file and looks up each of its parts in
// the index.
func (r *Report) compare(ctx context.Context, a adapter.Adapter, rec *session.Record, file File, held map[place]print) {
	young := rec.Ctime == unsettled && file.Packed == rec.Packed && (!file.Packed || file.Size == rec.Size)
	if rec.Spoilt || !sameStat(file, rec.Checkpoint) && !young || !newFound(a).fits(&rec.Checkpoint) ||
		!newFound(a).isCurrent(record.Reader{Agent: rec.Agent, Revision: rec.Revision}) {
		r.Changed++
		return
	}
	f, err := content.Open(rec.Path, adapter.LimitsOf(a).Text)
	if err != nil {
		r.add(rec.Path, "it cannot be read: %v", err)
		return
	}
	defer f.Close()
	want := &session.Record{Facts: &session.Facts{}}
	want.Path, want.File = rec.Path, rec.File
	if v := f.Virtual(); v != nil {
		want.Header = adapter.HeaderOf(v)
	}
	want.Revision = rec.Revision
	adapter.Keep(a, &want.Header, rec.Header)
	want.Volatile.Length = rec.Volatile.Length
	var analyzer analysis.Analyzer
	lines := newLines(a, want)
	lines.skimmed = func(int64) error { return ctx.Err() }
	lines.add = func(d *segment.Document) int {
		p, tokens := printOf(&analyzer, d)
		line := want.Nodes[want.NodeAt(d.Offset)].Line
		switch got, ok := held[place{d.Offset, d.Part}]; {
		case !ok:
			r.add(rec.Path, "line %d, offset %d, part %d (%s) is not in the index", line, d.Offset, d.Part, d.Kind)
		case got != p:
			r.add(rec.Path, "line %d, offset %d, part %d (%s) is indexed with other terms", line, d.Offset, d.Part, d.Kind)
		}
		return tokens
	}
	lines.seek(f, rec.Checkpoint.Offset+rec.TailBytes)
	if err := lines.all(ctx); err != nil {
		r.add(rec.Path, "it cannot be read: %v", err)
		return
	}
	r.Compared++
	lines.settle(want)
	lines.marks.write(want)
	want.TailBytes = rec.TailBytes
	want.Size, want.Mtime, want.Ctime, want.Inode = rec.Size, rec.Mtime, rec.Ctime, rec.Inode
	full := want.Full // which has noted that
	want.SetBits(rec.Bits())
	if end := adapter.EndOf(&rec.Checkpoint); end != nil && !full {
		want.AddProblem(session.Problem{Line: want.Lines + 1, Offset: want.Checkpoint.Offset, Reason: end.Error()})
	}
	if !sameRecord(want, rec) {
		r.add(rec.Path, "its session record is not what the file says")
	}
	if !sameFacts(want.Facts, rec.Facts) {
		r.add(rec.Path, "its facts are not what the file says")
	}
}

// sameRecord reports whether two records are stored as the same bytes.
func sameRecord(a, b *session.Record) bool {
	x, y := record.Encode(a, nil), record.Encode(b, nil)
	return bytes.Equal(x.Record, y.Record) && slices.EqualFunc(x.Pieces, y.Pieces, bytes.Equal)
}

// sameFacts reports whether two files' facts are stored as the same bytes.
func sameFacts(a, b *session.Facts) bool {
	return !slices.ContainsFunc(record.SourceKinds, func(k record.FactKind) bool {
		return !bytes.Equal(record.EncodeFacts(k, a), record.EncodeFacts(k, b))
	})
}

// printOf returns the print that a document's postings should have, and the
// number of its tokens.
func printOf(a *analysis.Analyzer, d *segment.Document) (print, int) {
	var p print
	freqs := make(map[string]uint32)
	tokens := a.Walk(d.Text, func(t analysis.Token) { freqs[string(t.Term)]++ })
	for term, freq := range freqs {
		p.add(segment.FieldText, []byte(term), freq, uint32(tokens))
	}
	if a.Cut() {
		p.add(segment.FieldFlag, []byte(segment.FlagCut), 0, 0)
	}
	d.Keywords(func(f segment.Field, term string) {
		p.add(f, []byte(term), 0, 0)
		if f == segment.FieldEntryHash {
			p.add(copyValues, []byte(term), 0, 0)
		}
	})
	return p, tokens
}
