package syntax

import (
	"strings"

	"pigrep/query/engine/filter"
)

// A Node is a node of the tree of a query. String returns text that parses to the same
// tree, apart from positions.
type Node interface {
	String() string
	Range() (start, end int) // byte offsets in the text it was parsed from
}

// A Pos is the byte range of a node in the query's text.
type Pos struct{ Start, End int }

// Range implements Node.
func (p Pos) Range() (start, end int) { return p.Start, p.End }

// A List is nodes side by side. Each counts towards the score; only those marked with +
// are required.
type List struct {
	Items []Node
	Pos
}

// And is nodes that are all required.
type And struct {
	Items []Node
	Pos
}

// Or is alternatives: one is enough.
type Or struct {
	Items []Node
	Pos
}

// Must is a node that is required.
type Must struct {
	Item Node
	Pos
}

// Not is a node that must not match.
type Not struct {
	Item Node
	Pos
}

// Match says how the text of a Term matches.
type Match uint8

const (
	Literal Match = iota // as a word, in this spelling or a looser one
	Phrase               // exactly, apart from case, diacritics and white space
	Prefix               // as the beginning of a word
	Fuzzy                // within Edits edits
)

// Term is one word or phrase.
type Term struct {
	Text  string
	Match Match
	Edits int // of a Fuzzy term, 1 or 2
	Pos
}

// Field is a filter in the query's text. Name is one of filter.Fields.
type Field struct {
	Name   string
	Value  string
	Quoted bool // the value was written in quotes
	Pos
}

func (n *Field) Values() []string {
	if row := filter.LookupField(n.Name); n.Quoted || row == nil || !row.Many {
		return []string{n.Value}
	}
	return filter.Values(n.Value)
}

func (n *List) String() string { return join(n.Items, " ", n) }
func (n *And) String() string  { return join(n.Items, " AND ", n) }
func (n *Or) String() string   { return join(n.Items, " OR ", n) }

func (n *Must) String() string {
	if not, ok := n.Item.(*Not); ok && isUnary(not.Item) {
		return "+" + not.String()
	}
	return "+" + operand(n.Item)
}

// String writes the outer one of two marks as NOT: with a parenthesis without a partner
// as the operand, grouping is not possible.
func (n *Not) String() string {
	if isUnary(n.Item) {
		return "NOT " + n.Item.String()
	}
	return "!" + operand(n.Item)
}

func isUnary(n Node) bool {
	switch n.(type) {
	case *Must, *Not:
		return true
	}
	return false
}

func (n *Term) String() string {
	switch n.Match {
	case Phrase:
		return filter.Quote(n.Text)
	case Prefix:
		return n.Text + "*"
	case Fuzzy:
		if n.Edits == 2 {
			return n.Text + "~2"
		}
		return n.Text + "~"
	}
	if isOperator(n.Text) {
		return "(" + n.Text + ")"
	}
	return n.Text
}

func (n *Field) String() string {
	if n.Quoted && n.Name == "re" {
		return n.Name + ":" + quoteRegexp(n.Value)
	}
	if n.Quoted {
		return n.Name + ":" + filter.Quote(n.Value)
	}
	return n.Name + ":" + n.Value
}

// join writes the items of parent, in parentheses those that do not bind more tightly.
func join(items []Node, between string, parent Node) string {
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(between)
		}
		if binding(item) <= binding(parent) {
			b.WriteString(group(item))
		} else {
			b.WriteString(item.String())
		}
	}
	return b.String()
}

func binding(n Node) int {
	switch n.(type) {
	case *List:
		return 0
	case *Or:
		return 1
	case *And:
		return 2
	}
	return 3
}

// operand writes what follows + or !.
func operand(n Node) string {
	if t, ok := n.(*Term); ok {
		if t.Match == Literal && (t.Text == "" || !startsOperand(t.Text)) {
			return group(n)
		}
		return n.String()
	}
	if _, ok := n.(*Field); ok {
		return n.String()
	}
	return group(n)
}

// group writes a node in parentheses. The space keeps a last word with an open
// parenthesis or quote from swallowing the closing parenthesis.
func group(n Node) string {
	s := n.String()
	if t := lastTerm(n); t != nil && t.Match == Literal && strings.ContainsAny(t.Text, `("`) {
		return "(" + s + " )"
	}
	return "(" + s + ")"
}

func lastTerm(n Node) *Term {
	switch n := n.(type) {
	case *Term:
		return n
	case *List:
		return lastTerm(n.Items[len(n.Items)-1])
	case *And:
		return lastTerm(n.Items[len(n.Items)-1])
	case *Or:
		return lastTerm(n.Items[len(n.Items)-1])
	case *Must:
		return lastTerm(n.Item)
	case *Not:
		return lastTerm(n.Item)
	}
	return nil
}
