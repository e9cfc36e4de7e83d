package rank

import (
	"cmp"
	"slices"
)

// A session's score is a geometric sum over its best sharesOf hits: each counts share
// times as much as the one before.
const (
	sharesOf = 5
	share    = 0.25

	ShownBest = 10 // of the best hits of all that Options.ShowBest shows
)

// selected selects the sessions, or the hits, of the answer.
func (s *search) selected() (*Result, error) {
	r := &Result{s: s, Counts: s.counts}
	if s.opt.Sort != Relevance {
		return r, s.byTime(r)
	}
	if s.opt.Flat {
		for c := range s.shown() {
			r.Hits = s.insertBest(r.Hits, c, s.opt.Limit)
		}
		return r, nil
	}
	s.bestSessions(r)
	return r, nil
}

// bestSessions selects the best sessions with their best hits. Hits of a session often have
// equal scores, and putting these in order means to look them up in the index: only the
// hits of the selected sessions are.
func (s *search) bestSessions(r *Result) {
	scores := make([]standing, sharesOf*len(s.files))
	best := make([]topScores, len(s.files))
	for i := range best {
		best[i] = topScores{scores[sharesOf*i : sharesOf*i : sharesOf*(i+1)], sharesOf}
	}
	for c := range s.from(min(s.least, cmp.Or(s.pool, s.least))) {
		best[s.head(c.file)].add(c.standing())
	}
	type scored struct {
		class uint16
		score float64
		file  int32
	}
	var list []scored
	for i := range best {
		if len(best[i].list) > 0 {
			class, score := best[i].session()
			list = append(list, scored{class, score, int32(i)})
		}
	}
	slices.SortFunc(list, func(a, b scored) int {
		if d := cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.score, a.score)); d != 0 {
			return d
		}
		return cmp.Or(s.files[b.file].newest.Compare(s.files[a.file].newest), cmp.Compare(a.file, b.file))
	})
	for len(list) > 0 && s.files[list[len(list)-1].file].listed(s.least) == 0 {
		list = list[:len(list)-1]
	}
	for _, x := range list { // it ranks among those with hits that are listed
		if f := &s.files[x.file]; f.listed(s.least) == 0 {
			f.rescued, f.unfolded = true, f.from(s.pool)
			s.counts.Listed += f.unfolded
			s.counts.ListedSessions++
		}
	}
	r.Counts = s.counts
	list = list[:min(s.opt.Limit, len(list))]

	top := make(map[int32][]*Candidate, len(list))
	for _, x := range list {
		top[x.file] = nil
	}
	var bestOfAll []*Candidate
	most := s.opt.kept()
	for c := range s.shown() {
		if s.opt.ShowBest {
			bestOfAll = s.insertBest(bestOfAll, c, ShownBest)
		}
		if hits, ok := top[s.head(c.file)]; ok {
			top[s.head(c.file)] = s.insertBest(hits, c, most)
		}
	}
	for _, scored := range list {
		x := s.session(scored.file)
		x.Class, x.Score = scored.class, scored.score
		hits := top[scored.file]
		x.Hits = hits[:min(s.opt.PerSession, len(hits))]
		x.Reserve = hits[len(x.Hits):]
		for len(x.Reserve) > 0 && slices.Contains(bestOfAll, x.Reserve[0]) {
			x.Hits, x.Reserve = append(x.Hits, x.Reserve[0]), x.Reserve[1:]
		}
		r.Sessions = append(r.Sessions, x)
	}
}

// from returns the candidates with a level or a better one.
func (s *search) from(least Level) func(yield func(*Candidate) bool) {
	return func(yield func(*Candidate) bool) {
		for c := range s.found.all() {
			if !c.dropped && s.levelOf(c) >= least && !yield(c) {
				return
			}
		}
	}
}

// shown returns the candidates that are listed.
func (s *search) shown() func(yield func(*Candidate) bool) {
	if s.floor == 0 {
		return s.from(s.least)
	}
	return func(yield func(*Candidate) bool) {
		for c := range s.from(s.pool) {
			if (c.standing() >= s.floor || s.levelOf(c) >= s.least || s.files[s.head(c.file)].rescued) && !yield(c) {
				return
			}
		}
	}
}

func (s *search) session(at int32) Session {
	f := &s.files[at]
	return Session{File: int(at), Total: f.hits[LevelWhole], TotalAny: f.from(LevelWeak), Listed: f.listed(s.least)}
}

// insertBest inserts a candidate into a list of at most so many best ones.
func (s *snapshot) insertBest(list []*Candidate, c *Candidate, most int) []*Candidate {
	if len(list) == most {
		last := list[most-1]
		if s.compare(c, last) >= 0 {
			return list
		}
		list = list[:most-1]
	}
	at, _ := slices.BinarySearchFunc(list, c, s.compare)
	return slices.Insert(list, at, c)
}

// byTime selects the newest or the oldest sessions, or hits with Options.Flat. It visits
// sessions in the order of their last, or first, entries, and stops at the first session
// that cannot improve the answer. So it reads nothing of most sessions.
func (s *search) byTime(r *Result) error {
	ofFile := make(map[int32][]*Candidate)
	for c := range s.shown() {
		ofFile[s.head(c.file)] = append(ofFile[s.head(c.file)], c)
	}
	order := make([]int32, 0, len(ofFile))
	for at := range ofFile {
		order = append(order, at)
	}
	sign := s.opt.Sort.sign()
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(sign*s.bound(a, s.opt.Sort), sign*s.bound(b, s.opt.Sort)), cmp.Compare(a, b))
	})

	compare := func(a, b timed) int { return s.compareTimes(sign, a, b) }
	limit := s.opt.Limit
	var first []timed // with Flat the hits, else the first hit of each session; in order
	for _, at := range order {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if len(first) >= limit && cmp.Compare(sign*first[limit-1].at, sign*s.bound(at, s.opt.Sort)) < 0 {
			break // nothing of this session can come before these
		}
		list := s.withTimes(ofFile[at])
		slices.SortFunc(list, compare)
		if s.opt.Flat {
			first = append(first, list[:min(limit, len(list))]...)
			slices.SortFunc(first, compare)
			first = first[:min(limit, len(first))]
			continue
		}
		x := s.session(at)
		x.Score = float64(list[0].score)
		for i, t := range list[:min(s.opt.PerSession+reserve, len(list))] {
			if i < s.opt.PerSession {
				x.Hits = append(x.Hits, t.Candidate)
			} else {
				x.Reserve = append(x.Reserve, t.Candidate)
			}
		}
		n, _ := slices.BinarySearchFunc(first, list[0], compare)
		first, r.Sessions = slices.Insert(first, n, list[0]), slices.Insert(r.Sessions, n, x)
		first, r.Sessions = first[:min(limit, len(first))], r.Sessions[:min(limit, len(r.Sessions))]
	}
	if s.opt.Flat {
		for _, t := range first {
			r.Hits = append(r.Hits, t.Candidate)
		}
	}
	return nil
}

// timed is a candidate with the time of its entry, in Unix milliseconds.
type timed struct {
	at int64
	*Candidate
}

// withTimes looks up the times of candidates.
func (s *search) withTimes(candidates []*Candidate) []timed {
	list := make([]timed, len(candidates))
	for i, c := range candidates {
		s.resolve(c)
		if s.isNoted(c) { // a name has the place of the first entry
			list[i] = timed{s.bound(c.file, Oldest), c}
			continue
		}
		list[i] = timed{s.timeOf(c.file, s.segs[c.segment], c.offset), c}
	}
	return list
}

// sign is the factor that turns times into ascending order: -1 unless the oldest come
// first.
func (o Sort) sign() int64 {
	if o == Oldest {
		return 1
	}
	return -1
}

// compareTimes orders candidates by time, then by path, offset and part.
func (s *snapshot) compareTimes(sign int64, a, b timed) int {
	x, y := s.resolve(a.Candidate), s.resolve(b.Candidate)
	if d := cmp.Or(cmp.Compare(sign*a.at, sign*b.at), cmp.Compare(x.file, y.file)); d != 0 {
		return d
	}
	return cmp.Or(int(sign)*cmp.Compare(x.offset, y.offset), cmp.Compare(x.part, y.part))
}

// bound returns a time, in Unix milliseconds, that no entry of a session is after, or in the
// order Oldest, before.
func (s *snapshot) bound(at int32, order Sort) int64 {
	first, last := s.summary(at).Times()
	for _, part := range s.parts[at] {
		from, to := s.summary(part).Times()
		if from.Before(first) {
			first = from
		}
		if to.After(last) {
			last = to
		}
	}
	if order == Oldest {
		return first.UnixMilli()
	}
	return last.UnixMilli()
}
