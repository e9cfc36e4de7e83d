package segment

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"pigrep/index/format"
)

// Fuzzy visits the terms of a field that begin with the prefix and are within the
// Levenshtein distance, 1 or 2, of the term, in byte order. Swapping two neighbours is one
// edit. The term is valid during the visit only.
func (s *Segment) Fuzzy(f Field, prefix, term []byte, distance int, visit func(term []byte)) (err error) {
	var visiting format.Visiting
	defer format.ContainUnless(format.Guard(), &visiting, "list similar terms", &err)
	if distance < 1 || distance > 2 {
		return fmt.Errorf("terms within %d edits cannot be looked for", distance)
	}
	tree, have := s.fst(f)
	if !have {
		return nil
	}
	a := newLevenshtein(term, uint8(distance))
	return tree.walk(prefix, prefixEnd(prefix), a, func(found []byte, _ PostingsOffset) error {
		visiting.Do(func() { visit(found) })
		return nil
	})
}

// typed are the characters that Typos replaces others with, or inserts.
const typed = "abcdefghijklmnopqrstuvwxyz0123456789"

// Typos visits the terms of a field that one typing error makes of this one: a
// character left out, two neighbours swapped, or an ASCII letter or digit too many
// or in the place of another. It looks up what the errors could have made, which
// takes a twentieth of the time of Fuzzy's walk through the dictionary. The term is
// valid during the visit only.
func (s *Segment) Typos(f Field, term []byte, visit func(term []byte)) (err error) {
	var visiting format.Visiting
	defer format.ContainUnless(format.Guard(), &visiting, "list similar terms", &err)
	tree, have := s.fst(f)
	if !have {
		return nil
	}
	var found []string
	// try follows the pieces from the node after term[:before], and keeps the term
	// if it exists.
	try := func(at int, before int, pieces ...[]byte) {
		for _, p := range pieces {
			for _, c := range p {
				var ok bool
				if at, _, ok = tree.after(at, c); !ok {
					return
				}
			}
		}
		if _, ok := tree.ends(at); ok {
			found = append(found, string(slices.Concat(append([][]byte{term[:before]}, pieces...)...)))
		}
	}
	at := tree.root // the node after term[:i]
	for i := 0; i <= len(term); i++ {
		if i < len(term) {
			try(at, i, term[i+1:])
		}
		if i+1 < len(term) && term[i] != term[i+1] {
			try(at, i, []byte{term[i+1], term[i]}, term[i+2:])
		}
		for k := range len(typed) {
			c := typed[k]
			if _, _, ok := tree.after(at, c); !ok {
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
		var ok bool
		if at, _, ok = tree.after(at, term[i]); !ok {
			break
		}
	}
	slices.Sort(found)
	visiting.Do(func() {
		for _, t := range slices.Compact(found) {
			visit([]byte(t))
		}
	})
	return nil
}

// levenshtein is an automaton that matches texts within a few edits of a term.
//
// States are made when a walk first reaches them. A walk through a dictionary reaches
// some hundred; to make all those for two edits takes milliseconds.
type levenshtein struct {
	term    []rune
	most    uint8      // edits
	classes [256]uint8 // of first bytes: those of the term's characters have their own, others one up to levenshteinOther
	count   int        // of classes
	states  []levenshteinState
	ids     map[string]int // indices of states
}

// levenshteinState is the part of the bytes read so far that determines further matches.
type levenshteinState struct {
	// row is one of the table in which the edit distance of two words is computed. Its
	// first half has the number of edits between what was read and the first i
	// characters of the term, at most levenshtein.most+1. The second half has the same
	// for what was read without its last character, plus one edit, if that was the
	// character i+1 of the term: it may be swapped with the next one.
	row string
	// unread are the first bytes of a character that may be one of the term. Others are
	// in the row from their first byte on, and skipped is the state after the next one
	// of their bytes.
	unread  string
	skipped int
	// next has, by the class of the next byte, or by the byte if some are unread, the next
	// state plus one, 0 if it is not made yet. With a place for each byte the tables of a
	// walk would take hundreds of kilobytes, and most states would be computed many times.
	next []int32
}

const (
	levenshteinDead  = 0
	levenshteinStart = 1

	// levenshteinOther is the last class of bytes that begin no character of the term. A
	// class of these is the number of bytes that follow.
	levenshteinOther = utf8.UTFMax - 1
)

func newLevenshtein(term []byte, most uint8) *levenshtein {
	a := &levenshtein{term: []rune(string(term)), most: most, ids: make(map[string]int)}
	for b := range a.classes {
		a.classes[b] = uint8(continuations(byte(b)))
	}
	a.count = levenshteinOther + 1
	for _, c := range a.term {
		if b := string(c)[0]; !a.leads(b) {
			a.classes[b] = uint8(a.count)
			a.count++
		}
	}
	row := bytes.Repeat([]byte{most + 1}, 2*(len(a.term)+1))
	a.state(levenshteinState{row: string(row)}) // levenshteinDead
	for i := range min(int(most), len(a.term)) + 1 {
		row[i] = byte(i)
	}
	a.state(levenshteinState{row: string(row)}) // levenshteinStart
	return a
}

// leads reports whether a character of the term begins with a byte.
func (a *levenshtein) leads(b byte) bool { return a.classes[b] > levenshteinOther }

// state returns the number of a state, which it makes if there is none.
func (a *levenshtein) state(s levenshteinState) int {
	key := s.row + s.unread
	if s.skipped != 0 {
		key = strconv.Itoa(s.skipped) // no row has digits
	}
	id, ok := a.ids[key]
	if !ok {
		id = len(a.states)
		a.ids[key] = id
		a.states = append(a.states, s)
	}
	return id
}

// accept returns the state after a byte, levenshteinDead if nothing that follows can
// match.
func (a *levenshtein) accept(state int, b byte) int {
	s := &a.states[state]
	if s.skipped != 0 {
		return s.skipped
	}
	class, count := a.classes[b], a.count
	if s.unread != "" {
		class, count = b, len(a.classes)
	}
	if s.next == nil {
		s.next = make([]int32, count)
	}
	next := s.next
	if next[class] == 0 {
		next[class] = int32(a.after(*s, b)) + 1
	}
	return int(next[class]) - 1
}

func (a *levenshtein) after(s levenshteinState, b byte) int {
	if s.unread == "" && !a.leads(b) {
		id := a.state(levenshteinState{row: a.follow(s.row, -1)})
		for range continuations(b) {
			if id != levenshteinDead {
				id = a.state(levenshteinState{row: a.states[id].row, skipped: id})
			}
		}
		return id
	}
	s.next, s.unread = nil, s.unread+string([]byte{b})
	for s.unread != "" && utf8.FullRuneInString(s.unread) {
		c, size := utf8.DecodeRuneInString(s.unread)
		s.row, s.unread = a.follow(s.row, c), s.unread[size:]
	}
	return a.state(s)
}

// continuations returns how many bytes follow the first one of a character.
func continuations(first byte) int {
	switch {
	case first >= 0xf0:
		return 3
	case first >= 0xe0:
		return 2
	case first >= 0xc0:
		return 1
	}
	return 0
}

// follow returns the row after a character, -1 for one that is not in the term.
func (a *levenshtein) follow(row string, c rune) string {
	n := len(a.term) + 1
	next := make([]byte, 2*n)
	before, swaps := row[:n], row[n:]
	for i := range n {
		edits, swapped := before[i]+1, a.most+1
		if i > 0 {
			replaced := before[i-1]
			if a.term[i-1] != c {
				replaced++
			}
			edits = min(edits, replaced, next[i-1]+1)
		}
		if i > 1 && a.term[i-2] == c {
			edits = min(edits, swaps[i-2])
		}
		if i+1 < len(a.term) && a.term[i+1] == c {
			swapped = min(before[i]+1, a.most+1)
		}
		next[i], next[n+i] = min(edits, a.most+1), swapped
	}
	return string(next)
}

func (a *levenshtein) matches(state int) bool {
	s := &a.states[state]
	return s.unread == "" && s.skipped == 0 && s.row[len(a.term)] <= a.most
}
