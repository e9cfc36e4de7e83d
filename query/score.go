package query

import (
	"maps"
	"math"
	"slices"

	"pigrep/query/docset"
	"pigrep/query/syntax"
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

// scoreWord adds one word to the scores of a window.
func (s *searcher) scoreWord(sc *scores, seg *segment, p *plan) error {
	switch {
	case p.find != nil:
		s.scoreFound(sc, seg, p)
	case len(p.terms) == 1 && len(p.parts) == 0:
		return s.scoreTerm(sc, seg, p)
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
	for i := range sc.touched.All() {
		sc.seen.Add(i)
		if value := sc.value[i]; p.spell && sc.best[i] == tierExact+1 {
			seg.pending[p.index] = append(seg.pending[p.index], pending{sc.first + i, value, value * weightJoined})
		}
		if tier := sc.best[i]; tier > 0 {
			sc.mask[i] |= p.bit
			sc.tier[i] = max(sc.tier[i], tier-1)
		} else {
			sc.weak[i] |= p.bit
			sc.tier[i] = max(sc.tier[i], tierParts)
		}
		if p.scored {
			sc.score[i] += sc.value[i]
		}
		sc.value[i], sc.best[i] = 0, 0
	}
	clear(sc.touched)
	return nil
}

// scoreTerm is scoreTerms for a single term.
func (s *searcher) scoreTerm(sc *scores, seg *segment, p *plan) error {
	x := &p.terms[0]
	value := float32(0)
	if p.scored {
		value = float32(x.weight * x.idf)
	}
	for {
		docs, freqs, lengths, err := sc.open[p.index].terms[0].in(sc, seg, x.term)
		if len(docs) == 0 {
			return err
		}
		for k, doc := range docs {
			if !seg.allowed.Has(doc) {
				continue
			}
			i := doc - sc.first
			sc.seen.Add(i)
			sc.score[i] += value * s.tf(float32(freqs[k]), lengths[k])
			sc.mask[i] |= p.bit
			sc.tier[i] = max(sc.tier[i], x.tier)
		}
	}
}

// scoreTerms sets the values of the documents that have some of the terms.
func (s *searcher) scoreTerms(sc *scores, seg *segment, p *plan) error {
	for n := range p.terms {
		x := &p.terms[n]
		for {
			docs, freqs, lengths, err := sc.open[p.index].terms[n].in(sc, seg, x.term)
			if err != nil {
				return err
			}
			if len(docs) == 0 {
				break
			}
			for k, doc := range docs {
				if !seg.allowed.Has(doc) {
					continue
				}
				i := doc - sc.first
				if sc.best[i] == 0 {
					sc.best[i] = x.tier + 1
					sc.tightest[i] = uint16(n)
					sc.length[i] = lengths[k]
					sc.freq[i] = 0
					sc.touched.Add(i)
				}
				sc.freq[i] += float32(freqs[k]) * float32(min(1, x.weight/p.terms[sc.tightest[i]].weight))
			}
		}
	}
	for i := range sc.touched.All() {
		x := &p.terms[sc.tightest[i]]
		sc.value[i] = float32(x.weight*x.idf) * s.tf(sc.freq[i], sc.length[i])
	}
	return nil
}

// scoreParts raises the values of the documents that have parts of a compound.
func (s *searcher) scoreParts(sc *scores, seg *segment, p *plan) error {
	whole, among := p.whole[seg.number], seg.allowed
	if p.strict() {
		among = whole
		if whole.Part(sc.first, sc.end).Count() == 0 {
			return nil // what the lists have here is passed over in a later window
		}
	}
	for part := range p.parts {
		idf := float32(p.partIDF[part] / p.partSum)
		if len(sc.open[p.index].parts[part]) > 1 {
			if err := s.scoreSpellings(sc, seg, p, part, idf, among); err != nil {
				return err
			}
			continue
		}
		list := &sc.open[p.index].parts[part][0]
		for {
			docs, freqs, lengths, err := list.in(sc, seg, p.parts[part])
			if err != nil {
				return err
			}
			if len(docs) == 0 {
				break
			}
			freqs, lengths = freqs[:len(docs)], lengths[:len(docs)]
			for k, doc := range docs {
				if among.Has(doc) {
					sc.addPart(doc-sc.first, idf*s.tf(float32(freqs[k]), lengths[k]))
				}
			}
		}
	}
	for i := range sc.touched.All() {
		n := int(sc.parts[i])
		sc.parts[i] = 0
		switch {
		case n == len(p.parts):
			value := float32(weightParts*p.allIDF) * sc.freq[i]
			tier := tierParts
			if p.verify && !p.spell && whole.Has(sc.first+i) {
				whole := float32(p.wholeIDF) * sc.freq[i]
				seg.pending[p.index] = append(seg.pending[p.index], pending{sc.first + i, max(whole, sc.value[i]), max(value, sc.value[i])})
				value, tier = whole, tierExact
			}
			sc.value[i] = max(sc.value[i], value)
			if sc.best[i] == 0 || sc.best[i] > tier+1 {
				sc.best[i] = tier + 1
			}
		case n > 0:
			sc.value[i] = max(sc.value[i], float32(weightSome*p.allIDF)*sc.freq[i])
		}
	}
	return nil
}

// scoreSpellings scores a part that has several spellings as one term.
func (s *searcher) scoreSpellings(sc *scores, seg *segment, p *plan, part int, idf float32, among docset.Set) error {
	type have struct{ freq, length uint32 }
	found := map[uint32]have{}
	for n, term := range p.spellings(part) {
		for {
			docs, freqs, lengths, err := sc.open[p.index].parts[part][n].in(sc, seg, term)
			if err != nil {
				return err
			}
			if len(docs) == 0 {
				break
			}
			for k, doc := range docs {
				if among.Has(doc) {
					found[doc] = have{found[doc].freq + freqs[k], lengths[k]}
				}
			}
		}
	}
	for _, doc := range slices.Sorted(maps.Keys(found)) {
		sc.addPart(doc-sc.first, idf*s.tf(float32(found[doc].freq), found[doc].length))
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
func (w *word) strict() bool { return w.match == syntax.Phrase || w.find != nil || !w.scored || w.made }

// scoreFound adds the documents of which a filter.Text may be true to the scores of a
// window, all with the same value.
func (s *searcher) scoreFound(sc *scores, seg *segment, p *plan) {
	value := float32(p.allIDF)
	for i := range p.all[seg.number].Part(sc.first, sc.end).All() {
		doc := sc.first + i
		if !seg.allowed.Has(doc) {
			continue
		}
		sc.value[i], sc.best[i] = value, tierExact+1
		sc.touched.Add(i)
		seg.pending[p.index] = append(seg.pending[p.index], pending{doc, value, 0})
	}
}
