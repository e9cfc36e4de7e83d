package indexer

import (
	"github.com/cespare/xxhash/v2"

	"pigrep/internal/session"
)

// marks computes the hashes that prove that the bytes before a checkpoint are unchanged.
// It hashes the same bytes that were parsed.
type marks struct {
	blocks []uint64
	block  *xxhash.Digest
	filled int // bytes in block
}

func newMarks() *marks { return &marks{block: xxhash.New()} }

// resumeMarks continues the marks of a record at its checkpoint.
func resumeMarks(rec *session.Record) (*marks, error) {
	m := newMarks()
	m.blocks = rec.Blocks
	m.filled = int(rec.Checkpoint.Offset % session.HashedBlock)
	return m, m.block.UnmarshalBinary(rec.Partial)
}

// add hashes the next bytes.
func (m *marks) add(b []byte) {
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

// write stores the marks in the record.
func (m *marks) write(rec *session.Record) {
	rec.Blocks = m.blocks
	rec.Partial, _ = m.block.MarshalBinary() // never fails
}
