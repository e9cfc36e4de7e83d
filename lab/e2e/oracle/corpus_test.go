package oracle

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/lab/decode"
	"pigrep/scope"
)

// A Corpus is the parts of session files.
type Corpus struct {
	Parts  []*Part
	at     map[Place]*Part
	copies map[string][]*Part // by group
}

// Place says where a part is.
type Place struct {
	Path   string
	Offset int64
	Number int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d part %d", p.Path, p.Offset, p.Number) }

// Sorted sorts places, and leaves each once.
func Sorted(list []Place) []Place {
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Number, b.Number))
	})
	return slices.Compact(list)
}

// A Part is a part of an entry of a session.
type Part struct {
	Place
	Entry  string // its id
	Kind   session.Kind
	Text   string
	role   string
	tool   string
	model  string // provider/model
	failed bool
	images bool
	label  string // current one
	branch string // active or abandoned
	time   int64
	group  string // that it shares with its copies

	commands, paths []string // of calls, shells and summaries
	session         *session.Summary

	text     *text
	nameless *text // without the names of arguments, which are the loosest way to have a word
}

// Read decodes session files.
func Read(paths ...string) (*Corpus, error) {
	c := &Corpus{at: map[Place]*Part{}, copies: map[string][]*Part{}}
	for _, path := range paths {
		if err := c.read(path); err != nil {
			return nil, err
		}
	}
	for _, p := range c.Parts {
		c.at[p.Place] = p
		c.copies[p.group] = append(c.copies[p.group], p)
	}
	return c, nil
}

func (c *Corpus) read(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	rec := &session.Record{Summary: session.Summary{Path: path}}
	rec.Mtime = info.ModTime().UnixNano()
	var parts []*Part
	var nodes []int // of the parts
	rec.Header, err = decode.File(path, true, func(e *session.Entry) {
		rec.Add(e)
		for i := range e.Parts {
			parts, nodes = append(parts, newPart(path, e, i)), append(nodes, len(rec.Nodes)-1)
		}
	})
	tree := rec.Tree()
	for i, p := range parts {
		p.session, p.label, p.branch = &rec.Summary, rec.Labels[p.Entry], "abandoned"
		if tree.Active(nodes[i]) {
			p.branch = "active"
		}
		p.time = rec.TimeOf(&rec.Nodes[nodes[i]]).UnixMilli()
	}
	c.Parts = append(c.Parts, parts...)
	return err
}

// newPart copies a part of an entry.
func newPart(path string, e *session.Entry, i int) *Part {
	from := &e.Parts[i]
	p := &Part{
		Place: Place{path, e.Offset, i}, Entry: strings.Clone(e.ID), Kind: from.Kind, Text: string(from.Text), text: newText(string(from.Text)), nameless: newText(nameless(from)),
		tool: strings.Clone(from.Tool), role: strings.Clone(e.Role), model: strings.Trim(e.Provider+"/"+e.Model, "/"),
		failed: e.IsError, images: len(e.Images) > 0,
	}
	p.group = p.Place.String()
	if e.Copy != 0 {
		p.group = fmt.Sprintf("%x %d", e.Copy, i)
	}
	facts := cmp.Or(e.Facts, &session.EntryFacts{})
	if p.Kind == session.KindSummary {
		p.paths = slices.Concat(lists.Map(facts.ReadFiles, strings.Clone), lists.Map(facts.ModifiedFiles, strings.Clone))
	}
	for _, call := range facts.Calls {
		if call.Part == i {
			for _, use := range call.Files {
				p.paths = append(p.paths, strings.Clone(use.Path))
			}
			if len(call.Command) > 0 {
				p.commands = append(p.commands, string(call.Command))
			}
		}
	}
	return p
}

// nameless returns the text of a part with spaces in place of the names of arguments.
func nameless(p *session.Part) string {
	text := bytes.Clone(p.Text)
	for _, at := range p.Names {
		copy(text[at[0]:at[1]], bytes.Repeat([]byte{' '}, at[1]-at[0]))
	}
	return string(text)
}

// A Hit is a hit of an answer: the part that is shown, and the files with copies that are hits
// too.
type Hit struct {
	Place
	Copies []string
}

// Differences compares the hits of an answer with those of a query: with all words, those that
// lack nothing, else all. A part and its copies are one hit, which any of them makes.
func (c *Corpus) Differences(q *Node, within scope.Scope, allWords bool, hits []Hit) (list []string) {
	found, w := map[string]bool{}, parts
	if allWords {
		w = every
	}
	differ := func(what string, p any) { list = append(list, fmt.Sprintf("%s: %v", what, p)) }
	for _, h := range hits {
		p := c.at[h.Place]
		if p == nil {
			differ("no part", h.Place)
			continue
		}
		if found[p.group] {
			differ("found twice", p)
		}
		found[p.group] = true
		if c.eval(q, p, within, w) == Not {
			differ("found, must not", p)
		}
		for _, other := range c.copies[p.group] {
			v, listed := c.eval(q, other, within, w), slices.Contains(h.Copies, other.Path)
			switch {
			case other.Path == p.Path: // not a copy in another file
			case v == Must && !listed:
				differ("no copy, must", other)
			case v == Not && listed:
				differ("a copy, must not", other)
			}
		}
	}
	for _, p := range c.Parts {
		if !found[p.group] && c.eval(q, p, within, w) == Must {
			differ("not found, must", p)
			found[p.group] = true // say it once
		}
	}
	return list
}

func (c *Corpus) eval(q *Node, p *Part, within scope.Scope, w want) Verdict {
	if !within.Holds(p.Kind) {
		return Not
	}
	return q.eval(p, w)
}

func (p *Part) String() string {
	return fmt.Sprintf("%v, %s %s, cwd %s, %.300q", p.Place, p.Entry, p.Kind, p.session.CWD, p.Text)
}

// Places are those of all parts.
func (c *Corpus) Places() []Place {
	return lists.Map(c.Parts, func(p *Part) Place { return p.Place })
}

// Originals replaces each place by that of the first copy, and sorts them.
func (c *Corpus) Originals(places []Place) (list []Place) {
	for _, at := range places {
		if p := c.at[at]; p != nil {
			at = c.copies[p.group][0].Place
		}
		list = append(list, at)
	}
	return Sorted(list)
}

// A Verdict says whether a part is a hit. Verdicts are ordered: the conjunction of several is
// the smallest, the disjunction the largest.
type Verdict int

// The verdicts.
const (
	Not Verdict = iota
	May
	Must
)

func (v Verdict) not() Verdict { return Must - v }

func verdict(b bool) Verdict {
	if b {
		return Must
	}
	return Not
}

func (v Verdict) String() string { return [...]string{"must not", "may", "must"}[v] }
