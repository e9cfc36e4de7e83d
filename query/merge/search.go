package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pigrep/internal/lists"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/search"
)

// Search joins the answers of several indexes to a request with Together. The result shares memory with
// the answers.
func Search(req *search.Request, answers []*search.Response) *search.Response {
	opt := req.Options()
	n := newTotals(&opt, lists.Map(answers, func(r *search.Response) *search.Tally { return r.Tally }))
	m := &search.Response{About: about(answers), TotalIsExact: true}
	complete := true
	for _, r := range answers {
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
		m.Unreadable += r.Unreadable
		m.Searches += r.Searches
		m.Late = m.Late || r.Late
		complete = complete && r.Tally != nil && len(r.Hits) == r.Tally.Counts.Listed
	}
	var all []*found
	for _, r := range answers {
		all = append(all, foundBy(r, req.Flat)...)
	}
	rescale(req, answers, all)
	if all = joinCopies(all); req.Flat {
		all = []*found{{hits: slices.Concat(lists.Map(all, func(x *found) []search.Hit { return x.hits })...)}}
	}
	all = withoutCopies(all, n.least, opt.Sort)
	if complete {
		n.count(all, req.Flat)
	}
	shown := 0
	if req.Flat {
		for _, x := range all {
			m.Hits = first(x.hits, opt.Limit)
		}
		shown = len(m.Hits)
	} else {
		add(m, &opt, all)
		shown = len(m.Sessions)
	}
	if shown >= opt.Limit {
		m.Searches = 0
	}
	for i := range m.Hits {
		m.Hits[i].Rank = i + 1
	}
	c := n.counts()
	for _, x := range all {
		for i := range x.hits {
			if x.hits[i].Place.Level < n.least {
				c.Listed++
			}
		}
	}
	m.SessionTotal, m.Total, m.TotalIn, m.TotalAny, m.Similar, m.Named, m.Weak, m.Folded = c.ListedSessions, c.Total, c.TotalSessions, c.TotalAny, c.Similar, c.Named, c.Weak, c.Folded()
	m.TotalIsExact = m.TotalIsExact && !c.Inexact
	m.DidYouMean = meant(answers)
	if m.Total == 0 {
		explain(m, req.Text, answers)
	} else {
		m.Words = nowhere(req.Text, answers)
	}
	return m
}

// A found is a session of an answer with its hits, in order.
type found struct {
	search.SessionHit
	hits []search.Hit
}

// foundBy returns the sessions that an index has found; with flat, a list of hits in place of them.
func foundBy(r *search.Response, flat bool) (all []*found) {
	tally := cmp.Or(r.Tally, &search.Tally{})
	placed := func(places []rank.Place, i int) (p rank.Place) {
		if i < len(places) {
			p = places[i]
		}
		return p
	}
	own := make(map[*search.SessionHit]*found, len(r.Sessions))
	for i := range r.Sessions {
		x := &found{SessionHit: r.Sessions[i]}
		x.Place, x.Copies = placed(tally.Listed, i), nil
		all, own[&r.Sessions[i]] = append(all, x), x
	}
	owner := r.Owners()
	if flat {
		x := &found{}
		all, owner = []*found{x}, func(*search.Hit) *search.SessionHit { return nil }
		own[nil] = x
	}
	for i := range r.Hits {
		if x := own[owner(&r.Hits[i])]; x != nil {
			h := r.Hits[i]
			h.Place = placed(tally.Hits, i)
			x.hits = append(x.hits, h)
		}
	}
	return all
}

// rescale makes the scores of several indexes comparable, because a word is not as rare in each of them.
func rescale(req *search.Request, answers []*search.Response, all []*found) {
	var sum words.Rarity
	for _, r := range answers {
		if r.Tally != nil && r.Tally.Words != nil {
			sum.Add(r.Tally.Words)
		}
	}
	scale := req.Rescale(&sum)
	if scale == nil {
		return
	}
	for _, x := range all {
		before, after, class := float32(0), float32(0), ^uint16(0)
		for i := range x.hits {
			p := &x.hits[i].Place
			before = max(before, p.Score)
			scale(p)
			after, class = max(after, p.Score), min(class, p.Class)
			x.hits[i].Score = rank.Rounded(float64(p.Score))
		}
		if before > 0 {
			x.Place.Class = class
			x.Place.Score *= after / before
			x.Score = rank.Rounded(float64(x.Place.Score))
		}
		if req.Sort == rank.Relevance {
			keepOrder(x.hits)
		}
	}
}

// keepOrder keeps risen hits (rank.Place.Risen) of an index before the hits that the index put behind
// them, even if the new scores say otherwise.
func keepOrder(hits []search.Hit) {
	for i := len(hits) - 2; i >= 0; i-- {
		if p, next := &hits[i].Place, &hits[i+1].Place; p.Risen && next.Compare(p) < 0 {
			p.Class, p.Score = next.Class, math.Nextafter32(next.Score, math.MaxFloat32)
			hits[i].Score = hits[i+1].Score
		}
	}
}

// joinCopies joins the copies of each session.
func joinCopies(all []*found) (left []*found) {
	byID := make(map[uint64]*found)
	for _, x := range all {
		if of := byID[x.Place.Copy]; of != nil && x.Place.Copy != 0 {
			of.join(x)
			continue
		}
		byID[x.Place.Copy], left = x, append(left, x)
	}
	return left
}

// join adds a copy of the session. The copy that went on longer stands for both, with the larger counts
// of the two.
func (x *found) join(o *found) {
	a, b := x.SessionHit, o.SessionHit
	if b.Modified.After(a.Modified.Time) {
		a, b = b, a
	}
	if b.Place.Compare(&a.Place) < 0 {
		a.Place = b.Place
	}
	a.Score, a.Hits, a.HitsAny, a.Looser = max(a.Score, b.Score), max(a.Hits, b.Hits), max(a.HitsAny, b.HitsAny), max(a.Looser, b.Looser)
	a.Copies = append(slices.Concat(a.Copies, b.Copies), b.SessionPath)
	x.SessionHit, x.hits = a, slices.Concat(x.hits, o.hits)
}

// withoutCopies puts sessions and their hits in order, and keeps one of several hits that are copies,
// whatever their sessions are. It prefers the hit in the file that stands for its session. Hits below
// a level are left out, and so are sessions without hits.
func withoutCopies(all []*found, least rank.Level, sort rank.Sort) []*found {
	for _, x := range all {
		x.hits = slices.DeleteFunc(x.hits, func(h search.Hit) bool { return h.Place.Level < least && !h.Place.Ahead })
		slices.SortStableFunc(x.hits, func(a, b search.Hit) int { return compare(&a, &b, sort) })
	}
	slices.SortStableFunc(all, func(a, b *found) int { return compareFound(a, b, sort) })
	owner := make(map[string]*search.Hit)
	for _, x := range all {
		var left []search.Hit
		at := make(map[string]int)
		for _, h := range x.hits {
			key := keyOfHit(&h)
			i, here := at[key]
			switch {
			case key == "":
				left = append(left, h)
			case here && h.SessionPath == x.SessionPath:
				h.Place = left[i].Place
				left[i] = h
			case owner[key] == nil:
				owner[key], at[key], left = &h, len(left), append(left, h)
			}
		}
		x.hits = left
	}
	return slices.DeleteFunc(all, func(x *found) bool { return len(x.hits) == 0 })
}

// keyOfHit returns a key that copies of a hit share: their content or, if that is not known, their
// session and entry; "" if neither is known.
func keyOfHit(h *search.Hit) string {
	switch {
	case h.Place.Copy != 0:
		return fmt.Sprint(h.Place.Copy, " ", h.Part)
	case h.SessionID != "" && h.EntryID != "":
		return fmt.Sprintf("%s %s %s %d %d %d %s", h.Agent, h.SessionID, h.EntryID, h.Part, h.Timestamp.UnixMilli(), h.Length, h.Fragment.Text)
	}
	return ""
}

// compare orders hits by their places, the newest of equals first, or by time.
func compare(a, b *search.Hit, sort rank.Sort) int {
	at, path := a.Timestamp.Compare(b.Timestamp.Time), cmp.Compare(a.SessionPath, b.SessionPath)
	offset, part := cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Part, b.Part)
	switch sort {
	case rank.Newest:
		return cmp.Or(-at, path, -offset, part)
	case rank.Oldest:
		return cmp.Or(at, path, offset, part)
	}
	return cmp.Or(a.Place.Compare(&b.Place), -at, path, -offset, part)
}

// compareFound orders sessions as compare orders hits.
func compareFound(a, b *found, sort rank.Sort) int {
	switch {
	case len(a.hits) == 0 || len(b.hits) == 0:
		return cmp.Compare(len(b.hits), len(a.hits))
	case sort != rank.Relevance:
		return compare(&a.hits[0], &b.hits[0], sort)
	}
	return cmp.Or(a.Place.Compare(&b.Place), b.Modified.Compare(a.Modified.Time), cmp.Compare(a.SessionPath, b.SessionPath))
}

// add adds the first sessions to an answer, each with its best hits and its hits among the best of all.
func add(m *search.Response, opt *rank.Options, all []*found) {
	var best []*search.Hit
	if opt.ShowBest {
		for _, x := range all {
			for i := range x.hits {
				best = append(best, &x.hits[i])
			}
		}
		slices.SortStableFunc(best, func(a, b *search.Hit) int { return compare(a, b, rank.Relevance) })
		best = first(best, rank.ShownBest)
	}
	for _, x := range first(all, opt.Limit) {
		n := min(opt.PerSession, len(x.hits))
		for n < len(x.hits) && slices.Contains(best, &x.hits[n]) {
			n++
		}
		m.Hits = append(m.Hits, x.hits[:n]...)
		m.Sessions = append(m.Sessions, x.SessionHit)
	}
}

// totals adds up the numbers of hits of several indexes. If several have a session, its largest number
// counts, so that the sum is a lower bound.
type totals struct {
	opt      *rank.Options
	open     bool
	inexact  bool                     // hits may be missing
	copied   bool                     // some sessions are in several indexes
	from     [rank.LevelWhole + 1]int // hits with at least each level
	sessions [rank.LevelWhole + 1]int // sessions with such hits
	least    rank.Level               // of the hits that are listed
}

const mostCounted = 1 << 40

func newTotals(opt *rank.Options, tallies []*search.Tally) *totals {
	s := &totals{opt: opt}
	tallies = slices.DeleteFunc(slices.Clone(tallies), func(t *search.Tally) bool { return t == nil })
	for _, t := range tallies {
		c := &t.Counts
		for level, n := range map[rank.Level]int{rank.LevelWhole: c.Total, rank.LevelParts: c.Total + c.Parts, rank.LevelWeighty: c.Weighty - c.Similar - c.Named, rank.LevelSimilar: c.Weighty - c.Named, rank.LevelNamed: c.Weighty, rank.LevelWeak: c.TotalAny} {
			s.from[level] += min(max(n, 0), mostCounted)
		}
		s.open, s.inexact = s.open || t.Open, s.inexact || c.Inexact
	}
	type several struct{ sum, most, indexes [rank.LevelWhole + 1]int }
	copies := make(map[uint64]*several)
	for _, t := range tallies {
		for _, x := range t.Sessions {
			c := copies[x.ID]
			if c == nil {
				c = &several{}
				copies[x.ID] = c
			}
			n := 0
			for level := rank.LevelWhole; level >= rank.LevelWeak; level-- {
				if n += min(max(x.Hits[level-1], 0), mostCounted); n > 0 {
					c.sum[level] += n
					c.most[level] = max(c.most[level], n)
					c.indexes[level]++
				}
			}
		}
	}
	for _, c := range copies {
		for level := range c.sum {
			s.from[level] -= c.sum[level] - c.most[level]
		}
		s.copied = s.copied || c.indexes[rank.LevelWeak] > 1
	}
	for level := range s.from {
		s.from[level] = max(s.from[level], 0)
	}
	c := s.counts()
	s.least = opt.LeastOf(&c, s.open)
	for _, t := range tallies {
		whole, listed := min(max(t.Counts.TotalSessions, 0), mostCounted), min(max(t.Counts.ListedSessions, 0), mostCounted)
		s.sessions[rank.LevelWhole] += whole
		if own := opt.LeastOf(&t.Counts, t.Open); s.least < rank.LevelWhole && own >= s.least { // else it lists none of them
			s.sessions[s.least] += listed
		}
	}
	for _, c := range copies {
		for _, level := range slices.Compact([]rank.Level{s.least, rank.LevelWhole}) {
			s.sessions[level] = max(0, s.sessions[level]-max(0, c.indexes[level]-1))
		}
	}
	return s
}

// counts returns the sums in the form of the counts of one index.
func (s *totals) counts() rank.Counts {
	c := rank.Counts{
		Total: s.from[rank.LevelWhole], Parts: s.from[rank.LevelParts] - s.from[rank.LevelWhole], Weighty: s.from[rank.LevelNamed], TotalAny: s.from[rank.LevelWeak],
		Similar: s.from[rank.LevelSimilar] - s.from[rank.LevelWeighty], Named: s.from[rank.LevelNamed] - s.from[rank.LevelSimilar],
		Listed: s.from[s.least], TotalSessions: s.sessions[rank.LevelWhole], ListedSessions: s.sessions[s.least], Inexact: s.inexact || s.copied,
	}
	c.Weak = s.opt.WeakOf(&c)
	return c
}

// count counts the hits themselves if all of them are there, so that copies count once.
func (s *totals) count(all []*found, flat bool) {
	s.copied = false
	for _, level := range slices.Compact([]rank.Level{s.least, rank.LevelWhole}) {
		hits, sessions := 0, 0
		for _, x := range all {
			n := len(slices.DeleteFunc(slices.Clone(x.hits), func(h search.Hit) bool { return h.Place.Level < level }))
			if hits += n; n > 0 {
				sessions++
			}
		}
		if s.from[level] = hits; !flat {
			s.sessions[level] = sessions
		}
	}
}

// meant returns the suggestion of the hosts. One that has the id that a word is suggests
// nothing for it.
func meant(answers []*search.Response) string {
	text := ""
	for i, a := range answers {
		switch {
		case i == 0 || text != "" && a.DidYouMean == "" && a.TotalAny > 0:
			text = a.DidYouMean
		case text == "" && answers[0].TotalAny == 0:
			text = a.DidYouMean
		}
	}
	return text
}

// explain joins what the indexes say about why no hit has all words.
func explain(m *search.Response, query string, answers []*search.Response) {
	var unknown [][]string
	var removed []search.Removed
	for _, r := range answers {
		if r.Tally != nil {
			unknown = append(unknown, r.Tally.Unknown)
		}
		if m.TotalAny == 0 || r.TotalAny > 0 {
			removed = append(removed, first(r.Removed, mostSaid)...)
		}
	}
	m.Words = sumWords(query, answers)
	switch {
	case m.TotalAny == 0:
		m.Warnings = append(m.Warnings, said(unknown)...)
		m.Removed = sumRemoved(query, removed)
	case m.Words != nil && !slices.ContainsFunc(m.Words, search.WordCount.Nowhere):
		m.Removed = sumRemoved(query, removed)
	}
	if len(m.Words) == 1 && m.Words[0].Parts == 0 && m.TotalAny == 0 && len(m.Removed) > 0 {
		m.Words = nil // as search says nothing of a single word without parts that the filters hide
	}
}

// nowhere returns the words that occur in none of the indexes, while hits have similar words.
func nowhere(query string, answers []*search.Response) []search.WordCount {
	// An answer without hits for other reasons says nothing about the words.
	answers = slices.DeleteFunc(slices.Clone(answers), func(a *search.Response) bool { return a.TotalAny == 0 && a.Words == nil && a.Removed == nil })
	absent := func(a *search.Response, word string) bool {
		return slices.ContainsFunc(a.Words, func(w search.WordCount) bool {
			return w.Word == word && w.Parts == 0 && (w.Nowhere() || len(w.Nearest) > 0)
		})
	}
	asked := lists.Map(answers, func(a *search.Response) *search.Response {
		return &search.Response{Words: slices.DeleteFunc(slices.Clone(a.Words), func(w search.WordCount) bool {
			return slices.ContainsFunc(answers, func(b *search.Response) bool { return !absent(b, w.Word) })
		})}
	})
	return sumWords(query, asked)
}

// sumWords adds up how often each word occurs. It returns nil if an index does not know.
func sumWords(query string, answers []*search.Response) (sum []search.WordCount) {
	for _, a := range answers {
		if n := len(a.Words); n > len(sum) {
			sum = make([]search.WordCount, n)
		}
	}
	written := make([]bool, len(sum)) // a text has the word, not only a similar one
	for _, a := range answers {
		if len(a.Words) == 0 && len(sum) == 1 {
			continue // it has nothing to say of a single word
		}
		if len(a.Words) != len(sum) {
			return nil
		}
		for i, w := range a.Words {
			s := &sum[i]
			s.Word = w.Word
			addUp(s, &w)
			s.Removed = append(s.Removed, first(w.Removed, mostSaid)...)
			s.Nearest = append(s.Nearest, first(w.Nearest, mostSaid)...)
			written[i] = written[i] || w.Hits > 0 && len(w.Nearest) == 0
		}
	}
	for i := range sum {
		s := &sum[i]
		removed, nearest := s.Removed, s.Nearest
		s.Removed, s.Nearest = nil, nil
		if s.Hits > 0 {
			s.Parts = 0
		} else {
			s.Removed = sumRemoved(query, removed)
		}
		alone := len(sum) == 1 // of a single word, search says both
		if s.Parts == 0 && (alone || len(s.Removed) == 0) && !written[i] {
			s.Nearest = search.Nearest(nearest, s.Word)
		}
	}
	return sum
}

// sumRemoved adds up what several indexes say of the same filters.
func sumRemoved(query string, removed []search.Removed) []search.Removed {
	all := newRows(func(sum, r *search.Removed) { sum.Hits += r.Hits })
	for _, r := range removed {
		all.add(r.Filter, r)
	}
	lists.SortStable(all.list, func(a, b search.Removed) int {
		return cmp.Compare(search.FilterOrder(query, a.Filter), search.FilterOrder(query, b.Filter))
	})
	return all.list
}
