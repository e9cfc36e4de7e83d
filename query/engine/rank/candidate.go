package rank

import "iter"

// Candidate is a document that matches, before and after verification. There may be
// many: it contains no pointers, and fills one line of the cache (64 bytes).
type Candidate struct {
	mask    uint64 // words and fields that it matches, and compounds of which it has all parts
	partial uint64 // compounds of which it has parts only: with a bit of mask all of them, else some
	copy    uint64 // session.Entry.Copy of its entry; 0 until it is read, and for none

	offset int64 // of its entry; set by resolve
	part   int32 // in its entry; set by resolve, and by readDuplicates

	segment int32
	file    int32 // index in snapshot.files
	doc     uint32
	base    float32 // the sum over the words
	score   float32

	tier     uint8
	resolved bool
	pending  bool // some word has to be verified
	dropped  bool // a duplicate of another candidate, or no hit
	counted  bool // included in the count of its file
}

// full returns the words and fields that a candidate with these masks matches.
func full(mask, partial uint64) uint64 { return mask &^ partial }

// candidates is a list in chunks, so that it grows without being copied.
type candidates [][]Candidate

const chunkLen = 1 << 8 // candidates: 16 kB

func (l *candidates) add(c Candidate) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == chunkLen {
		*l = append(*l, make([]Candidate, 0, chunkLen))
		last++
	}
	(*l)[last] = append((*l)[last], c)
}

// all returns the candidates in the order in which they were added.
func (l candidates) all() iter.Seq[*Candidate] {
	return func(yield func(*Candidate) bool) {
		for n := range l {
			for k := range l[n] {
				if !yield(&l[n][k]) {
					return
				}
			}
		}
	}
}

// resolve sets the offset and the part of a candidate. Comparisons call it and cannot
// return an error, so it is kept for snapshot.err.
func (seg *segmentState) resolve(c *Candidate) {
	id, err := seg.ID(c.doc)
	if err != nil {
		seg.failed.Store(&err)
	}
	c.offset, c.part, c.resolved = id.Offset, int32(id.Part), true
}
