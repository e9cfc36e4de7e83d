package rank

import (
	"pigrep/query/words"
)

// verdict says whether a document is a hit, and whether it lacks nothing (whole).
type verdict struct{ hit, whole bool }

// evaluator evaluates the expression of a query, and caches recent verdicts: there are
// far fewer different masks than documents. It is used by one goroutine.
type evaluator struct {
	root   *words.Expr
	scored uint64 // a hit has at least one of these words, or parts of one; 0: it needs none
	latest [256]evaluated
}

type evaluated struct {
	mask, partial uint64
	known         bool
	verdict
}

// newEvaluator returns the evaluator of a plan, for which a hit has at least one of these
// scored words.
func newEvaluator(p *words.Plan, scored uint64) evaluator {
	return evaluator{root: p.Query.Root, scored: scored}
}

// evaluate returns the verdict on a document with these masks.
func (e *evaluator) evaluate(mask, partial uint64) verdict { return e.lookup(mask, partial).verdict }

// lookup is evaluate with all that is remembered. The result is valid until the next
// call.
func (e *evaluator) lookup(mask, partial uint64) *evaluated {
	// A multiplicative hash: by two odd constants with well-mixed bits, the upper eight
	// bits depend on all bits of both masks, and number the 256 entries of the cache.
	l := &e.latest[(mask*0x9e3779b97f4a7c15^partial*0xc2b2ae3d27d4eb4f)>>56]
	if !l.known || l.mask != mask || l.partial != partial {
		hit := (e.scored == 0 || (mask|partial)&e.scored != 0) && e.root.Hit(mask, partial)
		*l = evaluated{mask: mask, partial: partial, known: true, verdict: verdict{hit, hit && len(e.root.Missing(mask, nil)) == 0}}
	}
	return l
}
