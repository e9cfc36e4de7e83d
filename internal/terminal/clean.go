package terminal

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s as one line of text that is safe to print on a terminal:
// without escape sequences and control characters, and with every run of white space,
// newlines included, as one space.
func Clean(s string) string {
	last := byte(' ') // so that leading space is dropped too
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && last == ' ' {
			return strings.TrimSuffix(clean(s, begun, nil), " ")
		}
		last = c
	}
	return strings.TrimSuffix(s, " ") // usually does nothing
}

// CleanSpans is Clean for a text with marked bytes: spans are byte offsets into s, in
// order and not overlapping. The returned spans mark the same text in the result; empty
// ones are dropped. White space at the ends is kept as one space.
func CleanSpans(s string, spans [][2]int) (string, [][2]int) {
	var at []int
	if len(spans) > 0 {
		at = make([]int, len(s)+1)
	}
	text := clean(s, line, at)
	kept := make([][2]int, 0, len(spans))
	for _, x := range spans {
		if x[0] < 0 || x[0] > x[1] || x[1] > len(s) {
			continue // it is not in the text
		}
		if start, end := at[x[0]], at[x[1]]; start < end {
			kept = append(kept, [2]int{start, end})
		}
	}
	return text, kept
}

// Flatten is Clean for a piece of a text that a search found, except that white space at its
// end is kept as one space, and a letter after an escape character, as in ESC c, is kept:
// it may begin a word that was found. at, which is longer than s by one, gets an offset of the result for each one of s,
// its end included.
func Flatten(s string, at []int) string { return clean(s, found, at) }

// CleanLines is Clean for text of several lines: newlines and tabs are kept, a
// carriage return before a newline is dropped.
func CleanLines(s string) string {
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c <= '~' || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if Hidden(r) || r == utf8.RuneError && size == 1 {
			return clean(s, lines, nil)
		}
		i += size
	}
	return s // as most texts
}

// Pieces cuts a text into pieces of about pieceSize bytes. Each can be made safe to print
// on its own: no character and no escape sequence is cut. With lines, no line is cut
// either, and pieces are as long as their longest line.
func Pieces(text string, lines bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := pieceEnd(text, lines)
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

const pieceSize = 64 << 10

func pieceEnd(text string, lines bool) int {
	if len(text) <= pieceSize {
		return len(text)
	}
	if i := strings.LastIndexByte(text[:pieceSize], '\n'); i >= 0 {
		return i + 1
	}
	for at := pieceSize; !lines; at += pieceSize / 2 {
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		if at >= len(text) {
			return len(text)
		}
		if !strings.ContainsAny(text[at-2*maxEscape:at], "\x1b\r\u009b\u009d") {
			return at
		}
	}
	if i := strings.IndexByte(text[pieceSize:], '\n'); i >= 0 {
		return pieceSize + i + 1
	}
	return len(text)
}

// layout is what clean makes of white space.
type layout int

const (
	line  layout = iota // runs of it are one space
	begun               // as line, without any at the beginning
	found               // as begun, for Flatten
	lines               // newlines and tabs are kept
)

// clean returns the text that is left of s without what is hidden. at, unless it is nil, gets an
// offset of the text for each one of s; for one within a character, that after it.
func clean(s string, form layout, at []int) string {
	var b strings.Builder
	b.Grow(len(s))
	space := form == begun || form == found
	for i := 0; i < len(s); {
		start := b.Len()
		if c := s[i]; c > ' ' && c <= '~' { // as most bytes are
			b.WriteByte(c)
			space = false
			if at != nil {
				at[i] = start
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b && form == found && !strings.HasPrefix(s[i+1:], "[") && !strings.HasPrefix(s[i+1:], "]"):
		case r == 0x1b || r == 0x9b || r == 0x9d:
			size = escape(s[i:])
		case form != lines && unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
		case form == lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case Hidden(r):
		default:
			space = false
			b.WriteRune(r) // an invalid byte becomes U+FFFD
		}
		if at != nil {
			at[i] = start
			for k := 1; k < size; k++ {
				at[i+k] = b.Len()
			}
		}
		i += size
	}
	if at != nil {
		at[len(s)] = b.Len()
	}
	return b.String()
}

// Hidden reports whether the rune is invisible and may change how the text around it
// is shown: control characters, bidirectional marks and tags.
func Hidden(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x061c || r == 0x200e || r == 0x200f: // marks of Arabic, left-to-right and right-to-left
		return true
	case r == 0x2028 || r == 0x2029 || r == 0xfeff:
		return true
	case r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe007f: // annotations, tags: text that no one sees
		return true
	}
	return false
}

// maxEscape bounds the length of an escape sequence, so that one without an end does
// not swallow the text after it.
const maxEscape = 256

// escape returns the length in bytes of the escape sequence that s begins with. If the
// sequence has no end, only the introducer counts.
func escape(s string) int {
	kind, intro := byte(0), 1
	switch {
	case s[0] == 0xc2: // the one-character introducers U+009B and U+009D
		kind, intro = s[1]-0x40, 2
	case len(s) > 1:
		kind, intro = s[1], 2
	default:
		return intro
	}
	rest := s[intro:min(len(s), intro+maxEscape)]
	switch kind {
	case '[': // parameters, then one final byte
		for i := 0; i < len(rest); i++ {
			if c := rest[i]; c >= 0x40 && c <= 0x7e {
				return intro + i + 1
			} else if c < 0x20 || c > 0x7e {
				break
			}
		}
	case ']', 'P', 'X', '^', '_': // a string up to BEL or ESC \
		for i := 0; i < len(rest); i++ {
			switch c := rest[i]; {
			case c == 0x07:
				return intro + i + 1
			case c == 0x1b && i+1 < len(rest) && rest[i+1] == '\\':
				return intro + i + 2
			case c == '\n':
				return intro
			}
		}
	case '(', ')', '*', '+': // choice of a character set
		if len(rest) > 0 && rest[0] != '\n' {
			return intro + 1
		}
	default:
		if s[0] == 0x1b && (kind < 0x30 || kind > 0x7e) {
			return 1
		}
	}
	return intro
}
