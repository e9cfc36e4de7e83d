package segment

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"pigrep/index/format"

	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
)

// Fuzzy visits the terms of a field that begin with the prefix and are within
// the edit distance, 1 or 2, of the term, in byte order, until visit returns
// false. Swapping two neighbours is one edit. The count is that of Terms.
func (s *Segment) Fuzzy(f Field, prefix, term []byte, distance int, visit func(term []byte, edits, count int) bool) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "list similar terms", &err)()
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return err
	}
	dfa, err := s.automata.of(string(term), distance)
	if err != nil || dfa == nil {
		return err
	}
	// The prefix is part of the automaton: bounds would be looked at only when
	// a term matches, after walking through all that is beyond them.
	it, err := fst.Search(behind(prefix, dfa), nil, nil)
	for err == nil {
		found, value := it.Current()
		count, ok := countList(s.data, value)
		if !ok {
			return format.Damaged("postings of a term of %s", f)
		}
		visiting = true
		more := visit(found, int(it.EditDistance()), count)
		if visiting = false; !more {
			return nil
		}
		err = it.Next()
	}
	return iteratorError(f, err)
}

type fuzzyAutomaton interface {
	vellum.Automaton
	EditDistance(state int) uint8
}

// prefixed is an automaton for what begins with a prefix and what another one
// matches. Its states within the prefix are -1, -2, …; then they are the other's.
type prefixed struct {
	fuzzyAutomaton
	prefix []byte
	after  int // the other's state after the prefix
}

const deadState = math.MinInt

// behind returns the automaton that matches what dfa does and begins with prefix.
func behind(prefix []byte, dfa fuzzyAutomaton) fuzzyAutomaton {
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

// automata holds the automata of the words looked for, which all segments of a
// reader share.
type automata struct {
	mu   sync.Mutex
	made map[automatonKey]*levenshtein.DFA
}

type automatonKey struct {
	term     string
	distance int
}

// automatonBuilders make automata for terms within so many edits, a swap of
// neighbours being one. Making a builder takes milliseconds.
var automatonBuilders = [...]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	1: automatonBuilder(1),
	2: automatonBuilder(2),
}

func automatonBuilder(distance uint8) func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
	return sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(distance, true)
	})
}

// of returns the automaton of a term, nil when the term is too long for one.
func (a *automata) of(term string, distance int) (*levenshtein.DFA, error) {
	if distance < 1 || distance >= len(automatonBuilders) {
		return nil, fmt.Errorf("terms within %d edits cannot be looked for", distance)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := automatonKey{term, distance}
	if dfa, ok := a.made[key]; ok {
		return dfa, nil
	}
	builder, err := automatonBuilders[distance]()
	if err != nil {
		return nil, err
	}
	dfa, err := builder.BuildDfa(term, uint8(distance))
	if err != nil && !errors.Is(err, levenshtein.ErrTooManyStates) {
		return nil, err
	}
	a.made[key] = dfa
	return dfa, nil
}
