package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Most texts contain no words of the rules, and the others contain them in few
// lines. One pass over the text finds these words; only the lines around them are
// searched with the patterns, which are slow.

// region is a piece of a text in which a rule may match.
type region struct{ rule, start, end int }

// How much of a long line around a word is searched.
const (
	regionBefore = 256
	regionAfter  = 8 << 10
)

// nearWord is a word of a rule.
type nearWord struct {
	word string
	rule int
}

type nearTable struct {
	begins [1 << 16 / 64]uint64 // bit set of the first two bytes of words
	words  map[uint16][]nearWord
}

var near = sync.OnceValue(func() *nearTable {
	t := &nearTable{words: make(map[uint16][]nearWord)}
	for i := range Rules {
		for _, w := range Rules[i].Near {
			pair := uint16(w[0])<<8 | uint16(w[1])
			t.begins[pair>>6] |= 1 << (pair & 63)
			t.words[pair] = append(t.words[pair], nearWord{w, i})
		}
	}
	return t
})

// regions returns the regions to search, ordered by rule and position. Those of one
// rule do not overlap.
func regions(text string) []region {
	t := near()
	var found []region
	covered := make([]int, len(Rules)) // the end of the last region of each rule
	add := func(rule, at int) {
		if at < covered[rule] {
			return
		}
		r := region{rule, 0, len(text)}
		if !Rules[rule].Lines {
			// Includes the newline before the line: a pattern may require white space.
			r.start = lineBefore(text, at)
			r.end = min(at+regionAfter, len(text))
			if n := strings.IndexByte(text[at:r.end], '\n'); n >= 0 {
				r.end = at + n
				covered[rule] = r.end
			}
		}
		if r.end == len(text) {
			covered[rule] = r.end
		}
		found = append(found, r)
	}
	last := byte(0)
	for i := 0; i < len(text); i++ {
		c := lower(text[i])
		pair := uint16(last)<<8 | uint16(c)
		last = c
		if t.begins[pair>>6]&(1<<(pair&63)) == 0 {
			continue
		}
		for _, w := range t.words[pair] {
			if end := i - 1 + len(w.word); end <= len(text) && equalFold(text[i-1:end], w.word) {
				add(w.rule, i-1)
			}
		}
	}
	if len(found) < 2 {
		return found
	}
	slices.SortStableFunc(found, func(a, b region) int {
		if a.rule != b.rule {
			return a.rule - b.rule
		}
		return a.start - b.start
	})
	kept := found[:1]
	for _, r := range found[1:] {
		if k := &kept[len(kept)-1]; k.rule == r.rule && r.start < k.end {
			k.end = max(k.end, r.end)
		} else {
			kept = append(kept, r)
		}
	}
	return kept
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// equalFold reports whether s equals the word, ignoring the case of s.
func equalFold(s, word string) bool {
	for i := range len(word) {
		if lower(s[i]) != word[i] {
			return false
		}
	}
	return true
}

// compiled returns the patterns, each compiled on first use.
var compiled = sync.OnceValue(func() []func() *regexp.Regexp {
	list := make([]func() *regexp.Regexp, len(Rules))
	for i := range Rules {
		list[i] = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(Rules[i].Pattern) })
	}
	return list
})

func pattern(rule int) *regexp.Regexp { return compiled()[rule]() }

// lineBefore returns the position of the newline before at, or the earliest position
// searched if there is none.
func lineBefore(text string, at int) int {
	from := max(0, at-regionBefore)
	return max(from, from+strings.LastIndexByte(text[from:at], '\n'))
}
