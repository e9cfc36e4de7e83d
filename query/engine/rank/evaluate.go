package rank

import (
	"math/bits"

	"pigrep/query/engine/words"
)

// verdict says what a document is to a query.
type verdict struct {
	hit     bool
	whole   bool // it lacks nothing
	parts   bool // it lacks nothing, if all parts of a compound are enough
	weighty bool // it has a weighty word, or all parts of one, or lacks nothing
}

// level returns how good a hit is; 0 for none.
func (v verdict) level() uint8 {
	switch {
	case !v.hit:
		return 0
	case v.whole:
		return 3
	case v.parts:
		return 2
	}
	return 1
}

// evaluator evaluates the expression of a query, and caches recent verdicts: there are
// far fewer different masks than documents. It is used by one goroutine.
type evaluator struct {
	root     *words.Expr
	weighty  uint64 // words that weigh enough for a hit to be shown
	unscored bool   // no word of the query is scored
	allWords bool   // a hit lacks nothing
	latest   [256]evaluated

	covered func(mask, partial uint64, v verdict) float32 // nil: not needed
}

type evaluated struct {
	mask, partial uint64
	known         bool
	verdict
	covered float32
}

func newEvaluator(p *words.ResolvedQuery, allWords bool) evaluator {
	return evaluator{root: p.Query.Root, unscored: p.Scored() == 0, weighty: p.ImportantMask, allWords: allWords}
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
		hit := e.root.Hit(full(mask, partial), partial)
		lacksNothing := func(mask uint64) bool { return hit && len(e.root.Missing(mask, nil)) == 0 }
		v := verdict{whole: lacksNothing(full(mask, partial)), parts: lacksNothing(mask)}
		v.weighty = v.whole || e.unscored || mask&e.weighty != 0
		v.hit = hit && (v.whole || !e.allWords)
		*l = evaluated{mask: mask, partial: partial, known: true, verdict: v}
		if e.covered != nil {
			l.covered = e.covered(mask, partial, l.verdict)
		}
	}
	return l
}

// Who types keywords wants texts with all of them, and a text with half of them must not
// rank above one with all because it is shorter. If there are two, a text with both counts
// many times as much. A sentence has words that no text needs to have. A text without any
// weighty word comes after all others.
const (
	coverageShare = 0.6 // of a score, that depends on how much of the query a document has
	coverageBoth  = 10
	coverageMinor = 1e-4
)

// covered returns the factor for how much of the query a document has.
func covered(p *words.ResolvedQuery, mask, partial uint64, v verdict) float32 {
	pair := bits.OnesCount64(p.InformativeMask) == 2 && !p.IsSentence
	switch {
	case !v.weighty:
		return coverageMinor
	case p.IsSentence || p.Weight == 0:
		return 1
	case pair && (v.parts || mask&p.InformativeMask == p.InformativeMask):
		return coverageBoth
	case v.parts:
		return 1
	}
	has := 0.0
	for _, w := range p.Words {
		switch {
		case mask&w.Bit != 0:
			has += w.Weight
		case partial&w.Bit != 0:
			has += w.Weight * words.WeightSome
		}
	}
	return float32(1 - coverageShare + coverageShare*has/p.Weight)
}
