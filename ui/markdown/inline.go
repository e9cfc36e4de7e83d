package markdown

import (
	"html"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/terminal"
)

// special are the bytes that may begin something in a line.
const special = "\\`*_~[]!<&h"

func inline(s string, style Style) []Run {
	if len(s) > maxInline || !strings.ContainsAny(s, special) {
		return []Run{{Text: s, Style: style}}
	}
	return read(s, style)
}

// read is inline for a text of any length.
func read(s string, style Style) []Run {
	p := inliner{s: s, marks: make([]mark, len(s)+1), noTicks: make(map[int]bool), instead: make(map[int]string)}
	p.scan()
	p.emphasize()
	return p.runs(style)
}

// mark is what is special about a byte of the line. It is small: most bytes have an empty one.
type mark struct {
	shown  shown
	change [attributes]int8 // how many of each attribute begin here, less those that end
}

type shown uint8

const (
	asItIs shown = iota
	hidden
	replaced // by a text of inliner.instead
)

type inliner struct {
	s       string
	marks   []mark
	stars   []delimiter
	opened  []int        // places of [
	noTicks map[int]bool // numbers of backticks that nothing ends
	links   []link
	instead map[int]string
}

type link struct {
	from, to   int
	url, title string
	image      bool
}

// delimiter is a run of *, _ or ~ that may begin or end emphasis.
type delimiter struct {
	at, n       int
	char        byte
	open, close bool
}

func (p *inliner) hide(from, to int) { p.show(from, to, hidden) }

func (p *inliner) show(from, to int, how shown) {
	for i := from; i < to; i++ {
		p.marks[i].shown = how
	}
}

func (p *inliner) replace(at int, text string) {
	p.marks[at].shown = replaced
	p.instead[at] = text
}

func (p *inliner) cover(from, to int, attribute Style) {
	i := bits.TrailingZeros16(uint16(attribute))
	p.marks[from].change[i]++
	p.marks[to].change[i]--
}

func (p *inliner) scan() {
	s := p.s
	for at := 0; at < len(s); {
		switch c := s[at]; {
		case c == '\\' && at+1 < len(s) && isPunct(s[at+1]):
			p.hide(at, at+1)
			at += 2
		case c == '`':
			at = p.codeSpan(at)
		case c == '*' || c == '_' || c == '~':
			at = p.delimiter(at)
		case c == '[':
			p.opened = append(p.opened, at)
			at++
		case c == ']':
			at = p.closeLink(at)
		case c == '<':
			at = p.angle(at)
		case c == 'h' && (at == 0 || !isWord(s[at-1])) && (strings.HasPrefix(s[at:], "http://") || strings.HasPrefix(s[at:], "https://")):
			end := at + bareURL(s[at:])
			p.link(at, end, s[at:end])
			at = end
		case c == '&':
			at = p.entity(at)
		default:
			at++
		}
	}
}

func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && !isWord(c)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *inliner) link(from, to int, url string) {
	if from < to {
		p.links = append(p.links, link{from: from, to: to, url: url})
	}
}

// count returns how often the byte at the beginning of s is repeated.
func count(s string) int {
	return len(s) - len(strings.TrimLeft(s, s[:1]))
}

func (p *inliner) codeSpan(at int) int {
	n := count(p.s[at:])
	from, to := at+n, at+n
	if p.noTicks[n] {
		return from
	}
	for k := 0; k != n; {
		i := strings.IndexByte(p.s[to+k:], '`')
		if i < 0 {
			p.noTicks[n] = true
			return from
		}
		to += k + i
		k = count(p.s[to:])
	}
	if inner := p.s[from:to]; len(inner) > 2 && inner[0] == ' ' && inner[len(inner)-1] == ' ' && strings.Trim(inner, " ") != "" {
		p.hide(from, from+1)
		p.hide(to-1, to)
	}
	p.hide(at, from)
	p.hide(to, to+n)
	p.cover(from, to, Code)
	return to + n
}

// delimiter records a run of *, _ or ~, which CommonMark classifies by the characters on
// either side.
func (p *inliner) delimiter(at int) int {
	n := count(p.s[at:])
	before, _ := utf8.DecodeLastRuneInString(p.s[:at])
	after, _ := utf8.DecodeRuneInString(p.s[at+n:])
	spaceBefore := at == 0 || unicode.IsSpace(before)
	spaceAfter := at+n == len(p.s) || unicode.IsSpace(after)
	punctBefore := unicode.IsPunct(before) || unicode.IsSymbol(before)
	punctAfter := unicode.IsPunct(after) || unicode.IsSymbol(after)
	left := !spaceAfter && (!punctAfter || spaceBefore || punctBefore)
	right := !spaceBefore && (!punctBefore || spaceAfter || punctAfter)
	d := delimiter{at: at, n: n, char: p.s[at], open: left, close: right}
	switch d.char {
	case '_':
		d.open, d.close = left && (!right || punctBefore), right && (!left || punctAfter)
	case '~':
		if n != 2 {
			return at + n
		}
	case '*':
		if n == 1 && at > 0 && isWord(p.s[at-1]) && at+1 < len(p.s) && isWord(p.s[at+1]) { // 2*3
			return at + n
		}
	}
	if d.open || d.close {
		p.stars = append(p.stars, d)
	}
	return at + n
}

// emphasize pairs the delimiters.
func (p *inliner) emphasize() {
	var stack []delimiter
	bottom := make(map[byte]int) // below this, the stack has no opener of the kind
	for _, d := range p.stars {
		for d.close && d.n > 0 {
			k := len(stack) - 1
			for k >= bottom[d.char] && stack[k].char != d.char {
				k--
			}
			if k < bottom[d.char] {
				bottom[d.char] = len(stack) // if d opens, it is above this
				break
			}
			o := &stack[k]
			n := min(2, o.n, d.n)
			what := Italic
			switch {
			case d.char == '~':
				what = Strike
			case n == 2:
				what = Bold
			}
			o.n -= n
			from := o.at + o.n
			p.hide(from, from+n)
			p.hide(d.at, d.at+n)
			p.cover(from, d.at, what)
			d.at, d.n = d.at+n, d.n-n
			stack = stack[:k+1]
			if o.n == 0 {
				stack = stack[:k]
			}
			for c, b := range bottom {
				bottom[c] = min(b, len(stack))
			}
		}
		if d.open && d.n > 0 {
			stack = append(stack, d)
		}
	}
}

// maxURL bounds the search for the end of an address.
const maxURL = 2 << 10

// closeLink ends the text of a link: [text](address), which is shown as text (address).
func (p *inliner) closeLink(at int) int {
	if len(p.opened) == 0 {
		return at + 1
	}
	open := p.opened[len(p.opened)-1]
	p.opened = p.opened[:len(p.opened)-1]
	if at+1 == len(p.s) || p.s[at+1] != '(' {
		return at + 1
	}
	depth, end := 1, at+2
	for ; end < min(len(p.s), at+maxURL) && depth > 0 && depth <= maxNested && p.s[end] != '['; end++ {
		switch p.s[end] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	if end--; depth != 0 {
		return at + 1
	}
	url, title, _ := strings.Cut(strings.TrimSpace(p.s[at+2:end]), " ")
	if title = strings.TrimSpace(title); title != "" && !strings.ContainsAny(title[:1], `"'(`) {
		return at + 1 // not a link
	}
	url = strings.Trim(url, "<>")
	p.hide(open, open+1)
	if open > 0 && p.s[open-1] == '!' {
		p.hide(open-1, open)
	}
	if text := p.s[open+1 : at]; text == "" || text == url {
		p.hide(at, end+1)
		if text == "" {
			p.show(at+2, end, asItIs)
		}
	} else {
		p.replace(at, " ")
		p.cover(at, end+1, Faint)
	}
	for len(p.links) > 0 && p.links[len(p.links)-1].from > open { // an address in the text
		p.links = p.links[:len(p.links)-1]
	}
	if open+1 < at {
		p.links = append(p.links, link{open + 1, at, url, title, open > 0 && p.s[open-1] == '!'})
	}
	p.opened = p.opened[:0] // links are not nested
	return end + 1
}

// angle reads <http://address>.
func (p *inliner) angle(at int) int {
	found := inAngles().FindStringSubmatch(p.s[at:])
	if found == nil {
		return at + 1
	}
	end := at + len(found[0])
	p.hide(at, at+1)
	p.hide(end-1, end)
	p.link(at+1, end-1, found[1])
	return end
}

// bareURL returns the length of the address that s begins with.
func bareURL(s string) int {
	n := strings.IndexAny(s, " <>\"`|\\^{}[]")
	if n < 0 {
		n = len(s)
	}
	for unopened := strings.Count(s[:n], ")") - strings.Count(s[:n], "("); n > 0; n-- {
		if s[n-1] == ')' && unopened > 0 {
			unopened--
		} else if !strings.ContainsAny(s[n-1:n], ".,;:!?'*_~") {
			break
		}
	}
	return n
}

// maxEntity is the length of the longest entity.
const maxEntity = 32

// entity shows &lt; as <.
func (p *inliner) entity(at int) int {
	n := strings.IndexByte(p.s[at:min(len(p.s), at+maxEntity)], ';')
	if n < 0 {
		return at + 1
	}
	text := html.UnescapeString(p.s[at : at+n+1])
	if text == "" || strings.HasPrefix(text, "&") && len(text) > 1 || strings.ContainsFunc(text, terminal.Hidden) {
		return at + 1
	}
	p.hide(at, at+n+1)
	p.replace(at, text)
	return at + n + 1
}

// runs returns what is shown.
func (p *inliner) runs(base Style) []Run {
	var runs []Run
	var text []byte // of the last run
	endRun := func() {
		if len(runs) > 0 {
			runs[len(runs)-1].Text = string(text)
			text = text[:0]
		}
	}
	var counts [attributes]int
	style, links := base, p.links
	for _, l := range links {
		p.cover(l.from, l.to, Link)
	}
	for at := 0; at < len(p.s); {
		m, from := p.marks[at], at
		if m.change != [attributes]int8{} {
			style = base
			for i, d := range m.change {
				if counts[i] += int(d); counts[i] > 0 {
					style |= 1 << i
				}
			}
		}
		for at++; m.shown == asItIs && at < len(p.s) && p.marks[at] == (mark{}); at++ {
		}
		if m.shown == hidden {
			continue
		}
		for len(links) > 0 && links[0].to <= from {
			links = links[1:]
		}
		var to link
		if len(links) > 0 && links[0].from <= from {
			to = links[0]
		}
		if k := len(runs) - 1; k < 0 || m.shown == replaced || runs[k].Style != style || runs[k].URL != to.url {
			endRun()
			runs = append(runs, Run{Style: style, URL: to.url, Title: to.title, Image: to.image})
		}
		if m.shown == replaced {
			text = append(text, p.instead[from]...)
		} else {
			text = append(text, p.s[from:at]...)
		}
	}
	endRun()
	return runs
}
