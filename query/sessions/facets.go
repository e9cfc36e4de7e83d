package sessions

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/scope"
)

// Facet is a useful value of a field of the query language.
type Facet struct {
	Field string
	Value string
	Count int    // how many of Unit have it; 0: not counted
	Unit  string // "session" or "part"
}

// facetTimes are the usual values of after:.
var facetTimes = []string{"today", "yesterday", "1w", "2w", "1mo", "3mo", "1y"}

// Facets lists useful values of fields: kinds in the order of their table, tools, agents
// and models by descending count, projects by their latest activity. It reads no session
// records and no text.
func Facets(r *index.Reader) ([]Facet, error) {
	var list []Facet
	for _, row := range scope.Kinds {
		list = append(list, Facet{Field: "kind", Value: string(row.Kind)})
	}
	tools := make(map[string]int)
	for _, s := range r.Segments() {
		err := s.Terms(segment.FieldTool, nil, func(term []byte, count int) bool {
			tools[string(term)] += count
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	list = append(list, byCount("tool", "part", tools)...)
	hosts, agents, models, projects := make(map[string]int), make(map[string]int), make(map[string]int), make(map[string]int)
	latest := make(map[string]time.Time) // activity in a project
	lineage := NewLineage(r)
	for i := range r.Summaries() {
		if lineage.Head(i) != i || r.Summaries()[i].Notes {
			continue
		}
		s, listed := lineage.Whole(i), 0 // what only subagents have is not counted
		if s.IsSession() && lineage.Listed(i) {
			listed = 1
		}
		agents[session.ShortAgent(s.Agent)] += listed
		hosts[filter.HostOf(s, "")] += listed
		names := make([]string, 0, 4)
		for _, m := range s.Models {
			names = append(names, m[strings.LastIndexByte(m, '/')+1:])
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			models[name] += listed
		}
		if name := path.Base(session.Slashed(s.CWD)); s.CWD != "" && name != "/" {
			projects[name] += listed
			if at := s.Modified(); at.After(latest[name]) {
				latest[name] = at
			}
		}
	}
	inOrder := byCount("project", "session", projects)
	lists.SortStable(inOrder, func(a, b Facet) int { return latest[b.Value].Compare(latest[a.Value]) })
	list = append(list, inOrder...)
	if len(hosts) > 1 {
		list = append(list, byCount(filter.Host, "session", hosts)...)
	}
	if len(agents) > 1 {
		list = append(list, byCount("agent", "session", agents)...)
	}
	list = append(list, byCount("model", "session", models)...)
	for _, t := range facetTimes {
		list = append(list, Facet{Field: "after", Value: t})
	}
	for _, b := range []string{entry.BranchActive, entry.BranchAbandoned} {
		list = append(list, Facet{Field: "branch", Value: b})
	}
	return list, nil
}

func byCount(field, unit string, counts map[string]int) []Facet {
	var list []Facet
	for v, n := range counts {
		if v != "" {
			list = append(list, Facet{field, v, n, unit})
		}
	}
	lists.Sort(list, func(a, b Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return list
}
