package query

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/filter"
	"pigrep/query/syntax"
)

// fewProjects is how many projects are listed when none is like the one that was asked
// for.
const fewProjects = 6

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

// projects returns the projects that a request is restricted to, by its filters and by
// the fields of its text.
func (r *Request) projects(fields []*syntax.Field) []string {
	names := slices.Clone(r.Projects)
	for _, f := range fields {
		if f.Name == "project" {
			names = append(names, f.Values()...)
		}
	}
	return names
}
