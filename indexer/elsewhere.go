package indexer

import (
	"cmp"
	"context"
	"io"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// elsewhereBatch is the amount of text from which sessions from elsewhere begin another batch.
const elsewhereBatch = 8 << 20

// Elsewhere indexes sessions in memory that are not in files of this machine. The zero value
// is not usable; see NewElsewhere.
type Elsewhere struct {
	adapter adapter.Adapter
	base    *index.Reader
	next    uint32
	batches []*index.Batch
	partly  bool // as of index.Reader.Partly
}

// NewElsewhere returns an Elsewhere that adds to a reader, which the caller closes.
func NewElsewhere(a adapter.Adapter, base *index.Reader) *Elsewhere {
	return &Elsewhere{adapter: a, base: base, next: base.NextFile()}
}

// Add indexes a session. s says its path, its agent, and what only its machine knows, such as a
// name from another file. With text, all else is read from there, as if that were the file;
// without, s is all that is known.
func (x *Elsewhere) Add(ctx context.Context, s session.Summary, text io.ReaderAt) error {
	batch, number := x.take()
	rec := &session.Record{Summary: s}
	if text != nil {
		var err error
		if rec, err = x.read(ctx, s, number, text, batch); err != nil {
			return err
		}
	}
	rec.File = number
	batch.Put(rec, nil)
	return nil
}

func (x *Elsewhere) read(ctx context.Context, s session.Summary, number uint32, text io.ReaderAt, batch *index.Batch) (*session.Record, error) {
	rec := &session.Record{Facts: &session.Facts{}}
	rec.Path, rec.Agent, rec.Notes, rec.File = s.Path, s.Agent, s.Notes, number
	rec.Checkpoint = session.Checkpoint{Stat: session.Stat{Size: s.Size, Mtime: s.Mtime}, Extent: session.Extent{Length: s.Size}}
	r := newLines(x.adapter, rec)
	r.add = func(d *segment.Document) int { return batch.Add(d) }
	r.remove = func(offset int64) { batch.DeleteEntry(number, offset) }
	r.skimmed = func(int64) error { return ctx.Err() }
	r.seek(text, s.Size)
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	r.settle(rec)
	r.marks.write(rec)
	if rec.Name == "" {
		rec.Name, rec.NameRank = s.Name, s.NameRank
	}
	return rec, nil
}

// AddLines indexes a session whose record is known, and some of its lines. The record is the
// index's from then on.
func (x *Elsewhere) AddLines(rec *session.Record, lines []adapter.Line) {
	batch, number := x.take()
	x.partly = true
	rec.File = number
	parser := x.adapter.Parse(adapter.State{Path: rec.Path, Header: rec.Header})
	for _, line := range lines {
		parser.Reset(adapter.State{Path: rec.Path, Header: rec.Header, Lines: line.Number - 1})
		parser.Parse(line, func(e *session.Entry) {
			at := rec.NodeAt(e.Offset)
			if at < 0 || rec.Hidden.Has(at) {
				return
			}
			e.Context = rec.Contexts.At(at)
			e.Complete()
			e.Answer(rec.Nodes[at].Tool)
			for i := range e.Parts {
				d := document(e, i, number)
				batch.Add(&d)
			}
		})
	}
	batch.Put(rec, nil)
}

// Drop removes a file of the base, by its number.
func (x *Elsewhere) Drop(file uint32) {
	batch, _ := x.take()
	batch.DeleteFile(file)
}

// take returns the batch that has room, and the number of a file.
func (x *Elsewhere) take() (*index.Batch, uint32) {
	if n := len(x.batches); n == 0 || x.batches[n-1].Size() >= elsewhereBatch {
		x.batches = append(x.batches, index.NewBatch())
	}
	x.next++
	return x.batches[len(x.batches)-1], x.next - 1
}

// Reader returns a reader of the base and of what was added. The caller closes it.
func (x *Elsewhere) Reader() (*index.Reader, error) {
	r, err := x.base.With(x.batches...)
	if err != nil {
		return nil, err
	}
	r.Excerpt()
	if x.partly {
		r.Partly()
	}
	return r, nil
}

// A Recorder makes the record of a session file from its lines.
type Recorder struct {
	lines lineReader
	torn  bool
}

// NewRecorder continues a record at its checkpoint: the first line is the next one. That of a new
// file has a path, an agent, and whether it is of notes. visit gets the entries with parts, each
// while it is valid, and returns the number of tokens in their texts.
func NewRecorder(a adapter.Adapter, rec *session.Record, visit func(*session.Entry) (tokens int)) *Recorder {
	rec.Facts = cmp.Or(rec.Facts, &session.Facts{})
	return &Recorder{lines: lineReader{adapter: a, folder: shellcmd.NewFolder(), rec: rec, visit: visit, parser: a.Parse(stateOf(rec))}}
}

// Offset is where the next line begins.
func (r *Recorder) Offset() int64 { return r.lines.rec.Checkpoint.Offset }

// Line adds a line, and reports whether it says anything. The last one may be unended: if it says
// something, the record cannot be continued, and otherwise it counts for nothing.
func (r *Recorder) Line(data []byte, ended bool) (found bool) {
	rec := r.lines.rec
	line := adapter.Line{Data: data, Raw: data, Offset: r.Offset(), Length: int64(len(data)), Number: rec.Lines + 1, Ended: ended}
	if ended {
		found = r.lines.parse(line, rec)
		rec.Checkpoint.Offset += line.Length + 1
		rec.Checkpoint.Length = rec.Checkpoint.Offset
		rec.Lines++
		return found
	}
	rec = r.Record()
	found = r.lines.parse(line, rec) || r.lines.parser.State().Header.Version != rec.Version
	if r.torn = !found; found {
		rec.Checkpoint.Length += line.Length
	}
	return found
}

// Record returns the record of the lines so far.
func (r *Recorder) Record() *session.Record {
	if !r.torn {
		r.lines.settle(r.lines.rec)
	}
	return r.lines.rec
}
