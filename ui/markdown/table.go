package markdown

import (
	"strings"

	"pigrep/internal/terminal"
)

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

// row returns the runs of n cells.
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

// row appends the lines of a row.
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
