package script

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// token is a piece of a script.
type token struct {
	kind  kind
	start int
	end   int
	text  string // of a string or a piece of a template: decoded; of the others: as written
	glued bool   // an escape of the string is written with letters, such as \n, and so sticks to the word behind it
	line  bool   // it begins a line
	inner bool   // of a template: it is not the first piece

	// match is the token that closes an opening bracket, or the next piece of the same template;
	// the number of tokens if there is none. It is the number of the token for all others.
	match int
}

type kind uint8

// The kinds of tokens.
const (
	name kind = iota + 1
	number
	text
	template // a piece of one: up to ${, or to its end
	pattern  // a regular expression
	sign
)

// signs are those of more than one character, the longest first.
var signs = []string{
	">>>=", "===", "!==", "...", "**=", "&&=", "||=", "??=", "<<=", ">>=", ">>>", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**", "<<", ">>",
}

// before are the words that may stand before a regular expression.
var before = []string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "await", "yield", "else", "do"}

// lexer cuts a script into tokens.
type lexer struct {
	src    []byte
	at     int
	tokens []token
	open   []int // tokens of open brackets, and of templates within ${
	line   bool
}

// lex returns the tokens of a script; ok is false if it is too long.
func lex(src []byte) (tokens []token, ok bool) {
	x := &lexer{src: src}
	for len(src) <= longest && x.next() {
		if len(x.tokens) > mostTokens {
			return nil, false
		}
	}
	for _, i := range x.open {
		x.tokens[i].match = len(x.tokens)
	}
	return x.tokens, len(src) <= longest
}

func (x *lexer) add(k kind, end int, value string) *token {
	x.tokens = append(x.tokens, token{kind: k, start: x.at, end: end, text: value, line: x.line, match: len(x.tokens)})
	x.at, x.line = end, false
	return &x.tokens[len(x.tokens)-1]
}

// next reads a token. It returns false at the end of the script.
func (x *lexer) next() bool {
	x.skip()
	if x.at >= len(x.src) {
		return false
	}
	switch c := x.src[x.at]; {
	case c == '"' || c == '\'':
		x.text(text, x.at+1, c)
	case c == '`':
		x.piece(x.at + 1)
	case isName(c) && (c < '0' || c > '9'):
		end := x.run(x.at, isName)
		x.add(name, end, string(x.src[x.at:end]))
	case '0' <= c && c <= '9', c == '.' && x.at+1 < len(x.src) && '0' <= x.src[x.at+1] && x.src[x.at+1] <= '9':
		end := x.run(x.at, func(c byte) bool { return isName(c) || c == '.' })
		x.add(number, end, string(x.src[x.at:end]))
	case c == '/' && x.mayBePattern():
		if end := x.patternEnd(); end > 0 {
			x.add(pattern, end, "")
			break
		}
		x.sign()
	default:
		x.sign()
	}
	return true
}

// skip skips white space and comments.
func (x *lexer) skip() {
	for x.at < len(x.src) {
		rest := x.src[x.at:]
		switch c := rest[0]; {
		case c == '\n':
			x.line = true
			x.at++
		case c <= ' ':
			x.at++
		case bytes.HasPrefix(rest, []byte("//")):
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				x.at += n
			} else {
				x.at = len(x.src)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
				x.at += n + 4
			} else {
				x.at = len(x.src)
			}
		default:
			return
		}
	}
}

func (x *lexer) run(i int, is func(byte) bool) int {
	for i < len(x.src) && is(x.src[i]) {
		i++
	}
	return i
}

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c == '#' || c >= utf8.RuneSelf
}

// sign adds a sign, and pairs brackets.
func (x *lexer) sign() {
	end := x.at + 1
	for _, s := range signs {
		if bytes.HasPrefix(x.src[x.at:], []byte(s)) {
			end = x.at + len(s)
			break
		}
	}
	c := x.src[x.at]
	last := len(x.open) - 1
	if c == '}' && last >= 0 && x.tokens[x.open[last]].kind == template {
		before := x.open[last]
		x.open = x.open[:last]
		x.tokens[before].match = len(x.tokens)
		number := len(x.tokens)
		x.piece(end)
		x.tokens[number].inner = true
		return
	}
	x.add(sign, end, string(x.src[x.at:end]))
	number := len(x.tokens) - 1
	switch c {
	case '(', '[', '{':
		x.open = append(x.open, number)
	case ')', ']', '}':
		if last >= 0 && x.tokens[x.open[last]].text == map[byte]string{')': "(", ']': "[", '}': "{"}[c] {
			x.tokens[x.open[last]].match = number
			x.open = x.open[:last]
		}
	}
}

// piece adds a piece of a template whose text begins at an offset.
func (x *lexer) piece(from int) {
	if !x.text(template, from, '`') {
		x.open = append(x.open, len(x.tokens)-1)
	}
}

// text adds a string, or a piece of a template, whose text begins at an offset. It reports whether
// that ends with the quote.
func (x *lexer) text(k kind, from int, quote byte) (ended bool) {
	var value []byte
	i, glued := from, false
	for i < len(x.src) {
		c := x.src[i]
		switch {
		case c == quote:
			x.add(k, i+1, string(value)).glued = glued
			return true
		case quote == '`' && c == '$' && i+1 < len(x.src) && x.src[i+1] == '{':
			x.add(k, i+2, string(value)).glued = glued
			return false
		case c == '\n' && quote != '`': // it is broken
			x.add(k, i, string(value)).glued = glued
			return true
		case c == '\\' && i+1 < len(x.src):
			value, i = unescape(value, x.src, i+1)
			glued = glued || isName(x.src[i-1])
		default:
			value = append(value, c)
			i++
		}
	}
	x.add(k, i, string(value)).glued = glued
	return true
}

// unescape appends what is escaped at an offset, behind the backslash, and returns where it ends.
func unescape(value, src []byte, i int) ([]byte, int) {
	const plain, means = "nrtbfv0", "\n\r\t\b\f\v\x00"
	c := src[i]
	if at := bytes.IndexByte([]byte(plain), c); at >= 0 {
		return append(value, means[at]), i + 1
	}
	switch c {
	case '\r', '\n':
		return value, i + 1
	case 'x', 'u':
		r, end := codePoint(src, i)
		if low, after := codePoint(src, min(end+1, len(src))); 0xd800 <= r && r < 0xdc00 && end < len(src) && src[end] == '\\' && 0xdc00 <= low && low < 0xe000 {
			r, end = 0x10000+(r-0xd800)<<10+low-0xdc00, after
		}
		if end > i {
			return utf8.AppendRune(value, r), end
		}
	}
	return append(value, c), i + 1
}

// codePoint reads x41, u0041 or u{41}. end is i if there is none.
func codePoint(src []byte, i int) (r rune, end int) {
	if i >= len(src) {
		return 0, i
	}
	from, digits := i+1, map[byte]int{'x': 2, 'u': 4}[src[i]]
	braced := digits == 4 && from < len(src) && src[from] == '{'
	if braced {
		from++
		digits = max(bytes.IndexByte(src[from:min(from+8, len(src))], '}'), 0)
	}
	if digits == 0 || from+digits > len(src) {
		return 0, i
	}
	for _, c := range src[from : from+digits] {
		n := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if n < 0 || c < '0' {
			return 0, i
		}
		r = r<<4 | rune(n)
	}
	if braced {
		digits++
	}
	return r, from + digits
}

// mayBePattern reports whether a slash here begins a regular expression.
func (x *lexer) mayBePattern() bool {
	if len(x.tokens) == 0 {
		return true
	}
	switch t := &x.tokens[len(x.tokens)-1]; t.kind {
	case name:
		return slices.Contains(before, t.text)
	case sign:
		return t.text != ")" && t.text != "]" && t.text != "}"
	}
	return false
}

// patternEnd returns where the regular expression ends, 0 if it does not.
func (x *lexer) patternEnd() int {
	set := false
	for i := x.at + 1; i < len(x.src); i++ {
		switch c := x.src[i]; {
		case c == '\n':
			return 0
		case c == '\\':
			i++
		case c == '[':
			set = true
		case c == ']':
			set = false
		case c == '/' && !set:
			return x.run(i+1, isName)
		}
	}
	return 0
}
