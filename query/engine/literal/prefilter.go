package literal

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/bytescan"
)

// A Prefilter finds the places of a text, or of the JSON of a session file, where an
// expression may match: one of a few required literals is there. It is immutable;
// a Cursor walks a text with it.
type Prefilter struct {
	Finders     []Finder
	Longest     int  // bytes of the longest literal, and at least of an escape
	specialFold bool // a k or s in any case may also be the Kelvin sign or the long s
	nonASCII    bool // a match may have characters outside of ASCII
	json        bool // a \u escape may stand for a character of a literal
}

// With shorter literals, or more of them, a prefilter stops so often that searching
// the whole text is faster.
const (
	minFinder  = 2 // bytes
	maxFinders = 16
)

// prefilters makes a prefilter from each list of required literals, and sorts them by the length
// of their shortest piece, longest first. With json, they search raw JSON: if a decoded text
// contains one of their literals, the JSON contains the same bytes, unless a character is
// written as a \u escape (see escapeBefore).
func prefilters(n *Required, json bool) (all []*Prefilter) {
	piece := textPiece
	if json {
		piece = jsonPiece
	}
	most := 0
	n.visitLists(func(list []Literal) {
		if len(list) > maxFinders {
			return
		}
		found := &Prefilter{json: json}
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
		if all = append(all, found); least > most {
			most = least
			all[0], all[len(all)-1] = found, all[0]
		}
	})
	return all
}

// visitLists visits every list of literals such that each matching text contains one of
// the list. For alternatives it visits the union.
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

func textPiece(l Literal) []byte {
	return longestPiece(l, func(r rune) bool { return r != edge }, func([]byte) bool { return true })
}

// jsonPiece returns the longest piece of a literal that raw JSON contains whenever the
// decoded text contains the literal. Characters that JSON escapes cannot be part of
// it, nor can what the adapter inserts into the text of a call: separators between
// values and their names, and the indexes of array elements.
func jsonPiece(l Literal) []byte {
	return longestPiece(l, isPlain, func(piece []byte) bool {
		// No array has an index of so many digits.
		return len(piece) >= minRun || bytes.ContainsFunc(piece, func(r rune) bool { return r < '0' || '9' < r })
	})
}

// isPlain reports whether raw JSON has the character if the decoded text does, except as a
// \u escape.
func isPlain(r rune) bool {
	switch r {
	case '.', ':', '/', '"', '\\', '{', '}', '[', ']', 0x7f, utf8.RuneError:
		return false
	}
	return r >= ' '
}

// longestPiece returns the longest piece of a literal that has only characters which
// allowed accepts and that ok accepts as a whole. With any case allowed, the piece has
// no character that has another case outside of ASCII.
func longestPiece(l Literal, allowed func(rune) bool, ok func([]byte) bool) (best []byte) {
	pieces := strings.FieldsFunc(l.text, func(r rune) bool {
		return !allowed(r) || l.fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r
	})
	for _, piece := range pieces {
		if piece := []byte(strings.TrimLeft(piece, " ")); len(piece) > len(best) && ok(piece) {
			best = piece
		}
	}
	return best
}

// A Cursor walks a text from one possible match to the next. It is used by one
// goroutine.
type Cursor struct {
	*Prefilter
	text        []byte
	next        []int // offsets of the next literal of each Finder; -1 if unknown
	nextSpecial int   // offset of the next character that folds to k or s
	nextEscape  int   // offset of the next escape, or of a place with no escape before it
}

// Begin puts the cursor at the start of a text.
func (c *Cursor) Begin(n *Prefilter, text []byte) {
	c.Prefilter, c.text, c.nextSpecial, c.nextEscape = n, text, -1, -1
	c.next = c.next[:0]
	for range n.Finders {
		c.next = append(c.next, -1)
	}
	if !n.specialFold {
		c.nextSpecial = len(text)
	}
	if !n.json {
		c.nextEscape = len(text)
	}
}

// Next returns the offset of the first possible match at or after from, len(text) if
// there is none.
func (c *Cursor) Next(from int) int {
	best := c.nextLiteral(from)
	if c.nextSpecial < from {
		c.nextSpecial = nextSpecialFold(c.text, from)
	}
	best = min(best, c.nextSpecial)
	if c.nextEscape < from {
		c.nextEscape = c.escapeBefore(best, from)
	}
	return min(best, c.nextEscape)
}

// nextLiteral returns the offset of the first literal at or after from, len(text) if
// there is none.
func (c *Cursor) nextLiteral(from int) int {
	best := len(c.text)
	for i := range c.Finders {
		if c.next[i] < from {
			c.next[i] = c.Finders[i].Find(c.text, from)
		}
		best = min(best, c.next[i])
	}
	return best
}

func (c *Cursor) MayMatch(n *Prefilter, text []byte) bool {
	c.Begin(n, text)
	return c.nextLiteral(0) < len(text) || c.Next(0) < len(text)
}

// nextSpecialFold returns the offset of the next U+212A, the Kelvin sign, or U+017F,
// the long s, len(text) if there is none. These fold to k and s.
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

var unicodeEscape = bytescan.NewPair('\\', 'u', 1, false)

// NextUnicodeEscape returns the offset of the next \u escape of JSON at or after
// from, len(text) if there is none. In \\u the backslash is escaped and the u is
// a letter.
func NextUnicodeEscape(text []byte, from int) int {
	for from = unicodeEscape.Next(text, from); from < len(text); from = unicodeEscape.Next(text, from+1) {
		if !IsEscaped(text, from) {
			break
		}
	}
	return from
}

// escapeBefore returns the offset of the first \u escape at or after from that may stand
// for a character of a literal, end if there is none before end. JSON.stringify escapes
// no such character, but other writers may.
func (c *Cursor) escapeBefore(end, from int) int {
	text := c.text[:end]
	for from = NextUnicodeEscape(text, from); from < end; from = NextUnicodeEscape(text, from+1) {
		// Literals of raw JSON have no control characters (below U+0020) and no
		// U+FFFD, which replaces an unpaired surrogate.
		hex := text[min(from+2, len(text)):min(from+6, len(text))]
		if len(hex) < 4 || hex[0] == '0' && hex[1] == '0' && '2' <= hex[2] && hex[2] <= '7' {
			return from
		}
		if c.nonASCII && (hex[0] != '0' || hex[1] != '0' || hex[2] > '1') {
			return from
		}
	}
	return end
}

// IsEscaped reports whether the backslash of JSON at i is itself escaped.
func IsEscaped(text []byte, i int) bool {
	return (i-len(bytes.TrimRight(text[:i], `\`)))%2 == 1
}
