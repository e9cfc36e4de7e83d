package query

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/scope"
)

// Facet is a value that a field of the query language can usefully be set to.
type Facet struct {
	Field string
	Value string
	Count int    // of Unit that have it; 0 when nobody counted
	Unit  string // "session" or "part"
}

// facetTimes are the times that after: is most often set to.
var facetTimes = []string{"today", "yesterday", "1w", "2w", "1mo", "3mo", "1y"}

// Facets lists what the fields that divide an index well can be set to: kinds in
// the order of their table, tools and models the most frequent first, projects
// the latest first. It reads no session records and no text.
func Facets(r *index.Reader) ([]Facet, error) {
	var list []Facet
	for _, row := range scope.Kinds {
		list = append(list, Facet{Field: "kind", Value: string(row.Kind)})
	}
	tools := make(map[string]int)
	for _, s := range r.Segments() {
		err := s.Terms(index.FieldTool, nil, func(term []byte, count int) bool {
			tools[string(term)] += count
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	list = append(list, byCount("tool", "part", tools)...)
	list = append(list, projectFacets(r.Summaries())...)
	models := make(map[string]int)
	for i := range r.Summaries() {
		for _, m := range r.Summaries()[i].Models {
			models[m[strings.LastIndexByte(m, '/')+1:]]++
		}
	}
	list = append(list, byCount("model", "session", models)...)
	for _, t := range facetTimes {
		list = append(list, Facet{Field: "after", Value: t})
	}
	for _, b := range []string{BranchActive, BranchAbandoned} {
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

// projectFacets lists the last elements of the directories of sessions.
func projectFacets(sessions []session.Summary) []Facet {
	counts := make(map[string]int)
	latest := make(map[string]time.Time)
	for i := range sessions {
		s := &sessions[i]
		name := path.Base(slashed(s.CWD))
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

// SetField returns the text of a query in which the field has this value, in
// place of the one it had, or behind the rest. With a value that it has already,
// or "", the field is taken out.
func SetField(text, name, value string) string {
	field := &Field{Name: name, Value: value, Quoted: needsQuotes(name, value)}
	had, ok := topField(text, name)
	if !ok {
		if value == "" {
			return text
		}
		return strings.TrimSpace(strings.TrimRight(text, " ") + " " + field.String())
	}
	before, after := text[:had.Start], text[had.End:]
	if value == "" || had.Value == value {
		before, after = strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
		if rest, ok := strings.CutSuffix(before, " AND"); ok {
			before = rest
		} else {
			after = strings.TrimPrefix(after, "AND ")
		}
		return strings.TrimSpace(before + " " + after)
	}
	return before + field.String() + after
}

// FieldValue returns what a field is set to for the whole query; "" for nothing.
func FieldValue(text, name string) string {
	f, ok := topField(text, name)
	if !ok {
		return ""
	}
	return f.Value
}

// topField finds the first field of this name that holds for the whole query.
func topField(text, name string) (*Field, bool) {
	if strings.ToValidUTF8(text, "\uFFFD") != text {
		return nil, false // places in it would be others
	}
	root, _ := Parse(text)
	items := []Node{root}
	switch n := root.(type) {
	case *List:
		items = n.Items
	case *And:
		items = n.Items
	}
	for _, item := range items {
		if f, ok := item.(*Field); ok && f.Name == name {
			return f, true
		}
	}
	return nil, false
}

// needsQuotes reports whether a field with this value has to be written with
// quotes to be read back as it is.
func needsQuotes(name, value string) bool {
	root, _ := Parse(name + ":" + value)
	f, ok := root.(*Field)
	return !ok || f.Value != value
}
