package automaton

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// A literal is found in a time that does not depend on its length, by the method of Knuth,
// Morris and Pratt: after a mismatch, the longest start of the literal that ends here goes
// on.
type literal struct {
	runes []rune
	fold  bool
	back  []int32   // for each length of a start that matched, the length of the next shorter one
	first [256]bool // bytes that begin a match
	edge  []rune
}

func newLiteral(re *syntax.Regexp, edge []rune) *literal {
	l := &literal{fold: re.Flags&syntax.FoldCase != 0, edge: edge}
	for _, r := range re.Rune {
		l.runes = append(l.runes, l.folded(r))
	}
	l.back = make([]int32, len(l.runes)+1)
	for i, n := 1, int32(0); i < len(l.runes); i++ {
		n = l.extend(n, l.runes[i])
		l.back[i+1] = n
	}
	r := l.runes[0]
	for {
		l.first[string(r)[0]] = true
		for c := utf8.RuneSelf; c < len(l.first) && r == utf8.RuneError; c++ {
			l.first[c] = true // it may be invalid
		}
		if r = unicode.SimpleFold(r); !l.fold || r == l.runes[0] {
			return l
		}
	}
}

// folded returns one of the cases of a character, the same for all of them.
func (l *literal) folded(r rune) rune {
	switch {
	case !l.fold:
		return r
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// extend returns how many characters match after a further one, of n that matched before.
func (l *literal) extend(n int32, r rune) int32 {
	for n > 0 && (int(n) == len(l.runes) || l.runes[n] != r) {
		n = l.back[n]
	}
	if l.runes[n] == r {
		n++
	}
	return n
}

// nextMatch returns the first match that begins at or after from.
func (l *literal) nextMatch(text []byte, from int, ended func() bool) (start, end int, ok bool) {
	n := int32(0)
	for window := from; from < len(text); {
		if from >= window {
			if window = from + askEvery; ended != nil && ended() {
				return 0, 0, false
			}
		}
		if n == 0 {
			until := min(window, len(text))
			for from < until && !l.first[text[from]] {
				from++
			}
			if from == until {
				continue
			}
		}
		r, size := rune(text[from]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[from:])
		}
		from += size
		if n = l.extend(n, l.folded(r)); int(n) == len(l.runes) {
			if start = l.startOf(text, from); l.standsAlone(text, start, from) {
				return start, from, true
			}
		}
	}
	return 0, 0, false
}

// startOf returns where the match begins that ends at end.
func (l *literal) startOf(text []byte, end int) int {
	for range l.runes {
		_, size := utf8.DecodeLastRune(text[:end])
		end -= size
	}
	return end
}

// standsAlone reports whether no character of the edge is beside a match.
func (l *literal) standsAlone(text []byte, start, end int) bool {
	before, _ := utf8.DecodeLastRune(text[:start])
	after, _ := utf8.DecodeRune(text[end:])
	return (start == 0 || !inRanges(l.edge, before)) && (end == len(text) || !inRanges(l.edge, after))
}
