package index

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/files"
)

// Trigrams say where in the dictionary of the text of a segment terms with a
// needle may be, so that looking for a piece of a term visits a few hundredths of
// it. The terms in their order are cut into columns; for every three bytes there is
// a row of bits, one for each column in which some term has them. Rows are shared
// by those that hash alike. The end of a term counts as a byte 0, which no term has.
//
// They are in a file of their own beside the segment in a generation, made when
// that is published and linked into the next ones. It is derived from the segment:
// without it, or when it is not as it was written, all terms are visited. Segments
// with few terms have none. All numbers are little endian:
//
//	8 bytes   "pgtrigr1"
//	8 bytes   xxhash of all that follows
//	8, 8      size and hash of the segment, as its manifest has them
//	4 bytes   number of columns
//	4 bytes   words of 64 columns in a row
//	4 each    by column: the first 3 bytes of its first term, the first one highest
//	8 each    the rows
type trigrams struct {
	first []uint32 // by column: the prefix that it begins with; ascending
	words int      // of a row
	rows  []uint64
}

const (
	trigramsExt   = ".tri"
	trigramsMagic = "pgtrigr1"
	trigramsHead  = 40

	rowBits      = 11
	trigramRows  = 1 << rowBits
	prefixBytes  = 3   // of a term; those of a prefix are in one column
	columnTerms  = 640 // at least
	trigramTerms = 32 * columnTerms
	mostWords    = 512 // of a row

	minTrigramSegment = 8 * trigramTerms // bytes, below which a segment has fewer terms
)

func rowOf(a, b, c byte) int {
	return int((uint32(a)<<16 | uint32(b)<<8 | uint32(c)) * 0x9e3779b1 >> (32 - rowBits))
}

// columns returns a bit for each column that may have a term with the needle.
func (t *trigrams) columns(needle []byte, atEnd bool) []uint64 {
	columns := slices.Repeat([]uint64{^uint64(0)}, t.words)
	keep := func(a, b, c byte) {
		row := t.rows[rowOf(a, b, c)*t.words:]
		for i := range columns {
			columns[i] &= row[i]
		}
	}
	for i := 0; i+2 < len(needle); i++ {
		keep(needle[i], needle[i+1], needle[i+2])
	}
	if n := len(needle); atEnd && n >= 2 {
		keep(needle[n-2], needle[n-1], 0)
	}
	return columns
}

// any reports whether one of the columns has prefixes from low to high.
func (t *trigrams) any(columns []uint64, low, high uint32) bool {
	last := sort.Search(len(t.first), func(i int) bool { return t.first[i] > high }) - 1
	for i := last; i >= 0; i-- {
		if columns[i/64]>>(i%64)&1 != 0 {
			return true
		}
		if t.first[i] <= low {
			break
		}
	}
	return false
}

// makeTrigrams reads a dictionary; nil when it has few terms.
func makeTrigrams(d dictionary) *trigrams {
	if d.terms < trigramTerms {
		return nil
	}
	w := trigramWalk{dictionary: d, trigrams: &trigrams{first: []uint32{0}}}
	w.words = min((d.terms/columnTerms+1+63)/64, mostWords)
	w.rows = make([]uint64, trigramRows*w.words)
	w.walk(d.root, 0)
	return w.trigrams
}

type trigramWalk struct {
	dictionary
	*trigrams
	path  [maxDepth + 1]byte
	count int // of terms in the last column
}

func (w *trigramWalk) walk(addr, depth int) {
	for addr != 0 && w.data[addr]&oneTransition != 0 {
		c, _, next := w.one(addr)
		w.put(c, depth)
		addr = next
		depth++
	}
	if addr == 0 {
		w.end(depth)
		return
	}
	if depth >= maxDepth {
		panic("a term that is too long")
	}
	m := w.many(addr)
	if m.ends {
		w.end(depth)
	}
	for i := m.n - 1; i >= 0; i-- {
		w.put(w.data[m.bytes+i], depth)
		if next := w.target(m.targets+i*m.trans, m.trans, m.bottom); next == 0 {
			w.end(depth + 1)
		} else {
			w.walk(next, depth+1)
		}
	}
}

// put sets a byte of the path. The first bytes of all terms of a prefix are set
// before those behind them, and a column begins with the first of these.
func (w *trigramWalk) put(c byte, depth int) {
	w.path[depth] = c
	if depth+1 < prefixBytes {
		return
	}
	if depth+1 == prefixBytes {
		w.begin(uint32(w.path[0])<<16 | uint32(w.path[1])<<8 | uint32(c))
	}
	w.set(w.path[depth-2], w.path[depth-1], c)
}

func (w *trigramWalk) begin(prefix uint32) {
	if w.count >= columnTerms && len(w.first) < 64*w.words {
		w.first, w.count = append(w.first, prefix), 0
	}
}

func (w *trigramWalk) end(depth int) {
	w.count++
	if depth >= 2 {
		w.set(w.path[depth-2], w.path[depth-1], 0)
	}
}

func (w *trigramWalk) set(a, b, c byte) {
	column := len(w.first) - 1
	w.rows[rowOf(a, b, c)*w.words+column/64] |= 1 << (column % 64)
}

func (t *trigrams) encode(of fileMark) []byte {
	le := binary.LittleEndian
	b := make([]byte, 16, trigramsHead+4*len(t.first)+8*len(t.rows))
	copy(b, trigramsMagic)
	b = le.AppendUint64(b, uint64(of.size))
	b = le.AppendUint64(b, of.hash)
	b = le.AppendUint32(b, uint32(len(t.first)))
	b = le.AppendUint32(b, uint32(t.words))
	for _, p := range t.first {
		b = le.AppendUint32(b, p)
	}
	for _, row := range t.rows {
		b = le.AppendUint64(b, row)
	}
	le.PutUint64(b[8:], xxhash.Sum64(b[16:]))
	return b
}

// decodeTrigrams returns nil when the bytes are not the trigrams of the segment.
func decodeTrigrams(b []byte, of fileMark) *trigrams {
	le := binary.LittleEndian
	if len(b) < trigramsHead || string(b[:8]) != trigramsMagic || le.Uint64(b[8:]) != xxhash.Sum64(b[16:]) ||
		le.Uint64(b[16:]) != uint64(of.size) || le.Uint64(b[24:]) != of.hash {
		return nil
	}
	columns, words := int(le.Uint32(b[32:])), int(le.Uint32(b[36:]))
	if columns == 0 || columns > 64*words || len(b) != trigramsHead+4*columns+8*trigramRows*words {
		return nil
	}
	t := &trigrams{first: make([]uint32, columns), words: words, rows: make([]uint64, trigramRows*words)}
	b = b[trigramsHead:]
	for i := range t.first {
		t.first[i] = le.Uint32(b[4*i:])
	}
	b = b[4*columns:]
	for i := range t.rows {
		t.rows[i] = le.Uint64(b[8*i:])
	}
	return t
}

// trigramsPath returns the name of the trigrams of a segment.
func trigramsPath(segment string) string {
	return strings.TrimSuffix(segment, segmentExt) + trigramsExt
}

// trigrams returns what is known of the terms of the text; nil when nothing is.
func (s *Segment) trigrams() *trigrams {
	s.trigramsOnce.Do(func() {
		if b, err := os.ReadFile(trigramsPath(s.path)); err == nil {
			s.trigramsMade = decodeTrigrams(b, s.mark)
		}
	})
	return s.trigramsMade
}

// addTrigrams puts the trigrams of the segments of a new generation beside them:
// those of the generation before where it has them.
func addTrigrams(dir string, segments []*Segment, before *generation) error {
	for _, s := range segments {
		if s.mark.size < minTrigramSegment {
			continue
		}
		to := trigramsPath(filepath.Join(dir, s.mark.name))
		if before != nil && slices.Contains(before.files, s.mark) {
			err := files.LinkOrCopy(trigramsPath(filepath.Join(before.path, s.mark.name)), to, fileMode)
			if err == nil {
				continue
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		t, err := s.makeTrigrams()
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		f, err := create(to, t.encode(s.mark))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil { // what a crash leaves of it shows by its hash
			return err
		}
	}
	return nil
}

// makeTrigrams makes the trigrams of the segment; nil when it has few terms.
func (s *Segment) makeTrigrams() (t *trigrams, err error) {
	defer contain("read the terms of "+s.mark.name, &err)()
	d, have, err := s.dictionary(FieldText)
	if err != nil || !have {
		return nil, err
	}
	return makeTrigrams(d), nil
}
