package rank

import (
	"cmp"
	"time"

	"pigrep/query/engine/words"
)

// A Place says where a hit stands among the hits of several searches for one query.
type Place struct {
	Class uint16     `json:"class,omitempty"` // it is compared first
	Level Level      `json:"level"`
	Ahead bool       `json:"ahead,omitempty"` // it is listed whatever its level, because it stands before listed hits
	Score float32    `json:"score"`           // before it is rounded
	Text  float32    `json:"text,omitempty"`  // the factors of Score that do not depend on how rare words are
	Gains [4]float32 `json:"gains,omitempty"` // the other factors, less 1, for a hit with the whole weight of the query
	Words uint64     `json:"words,omitempty"` // the words that it has, a bit for each
	Parts uint64     `json:"parts,omitempty"` // the words of which it has only parts
	Time  time.Time  `json:"time,omitzero"`   // of the newest entry of its file
	Ways  uint64     `json:"ways,omitempty"`  // how it has the weightiest words: three bits for each, as words.Way
	Risen bool       `json:"risen,omitempty"` // not only its words put it there: it is the last word, or a reply with the class of its prompt
	Copy  uint64     `json:"copy,omitempty"`  // equal for copies of the part, as session.Entry.Copy is for entries; 0: not known
}

const mostWays = 21 // words whose ways fit into Place.Ways

// Compare orders places, the best first.
func (p *Place) Compare(o *Place) int {
	return cmp.Or(cmp.Compare(p.Class, o.Class), cmp.Compare(o.Score, p.Score))
}

// Place returns the place of a candidate that Hit has looked up.
func (r *Result) Place(c *Candidate) Place {
	v := r.s.verdictOf(c)
	file := &r.s.files[c.file]
	level := v.level(c.tier)
	p := Place{Class: c.class, Level: level, Ahead: level < r.s.least, Score: c.score, Words: c.mask, Parts: c.partial, Time: file.newest, Risen: c == r.s.last || c.class&v.class != v.class, Copy: c.copy}
	for i, w := range r.s.plan.Words[:min(len(r.s.plan.Words), mostWays)] {
		if w.Place >= 0 {
			p.Ways |= uint64(c.class>>w.Place&7) << (3 * i)
		}
	}
	share, worth := worthOf(r.s.plan, c.mask, c.partial, v)
	if share == 0 || worth == 0 {
		return p
	}
	p.Text = c.score / worth / file.recency
	if f, ok := r.s.factors[c]; ok {
		for i, factor := range [...]float32{f.closeness, f.exactness, f.session, min(f.turn, 1+turnGain)} { // more is of an answer, as answers gives it
			p.Text /= factor
			p.Gains[i] = (factor - 1) / share
		}
		if !hasPairs(r.s.plan) { // other indexes may know more words; a single word counts as close
			p.Gains[0] = closenessGain
		}
	}
	return p
}

// Rarity returns how rare the words of the query are in the index.
func (r *Result) Rarity() *words.Rarity { return r.s.plan.Rarity(r.s.newest) }

// worthOf returns the share of the words of a document in the weight of the query, and what these words
// add to the score.
func worthOf(plan *words.ResolvedQuery, mask, partial uint64, v verdict) (share, worth float32) {
	sum := 0.0
	for _, w := range plan.Words {
		if mask&w.Bit != 0 {
			sum += w.Weight
		}
	}
	if plan.Weight > 0 {
		share = float32(sum / plan.Weight)
	}
	return share, float32(sum) * covered(plan, mask, partial, v)
}

// Rescale returns a function that computes the classes and scores of places again, with words as rare as
// a plan says. Places of several indexes can be compared only after that.
func Rescale(plan *words.ResolvedQuery, allWords bool) func(*Place) {
	eval, pairs := newEvaluator(plan, allWords), hasPairs(plan)
	return func(p *Place) {
		v := eval.evaluate(p.Words, p.Parts)
		share, worth := worthOf(plan, p.Words, p.Parts, v)
		if p.Text <= 0 || worth <= 0 {
			return
		}
		if class := v.class | p.waysIn(plan); !p.Risen || class < p.Class {
			p.Class = class
		}
		p.Score = p.Text * worth * recencyOf(p.Time, plan.Newest)
		for i, gain := range p.Gains {
			if i == 0 && !pairs {
				continue
			}
			p.Score *= 1 + gain*share
		}
	}
}

// waysIn returns the class bits of the words whose ways are in the classes of the plan.
func (p *Place) waysIn(plan *words.ResolvedQuery) (class uint16) {
	for i, w := range plan.Words[:min(len(plan.Words), mostWays)] {
		if way := uint16(p.Ways >> (3 * i) & 7); w.Place >= 0 && way != words.WayMissing {
			class |= way << w.Place
		}
	}
	return class
}
