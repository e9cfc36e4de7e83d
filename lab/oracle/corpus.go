package oracle

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
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
	active bool
	time   int64
	group  string // that it shares with its copies

	commands, paths []string // of calls, shells and summaries
	session         *session.Summary

	text *text
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
		p.text = newText(p.Text)
		c.at[p.Place] = p
		c.copies[p.group] = append(c.copies[p.group], p)
	}
	return c, nil
}

func (c *Corpus) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	rec := &session.Record{Summary: session.Summary{Path: path}}
	rec.Mtime = info.ModTime().UnixNano()
	parser := pi.New().Parse(adapter.State{Path: path, Facts: true})
	first := len(c.Parts)
	var nodes []int // of the parts
	for r := jsonl.NewReader(bytes.NewReader(data), 0, 0); ; {
		line, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		parser.Parse(line, func(e *session.Entry) {
			rec.Add(e)
			parts := newParts(path, e)
			c.Parts = append(c.Parts, parts...)
			nodes = append(nodes, slices.Repeat([]int{len(rec.Nodes) - 1}, len(parts))...)
		})
	}
	rec.Header = parser.State().Header
	tree := rec.Tree()
	for i, p := range c.Parts[first:] {
		p.session, p.label, p.active = &rec.Summary, rec.Labels[p.Entry], tree.Active(nodes[i])
		p.time = rec.TimeOf(&rec.Nodes[nodes[i]]).UnixMilli()
	}
	return nil
}

// newParts copies the parts of an entry.
func newParts(path string, e *session.Entry) (parts []*Part) {
	for i := range e.Parts {
		p := &Part{
			Place: Place{path, e.Offset, i}, Entry: strings.Clone(e.ID), Kind: e.Parts[i].Kind, Text: string(e.Parts[i].Text), tool: strings.Clone(e.Parts[i].Tool),
			role: strings.Clone(e.Role), model: strings.Trim(e.Provider+"/"+e.Model, "/"), failed: e.IsError, images: len(e.Images) > 0,
		}
		p.group = p.Place.String()
		if e.Copy != 0 {
			p.group = fmt.Sprintf("%x %d", e.Copy, i)
		}
		p.addFacts(cmp.Or(e.Facts, &session.EntryFacts{}))
		parts = append(parts, p)
	}
	return parts
}

func (p *Part) addFacts(facts *session.EntryFacts) {
	if p.Kind == session.KindSummary {
		for _, name := range slices.Concat(facts.ReadFiles, facts.ModifiedFiles) {
			p.paths = append(p.paths, strings.Clone(name))
		}
	}
	for _, call := range facts.Calls {
		if call.Part != p.Number {
			continue
		}
		if len(call.Command) > 0 {
			p.commands = append(p.commands, string(call.Command))
		}
		for _, name := range call.Paths {
			p.paths = append(p.paths, strings.Clone(name))
		}
	}
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
func (c *Corpus) Places() (list []Place) {
	for _, p := range c.Parts {
		list = append(list, p.Place)
	}
	return list
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
