package search

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/query/engine/match"
	"pigrep/query/engine/words"
)

// Hits of a session that say the same are shown once: they have the same fragment, apart
// from numbers, ids, times and white space, except where these were searched for. A
// fragment may also be cut a word or two earlier or later.

const (
	alikeCut   = 2 // words by which the ends of fragments may differ
	alikeLeast = 4 // words that fragments have at least in common, if they differ in their ends
	leastID    = 4 // hexadecimal digits, one of them a digit, that are an id
)

// wording is what a hit says, for comparison with other hits of its session.
type wording struct {
	kind       string
	words      []string
	start, end bool // the text is cut there
	missing    string
}

func wordingOf(h *Hit) wording {
	text, end := strings.CutSuffix(general(h.Fragment.Text, h.Fragment.Spans), match.Ellipsis)
	text, start := strings.CutPrefix(text, match.Ellipsis)
	return wording{kind: string(h.Kind) + " " + h.Tool, words: strings.Fields(text), start: start, end: end, missing: strings.Join(h.Missing, "\x00")}
}

// general returns a text with # for each number and id, except in the spans.
func general(text string, spans [][2]int) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		run := text[at : at+runLen(text[at:])]
		switch {
		case touches(spans, at, at+len(run)):
			b.WriteString(run)
		case isID(run):
			b.WriteByte('#')
		default:
			before := ' '
			for _, r := range run {
				if unicode.IsDigit(r) {
					r = '#'
				}
				if r != '#' || before != '#' {
					b.WriteRune(r)
				}
				before = r
			}
		}
		at += len(run)
	}
	return b.String()
}

// runLen returns the length of the letters and digits that a text begins with, or of
// its first character.
func runLen(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	switch {
	case n < 0:
		return len(text)
	case n == 0:
		_, size := utf8.DecodeRuneInString(text)
		return size
	}
	return n
}

func touches(spans [][2]int, start, end int) bool {
	return slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] < end && start < s[1] })
}

func isID(run string) bool {
	return len(run) >= leastID && strings.ContainsAny(run, "0123456789") && strings.Trim(run, "0123456789abcdefABCDEF") == ""
}

// alike reports whether two hits of a session say the same.
func (w *wording) alike(o *wording) bool {
	if w.kind != o.kind || w.missing != o.missing {
		return false
	}
	for shift := -alikeCut; shift <= alikeCut; shift++ {
		if shift != 0 && !(w.start && o.start) {
			continue
		}
		a, b := w.words, o.words
		if shift > 0 {
			a = a[min(shift, len(a)):]
		} else {
			b = b[min(-shift, len(b)):]
		}
		n := min(len(a), len(b))
		over := max(len(a), len(b)) - n
		if over > 0 && (!w.end || !o.end || over > alikeCut) || (over > 0 || shift != 0) && n < alikeLeast {
			continue
		}
		if slices.Equal(a[:n], b[:n]) {
			return true
		}
	}
	return false
}

// Rarities returns BM25's inverse document frequency of each term in an index with these statistics.
// Terms that no document contains are omitted.
func Rarities(terms []string, of *words.Statistics) map[string]float64 {
	rarity := make(map[string]float64, len(terms))
	for _, t := range terms {
		if df := float64(of.Terms[t]); df > 0 {
			rarity[t] = math.Log(1 + (float64(of.Documents)-df+0.5)/(df+0.5))
		}
	}
	return rarity
}
