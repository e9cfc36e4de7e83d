package query

import (
	"cmp"
	"slices"
	"time"
)

// byTime returns the groups, or when flat the one group, with the newest or the
// oldest hits, in order. Of the hits, those that lack nothing count; only when
// there are none, all. It looks at the sessions in the order of their last, or
// first, entries and stops at those that cannot have anything that belongs
// before what was found: of most sessions it reads nothing.
func (s *searcher) byTime(groups []sessionGroup, limit, per int, whole bool) ([]sessionGroup, []int32, error) {
	ofFile := make(map[int32][]int32)
	for i, c := range s.found.all() {
		if c.dropped {
			continue
		}
		if v := s.judge.of(c.mask, c.weak); v.hit && (v.whole || !whole) {
			ofFile[c.file] = append(ofFile[c.file], i)
		}
	}
	order := make([]int32, 0, len(ofFile))
	for at := range ofFile {
		order = append(order, at)
	}
	sign := int64(-1)
	if s.req.Sort == SortOldest {
		sign = 1
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(sign*s.bound(a), sign*s.bound(b)), cmp.Compare(a, b))
	})

	type timed struct {
		at int64
		i  int32
	}
	compare := func(a, b timed) int {
		x, y := s.resolve(s.found.at(a.i)), s.resolve(s.found.at(b.i))
		if d := cmp.Or(cmp.Compare(sign*a.at, sign*b.at), cmp.Compare(x.file, y.file)); d != 0 {
			return d
		}
		return cmp.Or(int(sign)*cmp.Compare(x.offset, y.offset), cmp.Compare(x.part, y.part))
	}
	var flat []timed              // when flat
	var kept []sessionGroup       // else; in order
	var firsts []timed            // of each of kept, its first hit
	full := func(at int32) bool { // nothing of this session can come before what there is
		last := flat
		if !s.req.Flat {
			last = firsts
		}
		return len(last) >= limit && cmp.Compare(sign*last[limit-1].at, sign*s.bound(at)) < 0
	}
	for _, at := range order {
		if err := s.ctx.Err(); err != nil {
			return nil, nil, err
		}
		if full(at) {
			break
		}
		var list []timed
		for _, i := range ofFile[at] {
			c := s.resolve(s.found.at(i))
			ms, err := s.timeOf(at, s.segs[c.segment], c.offset)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, timed{ms, i})
		}
		slices.SortFunc(list, compare)
		if s.req.Flat {
			flat = append(flat, list[:min(limit, len(list))]...)
			slices.SortFunc(flat, compare)
			flat = flat[:min(limit, len(flat))]
			continue
		}
		g := groups[at]
		g.file, g.top, g.score = at, nil, float64(s.found.at(list[0].i).score)
		for _, t := range list[:min(per, len(list))] {
			g.top = append(g.top, t.i)
		}
		n, _ := slices.BinarySearchFunc(firsts, list[0], compare)
		firsts, kept = slices.Insert(firsts, n, list[0]), slices.Insert(kept, n, g)
		firsts, kept = firsts[:min(limit, len(firsts))], kept[:min(limit, len(kept))]
	}
	var hits []int32
	for _, t := range flat {
		hits = append(hits, t.i)
	}
	return kept, hits, nil
}

// bound returns a time, in Unix milliseconds, that no entry of the file is after,
// or when the oldest are wanted, before.
func (s *searcher) bound(at int32) int64 {
	f := &s.files[at]
	edge := f.Newest
	if s.req.Sort == SortOldest {
		edge = f.Oldest
	}
	// Entries without any time have that of the file.
	if mtime := time.Unix(0, f.Mtime); edge.IsZero() || f.Timestamp.IsZero() && edge.Before(mtime) == (s.req.Sort == SortNewest) {
		edge = mtime
	}
	return edge.UnixMilli()
}
