package rank

import (
	"slices"

	"pigrep/index/segment"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/words"
)

// windowLen is the number of documents that are scored at a time, so that their
// scores fit into the cache of a core. Postings lists stay open between windows; a
// query with more than maxOpen lists scores each segment as one window.
const (
	windowLen = 1 << 11
	maxOpen   = 1 << 10
)

// window returns the number of documents to score at a time.
func (s *search) window() int {
	open, longest := 0, 0
	for _, p := range s.plan.Words {
		open += len(p.Terms)
		for i := range p.Parts {
			open += len(p.SpellingsOf(i)) + len(p.WholesOf(i))
		}
	}
	for _, seg := range s.segs {
		longest = max(longest, (seg.Len()+63)&^63)
	}
	if open > maxOpen {
		return longest
	}
	return min(windowLen, longest)
}

// scores has the scores and matches of the documents of one window; index i is
// document first+i.
type scores struct {
	first uint32 // a multiple of 64
	end   uint32 // the document after the window
	open  []openLists

	seen    docset.Set // documents with a value in any of the slices below
	score   []float32
	mask    []uint64 // words that match
	partial []uint64 // compounds of which only parts match, as in Candidate; nil if the query has no compounds
	tier    []uint8  // the loosest tier of any word

	// For the word that is being scored.
	value    []float32
	freq     []float32 // for a word matched by its parts: the mean of their tf
	length   []uint32
	parts    []uint16
	tightest []uint16 // the index of the term with the tightest tier
	best     []uint8  // the tightest tier plus 1; 0 for none
	touched  docset.Set
	own      docset.Set // documents with the part that is being scored
}

func newScores(n int, list []*words.ResolvedWord) *scores {
	s := &scores{
		open: make([]openLists, len(list)),
		seen: docset.New(n), score: make([]float32, n), mask: make([]uint64, n), tier: make([]uint8, n),
		value: make([]float32, n), freq: make([]float32, n), length: make([]uint32, n), best: make([]uint8, n), tightest: make([]uint16, n), touched: docset.New(n), own: docset.New(n),
	}
	for i, p := range list {
		s.open[i] = newOpenLists(p)
		if len(p.Parts) > 0 && s.partial == nil {
			s.partial, s.parts = make([]uint64, n), make([]uint16, n)
		}
	}
	return s
}

// begin goes to the beginning of a segment.
func (sc *scores) begin() {
	sc.first, sc.end = 0, 0
	for i := range sc.open {
		sc.open[i].reset()
	}
}

// next goes to the next window of a segment with n documents, and reports whether
// there is one.
func (sc *scores) next(n int) bool {
	sc.first = sc.end
	sc.end = uint32(min(int(sc.first)+len(sc.score), n))
	return sc.first < sc.end
}

// An openList reads the postings of one term in a segment window by window.
type openList struct {
	open                 bool
	postings             segment.Postings // if open
	docs, freqs, lengths []uint32         // read but not yet returned
}

// in returns some postings in the window, in order; none if there are no more. They
// are valid until the next call.
func (c *openList) in(p *words.ResolvedQuery, sc *scores, seg *segmentState, term string) (docs, freqs, lengths []uint32, err error) {
	if !c.open {
		if c.postings, err = p.Postings(seg.number, seg.Segment, term); err != nil {
			return nil, nil, nil, err
		}
		c.open = true
	}
	if len(c.docs) == 0 {
		if c.docs, c.freqs, c.lengths = c.postings.NextBlock(); len(c.docs) == 0 {
			return nil, nil, nil, c.postings.Err()
		}
	}
	n := len(c.docs)
	if c.docs[n-1] >= sc.end {
		n, _ = slices.BinarySearch(c.docs, sc.end)
	}
	docs, freqs, lengths = c.docs[:n], c.freqs[:n], c.lengths[:n]
	c.docs, c.freqs, c.lengths = c.docs[n:], c.freqs[n:], c.lengths[n:]
	return docs, freqs, lengths, nil
}

// openLists are the open lists of one word of a plan.
type openLists struct {
	terms []openList
	parts [][]openList // for each part, its own list, those of its other spellings and those of words.ResolvedWord.WholesOf
}

func newOpenLists(p *words.ResolvedWord) openLists {
	c := openLists{make([]openList, len(p.Terms)), make([][]openList, len(p.Parts))}
	for i := range c.parts {
		c.parts[i] = make([]openList, len(p.SpellingsOf(i))+len(p.WholesOf(i)))
	}
	return c
}

func (c *openLists) reset() {
	clear(c.terms)
	for _, some := range c.parts {
		clear(some)
	}
}

func (sc *scores) addPart(i uint32, value float32) {
	if sc.parts[i] == 0 {
		sc.freq[i] = 0
		if sc.best[i] == 0 {
			sc.touched.Add(i)
		}
	}
	sc.parts[i]++
	sc.freq[i] += value
}
