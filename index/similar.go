package index

import (
	"math"
	"pigrep/index/format"
	"slices"

	"github.com/blevesearch/vellum"
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

// typed is what Similar puts in the place of a character or between two.
const typed = "abcdefghijklmnopqrstuvwxyz0123456789"

// Similar visits the terms of a field that one typing error makes of this one:
// a character left out, two neighbours swapped, or an ASCII letter or digit too
// many or in the place of another. It looks up what the errors could have made,
// which costs a twentieth of Fuzzy's walk through the dictionary.
func (s *Segment) Similar(f Field, term []byte, visit func(term []byte)) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "list similar terms", &err)()
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return err
	}
	var found []string
	// try follows the pieces from a state, and notes the term when it exists.
	try := func(at int, before int, pieces ...[]byte) {
		for _, p := range pieces {
			for _, c := range p {
				if at = fst.Accept(at, c); !fst.CanMatch(at) {
					return
				}
			}
		}
		if fst.IsMatch(at) {
			found = append(found, string(slices.Concat(append([][]byte{term[:before]}, pieces...)...)))
		}
	}
	at := fst.Start() // the state after term[:i]
	for i := 0; i <= len(term); i++ {
		if i < len(term) {
			try(at, i, term[i+1:])
		}
		if i+1 < len(term) && term[i] != term[i+1] {
			try(at, i, []byte{term[i+1], term[i]}, term[i+2:])
		}
		for k := range len(typed) {
			c := typed[k]
			if !fst.CanMatch(fst.Accept(at, c)) {
				continue
			}
			if i < len(term) && c != term[i] {
				try(at, i, []byte{c}, term[i+1:])
			}
			try(at, i, []byte{c}, term[i:])
		}
		if i == len(term) {
			break
		}
		if at = fst.Accept(at, term[i]); !fst.CanMatch(at) {
			break
		}
	}
	slices.Sort(found)
	visiting = true
	for _, t := range slices.Compact(found) {
		visit([]byte(t))
	}
	visiting = false
	return nil
}
