package filter

import (
	"fmt"
	"strings"
	"time"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/syntax"
	"pigrep/scope"
)

// Env gives values of fields their meaning.
type Env struct {
	Now    time.Time                // relative dates count from here
	Expand func(path string) string // makes a path absolute; nil leaves it as it is
}

// Field returns the Filter of a field of a query.
func Field(n *syntax.Field, env Env) (*Filter, error) {
	f := &Filter{}
	value := n.Value
	values := n.Values()
	names := values
	if len(values) > 1 {
		names = syntax.Alternatives(value)
	}
	switch n.Name {
	case "kind":
		var kinds []session.Kind
		for _, name := range values {
			k, err := scope.ParseKind(name)
			if err != nil {
				return nil, err
			}
			kinds = append(kinds, k)
		}
		f.addKinds(kinds)
	case "role":
		f.addKeyword(segment.FieldRole, names)
	case "tool":
		f.addKeyword(segment.FieldTool, names)
	case "is":
		switch value {
		case segment.FlagError:
			f.addKeyword(segment.FieldFlag, []string{segment.FlagError})
		case "named":
			f.sessions = append(f.sessions, func(s *session.Summary) bool { return s.Name != "" })
		case "image":
			f.addImage()
		default:
			return nil, notAmong("is")
		}
	case "has":
		if value != "image" {
			return nil, notAmong("has")
		}
		f.addImage()
	case "title":
		part := analysis.Fold(value)
		f.sessions = append(f.sessions, func(s *session.Summary) bool {
			return part != "" && strings.Contains(analysis.Fold(s.Title()), part)
		})
	case "label":
		f.addLabel(value)
	case "model":
		f.addModels(names)
	case "cwd":
		if env.Expand != nil {
			value = env.Expand(value)
		}
		f.addCWD(value)
	case "project":
		f.addProjects(names)
	case "session":
		f.addSessions(names)
	case "branch":
		branch, err := entry.ParseBranch(value)
		if err != nil {
			return nil, err
		}
		if branch == "" {
			f.sessions = append(f.sessions, func(*session.Summary) bool { return true })
		} else {
			f.branches = append(f.branches, branch)
		}
	case "after", "before":
		span, err := timespec.Parse(value, env.Now)
		if err != nil {
			return nil, err
		}
		if n.Name == "after" {
			f.addTime(span.Start, time.Time{})
		} else {
			f.addTime(time.Time{}, span.Start.Add(-time.Millisecond))
		}
	default:
		return nil, fmt.Errorf("there is no field %q", n.Name)
	}
	return f, nil
}

// notAmong is the error of a value that is not among those of a field.
func notAmong(field string) error {
	return fmt.Errorf("%s: knows %s only", field, strings.Join(syntax.LookupField(field).Values, ", "))
}
