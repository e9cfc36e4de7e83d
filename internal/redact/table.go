package redact

import (
	"slices"
	"strings"
)

// This file masks the values of columns whose header is the name of a secret. Columns are
// separated by commas, semicolons, tabs, drawn lines or blanks.

// maxColumns is how many columns of a table are looked at.
const maxColumns = 32

// header is the line with the names of columns that was looked at last.
type header struct {
	start, end int // up to the end of its rows
	sep        byte
	cells      [][2]int // none if these are not names
}

// headerCell has the characters that the name of a column may consist of.
var headerCell = setOf(alnum + " _-.\"'")

// endsCell reports whether a name that ends here may be the header of a column.
func (c *claim) endsCell(end int) bool {
	i := marks.skip(c.s, end)
	next := blanks.skip(c.s, i)
	return oneOf(char(c.s, next), ",;|\n") || char(c.s, i) == '\t' || next > i+1
}

// column masks the values of a column if the name of the claim is its header.
func (c *claim) column() {
	from, to := c.line(c.start)
	if c.class == noSecret || to == len(c.s) || from < c.header.end && from != c.header.start { // in a row
		return
	}
	h := &c.header
	if from != h.start {
		*h = headerOf(c.s[from:to])
		h.start, h.end = from, to
	}
	n := slices.IndexFunc(h.cells, func(cell [2]int) bool { return c.start < from+cell[1] })
	if n < 0 {
		return
	}
	rows, place := c.window(to+1, maxValue), c.place
	c.place = valuePlace{at: -1, link: linkCell}
	for at := to + 1; at < len(rows); {
		end := breaks.until(rows, at)
		row := rows[at:end]
		if strings.ContainsFunc(row, func(r rune) bool { return r < 0x80 && isAlnum(byte(r)) }) { // no line between rows
			cells := split(row, h.sep)
			if len(cells) != len(h.cells) {
				break
			}
			start, stop := at+cells[n][0], at+cells[n][1]
			start = skipAny(rows[:stop], start, " \"'")
			if stop = backOver(rows, stop, " \"'\r"); stop > start {
				c.set(value{start: start, end: stop, quoted: true})
				c.add(start, stop, c.rule())
			}
		}
		at = end + 1
		h.end = max(h.end, at)
	}
	c.place, c.value, c.text = place, value{}, ""
}

// headerOf returns the header that a line is. The name of a call may stand before it.
func headerOf(line string) (h header) {
	for _, sep := range "|\t,; " {
		h.sep = byte(sep)
		if h.cells = split(line, h.sep); len(h.cells) > 1 {
			break
		}
	}
	if len(h.cells) < 2 || slices.ContainsFunc(h.cells, func(at [2]int) bool {
		cell := line[at[0]:at[1]]
		if at == h.cells[0] {
			cell = cell[strings.LastIndex(cell, ": ")+1:]
		}
		cell = strings.TrimSpace(cell)
		return headerCell.skip(cell, 0) < len(cell) || isNumber(cell) || len(cell) > 40 || cell == "" && h.sep != '|'
	}) {
		h.cells = nil
	}
	return h
}

// split returns the cells of a line; none if there are too many. If the separator is a
// blank, two blanks separate cells.
func split(line string, sep byte) (cells [][2]int) {
	start := 0
	for i := 0; ; i++ {
		if i == blanks.skip(line, start) && quotes[char(line, i)] { // what is quoted is one cell
			if n := strings.IndexByte(line[i+1:], line[i]); n >= 0 {
				i += n + 2
			}
		}
		switch {
		case i >= len(line):
			return append(cells, [2]int{start, len(line)})
		case line[i] != sep || sep == ' ' && !oneOf(char(line, i+1), " \x00"):
			continue
		case len(cells) == maxColumns:
			return nil
		}
		cells = append(cells, [2]int{start, i})
		if start = i + 1; sep == ' ' {
			start = blanks.skip(line, i)
		}
		if i = start - 1; sep == ' ' && start == len(line) {
			return cells
		}
	}
}

var (
	insertedUser = pattern(`(?i)\Ainsert<s>+(?:or<s>+\w+<s>+|ignore<s>+)?into<s>+[^ \t\n\v(]*(?:user|account|credential|login|member|passw|admin|auth)[^ \t\n\v(]*<s>*values<s>*`)
	mailAddress  = pattern(`\A[^@ ]+@[\w-]+\.[\w.-]+\z`)

	inserted = pattern(`(?i)\Ainsert<s>+(?:or<s>+\w+<s>+)?into<s>+[^ \t\n\v(]+<s>*\(([^()]*)\)<s>*values<s>*`)
	tuple    = pattern(`\(((?:[^()'"]|\(\)|'[^'\n]*'|"[^"\n]*")*)\)`)
)

// insertUser masks what looks like a password after another string in the rows of a table of
// users or passwords, where no columns are named: INSERT INTO users VALUES (1, 'ann', 'x').
func (f *finder) insertUser(s string, at int) {
	m := insertedUser().FindStringIndex(s[at:])
	if m == nil {
		return
	}
	rows, _, _ := strings.Cut(s[at+m[1]:], ";")
	for _, row := range tuple().FindAllStringSubmatchIndex(rows, -1) {
		from, to := at+m[1]+row[2], at+m[1]+row[3]
		texts := 0
		for _, cell := range split(s[from:to], ',') {
			start := skipAny(s, from+cell[0], " \t\n\v\\\"'")
			stop := backOver(s, from+cell[1], " \t\n\v\\\"'")
			if stop <= start || !quotes[char(s, start-1)] {
				continue
			}
			if texts++; texts > 1 && looksChosen(s[start:stop]) {
				f.part(start, stop, "password")
			}
		}
	}
	f.looked(at + m[1])
}

// looksChosen reports whether a value looks as a person writes a password, or is a hash.
func looksChosen(v string) bool {
	if len(v) < 6 || len(v) > 128 || mailAddress().MatchString(v) || isPath(v) || isWordy(v) {
		return false
	}
	return isSpiked(v) || len(v) >= 32 && isHex(v) || !isHash(v) && hasStrongSign(v) && !strings.ContainsAny(v, " -:/")
}

// insert masks the values of columns with such names: INSERT INTO t (name, password) VALUES ('a', 'b').
func (f *finder) insert(at int) {
	s := f.window(at, maxValue)
	m := inserted().FindStringSubmatchIndex(s[at:])
	if m == nil {
		f.insertUser(s, at)
		return
	}
	rows := s[at+m[1]:]
	if n := strings.Index(strings.ToLower(rows), "insert "); n >= 0 { // the next one
		rows = rows[:n]
	}
	for n, column := range split(s[at+m[2]:at+m[3]], ',') {
		name := strings.Trim(s[at+m[2]+column[0]:at+m[2]+column[1]], " \t\n\v\"'`[]\\")
		c := claim{finder: f, name: name, start: at + m[2] + column[0], class: classify(name), place: valuePlace{at: -1, link: linkMember}}
		if c.class == noSecret {
			continue
		}
		for _, row := range tuple().FindAllStringSubmatchIndex(rows, -1) {
			from, to := at+m[1]+row[2], at+m[1]+row[3]
			if cells := split(s[from:to], ','); n < len(cells) {
				start := skipAny(s, from+cells[n][0], " \t\n\v\\\"'")
				if stop := backOver(s, from+cells[n][1], " \t\n\v\\\"'"); stop > start {
					c.set(value{start: start, end: stop, quoted: quotes[char(s, start-1)]})
					c.add(start, stop, c.rule())
				}
			}
		}
	}
	f.looked(at + m[1])
}
