package oracle

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pigrep/internal/session"
)

// An Op is what a Node of a query does.
type Op int

// The operators.
const (
	Word   Op = iota // Text, in this spelling or a looser one
	Phrase           // Text exactly, apart from case, diacritics and white space
	Prefix           // words that begin with Text
	Fuzzy            // words an edit away from Text
	Field            // Name:Text
	List             // Items side by side
	And
	Or
	Negation // of its only item
	Plus     // its only item is required
)

// A Node is a node of a query.
type Node struct {
	Op    Op
	Name  string // of a field
	Text  string
	Items []*Node
}

// hasWord reports whether a word can make the node match. All others only restrict.
func (n *Node) hasWord() bool {
	switch n.Op {
	case Field:
		return false
	case Negation:
		return n.doubled() != nil && n.doubled().hasWord()
	}
	return len(n.Items) == 0 || slices.ContainsFunc(n.Items, (*Node).hasWord)
}

// doubled returns x of NOT NOT x, which is +x, and nil of others.
func (n *Node) doubled() *Node {
	if n.Op == Negation && n.Items[0].Op == Negation {
		return n.Items[0].Items[0]
	}
	return nil
}

// required reports whether a list needs the node.
func (n *Node) required() bool {
	return n.Op == Plus || n.Op == And || n.doubled() != nil || !n.hasWord()
}

// A want says what a part must have to be a hit.
type want int

const (
	every want = iota // all words
	whole             // the words that it needs, not only their parts
	parts             // the words that it needs, or their parts
)

// eval says whether a part is a hit.
func (n *Node) eval(p *Part, w want) Verdict {
	switch n.Op {
	case Field:
		return p.field(n.Name, n.Text)
	case Negation:
		if x := n.doubled(); x != nil {
			return x.eval(p, min(w, whole))
		}
		return n.Items[0].eval(p, whole).not()
	case Plus, And:
		v := Must
		for _, item := range n.Items {
			v = min(v, item.eval(p, min(w, whole)))
		}
		return v
	case Or:
		v := Not
		for _, item := range n.Items {
			v = max(v, item.eval(p, w))
		}
		return v
	case List:
		return n.list(p, w)
	}
	v := n.word(p)
	if v == Not && w == parts && n.Op == Word {
		return n.parts(p)
	}
	return v
}

// list says whether a part has all that a list requires, and one of its words.
func (n *Node) list(p *Part, w want) Verdict {
	needed, some := Must, Not
	for _, item := range n.Items {
		v := item.eval(p, w)
		if w == every || item.required() {
			needed = min(needed, v)
		}
		if item.hasWord() {
			some = max(some, v)
		}
	}
	if !n.hasWord() {
		some = Must
	}
	return min(needed, some)
}

// asks reports whether a query says what to find, not only what to leave out. A field that
// reads texts does so only if it is not negated.
func (n *Node) asks(positive bool) bool {
	switch {
	case n.Op == Negation:
		positive = !positive
	case n.Op == Field:
		return positive || !slices.Contains([]string{"re", "cmd", "file"}, n.Name)
	}
	return len(n.Items) == 0 && positive || slices.ContainsFunc(n.Items, func(item *Node) bool { return item.asks(positive) })
}

// word says whether a part has a word or phrase.
func (n *Node) word(p *Part) Verdict {
	switch n.Op {
	case Phrase:
		v := p.text.phrase(n.Text)
		if v == Not && isPlain(n.Text) { // a quoted word may be looked up only
			v = min(May, p.text.word(n.Text))
		}
		return v
	case Prefix:
		return p.text.begins(n.Text)
	case Fuzzy:
		return p.text.near(n.Text, 1)
	}
	if isPlain(n.Text) {
		return p.text.word(n.Text)
	}
	v := p.text.phrase(n.Text)
	if v == Not && strings.Contains(squeeze(p.text.folded), squeeze(fold(n.Text))) {
		return May // another spelling
	}
	return v
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return sortOf(r) == other && !unicode.IsMark(r) })
}

// parts says whether a part may have some parts of an identifier or compound, which makes it a
// hit that lacks the word.
func (n *Node) parts(p *Part) Verdict {
	for _, run := range parsed(n.Text).runs {
		if slices.ContainsFunc(run, func(word string) bool { return p.text.word(word) != Not }) {
			return May
		}
	}
	return Not
}

// field says whether a part passes a field.
func (p *Part) field(name, value string) Verdict {
	values := []string{value}
	switch name {
	case "kind", "role", "tool", "model", "project", "session":
		values = strings.Split(value, ",")
	}
	some := func(pass func(v string) bool) Verdict { return verdict(slices.ContainsFunc(values, pass)) }
	contains := func(s, piece string) bool { return strings.Contains(fold(s), fold(piece)) }
	switch name {
	case "kind":
		return some(func(v string) bool { return string(p.Kind) == v })
	case "role":
		return some(func(v string) bool { return strings.EqualFold(p.role, v) })
	case "tool":
		return some(func(v string) bool { return strings.EqualFold(p.tool, v) })
	case "model":
		return some(func(v string) bool { return contains(p.model, v) })
	case "project":
		return some(func(v string) bool {
			cwd := p.session.CWD
			return strings.EqualFold(path.Base(cwd), v) || cwd == v || strings.Contains(v, "/") && strings.HasSuffix(cwd, "/"+v)
		})
	case "session":
		return some(func(v string) bool { return strings.HasPrefix(fold(p.session.ID), fold(v)) })
	case "is", "has":
		return verdict(value == "error" && p.failed || value == "named" && p.session.Name != "" || value == "image" && p.images)
	case "cwd":
		return verdict(p.session.CWD == value || strings.HasPrefix(p.session.CWD, value+"/"))
	case "title":
		return verdict(contains(p.session.Title(), value))
	case "label":
		return verdict(p.label != "" && contains(p.label, value))
	case "branch":
		return verdict(value == "any" || (value == "active") == p.active)
	case "after", "before":
		return verdict((p.time >= moment(value)) == (name == "after"))
	case "cmd":
		return p.command(value)
	case "file":
		return p.file(value)
	case "re":
		return verdict(expression(value).MatchString(p.Text))
	}
	panic("no field " + name)
}

// moment is the time that after: and before: name, in milliseconds.
func moment(value string) int64 {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UnixMilli()
		}
	}
	panic("no time " + value)
}

// expression compiles re:. Case counts if it has an upper-case letter.
var expression = memo(func(value string) *regexp.Regexp {
	flags := "(?m)"
	if !strings.ContainsFunc(value, unicode.IsUpper) {
		flags = "(?mi)"
	}
	return regexp.MustCompile(flags + value)
})

func (p *Part) command(value string) (v Verdict) {
	for _, command := range p.commands {
		v = max(v, newText(command).phrase(value))
	}
	return v
}

// file says whether a part names a path, or one that ends with it. Commands may name it in a
// way that only a shell understands.
func (p *Part) file(value string) Verdict {
	if p.Kind != session.KindCall && p.Kind != session.KindSummary {
		return Not
	}
	value = path.Clean(value)
	ends := func(name string) bool {
		if path.IsAbs(value) {
			return strings.EqualFold(name, value)
		}
		return strings.HasSuffix("/"+strings.ToLower(strings.TrimPrefix(name, "/")), "/"+strings.ToLower(value))
	}
	for _, name := range p.paths {
		if name = path.Clean(name); ends(name) || !path.IsAbs(name) && ends(path.Join(p.session.CWD, name)) {
			return Must
		}
	}
	if strings.Contains(p.text.folded, fold(path.Base(value))) {
		return May
	}
	return Not
}
