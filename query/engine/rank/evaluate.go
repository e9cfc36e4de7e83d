package rank

import (
	"pigrep/query/engine/words"
)

// verdict says what a document is to a query.
type verdict struct {
	hit     bool
	whole   bool // it lacks nothing, or only words that say little
	parts   bool // it lacks nothing, if all parts of a compound are enough
	weighty bool // it has a weighty word, or all parts of one, or lacks nothing
}

// Level says how good a hit is; 0 is no hit.
type Level uint8

// The levels of hits, the best one last.
const (
	LevelWeak Level = iota + 1
	LevelWeighty
	LevelParts
	LevelWhole
)

func (v verdict) level() Level {
	switch {
	case !v.hit:
		return 0
	case v.whole:
		return LevelWhole
	case v.parts:
		return LevelParts
	case v.weighty:
		return LevelWeighty
	}
	return LevelWeak
}

// evaluator evaluates the expression of a query, and caches recent verdicts: there are
// far fewer different masks than documents. It is used by one goroutine.
type evaluator struct {
	root     *words.Expr
	weighty  uint64 // words that weigh enough for a hit to be shown
	slight   uint64 // words that a hit may lack
	unscored bool   // no word of the query is scored
	allWords bool   // a hit lacks nothing, not even words that say little
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
	e := evaluator{root: p.Query.Root, unscored: p.Scored() == 0, weighty: p.ImportantMask, slight: p.SlightMask, allWords: allWords}
	if allWords {
		e.slight = 0
	}
	return e
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
		lacksNothing := func(mask uint64) bool { return hit && len(e.root.Missing(mask|e.slight, nil)) == 0 }
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

// verdictOf returns the verdict on a candidate that is shown. Goroutines may call it side by side.
func (s *search) verdictOf(c *Candidate) verdict {
	s.showing.Lock()
	defer s.showing.Unlock()
	return s.eval.evaluate(c.mask, c.partial)
}

// Someone who types keywords wants texts with all of them. A text with half of them must not
// rank above one with all of them because it is shorter. If one word decides what the query
// is about, as one of two always does, a text with all words counts many times as much. A
// sentence has words that a text may lack. A text without any weighty word comes after all
// others.
const (
	coverageShare = 0.6 // of a score, that depends on how much of the query a document has
	coverageAll   = 100
	coverageMinor = 1e-4
)

// covered returns the factor for how much of the query a document has.
func covered(p *words.ResolvedQuery, mask, partial uint64, v verdict) float32 {
	switch {
	case !v.weighty:
		return coverageMinor
	case p.HasKey && (v.parts || mask&p.InformativeMask == p.InformativeMask):
		return coverageAll
	case p.IsSentence || p.Weight == 0:
		return 1
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
