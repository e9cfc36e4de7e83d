package segment

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"pigrep/index/format"
)

// Fuzzy visits the terms of a field that begin with the prefix and are within the
// Levenshtein distance, 1 or 2, of the term, in byte order. Swapping two neighbours is one
// edit. The term is valid during the visit only.
func (s *Segment) Fuzzy(f Field, prefix, term []byte, distance int, visit func(term []byte)) {
	var calling visiting
	defer s.containUnless(format.Guard(), &calling, "list similar terms")
	tree, have := s.fst(f)
	if !have {
		return
	}
	a := newLevenshtein(term, uint8(distance))
	tree.walk(prefix, prefixEnd(prefix), a, func(found []byte, _ PostingsOffset) bool {
		calling.do(func() { visit(found) })
		return true
	})
}

// typed are the characters that Typos replaces others with, or inserts.
const typed = "abcdefghijklmnopqrstuvwxyz0123456789"

// Typos visits the terms of a field that one typing error makes of this one: a
// character left out, two neighbours swapped, or an ASCII letter or digit too many
// or in the place of another. It looks up what the errors could have made, which
// takes a twentieth of the time of Fuzzy's walk through the dictionary. The term is
// valid during the visit only.
func (s *Segment) Typos(f Field, term []byte, visit func(term []byte)) {
	var calling visiting
	defer s.containUnless(format.Guard(), &calling, "list similar terms")
	tree, have := s.fst(f)
	if !have {
		return
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
	calling.do(func() {
		for _, t := range slices.Compact(found) {
			visit([]byte(t))
		}
	})
}

// levenshtein is an automaton that matches texts within a few edits of a term.
//
// States are made when a walk first reaches them. A walk through a dictionary reaches
// some hundred; to make all those for two edits takes milliseconds.
type levenshtein struct {
	term []rune
	most uint8 // edits
	// A state is a row of the table that computes the edit distance of two words.
	// Its first half has the number of edits between what was read and the first i
	// characters of the term, at most most+1. The second half has the same for what was
	// read without its last character, plus one edit, if that was the character i+1 of the
	// term: it may be swapped with the next one.
	rows []string
	ids  map[string]int // indices of rows
	// By state, and then by where the next character is first in the term, plus one: the
	// next state plus one, 0 if it is not made yet.
	next [][]int32
}

const (
	levenshteinDead  = 0
	levenshteinStart = 1
)

func newLevenshtein(term []byte, most uint8) *levenshtein {
	a := &levenshtein{term: []rune(string(term)), most: most, ids: make(map[string]int)}
	row := bytes.Repeat([]byte{most + 1}, 2*(len(a.term)+1))
	a.state(string(row)) // levenshteinDead
	for i := range min(int(most), len(a.term)) + 1 {
		row[i] = byte(i)
	}
	a.state(string(row)) // levenshteinStart
	return a
}

// state returns the state of a row, which it makes if there is none.
func (a *levenshtein) state(row string) int {
	id, ok := a.ids[row]
	if !ok {
		id = len(a.rows)
		a.ids[row] = id
		a.rows = append(a.rows, row)
		a.next = append(a.next, make([]int32, len(a.term)+1))
	}
	return id
}

// accept returns the state after the last byte of a text, levenshteinDead if nothing that
// begins like that can match. In the middle of a character it is the state before that.
func (a *levenshtein) accept(state int, text []byte) int {
	c, size := utf8.DecodeLastRune(text)
	if c == utf8.RuneError && size == 1 {
		return state
	}
	next := a.next[state]
	at := 1 + slices.Index(a.term, c)
	if next[at] == 0 {
		next[at] = int32(a.state(a.follow(a.rows[state], c))) + 1
	}
	return int(next[at]) - 1
}

// follow returns the row after a character.
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

func (a *levenshtein) matches(state int) bool { return a.rows[state][len(a.term)] <= a.most }
