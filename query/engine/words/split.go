package words

import (
	"slices"

	"pigrep/query/engine/syntax"
)

// Split divides an expression into its words, each of them once, and its restrictions:
// fields and negations. A choice between words counts as one word.
func (e *Expr) Split() (words []*Expr, restrictions []syntax.Node) {
	e.split(func(x *Expr) {
		same := func(o *Expr) bool { return o.op == x.op && o.bit == x.bit && (x.op == opLeaf || o.Text() == x.Text()) }
		switch {
		case !x.word:
			restrictions = append(restrictions, x.node())
		case !slices.ContainsFunc(words, same):
			words = append(words, x)
		}
	})
	return words, restrictions
}

// split visits the parts of an expression that a hit with all words must match.
func (e *Expr) split(visit func(*Expr)) {
	switch e.op {
	case opList, opAnd, opMust:
		for _, k := range e.kids {
			k.split(visit)
		}
	default:
		visit(e)
	}
}

// node returns the expression as a query. The node of a negation is what it negates.
func (e *Expr) node() syntax.Node {
	if e.op == opNot {
		return &syntax.Not{Item: e.kids[0].node()}
	}
	return e.Node
}
