package segment

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"

	"pigrep/index/format"
)

// Fuzzy visits the terms of a field that begin with the prefix and are within the
// Levenshtein distance, 1 or 2, of the term, in byte order, until visit returns
// false. Swapping two neighbours is one edit. The count is the number of documents
// that have the term, deleted ones included. The segment must be a reader's.
func (s *Segment) Fuzzy(f Field, prefix, term []byte, distance int, visit func(term []byte, edits, count int) bool) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "list similar terms", &err)()
	tree, have, err := s.fst(f)
	if err != nil || !have {
		return err
	}
	dfa, err := s.automata.get(string(term), distance)
	if err != nil || dfa == nil {
		return err
	}
	a := withPrefix(prefix, dfa)
	w := termWalk{fst: tree, automaton: a, visit: func(found []byte, state int, value uint64) error {
		count, ok := s.countPostings(PostingsOffset(value))
		if !ok {
			return format.Damaged("postings of a term of %s", f)
		}
		visiting = true
		more := visit(found, int(a.EditDistance(state)), count)
		if visiting = false; !more {
			return errStop
		}
		return nil
	}}
	return w.run()
}

type fuzzyAutomaton interface {
	vellum.Automaton
	EditDistance(state int) uint8
}

// prefixed matches what begins with a prefix and what another automaton matches. Its
// states within the prefix are -1, -2, …; after it they are those of the other.
type prefixed struct {
	fuzzyAutomaton
	prefix []byte
	after  int // state of the other after the prefix
}

const deadState = math.MinInt

func withPrefix(prefix []byte, dfa fuzzyAutomaton) fuzzyAutomaton {
	if len(prefix) == 0 {
		return dfa
	}
	after := dfa.Start()
	for _, c := range prefix {
		after = dfa.Accept(after, c)
	}
	return &prefixed{dfa, prefix, after}
}

func (p *prefixed) Start() int { return -1 }

func (p *prefixed) Accept(state int, b byte) int {
	if state >= 0 {
		return p.fuzzyAutomaton.Accept(state, b)
	}
	switch i := -1 - state; {
	case state == deadState || b != p.prefix[i]:
		return deadState
	case i+1 == len(p.prefix):
		return p.after
	}
	return state - 1
}

func (p *prefixed) CanMatch(state int) bool {
	return state < 0 && state != deadState || state >= 0 && p.fuzzyAutomaton.CanMatch(state)
}

func (p *prefixed) IsMatch(state int) bool { return state >= 0 && p.fuzzyAutomaton.IsMatch(state) }

func (p *prefixed) WillAlwaysMatch(state int) bool {
	return state >= 0 && p.fuzzyAutomaton.WillAlwaysMatch(state)
}

// levenshteinCache keeps the Levenshtein automata of the terms that were looked
// for; all segments of a reader share one. It may be used by several goroutines.
type levenshteinCache struct {
	mu   sync.Mutex
	made map[levenshteinKey]*levenshtein.DFA
}

type levenshteinKey struct {
	term     string
	distance int
}

// levenshteinBuilders make automata by distance, a swap of neighbours being one
// edit. Making a builder takes milliseconds.
var levenshteinBuilders = [...]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	1: levenshteinBuilder(1),
	2: levenshteinBuilder(2),
}

func levenshteinBuilder(distance uint8) func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
	return sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(distance, true)
	})
}

// get returns the automaton of a term, nil when the term is too long for one.
func (c *levenshteinCache) get(term string, distance int) (*levenshtein.DFA, error) {
	if distance < 1 || distance >= len(levenshteinBuilders) {
		return nil, fmt.Errorf("terms within %d edits cannot be looked for", distance)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := levenshteinKey{term, distance}
	if dfa, ok := c.made[key]; ok {
		return dfa, nil
	}
	builder, err := levenshteinBuilders[distance]()
	if err != nil {
		return nil, err
	}
	dfa, err := builder.BuildDfa(term, uint8(distance))
	if err != nil && !errors.Is(err, levenshtein.ErrTooManyStates) {
		return nil, err
	}
	c.made[key] = dfa
	return dfa, nil
}
