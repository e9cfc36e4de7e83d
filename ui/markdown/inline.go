package markdown

import (
	"html"
	"slices"
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

// read is like inline for a text of any length.
func read(s string, style Style) []Run {
	p := inliner{s: s, pieces: make([]piece, 0, 8), noTicks: make(map[int]bool)}
	for at := 0; at < len(s); {
		at = p.piece(at)
	}
	p.hide(len(s), len(s))
	p.emphasize()
	return p.runs(style)
}

// inliner cuts a line into pieces.
type inliner struct {
	s       string
	done    int // the pieces cover the line up to here
	pieces  []piece
	opened  []opener
	noTicks map[int]bool // numbers of backticks that nothing ends
}

// piece is what is shown of a piece of the line.
type piece struct {
	text        string
	style       Style
	link        *Run                 // what it leads to, without text
	open, close bool                 // a run of *, _ or ~ that may begin or end emphasis
	change      [len(emphases)]int32 // how many of each emphasis begin before the text, less those that end
}

var emphases = [...]Style{Bold, Italic, Strike}

// opener is a [ that may begin a link.
type opener struct {
	text  int // where the text of the link begins in the line
	piece int
	image bool
}

// hide leaves a piece of the line out. What is before it and in no piece so far is text.
func (p *inliner) hide(from, to int) {
	if p.done < from {
		p.pieces = append(p.pieces, piece{text: p.s[p.done:from]})
	}
	p.done = to
}

func (p *inliner) show(from, to int, as piece) {
	p.hide(from, to)
	p.pieces = append(p.pieces, as)
}

// piece reads what begins at a byte of the line, if only that byte of text, and returns where it ends.
func (p *inliner) piece(at int) (end int) {
	s := p.s
	switch c := s[at]; {
	case c == '\\' && at+1 < len(s) && isPunct(s[at+1]):
		p.hide(at, at+1)
		return at + 2
	case c == '`':
		return p.codeSpan(at)
	case c == '*' || c == '_' || c == '~':
		return p.delimiter(at)
	case c == '[':
		o := opener{text: at + 1, image: p.done < at && s[at-1] == '!'}
		from := at
		if o.image {
			from--
		}
		p.show(from, at+1, piece{text: s[from : at+1]})
		o.piece = len(p.pieces) - 1
		p.opened = append(p.opened, o)
	case c == ']':
		return p.closeLink(at)
	case c == '<':
		if found := inAngles().FindStringSubmatch(s[at:]); found != nil { // <http://address>
			end = at + len(found[0])
			p.show(at, end, piece{text: found[1], link: &Run{URL: found[1]}})
			return end
		}
	case c == 'h' && (at == 0 || !isWord(s[at-1])) && (strings.HasPrefix(s[at:], "http://") || strings.HasPrefix(s[at:], "https://")):
		end = at + bareURL(s[at:])
		p.show(at, end, piece{text: s[at:end], link: &Run{URL: s[at:end]}})
		return end
	case c == '&':
		return p.entity(at)
	}
	return at + 1
}

func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && !isWord(c)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
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
	inner := p.s[from:to]
	if len(inner) > 2 && inner[0] == ' ' && inner[len(inner)-1] == ' ' && strings.Trim(inner, " ") != "" {
		inner = inner[1 : len(inner)-1]
	}
	p.show(at, to+n, piece{text: inner, style: Code})
	return to + n
}

// delimiter records a run of *, _ or ~, which CommonMark classifies by the characters on
// either side.
func (p *inliner) delimiter(at int) int {
	end := at + count(p.s[at:])
	before, _ := utf8.DecodeLastRuneInString(p.s[:at])
	after, _ := utf8.DecodeRuneInString(p.s[end:])
	spaceBefore := at == 0 || unicode.IsSpace(before)
	spaceAfter := end == len(p.s) || unicode.IsSpace(after)
	punctBefore := unicode.IsPunct(before) || unicode.IsSymbol(before)
	punctAfter := unicode.IsPunct(after) || unicode.IsSymbol(after)
	left := !spaceAfter && (!punctAfter || spaceBefore || punctBefore)
	right := !spaceBefore && (!punctBefore || spaceAfter || punctAfter)
	x := piece{text: p.s[at:end], open: left, close: right}
	switch {
	case x.text[0] == '_':
		x.open, x.close = left && (!right || punctBefore), right && (!left || punctAfter)
	case x.text[0] == '~' && x.text != "~~":
		return end
	case x.text == "*" && at > 0 && isWord(p.s[at-1]) && end < len(p.s) && isWord(p.s[end]): // 2*3
		return end
	}
	if x.open || x.close {
		p.show(at, end, x)
	}
	return end
}

// emphasize pairs the delimiters.
func (p *inliner) emphasize() {
	var stack []int              // of openers
	bottom := make(map[byte]int) // below this, the stack has no opener of the kind
	for i := range p.pieces {
		d := &p.pieces[i]
		for d.close && d.text != "" {
			k, char := len(stack)-1, d.text[0]
			for k >= bottom[char] && p.pieces[stack[k]].text[0] != char {
				k--
			}
			if k < bottom[char] {
				bottom[char] = len(stack) // if d opens, it is above this
				break
			}
			o := &p.pieces[stack[k]]
			n, what := min(2, len(o.text), len(d.text)), Italic
			switch {
			case char == '~':
				what = Strike
			case n == 2:
				what = Bold
			}
			kind := slices.Index(emphases[:], what)
			p.pieces[stack[k]+1].change[kind]++
			d.change[kind]--
			o.text, d.text = o.text[n:], d.text[n:]
			stack = stack[:k+1]
			if o.text == "" {
				stack = stack[:k]
			}
			for c, b := range bottom {
				bottom[c] = min(b, len(stack))
			}
		}
		if d.open && d.text != "" {
			stack = append(stack, i)
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
	if depth != 0 {
		return at + 1
	}
	inner := p.s[at+2 : end-1]
	url, title, _ := strings.Cut(strings.TrimSpace(inner), " ")
	if title = strings.TrimSpace(title); title != "" && !strings.ContainsAny(title[:1], `"'(`) {
		return at + 1 // not a link
	}
	to := &Run{URL: strings.Trim(url, "<>"), Title: title, Image: open.image}
	p.hide(at, end)
	p.pieces[open.piece].text = ""
	for i := open.piece + 1; i < len(p.pieces); i++ {
		p.pieces[i].link = to // instead of an address in the text
	}
	switch p.s[open.text:at] {
	case "":
		p.pieces = append(p.pieces, piece{text: inner})
	case to.URL:
	default:
		p.pieces = append(p.pieces, piece{text: " (" + inner + ")", style: Faint})
	}
	p.opened = p.opened[:0] // links are not nested
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
	end := at + n + 1
	text := html.UnescapeString(p.s[at:end])
	if text == "" || strings.HasPrefix(text, "&") && len(text) > 1 || strings.ContainsFunc(text, terminal.Hidden) {
		return at + 1
	}
	p.show(at, end, piece{text: text})
	return end
}

// runs joins the pieces that look the same.
func (p *inliner) runs(base Style) []Run {
	var runs []Run
	var text []byte // of the last run
	endRun := func() {
		if len(runs) > 0 {
			runs[len(runs)-1].Text = string(text)
			text = text[:0]
		}
	}
	var within [len(emphases)]int32
	for _, x := range p.pieces {
		next := Run{}
		if x.link != nil {
			next = *x.link
			next.Style = Link
		}
		next.Style |= base | x.style
		for i, n := range x.change {
			if within[i] += n; within[i] > 0 {
				next.Style |= emphases[i]
			}
		}
		if x.text == "" {
			continue
		}
		if k := len(runs) - 1; k < 0 || runs[k].Style != next.Style || runs[k].URL != next.URL {
			endRun()
			runs = append(runs, next)
		}
		text = append(text, x.text...)
	}
	endRun()
	return runs
}
