package query

import (
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index"
)

// The score of a document is the sum over the words it matches of
//
//	weight · idf · (lowest + tf·(k1+1) / (tf + k1·(1 - b + b·length/average)))
//
// (BM25+: without lowest a rare word would count for nothing in a text that is
// much longer than the average, and one that lacks it stand above), where weight says how tightly the word matched, and everything that is
// counted is counted over live documents. For a word with several terms, tf is
// the sum over them, those that match less tightly than the best one in the
// document counted in proportion; idf is that of the most frequent term that
// matches as tightly.
//
// The sum is then multiplied by a factor between 1-coverage and 1 for how much of
// the query the document has, and by one between 1 and 1+recency for the age of
// its session.
//
// A compound is worth what a word with its number of documents would be: its idf
// is that of the documents that have all parts, and its tf part is the mean of
// those of its parts, weighted by their idf.
const (
	k1     = 1.2
	b      = 0.75
	lowest = 1
)

func (s *searcher) idf(df int) float64 {
	return math.Log(1 + (s.documents-float64(df)+0.5)/(float64(df)+0.5))
}

// tf is the saturating part of BM25+. length is the tokens of the document.
func (s *searcher) tf(freq float32, length uint32) float32 {
	return lowest + freq*(k1+1)/(freq+s.norm0+s.norm1*float32(length))
}

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
	terms = slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return s.terms[t] != nil })
	if len(terms) == 0 {
		return nil
	}
	places := make([]index.Place, len(terms)*len(s.segs))
	dfs := make([]atomic.Int64, len(terms))
	err := s.eachSegment(func(seg *segment) error {
		for i, t := range terms {
			at, err := seg.Place(index.FieldText, []byte(t))
			if err != nil {
				return err
			}
			n, err := seg.CountAt(at)
			if err != nil {
				return err
			}
			places[i*len(s.segs)+seg.number] = at
			dfs[i].Add(int64(n))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, t := range terms {
		s.terms[t] = &term{int(dfs[i].Load()), places[i*len(s.segs) : (i+1)*len(s.segs)]}
	}
	return nil
}

// countWords counts all terms that the words stand for whatever the index has, so
// that each segment is gone through once.
func (s *searcher) countWords() error {
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
	return s.count(slices.Compact(terms)...)
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

// bitmap is postings as a bitmap of the caller's.
func (seg *segment) bitmap(t string) (*roaring.Bitmap, error) {
	at, err := seg.place(t)
	if err != nil {
		return nil, err
	}
	return seg.BitmapAt(at)
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
	all              []*roaring.Bitmap // of a field that the text decides about: where it may be true
	whole            []*roaring.Bitmap // documents that may have all parts together
	raw              *rawNeedle        // of the needle; nil when it cannot be looked for in JSON
}

// plan looks up what a word stands for.
func (s *searcher) plan(w *word, i int) (*plan, error) {
	p := &plan{word: w, index: i, bit: 1 << i}
	var err error
	if p.terms, err = s.expansions(w); err != nil {
		return nil, err
	}
	if len(p.terms) > 0 && w.scored {
		p.worth = p.terms[0].idf
	}
	if w.find != nil {
		return p, s.planFound(p)
	}
	if w.verify {
		p.raw = newRawNeedle(&w.needle)
	}
	if len(w.parts) == 0 {
		return p, nil
	}
	if err := s.count(slices.Concat(slices.Concat(w.partsToo...), w.parts, w.wholes)...); err != nil {
		return nil, err
	}
	var all, whole atomic.Int64
	p.whole = make([]*roaring.Bitmap, len(s.segs))
	err = s.eachSegment(func(seg *segment) error {
		docs, err := conjunction(seg, w.parts, w.partsToo)
		if err != nil {
			return err
		}
		all.Add(int64(docs.GetCardinality()))
		if len(w.wholes) > 0 {
			wholes, err := conjunction(seg, w.wholes, nil)
			if err != nil {
				return err
			}
			wholes.And(docs)
			docs = wholes
		}
		p.whole[seg.number] = docs
		whole.Add(int64(docs.GetCardinality()))
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.allIDF, p.wholeIDF = s.idf(int(all.Load())), s.idf(int(whole.Load()))
	if w.scored && p.worth == 0 {
		p.worth = p.allIDF
	}
	for i, part := range w.parts {
		df, err := s.df(part)
		if err != nil {
			return nil, err
		}
		if w.partsToo != nil {
			for _, o := range w.partsToo[i] {
				more, err := s.df(o)
				if err != nil {
					return nil, err
				}
				df += more
			}
			df = min(df, int(s.documents))
		}
		p.partIDF = append(p.partIDF, s.idf(df))
		p.partSum += s.idf(df)
	}
	return p, nil
}

// planFound looks up where a field that the text decides about may be true.
func (s *searcher) planFound(p *plan) error {
	all := 0
	for _, seg := range s.segs {
		docs, err := p.find.docs(s, seg)
		if err == nil && docs == nil {
			docs, err = seg.live()
		}
		if err != nil {
			return err
		}
		p.all = append(p.all, docs)
		all += int(docs.GetCardinality())
	}
	p.allIDF = s.idf(all)
	p.wholeIDF = p.allIDF
	if p.scored {
		p.worth = p.allIDF
	}
	return nil
}

// conjunction returns the documents that have all terms, or for each another
// spelling of it.
func conjunction(seg *segment, terms []string, others [][]string) (*roaring.Bitmap, error) {
	var docs *roaring.Bitmap
	for i, term := range terms {
		d, err := seg.bitmap(term)
		if err != nil {
			return nil, err
		}
		if others != nil {
			for _, o := range others[i] {
				more, err := seg.bitmap(o)
				if err != nil {
					return nil, err
				}
				d.Or(more)
			}
		}
		if docs == nil {
			docs = d
		} else {
			docs.And(d)
		}
		if docs.IsEmpty() {
			break
		}
	}
	return docs, nil
}

// scores holds what is known of the documents of one segment.
type scores struct {
	seen  bitset // documents with anything in what follows
	score []float32
	mask  []uint64 // words that match
	weak  []uint64 // compounds of which some parts match; nil when the query has none
	tier  []uint8  // the loosest of the words

	// Of the word that is being scored.
	value   []float32
	freq    []float32 // for a word by its parts: the mean of their tf
	length  []uint32
	parts   []uint16
	first   []uint16 // of the terms: the one that matches tightest
	best    []uint8  // the tightest tier, and one more so that 0 is none
	touched bitset
}

func newScores(n int, compounds bool) *scores {
	s := &scores{
		seen: newBitset(n), score: make([]float32, n), mask: make([]uint64, n), tier: make([]uint8, n),
		value: make([]float32, n), freq: make([]float32, n), length: make([]uint32, n), best: make([]uint8, n), first: make([]uint16, n), touched: newBitset(n),
	}
	if compounds {
		s.weak, s.parts = make([]uint64, n), make([]uint16, n)
	}
	return s
}

// scoreWord adds one word to the scores of a segment.
func (s *searcher) scoreWord(sc *scores, seg *segment, p *plan) error {
	switch {
	case p.find != nil:
		s.scoreFound(sc, seg, p)
	case len(p.terms) == 1 && len(p.parts) == 0:
		return s.scoreTerm(sc, seg, p, &p.terms[0])
	case len(p.terms) > 0:
		if err := s.scoreTerms(sc, seg, p); err != nil {
			return err
		}
	}
	if len(p.parts) > 0 {
		if err := s.scoreParts(sc, seg, p); err != nil {
			return err
		}
	}
	for doc := range sc.touched.all() {
		sc.seen.add(doc)
		if value := sc.value[doc]; p.spell && sc.best[doc] == tierExact+1 {
			seg.pending[p.index] = append(seg.pending[p.index], pending{doc, value, value * weightJoined})
		}
		if tier := sc.best[doc]; tier > 0 {
			sc.mask[doc] |= p.bit
			sc.tier[doc] = max(sc.tier[doc], tier-1)
		} else {
			sc.weak[doc] |= p.bit
			sc.tier[doc] = max(sc.tier[doc], tierParts)
		}
		if p.scored {
			sc.score[doc] += sc.value[doc]
		}
		sc.value[doc], sc.best[doc] = 0, 0
	}
	clear(sc.touched)
	return nil
}

// scoreTerm is scoreTerms for a single term.
func (s *searcher) scoreTerm(sc *scores, seg *segment, p *plan, x *expansion) error {
	postings, err := seg.postings(x.term)
	if err != nil {
		return err
	}
	value := float32(0)
	if p.scored {
		value = float32(x.weight * x.idf)
	}
	for {
		doc, freq, length, ok := postings.Next()
		if !ok {
			return postings.Err()
		}
		if !seg.allowed.has(doc) {
			continue
		}
		sc.seen.add(doc)
		sc.score[doc] += value * s.tf(float32(freq), length)
		sc.mask[doc] |= p.bit
		sc.tier[doc] = max(sc.tier[doc], x.tier)
	}
}

// scoreTerms sets the values of the documents that have some of the terms.
func (s *searcher) scoreTerms(sc *scores, seg *segment, p *plan) error {
	for i := range p.terms {
		x := &p.terms[i]
		postings, err := seg.postings(x.term)
		if err != nil {
			return err
		}
		for {
			doc, freq, length, ok := postings.Next()
			if !ok {
				break
			}
			if !seg.allowed.has(doc) {
				continue
			}
			if sc.best[doc] == 0 {
				sc.best[doc] = x.tier + 1
				sc.first[doc] = uint16(i)
				sc.length[doc] = length
				sc.freq[doc] = 0
				sc.touched.add(doc)
			}
			sc.freq[doc] += float32(freq) * float32(min(1, x.weight/p.terms[sc.first[doc]].weight))
		}
		if err := postings.Err(); err != nil {
			return err
		}
	}
	for doc := range sc.touched.all() {
		x := &p.terms[sc.first[doc]]
		sc.value[doc] = float32(x.weight*x.idf) * s.tf(sc.freq[doc], sc.length[doc])
	}
	return nil
}

// scoreParts raises the values of the documents that have parts of a compound.
func (s *searcher) scoreParts(sc *scores, seg *segment, p *plan) error {
	whole := newBitset(seg.Len())
	whole.set(p.whole[seg.number], true)
	among := seg.allowed
	if p.strict() {
		if among = whole; seg.allowed != nil {
			whole.and(seg.allowed)
		}
	}
	for i, part := range p.parts {
		if p.strict() && p.whole[seg.number].IsEmpty() {
			break
		}
		idf := float32(p.partIDF[i] / p.partSum)
		if p.partsToo != nil && len(p.partsToo[i]) > 0 {
			if err := s.scoreSpellings(sc, seg, p, i, idf, among); err != nil {
				return err
			}
			continue
		}
		postings, err := seg.postings(part)
		if err != nil {
			return err
		}
		for {
			doc, freq, length, ok := postings.Next()
			if !ok {
				break
			}
			if !among.has(doc) {
				continue
			}
			if sc.parts[doc] == 0 {
				sc.freq[doc] = 0
				if sc.best[doc] == 0 {
					sc.touched.add(doc)
				}
			}
			sc.parts[doc]++
			sc.freq[doc] += idf * s.tf(float32(freq), length)
		}
		if err := postings.Err(); err != nil {
			return err
		}
	}
	for doc := range sc.touched.all() {
		n := int(sc.parts[doc])
		sc.parts[doc] = 0
		switch {
		case n == len(p.parts):
			value := float32(weightParts*p.allIDF) * sc.freq[doc]
			tier := tierParts
			if p.verify && !p.spell && whole.has(doc) {
				whole := float32(p.wholeIDF) * sc.freq[doc]
				seg.pending[p.index] = append(seg.pending[p.index], pending{doc, max(whole, sc.value[doc]), max(value, sc.value[doc])})
				value, tier = whole, tierExact
			}
			sc.value[doc] = max(sc.value[doc], value)
			if sc.best[doc] == 0 || sc.best[doc] > tier+1 {
				sc.best[doc] = tier + 1
			}
		case n > 0:
			sc.value[doc] = max(sc.value[doc], float32(weightSome*p.allIDF)*sc.freq[doc])
		}
	}
	return nil
}

// scoreSpellings scores a part that has several spellings as one term.
func (s *searcher) scoreSpellings(sc *scores, seg *segment, p *plan, i int, idf float32, among bitset) error {
	type have struct{ freq, length uint32 }
	docs := map[uint32]have{}
	for _, term := range append([]string{p.parts[i]}, p.partsToo[i]...) {
		postings, err := seg.postings(term)
		if err != nil {
			return err
		}
		for {
			doc, freq, length, ok := postings.Next()
			if !ok {
				break
			}
			if among.has(doc) {
				docs[doc] = have{docs[doc].freq + freq, length}
			}
		}
		if err := postings.Err(); err != nil {
			return err
		}
	}
	for _, doc := range slices.Sorted(maps.Keys(docs)) {
		if sc.parts[doc] == 0 {
			sc.freq[doc] = 0
			if sc.best[doc] == 0 {
				sc.touched.add(doc)
			}
		}
		sc.parts[doc]++
		sc.freq[doc] += idf * s.tf(float32(docs[doc].freq), docs[doc].length)
	}
	return nil
}

// pending is a document that may have a compound whole, and what the compound is
// worth in it if it has, and if it has not.
type pending struct {
	doc          uint32
	whole, parts float32
}

// strict reports whether the parts alone are nothing: what is quoted, what is to
// be left out, and what may be two words.
func (w *word) strict() bool { return w.match == Phrase || w.find != nil || !w.scored || w.made }
