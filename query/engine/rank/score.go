package rank

import (
	"maps"
	"slices"

	"pigrep/query/engine/docset"
	"pigrep/query/engine/words"
)

// The score of a document is the sum over the words it matches of
//
//	emphasis · weight · idf · tf·(k1+1) / (tf + k1·(1 - b + b·length/average))
//
// This is BM25. emphasis is lower for words that say little (words.ResolvedWord), weight for
// looser matches. All counts are over live documents. For a word with several terms,
// tf is their sum, in which terms looser than the tightest one in the document count
// in proportion to their weight; idf is that of the most frequent term of the
// tightest tier.
//
// The sum is multiplied by a factor for how much of the query the document contains
// (covered), and by one between 1 and 1+recency for the age of its session.
//
// A compound scores like a word that occurs in the documents with all its parts. Its
// tf is the mean of the tf of its parts, weighted by their idf.
const (
	k1 = 1.2
	b  = 0.85
)

// scorer adds the words of a plan to the scores of windows of documents.
type scorer struct {
	plan         *words.ResolvedQuery
	norm0, norm1 float32 // length normalization: norm0 + norm1 · length
}

func newScorer(p *words.ResolvedQuery) scorer {
	return scorer{p, float32(k1 * (1 - b)), float32(k1 * b / p.Length)}
}

// tf is the saturating part of BM25. length is the number of tokens of the document.
func (s *scorer) tf(freq float32, length uint32) float32 {
	return freq * (k1 + 1) / (freq + s.norm0 + s.norm1*float32(length))
}

// scoreWord adds one word to the scores of a window.
func (s *scorer) scoreWord(sc *scores, seg *segmentState, p *words.ResolvedWord) error {
	switch {
	case p.Find != nil:
		s.scoreFound(sc, seg, p)
	case len(p.Terms) == 1 && len(p.Parts) == 0:
		return s.scoreTerm(sc, seg, p)
	case len(p.Terms) > 0:
		if err := s.scoreTerms(sc, seg, p); err != nil {
			return err
		}
		if len(p.Parts) == 0 {
			s.addTerms(sc, p)
			return nil
		}
		for i := range sc.touched.All() {
			sc.value[i] = s.valueOf(sc, p, i)
		}
	}
	if len(p.Parts) > 0 {
		if err := s.scoreParts(sc, seg, p); err != nil {
			return err
		}
	}
	sc.seen.Or(sc.touched)
	for i := range sc.touched.All() {
		if value := sc.value[i]; p.SpellingOnly && sc.best[i] == words.TierExact+1 {
			seg.pending[p.Index] = append(seg.pending[p.Index], pending{sc.first + i, value, value * words.WeightJoined, true})
		}
		if tier := sc.best[i]; tier > 0 {
			sc.mask[i] |= p.Bit
			sc.tier[i] = max(sc.tier[i], tier-1)
		} else {
			sc.partial[i] |= p.Bit
			sc.tier[i] = max(sc.tier[i], words.TierParts)
		}
		if p.Scored {
			sc.score[i] += sc.value[i]
		}
		sc.value[i], sc.best[i] = 0, 0
	}
	clear(sc.touched)
	return nil
}

// scoreTerm is the fast path for a word with a single term.
func (s *scorer) scoreTerm(sc *scores, seg *segmentState, p *words.ResolvedWord) error {
	x := &p.Terms[0]
	value := float32(0)
	if p.Scored {
		value = float32(p.Emphasis * x.Weight * x.IDF)
	}
	for {
		docs, freqs, lengths, err := sc.open[p.Index].terms[0].in(s.plan, sc, seg, x.Term)
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
			sc.mask[i] |= p.Bit
			sc.tier[i] = max(sc.tier[i], x.Tier)
		}
	}
}

// valueOf returns the value of a word with several terms in a document, after scoreTerms.
func (s *scorer) valueOf(sc *scores, p *words.ResolvedWord, i uint32) float32 {
	x := &p.Terms[sc.tightest[i]]
	return float32(p.Emphasis*x.Weight*x.IDF) * s.tf(sc.freq[i], sc.length[i])
}

// addTerms adds a word that has only terms to the scores, after scoreTerms.
func (s *scorer) addTerms(sc *scores, p *words.ResolvedWord) {
	sc.seen.Or(sc.touched)
	for i := range sc.touched.All() {
		sc.mask[i] |= p.Bit
		sc.tier[i] = max(sc.tier[i], sc.best[i]-1)
		if p.Scored {
			sc.score[i] += s.valueOf(sc, p, i)
		}
		sc.best[i] = 0
	}
	clear(sc.touched)
}

// scoreTerms finds the documents that contain any of the terms: the tightest, and how often
// they have them.
func (s *scorer) scoreTerms(sc *scores, seg *segmentState, p *words.ResolvedWord) error {
	for n := range p.Terms {
		x := &p.Terms[n]
		for {
			docs, freqs, lengths, err := sc.open[p.Index].terms[n].in(s.plan, sc, seg, x.Term)
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
					sc.best[i] = x.Tier + 1
					sc.tightest[i] = uint16(n)
					sc.length[i] = lengths[k]
					sc.freq[i] = float32(freqs[k])
					sc.touched.Add(i)
					continue
				}
				sc.freq[i] += float32(freqs[k]) * float32(min(1, x.Weight/p.Terms[sc.tightest[i]].Weight))
			}
		}
	}
	return nil
}

// scoreParts raises the values of the documents that contain parts of a compound. Those
// that contain all parts, but not the compound, get a bit of scores.partial.
func (s *scorer) scoreParts(sc *scores, seg *segmentState, p *words.ResolvedWord) error {
	whole, within, among := seg.whole[p.Index], p.Within[seg.number], seg.allowed
	if p.Strict() {
		among = whole
		if whole.Slice(sc.first, sc.end).Count() == 0 {
			return nil // the lists skip these postings in a later window
		}
	}
	for part := range p.Parts {
		if err := s.scorePart(sc, seg, p, part, among); err != nil {
			return err
		}
	}
	for i := range sc.touched.All() {
		n := int(sc.parts[i])
		sc.parts[i] = 0
		switch {
		case n == len(p.Parts):
			value := float32(words.WeightParts*p.AllIDF) * sc.freq[i]
			tier := words.TierParts
			switch {
			case p.Verify && !p.SpellingOnly && whole.Has(sc.first+i):
				whole := float32(p.WholeIDF) * sc.freq[i]
				seg.pending[p.Index] = append(seg.pending[p.Index], pending{sc.first + i, max(whole, sc.value[i]), max(value, sc.value[i]), sc.best[i] > 0})
				value, tier = whole, words.TierExact
			case sc.best[i] == 0 && p.PartsAlone() && (within == nil || !within.Has(sc.first+i)):
				sc.partial[i] |= p.Bit
			}
			sc.value[i] = max(sc.value[i], value)
			if sc.best[i] == 0 || sc.best[i] > tier+1 {
				sc.best[i] = tier + 1
			}
		case n > 0:
			sc.value[i] = max(sc.value[i], float32(words.WeightSome*p.AllIDF)*sc.freq[i])
		}
	}
	return nil
}

// scorePart scores one part of a compound in the documents among which it is looked for.
// Those that have only an identifier with the part, in another case, count as having it:
// github for GitHub.
func (s *scorer) scorePart(sc *scores, seg *segmentState, p *words.ResolvedWord, part int, among docset.Set) error {
	idf := float32(p.PartIDF[part] / p.PartSum)
	if len(p.SpellingsOf(part)) > 1 {
		return s.scoreSpellings(sc, seg, p, part, idf, among)
	}
	wholes := p.WholesOf(part)
	if len(wholes) > 0 {
		clear(sc.own)
	}
	for n := range 1 + len(wholes) {
		term := p.Parts[part]
		if n > 0 {
			term = wholes[n-1]
		}
		for {
			docs, freqs, lengths, err := sc.open[p.Index].parts[part][n].in(s.plan, sc, seg, term)
			if err != nil {
				return err
			}
			if len(docs) == 0 {
				break
			}
			freqs, lengths = freqs[:len(docs)], lengths[:len(docs)]
			for k, doc := range docs {
				if !among.Has(doc) || len(wholes) > 0 && !sc.take(doc-sc.first) {
					continue
				}
				sc.addPart(doc-sc.first, idf*s.tf(float32(freqs[k]), lengths[k]))
			}
		}
	}
	return nil
}

// take reports whether a document has no value of this part yet.
func (sc *scores) take(i uint32) bool {
	if sc.own.Has(i) {
		return false
	}
	sc.own.Add(i)
	return true
}

// scoreSpellings scores a part that has several spellings as one term.
func (s *scorer) scoreSpellings(sc *scores, seg *segmentState, p *words.ResolvedWord, part int, idf float32, among docset.Set) error {
	type have struct{ freq, length uint32 }
	found := map[uint32]have{}
	for n, term := range p.SpellingsOf(part) {
		for {
			docs, freqs, lengths, err := sc.open[p.Index].parts[part][n].in(s.plan, sc, seg, term)
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

// pending is a document that may contain a compound whole, with the value of the
// compound if it does, and if it contains only the parts. other says that it contains the
// compound in another spelling at least.
type pending struct {
	doc          uint32
	whole, parts float32
	other        bool
}

// scoreFound adds the documents for which a filter.TextTest may be true to the scores
// of a window, all with the same value.
func (s *scorer) scoreFound(sc *scores, seg *segmentState, p *words.ResolvedWord) {
	value := float32(p.AllIDF)
	for i := range p.All[seg.number].Slice(sc.first, sc.end).All() {
		doc := sc.first + i
		if !seg.allowed.Has(doc) {
			continue
		}
		sc.value[i], sc.best[i] = value, words.TierExact+1
		sc.touched.Add(i)
		seg.pending[p.Index] = append(seg.pending[p.Index], pending{doc, value, 0, false})
	}
}
