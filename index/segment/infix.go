package segment

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
)

// Infix returns the live documents with a term that contains the needle, at its end
// if atEnd. If more than most terms have it, ok is false and docs is nil. The needle
// has 1 to 254 bytes; the bitmap is the caller's.
func (s *Segment) Infix(f Field, needle []byte, atEnd bool, most int) (docs *roaring.Bitmap, ok bool) {
	defer s.contain(format.Guard(), "search the terms")
	tree, have := s.fst(f)
	if !have || len(needle) == 0 || len(needle) > 254 {
		return roaring.New(), true
	}
	key := infixKey{f, string(needle), atEnd}
	found, known := s.infixes.get(key)
	if !known {
		docs := roaring.New()
		w := infixWalk{fst: tree, segment: s, step: occurrences(needle, atEnd), found: uint8(len(needle)), most: most, docs: docs}
		if terms := s.inOrder(f, &tree); terms != nil && bytes.IndexByte(needle, 0) < 0 {
			w.search(terms, needle, atEnd)
		} else {
			if f == FieldText {
				w.columns = s.columns(needle, atEnd)
			}
			w.walk(tree.root, 0, 0, 0, 0)
		}
		if w.most < 0 {
			return nil, false
		}
		docs.AddMany(w.single)
		docs.CloneCopyOnWriteContainers() // they are in mapped memory
		found = infix{docs, most - w.most}
		s.infixes.put(key, found)
	}
	if found.terms > most {
		return nil, false
	}
	live := found.docs.Clone()
	s.keepLive(live)
	return live, true
}

// infixCache has the latest results of Infix for all references to a segment, and the terms
// to search. Visiting the dictionary is a quarter of the CPU of a grep for two words on a line,
// and a server is asked for the same words again.
type infixCache struct {
	mu     sync.Mutex
	latest map[infixKey]infix
	size   int    // of all
	walks  int    // of the dictionary
	terms  []byte // of inOrder; nil until they are needed
}

// infix are the documents with a needle, deleted ones included.
type infix struct {
	docs  *roaring.Bitmap
	terms int // that have the needle
}

type infixKey struct {
	field  Field
	needle string
	atEnd  bool
}

// infixMemory is the size of the results that a segment keeps, in bytes. With more, it begins anew.
const infixMemory = 512 << 10

// size estimates the memory of a result. There are at most 128.
func (i infix) size() int { return 4<<10 + int(i.docs.GetSizeInBytes()) }

func (c *infixCache) get(key infixKey) (infix, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.latest[key]
	return found, ok
}

func (c *infixCache) put(key infixKey, found infix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += found.size(); c.latest == nil || c.size > infixMemory {
		c.latest, c.size = make(map[infixKey]infix), found.size()
	}
	c.latest[key] = found
}

// walksInTurn is how often the dictionary is visited before its terms are put into memory,
// which takes as long as so many visits that trigrams make short.
const walksInTurn = 12

// mostInOrder is how many terms of a segment may be in memory. They take about ten bytes each.
const mostInOrder = 1 << 20

// inOrder returns the terms of a field, a byte 0 before and after each; nil if they are not
// in memory. They are there for a server, which looks for one needle after the other. If it
// searches these bytes, a grep for two words on a line takes 0.73 of the CPU, and 1 GB of
// sessions 13 MB of memory.
func (s *Segment) inOrder(f Field, tree *fst) []byte {
	if f != FieldText || tree.terms > mostInOrder {
		return nil
	}
	c := s.infixes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.walks++; c.terms == nil && c.walks > walksInTurn {
		terms := make([]byte, 1, 1+10*tree.terms)
		tree.walk(nil, nil, nil, func(term []byte, _ PostingsOffset) bool {
			terms = append(append(terms, term...), 0)
			return true
		})
		c.terms = terms
	}
	return c.terms
}

// occurrences returns the automaton that finds the needle: a state is the number of
// its bytes that were read last. The automaton stays where it has found the needle,
// unless only the end of a term counts.
func occurrences(needle []byte, atEnd bool) [][256]uint8 {
	step := make([][256]uint8, len(needle)+1)
	fallback := uint8(0)
	for i, c := range needle {
		step[i] = step[fallback]
		next := step[fallback][c]
		step[i][c] = uint8(i + 1)
		if i > 0 {
			fallback = next
		}
	}
	last := &step[len(needle)]
	if *last = step[fallback]; !atEnd {
		for i := range last {
			last[i] = uint8(len(needle))
		}
	}
	return step
}

type infixWalk struct {
	fst
	segment *Segment
	columns *columns // that may have the needle; nil when nothing is known
	step    [][256]uint8
	found   uint8
	most    int // terms that may still be found; negative: there are too many

	docs   *roaring.Bitmap
	single []uint32 // documents that are the only ones of a term
}

// walk visits the terms below a node. prefix has the first bytes on the path to it,
// the first one highest; value is the sum of the outputs on the path.
func (w *infixWalk) walk(addr int, state uint8, depth int, prefix uint32, value uint64) {
	for addr != 0 && w.hasOne(addr) {
		c, out, next := w.one(addr)
		if depth++; depth <= prefixBytes {
			if prefix |= uint32(c) << (8 * (prefixBytes - depth)); w.skips(prefix, depth) {
				return
			}
		}
		addr, state, value = next, w.step[state][c], value+out
	}
	if addr == 0 {
		if state == w.found {
			w.add(value)
		}
		return
	}
	if depth++; depth > maxDepth {
		panic("a term that is too long")
	}
	m := w.many(addr)
	if m.ends && state == w.found {
		w.add(value + m.endingValue)
	}
	for i := m.n - 1; i >= 0 && w.most >= 0; i-- {
		c, out, next := w.transition(&m, i)
		to := w.step[state][c]
		if next == 0 && to != w.found { // the end of most terms
			continue
		}
		below := prefix
		if depth <= prefixBytes {
			if below |= uint32(c) << (8 * (prefixBytes - depth)); w.skips(below, depth) {
				continue
			}
		}
		w.walk(next, to, depth, below, value+out)
	}
}

// search adds the documents of the terms that have the needle, of all terms as inOrder returns
// them.
func (w *infixWalk) search(terms, needle []byte, atEnd bool) {
	if atEnd {
		needle = append(slices.Clip(needle), 0)
	}
	for at := 0; w.most >= 0; {
		i := bytes.Index(terms[at:], needle)
		if i < 0 {
			return
		}
		i += at
		start, end := 1+bytes.LastIndexByte(terms[:i], 0), i+bytes.IndexByte(terms[i:], 0)
		w.add(w.get(terms[start:end]))
		at = end
	}
}

// skips reports whether no term that begins with the first bytes of a prefix has
// the needle.
func (w *infixWalk) skips(prefix uint32, depth int) bool {
	return w.columns != nil && !w.columns.any(prefix, prefix|(1<<(8*(prefixBytes-depth))-1))
}

// add adds the documents of a term.
func (w *infixWalk) add(value uint64) {
	if w.most--; w.most < 0 {
		return
	}
	at := PostingsOffset(value)
	if at.isOneHit() {
		w.single = append(w.single, at.document())
		return
	}
	var docs roaring.Bitmap // not used again: w.docs may share its containers
	w.segment.readDocuments(at, &docs)
	w.docs.Or(&docs)
}

// Trigrams say where in the dictionary of the text of a segment terms with a needle
// may be. The terms, in their order, are cut into columns; for every three bytes
// there is a row of bits, one for each column in which some term has them. Three
// bytes that hash alike share a row. The end of a term counts as a byte 0, which no
// term has.
//
// They lie in a file beside the segment, made when it is first published. The file
// is derived: without it, or when it is not as it was written, Infix visits all
// terms. Segments with few terms have none. Reading takes only the rows of a needle.
//
// They pay for themselves: grep -c for a piece of a rare word takes 65 ms of CPU in
// 1 GB of sessions, without them 204; in 300 MB 35 and 82. Making them adds 2 % to the
// CPU of a first index and 1.2 % to the size of the index.
//
// All numbers are little endian:
//
//	8 bytes   "pgtrigr2"
//	8 bytes   xxhash of what follows up to the rows
//	8, 8      size and hash of the segment's Fingerprint
//	4 bytes   number of columns
//	4 bytes   words of 64 columns in a row
//	4 each    by column: the first 3 bytes of its first term, the first one highest
//	          the rows: 8 bytes for each word, and 8 for the xxhash of them
type trigrams struct {
	first []uint32 // by column: the first 3 bytes of its first term; ascending
	words int      // of a row
	rows  []uint64

	last  []byte // the last term so far
	count int    // of terms in the last column
}

// columns returns the columns of the trigrams that may have a term with a needle.
type columns struct {
	first []uint32 // as in trigrams
	bits  []uint64 // one for each column
}

// TrigramsExt is the extension of the file with the trigrams of a segment.
const TrigramsExt = ".tri"

const (
	trigramsMagic = "pgtrigr2"
	trigramsHead  = 40

	rowBits      = 12
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

// any reports whether a column that is left has prefixes from low to high.
func (c *columns) any(low, high uint32) bool {
	last := sort.Search(len(c.first), func(i int) bool { return c.first[i] > high }) - 1
	for i := last; i >= 0; i-- {
		if c.bits[i/64]>>(i%64)&1 != 0 {
			return true
		}
		if c.first[i] <= low {
			break
		}
	}
	return false
}

// makeTrigrams makes the trigrams of the segment; nil when it has few terms.
func (s *Segment) makeTrigrams() (t *trigrams, err error) {
	defer format.Contain(format.Guard(), "read the terms of "+filepath.Base(s.path), &err)
	tree, _ := s.fst(FieldText)
	if tree.terms < trigramTerms {
		return nil, nil
	}
	t = &trigrams{first: []uint32{0}, words: min((tree.terms/columnTerms+1+63)/64, mostWords)}
	t.rows = make([]uint64, trigramRows*t.words)
	tree.walk(nil, nil, nil, t.add)
	return t, nil
}

// add adds the next term. A column begins with the first term of a prefix of 3 bytes.
func (t *trigrams) add(term []byte, _ PostingsOffset) bool {
	same := 0 // bytes that the term before has too
	for same < min(len(term), len(t.last)) && term[same] == t.last[same] {
		same++
	}
	if same < prefixBytes && len(term) >= prefixBytes && t.count >= columnTerms && len(t.first) < 64*t.words {
		t.first, t.count = append(t.first, uint32(term[0])<<16|uint32(term[1])<<8|uint32(term[2])), 0
	}
	for i := max(same, prefixBytes-1); i < len(term); i++ {
		t.set(term[i-2], term[i-1], term[i])
	}
	t.count++
	if n := len(term); n >= 2 {
		t.set(term[n-2], term[n-1], 0)
	}
	t.last = append(t.last[:0], term...)
	return true
}

func (t *trigrams) set(a, b, c byte) {
	column := len(t.first) - 1
	t.rows[rowOf(a, b, c)*t.words+column/64] |= 1 << (column % 64)
}

func (t *trigrams) encode(of Fingerprint) []byte {
	le := binary.LittleEndian
	b := make([]byte, 16, trigramsHead+4*len(t.first)+trigramRows*rowSize(t.words))
	copy(b, trigramsMagic)
	for _, part := range []any{of.Size, of.Hash, uint32(len(t.first)), uint32(t.words), t.first} {
		b, _ = binary.Append(b, le, part) // which takes all these types
	}
	le.PutUint64(b[8:], xxhash.Sum64(b[16:]))
	for row := range slices.Chunk(t.rows, t.words) {
		start := len(b)
		b, _ = binary.Append(b, le, row)
		b = le.AppendUint64(b, xxhash.Sum64(b[start:]))
	}
	return b
}

// rowSize is the bytes that a row of so many words takes in the file.
func rowSize(words int) int { return 8*words + 8 }

// readColumns returns the columns of a segment, with all bits set, and the rows, from the bytes
// of the file; nil when these are not the trigrams of the segment.
func readColumns(b []byte, of Fingerprint) (c *columns, rows []byte) {
	le := binary.LittleEndian
	if len(b) < trigramsHead || string(b[:8]) != trigramsMagic {
		return nil, nil
	}
	count, words := int(le.Uint32(b[32:])), int(le.Uint32(b[36:]))
	size := trigramsHead + 4*count
	if words > mostWords || count == 0 || count > 64*words || len(b) != size+trigramRows*rowSize(words) {
		return nil, nil
	}
	if le.Uint64(b[8:]) != xxhash.Sum64(b[16:size]) || le.Uint64(b[16:]) != uint64(of.Size) || le.Uint64(b[24:]) != of.Hash {
		return nil, nil
	}
	c = &columns{first: make([]uint32, count), bits: slices.Repeat([]uint64{^uint64(0)}, words)}
	_, _ = binary.Decode(b[trigramsHead:], le, c.first) // which are there
	return c, b[size:]
}

// columns returns the columns that may have a term with the needle, at its end if
// atEnd; nil when nothing is known.
func (s *Segment) columns(needle []byte, atEnd bool) (c *columns) {
	if s.fingerprint.Size < minTrigramSegment {
		return nil
	}
	var err error // of a file that is cut now
	defer func() {
		if err != nil {
			c = nil
		}
	}()
	defer format.Contain(format.Guard(), "read trigrams", &err)
	c, rows, unmap := s.openTrigrams()
	defer unmap()
	if c == nil {
		return nil
	}
	end := 8 * len(c.bits)
	keep := func(x, y, z byte) bool {
		row := rows[rowOf(x, y, z)*rowSize(len(c.bits)):]
		for i := range c.bits {
			c.bits[i] &= binary.LittleEndian.Uint64(row[8*i:])
		}
		return binary.LittleEndian.Uint64(row[end:]) == xxhash.Sum64(row[:end])
	}
	for i := 0; i+2 < len(needle); i++ {
		if !keep(needle[i], needle[i+1], needle[i+2]) {
			return nil
		}
	}
	if n := len(needle); atEnd && n >= 2 && !keep(needle[n-2], needle[n-1], 0) {
		return nil
	}
	return c
}

func (s *Segment) trigramsPath() string { return strings.TrimSuffix(s.path, Ext) + TrigramsExt }

// openTrigrams maps the file with the trigrams of the segment. There are no columns if there is
// no such file, or if it is not of this segment. The caller must call unmap after the last use of the rows.
func (s *Segment) openTrigrams() (c *columns, rows []byte, unmap func() error) {
	b, unmap, err := Map(s.trigramsPath())
	if err == nil {
		c, rows = readColumns(b, s.fingerprint)
	}
	return c, rows, unmap
}

// NewTrigrams returns the name and the content of the file with the trigrams of the
// segment, which belongs beside it. It is nil if the file is there or the segment has few
// terms.
func (s *Segment) NewTrigrams() (name string, data []byte, err error) {
	if s.fingerprint.Size < minTrigramSegment {
		return "", nil, nil
	}
	c, _, unmap := s.openTrigrams()
	if err := unmap(); err != nil || c != nil {
		return "", nil, err
	}
	t, err := s.makeTrigrams()
	s.Trim()
	if err != nil || t == nil {
		return "", nil, err
	}
	return filepath.Base(s.trigramsPath()), t.encode(s.fingerprint), nil
}
