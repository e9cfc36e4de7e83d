package literal

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"pigrep/internal/bytescan"
)

// A Finder finds one literal, or a run. It is immutable. It looks for the two rarest bytes
// of the literal at their distance.
//
// With fold set the literal is lower case, its ASCII letters match in any case, and
// its other characters have no case.
type Finder struct {
	Text   []byte
	fold   bool
	pair   bytescan.Pair // the two rarest bytes of Text
	pairAt int           // offset of the first of them

	run *run // looked for instead of a literal, if not nil
}

// frequency lists bytes by how often they are in session files, the most common
// first: roughly the letters of English and the punctuation of code.
const frequency = " etaoinsrlcdupm\"fhgb,y.w_v-0:/1x2k()35\\4E968TS7ICAqjzPRNLODMF>B=;HUGWV'*+Y<KJ{}#[]XQ&$!@|Z%?^~`"

// byteRank is higher for more common bytes. Only the order matters, and that the sum
// of two ranks compares pairs: each step down the list of frequency costs 2.
var byteRank = func() (rank [256]uint8) {
	for i := range len(frequency) {
		rank[frequency[i]] = uint8(200 - 2*i)
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		rank[c] = 30 // rarer than most of ASCII
	}
	// These begin the characters of typographic punctuation, kana and common Han.
	rank[0xe2], rank[0xe3], rank[0xe4], rank[0xe5] = 60, 60, 60, 60
	return rank
}()

// NewFinder returns the Finder of a text that is not empty and, with fold set, in
// lower case.
func NewFinder(text []byte, fold bool) Finder {
	cost := func(i int) int {
		c := text[i]
		n := int(byteRank[c])
		if fold && 'a' <= c && c <= 'z' {
			n += int(byteRank[c-'a'+'A'])
		}
		return n
	}
	if len(text) == 1 {
		// A single byte makes a pair with itself.
		return Finder{Text: text, fold: fold, pair: bytescan.NewPair(text[0], text[0], 0, fold)}
	}
	first, second := 0, 1
	for i := range text {
		for j := i + 1; j < len(text); j++ {
			if cost(i)+cost(j) < cost(first)+cost(second) {
				first, second = i, j
			}
		}
	}
	return Finder{Text: text, fold: fold, pair: bytescan.NewPair(text[first], text[second], second-first, fold), pairAt: first}
}

// IndexByteFrom returns the offset of c at or after from, len(text) if there is none.
func IndexByteFrom(text []byte, c byte, from int) int {
	if from >= len(text) {
		return len(text)
	}
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// Find returns the offset of the literal at or after from, len(text) if there is none.
func (n *Finder) Find(text []byte, from int) int {
	if n.run != nil {
		return n.run.nextRun(text, from)
	}
	for p := from + n.pairAt; p < len(text); p++ {
		if p = n.pair.Next(text, p); p == len(text) {
			break
		}
		start := p - n.pairAt
		if start+len(n.Text) > len(text) {
			break
		}
		if n.equal(text[start : start+len(n.Text)]) {
			return start
		}
	}
	return len(text)
}

func (n *Finder) equal(text []byte) bool {
	if !n.fold {
		return bytes.Equal(text, n.Text)
	}
	for i, c := range n.Text {
		if LowerByte(text[i]) != c {
			return false
		}
	}
	return true
}

func lowerASCII(b []byte) []byte {
	b = slices.Clone(b)
	for i, c := range b {
		b[i] = LowerByte(c)
	}
	return b
}

func LowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
