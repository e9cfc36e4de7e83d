package query

import (
	"pigrep/query/syntax"
)

// hit reports whether a document is a hit: mask has the bits of the words and
// fields it matches, weak those of the compounds it has some parts of. Parts are
// enough for what is optional only.
func (e *expr) hit(mask, weak uint64) bool {
	switch e.op {
	case opMust, opAnd:
		return e.matches(mask)
	case opList:
		optional, found := false, false
		for _, k := range e.kids {
			if k.required() {
				if !k.matches(mask) {
					return false
				}
				found = found || k.op == opMust || k.op == opAnd
				continue
			}
			optional = true
			found = found || k.matches(mask|weak)
		}
		return found || !optional
	}
	return e.matches(mask | weak)
}

// required reports whether the list around it cannot do without it.
func (e *expr) required() bool {
	return e.op == opMust || e.op == opAnd || e.op == opNot || e.op == opField
}

// matches evaluates the expression on the bits of a document.
func (e *expr) matches(mask uint64) bool {
	switch e.op {
	case opLeaf, opField:
		return mask&e.bit != 0
	case opNot:
		return !e.kids[0].matches(mask)
	case opMust:
		return e.kids[0].matches(mask)
	case opList:
		return e.hit(mask, 0)
	}
	for _, k := range e.kids {
		if k.matches(mask) == (e.op == opOr) {
			return e.op == opOr
		}
	}
	return e.op == opAnd
}

// missing appends what a hit with these bits lacks.
func (e *expr) missing(mask uint64, list []*expr) []*expr {
	switch e.op {
	case opList, opAnd, opMust:
		for _, k := range e.kids {
			list = k.missing(mask, list)
		}
		return list
	case opOr:
		for _, k := range e.kids {
			if len(k.missing(mask, nil)) == 0 {
				return list
			}
		}
		return append(list, e)
	}
	if e.matches(mask) {
		return list
	}
	return append(list, e)
}

// text is what was typed. A word is named without the quotes or parentheses that
// only keep it from being something else.
func (e *expr) text() string {
	if t, ok := e.node.(*syntax.Term); ok && t.Match == syntax.Literal {
		return t.Text
	}
	return e.node.String()
}

// verdict is what the expression says of a set of bits.
type verdict struct{ hit, whole bool }

// judge evaluates the expression and remembers its latest answers: there are far
// fewer different sets of bits than documents.
type judge struct {
	root   *expr
	scored uint64 // words of which a hit has one at least, or parts of one; 0: a hit needs none
	latest [256]judged

	covered func(mask, weak uint64) float32 // nil: nobody asks
}

type judged struct {
	mask, weak uint64
	known      bool
	verdict
	covered float32
}

func newJudge(q *compiled) judge {
	j := judge{root: q.root}
	for i, w := range q.words {
		if w.scored {
			j.scored |= 1 << i
		}
	}
	return j
}

func (j *judge) of(mask, weak uint64) verdict { return j.look(mask, weak).verdict }

// look is of with all that is remembered. The result is valid until the next call.
func (j *judge) look(mask, weak uint64) *judged {
	// Words have their bits from below, fields from above.
	l := &j.latest[(mask*0x9e3779b97f4a7c15^weak*0xc2b2ae3d27d4eb4f)>>56]
	if !l.known || l.mask != mask || l.weak != weak {
		hit := (j.scored == 0 || (mask|weak)&j.scored != 0) && j.root.hit(mask, weak)
		*l = judged{mask: mask, weak: weak, known: true, verdict: verdict{hit, hit && len(j.root.missing(mask, nil)) == 0}}
		if j.covered != nil {
			l.covered = j.covered(mask, weak)
		}
	}
	return l
}
