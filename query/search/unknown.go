package search

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
)

// fewProjects is how many projects are listed when none is like the one that was asked
// for.
const fewProjects = 6

// mostKeywords is how many tools, roles or models are listed.
const mostKeywords = 12

// Unknown says, in a sentence for each, which values of filters nothing in the index has, and
// which it has or are like it. The fields are those of the query.
func Unknown(r *index.Reader, spec *filter.Spec, fields []*syntax.Field) (list []string, err error) {
	if r.IsExcerpt() { // others may have them
		return nil, nil
	}
	if names := named("project", spec.Projects, fields); len(names) > 0 { // else no summary is decoded
		list = append(list, unknownProjects(r.Summaries(), names)...)
	}
	agents := r.Table().Agents()
	list = append(list, unknown("sessions of an agent", named("agent", spec.Agents, fields),
		func(name string) bool {
			return slices.ContainsFunc(agents, func(a string) bool { return strings.EqualFold(a, name) })
		},
		func(string) string { return these("the agents are", agents, math.MaxInt) })...)
	if names := named("session", spec.Sessions, fields); len(names) > 0 {
		sessions := r.Summaries()
		ids := lists.Map(sessions, func(s session.Summary) string { return s.ID })
		list = append(list, unknown("session", names,
			func(name string) bool { return anyPasses(sessions, filter.Spec{Sessions: []string{name}}) },
			func(name string) string { return these("sessions like it:", near.Nearest(ids, name), math.MaxInt) })...)
	}
	for _, k := range []keywords{
		{"role", segment.FieldRole, spec.Roles, strings.EqualFold},
		{"tool", segment.FieldTool, spec.Tools, strings.EqualFold},
		{"model", segment.FieldModel, spec.Models, func(known, value string) bool { return filter.IsModel(known, []string{value}) }},
	} {
		if k.values = named(k.name, k.values, fields); len(k.values) > 0 {
			list = append(list, k.unknown(r)...)
		}
	}
	return list, r.Fault()
}

// unknown says, in a sentence for each, which of the named things there are not, with a hint.
func unknown(what string, names []string, has func(name string) bool, hint func(name string) string) (list []string) {
	for _, name := range names {
		if !has(name) {
			list = append(list, "no "+what+" "+name+hint(name))
		}
	}
	return list
}

// these ends a sentence with some names; "" if there are none, or too many.
func these(are string, names []string, most int) string {
	if len(names) == 0 || len(names) > most {
		return ""
	}
	return "; " + are + " " + strings.Join(names, ", ")
}

func anyPasses(sessions []session.Summary, spec filter.Spec) bool {
	f := spec.Compile()
	return slices.ContainsFunc(sessions, func(s session.Summary) bool { return f.Session(&s) })
}

// unknownProjects is unknown for projects.
func unknownProjects(sessions []session.Summary, names []string) []string {
	var projects []string
	for i := range sessions {
		if name := path.Base(session.Slashed(sessions[i].CWD)); sessions[i].CWD != "" && name != "/" {
			projects = append(projects, name)
		}
	}
	slices.Sort(projects)
	projects = slices.Compact(projects)
	return unknown("project", names, func(name string) bool { return anyPasses(sessions, filter.Spec{Projects: []string{name}}) }, func(name string) string {
		base := path.Base(strings.TrimRight(session.Slashed(name), "/"))
		like := near.Nearest(projects, base)
		if len(like) == 0 {
			like = slices.DeleteFunc(slices.Clone(projects), func(p string) bool { return !near.ContainsFold(p, base) && !near.ContainsFold(base, p) })
		}
		return cmp.Or(these("projects like it:", like, fewProjects), these("the projects are", projects, fewProjects))
	})
}

// keywords are the values that Unknown compares with the terms of a field.
type keywords struct {
	name   string
	field  segment.Field
	values []string
	has    func(known, value string) bool
}

// unknown is unknown for the values, which no text has.
func (k *keywords) unknown(r *index.Reader) []string {
	names := termsOf(r, k.field)
	known := names
	if k.field == segment.FieldModel {
		providers := termsOf(r, segment.FieldProvider)
		known = slices.Concat(names, providers)
		for _, p := range providers {
			for _, m := range names {
				known = append(known, p+"/"+m)
			}
		}
	}
	has := func(v string) bool { // documents do not name the tool of the user's own commands
		return v == session.ShellTool || slices.ContainsFunc(known, func(n string) bool { return k.has(n, v) })
	}
	return unknown(k.name, k.values, has, func(v string) string {
		return cmp.Or(these("the "+k.name+"s are", names, mostKeywords), these(k.name+"s like it:", near.Nearest(names, v), math.MaxInt))
	})
}

func termsOf(r *index.Reader, field segment.Field) (terms []string) {
	for _, s := range r.Segments() {
		terms = append(terms, docset.Keywords(s, field)...)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// named returns the values that a request is restricted to, by a filter and by the fields of
// its text.
func named(field string, given []string, fields []*syntax.Field) []string {
	names := slices.Clone(given)
	for _, f := range fields {
		if f.Name == field {
			names = append(names, f.Values()...)
		}
	}
	// Of a list of names, only the names are missed.
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		values := filter.Values(name)
		return len(values) > 1 && slices.Contains(names, values[0])
	})
}
