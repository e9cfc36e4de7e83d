package words

import (
	"pigrep/query/syntax"
)

// Hit reports whether a document is a hit: mask has the bits of the words and
// fields it matches, weak those of the compounds it has some parts of. Parts are
// enough for what is optional only.
func (e *Expr) Hit(mask, weak uint64) bool {
	switch e.op {
	case opMust, opAnd:
		return e.Matches(mask)
	case opList:
		optional, found := false, false
		for _, k := range e.kids {
			if k.required() {
				if !k.Matches(mask) {
					return false
				}
				found = found || k.op == opMust || k.op == opAnd
				continue
			}
			optional = true
			found = found || k.Matches(mask|weak)
		}
		return found || !optional
	}
	return e.Matches(mask | weak)
}

// required reports whether the list around it cannot do without it.
func (e *Expr) required() bool {
	return e.op == opMust || e.op == opAnd || e.op == opNot || e.op == opField
}

// Matches evaluates the expression on the bits of a document.
func (e *Expr) Matches(mask uint64) bool {
	switch e.op {
	case opLeaf, opField:
		return mask&e.bit != 0
	case opNot:
		return !e.kids[0].Matches(mask)
	case opMust:
		return e.kids[0].Matches(mask)
	case opList:
		return e.Hit(mask, 0)
	}
	for _, k := range e.kids {
		if k.Matches(mask) == (e.op == opOr) {
			return e.op == opOr
		}
	}
	return e.op == opAnd
}

// Missing appends what a hit with these bits lacks.
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

// Text is what was typed. A word is named without the quotes or parentheses that
// only keep it from being something else.
func (e *Expr) Text() string {
	if t, ok := e.Node.(*syntax.Term); ok && t.Match == syntax.Literal {
		return t.Text
	}
	return e.Node.String()
}
