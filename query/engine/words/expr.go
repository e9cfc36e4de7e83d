package words

import (
	"slices"

	"pigrep/query/engine/docset"
	"pigrep/query/engine/syntax"
)

// Hit reports whether a document is a hit. mask has the bits of the words and fields that
// it matches. partial has the bits of the compounds that it has parts of; that is enough
// for optional words only.
func (e *Expr) Hit(mask, partial uint64) bool {
	switch e.op {
	case opNot:
		return !e.kids[0].Matches(mask)
	case opMust, opAnd:
		return !slices.ContainsFunc(e.kids, func(k *Expr) bool { return !k.Matches(mask) })
	case opOr:
		return slices.ContainsFunc(e.kids, func(k *Expr) bool { return k.Hit(mask, partial) })
	case opList:
		optional, found := false, false
		for _, k := range e.kids {
			hit := k.Hit(mask, partial)
			if k.required() && !hit {
				return false
			}
			optional = optional || !k.required()
			found = found || hit && k.word
		}
		return found || !optional
	}
	return (mask|partial)&e.bit != 0
}

// Matches is Hit for a document that has nothing in parts only.
func (e *Expr) Matches(mask uint64) bool { return e.Hit(mask, 0) }

// required reports whether the surrounding list requires the expression.
func (e *Expr) required() bool { return e.op == opMust || e.op == opAnd || !e.word }

// Wordless returns the documents that may be hits without any word: all that are, and
// maybe others. all has all documents, of returns those that match the field with a bit.
func (e *Expr) Wordless(all docset.Set, of func(bit uint64) docset.Set) docset.Set {
	switch e.op {
	case opLeaf:
		return make(docset.Set, len(all))
	case opField:
		docs := slices.Clone(all)
		docs.And(of(e.bit))
		return docs
	case opNot:
		return slices.Clone(all)
	}
	required, optional := slices.Clone(all), make(docset.Set, len(all))
	found := true // without any of the optional ones
	for _, k := range e.kids {
		docs := k.Wordless(all, of)
		if e.op == opOr || e.op == opList && !k.required() {
			optional.Or(docs)
			found = false
			continue
		}
		required.And(docs)
	}
	found = found || e.op == opList && slices.ContainsFunc(e.kids, func(k *Expr) bool { return k.required() && k.word })
	if !found {
		required.And(optional)
	}
	return required
}

// Missing appends the parts of the expression that a hit with this mask lacks.
func (e *Expr) Missing(mask uint64, list []*Expr) []*Expr {
	switch e.op {
	case opList, opAnd, opMust:
		for _, k := range e.kids {
			list = k.Missing(mask, list)
		}
		return list
	case opOr:
		for _, k := range e.kids {
			if len(k.Missing(mask, nil)) == 0 {
				return list
			}
		}
		return append(list, e)
	}
	if e.Matches(mask) {
		return list
	}
	return append(list, e)
}

// Text returns the expression as typed. A literal word comes without the quotes or
// parentheses that protect it.
func (e *Expr) Text() string {
	if t, ok := e.Node.(*syntax.Term); ok && t.Match == syntax.Literal {
		return t.Text
	}
	return e.Node.String()
}

// bare returns the bits of the words that are direct items of a list.
func (e *Expr) bare() (bits uint64) {
	switch {
	case e == nil:
	case e.op == opLeaf:
		return e.bit
	case e.op == opList:
		for _, k := range e.kids {
			if k.op == opLeaf {
				bits |= k.bit
			}
		}
	}
	return bits
}

// Wordless reports whether a document without any word of the query may be a hit.
func (q *Query) Wordless() bool {
	one := docset.Set{1}
	text := uint64(1)<<len(q.Words) - 1
	return q.Root.Wordless(one, func(bit uint64) docset.Set {
		if bit&text != 0 { // its documents are found as those of a word
			return docset.Set{0}
		}
		return one
	})[0] != 0
}

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
