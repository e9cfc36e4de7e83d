package rank

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/engine/words"
)

// Budgets in bytes of session files, spent in the order of the answer. A phrase or a
// negated word decides whether a document is a hit; another compound decides its rank, and
// whether a list in the order of time has it; the spelling of an identifier changes the
// rank only a little. A phrase is looked for beyond the budget until the answer is full,
// so none is missed that is the only one.
const (
	verifyStrict   = 32 << 20
	verifyRegexp   = 16 << 20 // divided by the cost of the expressions
	verifyLoose    = 6 << 20
	verifySpelling = 1 << 20
)

// verifyRound is how many candidates are read side by side at most.
const verifyRound = 1 << 12

// verify verifies the pending candidates. When the budget is used up and enough is found,
// a document counts as one that has only the parts of a compound, and a phrase as not found.
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
	// Only the first are read. The others are not put in their exact order, for which equal
	// scores would have to be resolved.
	budget, strict := s.verifyBudget()
	order := s.readingOrder(list)
	slices.SortFunc(list, order)
	lacking := 0 // how many of enough are still missing
	if strict != 0 {
		lacking = s.enough
	}
	sessions := make(map[int32]bool) // with such a document
	sorted := 0                      // so many are in order
	for len(list) > 0 && (budget > 0 || lacking > 0) {
		if sorted == 0 {
			sorted = throughTies(list, verifyRound, order)
			slices.SortFunc(list[:sorted], func(a, b *Candidate) int { return cmp.Or(order(a, b), s.compare(a, b)) })
		}
		round := list[:min(verifyRound, sorted)]
		lengths := s.resolveAll(round)
		limit, longest := budget, budget
		if lacking > 0 {
			limit, longest = max(budget, s.phraseBytes), verifyStrict
		}
		round = round[:affordable(lengths, limit)]
		list, sorted = list[len(round):], sorted-len(round)
		readings, err := s.readRound(round, longest)
		if err != nil {
			return err
		}
		for k, c := range round {
			budget -= readings[k].size
			if budget < 0 && lacking <= 0 {
				readings[k] = reading{} // it is beyond the budget, wherever rounds end
			}
			if readings[k].whole&strict != 0 && (s.opt.Flat || !sessions[c.file]) {
				sessions[c.file] = true
				lacking--
			}
			s.apply(c, &readings[k], strict != 0)
		}
	}
	for _, c := range list {
		s.apply(c, &reading{}, strict != 0)
	}
	for _, x := range s.named {
		s.loosen(x.Candidate, x.word)
	}
	return nil
}

// A namedWord is a compound that a candidate has only in names of arguments.
type namedWord struct {
	*Candidate
	word *words.ResolvedWord
}

// loosen records that a candidate has a compound only as the name of an argument. If other documents
// have the compound in their text, the candidate lacks it.
func (s *search) loosen(c *Candidate, p *words.ResolvedWord) {
	value, ok := s.segs[c.segment].pendingOf(p, c.doc)
	if !ok || value.other {
		return
	}
	c.tier = max(c.tier, words.TierName)
	if p.Place >= 0 {
		c.class |= words.WayName << p.Place
	}
	if p.Loosely <= words.TierName || s.inText&p.Bit != 0 {
		c.mask, c.partial = c.mask&^p.Bit, c.partial|p.Bit|p.ByName
		c.base -= value.whole * (1 - looselyShare)
	}
	s.judge(c)
	c.dropped = c.dropped || !s.eval.evaluate(c.mask, c.partial).hit
}

// judge sets what follows from the words that a candidate has.
func (s *search) judge(c *Candidate) {
	v := s.eval.evaluate(c.mask, c.partial)
	c.score = c.base * s.files[c.file].recency * covered(s.plan, c.mask, c.partial, v)
	c.class = c.class&(classLacking-1) | v.class
}

// readingOrder returns the order of reading candidates: by score, or by the times of
// their sessions if the words to verify decide what a list in that order has. It does not
// order candidates of equal score, or of one session.
func (s *search) readingOrder(list []*Candidate) func(a, b *Candidate) int {
	decides := func(p *words.ResolvedWord) bool { return p.Verify && !p.SpellingOnly }
	if s.opt.Sort == Relevance || !slices.ContainsFunc(s.plan.Words, decides) {
		return func(a, b *Candidate) int { return cmp.Compare(b.standing(), a.standing()) }
	}
	sign, bounds := s.opt.Sort.sign(), make(map[int32]int64)
	for _, c := range list {
		if _, ok := bounds[c.file]; !ok {
			bounds[c.file] = sign * s.bound(c.file, s.opt.Sort)
		}
	}
	return func(a, b *Candidate) int {
		if a.file == b.file {
			return 0
		}
		return cmp.Or(cmp.Compare(bounds[a.file], bounds[b.file]), cmp.Compare(a.file, b.file))
	}
}

// throughTies returns the length of the shortest prefix of an ordered list that has at
// least n candidates and ends where the order decides.
func throughTies(list []*Candidate, n int, order func(a, b *Candidate) int) int {
	n = min(n, len(list))
	for n < len(list) && order(list[n-1], list[n]) == 0 {
		n++
	}
	return n
}

// verifyBudget returns how many bytes may be read for the words of the plan, and those that
// decide whether a document is a hit.
func (s *search) verifyBudget() (budget int, strict uint64) {
	budget = verifySpelling
	loose := verifyLoose
	if s.opt.Sort != Relevance {
		loose = s.phraseBytes
	}
	cost := 0
	for _, p := range s.plan.Words {
		if p.Find != nil {
			cost += p.Find.Cost
		}
		switch {
		case p.Verify && p.Strict():
			budget, strict = s.phraseBytes, strict|p.Bit
		case p.Verify && !p.SpellingOnly:
			budget = max(budget, loose)
		}
	}
	if cost > 0 {
		budget = min(budget, verifyRegexp/cost)
	}
	return budget, strict
}

// affordable returns for how many lines a budget is about enough, at least one. A
// length of 0 is not known.
func affordable(lengths []int64, budget int) int {
	for n, length := range lengths {
		if budget -= int(cmp.Or(length, entry.FirstRead)); budget < 0 {
			return n + 1
		}
	}
	return len(lengths)
}

// A reading is the result of reading a candidate.
type reading struct {
	known  bool   // false: it was not read
	lost   error  // why it cannot be read; nil when it was
	whole  uint64 // the words that it contains
	named  uint64 // those of them that it has only in names of arguments
	size   int    // of the line
	parsed bool   // false: its JSON says that it contains none
	copy   uint64 // session.Entry.Copy of the entry that was parsed
}

func (s *search) apply(c *Candidate, l *reading, strict bool) {
	if l.lost != nil {
		s.losses.add(l.lost)
		c.dropped = true
		return
	}
	for _, p := range s.plan.Words {
		if p.Verify && c.mask&p.Bit != 0 && l.whole&p.Bit == 0 {
			s.revoke(c, p, l.known)
			if l.known {
				s.misses.add(s.snapshot, p, c, s.duplicates.group(c))
			}
		}
		switch {
		case l.named&p.Bit != 0:
			s.named = append(s.named, namedWord{c, p})
		case l.whole&p.Bit != 0:
			s.inText |= p.Bit
		}
	}
	s.unverified = s.unverified || strict && !l.known
	c.dropped = c.dropped || !s.eval.evaluate(c.mask, c.partial).hit
}

// revoke takes a compound from a candidate that does not contain it whole, or, when
// known is false, that was not read.
func (s *search) revoke(c *Candidate, p *words.ResolvedWord, known bool) {
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
		if !value.other && p.PartsAlone() {
			c.partial |= p.Bit
			s.unverified = s.unverified || !known
		}
	}
	s.judge(c)
}

// readRound reads candidates, except entries of more than most bytes. The JSON of most
// shows that they are not hits; the others are parsed, and their identities looked up.
func (s *search) readRound(round []*Candidate, most int) ([]reading, error) {
	entries, readings := s.entriesOf(round), make([]reading, len(round))
	facts := slices.ContainsFunc(s.plan.Words, func(p *words.ResolvedWord) bool { return p.Find != nil && p.Find.NeedsFacts })
	err := s.readers.each(s.ctx, len(entries), func(w *Worker, n int) {
		w.use(s.snapshot, s.source(round[entries[n][0]]))
		w.Limit, w.Facts = most, facts
		err := s.readEntry(w, round, entries[n], readings)
		for _, k := range entries[n] {
			l := &readings[k]
			l.size = w.Size()
			if l.known = !errors.Is(err, entry.ErrTooLong); l.known {
				l.lost = cmp.Or(err, l.lost)
			}
		}
	})
	if err = cmp.Or(err, s.ctx.Err()); err != nil { // what was read last may have ended early
		return nil, err
	}
	var parsed []*Candidate
	for k, c := range round {
		if readings[k].parsed {
			parsed = append(parsed, c)
		}
	}
	s.readIdentities(parsed)
	for k, c := range round {
		if l := &readings[k]; l.parsed && c.copy != 0 && c.copy != l.copy {
			l.lost = entry.ErrChanged
		}
	}
	return readings, nil
}

// readEntry reads an entry with some of the candidates.
func (s *search) readEntry(w *Worker, round []*Candidate, some []int, readings []reading) error {
	first := round[some[0]]
	ref, id, err := w.ref(first, s.lengthOf(first))
	if err != nil {
		return err
	}
	data, err := w.JSON(ref)
	if err != nil || s.ruledOut(w, round, some, data) {
		return err
	}
	return w.Parse(ref, id, data, func(e *session.Entry) {
		for _, k := range some {
			if l := &readings[k]; int(round[k].part) >= len(e.Parts) {
				l.lost = entry.ErrChanged
			} else {
				l.parsed, l.copy = true, e.Copy
				l.whole, l.named = s.wholeIn(w, round[k], e)
			}
		}
	})
}

// entriesOf returns the indexes of candidates, those of one entry together, in the order of
// the files.
func (s *search) entriesOf(round []*Candidate) (entries [][]int) {
	order := make([]int, len(round))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := round[x], round[y]
		return cmp.Or(cmp.Compare(s.source(a), s.source(b)), cmp.Compare(a.offset, b.offset), cmp.Compare(x, y))
	})
	for len(order) > 0 {
		first := round[order[0]]
		n := 1
		for n < len(order) && s.source(round[order[n]]) == s.source(first) && round[order[n]].offset == first.offset {
			n++
		}
		entries = append(entries, order[:n])
		order = order[n:]
	}
	return entries
}

func (s *search) wholeIn(r *Worker, c *Candidate, e *session.Entry) (whole, named uint64) {
	v := filter.Part{Ctx: s.ctx, Session: r.file.summary.Load(), Entry: e, Number: int(c.part), Folder: &r.folder, Commands: &r.commands}
	for _, p := range s.plan.Words {
		if p.Verify && c.mask&p.Bit != 0 && contains(r, p, &v) {
			whole |= p.Bit
			if p.ByName != 0 && !p.SpellingOnly && !p.Strict() && isOnlyNamed(p, &e.Parts[c.part]) {
				named |= p.Bit
			}
		}
	}
	return whole, named
}

// isOnlyNamed reports whether a call that contains a compound has it only in names of arguments.
func isOnlyNamed(p *words.ResolvedWord, call *session.Part) bool {
	if len(call.Names) == 0 {
		return false
	}
	text := bytes.Clone(call.Text)
	for _, at := range call.Names {
		copy(text[at[0]:at[1]], bytes.Repeat([]byte{' '}, at[1]-at[0]))
	}
	return !isIn(p, new(analysis.Folder).Fold(text))
}

// ruledOut reports whether the JSON of an entry shows, without parsing, that none of its
// candidates contains a word to verify. JSON within JSON strings shows nothing.
func (s *search) ruledOut(r *Worker, round []*Candidate, some []int, data []byte) bool {
	if r.file.summary.Load().Nested {
		return false
	}
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

func contains(r *Worker, p *words.ResolvedWord, v *filter.Part) bool {
	if p.Find != nil {
		return p.Find.Matches(v)
	}
	if p.JSON != nil && !p.JSON.MayBeIn(r.json.FoldLetters(v.Text())) {
		return false
	}
	return isIn(p, v.Folded())
}

// isIn reports whether a folded text contains a compound.
func isIn(p *words.ResolvedWord, text []byte) bool {
	if p.Needle.Han {
		text = bytes.Clone(text)
		match.SimplifyHan(text)
	}
	_, _, ok := p.Needle.Find(text, 0)
	return ok
}

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
