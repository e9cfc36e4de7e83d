package search

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
func Unknown(r *index.Reader, spec *filter.Spec, fields []*syntax.Field) ([]string, error) {
	var list []string
	if r.IsExcerpt() { // others may have them
		return nil, nil
	}
	if names := named("project", spec.Projects, fields); len(names) > 0 { // else no summary is decoded
		list = append(list, unknownProjects(r.Summaries(), names)...)
	}
	list = append(list, unknownAgents(r, named("agent", spec.Agents, fields))...)
	if names := named("session", spec.Sessions, fields); len(names) > 0 {
		list = append(list, unknownSessions(r.Summaries(), names)...)
	}
	for _, k := range []keywords{
		{"role", segment.FieldRole, spec.Roles, strings.EqualFold},
		{"tool", segment.FieldTool, spec.Tools, strings.EqualFold},
		{"model", segment.FieldModel, spec.Models, func(known, value string) bool { return filter.IsModel(known, []string{value}) }},
	} {
		k.values = named(k.name, k.values, fields)
		unknown, err := k.unknown(r)
		if err != nil {
			return nil, err
		}
		list = append(list, unknown...)
	}
	return list, nil
}

// unknownProjects says, in a sentence for each, which of the named projects no session is
// of, and which projects are like it.
func unknownProjects(sessions []session.Summary, names []string) (list []string) {
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

// unknownAgents says, in a sentence for each, which of the named agents no session is of, and
// of which there are some.
func unknownAgents(r *index.Reader, names []string) (list []string) {
	known := r.Table().Agents()
	for _, name := range names {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			text := "no sessions of an agent " + name
			if len(known) > 0 {
				text += "; the agents are " + strings.Join(known, ", ")
			}
			list = append(list, text)
		}
	}
	return list
}

// unknownSessions says, in a sentence for each, which of the named sessions there are not.
func unknownSessions(sessions []session.Summary, names []string) (list []string) {
	ids := make([]string, len(sessions))
	for i := range sessions {
		ids[i] = sessions[i].ID
	}
	for _, name := range names {
		of := (&filter.Spec{Sessions: []string{name}}).Compile()
		if slices.ContainsFunc(sessions, func(s session.Summary) bool { return of.Session(&s) }) {
			continue
		}
		text := "no session " + name
		if like := near.Nearest(ids, name); len(like) > 0 {
			text += "; sessions like it: " + strings.Join(like, ", ")
		}
		list = append(list, text)
	}
	return list
}

// keywords are the values that Unknown compares with the terms of a field.
type keywords struct {
	name   string
	field  segment.Field
	values []string
	has    func(known, value string) bool
}

// unknown says, in a sentence for each, which of the values no text has.
func (k *keywords) unknown(r *index.Reader) (list []string, err error) {
	if len(k.values) == 0 {
		return nil, nil
	}
	names, err := termsOf(r, k.field)
	if err != nil {
		return nil, err
	}
	known := names
	if k.field == segment.FieldModel {
		providers, err := termsOf(r, segment.FieldProvider)
		if err != nil {
			return nil, err
		}
		known = slices.Concat(names, providers)
		for _, p := range providers {
			for _, m := range names {
				known = append(known, p+"/"+m)
			}
		}
	}
	for _, v := range k.values {
		// Documents do not name the tool of the user's own commands.
		if v == session.ShellTool || slices.ContainsFunc(known, func(n string) bool { return k.has(n, v) }) {
			continue
		}
		text := fmt.Sprintf("no %s %s", k.name, v)
		if len(names) > 0 && len(names) <= mostKeywords {
			text += fmt.Sprintf("; the %ss are %s", k.name, strings.Join(names, ", "))
		} else if like := near.Nearest(names, v); len(like) > 0 {
			text += fmt.Sprintf("; %ss like it: %s", k.name, strings.Join(like, ", "))
		}
		list = append(list, text)
	}
	return list, nil
}

func termsOf(r *index.Reader, field segment.Field) ([]string, error) {
	terms := map[string]bool{}
	for _, s := range r.Segments() {
		err := s.Terms(field, nil, func(term []byte, _ int) bool {
			terms[string(term)] = true
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(terms)), nil
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
