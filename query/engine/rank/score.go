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

	looselyShare = 0.02 // share of the value of a word that a document has only loosely, while others have it in a tighter way
)

// tf is the saturating part of BM25. length is the number of tokens of the document.
func (s *scores) tf(freq float32, length uint32) float32 {
	return freq * (k1 + 1) / (freq + s.norm0 + s.norm1*float32(length))
}

// addWord adds one word to the scores of the window.
func (s *scores) addWord(p *words.ResolvedWord) {
	switch {
	case p.Find != nil:
		s.findWord(p)
	case len(p.Terms) == 1 && len(p.Parts) == 0 && p.Terms[0].Names == 0:
		s.addTerm(p)
		return
	default:
		s.findTerms(p)
		s.findParts(p)
	}
	s.seen.Or(s.touched)
	for i := range s.touched.All() {
		if value := s.value[i]; p.SpellingOnly && s.best[i] == words.TierExact+1 {
			s.hold(p, pending{s.first + i, value, value * words.WeightJoined, true})
		}
		value := s.value[i]
		switch tier := s.best[i]; {
		case tier == 0:
			s.partial[i] |= p.Bit
			s.tier[i] = max(s.tier[i], words.TierParts)
		case tier > p.Loosely:
			s.partial[i] |= p.Bit
			if tier == words.TierName+1 {
				s.partial[i] |= p.ByName
			}
			value *= looselyShare
			fallthrough
		default:
			if tier <= p.Loosely {
				s.mask[i] |= p.Bit
			}
			s.tier[i] = max(s.tier[i], tier-1)
			if way := p.WayOf(tier - 1); way > 0 && p.Place >= 0 {
				s.class[i] |= way << p.Place
			}
		}
		if p.Scored {
			s.score[i] += value
		}
		s.value[i], s.best[i] = 0, 0
	}
	clear(s.touched)
}

// addTerm is addWord for a word that is a single term, as most are.
func (s *scores) addTerm(p *words.ResolvedWord) {
	x, value := &p.Terms[0], float32(0)
	if p.Scored {
		value = float32(p.Emphasis * x.Weight * x.IDF)
	}
	way := words.Way(0)
	if p.Place >= 0 {
		way = p.WayOf(x.Tier) << p.Place
	}
	for of := range s.open[p.Index].terms[0].blocks(s) {
		for k, doc := range of.docs {
			if s.seg.allowed.Has(doc) {
				i := doc - s.first
				s.seen.Add(i)
				s.score[i] += value * s.tf(float32(of.freqs[k]), of.lengths[k])
				s.mask[i] |= p.Bit
				s.tier[i] = max(s.tier[i], x.Tier)
				s.class[i] |= way
			}
		}
	}
}

// findTerms finds the documents that contain any of the terms: the tightest, how often they
// have them, and what that is worth.
func (s *scores) findTerms(p *words.ResolvedWord) {
	for n := range p.Terms {
		x := &p.Terms[n]
		for of := range s.open[p.Index].terms[n].blocks(s) {
			for k, doc := range of.docs {
				if !s.seg.allowed.Has(doc) {
					continue
				}
				i, freq := doc-s.first, float32(of.freqs[k])
				named := x.Names > 0 && s.open[p.Index].terms[n].named.Has(doc)
				switch {
				case named && !p.Scored:
					continue
				case s.best[i] == 0 || s.best[i] == words.TierName+1 && !named:
					s.best[i], s.tightest[i] = x.Tier+1, uint16(n)
					if named {
						s.best[i] = words.TierName + 1
					}
					s.freq[i], s.length[i] = freq, of.lengths[k]
					s.touched.Add(i)
				case named:
				default:
					s.freq[i] += freq * float32(min(1, x.Weight/p.Terms[s.tightest[i]].Weight))
				}
				tightest := &p.Terms[s.tightest[i]]
				s.value[i] = float32(p.Emphasis*tightest.Weight*tightest.IDF) * s.tf(s.freq[i], s.length[i])
			}
		}
	}
}

// findParts raises the values of the documents that contain parts of a compound. Those
// that contain all parts, but not the compound, get a bit of scores.partial.
func (s *scores) findParts(p *words.ResolvedWord) {
	if len(p.Parts) == 0 {
		return
	}
	whole, within, among := s.seg.whole[p.Index], p.Within[s.seg.number], s.seg.allowed
	if p.Strict() {
		among = whole
		if whole.Slice(s.first, s.end).Count() == 0 {
			return // the lists skip these postings in a later window
		}
	}
	for part := range p.Parts {
		if len(p.SpellingsOf(part)) > 1 {
			s.findSpellings(p, part, among)
		} else {
			s.findPart(p, part, among)
		}
	}
	for i := range s.touched.All() {
		n := int(s.parts[i])
		s.parts[i] = 0
		switch {
		case n == len(p.Parts):
			value := float32(words.WeightParts*p.AllIDF) * s.freq[i]
			tier := words.TierParts
			switch {
			case p.Verify && !p.SpellingOnly && whole.Has(s.first+i):
				whole := float32(p.WholeIDF) * s.freq[i]
				s.hold(p, pending{s.first + i, max(whole, s.value[i]), max(value, s.value[i]), s.best[i] > 0 && s.best[i] <= words.TierName})
				value, tier = whole, words.TierExact
			case s.best[i] == 0 && p.PartsAlone() && (within == nil || !within.Has(s.first+i)):
				s.partial[i] |= p.Bit
			}
			s.value[i] = max(s.value[i], value)
			if s.best[i] == 0 || s.best[i] > tier+1 && (s.best[i] != words.TierName+1 || tier == words.TierExact) {
				s.best[i] = tier + 1
			}
		case n > 0:
			s.value[i] = max(s.value[i], float32(words.WeightSome*p.AllIDF)*s.freq[i])
		}
	}
}

// findPart finds the documents that have one part of a compound, among those in which it is
// looked for. Those that have only an identifier with the part, in another case, count as
// having it: github for GitHub.
func (s *scores) findPart(p *words.ResolvedWord, part int, among docset.Set) {
	idf := float32(p.PartIDF[part] / p.PartSum)
	lists := s.open[p.Index].parts[part]
	if len(lists) > 1 {
		clear(s.own)
	}
	for n := range lists {
		for of := range lists[n].blocks(s) {
			for k, doc := range of.docs {
				if !among.Has(doc) || len(lists) > 1 && !s.take(doc-s.first) {
					continue
				}
				s.addPart(doc-s.first, idf*s.tf(float32(of.freqs[k]), of.lengths[k]))
			}
		}
	}
}

// take reports whether a document has no value of this part yet.
func (s *scores) take(i uint32) bool {
	if s.own.Has(i) {
		return false
	}
	s.own.Add(i)
	return true
}

// findSpellings is findPart for a part with several spellings, which count as one term.
func (s *scores) findSpellings(p *words.ResolvedWord, part int, among docset.Set) {
	type have struct{ freq, length uint32 }
	found := map[uint32]have{}
	lists := s.open[p.Index].parts[part]
	for n := range lists {
		for of := range lists[n].blocks(s) {
			for k, doc := range of.docs {
				if among.Has(doc) {
					found[doc] = have{found[doc].freq + of.freqs[k], of.lengths[k]}
				}
			}
		}
	}
	idf := float32(p.PartIDF[part] / p.PartSum)
	for _, doc := range slices.Sorted(maps.Keys(found)) {
		s.addPart(doc-s.first, idf*s.tf(float32(found[doc].freq), found[doc].length))
	}
}

func (s *scores) addPart(i uint32, value float32) {
	if s.parts[i] == 0 {
		s.freq[i] = 0
		if s.best[i] == 0 {
			s.touched.Add(i)
		}
	}
	s.parts[i]++
	s.freq[i] += value
}

// pending is a document that may contain a compound whole, with the value of the
// compound if it does, and if it contains only the parts. other says that it contains the
// compound in another spelling at least.
type pending struct {
	doc          uint32
	whole, parts float32
	other        bool
}

// hold notes a document whose text has to verify a word.
func (s *scores) hold(p *words.ResolvedWord, x pending) {
	s.seg.pending[p.Index] = append(s.seg.pending[p.Index], x)
}

// findWord finds the documents for which a filter.TextTest may be true, all of the same value.
func (s *scores) findWord(p *words.ResolvedWord) {
	value := float32(p.AllIDF)
	for i := range p.All[s.seg.number].Slice(s.first, s.end).All() {
		doc := s.first + i
		if !s.seg.allowed.Has(doc) {
			continue
		}
		s.value[i], s.best[i] = value, words.TierExact+1
		s.touched.Add(i)
		s.hold(p, pending{doc, value, 0, false})
	}
}
