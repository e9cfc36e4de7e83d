package indexer

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// elsewhereBatch is the amount of text from which sessions from elsewhere begin another batch.
const elsewhereBatch = 8 << 20

// Elsewhere indexes sessions in memory that are not in files of this machine. The zero value
// is not usable; see NewElsewhere. Add may be called by several goroutines.
type Elsewhere struct {
	adapter adapter.Adapter
	base    *index.Reader

	mu      sync.Mutex // guards the fields below
	next    uint32
	idle    []*index.Batch // that no Add is filling
	batches []*index.Batch
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
	defer x.give(batch)
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
	rec.Checkpoint = session.Checkpoint{Size: s.Size, Length: s.Size, Mtime: s.Mtime}
	r := lineReader{
		adapter: x.adapter, folder: shellcmd.NewFolder(), rec: rec, marks: newMarks(session.Volatile{}), lines: new(jsonl.Reader),
		add:     func(d *segment.Document) int { return batch.Add(d) },
		remove:  func(offset int64) { batch.DeleteEntry(number, offset) },
		skimmed: func(int64) error { return ctx.Err() },
	}
	for r.seek(text, s.Size); ; {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			r.settle(rec)
			r.marks.write(rec)
			if rec.Name == "" {
				rec.Name, rec.NameRank = s.Name, s.NameRank
			}
			return rec, nil
		case err != nil:
			return nil, err
		case !line.Ended && !line.TooLong:
			r.parse(line, rec)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

// take returns a batch that no other Add fills, and the number of a file.
func (x *Elsewhere) take() (*index.Batch, uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next++
	if n := len(x.idle); n > 0 {
		b := x.idle[n-1]
		x.idle = x.idle[:n-1]
		return b, x.next - 1
	}
	b := index.NewBatch()
	x.batches = append(x.batches, b)
	return b, x.next - 1
}

func (x *Elsewhere) give(b *index.Batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b.Size() < elsewhereBatch {
		x.idle = append(x.idle, b)
	}
}

// Reader returns a reader of the base and of what was added. The caller closes it.
func (x *Elsewhere) Reader() (*index.Reader, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.base.With(slices.Clip(x.batches)...)
}
