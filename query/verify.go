package query

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/match"
)

// How many bytes of session files may be read to verify, in the order of the
// scores. What is quoted or left out decides whether a document is a hit at all,
// other compounds where it stands, and the spelling of an identifier does so only
// a little.
const (
	verifyStrict   = 32 << 20
	verifyRegexp   = 16 << 20 // divided by the cost of the expressions
	verifyLoose    = 6 << 20
	verifySpelling = 1 << 20
)

// verifyRound is how many candidates at most are read side by side, those of a
// file one after the other.
const verifyRound = 1 << 10

// verify reads the candidates that may have a phrase or compound and settles
// whether they do. Without a budget left, a compound counts as found by its
// parts, and a phrase as not found.
func (s *searcher) verify() error {
	var list []int32
	for i, c := range s.found.all() {
		if c.pending && !c.dropped {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(i, j int32) int { return s.compare(s.found.at(i), s.found.at(j)) })

	budget, strict := verifySpelling, false
	cost := 0
	for _, p := range s.plans {
		if p.find != nil {
			cost += p.find.Cost()
		}
		switch {
		case p.verify && p.strict():
			budget, strict = verifyStrict, true
		case p.verify && !p.spell:
			budget = max(budget, verifyLoose)
		}
	}
	if cost > 0 {
		budget = min(budget, verifyRegexp/cost)
	}
	if err := s.readCopiesOf(list); err != nil {
		return err
	}
	for len(list) > 0 && budget > 0 {
		round := list[:min(verifyRound, len(list))]
		lengths, err := s.resolveAll(round)
		if err != nil {
			return err
		}
		round = round[:affordable(lengths, budget)]
		list = list[len(round):]
		looks, err := s.lookAt(round, budget)
		if err != nil {
			return err
		}
		for k, i := range round {
			if budget -= looks[k].size; budget < 0 {
				looks[k] = look{} // it is beyond the budget, wherever rounds end
			}
			s.settle(s.found.at(i), &looks[k], strict)
		}
	}
	for _, i := range list {
		s.settle(s.found.at(i), &look{}, strict)
	}
	return nil
}

// affordable returns for how many lines of these lengths, where they are known, a
// budget is about enough; it is one at least.
func affordable(lengths []int64, budget int) int {
	for n, length := range lengths {
		if budget -= int(cmp.Or(length, entry.FirstRead)); budget < 0 {
			return n + 1
		}
	}
	return len(lengths)
}

// A look is what reading a candidate again told.
type look struct {
	known bool   // false: it was not read
	lost  error  // why it cannot be read; nil when it was
	whole uint64 // the words that are there
	size  int    // of the line
}

// settle takes back what a candidate has not, as far as that is known.
func (s *searcher) settle(c *candidate, l *look, strict bool) {
	if s.lose(l.lost) {
		c.dropped = true
		return
	}
	for _, p := range s.plans {
		if p.verify && c.mask&p.bit != 0 && l.whole&p.bit == 0 {
			s.fallBack(c, p, l.known)
		}
	}
	s.inexact = s.inexact || strict && !l.known
	c.dropped = c.dropped || !s.judge.of(c.mask, c.weak).hit
}

// fallBack takes back that a candidate has a compound whole. known is false when
// that was not looked at.
func (s *searcher) fallBack(c *candidate, p *plan, known bool) {
	worth, ok := s.segs[c.segment].pendingOf(p, c.doc)
	if !ok {
		return
	}
	switch {
	case !p.scored:
		if known {
			c.mask &^= p.bit
		}
	case p.strict():
		c.mask &^= p.bit
		c.base -= worth.whole
	default:
		c.base -= worth.whole - worth.parts
		c.tier = max(c.tier, tierParts)
	}
	s.rate(c)
}

// lookAt reads candidates again. Entries of more bytes than most are left out.
func (s *searcher) lookAt(round []int32, most int) ([]look, error) {
	looks := make([]look, len(round))
	order := make([]int, len(round)) // of the candidates, those of an entry side by side
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := s.found.at(round[x]), s.found.at(round[y])
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset), cmp.Compare(x, y))
	})
	var entries [][]int
	for len(order) > 0 {
		first := s.found.at(round[order[0]])
		n := 1
		for n < len(order) && s.found.at(round[order[n]]).file == first.file && s.found.at(round[order[n]]).offset == first.offset {
			n++
		}
		entries = append(entries, order[:n])
		order = order[n:]
	}
	return looks, s.eachWorker(len(entries), func(w *worker, k int) error {
		some := entries[k]
		first := s.found.at(round[some[0]])
		w.use(&s.files[first.file])
		w.Limit = most
		ref, id, err := w.ref(first, s.lengthOf(first))
		var data []byte
		if err == nil {
			data, err = w.JSON(ref)
		}
		if err == nil && !s.ruledOut(w, round, some, data) {
			err = w.Parse(ref, id, data, func(line adapter.Line, e *session.Entry) {
				for _, k := range some {
					if int(s.found.at(round[k]).part) >= len(e.Parts) {
						looks[k].lost = entry.ErrChanged
					} else {
						looks[k].whole = s.wholeIn(w, s.found.at(round[k]), line, e)
					}
				}
			})
		}
		for _, k := range some {
			looks[k].size = w.Size()
			looks[k].known = !errors.Is(err, entry.ErrTooLong)
			if err != nil && looks[k].known {
				looks[k].lost = err
			}
		}
		return nil
	})
}

// wholeIn returns the words to be verified that a candidate has in its entry.
func (s *searcher) wholeIn(r *worker, c *candidate, line adapter.Line, e *session.Entry) (whole uint64) {
	v := filter.Part{Session: r.file.Summary, Line: line, Parser: r.Parser(), Entry: e, Number: int(c.part), Folder: &r.folder, Commands: &r.commands}
	for _, p := range s.plans {
		if p.verify && c.mask&p.bit != 0 && p.holds(&v) {
			whole |= p.bit
		}
	}
	return whole
}

// ruledOut reports whether the JSON of an entry tells without parsing that none of
// its candidates has a word that is to be verified.
func (s *searcher) ruledOut(r *worker, round []int32, some []int, data []byte) bool {
	words := uint64(0)
	for _, k := range some {
		words |= s.found.at(round[k]).mask
	}
	for _, p := range s.plans {
		if p.verify && words&p.bit != 0 && p.raw == nil {
			return false
		}
	}
	folded, ok := r.json.Fold(data)
	if !ok {
		return false
	}
	for _, p := range s.plans {
		if p.verify && words&p.bit != 0 && p.raw.MayContain(folded) {
			return false
		}
	}
	return true
}

// holds reports whether a part has a word that has to be verified.
func (p *plan) holds(v *filter.Part) bool {
	if p.find != nil {
		return p.find.Holds(v)
	}
	text := v.Folded()
	if p.needle.Han {
		text = bytes.Clone(text)
		match.Simplify(text)
	}
	_, _, ok := p.needle.Find(text, 0)
	return ok
}
