package markdown

import "pigrep/internal/terminal"

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
