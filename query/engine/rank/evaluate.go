package rank

import (
	"pigrep/query/engine/words"
)

// verdict says what a document is to a query.
type verdict struct {
	hit     bool
	whole   bool   // it lacks nothing, or only words that say little
	parts   bool   // it lacks nothing, if all parts of a compound are enough
	weighty bool   // it has a weighty word, or all parts of one, or lacks nothing
	loosely bool   // it would lack less if similar spellings and names of arguments counted as the word
	class   uint16 // the class of what it lacks; see Candidate
}

// The classes of what a document lacks. The bits below them are the ways of the weightiest words.
const (
	classLacking uint16 = 1 << (13 + iota) // a word, if one word decides what the query is about
	classLoosely                           // a word that it has loosely, if one word decides
	classMinor                             // all weighty words
)

// Level says how good a hit is; 0 is not a hit.
type Level uint8

// The levels of hits, the best one last.
const (
	LevelWeak    Level = iota + 1
	LevelNamed         // it has a word only as the name of an argument
	LevelSimilar       // it has a word only in a similar spelling
	LevelWeighty
	LevelParts
	LevelWhole
)

// level returns the level of a hit whose loosest word has this tier.
func (v verdict) level(tier uint8) Level {
	switch {
	case !v.hit:
		return 0
	case v.whole:
		return LevelWhole
	case v.parts:
		return LevelParts
	case v.loosely && tier == words.TierName:
		return LevelNamed
	case v.loosely:
		return LevelSimilar
	case v.weighty:
		return LevelWeighty
	}
	return LevelWeak
}

// evaluator evaluates the expression of a query, and caches recent verdicts: there are
// far fewer different masks than documents. It is used by one goroutine.
type evaluator struct {
	plan     *words.ResolvedQuery
	root     *words.Expr
	loosely  uint64                // words that a document may have only loosely
	named    []*words.ResolvedWord // compounds that it may have only by name
	weighty  uint64                // words that weigh enough for a hit to be shown
	slight   uint64                // words that a hit may lack
	unscored bool                  // no word of the query is scored
	allWords bool                  // a hit lacks nothing, not even words that say little
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
	e := evaluator{plan: p, root: p.Query.Root, unscored: p.Scored() == 0, weighty: p.ImportantMask, slight: p.SlightMask, allWords: allWords}
	if allWords {
		e.slight = 0
	}
	for _, w := range p.Words {
		if w.Scored && len(w.Parts) == 0 && w.Find == nil {
			e.loosely |= w.Bit
		}
		if w.ByName != 0 && w.Bit&e.slight == 0 {
			e.named = append(e.named, w)
		}
	}
	e.loosely &^= e.slight
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
		loosely := e.looselyIn(mask, partial)
		v.weighty = v.whole || e.unscored || (mask|loosely)&e.weighty != 0
		v.loosely = loosely != 0
		v.hit = hit && (v.whole || !e.allWords)
		v.class = e.class(mask, partial, v)
		*l = evaluated{mask: mask, partial: partial, known: true, verdict: v}
		if e.covered != nil {
			l.covered = e.covered(mask, partial, l.verdict)
		}
	}
	return l
}

// looselyIn returns the words that a document with these masks has only loosely, so that it lacks them:
// other documents have them in a tighter way.
func (e *evaluator) looselyIn(mask, partial uint64) uint64 {
	loosely := partial &^ mask & e.loosely
	for _, w := range e.named {
		if partial&^mask&w.Bit != 0 && partial&w.ByName != 0 {
			loosely |= w.Bit
		}
	}
	return loosely
}

// verdictOf returns the verdict on a candidate that is shown. It is safe for concurrent use.
func (s *search) verdictOf(c *Candidate) verdict {
	s.showing.Lock()
	defer s.showing.Unlock()
	return s.eval.evaluate(c.mask, c.partial)
}

// class returns the class of what a document lacks, and the ways of the words that it lacks.
func (e *evaluator) class(mask, partial uint64, v verdict) (class uint16) {
	if !v.weighty {
		class = classMinor
	}
	if !e.plan.HasKey {
		return class
	}
	if !v.parts && mask&e.plan.InformativeMask != e.plan.InformativeMask {
		class |= classLacking
	}
	if v.loosely {
		class |= classLoosely
	}
	for _, w := range e.plan.Words {
		switch {
		case w.Place < 0:
		case mask&partial&w.Bit != 0:
			class |= words.WayParts << w.Place
		case (mask|partial)&w.Bit == 0, mask&w.Bit == 0 && len(w.Parts) > 0 && partial&w.ByName == 0:
			class |= words.WayMissing << w.Place
		}
	}
	return class
}

// coverageShare is the share of a score that depends on how much of the query a document has.
// Somebody who types keywords wants texts with all of them: a text with half of them must not
// rank above a text with all of them because it is shorter. If one word decides what the query
// is about (of two words, one always does), the class of a text says that already. A text may
// lack some words of a sentence. A text without any weighty word comes after all others.
const coverageShare = 0.6

// covered returns the factor for how much of the query a document has.
func covered(p *words.ResolvedQuery, mask, partial uint64, v verdict) float32 {
	switch {
	case p.IsSentence, p.Weight == 0, v.parts, p.HasKey && mask&p.InformativeMask == p.InformativeMask:
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
