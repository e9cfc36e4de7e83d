// Package markdown lays Markdown out for a terminal: lines of styled runs. It deals with
// neither colours nor escape sequences.
//
// It reads line by line, as the text was typed: a newline stays a newline, indentation
// stays, and what is not Markdown is shown as it is, HTML included. It omits nothing but
// the marks and the names of languages, and its running time is linear in the length of
// the text, even of hostile text. Parsers for web pages differ in all of this: they join
// lines, drop the indentation of pasted code, and hide link definitions.
package markdown

import (
	"regexp"
	"strings"
	"sync"

	"pigrep/internal/terminal"
	"pigrep/ui/highlight"
)

// Style is how a run looks: a set of attributes.
type Style uint16

// The attributes.
const (
	Bold Style = 1 << iota
	Italic
	Strike
	Code
	Heading
	Link
	Faint // what is not text: bars, rules, addresses

	attributes = iota
)

// Run is a piece of a line in one style.
type Run struct {
	Text  string
	Style Style
	Class highlight.Class // of code
	URL   string          // what a link leads to
}

// Line is one line of the terminal.
type Line []Run

// String is the text of the line.
func (l Line) String() string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(r.Text)
	}
	return b.String()
}

// Bounds on what is laid out; the rest is shown as it is.
const (
	maxInline = 64 << 10 // bytes of a line with links and emphasis
	maxNested = 16       // quotes and list markers at the beginning of a line
	maxCode   = 4 << 10  // bytes of code that is highlighted, at up to 2 ms per KiB
	maxCells  = 10_000   // of a table
)

// Render lays Markdown out in lines of at most width cells. The source has no control
// characters but newlines.
func Render(source string, width int) []Line {
	r := &renderer{width: max(1, width), rest: strings.Split(strings.TrimRight(source, "\n "), "\n"), code: maxCode}
	for len(r.rest) > 0 {
		r.block()
	}
	for n := len(r.lines); n > 0 && len(r.lines[n-1]) == 0; n-- {
		r.lines = r.lines[:n-1]
	}
	return r.lines
}

type renderer struct {
	width int
	rest  []string // the lines to read
	lines []Line
	code  int  // bytes of code that may still be highlighted
	list  bool // indented text belongs to a list
	blank bool // the line before was blank
}

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

var (
	fenceLine   = lazily("^(`{3,}|~{3,})[ ]*([^\\s`]*)")
	headingLine = lazily(`^(#{1,6})[ ]+(.*?)[ ]*#*$`)
	delimiters  = lazily(`^\|?[ ]*:?-+:?[ ]*(\|[ ]*:?-+:?[ ]*)*\|?$`)
	listMarker  = lazily(`^([-*+]|\d{1,9}[.)])( +|$)`)
	taskMarker  = lazily(`^\[([ xX])\] `)
)

// block renders one line, or a whole block of code or table.
func (r *renderer) block() {
	line := strings.TrimRight(r.rest[0], " ")
	if line == "" {
		r.rest = r.rest[1:]
		if len(r.lines) > 0 && !r.blank {
			r.lines = append(r.lines, nil)
		}
		r.blank = true
		return
	}
	p, text := r.prefix(line)
	switch {
	case p.indent >= 4 && !r.list && (r.blank || len(r.lines) == 0) && p.quotes == 0 && !p.marked:
		r.indented()
	case isFence(text):
		r.fenced(p, text)
	case strings.Contains(text, "|") && r.table(p, text):
	default:
		r.rest = r.rest[1:]
		r.textLine(p, text)
	}
	if !p.marked && p.indent == 0 && r.blank {
		r.list = false
	}
	r.list = r.list || p.marked
	r.blank = false
}

// prefix is the text before the content of a line: indentation, quote and list markers.
type prefix struct {
	first, next Line // as shown before the line, and before its continuations
	width       int
	lead        Line // shown as text where the screen is too narrow for a margin
	raw         int  // bytes in the source
	indent      int  // spaces at the beginning
	quotes      int
	marked      bool // it has a list marker
}

func (r *renderer) prefix(line string) (p prefix, text string) {
	add := func(first, next string, style Style) {
		p.first, p.next = append(p.first, Run{Text: first, Style: style}), append(p.next, Run{Text: next, Style: style})
		p.width += terminal.Width(first)
	}
	text = line
	for n := range maxNested {
		spaces := len(text) - len(strings.TrimLeft(text, " "))
		if spaces > 0 {
			add(text[:spaces], text[:spaces], 0)
			if n == 0 {
				p.indent = spaces
			}
			text = text[spaces:]
		}
		if isRule(text) {
			break
		}
		if strings.HasPrefix(text, ">") {
			text = strings.TrimPrefix(text[1:], " ")
			add("│ ", "│ ", Faint)
			p.quotes++
			continue
		}
		m := ""
		if text != "" && strings.IndexByte("-*+0123456789", text[0]) >= 0 {
			m = listMarker().FindString(text)
		}
		if m == "" || p.marked && p.quotes == 0 && n > 2 {
			break
		}
		mark, pad := strings.TrimRight(m, " "), " "
		if strings.ContainsAny(mark[:1], "-*+") {
			mark = "•"
		}
		text, p.marked = text[len(m):], true
		add(mark+pad, strings.Repeat(" ", terminal.Width(mark+pad)), 0)
		if t := taskMarker().FindString(text); t != "" && text[0] == '[' {
			text = text[len(t):]
			add(t, "    ", Faint)
			break
		}
	}
	p.raw = len(line) - len(text)
	if p.width > r.width/2 || p.width > 0 && r.width-p.width < widest { // too deep to be a margin
		p.lead = Line{{Text: strings.TrimLeft(p.first.String(), " ")}}
		p.first, p.next, p.width = nil, nil, 0
	}
	return p, text
}

// widest is the width of the widest character. Every line must have room for one.
const widest = 2

// isRule reports whether a line is a thematic break.
func isRule(s string) bool {
	if s == "" || !strings.ContainsAny(s[:1], "-*_") {
		return false
	}
	return strings.Count(s, s[:1]) >= 3 && strings.Trim(s, s[:1]+" ") == ""
}

func (r *renderer) textLine(p prefix, text string) {
	if isRule(text) {
		r.emit(p, Line{{Text: strings.Repeat("─", max(1, r.width-p.width)), Style: Faint}})
		return
	}
	if strings.HasPrefix(text, "#") {
		if m := headingLine().FindStringSubmatch(text); m != nil && m[2] != "" {
			r.wrap(p, inline(m[2], Heading))
			return
		}
	}
	if p.indent >= 4 && !r.list && !p.marked && p.quotes == 0 { // more pasted code than Markdown
		r.wrap(p, []Run{{Text: text}})
		return
	}
	r.wrap(p, inline(text, 0))
}

func (r *renderer) emit(p prefix, l Line) {
	line := append(append(make(Line, 0, len(p.first)+len(l)), p.first...), l...)
	for n := len(line) - 1; n >= 0; n-- {
		if line[n].Text = strings.TrimRight(line[n].Text, " "); line[n].Text != "" {
			break
		}
		line = line[:n]
	}
	r.lines = append(r.lines, line)
}

// wrap appends the runs as lines, broken at spaces.
func (r *renderer) wrap(p prefix, runs []Run) {
	for _, l := range wrap(append(p.lead, runs...), max(1, r.width-p.width)) {
		r.emit(p, l)
		p.first = p.next
	}
}

// codeIndent is before the lines of code.
const codeIndent = "  "

// indented renders a block of indented code.
func (r *renderer) indented() {
	n, last := 0, 0
	for n < len(r.rest) {
		if strings.HasPrefix(r.rest[n], "    ") {
			last = n + 1
		} else if strings.TrimSpace(r.rest[n]) != "" {
			break
		}
		n++
	}
	lines := make([]string, last)
	for i := range lines {
		lines[i] = strings.TrimPrefix(r.rest[i], strings.Repeat(" ", 4))
	}
	r.rest = r.rest[last:]
	r.codeLines(prefix{}, lines, "")
}

func isFence(text string) bool {
	return strings.HasPrefix(text, "~~~") || strings.HasPrefix(text, "```") && !strings.Contains(strings.TrimLeft(text, "`"), "`")
}

// fenced renders a block of fenced code. Without a closing fence it extends to the end
// of the text, or of the quotation.
func (r *renderer) fenced(p prefix, text string) {
	m := fenceLine().FindStringSubmatch(text)
	r.rest = r.rest[1:]
	var lines []string
	for len(r.rest) > 0 {
		line := r.rest[0]
		if p.quotes > 0 {
			q, content := r.prefix(line)
			if q.quotes < p.quotes {
				break
			}
			line = strings.Repeat(" ", p.raw) + quoted(line, p.quotes, content)
		}
		r.rest = r.rest[1:]
		if end := strings.TrimSpace(line); strings.HasPrefix(end, m[1]) && strings.Trim(end, m[1][:1]) == "" {
			break
		}
		// Lines are indented relative to the fence.
		own := min(p.raw, len(line)-len(strings.TrimLeft(line, " ")))
		lines = append(lines, strings.TrimRight(line[own:], " "))
	}
	if p.marked && len(lines) > 0 {
		first := p.first
		p.first = p.next
		r.emit(prefix{first: first}, nil)
	}
	p.first = p.next
	r.codeLines(p, lines, m[2])
}

// quoted returns the text of a line after n quotes.
func quoted(line string, n int, content string) string {
	for range n {
		i := strings.IndexByte(line, '>')
		if i < 0 {
			return content
		}
		line = strings.TrimPrefix(line[i+1:], " ")
	}
	return line
}

// codeLines appends lines of code, highlighted if the language is known. Long lines are
// broken at the edge of the screen, not between words.
func (r *renderer) codeLines(p prefix, lines []string, language string) {
	source := strings.Join(lines, "\n")
	style := Code
	runs := []highlight.Run{{Text: source}}
	if known := language != "" && highlight.Known(language); known {
		style = 0
		n := min(len(source), r.code)
		n = strings.LastIndexByte(source[:n], '\n') + 1
		if len(source) <= r.code {
			n = len(source)
		}
		r.code -= n
		runs = highlight.Code(source[:n], language)
		if n < len(source) {
			runs = append(runs, highlight.Run{Text: source[n:]})
		}
	}
	if len(source) == 0 {
		return
	}
	if r.width-p.width > 8 {
		p.first, p.width = append(p.first[:len(p.first):len(p.first)], Run{Text: codeIndent}), p.width+len(codeIndent)
	}
	var line Line
	room := max(1, r.width-p.width)
	used := 0
	for _, run := range runs {
		first := true
		for text := range strings.SplitSeq(run.Text, "\n") {
			if !first {
				r.emit(p, line)
				line, used = nil, 0
			}
			first = false
			for text != "" {
				n, cells := fit(text, room-used, used == 0)
				if n == 0 {
					r.emit(p, line)
					line, used = nil, 0
					continue
				}
				line = append(line, Run{Text: text[:n], Style: style, Class: run.Class})
				used += cells
				text = text[n:]
			}
		}
	}
	r.emit(p, line)
}

// fit returns how many bytes of s fit into the cells, and their width. With force it is at
// least one cluster.
func fit(s string, room int, force bool) (n, cells int) {
	for n < len(s) {
		c, w := terminal.Cluster(s[n:])
		if cells+w > room && !(force && n == 0) {
			break
		}
		n += len(c)
		cells += w
	}
	return n, cells
}

// wrap breaks runs into lines of at most width cells, at spaces and around wide characters
// where possible.
func wrap(runs []Run, width int) []Line {
	if widthOf(runs) <= width {
		return []Line{runs}
	}
	w := wrapper{runs: runs, width: width}
	for i := range runs {
		w.run(i)
	}
	w.endWord()
	w.endLine()
	return w.lines
}

// piece is a part of a run.
type piece struct{ run, from, to int }

// add appends a piece, or extends the last one.
func add(list []piece, p piece) []piece {
	if k := len(list) - 1; k >= 0 && list[k].run == p.run && list[k].to == p.from {
		list[k].to = p.to
		return list
	}
	return append(list, p)
}

// wrapper fills lines with words. The space before a word is only written if the
// word follows on the same line.
type wrapper struct {
	runs  []Run
	width int
	lines []Line

	line, space, word []piece
	used, gap, cells  int // their widths
}

func (w *wrapper) run(i int) {
	s := w.runs[i].Text
	for at := 0; at < len(s); {
		from := at
		if s[at] == ' ' {
			w.endWord()
			for at < len(s) && s[at] == ' ' {
				at++
			}
			w.space, w.gap = add(w.space, piece{i, from, at}), w.gap+at-from
			continue
		}
		c, wide := terminal.Cluster(s[at:])
		if wide > 1 { // a word of its own
			w.endWord()
		}
		w.word, w.cells = add(w.word, piece{i, at, at + len(c)}), w.cells+wide
		at += len(c)
		if wide > 1 {
			w.endWord()
		}
	}
}

// endWord puts the word into the line, or into the next one.
func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	if w.used+w.gap+w.cells <= w.width {
		for _, p := range w.space {
			w.line = add(w.line, p)
		}
		for _, p := range w.word {
			w.line = add(w.line, p)
		}
		w.used += w.gap + w.cells
	} else {
		w.endLine()
		for _, p := range w.word {
			for p.from < p.to {
				n, cells := fit(w.runs[p.run].Text[p.from:p.to], w.width-w.used, w.used == 0)
				if n == 0 {
					w.endLine()
					continue
				}
				w.line, w.used = add(w.line, piece{p.run, p.from, p.from + n}), w.used+cells
				p.from += n
			}
		}
	}
	w.space, w.gap, w.word, w.cells = w.space[:0], 0, w.word[:0], 0
}

func (w *wrapper) endLine() {
	if len(w.line) == 0 {
		return
	}
	line := make(Line, len(w.line))
	for i, p := range w.line {
		line[i] = w.runs[p.run]
		line[i].Text = line[i].Text[p.from:p.to]
	}
	w.lines = append(w.lines, line)
	w.line, w.used = w.line[:0], 0
}

type alignment uint8

const (
	alignLeft alignment = iota
	alignRight
	alignCentre
)

// minColumn is the minimum width of a column.
const minColumn = 4

const columnGap = " │ "

// table renders a table: a line of headings, a line of dashes, rows. It returns false,
// before it reads any row, if there is no table here or it does not fit.
func (r *renderer) table(p prefix, text string) bool {
	if len(r.rest) < 2 {
		return false
	}
	_, dashes := r.prefix(r.rest[1])
	if !strings.Contains(dashes, "-") || !strings.Contains(dashes, "|") || !delimiters().MatchString(strings.TrimRight(dashes, " ")) {
		return false
	}
	columns := cells(dashes)
	room := r.width - p.width - (len(columns)-1)*terminal.Width(columnGap) // for the cells
	if len(cells(text)) != len(columns) || room < len(columns)*minColumn {
		return false
	}
	n := 2
	for n < len(r.rest) && n*len(columns) < maxCells && strings.Contains(r.rest[n], "|") {
		n++
	}
	rows := [][][]Run{row(text, len(columns), Bold)}
	for _, line := range r.rest[2:n] {
		_, t := r.prefix(line)
		rows = append(rows, row(t, len(columns), 0))
	}
	widths := fitted(rows, len(columns), room)
	r.rest = r.rest[n:]
	align := make([]alignment, len(columns))
	for i, c := range columns {
		switch c = strings.TrimSpace(c); {
		case strings.HasPrefix(c, ":") && strings.HasSuffix(c, ":"):
			align[i] = alignCentre
		case strings.HasSuffix(c, ":"):
			align[i] = alignRight
		}
	}
	for i, cells := range rows {
		r.row(&p, cells, widths, align)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			r.emit(p, Line{{Text: strings.Join(rule, "─┼─"), Style: Faint}})
		}
	}
	return true
}

// cells splits a line at its bars, except those in code and after a backslash.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var list []string
	start, ticks := 0, 0
	for at := 0; at < len(line); at++ {
		switch line[at] {
		case '\\':
			at++
		case '`':
			n := count(line[at:])
			switch {
			case ticks == n:
				ticks = 0
			case ticks == 0 && strings.Contains(line[at+n:], line[at:at+n]):
				ticks = n
			}
			at += n - 1
		case '|':
			if ticks == 0 {
				list = append(list, line[start:at])
				start = at + 1
			}
		}
	}
	if start < len(line) {
		list = append(list, line[start:])
	}
	return list
}

func row(line string, n int, style Style) [][]Run {
	list := make([][]Run, n)
	for i, c := range cells(line) {
		if i >= n { // more cells than columns
			list[n-1] = append(list[n-1], inline(" | "+strings.TrimSpace(c), style)...)
			continue
		}
		list[i] = inline(strings.TrimSpace(c), style)
	}
	return list
}

// fitted returns the widths of the columns: as wide as their cells, and if that is too wide
// together, the widest ones narrower.
func fitted(rows [][][]Run, columns, width int) []int {
	widths := make([]int, columns)
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], widthOf(c), 1)
		}
	}
	for {
		total, widest, second := 0, 0, 0
		for _, w := range widths {
			total += w
			if w > widest {
				widest, second = w, widest
			} else if w > second && w < widest {
				second = w
			}
		}
		if total <= width {
			return widths
		}
		n := 0
		for _, w := range widths {
			if w == widest {
				n++
			}
		}
		// Shrink the widest columns together, but not below the next widest one.
		less := min((total-width+n-1)/n, max(1, widest-second))
		for i, w := range widths {
			if w == widest {
				widths[i] = max(1, w-less)
			}
		}
	}
}

func widthOf(runs []Run) int {
	n := 0
	for _, r := range runs {
		n += terminal.Width(r.Text)
	}
	return n
}

func (r *renderer) row(p *prefix, cells [][]Run, widths []int, align []alignment) {
	wrapped := make([][]Line, len(cells))
	height := 1
	for i, c := range cells {
		wrapped[i] = wrap(c, widths[i])
		height = max(height, len(wrapped[i]))
	}
	for k := range height {
		line := make(Line, 0, 5*len(cells))
		for i := range cells {
			var cell Line
			if k < len(wrapped[i]) {
				cell = wrapped[i][k]
			}
			if i > 0 {
				line = append(line, Run{Text: columnGap, Style: Faint})
			}
			left := 0
			free := max(0, widths[i]-widthOf(cell))
			switch align[i] {
			case alignRight:
				left = free
			case alignCentre:
				left = free / 2
			}
			if left > 0 {
				line = append(line, Run{Text: strings.Repeat(" ", left)})
			}
			line = append(line, cell...)
			if free > left && i+1 < len(cells) {
				line = append(line, Run{Text: strings.Repeat(" ", free-left)})
			}
		}
		r.emit(*p, line)
		p.first = p.next
	}
}
