package indexer

import (
	"errors"
	"io"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/session"
)

// marks gathers, line by line, the hashes that prove the bytes before a
// checkpoint unchanged. They are made of the very bytes that were parsed.
type marks struct {
	head   []byte // the first HashedHead bytes
	tail   []byte // at least the last HashedTail bytes, if there are so many
	blocks []uint64
	block  *xxhash.Digest
	filled int // bytes in block
}

// errMarks says that the bytes before a checkpoint are not those it was made of.
var errMarks = errors.New("the bytes before the checkpoint changed")

func newMarks() *marks { return &marks{block: xxhash.New()} }

// resumeMarks reads on from the record's checkpoint, after comparing the bytes
// at both ends of what lies before it; errMarks when they differ.
func resumeMarks(f io.ReaderAt, rec *session.Record) (*marks, error) {
	m := newMarks()
	at := rec.Checkpoint.Offset
	m.head = make([]byte, min(at, session.HashedHead))
	m.tail = make([]byte, min(at, session.HashedTail))
	m.blocks = rec.Blocks
	m.filled = int(at % session.HashedBlock)
	if _, err := f.ReadAt(m.head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if _, err := f.ReadAt(m.tail, at-int64(len(m.tail))); err != nil && err != io.EOF {
		return nil, err
	}
	if xxhash.Sum64(m.head) != rec.HeadHash || xxhash.Sum64(m.tail) != rec.TailHash || m.block.UnmarshalBinary(rec.Partial) != nil {
		return nil, errMarks
	}
	return m, nil
}

// add takes the next bytes.
func (m *marks) add(b []byte) {
	if room := session.HashedHead - len(m.head); room > 0 {
		m.head = append(m.head, b[:min(room, len(b))]...)
	}
	m.tail = append(m.tail, b[max(0, len(b)-session.HashedTail):]...)
	if len(m.tail) > 4*session.HashedTail {
		n := copy(m.tail, m.tail[len(m.tail)-session.HashedTail:])
		m.tail = m.tail[:n]
	}
	for len(b) > 0 {
		n := min(len(b), session.HashedBlock-m.filled)
		m.block.Write(b[:n])
		b = b[n:]
		if m.filled += n; m.filled == session.HashedBlock {
			m.blocks = append(m.blocks, m.block.Sum64())
			m.block.Reset()
			m.filled = 0
		}
	}
}

// write puts the marks into the record.
func (m *marks) write(rec *session.Record) {
	rec.HeadHash = xxhash.Sum64(m.head)
	rec.TailHash = xxhash.Sum64(m.tail[max(0, len(m.tail)-session.HashedTail):])
	rec.Blocks = m.blocks
	rec.Partial, _ = m.block.MarshalBinary() // never fails
}
