package query

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/filter"
	"pigrep/query/syntax"
)

// fewProjects is how many projects are listed when none is like the one that was asked
// for.
const fewProjects = 6

// mostKeywords is how many tools or roles are listed.
const mostKeywords = 12

// UnknownProjects says, in a sentence for each, which of the named projects no session is
// of, and which projects are like it.
func UnknownProjects(sessions []session.Summary, names []string) (list []string) {
	var projects []string
	for i := range sessions {
		if name := path.Base(session.Slashed(sessions[i].CWD)); sessions[i].CWD != "" && name != "/" {
			projects = append(projects, name)
		}
	}
	slices.Sort(projects)
	projects = slices.Compact(projects)
	for _, name := range names {
		of := (&filter.Spec{Projects: []string{name}}).Compile()
		if slices.ContainsFunc(sessions, func(s session.Summary) bool { return of.Session(&s) }) {
			continue
		}
		base := path.Base(strings.TrimRight(session.Slashed(name), "/"))
		like := near.Nearest(projects, base)
		if len(like) == 0 {
			like = slices.DeleteFunc(slices.Clone(projects), func(p string) bool { return !near.ContainsFold(p, base) && !near.ContainsFold(base, p) })
		}
		text := fmt.Sprintf("no project %s", name)
		switch {
		case 0 < len(like) && len(like) <= fewProjects:
			text += "; projects like it: " + strings.Join(like, ", ")
		case 0 < len(projects) && len(projects) <= fewProjects:
			text += "; the projects are " + strings.Join(projects, ", ")
		}
		list = append(list, text)
	}
	return list
}

// unknownKeywords says, in a sentence for each, which of the values of a field no text has.
func unknownKeywords(r *index.Reader, name string, field segment.Field, values []string) (list []string, err error) {
	if len(values) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, s := range r.Segments() {
		err := s.Terms(field, nil, func(term []byte, _ int) bool {
			known[string(term)] = true
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	names := slices.Sorted(maps.Keys(known))
	for _, v := range values {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, v) }) {
			continue
		}
		text := fmt.Sprintf("no %s %s", name, v)
		if len(names) > 0 && len(names) <= mostKeywords {
			text += fmt.Sprintf("; the %ss are %s", name, strings.Join(names, ", "))
		} else if like := near.Nearest(names, v); len(like) > 0 {
			text += fmt.Sprintf("; %ss like it: %s", name, strings.Join(like, ", "))
		}
		list = append(list, text)
	}
	return list, nil
}

// named returns the values that a request is restricted to, by a filter and by the fields of
// its text.
func named(field string, filter []string, fields []*syntax.Field) []string {
	names := slices.Clone(filter)
	for _, f := range fields {
		if f.Name == field {
			names = append(names, f.Values()...)
		}
	}
	return names
}
