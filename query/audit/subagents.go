package audit

import (
	"cmp"
	"slices"

	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/sessions"
)

// A subagent is a session that a tool of another session started. Extensions record its
// usage in up to two places: in its own session file, and in the result of the tool. If
// both have it, the session file counts, because it has the models and the times. The
// result counts only for usage that no session file has.

// families records which sessions are subagents, and how much of their usage the results
// of tools repeat. Sessions are numbered as the auditor numbers its files.
type families struct {
	parents  []int // -1 for sessions that are not subagents
	repeated map[result]session.Usage
}

// result is where an entry is.
type result struct {
	file   int
	offset int64
}

// listFamilies finds the subagents.
func (x *auditor) listFamilies() {
	number := make(map[uint32]int)
	for i := range x.files {
		number[x.files[i].File] = i
	}
	summaries := x.r.Summaries()
	lineage := sessions.NewLineage(x.r)
	parents, any := make([]int, len(x.files)), false
	for i := range parents {
		parents[i] = -1
	}
	for i := range summaries {
		s := &summaries[i]
		child := number[s.File]
		if parent := lineage.Parent(i); parent != nil && !isFork(s) {
			parents[child] = number[parent.File]
		} else if owner := lineage.Owner(i); owner >= 0 {
			parents[child] = number[summaries[owner].File]
		}
		any = any || parents[child] >= 0
	}
	if any {
		x.families.parents = parents
	}
}

// isFork reports whether a session began with entries of its parent: the file says so, or they
// are older than its header.
func isFork(s *session.Summary) bool {
	if s.Relation != session.Unrelated {
		return s.Relation != session.Spawned
	}
	return !s.Oldest.IsZero() && !s.Header.Timestamp.IsZero() && s.Oldest.Before(s.Header.Timestamp)
}

// root returns the session that a subagent works for in the end; for another session
// itself.
func (f *families) root(i int) int {
	for range f.parents { // parents can be a circle
		if f.parents[i] < 0 {
			break
		}
		i = f.parents[i]
	}
	return i
}

// spent is the usage of an entry of a family.
type spent struct {
	session.Usage
	at     int64 // Unix milliseconds
	of     result
	result bool // of a tool
}

// findRepeated finds the usage in tool results that the sessions of subagents also have.
// In order of time, each result repeats the usage of its session's subagents that no
// earlier result has repeated.
func (x *auditor) findRepeated() error {
	f := &x.families
	if f.parents == nil {
		return nil
	}
	member := make([]bool, len(x.files))
	for i, p := range f.parents {
		if p >= 0 {
			member[i], member[p] = true, true
		}
	}
	ids := slices.Clone(x.ids)
	for i := range x.files {
		if member[i] {
			x.files[i].shares = true // so that none of its uses is counted without a look at what others repeat
		} else {
			ids[i] = segment.NoFile
		}
	}
	var list []spent
	var seen entrySet
	err := x.visitPieces(x.facts.All(ids), func(file *file, p *record.Piece) error {
		u := &p.Usages
		for k := range u.Len {
			if seen.add(uint64(u.Copy.At(k))) {
				list = append(list, spent{u.At(k), file.millis(u.Time.At(k)), result{p.File, u.Offset.At(k)}, u.Source.At(k) == session.RoleToolResult})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	lists.SortStable(list, func(a, b spent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.of.file, a.of.file)) // a subagent is younger
	})
	left := make(map[int]session.Usage) // what subagents have spent, by the session they work for
	f.repeated = make(map[result]session.Usage)
	for i := range list {
		s := &list[i]
		if s.result {
			if again := leastUsage(s.Usage, left[s.of.file]); again.Tokens() > 0 || again.Cost > 0 {
				f.repeated[s.of] = again
				left[s.of.file] = minus(left[s.of.file], again)
				s.Usage = minus(s.Usage, again)
			}
		}
		at := s.of.file
		for range f.parents { // parents can be a circle
			if at = f.parents[at]; at < 0 || at == s.of.file {
				break
			}
			left[at] = plus(left[at], s.Usage)
		}
	}
	return nil
}

// ownUsage returns usage i of a file without the part that sessions of subagents also have, and
// whether they have some of it, or all.
func (f *families) ownUsage(u *record.Usages, i int, file int) (use session.Usage, some, all bool) {
	use = u.At(i)
	if len(f.repeated) == 0 {
		return use, false, false
	}
	again, ok := f.repeated[result{file, u.Offset.At(i)}]
	if !ok {
		return use, false, false
	}
	use = minus(use, again)
	return use, true, use.Tokens() == 0 && use.Cost < 1e-9 // a sum of costs can differ in its last digits
}

func plus(a, b session.Usage) session.Usage {
	return combined(a, b, func(a, b int64) int64 { return a + b }, a.Cost+b.Cost)
}

func minus(a, b session.Usage) session.Usage {
	return combined(a, b, func(a, b int64) int64 { return a - b }, max(0, a.Cost-b.Cost))
}

func leastUsage(a, b session.Usage) session.Usage {
	return combined(a, b, func(a, b int64) int64 { return min(a, b) }, min(a.Cost, b.Cost))
}

// combined combines the figures of two uses, and has the rest of the first.
func combined(a, b session.Usage, each func(a, b int64) int64, cost float64) session.Usage {
	a.Input, a.Output = each(a.Input, b.Input), each(a.Output, b.Output)
	a.CacheRead, a.CacheWrite = each(a.CacheRead, b.CacheRead), each(a.CacheWrite, b.CacheWrite)
	a.Cost = cost
	return a
}

// adopt makes filters on sessions test the session that a subagent works for.
func (x *auditor) adopt() {
	if x.families.parents == nil {
		return
	}
	own := make([]bool, len(x.files))
	for i := range x.files {
		own[i] = x.files[i].wanted
	}
	x.coverage = Coverage{}
	for i := range x.files {
		f := &x.files[i]
		f.wanted = own[x.families.root(i)]
		x.cover(f)
	}
}
