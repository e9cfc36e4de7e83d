package literal

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Needles find quickly where something that an expression needs may be: one of
// a few strings, in a text or in the bytes of a session file. They are not
// changed by searching.
type Prefilter struct {
	Finders     []Finder
	Longest     int  // bytes of the longest, and of any character or escape that stands for a part of it
	specialFold bool // without regard to case, k and s are also the Kelvin sign and the long s
	nonASCII    bool // a match may have other characters than ASCII
}

// A Finder is a string, lower case when fold is set: then it is ASCII, but for
// characters without case.
type Finder struct {
	Text   []byte
	fold   bool
	pair   pair // of the two rarest bytes of text
	pairAt int  // where they are in it

	rare                 int // the rarest byte, where looking for it alone is quicker; else -1
	rareLower, rareUpper byte
}

// A byte of this rank or above is so common that looking for each of them takes
// longer than looking for pairs.
const commonRank = 200 - 2*16

// Needles shorter than this many bytes, and more of them, are not worth it: the
// text has to be read whole.
const (
	minFinder  = 2
	maxFinders = 16
)

// textPrefilter picks needles for decoded texts, nil when nothing is needed.
func textPrefilter(n *Required) *Prefilter { return pickPrefilter(n, textPiece) }

// jsonPrefilter picks needles for session files as they are: strings that are in a
// file byte by byte when they are in a text, unless a \u escape stands for one of
// their characters.
func jsonPrefilter(n *Required) *Prefilter { return pickPrefilter(n, jsonPiece) }

// pickPrefilter takes, of all lists of literals that are needed, the one whose
// shortest piece is the longest.
func pickPrefilter(n *Required, piece func(Literal) []byte) *Prefilter {
	best := &Prefilter{}
	most := minFinder - 1
	n.visitLists(func(list []Literal) {
		if len(list) > maxFinders {
			return
		}
		found := &Prefilter{}
		least := maxLiteral
		for _, l := range list {
			text := piece(l)
			if least = min(least, len(text)); least < minFinder {
				return
			}
			if l.fold {
				text = lowerASCII(text)
				found.specialFold = found.specialFold || bytes.ContainsAny(text, "ks")
			}
			found.nonASCII = found.nonASCII || found.specialFold || bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
			found.Finders = append(found.Finders, NewFinder(text, l.fold))
			found.Longest = max(found.Longest, len(text), len(`\u0000`))
		}
		if least > most {
			best, most = found, least
		}
	})
	if len(best.Finders) == 0 {
		return nil
	}
	return best
}

// lists visits the lists of literals that are needed on their own, and unions of
// such that are alternatives.
func (n *Required) visitLists(visit func([]Literal)) {
	switch {
	case n == nil:
	case n.op == anyLiteral:
		visit(n.literals)
	case n.op == allOf:
		for _, sub := range n.subs {
			sub.visitLists(visit)
		}
	default:
		var all []Literal
		for _, sub := range n.subs {
			var longest []Literal
			sub.visitLists(func(list []Literal) {
				if longest == nil || shortest(list) > shortest(longest) {
					longest = list
				}
			})
			if longest == nil {
				return
			}
			all = union(all, longest)
		}
		if len(all) <= maxLiterals {
			visit(all)
		}
	}
}

func shortest(list []Literal) int {
	n := maxLiteral
	for _, l := range list {
		n = min(n, len(l.text))
	}
	return n
}

// wholeLiteral returns the longest piece of a literal between edges that can be
// looked for in a text.
func textPiece(l Literal) []byte {
	return longestPiece(l, func(r rune) bool { return r != edge }, func([]byte) bool { return true })
}

// rawPiece returns the longest piece of a literal that is in a session file as it
// is. What separates the leaves of a value or their names is made by the adapter,
// and so are numbers of elements; some characters are escaped.
func jsonPiece(l Literal) []byte {
	return longestPiece(l, func(r rune) bool {
		switch r {
		case '.', ':', '/', '"', '\\', '{', '}', '[', ']', 0x7f, utf8.RuneError:
			return false
		}
		return r >= ' '
	}, func(piece []byte) bool {
		if len(piece) >= 12 {
			return true
		}
		return piece[0] != ' ' && bytes.ContainsFunc(piece, func(r rune) bool { return r < '0' || '9' < r })
	})
}

// longestPiece returns the longest piece of a literal made of characters that
// may be in it, without those that have another case outside of ASCII.
func longestPiece(l Literal, may func(rune) bool, ok func([]byte) bool) []byte {
	var best []byte
	start := 0
	end := func(at int) {
		piece := []byte(l.text[start:at])
		for len(piece) > 0 && piece[0] == ' ' {
			piece = piece[1:]
		}
		if len(piece) > len(best) && ok(piece) {
			best = piece
		}
	}
	for i, r := range l.text {
		if !may(r) || l.fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r {
			end(i)
			start = i + utf8.RuneLen(r)
		}
	}
	end(len(l.text))
	return best
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

// frequency says how common a byte is in session files, roughly: the letters of
// English and the signs of code, the most common first.
const frequency = " etaoinsrlcdupm\"fhgb,y.w_v-0:/1x2k()35\\4E968TS7ICAqjzPRNLODMF>B=;HUGWV'*+Y<KJ{}#[]XQ&$!@|Z%?^~`"

var byteRank = func() (rank [256]uint8) {
	for i := range len(frequency) {
		rank[frequency[i]] = uint8(200 - 2*i)
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		rank[c] = 30
	}
	rank[0xe2], rank[0xe3], rank[0xe4], rank[0xe5] = 60, 60, 60, 60
	return rank
}()

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
		// The pair of a single byte is the byte twice at the same place.
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
	n := Finder{text, fold, newPair(text[first], text[second], second-first, fold), first, -1, 0, 0}
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

// A pair is two bytes at a distance from each other, looked for eight places at a
// time.
type pair struct {
	a, b         uint64 // each byte eight times
	caseA, caseB uint64 // the bit that case is, eight times, or 0
	distance     int
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func newPair(a, b byte, distance int, fold bool) pair {
	p := pair{a: uint64(a) * lowBits, b: uint64(b) * lowBits, distance: distance}
	if fold && 'a' <= a && a <= 'z' {
		p.caseA = 0x20 * lowBits
	}
	if fold && 'a' <= b && b <= 'z' {
		p.caseB = 0x20 * lowBits
	}
	return p
}

// Next returns the first place of the pair from from on, len(text) when there is
// none.
func (p *pair) next(text []byte, from int) int {
	i, a, b := from, p.a, p.b
	for ; i+p.distance+16 <= len(text); i += 16 {
		x, y := text[i:i+16], text[i+p.distance:i+p.distance+16]
		d := ((binary.LittleEndian.Uint64(x) | p.caseA) ^ a) | ((binary.LittleEndian.Uint64(y) | p.caseB) ^ b)
		e := ((binary.LittleEndian.Uint64(x[8:]) | p.caseA) ^ a) | ((binary.LittleEndian.Uint64(y[8:]) | p.caseB) ^ b)
		// A byte that is 0 shows as a high bit; only bits above the lowest one
		// may be wrong.
		d, e = (d-lowBits)&^d&highBits, (e-lowBits)&^e&highBits
		if d != 0 {
			return i + bits.TrailingZeros64(d)>>3
		}
		if e != 0 {
			return i + 8 + bits.TrailingZeros64(e)>>3
		}
	}
	for ; i+p.distance < len(text); i++ {
		if text[i]|byte(p.caseA) == byte(a) && text[i+p.distance]|byte(p.caseB) == byte(b) {
			return i
		}
	}
	return len(text)
}

// A Cursor goes through a text from needle to needle.
type Cursor struct {
	*Prefilter
	text        []byte
	states      []FinderState
	nextSpecial int // the next place of a character that is a k or an s without regard to case
}

// Position is where a needle is next, and where its rare byte is in either case.
type FinderState struct{ next, lower, upper int }

// NoPosition is where a Finder begins in a text that it has not seen.
var AtStart = FinderState{-1, -1, -1}

// Begin sets the cursor to the beginning of a text.
func (c *Cursor) Begin(n *Prefilter, text []byte) {
	c.Prefilter, c.text, c.nextSpecial = n, text, -1
	c.states = c.states[:0]
	for range n.Finders {
		c.states = append(c.states, AtStart)
	}
	if !n.specialFold {
		c.nextSpecial = len(text)
	}
}

// Next returns the first place from from on where there is a needle, or
// something that may be one; len(text) when there is none.
func (c *Cursor) Next(from int) int {
	best := len(c.text)
	for i := range c.Finders {
		if c.states[i].next < from {
			c.states[i].next = c.Finders[i].Find(c.text, from, &c.states[i])
		}
		best = min(best, c.states[i].next)
	}
	if c.nextSpecial < from {
		c.nextSpecial = nextSpecialFold(c.text, from)
	}
	return min(best, c.nextSpecial)
}

// nextOdd returns the next place of U+212A or U+017F.
func nextSpecialFold(text []byte, from int) int {
	best := len(text)
	if i := bytes.Index(text[from:], []byte("\u017f")); i >= 0 {
		best = from + i
	}
	if i := bytes.Index(text[from:best], []byte("\u212a")); i >= 0 {
		best = from + i
	}
	return best
}

func IndexByteFrom(text []byte, c byte, from int) int {
	if from >= len(text) {
		return len(text)
	}
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// Find returns where the needle is first from from on; len(text) when it is not.
func (n *Finder) Find(text []byte, from int, at *FinderState) int {
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
		if misses++; misses > 64 && misses*24 > start-from {
			from = start + 1
			break // it is common here
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

var unicodeEscape = newPair('\\', 'u', 1, false)

// NextUnicodeEscape returns the offset of the next \u escape of JSON at or after
// from, len(text) if there is none. In \\u the backslash is escaped and the u is
// a letter.
func NextUnicodeEscape(text []byte, from int) int {
	for from = unicodeEscape.next(text, from); from < len(text); from = unicodeEscape.next(text, from+1) {
		if !isEscaped(text, from) {
			break
		}
	}
	return from
}

// NextEscape returns the first place from from on where a \u escape stands that
// may be one for a character of a needle; len(text) when there is none.
// JSON.stringify writes such escapes for no character of a raw needle.
func (n *Prefilter) NextEscape(text []byte, from int) int {
	for from = NextUnicodeEscape(text, from); from < len(text); from = NextUnicodeEscape(text, from+1) {
		// Control characters are in no needle, and a surrogate alone is U+FFFD.
		hex := text[min(from+2, len(text)):min(from+6, len(text))]
		if len(hex) < 4 || hex[0] == '0' && hex[1] == '0' && '2' <= hex[2] && hex[2] <= '7' {
			return from
		}
		if n.nonASCII && (hex[0] != '0' || hex[1] != '0' || hex[2] > '1') {
			return from
		}
	}
	return len(text)
}

// Escaped reports whether the backslash at i is what another one escapes.
func isEscaped(text []byte, i int) bool {
	n := 0
	for n < i && text[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
