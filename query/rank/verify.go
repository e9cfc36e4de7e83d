package rank

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"pigrep/internal/session"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/match"
	"pigrep/query/words"
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
func (s *search) verify() error {
	var list []*Candidate
	for c := range s.found.all() {
		if c.pending && !c.dropped {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, s.compare)

	budget, strict := verifySpelling, false
	cost := 0
	for _, p := range s.plan.Words {
		if p.Find != nil {
			cost += p.Find.Cost()
		}
		switch {
		case p.Verify && p.Strict():
			budget, strict = verifyStrict, true
		case p.Verify && !p.SpellingOnly:
			budget = max(budget, verifyLoose)
		}
	}
	if cost > 0 {
		budget = min(budget, verifyRegexp/cost)
	}
	if err := s.readIdentities(list); err != nil {
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
		for k, c := range round {
			if budget -= looks[k].size; budget < 0 {
				looks[k] = look{} // it is beyond the budget, wherever rounds end
			}
			s.settle(c, &looks[k], strict)
		}
	}
	for _, c := range list {
		s.settle(c, &look{}, strict)
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
func (s *search) settle(c *Candidate, l *look, strict bool) {
	if l.lost != nil {
		s.losses.add(l.lost)
		c.dropped = true
		return
	}
	for _, p := range s.plan.Words {
		if p.Verify && c.mask&p.Bit != 0 && l.whole&p.Bit == 0 {
			s.fallBack(c, p, l.known)
		}
	}
	s.unverified = s.unverified || strict && !l.known
	c.dropped = c.dropped || !s.eval.evaluate(c.mask, c.partial).hit
}

// fallBack takes back that a candidate has a compound whole. known is false when
// that was not looked at.
func (s *search) fallBack(c *Candidate, p *words.Planned, known bool) {
	value, ok := s.segs[c.segment].pendingOf(p, c.doc)
	if !ok {
		return
	}
	switch {
	case !p.Scored:
		if known {
			c.mask &^= p.Bit
		}
	case p.Strict():
		c.mask &^= p.Bit
		c.base -= value.whole
	default:
		c.base -= value.whole - value.parts
		c.tier = max(c.tier, words.TierParts)
	}
	s.rate(c)
}

// lookAt reads candidates again. Entries of more bytes than most are left out.
func (s *search) lookAt(round []*Candidate, most int) ([]look, error) {
	looks := make([]look, len(round))
	order := make([]int, len(round)) // of the candidates, those of an entry side by side
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := round[x], round[y]
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset), cmp.Compare(x, y))
	})
	var entries [][]int
	for len(order) > 0 {
		first := round[order[0]]
		n := 1
		for n < len(order) && round[order[n]].file == first.file && round[order[n]].offset == first.offset {
			n++
		}
		entries = append(entries, order[:n])
		order = order[n:]
	}
	facts := slices.ContainsFunc(s.plan.Words, func(p *words.Planned) bool { return p.Find != nil && p.Find.NeedsFacts() })
	return looks, s.readers.each(s.ctx, len(entries), func(w *Worker, k int) {
		some := entries[k]
		first := round[some[0]]
		w.use(&s.files[first.file])
		w.Limit, w.Facts = most, facts
		ref, id, err := w.ref(first, s.lengthOf(first))
		var data []byte
		if err == nil {
			data, err = w.JSON(ref)
		}
		if err == nil && !s.ruledOut(w, round, some, data) {
			err = w.Parse(ref, id, data, func(e *session.Entry) {
				for _, k := range some {
					if int(round[k].part) >= len(e.Parts) {
						looks[k].lost = entry.ErrChanged
					} else {
						looks[k].whole = s.wholeIn(w, round[k], e)
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
	})
}

// wholeIn returns the words to be verified that a candidate has in its entry.
func (s *search) wholeIn(r *Worker, c *Candidate, e *session.Entry) (whole uint64) {
	v := filter.Part{Session: r.file.Summary, Entry: e, Number: int(c.part), Folder: &r.folder, Commands: &r.commands}
	for _, p := range s.plan.Words {
		if p.Verify && c.mask&p.Bit != 0 && holds(p, &v) {
			whole |= p.Bit
		}
	}
	return whole
}

// ruledOut reports whether the JSON of an entry tells without parsing that none of
// its candidates has a word that is to be verified.
func (s *search) ruledOut(r *Worker, round []*Candidate, some []int, data []byte) bool {
	words := uint64(0)
	for _, k := range some {
		words |= round[k].mask
	}
	for _, p := range s.plan.Words {
		if p.Verify && words&p.Bit != 0 && p.JSON == nil {
			return false
		}
	}
	folded, ok := r.json.Fold(data)
	if !ok {
		return false
	}
	for _, p := range s.plan.Words {
		if p.Verify && words&p.Bit != 0 && p.JSON.MayContain(folded) {
			return false
		}
	}
	return true
}

// holds reports whether a part has a word that has to be verified.
func holds(p *words.Planned, v *filter.Part) bool {
	if p.Find != nil {
		return p.Find.Matches(v)
	}
	text := v.Folded()
	if p.Needle.Han {
		text = bytes.Clone(text)
		match.SimplifyHan(text)
	}
	_, _, ok := p.Needle.Find(text, 0)
	return ok
}
