package redact

import (
	"fmt"
	"strconv"
	"strings"
)

// A token is recognized by its own characters: `ghp_<A36>` is the text ghp_ followed
// by 36 or more letters and digits. In a shape
//
//	<A36>     is 36 or more characters of the class A
//	<A36-40>  is 36 to 40 of them, and no further one
//	^         begins the secret; what is before it stays
//
// and everything else matches itself. Classes are in the table below. Shapes are
// matched without a regular expression, in time that is linear in the text.
var classes = map[byte]string{
	'd': "0123456789",
	'h': "0123456789abcdef",
	'H': "0123456789abcdefABCDEF",
	'a': "0123456789abcdefghijklmnopqrstuvwxyz",
	'U': "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	'A': alnum,
	'w': alnum + "_",
	't': alnum + "_-",
	'.': alnum + "_-.",
	'=': alnum + "_-=.",
	'b': alnum + "+/=_-",
	'/': alnum + "_-/",
	'$': alnum + "./$,=+-",
	'~': alnum + "_-.~",
}

// part of a shape: a literal, or a run of characters.
type part struct {
	literal  string
	class    byte
	chars    *set
	min, max int // max is 0 if there is none
}

type shape struct {
	rule   int
	parts  []part
	anchor int // the part whose literal is looked for: the first one of two bytes
	secret int // the part that the secret begins with

	// What the literals allow, because no other text has them.
	glued bool // a letter or digit may stand before the token
	fold  bool // they match in upper and lower case
	// The literals are so short that the rest must look generated.
	brief bool
}

func parseShape(rule int, text string, sets map[byte]*set) *shape {
	s := &shape{rule: rule, anchor: -1}
	for text != "" {
		switch i := strings.IndexAny(text, "<^"); {
		case i == 0 && text[0] == '^':
			s.secret = len(s.parts)
			text = text[1:]
		case i == 0:
			end := strings.IndexByte(text, '>')
			low, high, _ := strings.Cut(text[2:end], "-")
			p := part{class: text[1], chars: sets[text[1]]}
			var err error
			if p.min, err = strconv.Atoi(low); err != nil || p.chars == nil {
				panic(fmt.Sprintf("redact: shape %q: %v", text, err))
			}
			p.max, _ = strconv.Atoi(high)
			s.parts = append(s.parts, p)
			text = text[end+1:]
		default:
			if i < 0 {
				i = len(text)
			}
			if s.anchor < 0 && i >= 2 {
				s.anchor = len(s.parts)
			}
			s.parts = append(s.parts, part{literal: text[:i]})
			text = text[i:]
		}
	}
	s.weigh()
	return s
}

// weigh decides what the literals of a shape allow.
func (sh *shape) weigh() {
	known, invented := 0, 0
	for _, p := range sh.parts {
		known += len(p.literal)
		invented += p.min
	}
	lit, last := sh.parts[sh.anchor].literal, sh.parts[len(sh.parts)-1]
	separated := strings.HasSuffix(lit, "_") || strings.HasSuffix(lit, "-")
	first := sh.anchor == 0 && len(lit) >= 4
	sh.glued = first && (separated && last.min >= 16 || separated && len(lit) >= 7 || oneOf(last.class, "dhHU") && last.min >= 16)
	sh.fold = first && (separated || len(lit) >= 5) && (invented >= 16 || separated && len(lit) >= 5)
	sh.brief = known < 3 && len(sh.parts) == 2
}

// runs remembers where the last run of each class ends, so that no run is walked twice.
type runs map[byte]*[2]int

func (r runs) end(s string, i int, p *part) int {
	known := r[p.class]
	if known == nil {
		known = &[2]int{}
		r[p.class] = known
	}
	if i < known[0] || i >= known[1] {
		*known = [2]int{i, p.chars.skip(s, i)}
	}
	return known[1]
}

// match returns the secret of a shape whose anchor is at i.
func (sh *shape) match(s string, i int, r runs) (start, end int, ok bool) {
	start = sh.before(s, i)
	if start < 0 || !sh.glued && joins(char(s, start-1), s[start]) {
		return 0, 0, false
	}
	end = i
	for k := sh.anchor; k < len(sh.parts); k++ {
		if k == sh.secret && k > 0 {
			start = end
		}
		if end = sh.follow(s, end, k, r); end < 0 {
			return 0, 0, false
		}
	}
	if from := i + len(sh.parts[sh.anchor].literal); from < end && looksWritten(s[from:end]) || sh.brief && (oneOf(byteBefore(s, start), "+/") || oneOf(char(s, end), "+/(") || !isDense(s[start:end])) {
		return 0, 0, false
	}
	return start, end, true
}

// joins reports whether two bytes belong to one word. A number may follow a letter: bot12345.
func joins(a, b byte) bool { return isAlnum(a) && isAlnum(b) && (isDigit(a) || !isDigit(b)) }

func (sh *shape) literalAt(s string, at int, literal string) bool {
	if at < 0 || at+len(literal) > len(s) {
		return false
	}
	s = s[at : at+len(literal)]
	return s == literal || sh.fold && strings.EqualFold(s, literal)
}

// before returns where the parts before the anchor begin, or -1.
func (sh *shape) before(s string, at int) int {
	for k := sh.anchor - 1; k >= 0; k-- {
		p := &sh.parts[k]
		end := at
		if p.chars == nil {
			if at -= len(p.literal); !sh.literalAt(s, at, p.literal) {
				return -1
			}
		} else if at = p.chars.back(s, end, end-p.max); end-at < p.min { // needs a maximum
			return -1
		}
	}
	return at
}

// follow returns the end of the part k that begins here, or -1.
func (sh *shape) follow(s string, at, k int, r runs) int {
	p := &sh.parts[k]
	if p.chars == nil {
		if !sh.literalAt(s, at, p.literal) {
			return -1
		}
		return at + len(p.literal)
	}
	end := r.end(s, at, p)
	n := end - at
	isLast := k+1 == len(sh.parts)
	if p.max > 0 && n > p.max {
		if isLast {
			return -1
		}
		n = p.max
	}
	// The next literal may consist of characters of this run.
	if !isLast && sh.parts[k+1].chars == nil && p.chars[sh.parts[k+1].literal[0]] {
		next := sh.parts[k+1].literal
		j := strings.Index(s[at+min(n, p.min):min(end+len(next), at+512, len(s))], next)
		if j < 0 {
			return -1
		}
		n = p.min + j
	}
	if n < p.min { // a terminal or a mail may have broken the line within the token
		return wrapped(s, at+n, p, n)
	}
	return at + n
}

// wrapped follows a run of n characters over the ends of lines that are as long as a
// terminal is wide, or that have nothing but the run. It returns the end of the run, or
// -1 if it is too short.
func wrapped(s string, at int, p *part, n int) int {
	for n < p.min && breaks[char(s, at)] && at-breaks.after(s, at, at-200) >= minWidth {
		next := blanks.skip(first(s, at+maxIndent), at+1)
		if at = p.chars.skip(s, next); at == next {
			break
		}
		n += at - next
	}
	if n < p.min {
		return -1
	}
	return at
}

var (
	tokenChars = setOf(alnum + "_-.=+/%~")
	afterToken = setOf(" \n\v\t\"'`,;)\x00")
)

// continued returns the end of a token that ends with its line and that a terminal may
// have broken there: the next line begins with more that looks generated.
func (f *finder) continued(end int) int {
	s := f.s
	for breaks[char(s, end)] {
		if start, _ := f.line(end); end-start < minWidth {
			break
		}
		next := blanks.skip(first(s, end+maxIndent), end+1)
		i := tokenChars.skip(s, next)
		t := count(s[next:i])
		if i-next < 3 || !afterToken[char(s, i)] || t.digit == 0 && (t.upper < 2 || t.lower == 0) || t.other*3 > i-next || isWordy(s[next:i]) {
			break
		}
		end = i
	}
	return end
}

// maxIndent is how far the rest of a token that is broken is indented.
const maxIndent = 40

// minWidth is the width of the narrowest terminal that breaks lines.
const minWidth = 40

// looksWritten reports whether the text after the prefix of a token is a placeholder that
// shows its form: your-key, xxxxxxxx.
func looksWritten(s string) bool {
	t := count(s)
	return t.digit == 0 && t.upper == 0 || strings.Trim(s, "xX.*_-") == ""
}
