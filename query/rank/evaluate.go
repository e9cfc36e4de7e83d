package rank

import (
	"pigrep/query/words"
)

// verdict is what the expression says of a set of bits.
type verdict struct{ hit, whole bool }

// evaluator evaluates the expression and remembers its latest answers: there are far
// fewer different sets of bits than documents.
type evaluator struct {
	root   *words.Expr
	scored uint64 // words of which a hit has one at least, or parts of one; 0: a hit needs none
	latest [256]evaluated

	covered func(mask, weak uint64) float32 // nil: nobody asks
}

type evaluated struct {
	mask, weak uint64
	known      bool
	verdict
	covered float32
}

func newEvaluator(p *words.Plan) evaluator {
	e := evaluator{root: p.Query.Root}
	for i, w := range p.Words {
		if w.Scored {
			e.scored |= 1 << i
		}
	}
	return e
}

func (e *evaluator) of(mask, weak uint64) verdict { return e.look(mask, weak).verdict }

// look is of with all that is remembered. The result is valid until the next call.
func (e *evaluator) look(mask, weak uint64) *evaluated {
	// A multiplicative hash, which takes its upper bits from all bits of both.
	l := &e.latest[(mask*0x9e3779b97f4a7c15^weak*0xc2b2ae3d27d4eb4f)>>56]
	if !l.known || l.mask != mask || l.weak != weak {
		hit := (e.scored == 0 || (mask|weak)&e.scored != 0) && e.root.Hit(mask, weak)
		*l = evaluated{mask: mask, weak: weak, known: true, verdict: verdict{hit, hit && len(e.root.Missing(mask, nil)) == 0}}
		if e.covered != nil {
			l.covered = e.covered(mask, weak)
		}
	}
	return l
}

// coverage is the share of a score that depends on how much of the query, each
// word weighted by its idf, a document has: without it a short text with half of
// the words would rank above a longer one with all of them.
const coverage = 0.3

// covered is the factor for how much of the query a candidate with these words has.
func covered(p *words.Plan, mask, weak uint64) float32 {
	if p.Weight == 0 {
		return 1
	}
	has := 0.0
	for _, w := range p.Words {
		switch {
		case mask&w.Bit != 0:
			has += w.Weight
		case weak&w.Bit != 0:
			has += w.Weight * words.WeightSome
		}
	}
	return float32(1 - coverage + coverage*has/p.Weight)
}
