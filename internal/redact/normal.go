package redact

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A secret may be hidden from the rules by what a program puts around or into it:
// colours, escapes of JSON and shells, invisible characters, percent-encoding. Rules
// search a view of the text without these, and what they find is masked in the text
// itself.

// softBreak replaces an escaped newline (\n as two characters). It separates words as
// a newline does, and a quoted value may contain it.
const softBreak = '\v'

// view is a text as rules see it.
type view struct {
	text string
	// from and to say which bytes of the original each byte is for. They are nil if
	// both texts are the same.
	from, to []int32
}

// original returns the part of the original text that a part of the view is for.
func (v *view) original(start, end int) (int, int) {
	if v.from == nil {
		return start, end
	}
	return int(v.from[start]), int(v.to[end-1])
}

// viewBuilder writes a view.
type viewBuilder struct {
	text     []byte
	from, to []int32
}

func (b *viewBuilder) add(c byte, from, to int) {
	b.text = append(b.text, c)
	b.from = append(b.from, int32(from))
	b.to = append(b.to, int32(to))
}

func (b *viewBuilder) addString(s string, from, to int) {
	for i := range len(s) {
		b.add(s[i], from, to)
	}
}

func (b *viewBuilder) view() *view { return &view{string(b.text), b.from, b.to} }

func newBuilder(size int) *viewBuilder {
	return &viewBuilder{make([]byte, 0, size), make([]int32, 0, size), make([]int32, 0, size)}
}

// normal returns the view without colours, escapes and invisible characters.
func normal(s string) *view {
	i := 0
	for i < len(s) {
		if _, _, ok := unit(s, i); ok {
			break
		}
		i++
	}
	if i == len(s) {
		return &view{text: s}
	}
	b := newBuilder(len(s))
	for j := range i {
		b.add(s[j], j, j+1)
	}
	for i < len(s) {
		text, n, ok := unit(s, i)
		if !ok {
			b.add(s[i], i, i+1)
			i++
			continue
		}
		b.addString(text, i, i+n)
		i += n
	}
	return b.view()
}

// unit decodes the escape, entity, control sequence or special character at i. It returns
// the text and the length of its encoding. ok is false if the byte at i is plain text.
func unit(s string, i int) (text string, n int, ok bool) {
	switch c := s[i]; {
	case c == '\\':
		return unescape(s[i:])
	case c == '&':
		return entity(s[i:])
	case c == '[' && i+3 < len(s) && isDigit(s[i+1]):
		// A colour whose escape character was lost.
		if n := colour(s[i:]); n > 0 {
			return "", n, true
		}
	case c == '^' && strings.HasPrefix(s[i:], "^[["):
		if n := sequence(s[i+2:]); n > 1 {
			return "", n + 2, true
		}
	case c == 0x1b:
		return "", 1 + sequence(s[i+1:]), true
	case c == '\r':
		if i+1 < len(s) && s[i+1] == '\n' {
			return "", 1, true
		}
		return "\n", 1, true
	case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
		return "", 1, true
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case invisible(r):
			return "", n, true
		case r == 0xa0:
			return " ", n, true
		case r == '：':
			return ":", n, true
		}
	}
	return "", 0, false
}

// invisible reports whether a character takes no room and is not a control character
// of ASCII: joiners, bidirectional marks, variation selectors, tags.
func invisible(r rune) bool {
	switch {
	case r < 0x80 || r == 0x2028 || r == 0x2029:
		return false
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0x180e, r == 0x034f:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r >= 0xe0000 && r <= 0xe0fff
}

// sequence returns the length of the escape sequence after its escape character.
func sequence(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '[':
		for i := 1; i < min(len(s), 64); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			} else if s[i] < ' ' || s[i] > '~' {
				break
			}
		}
	case ']':
		for i := 1; i < min(len(s), 256); i++ {
			if s[i] == 7 {
				return i + 1
			} else if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	}
	return 1
}

// colour returns the length of [1;32m at the start of s, or 0.
func colour(s string) int {
	for i := 1; i < min(len(s), 24); i++ {
		if s[i] == 'm' {
			return i + 1
		} else if !isDigit(s[i]) && s[i] != ';' {
			break
		}
	}
	return 0
}

// unescape decodes the escape at the start of s, however often its backslash is escaped
// itself.
func unescape(s string) (text string, n int, ok bool) {
	n = 1
	for n < len(s) && s[n] == '\\' {
		n++
	}
	if n == len(s) {
		return "", 0, false
	}
	code := rune(-1)
	switch c := s[n]; c {
	case 'n', 'r':
		return string(softBreak), n + 1, true
	case 't':
		return " ", n + 1, true
	case '\n': // a line that continues in the next one
		return " ", n + 1, true
	case '/', '&', '=', ':', '@':
		return string(c), n + 1, true
	case 'e':
		if n+1 < len(s) && s[n+1] == '[' {
			code, n = 0x1b, n+1
		}
	case 'u':
		code, n = number(s, n+1, 4, 16)
		if code < 0 && strings.HasPrefix(s[n:], "u{") { // as in JavaScript and Rust
			if end := strings.IndexByte(s[n:min(len(s), n+10)], '}'); end > 2 {
				if code, _ = number(s, n+2, end-2, 16); code >= 0 {
					n += end + 1
				}
			}
		}
	case 'x':
		code, n = number(s, n+1, 2, 16)
	case '0':
		code, n = number(s, n+1, 2, 8)
	}
	switch {
	case code < 0:
		return "", 0, false
	case code == 0x1b:
		return "", n + sequence(s[n:]), true
	case code == '\n' || code == '\r':
		return string(softBreak), n, true
	case code < ' ' || invisible(code):
		return "", n, true
	}
	return string(code), n, true
}

// number parses digits at i. It returns -1 and the position before i if they are
// none.
func number(s string, i, digits, base int) (rune, int) {
	if i+digits <= len(s) {
		if v, err := strconv.ParseUint(s[i:i+digits], base, 32); err == nil {
			return rune(v), i + digits
		}
	}
	return -1, i - 1
}

var entities = map[string]string{"quot": `"`, "apos": "'", "amp": "&", "lt": "<", "gt": ">", "nbsp": " "}

// entity decodes the HTML entity at the start of s.
func entity(s string) (text string, n int, ok bool) {
	end := strings.IndexByte(s[:min(len(s), 10)], ';')
	if end < 3 {
		return "", 0, false
	}
	name := s[1:end]
	if text, ok := entities[name]; ok {
		return text, end + 1, true
	}
	if name[0] != '#' {
		return "", 0, false
	}
	digits, base := name[1:], 10
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, base = digits[1:], 16
	}
	v, err := strconv.ParseUint(digits, base, 32)
	if err != nil || v < ' ' || v > unicode.MaxRune {
		return "", 0, false
	}
	return string(rune(v)), end + 1, true
}

// percentDecoded returns the view with one layer of percent-encoding removed, or nil
// if there is none.
func (v *view) percentDecoded() *view {
	var b *viewBuilder
	s := v.text
	done := 0
	for i := strings.IndexByte(s, '%'); i >= 0 && i+2 < len(s); {
		var c [1]byte
		_, err := hex.Decode(c[:], []byte(s[i+1:i+3]))
		next := i + 1
		if err == nil && c[0] >= ' ' && c[0] <= '~' {
			if b == nil {
				b = newBuilder(len(s))
			}
			v.copy(b, done, i)
			from, to := v.original(i, i+3)
			b.add(c[0], from, to)
			next = i + 3
			done = next
		}
		n := strings.IndexByte(s[next:], '%')
		if n < 0 {
			break
		}
		i = next + n
	}
	if b == nil {
		return nil
	}
	v.copy(b, done, len(s))
	return b.view()
}

func (v *view) copy(b *viewBuilder, start, end int) {
	for i := start; i < end; i++ {
		from, to := v.original(i, i+1)
		b.add(v.text[i], from, to)
	}
}
