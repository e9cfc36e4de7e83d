package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// openTries bounds how often a reader looks for the newest generation again
// because the one it was opening went away.
const openTries = 20

// Reader reads one generation. It never changes under the reader, whatever a
// writer does. All methods may be called by several goroutines, but for those of
// Postings.
type Reader struct {
	dir        string
	generation *generation
	summaries  []session.Summary
	documents  int
	tokens     uint64
	segments   []*segment.Segment

	close sync.Once
}

// Open opens the newest generation. It never waits for a writer. Without any
// generation it fails with ErrNoIndex.
func Open(dir string) (*Reader, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return open(dir, nil)
}

// Reopen opens the newest generation. What that has in common with the reader's
// they share, so that it costs less than Open; each of them is closed on its own.
func (r *Reader) Reopen() (*Reader, error) { return open(r.dir, r.segments) }

// open is Open. Of what is in these segments, which are open, nothing is read
// again.
func open(dir string, have []*segment.Segment) (*Reader, error) {
	for try := 1; ; try++ {
		number, err := currentNumber(dir)
		if err != nil {
			return nil, err
		}
		if number == 0 {
			return nil, fmt.Errorf("%w in %s", ErrNoIndex, dir)
		}
		r, err := openGeneration(dir, number, have)
		if err == nil {
			return r, nil
		}
		if now, err2 := currentNumber(dir); err2 == nil && now != number && try < openTries {
			continue // a writer has published, and removed what was being opened
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = format.Damaged("generation %d is not complete: %v", number, err)
		}
		return nil, err
	}
}

func openGeneration(dir string, number uint64, have []*segment.Segment) (*Reader, error) {
	g, err := readManifest(dir, number)
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir, generation: g}
	if err := r.load(have); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) load(have []*segment.Segment) error {
	var table []byte
	var err error
	if r.segments, table, err = r.generation.open(have); err != nil {
		return err
	}
	if r.summaries, err = record.DecodeSummaries(table); err != nil {
		return err
	}
	for i := range r.summaries {
		r.documents += r.summaries[i].Documents
		r.tokens += r.summaries[i].Tokens
	}
	segment.Share(r.segments, r.generation.copies)
	return nil
}

// Generation returns the number of the generation.
func (r *Reader) Generation() uint64 { return r.generation.number }

// Summaries returns the summaries of all files, ordered by path. The slice is
// the reader's own and must not be changed.
func (r *Reader) Summaries() []session.Summary { return r.summaries }

// Documents returns the number of documents.
func (r *Reader) Documents() int { return r.documents }

// Tokens returns the number of tokens in the text fields of all documents.
func (r *Reader) Tokens() uint64 { return r.tokens }

// Segments returns the segments, each a part of the documents. Their order
// means nothing.
func (r *Reader) Segments() []*segment.Segment { return r.segments }

// Record returns the session record of a file, an unterminated last line
// included; nil when there is none.
func (r *Reader) Record(file uint32) (*session.Record, error) {
	b, err := storedIn(r.segments, recordID(file), nil)
	if err != nil || b == nil {
		return nil, err
	}
	return record.Decode(b, false)
}

// Outline returns the session record of a file, an unterminated last line
// included, without decoding its entries; nil when there is none. It is mostly
// in the last segment with documents of the file: near, when not nil, is where
// it is looked for first.
func (r *Reader) Outline(file uint32, near *segment.Segment) (*record.Outline, error) {
	b, err := storedIn(r.segments, recordID(file), near)
	if err != nil || b == nil {
		return nil, err
	}
	return record.DecodeOutline(b)
}

// Close ends reading. Nothing of the reader may be used afterwards.
func (r *Reader) Close() (err error) {
	r.close.Do(func() { err = release(r.segments) })
	return err
}

// SizeOnDisk returns the bytes that the whole index directory takes.
func (r *Reader) SizeOnDisk() (int64, error) {
	var size int64
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		size += info.Size()
		return nil
	})
	return size, err
}

// ignoreMissing ignores what a writer removed in the meantime.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
