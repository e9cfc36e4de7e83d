package rank

import (
	"pigrep/query/engine/docset"
	"pigrep/query/engine/words"
)

// Misses has the documents that were read and lack a strict word, such as a phrase, so that
// further searches of the same generation do not read them again. Other compounds are not
// remembered: what is counted of them would depend on the searches before. Only one search
// at a time may use it.
type Misses struct {
	docs map[string][]docset.Set // by the needle of the word, then by segment
}

// NewMisses returns one without documents.
func NewMisses() *Misses { return &Misses{map[string][]docset.Set{}} }

// in returns the documents of a segment that lack a word; nil if none are known.
func (l *Misses) in(segment int, p *words.ResolvedWord) docset.Set {
	if l == nil || !p.Strict() || l.docs[string(p.Needle.Text)] == nil {
		return nil
	}
	return l.docs[string(p.Needle.Text)][segment]
}

// add adds a candidate that lacks a word, with its duplicates.
func (l *Misses) add(s *snapshot, p *words.ResolvedWord, c *Candidate, group duplicates) {
	if l == nil || !p.Strict() || p.Find != nil {
		return
	}
	if l.docs[string(p.Needle.Text)] == nil {
		l.docs[string(p.Needle.Text)] = make([]docset.Set, len(s.segs))
	}
	sets := l.docs[string(p.Needle.Text)]
	one := func(c *Candidate) {
		if sets[c.segment] == nil {
			sets[c.segment] = docset.New(s.segs[c.segment].Len())
		}
		sets[c.segment].Add(c.doc)
	}
	one(c)
	for _, d := range group {
		one(d.Candidate)
	}
}
