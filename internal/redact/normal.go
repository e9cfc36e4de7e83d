package redact

import (
	"html"
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

// decoded returns a view in which every encoding is replaced by the text it stands for. An
// encoding begins with a byte of starts. unit decodes the one at the start of s and returns
// its length, or 0 if s does not begin with one.
func (v *view) decoded(starts *set, unit func(s string) (text string, n int)) *view {
	s := v.text
	var text []byte
	var d *view
	size, done := 0, 0
	for i := starts.until(s, 0); i < len(s); i = starts.until(s, i) {
		plain, n := unit(s[i:])
		if n == 0 {
			i++
			continue
		}
		if d == nil { // no text is longer than its encoding
			text, d = make([]byte, len(s)), &view{from: make([]int32, len(s)), to: make([]int32, len(s))}
		}
		if done < i {
			size = d.copy(text, size, v, done, i)
		}
		for k := range len(plain) {
			from, to := v.original(i, i+n)
			text[size], d.from[size], d.to[size] = plain[k], int32(from), int32(to)
			size++
		}
		i += n
		done = i
	}
	if d == nil {
		return v
	}
	size = d.copy(text, size, v, done, len(s))
	d.text = string(text[:size])
	return d
}

// copy copies a part of another view to a position, and returns the position after it.
func (v *view) copy(text []byte, at int, of *view, start, end int) int {
	n := copy(text[at:], of.text[start:end])
	if of.from != nil {
		copy(v.from[at:], of.from[start:end])
		copy(v.to[at:], of.to[start:end])
		return at + n
	}
	from, to := v.from[at:at+n], v.to[at:at+n]
	for k := range n {
		from[k], to[k] = int32(start+k), int32(start+k+1)
	}
	return at + n
}

// special are the bytes that an escape, an entity, a control sequence or a character that
// is not ASCII begins with.
var special = func() set {
	c := set{'\\': true, '&': true, '[': true, '^': true, '\x7f': true}
	for b := range c {
		c[b] = c[b] || b < ' ' && b != '\n' && b != '\t' || b >= utf8.RuneSelf
	}
	return c
}()

// unit decodes the escape, entity, control sequence or special character at the start of
// s. It returns the text and the length of its encoding, or 0 for plain text.
func unit(s string) (text string, n int) {
	switch c := s[0]; {
	case c == '\\':
		return unescape(s)
	case c == '&':
		return entity(s)
	case c == '[': // a colour whose escape character was lost
		return "", colour(s)
	case c == '^':
		if n := sequence(s[min(len(s), 2):]); n > 1 && strings.HasPrefix(s, "^[[") {
			return "", n + 2
		}
	case c == 0x1b:
		return "", 1 + sequence(s[1:])
	case c == '\r' && char(s, 1) != '\n':
		return "\n", 1
	case c < utf8.RuneSelf:
		return "", 1
	default:
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case invisible(r):
			return "", n
		case r == 0xa0:
			return " ", n
		case r == '：':
			return ":", n
		case r == '│' || r == '┃' || r == '║': // between the columns of a table
			return "|", n
		}
	}
	return "", 0
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
	switch char(s, 0) {
	case 0:
		return 0
	case '[':
		s = first(s, 64)
		i := 1
		for c := char(s, i); ' ' <= c && c <= '?'; c = char(s, i) {
			i++
		}
		if c := char(s, i); '@' <= c && c <= '~' {
			return i + 1
		}
	case ']':
		for i := range first(s, 256) {
			if s[i] == 7 {
				return i + 1
			} else if strings.HasPrefix(s[i:], "\x1b\\") {
				return i + 2
			}
		}
	}
	return 1
}

// colour returns the length of [1;32m at the start of s, or 0.
func colour(s string) int {
	i := 1
	for i < 23 && (isDigit(char(s, i)) || i > 1 && char(s, i) == ';') {
		i++
	}
	if i == 1 || char(s, i) != 'm' {
		return 0
	}
	return i + 1
}

// Letters and signs after a backslash, and the characters that they are for.
const (
	escaped = "nrt\n/&=:@"
	meant   = "\v\v  /&=:@"
)

// unescape decodes the escape at the start of s, however often its backslash is escaped
// itself.
func unescape(s string) (text string, n int) {
	n = backslash.skip(s, 0)
	if i := strings.IndexByte(escaped, char(s, n)); i >= 0 {
		return meant[i : i+1], n + 1
	}
	code := rune(-1)
	switch rest := s[n:]; char(rest, 0) {
	case 'e':
		if char(rest, 1) == '[' {
			code, n = 0x1b, n+1
		}
	case 'u':
		if code = number(rest, 1, 5, 16); code >= 0 {
			n += 5
		} else if end := strings.IndexByte(first(rest, 10), '}'); end > 2 && rest[1] == '{' { // as in JavaScript and Rust
			code, n = number(rest, 2, end, 16), n+end+1
		}
	case 'x':
		code, n = number(rest, 1, 3, 16), n+3
	case '0':
		code, n = number(rest, 1, 3, 8), n+3
	}
	switch {
	case code < 0:
		return "", 0
	case code == 0x1b:
		return "", n + sequence(s[n:])
	case code == '\n' || code == '\r':
		return string(softBreak), n
	case code < ' ' || invisible(code):
		return "", n
	}
	return string(code), n
}

// number parses the digits s[i:end]. It returns -1 if they are none.
func number(s string, i, end, base int) rune {
	if end <= len(s) {
		if v, err := strconv.ParseUint(s[i:end], base, 32); err == nil {
			return rune(v)
		}
	}
	return -1
}

var entities = map[string]string{"quot": `"`, "apos": "'", "amp": "&", "lt": "<", "gt": ">", "nbsp": " "}

// entity decodes the HTML entity at the start of s.
func entity(s string) (text string, n int) {
	end := strings.IndexByte(first(s, 10), ';')
	if end < 3 {
		return "", 0
	}
	if text = entities[s[1:end]]; text == "" && s[1] == '#' {
		text = html.UnescapeString(s[:end+1])
	}
	if text < " " || text == s[:end+1] {
		return "", 0
	}
	return text, end + 1
}

var percents = set{'%': true, '+': true}

func percentUnit(s string) (text string, n int) {
	if s[0] == '+' {
		return " ", 1
	}
	switch c := number(s, 1, 3, 16); {
	case c >= ' ' && c <= '~', c == '\t':
		return string(c), 3
	case c == '\n' || c == '\r':
		return string(softBreak), 3
	}
	return "", 0
}
