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

const alnum = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

type set [256]bool

func setOf(chars string) *set {
	var s set
	for i := range len(chars) {
		s[chars[i]] = true
	}
	return &s
}

// part of a shape: a literal, or a run of characters.
type part struct {
	literal  string
	class    byte
	chars    *set
	min, max int // max is 0 if there is none
}

// shape is a parsed shape.
type shape struct {
	rule   int
	parts  []part
	anchor int // the part whose literal is looked for: the first one of two bytes
	secret int // the part that the secret begins with
	strong bool
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
			if high != "" {
				p.max, _ = strconv.Atoi(high)
			}
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
	last := s.parts[len(s.parts)-1]
	lit := s.parts[s.anchor].literal
	s.strong = s.anchor == 0 && len(lit) >= 4 && strings.ContainsAny(lit[len(lit)-1:], "_-") && last.min >= 20
	return s
}

// runs remembers where runs of characters end, so that no run is walked twice.
type runs map[byte]*[2]int

func (r runs) end(s string, i int, p *part) int {
	known := r[p.class]
	if known == nil {
		known = &[2]int{}
		r[p.class] = known
	}
	if i >= known[0] && i < known[1] {
		return known[1]
	}
	j := i
	for j < len(s) && p.chars[s[j]] {
		j++
	}
	*known = [2]int{i, j}
	return j
}

// match returns the secret of a shape whose anchor is at i.
func (sh *shape) match(s string, i int, r runs) (start, end int, ok bool) {
	start = i
	for k := sh.anchor - 1; k >= 0; k-- {
		p := &sh.parts[k]
		if p.chars == nil {
			if !strings.HasSuffix(s[:start], p.literal) {
				return 0, 0, false
			}
			start -= len(p.literal)
			continue
		}
		from := start
		for start > 0 && p.chars[s[start-1]] && from-start < p.max { // needs a maximum
			start--
		}
		if from-start < p.min {
			return 0, 0, false
		}
	}
	if start > 0 && isAlnum(s[start]) && isAlnum(s[start-1]) && !sh.strong {
		return 0, 0, false
	}
	secret := start
	at := i
	for k := sh.anchor; k < len(sh.parts); k++ {
		if k == sh.secret && k > 0 {
			secret = at
		}
		p := &sh.parts[k]
		if p.chars == nil {
			if !strings.HasPrefix(s[at:], p.literal) {
				return 0, 0, false
			}
			at += len(p.literal)
			continue
		}
		last := r.end(s, at, p)
		n := last - at
		if k+1 < len(sh.parts) && p.max > 0 && n > p.max {
			n = p.max
		}
		// The next literal may consist of characters of this run.
		if k+1 < len(sh.parts) && sh.parts[k+1].chars == nil && p.chars[sh.parts[k+1].literal[0]] {
			j := strings.Index(s[at+min(n, p.min):min(last+len(sh.parts[k+1].literal), at+512, len(s))], sh.parts[k+1].literal)
			if j < 0 {
				return 0, 0, false
			}
			n = p.min + j
		}
		if n < p.min {
			// A terminal or a mail may have broken the line within the token.
			joined, m := wrapped(s, at+n, p, n)
			if m < p.min {
				return 0, 0, false
			}
			at = joined
			continue
		}
		if p.max > 0 && n > p.max && k+1 == len(sh.parts) {
			return 0, 0, false
		}
		at += n
	}
	if from := i + len(sh.parts[sh.anchor].literal); from < at && looksWritten(s[from:at]) {
		return 0, 0, false
	}
	return secret, at, true
}

// wrapped follows a run over the ends of lines that are as long as a terminal is
// wide, or that have nothing but the run. It returns the end and the length of the
// run.
func wrapped(s string, at int, p *part, n int) (end, length int) {
	for n < p.min && at < len(s) && (s[at] == '\n' || s[at] == softBreak) {
		from := max(0, at-200)
		line := at - 1 - max(from-1, from+strings.LastIndexAny(s[from:at], "\n\v"))
		next := at + 1
		for next < len(s) && next < at+40 && (s[next] == ' ' || s[next] == '\t') {
			next++
		}
		j := next
		for j < len(s) && p.chars[s[j]] {
			j++
		}
		if j == next || line < minWidth {
			break
		}
		n += j - next
		at = j
	}
	return at, n
}

// continued returns the end of a token that ends with its line and that a terminal may
// have broken there: the next line begins with more that looks generated.
func (f *finder) continued(end int) int {
	s := f.s
	for end < len(s) && isBreak(s[end]) {
		start, _ := f.line(end)
		if end-start < minWidth {
			break
		}
		next := skipBlank(s, end+1, min(len(s), end+40))
		i := next
		for i < len(s) && (isAlnum(s[i]) || strings.IndexByte("_-.=+/%~", s[i]) >= 0) {
			i++
		}
		upper, lower, digit, other := count(s[next:i])
		if i-next < 3 || i < len(s) && strings.IndexByte(" \n\v\t\"'`,;)", s[i]) < 0 || digit == 0 && (upper < 2 || lower == 0) || other*3 > i-next || isWordy(s[next:i]) {
			break
		}
		end = i
	}
	return end
}

// minWidth is the width of the narrowest terminal that breaks lines.
const minWidth = 40

// looksWritten reports whether the text after the prefix of a token is a placeholder that
// shows its form: your-key, xxxxxxxx.
func looksWritten(s string) bool {
	upper, _, digit, _ := count(s)
	return digit == 0 && upper == 0 || strings.Trim(s, "xX.*_-") == ""
}

func isAlnum(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
