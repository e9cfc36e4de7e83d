package literal

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// A Finder finds one literal, or a run. It is immutable. It looks for the rarest byte of the
// literal with bytes.IndexByte and, where that byte turns out to be common, for the
// two rarest bytes at their distance.
//
// With fold set the literal is lower case, its ASCII letters match in any case, and
// its other characters have no case.
type Finder struct {
	Text   []byte
	fold   bool
	pair   pair // the two rarest bytes of Text
	pairAt int  // offset of the first of them

	rare                 int // offset of the rarest byte; -1 if all bytes are common
	rareLower, rareUpper byte

	run *run // looked for instead of a literal, if not nil
}

// A FinderState says how far a Finder has come in a text: the next literal, and the
// next rare byte in lower and upper case.
type FinderState struct{ next, lower, upper int }

var AtStart = FinderState{-1, -1, -1}

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

// commonRank is the rank of the 17th most common byte. From there on up a search for
// the single byte stops so often that the search for the pair is faster.
const commonRank = 200 - 2*16

// After more than minMisses stops at the rare byte without the literal, the byte
// must be missMultiple bytes apart on average. Where it is more frequent, a call of
// bytes.IndexByte per stop costs more than the search for the pair, which looks at
// 32 bytes in a step.
const (
	minMisses    = 64
	missMultiple = 24
)

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
		return Finder{Text: text, fold: fold, pair: newPair(text[0], text[0], 0, fold), rare: -1}
	}
	first, second := 0, 1
	for i := range text {
		for j := i + 1; j < len(text); j++ {
			if cost(i)+cost(j) < cost(first)+cost(second) {
				first, second = i, j
			}
		}
	}
	n := Finder{Text: text, fold: fold, pair: newPair(text[first], text[second], second-first, fold), pairAt: first, rare: -1}
	for i, c := range text {
		if byteRank[c] < commonRank && (n.rare < 0 || cost(i) < cost(n.rare)) {
			n.rare, n.rareLower, n.rareUpper = i, c, c
			if fold && 'a' <= c && c <= 'z' {
				n.rareUpper = c - 'a' + 'A'
			}
		}
	}
	return n
}

// A pair is two bytes at a fixed distance. It is searched for at 32 offsets in a
// step.
type pair struct {
	a, b     uint64 // each byte, repeated eight times
	anyCase  uint64 // the bit 0x20, repeated eight times, if one of them is a letter in any case, or 0
	distance int
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func newPair(a, b byte, distance int, fold bool) pair {
	p := pair{a: uint64(a) * lowBits, b: uint64(b) * lowBits, distance: distance}
	if fold && ('a' <= a && a <= 'z' || 'a' <= b && b <= 'z') {
		p.anyCase = 0x20 * lowBits
	}
	return p
}

// next returns the first place of the pair from from on, len(text) when there is
// none. In any case it may also be the place of bytes that differ from the pair in
// the bit 0x20.
func (p *pair) next(text []byte, from int) int {
	i, a, b, anyCase := from, p.a, p.b, p.anyCase
	le := binary.LittleEndian
	for ; i+p.distance+32 <= len(text); i += 32 {
		x, y := text[i:i+32], text[i+p.distance:i+p.distance+32]
		// A zero byte, which is a match, sets its high bit. High bits above the
		// lowest one may be false.
		d := ((le.Uint64(x) ^ a) | (le.Uint64(y) ^ b)) &^ anyCase
		e := ((le.Uint64(x[8:]) ^ a) | (le.Uint64(y[8:]) ^ b)) &^ anyCase
		f := ((le.Uint64(x[16:]) ^ a) | (le.Uint64(y[16:]) ^ b)) &^ anyCase
		g := ((le.Uint64(x[24:]) ^ a) | (le.Uint64(y[24:]) ^ b)) &^ anyCase
		d, e, f, g = (d-lowBits)&^d, (e-lowBits)&^e, (f-lowBits)&^f, (g-lowBits)&^g
		if (d|e|f|g)&highBits == 0 {
			continue
		}
		switch d, e, f = d&highBits, e&highBits, f&highBits; {
		case d != 0:
			return i + bits.TrailingZeros64(d)>>3
		case e != 0:
			return i + 8 + bits.TrailingZeros64(e)>>3
		case f != 0:
			return i + 16 + bits.TrailingZeros64(f)>>3
		}
		return i + 24 + bits.TrailingZeros64(g&highBits)>>3
	}
	for ; i+p.distance < len(text); i++ {
		if ((text[i]^byte(a))|(text[i+p.distance]^byte(b)))&^byte(anyCase) == 0 {
			return i
		}
	}
	return len(text)
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
// at is the state that the last call for this text left, AtStart at first; from must
// not be smaller than in that call.
func (n *Finder) Find(text []byte, from int, at *FinderState) int {
	if n.run != nil {
		return n.run.next(text, from)
	}
	misses := 0
	for p := from + n.rare; n.rare >= 0 && p < len(text); p++ {
		if at.lower < p {
			at.lower = IndexByteFrom(text, n.rareLower, p)
		}
		if at.upper < p {
			at.upper = at.lower
			if n.rareUpper != n.rareLower {
				at.upper = IndexByteFrom(text, n.rareUpper, p)
			}
		}
		p = min(at.lower, at.upper)
		start := p - n.rare
		if start+len(n.Text) > len(text) {
			return len(text)
		}
		if n.equal(text[start : start+len(n.Text)]) {
			return start
		}
		if misses++; misses > minMisses && misses*missMultiple > start-from {
			from = start + 1
			break // the byte is common here: look for the pair
		}
	}
	for p := from + n.pairAt; p < len(text); p++ {
		if p = n.pair.next(text, p); p == len(text) {
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
