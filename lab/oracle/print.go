package oracle

import (
	"strings"
	"unicode"
)

// Print writes a query. Of the ways to write a node, pick chooses one of n.
func (n *Node) Print(pick func(n int) int) string { return n.print(0, pick) }

// String writes the query in the first way.
func (n *Node) String() string { return n.Print(func(int) int { return 0 }) }

// GoString is String, for a failed check.
func (n *Node) GoString() string { return n.String() }

// binding says how tightly an operator binds.
func (n *Node) binding() int {
	switch n.Op {
	case List, Or, And:
		return map[Op]int{List: 0, Or: 1, And: 2}[n.Op]
	}
	return 3
}

// print writes a node where operators must bind at least as tightly as given.
func (n *Node) print(least int, pick func(int) int) string {
	if n.Op == And && least != 1 && pick(4) == 1 { // in a list, only AND is required
		n = required(n)
	}
	if n.binding() < least || pick(8) == 1 {
		return "(" + strings.Repeat(" ", pick(2)) + n.bare(pick) + ")"
	}
	return n.bare(pick)
}

// required writes a AND b as +a +b.
func required(n *Node) *Node {
	list := &Node{Op: List}
	for _, item := range n.Items {
		list.Items = append(list.Items, &Node{Op: Plus, Items: []*Node{item}})
	}
	return list
}

func (n *Node) bare(pick func(int) int) string {
	switch n.Op {
	case Word:
		return n.Text
	case Phrase:
		return quote(n.Text)
	case Prefix:
		return n.Text + "*"
	case Fuzzy:
		return n.Text + []string{"~", "~1"}[pick(2)]
	case Field:
		return n.Name + ":" + n.value(pick)
	case Plus:
		return "+" + n.Items[0].operand(pick)
	case Negation:
		return n.Items[0].negated(pick)
	}
	between := map[Op]string{List: " ", And: " AND ", Or: " OR "}[n.Op]
	var items []string
	for _, item := range n.Items {
		items = append(items, item.print(n.binding()+1, pick))
	}
	return strings.Join(items, between)
}

// negated writes the negation of a node.
func (n *Node) negated(pick func(int) int) string {
	switch way := pick(3); {
	case way == 1:
		return "!" + n.operand(pick)
	case way == 2 && n.Op == Field:
		return "-" + n.bare(pick)
	}
	return "NOT " + n.print(3, pick)
}

// operand writes what follows a mark at once.
func (n *Node) operand(pick func(int) int) string {
	if s := n.print(3, pick); !strings.ContainsAny(s[:1], "+!=)") {
		return s
	}
	return "(" + n.print(0, pick) + ")"
}

func (n *Node) value(pick func(int) int) string {
	switch {
	case strings.Contains(n.Text, ",") || n.Name == "re" && !strings.Contains(n.Text, " "):
		return n.Text
	case n.Name == "re":
		return `"` + n.Text + `"`
	case strings.ContainsFunc(n.Text, unicode.IsSpace) || strings.ContainsAny(n.Text, `"(`) || pick(3) == 1:
		return quote(n.Text)
	}
	return n.Text
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
