package segment

import (
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
)

// Infix returns the live documents with a term that contains the needle, at its end
// if atEnd. If more than most terms have it, ok is false and docs is nil. The needle
// has 1 to 254 bytes; the bitmap is the caller's.
func (s *Segment) Infix(f Field, needle []byte, atEnd bool, most int) (docs *roaring.Bitmap, ok bool, err error) {
	defer format.Contain(format.Guard(), "search the terms", &err)
	docs = roaring.New()
	tree, have, err := s.fst(f)
	if err != nil || !have || len(needle) == 0 || len(needle) > 254 {
		return docs, err == nil, err
	}
	key := infixKey{f, string(needle), atEnd}
	found, known := s.infixes.get(key)
	if !known {
		w := infixWalk{fst: tree, segment: s, step: occurrences(needle, atEnd), found: uint8(len(needle)), most: most, docs: docs}
		if f == FieldText {
			w.columns = s.columns(needle, atEnd)
		}
		if w.walk(tree.root, 0, 0, 0, 0); w.err != nil || w.most < 0 {
			return nil, false, w.err
		}
		docs.AddMany(w.single)
		docs.CloneCopyOnWriteContainers() // they are in mapped memory
		found = infix{key, docs, most - w.most}
		s.infixes.put(found)
	}
	if found.terms > most {
		return nil, false, nil
	}
	docs = found.docs.Clone()
	return docs, true, s.keepLive(docs)
}

// infixCache has the latest results of Infix for all references to a segment. Visiting the
// dictionary is a quarter of the CPU of a grep for two words on a line, and a server is
// asked for the same words again.
type infixCache struct {
	mu     sync.Mutex
	latest []infix // the latest last
	size   int     // of all
}

// infix are the documents with a needle, deleted ones included.
type infix struct {
	infixKey
	docs  *roaring.Bitmap
	terms int // that have the needle
}

type infixKey struct {
	field  Field
	needle string
	atEnd  bool
}

// infixMemory is the size of the results that a segment keeps, in bytes.
const infixMemory = 512 << 10

// size estimates the memory of a result. There are at most 128.
func (i infix) size() int { return 4<<10 + int(i.docs.GetSizeInBytes()) }

func (c *infixCache) get(key infixKey) (infix, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.latest, func(i infix) bool { return i.infixKey == key })
	if at < 0 {
		return infix{}, false
	}
	found := c.latest[at]
	c.latest = append(slices.Delete(c.latest, at, at+1), found)
	return found, true
}

func (c *infixCache) put(found infix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = append(c.latest, found)
	c.size += found.size()
	for c.size > infixMemory {
		c.size -= c.latest[0].size()
		c.latest = slices.Delete(c.latest, 0, 1)
	}
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
	err    error
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
		c := w.data[m.bytes+i]
		next, to := w.target(m.targets+i*m.trans, m.trans, m.bottom), w.step[state][c]
		if next == 0 && to != w.found { // the end of most terms
			continue
		}
		below := prefix
		if depth <= prefixBytes {
			if below |= uint32(c) << (8 * (prefixBytes - depth)); w.skips(below, depth) {
				continue
			}
		}
		out := value
		if m.out > 0 {
			out += w.packed(m.outs+i*m.out, m.out)
		}
		w.walk(next, to, depth, below, out)
	}
}

// skips reports whether no term that begins with the first bytes of a prefix has
// the needle.
func (w *infixWalk) skips(prefix uint32, depth int) bool {
	return w.columns != nil && !w.columns.any(prefix, prefix|(1<<(8*(prefixBytes-depth))-1))
}

// add adds the documents of a term.
func (w *infixWalk) add(value uint64) {
	if w.most--; w.most < 0 || w.err != nil {
		return
	}
	at := PostingsOffset(value)
	if at.isOneHit() {
		w.single = append(w.single, at.document())
		return
	}
	var docs roaring.Bitmap // not used again: w.docs may share its containers
	if w.err = w.segment.readDocuments(at, &docs); w.err == nil {
		w.docs.Or(&docs)
	}
}
