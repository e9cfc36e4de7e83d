package query

import (
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/query/docset"
	"pigrep/query/match"
	"pigrep/query/syntax"
)

// A term is what is known of a term of the index.
type term struct {
	df int           // live documents that have it
	at []index.Place // by segment
}

// df counts the live documents that have the term.
func (s *searcher) df(t string) (int, error) {
	if s.terms[t] == nil {
		if err := s.count(t); err != nil {
			return 0, err
		}
	}
	return s.terms[t].df, nil
}

// count is df for several terms, on all cores: they are known from then on.
func (s *searcher) count(terms ...string) error {
	n := s.newCount(terms)
	if len(n.terms) == 0 {
		return nil
	}
	err := s.eachSegment(func(seg *segment) error {
		_, err := n.in(seg)
		return err
	})
	if err != nil {
		return err
	}
	s.know(n)
	return nil
}

// A termCount counts the documents that have some terms.
type termCount struct {
	terms []string
	known []term
	dfs   []atomic.Int64
}

// newCount makes a termCount of those of the terms that are not known.
func (s *searcher) newCount(terms []string) *termCount {
	terms = slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return s.terms[t] != nil })
	n := &termCount{terms, make([]term, len(terms)), make([]atomic.Int64, len(terms))}
	places := make([]index.Place, len(terms)*len(s.segs))
	for i := range n.known {
		n.known[i].at, places = places[:len(s.segs)], places[len(s.segs):]
	}
	return n
}

// in counts in a segment, and returns the counts.
func (n *termCount) in(seg *segment) (counts []int, err error) {
	counts = make([]int, len(n.terms))
	for i, t := range n.terms {
		at, err := seg.Place(index.FieldText, []byte(t))
		if err != nil {
			return nil, err
		}
		if counts[i], err = seg.CountAt(at); err != nil {
			return nil, err
		}
		n.known[i].at[seg.number] = at
		n.dfs[i].Add(int64(counts[i]))
	}
	return counts, nil
}

// know takes up what was counted in all segments.
func (s *searcher) know(n *termCount) {
	for i, t := range n.terms {
		n.known[i].df = int(n.dfs[i].Load())
		s.terms[t] = &n.known[i]
	}
}

// place returns where the postings of a term are, which is known once it is counted.
func (seg *segment) place(t string) (index.Place, error) {
	if known := seg.terms[t]; known != nil {
		return known.at[seg.number], nil
	}
	return seg.Place(index.FieldText, []byte(t))
}

// postings returns the documents of a segment that have a term.
func (seg *segment) postings(t string) (*index.Postings, error) {
	at, err := seg.place(t)
	if err != nil {
		return nil, err
	}
	return seg.PostingsAt(at)
}

// mark adds the documents of a segment that have a term to a set.
func (seg *segment) mark(t string, set docset.Set) error {
	at, err := seg.place(t)
	if err != nil {
		return err
	}
	return seg.Mark(at, set)
}

// A plan says how a word is scored: what it stands for in the whole index.
type plan struct {
	*word
	index int
	bit   uint64
	terms []expansion
	worth float64 // idf of the word, 0 when nothing has it or it is only left out

	partIDF          []float64
	partSum          float64
	allIDF, wholeIDF float64           // of the documents with all parts; and those that may have them together
	all              []docset.Set      // of a field that the text decides about: where it may be true
	whole            []docset.Set      // documents that may have all parts together
	raw              *match.JSONNeedle // of the needle; nil when it cannot be looked for in JSON

	allCount, wholeCount atomic.Int64 // of documents
}

// mostMapped is of how many terms what is read to look them up stays mapped with what
// is read afterwards.
const mostMapped = 8

// prepare looks up what the words stand for, and which documents the filters let
// through. What that takes of a segment is read in one go, as far as it does not
// depend on what other segments have.
func (s *searcher) prepare() error {
	for i, w := range s.words {
		s.plans = append(s.plans, s.newPlan(w, i))
	}
	terms := s.newCount(s.lookups())
	s.longer = s.newLonger()
	ids := s.newIDs()
	err := s.eachSegment(func(seg *segment) (err error) {
		if seg.number == 0 {
			seg.MayBeCopy() // reads it for all
		}
		if seg.files, err = seg.Files(); err != nil {
			return err
		}
		counts, err := terms.in(seg)
		if err != nil {
			return err
		}
		for word, l := range s.longer {
			i, _ := slices.BinarySearch(terms.terms, word)
			if err := l.in(seg, word, counts[i], len(s.segs)); err != nil {
				return err
			}
		}
		if len(terms.terms) > mostMapped {
			seg.Trim()
		}
		for _, p := range s.plans {
			if err := p.in(seg); err != nil {
				return err
			}
		}
		if err := ids.in(seg); err != nil {
			return err
		}
		return s.filter(seg)
	})
	if err != nil {
		return err
	}
	s.know(terms)
	for _, seg := range s.segs {
		seg.copied = seg.MayBeCopy()
	}
	for _, p := range s.plans {
		if err := s.complete(p); err != nil {
			return err
		}
		s.worth += p.worth
	}
	return s.findIDs(ids)
}

// A longerTerms is the terms that begin with a word and go on. They are listed with
// the look-up of the word as long as the word may be rare: only then they are asked
// for.
type longerTerms struct {
	last bool // the word is the last one that was typed

	mu    sync.Mutex
	left  bool // there are others, or it is not known
	terms map[string]*term
}

func (s *searcher) newLonger() map[string]*longerTerms {
	list := map[string]*longerTerms{}
	for _, w := range s.words {
		if w.loose && utf8.RuneCountInString(w.term) >= minPrefix {
			list[w.term] = &longerTerms{last: w.last, terms: map[string]*term{}}
		}
	}
	return list
}

// in lists the terms of a segment, one of so many, in which so many documents have
// the word.
func (l *longerTerms) in(seg *segment, word string, count, segments int) error {
	left := count >= rarePrefix && (!l.last || count*segments >= lastPrefix)
	if left {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.left = true
		return nil
	}
	var terms []string
	err := seg.Terms(index.FieldText, []byte(word), func(term []byte, _ int) bool {
		if len(term) > len(word) {
			terms = append(terms, string(term))
			left = len(terms) > fewTerms
		}
		return !left
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = l.left || left
	if l.left {
		return nil
	}
	for _, t := range terms {
		at, err := seg.Place(index.FieldText, []byte(t))
		if err != nil {
			return err
		}
		docs, err := seg.CountAt(at)
		if err != nil {
			return err
		}
		known := l.terms[t]
		if known == nil {
			known = &term{at: make([]index.Place, segments)}
			l.terms[t] = known
		}
		known.df += docs
		known.at[seg.number] = at
	}
	return nil
}

// lookups returns all terms that the words stand for whatever the index has.
func (s *searcher) lookups() []string {
	var terms []string
	for _, w := range s.words {
		if w.term != "" {
			terms = append(append(terms, w.term), w.terms...)
		}
		if w.term != "" && w.loose {
			terms = append(terms, forms(w.term)...)
		}
		terms = append(append(terms, w.parts...), w.wholes...)
		terms = append(terms, slices.Concat(w.partsToo...)...)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

func (s *searcher) newPlan(w *word, i int) *plan {
	p := &plan{word: w, index: i, bit: 1 << i, all: make([]docset.Set, len(s.segs)), whole: make([]docset.Set, len(s.segs))}
	if w.verify && w.find == nil {
		p.raw = match.NewJSONNeedle(&w.needle)
	}
	return p
}

// in looks up which documents of a segment may have the word whole.
func (p *plan) in(seg *segment) error {
	switch {
	case p.find != nil:
		docs, err := p.find.Docs(seg.Segment)
		if err == nil && docs == nil {
			docs, err = docset.Live(seg.Segment)
		}
		p.all[seg.number] = docs
		p.allCount.Add(int64(docs.Count()))
		return err
	case len(p.parts) > 0:
		docs, err := docset.Conjunction(seg.Len(), len(p.parts), p.spellings, seg.mark)
		if err != nil {
			return err
		}
		p.allCount.Add(int64(docs.Count()))
		if len(p.wholes) > 0 {
			wholes, err := docset.Conjunction(seg.Len(), len(p.wholes), docset.OneSpelling(p.wholes), seg.mark)
			if err != nil {
				return err
			}
			docs.And(wholes)
		}
		p.wholeCount.Add(int64(docs.Count()))
		p.whole[seg.number] = docs
	}
	return nil
}

// complete looks up what depends on the whole index.
func (s *searcher) complete(p *plan) error {
	var err error
	if p.terms, err = s.expansions(p.word); err != nil {
		return err
	}
	if len(p.terms) > 0 && p.scored {
		p.worth = p.terms[0].idf
	}
	if p.find != nil {
		p.allIDF = s.idf(int(p.allCount.Load()))
		p.wholeIDF = p.allIDF
		if p.scored {
			p.worth = p.allIDF
		}
		return nil
	}
	if len(p.parts) == 0 {
		return nil
	}
	if p.made {
		if err := s.eachSegment(p.in); err != nil {
			return err
		}
	}
	p.allIDF, p.wholeIDF = s.idf(int(p.allCount.Load())), s.idf(int(p.wholeCount.Load()))
	if p.scored && p.worth == 0 {
		p.worth = p.allIDF
	}
	for i := range p.parts {
		df := 0
		for _, t := range p.spellings(i) {
			more, err := s.df(t)
			if err != nil {
				return err
			}
			df += more
		}
		idf := s.idf(min(df, int(s.documents)))
		p.partIDF = append(p.partIDF, idf)
		p.partSum += idf
	}
	return nil
}

// spellings returns the terms that a part stands for.
func (w *word) spellings(part int) []string {
	if w.partsToo == nil {
		return w.parts[part : part+1]
	}
	return append(w.parts[part:part+1:part+1], w.partsToo[part]...)
}

// targets returns the words of plans as a text is searched for them, a word each.
func targets(plans []*plan) []match.Word {
	list := make([]match.Word, len(plans))
	for i, p := range plans {
		if !p.scored {
			continue
		}
		t := &list[i]
		t.Typed = analysis.Fold(syntax.TrimProse(p.text))
		t.Weight = max(1, p.wholeIDF)
		switch {
		case p.find != nil:
			t.Find = p.find.Spans
		case p.verify && !p.spell:
			t.Needle = &p.needle
		}
		for _, x := range p.terms {
			t.Terms = append(t.Terms, match.Term{Text: x.term, Part: -1, Weight: x.weight * x.idf})
		}
		if p.match == syntax.Phrase && p.verify {
			continue
		}
		for k := range p.parts {
			weight := weightSome * p.allIDF * p.partIDF[k] / p.partSum
			for _, s := range p.spellings(k) {
				t.Terms = append(t.Terms, match.Term{Text: s, Part: k, Weight: weight})
			}
		}
	}
	return list
}
