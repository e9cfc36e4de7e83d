package merge

import (
	"cmp"
	"slices"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// A Fork is a session on another host than its parent. Sessions have the numbers of their hosts,
// and their identities.
type Fork struct {
	Host, ParentHost int
	Session, Parent  uint64
}

// Forks returns the forks whose parents are on another host.
func Forks(hosts [][]search.Identity) (forks []Fork) {
	type place struct {
		host int
		id   uint64
	}
	var named map[uint32][]place // by their possible names
	for i, list := range hosts {
		for _, s := range list {
			if len(s.Parent) == 0 {
				continue
			}
			if named == nil {
				named = make(map[uint32][]place)
				for k, others := range hosts {
					for _, o := range others {
						id := uint32(o.Hash >> 32)
						if named[id] = append(named[id], place{k, o.Hash}); o.Name != 0 && o.Name != id {
							named[o.Name] = append(named[o.Name], place{k, o.Hash})
						}
					}
				}
			}
			for _, name := range first(s.Parent, mostSaid) {
				parents := first(named[name], mostSaid)
				if slices.ContainsFunc(parents, func(p place) bool { return p.host == i && p.id != s.Hash }) {
					break
				}
				at := slices.IndexFunc(parents, func(p place) bool { return p.host != i && p.id != s.Hash })
				if at >= 0 {
					forks = append(forks, Fork{i, parents[at].host, s.Hash, parents[at].id})
					break
				}
			}
		}
	}
	return forks
}

// Kin adds to sessions those of which they are forks on other hosts, or that are forks of them.
func Kin(forks []Fork, known []uint64) []uint64 {
	known = slices.Clone(known)
	for _, f := range forks {
		for _, x := range [][2]uint64{{f.Session, f.Parent}, {f.Parent, f.Session}} {
			if slices.Contains(known, x[0]) && !slices.Contains(known, x[1]) {
				known = append(known, x[1])
			}
		}
	}
	return known
}

// Common returns for each host the entries that another one has too, and of these the ones that
// another one has in an older session.
func Common(hosts [][]sessions.Entries) (common, lost [][]uint64) {
	type owner struct {
		host    int
		session *sessions.Entries
		several bool
	}
	owners := make(map[uint64]owner)
	for i, list := range hosts {
		for k := range list {
			s := &list[k]
			for _, copy := range s.Copies {
				o, ok := owners[copy]
				several := o.several || ok && o.host != i
				if !ok || cmp.Or(session.CompareStarts(s.Started, o.session.Started), cmp.Compare(s.Path, o.session.Path)) < 0 {
					o.host, o.session = i, s
				}
				o.several = several
				owners[copy] = o
			}
		}
	}
	common, lost = make([][]uint64, len(hosts)), make([][]uint64, len(hosts))
	for i, list := range hosts {
		for _, s := range list {
			for _, copy := range s.Copies {
				if o := owners[copy]; o.several {
					if common[i] = append(common[i], copy); o.host != i {
						lost[i] = append(lost[i], copy)
					}
				}
			}
		}
		for _, set := range []*[]uint64{&common[i], &lost[i]} {
			slices.Sort(*set)
			*set = first(slices.Compact(*set), mostCommon)
		}
	}
	return common, lost
}

// lostHits returns for each answer the hits that are copies of better ones, or of ones in older
// sessions, on other hosts.
func lostHits(answers []*search.Part) [][]rank.Copied {
	type winner struct {
		*rank.Common
		level rank.Level
		host  int
	}
	best, lost := make(map[rank.Copied]winner), make([][]rank.Copied, len(answers))
	each := func(visit func(host int, of *rank.Common, h *rank.CommonHit)) {
		for i, p := range answers {
			for k := 0; p != nil && k < len(p.Common); k++ {
				for j := range p.Common[k].Hits {
					visit(i, &p.Common[k], &p.Common[k].Hits[j])
				}
			}
		}
	}
	each(func(host int, of *rank.Common, h *rank.CommonHit) {
		if b, ok := best[h.Copied]; !ok || of.Compare(h.Level, b.Common, b.level) < 0 {
			best[h.Copied] = winner{of, h.Level, host}
		}
	})
	each(func(host int, _ *rank.Common, h *rank.CommonHit) {
		if best[h.Copied].host != host {
			lost[host] = append(lost[host], h.Copied)
		}
	})
	return lost
}

// Weigh merges what several indexes say of terms.
func Weigh(req *similar.Weighing, list []*similar.Weighed) *similar.Weighed {
	m := &similar.Weighed{
		Relatives: similar.Relatives{Path: req.Path, Known: relatives(list)}, Others: make([]int, len(req.Counted)),
		About: about(list, func(w *similar.Weighed) *search.About { return &w.About }),
	}
	for _, w := range list {
		m.Statistics.Add(&w.Statistics)
		m.Sessions += min(w.Sessions, mostSessions)
		for i, n := range w.Others[:min(len(w.Others), len(m.Others))] {
			m.Others[i] += min(max(n, 0), mostSessions)
		}
	}
	return m
}

// How many sessions of a host count, how many relatives of a session, and of how many entries it is
// known that several hosts have them.
const (
	mostSessions  = 1 << 30
	mostRelatives = 10_000
	mostCommon    = 100_000
)

func relatives(list []*similar.Weighed) (known []uint64) {
	for _, w := range list {
		known = append(known, first(w.Known, mostRelatives)...)
	}
	slices.Sort(known)
	return first(slices.Compact(known), mostRelatives)
}

// AgainWeigh is Again for terms: hosts may have relatives of those that others know.
func AgainWeigh(req *similar.Weighing, list []*similar.Weighed) []*similar.Weighing {
	again, known := make([]*similar.Weighing, len(list)), relatives(list)
	for i, w := range list {
		if slices.ContainsFunc(known, func(id uint64) bool { return !slices.Contains(w.Known, id) }) {
			more := *req
			more.Known = known
			again[i] = &more
		}
	}
	return again
}

// Compare merges sessions that are like one.
func Compare(req *similar.Comparison, list []*similar.Compared) *similar.Compared {
	m := &similar.Compared{Found: Search(&req.Request, compared(list))}
	for _, c := range list {
		m.Known = append(m.Known, c.Known...)
	}
	return m
}

func compared(list []*similar.Compared) []*search.Response {
	return lists.Map(list, func(c *similar.Compared) *search.Response { return cmp.Or(c.Found, &search.Response{}) })
}

// AgainCompare is Again for them.
func AgainCompare(req *similar.Comparison, list []*similar.Compared) []*similar.Comparison {
	return agreed(req, Again(&req.Request, compared(list)), func(r *similar.Comparison) *search.Joint { return &r.Joint })
}
