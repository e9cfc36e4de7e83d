package rank

import (
	"iter"
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

// scores has the scores and matches of the documents of one window of a segment; index i is
// document first+i.
type scores struct {
	plan         *words.ResolvedQuery
	norm0, norm1 float32     // length normalization: norm0 + norm1 · length
	open         []openLists // of each word

	seg   *segmentState
	first uint32 // a multiple of 64
	end   uint32 // the document after the window

	seen    docset.Set // documents with a value in any of the slices below
	score   []float32
	mask    []uint64 // words that match
	partial []uint64 // compounds of which only parts match, as in Candidate; nil if the query has no compounds
	tier    []uint8  // the loosest tier of any word
	class   []uint16 // the ways of the words, at their places

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

func newScores(n int, p *words.ResolvedQuery) *scores {
	s := &scores{
		plan: p, norm0: float32(k1 * (1 - b)), norm1: float32(k1 * b / p.Length),
		seen: docset.New(n), score: make([]float32, n), mask: make([]uint64, n), tier: make([]uint8, n), class: make([]uint16, n),
		value: make([]float32, n), freq: make([]float32, n), length: make([]uint32, n), best: make([]uint8, n), tightest: make([]uint16, n), touched: docset.New(n), own: docset.New(n),
	}
	for _, w := range p.Words {
		s.open = append(s.open, newOpenLists(w))
		if s.partial == nil && (len(w.Parts) > 0 || len(w.Terms) > 0 && w.Terms[len(w.Terms)-1].Tier >= w.Loosely || slices.ContainsFunc(w.Terms, isNamed)) {
			s.partial, s.parts = make([]uint64, n), make([]uint16, n)
		}
	}
	return s
}

func isNamed(x words.Expansion) bool { return x.Names > 0 }

// begin goes to the beginning of a segment.
func (s *scores) begin(seg *segmentState) {
	s.seg, s.first, s.end = seg, 0, 0
	for i := range s.open {
		s.open[i].reset()
	}
}

// next goes to the next window of the segment, and reports whether there is one.
func (s *scores) next() bool {
	s.first = s.end
	s.end = uint32(min(int(s.first)+len(s.score), s.seg.Len()))
	return s.first < s.end
}

// A block is some postings of a term.
type block struct{ docs, freqs, lengths []uint32 }

// take cuts the first n postings off.
func (b *block) take(n int) block {
	first := block{b.docs[:n], b.freqs[:n], b.lengths[:n]}
	*b = block{b.docs[n:], b.freqs[n:], b.lengths[n:]}
	return first
}

// An openList reads the postings of one term in a segment window by window.
type openList struct {
	term     string
	hasNames bool // of arguments, with the term
	open     bool
	postings segment.Postings // if open
	named    docset.Set       // if open: documents that have it only in names of arguments
	rest     block            // read but not yet visited
}

// blocks visits the postings in the window, in order.
func (l *openList) blocks(s *scores) iter.Seq[block] {
	return func(yield func(block) bool) {
		for b := l.next(s); len(b.docs) > 0 && yield(b); b = l.next(s) {
		}
	}
}

// next returns the next postings in the window; none if there are no more.
func (l *openList) next(s *scores) block {
	if !l.open {
		l.open, l.postings = true, s.plan.Postings(s.seg.number, s.seg.Segment, l.term)
		if l.hasNames {
			l.named = docset.New(s.seg.Len())
			s.plan.MarkNamed(s.seg.number, s.seg.Segment, l.term, l.named)
		}
	}
	if len(l.rest.docs) == 0 {
		l.rest.docs, l.rest.freqs, l.rest.lengths = l.postings.NextBlock()
	}
	n := len(l.rest.docs)
	if n > 0 && l.rest.docs[n-1] >= s.end {
		n, _ = slices.BinarySearch(l.rest.docs, s.end)
	}
	return l.rest.take(n)
}

// openLists are the open lists of one word of a plan.
type openLists struct {
	terms []openList
	parts [][]openList // for each part: of its spellings or, if it has one, also of words.ResolvedWord.WholesOf
}

func newOpenLists(p *words.ResolvedWord) openLists {
	c := openLists{make([]openList, len(p.Terms)), make([][]openList, len(p.Parts))}
	for i, x := range p.Terms {
		c.terms[i].term, c.terms[i].hasNames = x.Term, x.Names > 0
	}
	for i := range c.parts {
		terms := p.SpellingsOf(i)
		if len(terms) == 1 {
			terms = p.TermsOf(i)
		}
		for _, t := range terms {
			c.parts[i] = append(c.parts[i], openList{term: t})
		}
	}
	return c
}

func (c *openLists) reset() {
	for _, lists := range append(c.parts, c.terms) {
		for i := range lists {
			lists[i] = openList{term: lists[i].term, hasNames: lists[i].hasNames}
		}
	}
}
