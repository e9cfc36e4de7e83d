package words

import (
	"pigrep/query/syntax"
)

// Hit reports whether a document is a hit. mask has the bits of the words and fields that
// it matches. partial has the bits of the compounds that it has parts of; that is enough
// for optional words only.
func (e *Expr) Hit(mask, partial uint64) bool {
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
			found = found || k.Matches(mask|partial)
		}
		return found || !optional
	}
	return e.Matches(mask | partial)
}

// required reports whether the surrounding list requires the expression.
func (e *Expr) required() bool {
	return e.op == opMust || e.op == opAnd || e.op == opNot || e.op == opField
}

// Matches evaluates the expression on the mask of a document.
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
