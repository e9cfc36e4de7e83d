// Package markdown reads Markdown, and lays it out for a terminal: lines of styled runs. It
// deals with neither colours nor escape sequences.
//
// It reads line by line, as the text was typed: a newline stays a newline, indentation
// stays, and what is not Markdown is shown as it is, HTML included. It omits nothing but
// the marks and the names of languages, and its running time is linear in the length of
// the text, even of hostile text. Parsers for web pages differ in all of this: they join
// lines, drop the indentation of pasted code, and hide link definitions.
package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"pigrep/internal/lists"
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
)

// Run is a piece of a line in one style.
type Run struct {
	Text  string
	Style Style
	Class highlight.Class // of code
	URL   string          // what a link leads to
	Title string          // of a link
	Image bool            // that is an image
}

// Line is one line of the terminal.
type Line []Run

// String returns the text of the line.
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

	maxColumns = 200 // of a table
)

// Drawer draws what Read reads, piece by piece.
type Drawer interface {
	Blank()
	Text(m Margin, level int, runs []Run) // a line; level is the level of a heading, 0 for other text
	Rule(m Margin)
	Code(m Margin, lines []string, language string)
	Fits(m Margin, columns int) bool // whether there is room for a table; else it is text
	Table(m Margin, t *Table)
}

// Margin is what a line has before its content: indentation, quote and list markers.
type Margin struct {
	Indent int // spaces at the beginning
	Column int // of the content, in the line without quotes
	Quotes int
	Marks  []Mark

	first, next Line // as a terminal shows it before the line, and before its continuations
	width       int
	lead        Line // shown as text where the screen is too narrow for a margin
	raw         int  // bytes in the source
}

// Mark is the marker of an item of a list.
type Mark struct {
	Column  int // in the line, without quotes
	Ordered bool
	Start   int    // its number
	Task    string // "[ ] " or "[x] ", "" for none
}

// Table is a table; its first row has the headings.
type Table struct {
	Rows  [][][]Run
	Align []Align
}

// Align is how a column is aligned.
type Align uint8

// The alignments.
const (
	AlignLeft Align = iota
	AlignRight
	AlignCentre
)

// Read reads Markdown and draws it. The source has no control characters but newlines.
func Read(source string, to Drawer) {
	r := &reader{Drawer: to, rest: strings.Split(strings.TrimRight(source, "\n "), "\n")}
	for len(r.rest) > 0 {
		r.block()
	}
}

type reader struct {
	Drawer
	rest  []string // the lines to read
	begun bool     // something was drawn
	list  bool     // indented text belongs to a list
	blank bool     // the line before was blank
}

// Render lays Markdown out in lines of at most width cells. The source has no control
// characters but newlines.
func Render(source string, width int) []Line {
	s := &screen{width: max(1, width), code: maxCode}
	Read(source, s)
	for n := len(s.lines); n > 0 && len(s.lines[n-1]) == 0; n-- {
		s.lines = s.lines[:n-1]
	}
	return s.lines
}

// screen draws on a terminal.
type screen struct {
	width int
	lines []Line
	code  int // bytes of code that may still be highlighted
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
	inAngles    = lazily(`^<((?:https?://|mailto:)[^<> ]*)>`)
)

// block reads one line, or a whole block of code or table.
func (r *reader) block() {
	line := strings.TrimRight(r.rest[0], " ")
	if line == "" {
		r.rest = r.rest[1:]
		if r.begun && !r.blank {
			r.Blank()
		}
		r.blank = true
		return
	}
	m, text := margin(line)
	marked := len(m.Marks) > 0
	switch {
	case m.Indent >= 4 && !r.list && (r.blank || !r.begun) && m.Quotes == 0 && !marked:
		r.indented()
	case isFence(text):
		r.fenced(m, text)
	case strings.Contains(text, "|") && r.table(m, text):
	default:
		r.rest = r.rest[1:]
		r.line(m, text)
	}
	if !marked && m.Indent == 0 && r.blank {
		r.list = false
	}
	r.list = r.list || marked
	r.blank, r.begun = false, true
}

func margin(line string) (m Margin, text string) {
	add := func(first, next string, style Style) {
		m.first, m.next = append(m.first, Run{Text: first, Style: style}), append(m.next, Run{Text: next, Style: style})
		m.width += terminal.Width(first)
	}
	text = line
	for n := range maxNested {
		spaces := len(text) - len(strings.TrimLeft(text, " "))
		if spaces > 0 {
			add(text[:spaces], text[:spaces], 0)
			if n == 0 {
				m.Indent = spaces
			}
			text = text[spaces:]
			m.Column += spaces
		}
		if isRule(text) {
			break
		}
		if strings.HasPrefix(text, ">") {
			text = strings.TrimPrefix(text[1:], " ")
			add("│ ", "│ ", Faint)
			m.Quotes++
			m.Column = 0
			continue
		}
		found := ""
		if text != "" && strings.IndexByte("-*+0123456789", text[0]) >= 0 {
			found = listMarker().FindString(text)
		}
		if found == "" || len(m.Marks) > 0 && m.Quotes == 0 && n > 2 {
			break
		}
		sign, pad := strings.TrimRight(found, " "), " "
		mark := Mark{Column: m.Column, Ordered: !strings.ContainsAny(sign[:1], "-*+")}
		if mark.Ordered {
			mark.Start, _ = strconv.Atoi(sign[:len(sign)-1])
		} else {
			sign = "•"
		}
		text = text[len(found):]
		m.Column += len(found)
		add(sign+pad, strings.Repeat(" ", terminal.Width(sign+pad)), 0)
		if t := taskMarker().FindString(text); t != "" && text[0] == '[' {
			text, mark.Task = text[len(t):], t
			add(t, "    ", Faint)
		}
		m.Marks = append(m.Marks, mark)
		if mark.Task != "" {
			break
		}
	}
	m.raw = len(line) - len(text)
	return m, text
}

// fitted returns the margin as the screen has room for it: one that is too deep is shown as text.
func (s *screen) fitted(m Margin) Margin {
	if m.width > s.width/2 || m.width > 0 && s.width-m.width < widest {
		m.lead = Line{{Text: strings.TrimLeft(m.first.String(), " ")}}
		m.first, m.next, m.width = nil, nil, 0
	}
	return m
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

func (r *reader) line(m Margin, text string) {
	if isRule(text) {
		r.Rule(m)
		return
	}
	if strings.HasPrefix(text, "#") {
		if h := headingLine().FindStringSubmatch(text); h != nil && h[2] != "" {
			r.Text(m, len(h[1]), inline(h[2], Heading))
			return
		}
	}
	if m.Indent >= 4 && !r.list && len(m.Marks) == 0 && m.Quotes == 0 { // more pasted code than Markdown
		r.Text(m, 0, []Run{{Text: text}})
		return
	}
	r.Text(m, 0, inline(text, 0))
}

func (s *screen) Blank() {
	if len(s.lines) > 0 {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) Text(m Margin, _ int, runs []Run) {
	m = s.fitted(m)
	for _, l := range wrap(append(m.lead, runs...), max(1, s.width-m.width)) {
		s.emit(m, l)
		m.first = m.next
	}
}

func (s *screen) Rule(m Margin) {
	m = s.fitted(m)
	s.emit(m, Line{{Text: strings.Repeat("─", max(1, s.width-m.width)), Style: Faint}})
}

func (s *screen) emit(m Margin, l Line) {
	line := append(append(make(Line, 0, len(m.first)+len(l)), m.first...), l...)
	for n := len(line) - 1; n >= 0; n-- {
		if line[n].Text = strings.TrimRight(line[n].Text, " "); line[n].Text != "" {
			break
		}
		line = line[:n]
	}
	s.lines = append(s.lines, line)
}

// codeIndent is before the lines of code.
const codeIndent = "  "

// indented reads a block of indented code.
func (r *reader) indented() {
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
	r.Code(Margin{}, lines, "")
}

func isFence(text string) bool {
	return strings.HasPrefix(text, "~~~") || strings.HasPrefix(text, "```") && !strings.Contains(strings.TrimLeft(text, "`"), "`")
}

// fenced reads a block of fenced code. Without a closing fence it extends to the end
// of the text, or of the quotation.
func (r *reader) fenced(m Margin, text string) {
	fence := fenceLine().FindStringSubmatch(text)
	r.rest = r.rest[1:]
	var lines []string
	for len(r.rest) > 0 {
		line := r.rest[0]
		if m.Quotes > 0 {
			q, content := margin(line)
			if q.Quotes < m.Quotes {
				break
			}
			line = strings.Repeat(" ", m.raw) + quoted(line, m.Quotes, content)
		}
		r.rest = r.rest[1:]
		if end := strings.TrimSpace(line); strings.HasPrefix(end, fence[1]) && strings.Trim(end, fence[1][:1]) == "" {
			break
		}
		// Lines are indented relative to the fence.
		own := min(m.raw, len(line)-len(strings.TrimLeft(line, " ")))
		lines = append(lines, strings.TrimRight(line[own:], " "))
	}
	r.Code(m, lines, fence[2])
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

// Code draws lines of code, highlighted if the language is known. Long lines are
// broken at the edge of the screen, not between words.
func (s *screen) Code(m Margin, lines []string, language string) {
	m = s.fitted(m)
	if len(m.Marks) > 0 && len(lines) > 0 {
		s.emit(Margin{first: m.first}, nil)
	}
	m.first = m.next
	source := strings.Join(lines, "\n")
	if source == "" {
		return
	}
	style, runs := Code, []highlight.Run{{Text: source}}
	if highlight.Known(language) {
		style = 0
		n := len(source)
		if n > s.code {
			n = strings.LastIndexByte(source[:s.code], '\n') + 1
		}
		s.code -= n
		runs = append(highlight.Code(source[:n], language), highlight.Run{Text: source[n:]})
	}
	if s.width-m.width > 8 {
		m.first, m.width = append(m.first[:len(m.first):len(m.first)], Run{Text: codeIndent}), m.width+len(codeIndent)
	}
	var line Line
	room, used := max(1, s.width-m.width), 0
	endLine := func() {
		s.emit(m, line)
		line, used = nil, 0
	}
	for _, run := range runs {
		for i, text := range strings.Split(run.Text, "\n") {
			if i > 0 {
				endLine()
			}
			for text != "" {
				n, cells := fit(text, room-used, used == 0)
				if n == 0 {
					endLine()
					continue
				}
				line, used = append(line, Run{Text: text[:n], Style: style, Class: run.Class}), used+cells
				text = text[n:]
			}
		}
	}
	endLine()
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
// where possible. The space before a word is left out if the word begins a line.
func wrap(runs []Run, width int) (lines []Line) {
	if widthOf(runs) <= width {
		return []Line{runs}
	}
	text, offset := Line(runs).String(), 0 // where the first run begins; those before are in lines
	from, to, used := 0, 0, 0              // the line, and its width
	endLine := func(next int) {
		var line Line
		for len(runs) > 0 && offset < to {
			r := runs[0]
			r.Text = r.Text[min(max(0, from-offset), len(r.Text)):min(to-offset, len(r.Text))]
			if r.Text != "" {
				line = append(line, r)
			}
			if offset+len(runs[0].Text) > to {
				break
			}
			offset, runs = offset+len(runs[0].Text), runs[1:]
		}
		if line != nil {
			lines = append(lines, line)
		}
		from, to, used = next, next, 0
	}
	for at := 0; at < len(text); {
		gap, cells := len(text)-at-len(strings.TrimLeft(text[at:], " ")), 0
		word := at + gap
		for at = word; at < len(text) && text[at] != ' '; {
			c, wide := terminal.Cluster(text[at:])
			if wide > 1 && at > word {
				break
			}
			at, cells = at+len(c), cells+wide
			if wide > 1 { // a word of its own
				break
			}
		}
		if at == word { // the text ends with spaces
			break
		}
		if used+gap+cells <= width {
			to, used = at, used+gap+cells
			continue
		}
		endLine(word)
		for to < at {
			n, cells := fit(text[to:at], width-used, used == 0)
			if n == 0 {
				endLine(to)
			}
			to, used = to+n, used+cells
		}
	}
	endLine(len(text))
	return lines
}

// minColumn is the minimum width of a column.
const minColumn = 4

const columnGap = " │ "

// table reads a table: a line of headings, a line of dashes, rows. It returns false if there is
// no table here, or if it is not drawn as one.
func (r *reader) table(m Margin, text string) bool {
	if len(r.rest) < 2 {
		return false
	}
	_, dashes := margin(r.rest[1])
	if !strings.Contains(dashes, "-") || !strings.Contains(dashes, "|") || !delimiters().MatchString(strings.TrimRight(dashes, " ")) {
		return false
	}
	columns := cells(dashes)
	if len(columns) > maxColumns || len(cells(text)) != len(columns) || !r.Fits(m, len(columns)) {
		return false
	}
	n := 2
	for n < len(r.rest) && n*len(columns) < maxCells && strings.Contains(r.rest[n], "|") {
		n++
	}
	t := &Table{Rows: [][][]Run{row(text, len(columns))}, Align: make([]Align, len(columns))}
	for _, line := range r.rest[2:n] {
		_, text := margin(line)
		t.Rows = append(t.Rows, row(text, len(columns)))
	}
	for i, c := range columns {
		switch c = strings.TrimSpace(c); {
		case strings.HasPrefix(c, ":") && strings.HasSuffix(c, ":"):
			t.Align[i] = AlignCentre
		case strings.HasSuffix(c, ":"):
			t.Align[i] = AlignRight
		}
	}
	r.Table(m, t)
	r.rest = r.rest[n:]
	return true
}

// room returns how many cells a table has for its columns.
func (s *screen) room(m Margin, columns int) int {
	return s.width - s.fitted(m).width - (columns-1)*terminal.Width(columnGap)
}

func (s *screen) Fits(m Margin, columns int) bool { return s.room(m, columns) >= columns*minColumn }

func (s *screen) Table(m Margin, t *Table) {
	for _, cell := range t.Rows[0] {
		for i := range cell {
			cell[i].Style |= Bold
		}
	}
	widths := fitted(t.Rows, len(t.Align), s.room(m, len(t.Align)))
	m = s.fitted(m)
	for i, cells := range t.Rows {
		s.row(&m, cells, widths, t.Align)
		if i == 0 {
			rule := lists.Map(widths, func(w int) string { return strings.Repeat("─", w) })
			s.emit(m, Line{{Text: strings.Join(rule, "─┼─"), Style: Faint}})
		}
	}
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

func row(line string, n int) [][]Run {
	list := make([][]Run, n)
	for i, c := range cells(line) {
		if i >= n { // more cells than columns
			list[n-1] = append(list[n-1], inline(" | "+strings.TrimSpace(c), 0)...)
			continue
		}
		list[i] = inline(strings.TrimSpace(c), 0)
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
	for most := width; ; most-- {
		total := 0
		for _, w := range widths {
			total += min(w, most)
		}
		if total <= width || most <= 1 {
			return lists.Map(widths, func(w int) int { return min(w, max(1, most)) })
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

func (s *screen) row(m *Margin, cells [][]Run, widths []int, align []Align) {
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
			case AlignRight:
				left = free
			case AlignCentre:
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
		s.emit(*m, line)
		m.first = m.next
	}
}
