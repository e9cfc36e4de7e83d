package query

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Needles find quickly where something that an expression needs may be: one of
// a few strings, in a text or in the bytes of a session file. They are not
// changed by searching.
type needles struct {
	list    []seek
	foreign bool // without regard to case, k and s are also the Kelvin sign and the long s
}

// A seek is a string, lower case when fold is set: then it is ASCII, but for
// characters without case.
type seek struct {
	text []byte
	fold bool
	rare int // the byte of text that is looked for first
}

// Needles shorter than this many bytes, and more of them, are not worth it: the
// text has to be read whole.
const (
	minNeedle = 2
	maxSeeks  = 8
)

// textNeedles picks needles for decoded texts, nil when nothing is needed.
func textNeedles(n *need) *needles { return pickNeedles(n, wholeLiteral) }

// rawNeedles picks needles for session files as they are: strings that are in a
// file byte by byte when they are in a text, unless a \u escape stands for one of
// their characters.
func rawNeedles(n *need) *needles { return pickNeedles(n, rawPiece) }

// pickNeedles takes, of all lists of literals that are needed, the one whose
// shortest piece is the longest.
func pickNeedles(n *need, piece func(literal) []byte) *needles {
	best := &needles{}
	most := minNeedle - 1
	n.lists(func(list []literal) {
		if len(list) > maxSeeks {
			return
		}
		found := &needles{}
		least := maxLiteral
		for _, l := range list {
			text := piece(l)
			least = min(least, len(text))
			if l.fold {
				text = lowerASCII(text)
				found.foreign = found.foreign || bytes.ContainsAny(text, "ks")
			}
			found.list = append(found.list, newSeek(text, l.fold))
		}
		if least > most {
			best, most = found, least
		}
	})
	if len(best.list) == 0 {
		return nil
	}
	return best
}

// lists visits the lists of literals that are needed on their own, and unions of
// such that are alternatives.
func (n *need) lists(visit func([]literal)) {
	switch {
	case n == nil:
	case n.op == needOne:
		visit(n.literals)
	case n.op == needAll:
		for _, sub := range n.of {
			sub.lists(visit)
		}
	default:
		var all []literal
		for _, sub := range n.of {
			var longest []literal
			sub.lists(func(list []literal) {
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

func shortest(list []literal) int {
	n := maxLiteral
	for _, l := range list {
		n = min(n, len(l.text))
	}
	return n
}

// wholeLiteral returns the longest piece of a literal between edges that can be
// looked for in a text.
func wholeLiteral(l literal) []byte {
	return longestPiece(l, func(r rune) bool { return r != edge }, func([]byte) bool { return true })
}

// rawPiece returns the longest piece of a literal that is in a session file as it
// is. What separates the leaves of a value or their names is made by the adapter,
// and so are numbers of elements; some characters are escaped.
func rawPiece(l literal) []byte {
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
func longestPiece(l literal, may func(rune) bool, ok func([]byte) bool) []byte {
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
		b[i] = lowerByte(c)
	}
	return b
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// frequency says how common a byte is in session files, roughly: the letters of
// English and the signs of code, the most common first.
const frequency = " etaoinsrlcdupm\"fhgb,y.w_v-0:/1x2k()35\\4E968TS7ICAqjzPRNLODMF>B=;HUGWV'*+Y<KJ{}#[]XQ&$!@|Z%?^~`"

var rank = func() (rank [256]uint8) {
	for i := range len(frequency) {
		rank[frequency[i]] = uint8(200 - 2*i)
	}
	for c := utf8.RuneSelf; c < 256; c++ {
		rank[c] = 30
	}
	rank[0xe2], rank[0xe3], rank[0xe4], rank[0xe5] = 60, 60, 60, 60
	return rank
}()

func newSeek(text []byte, fold bool) seek {
	n := seek{text: text, fold: fold}
	best := 1 << 10
	for i, c := range text {
		cost := int(rank[c])
		if fold && 'a' <= c && c <= 'z' {
			cost += int(rank[c-'a'+'A']) + 40 // two bytes to look for
		}
		if cost < best {
			best, n.rare = cost, i
		}
	}
	return n
}

// A cursor goes through a text from needle to needle.
type cursor struct {
	*needles
	text []byte
	at   []needleAt // of each needle
	odd  int        // the next place of a character that is a k or an s without regard to case
}

// needleAt is where a needle is next, and where its rare byte is in either case.
type needleAt struct {
	next         int
	lower, upper int
}

// begin sets the cursor to the beginning of a text.
func (c *cursor) begin(n *needles, text []byte) {
	c.needles, c.text, c.odd = n, text, -1
	c.at = c.at[:0]
	for range n.list {
		c.at = append(c.at, needleAt{-1, -1, -1})
	}
	if !n.foreign {
		c.odd = len(text)
	}
}

// next returns the first place from from on where there is a needle, or
// something that may be one; len(text) when there is none.
func (c *cursor) next(from int) int {
	best := len(c.text)
	for i := range c.list {
		if c.at[i].next < from {
			c.at[i].next = c.list[i].find(c.text, from, &c.at[i])
		}
		best = min(best, c.at[i].next)
	}
	if c.odd < from {
		c.odd = nextOdd(c.text, from)
	}
	return min(best, c.odd)
}

// nextOdd returns the next place of U+212A or U+017F.
func nextOdd(text []byte, from int) int {
	best := len(text)
	if i := bytes.Index(text[from:], []byte("\u017f")); i >= 0 {
		best = from + i
	}
	if i := bytes.Index(text[from:best], []byte("\u212a")); i >= 0 {
		best = from + i
	}
	return best
}

func indexFrom(text []byte, c byte, from int) int {
	if from >= len(text) {
		return len(text)
	}
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// find returns where the needle is first from from on; len(text) when it is not.
func (n *seek) find(text []byte, from int, at *needleAt) int {
	if !n.fold {
		if i := n.index(text[from:]); i >= 0 {
			return from + i
		}
		return len(text)
	}
	c := n.text[n.rare]
	upper := c
	if 'a' <= c && c <= 'z' {
		upper = c - 'a' + 'A'
	}
	for p := from + n.rare; ; {
		if at.lower < p {
			at.lower = indexFrom(text, c, p)
		}
		if at.upper < p {
			at.upper = at.lower
			if upper != c {
				at.upper = indexFrom(text, upper, p)
			}
		}
		p = min(at.lower, at.upper)
		if p-n.rare+len(n.text) > len(text) {
			return len(text)
		}
		if n.equal(text[p-n.rare : p-n.rare+len(n.text)]) {
			return p - n.rare
		}
		p++
	}
}

// index is bytes.Index, beginning with the rarest byte.
func (n *seek) index(text []byte) int {
	c := n.text[n.rare]
	misses := 0
	for p := n.rare; p < len(text); p++ {
		i := bytes.IndexByte(text[p:], c)
		if i < 0 {
			return -1
		}
		p += i
		start := p - n.rare
		if start+len(n.text) > len(text) {
			return -1
		}
		if bytes.Equal(text[start:start+len(n.text)], n.text) {
			return start
		}
		if misses++; misses > 16 && misses*64 > p {
			// The byte is not rare here.
			if i := bytes.Index(text[start+1:], n.text); i >= 0 {
				return start + 1 + i
			}
			return -1
		}
	}
	return -1
}

func (n *seek) equal(text []byte) bool {
	for i, c := range n.text {
		if lowerByte(text[i]) != c {
			return false
		}
	}
	return true
}

// nextEscape returns the first place from from on where a \u escape stands that
// may be one for a character of a needle; len(text) when there is none.
// JSON.stringify writes such escapes for no character of a raw needle.
func nextEscape(text []byte, from int) int {
	for from < len(text) {
		i := bytes.Index(text[from:], []byte(`\u`))
		if i < 0 {
			break
		}
		from += i
		hex := text[min(from+2, len(text)):min(from+6, len(text))]
		// Control characters are in no needle, and a surrogate alone is U+FFFD.
		if len(hex) < 4 || hex[0] != '0' || hex[1] != '0' || hex[2] != '0' && hex[2] != '1' {
			return from
		}
		from += 2
	}
	return len(text)
}
