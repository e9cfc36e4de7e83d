package merge

import (
	"cmp"
	"slices"

	"pigrep/internal/lists"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
)

// Again returns for each answer the request with which its host must be asked again, nil if
// the answer stays as it is, because it is what the hosts decide together. After the answers to
// these requests, others may have to be asked: at most Rounds times.
func Again(req *search.Request, answers []*search.Response) []*search.Request {
	opt := req.Options()
	least, _ := level(&opt, answers)
	again := make([]*search.Request, len(answers))
	lost := lostHits(lists.Map(answers, func(r *search.Response) *search.Part { return r.Part }))
	ask := func(i int, agreed rank.Agreed) {
		agreed.Lost = lost[i]
		more := *req
		more.Agreed = &agreed
		again[i] = &more
	}
	settled := true
	shares := make([]*rank.Share, len(answers))
	for i, a := range answers {
		if p := a.Part; p != nil {
			if shares[i] = p.Share; p.Lost != len(lost[i]) || !p.Counts.Lists(least) {
				ask(i, rank.Agreed{Least: least})
				settled = false
			}
		}
	}
	if !settled {
		return again
	}
	agreed := rank.Agree(least, shares)
	best := -1
	for i, s := range shares {
		if s == nil || len(s.Top) == 0 {
			continue
		}
		if s.Ranked != agreed[i].Ranked || s.Read > agreed[i].Read || s.WantsLatest && !s.Agreed {
			ask(i, agreed[i])
			settled = false
		}
		if s.WantsLatest && (best < 0 || s.Best > shares[best].Best) {
			best = i
		}
	}
	for i, s := range shares {
		if settled && s != nil && s.Last && i != best {
			agreed[i].NotLast = true
			ask(i, agreed[i])
		}
	}
	return again
}

// Rounds is how often hosts are asked again at most: for copies that other hosts have, for the
// level of the hits, for what the second stage ranks, and for the last word.
const Rounds = 4

// level returns the least level of hits that are listed, and the sum of all counts.
func level(opt *rank.Options, answers []*search.Response) (rank.Level, search.Counts) {
	var list []search.Counts
	open := false
	for _, a := range answers {
		if p := a.Part; p != nil {
			list = append(list, p.Counts)
			open = open || p.Open
		}
	}
	sum := opt.Sum(list)
	return opt.LeastOf(&sum, open), sum
}

// Search merges the answers of several hosts to a request that all were asked with the same
// Request.Shared. What it makes shares memory with them.
func Search(req *search.Request, answers []*search.Response) *search.Response {
	opt := req.Options()
	_, sum := level(&opt, answers)
	m := &search.Response{
		SessionTotal: sum.ListedSessions, Total: sum.Total, TotalIn: sum.TotalSessions, TotalAny: sum.TotalAny,
		Weak: sum.Weak, Folded: sum.Folded(), TotalIsExact: !sum.Inexact,
	}
	m.About = about(answers, func(r *search.Response) *search.About { return &r.About })
	for _, r := range answers {
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
		m.Unreadable += r.Unreadable
		m.Searches += r.Searches
		m.Late = m.Late || r.Late
	}
	shown := 0
	if req.Flat {
		compare := func(a, b *search.Hit) int { return a.Place.Compare(b.Place, req.Sort) }
		m.Hits = first(ordered(lists.Map(answers, hitsOf), compare), opt.Limit)
		shown = len(m.Hits)
	} else {
		addSessions(m, &opt, answers)
		shown = len(m.Sessions)
	}
	if shown >= opt.Limit {
		m.Searches = 0
	}
	for i := range m.Hits {
		m.Hits[i].Rank = i + 1
		m.Hits[i].Place = nil
	}
	m.DidYouMean = meant(answers)
	if m.Total == 0 {
		explain(m, req.Text, answers)
	}
	return m
}

// hitsOf returns the hits of a host. Those without a place, which only a host that breaks the
// rules sends, come last.
func hitsOf(r *search.Response) []search.Hit {
	list := slices.Clone(r.Hits)
	for i := range list {
		if list[i].Place == nil {
			list[i].Place = &rank.Place{}
		}
	}
	return list
}

// A found is a session of an answer with its hits.
type found struct {
	search.SessionHit
	hits  []search.Hit
	first rank.Place // of its hits
}

// addSessions adds the best sessions of all hosts, with their best hits.
func addSessions(m *search.Response, opt *rank.Options, answers []*search.Response) {
	var best []rank.Place
	for _, a := range answers {
		if p := a.Part; p != nil {
			best = append(best, p.Best...)
		}
	}
	slices.SortStableFunc(best, func(a, b rank.Place) int { return a.Compare(&b, rank.Relevance) })
	best = best[:min(rank.ShownBest, len(best))]
	compare := func(a, b *found) int {
		if opt.Sort != rank.Relevance {
			return a.first.Compare(&b.first, opt.Sort)
		}
		return cmp.Or(cmp.Compare(b.Part.Score, a.Part.Score), cmp.Compare(b.Part.Newest, a.Part.Newest), cmp.Compare(a.Part.Path, b.Part.Path))
	}
	for _, x := range first(ordered(lists.Map(answers, foundBy), compare), opt.Limit) {
		hits := cut(&x, opt.PerSession, best)
		x.SessionHit.Part = nil
		m.Hits, m.Sessions = append(m.Hits, hits...), append(m.Sessions, x.SessionHit)
	}
}

// foundBy returns the sessions that a host found.
func foundBy(r *search.Response) (list []found) {
	hits := hitsOf(r)
	for _, s := range r.Sessions {
		x := found{SessionHit: s}
		if x.Part == nil {
			x.Part = &search.SessionPart{}
		}
		n := min(max(x.Part.Hits, 0), len(hits))
		if x.hits, hits = hits[:n], hits[n:]; n > 0 {
			x.first = *x.hits[0].Place
			list = append(list, x)
		}
	}
	return list
}

// cut leaves the hits of a session that it has among those of all hosts, as
// search.Run selects them: so many of each session, and those among the best of all.
func cut(x *found, most int, best []rank.Place) []search.Hit {
	if most >= rank.All || len(x.Part.Shown) == 0 {
		return x.hits
	}
	wanted := most
	for _, p := range x.Part.Best {
		if !slices.Contains(best, p) {
			break
		}
		wanted++
	}
	kept := 0
	alike := make([]int, len(x.hits))
	for i, n := range x.Part.Shown {
		if i >= wanted && kept >= most || n > kept || kept > len(x.hits) {
			break
		}
		if n == kept {
			kept = min(kept+1, len(x.hits))
		} else if n >= 0 {
			alike[n]++
		}
	}
	hits := x.hits[:kept]
	for i := range hits {
		hits[i].NearDuplicates = alike[i]
		hits[i].MoreDuplicates = hits[i].MoreDuplicates && alike[i] > 0
	}
	return hits
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

// explain says why no hit has all words, from what each host says.
func explain(m *search.Response, query string, answers []*search.Response) {
	var unknown [][]string
	var variants, required [][]search.Variant
	for _, a := range answers {
		if p := a.Part; p != nil {
			unknown = append(unknown, p.Unknown)
			variants, required = append(variants, p.Variants), append(required, p.Required)
		}
	}
	m.Words = sumWords(query, answers)
	switch {
	case m.TotalAny == 0:
		m.Warnings = append(m.Warnings, said(unknown)...)
		m.Removed = search.RemovedOf(sumVariants(variants), search.WithAny)
	case m.Words != nil && !slices.ContainsFunc(m.Words, search.WordCount.Nowhere):
		m.Removed = search.RemovedOf(sumVariants(required), search.WithAll)
	}
	if len(m.Words) == 1 && m.Words[0].Parts == 0 && m.TotalAny == 0 && len(m.Removed) > 0 {
		m.Words = nil // as search says nothing of a single word without parts that the filters hide
	}
}

// sumVariants adds up what several hosts would find without each filter.
func sumVariants(lists [][]search.Variant) []search.Variant {
	opt := rank.Options{}
	all := newRows(func(sum, v *search.Variant) { sum.Counts = opt.Sum([]search.Counts{sum.Counts, v.Counts}) })
	for _, list := range lists {
		for _, v := range first(list, mostSaid) {
			v.Counts = opt.Sum([]search.Counts{v.Counts})
			all.add(v.Filter, v)
		}
	}
	return all.list
}

// sumWords adds up how often each word occurs; nil if a host does not know.
func sumWords(query string, answers []*search.Response) (sum []search.WordCount) {
	for _, a := range answers {
		if n := len(a.Words); n > len(sum) {
			sum = make([]search.WordCount, n)
		}
	}
	written := make([]bool, len(sum)) // a text has the word, not only a similar one
	for _, a := range answers {
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

// sumRemoved adds up what several hosts say of the same filters.
func sumRemoved(query string, removed []search.Removed) []search.Removed {
	variants := lists.Map(removed, func(r search.Removed) search.Variant {
		return search.Variant{Filter: r.Filter, Counts: search.Counts{Total: r.Hits}}
	})
	variants = sumVariants(slices.Collect(slices.Chunk(variants, mostSaid)))
	lists.SortStable(variants, func(a, b search.Variant) int {
		return cmp.Compare(search.FilterOrder(query, a.Filter), search.FilterOrder(query, b.Filter))
	})
	return search.RemovedOf(variants, search.WithAll)
}
