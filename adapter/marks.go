package adapter

import (
	"slices"
	"strings"

	"pigrep/internal/jsonl"
)

// Marks say by one line of a file what it is to its agent. Each line of their text begins with what such a
// file is, and lists what a line of it must have:
//
//	transcript type=user|assistant message{ uuid" cwd payload.id"
//	notes id" thread_name" only git
//	transcript uuid" !systemPayload
//	cut "parentUuid": "sessionId":"
//
// These are a member that is one of some strings, one that is an object, a string, or anything, and one within
// another; a member behind ! must be missing. Behind only are further members that it may have; it has no others. A last line that is cut is of
// a transcript if it has all that is behind cut.
type Marks struct {
	rows []mark
	cut  []string
}

type mark struct {
	sort Sort
	has  []trait
	only bool
	may  []string // with only
}

type trait struct {
	path   []string
	kind   byte     // of its value; 0 for any, '!' for none
	values []string // nil for any
}

// NewMarks reads marks.
func NewMarks(text string) *Marks {
	all := &Marks{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "cut":
			all.cut = words[1:]
			continue
		}
		m := mark{sort: Transcript}
		if words[0] == "notes" {
			m.sort = Notes
		}
		for _, word := range words[1:] {
			switch name, values, isOne := strings.Cut(word, "="); {
			case word == "only":
				m.only = true
			case m.only:
				m.may = append(m.may, word)
			case isOne:
				m.has = append(m.has, trait{[]string{name}, '"', strings.Split(values, "|")})
			default:
				has := trait{kind: word[len(word)-1]}
				if has.kind != '"' && has.kind != '{' {
					has.kind = 0
				}
				if word[0] == '!' {
					has.kind = '!'
				}
				has.path = strings.Split(strings.Trim(word, `"{!`), ".")
				m.has = append(m.has, has)
			}
		}
		all.rows = append(all.rows, m)
	}
	return all
}

// Of returns what the file of a line with these members is.
func (s *Marks) Of(json *jsonl.Scanner, all jsonl.Fields) Sort {
	for i := range s.rows {
		if s.rows[i].is(json, all) {
			return s.rows[i].sort
		}
	}
	return Foreign
}

func (m *mark) is(json *jsonl.Scanner, all jsonl.Fields) bool {
	for i := range m.has {
		has, in := &m.has[i], all
		for _, name := range has.path[:len(has.path)-1] {
			in = json.Fields(in.Find(name))
		}
		v := in.Find(has.path[len(has.path)-1])
		if has.kind == '!' && v.Empty() {
			continue
		}
		if v.Empty() || has.kind != 0 && json.Kind(v) != has.kind || has.values != nil && !slices.Contains(has.values, json.Name(v)) {
			return false
		}
	}
	return !m.only || !slices.ContainsFunc(all, func(f jsonl.Field) bool {
		return !slices.Contains(m.may, string(f.Key)) && !slices.ContainsFunc(m.has, func(has trait) bool { return has.path[0] == string(f.Key) })
	})
}

// Recognize implements Agent.
func (p *Profile) Recognize(head []byte) Sort {
	p.compile.Do(func() { p.marks = NewMarks(p.Marks) })
	return SortOf(head, p.marks.Of, p.marks.cut...)
}
