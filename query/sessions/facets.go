package sessions

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
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
	list = append(list, projectFacets(r.Summaries())...)
	agents, models := make(map[string]int), make(map[string]int)
	for i := range r.Summaries() {
		if s := &r.Summaries()[i]; s.IsSession() {
			agents[session.ShortAgent(s.Agent)]++
		}
		for _, m := range r.Summaries()[i].Models {
			models[m[strings.LastIndexByte(m, '/')+1:]]++
		}
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
	slices.SortFunc(list, func(a, b Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return list
}

// projectFacets lists the base names of the working directories of sessions.
func projectFacets(sessions []session.Summary) []Facet {
	counts := make(map[string]int)
	latest := make(map[string]time.Time)
	for i := range sessions {
		s := &sessions[i]
		name := path.Base(session.Slashed(s.CWD))
		if s.CWD == "" || name == "/" {
			continue
		}
		counts[name]++
		if at := s.Modified(); at.After(latest[name]) {
			latest[name] = at
		}
	}
	list := byCount("project", "session", counts)
	slices.SortStableFunc(list, func(a, b Facet) int { return latest[b.Value].Compare(latest[a.Value]) })
	return list
}
