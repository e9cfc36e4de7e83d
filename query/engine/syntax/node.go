package syntax

import (
	"strings"

	"pigrep/internal/lists"
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

// A Group is several nodes.
type Group struct {
	Op    Op
	Items []Node
	Pos
}

// Op says what the nodes of a Group are to each other.
type Op uint8

// The operators, those that bind more tightly last.
const (
	List Op = iota // side by side: each counts towards the score; only those marked with + are required
	Or             // alternatives: one is enough
	And            // all are required
)

var between = [...]string{List: " ", Or: " OR ", And: " AND "}

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

// String puts those items in parentheses that do not bind more tightly.
func (n *Group) String() string {
	return strings.Join(lists.Map(n.Items, func(item Node) string {
		if g, ok := item.(*Group); ok && g.Op <= n.Op {
			return group(g)
		}
		return item.String()
	}), between[n.Op])
}

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
	case *Group:
		return lastTerm(n.Items[len(n.Items)-1])
	case *Must:
		return lastTerm(n.Item)
	case *Not:
		return lastTerm(n.Item)
	}
	return nil
}
