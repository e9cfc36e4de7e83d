package printer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/internal/ui/diff"
	"pigrep/query/entry"
)

var (
	addedLook   = ansi.NewStyle().ForegroundColor(ansi.Green)
	removedLook = ansi.NewStyle().ForegroundColor(ansi.Red)
)

const (
	roomForNumbers = 60 // the narrowest terminal that shows numbers and indentation of lines
	diffRows       = 3  // of a long line, unless --full is given
)

// callDiff prints what a call did to files.
func (p *transcript) callDiff(w *waitingCall, failed bool) {
	if len(w.files) > 0 {
		p.own(w.entry)
		p.diff(w.files, resultIndent, p.diffLimit(w.entry, w.files), failed, p.s.Marks[w.entry.Index])
	}
}

// diffLimit is how many lines of a diff are shown as a part of entry e.
func (p *transcript) diffLimit(e *entry.Entry, files []diff.File) int {
	if len(files) == 1 && files[0].Whole {
		return p.lineLimit(e, writeLines)
	}
	return p.lineLimit(e, diffLines)
}

// changeSummary names the files of a call and counts the lines of its diff, in a width.
func (p *transcript) changeSummary(files []diff.File, width int) string {
	name, all := p.inside(terminal.Clean(files[0].Path)), files[0]
	if len(files) > 1 {
		name, all = human.Plural(len(files), "file", "files"), diff.File{}
		for i := range files {
			all.Added += files[i].Added
			all.Removed += files[i].Removed
		}
	}
	counts := p.changeCounts(&all)
	if p.Width > 0 {
		name = terminal.ClipLeft(name, width-terminal.Width(counts)-1)
	}
	return strings.TrimPrefix(name+" "+counts, " ")
}

// changeCounts is how many lines of a file were added and removed: of these two what
// there is.
func (t *text) changeCounts(f *diff.File) string {
	if f.Deleted {
		return t.style(removedLook, "deleted")
	}
	var words []string
	if f.Added > 0 || f.Removed == 0 {
		words = append(words, t.style(addedLook, "+"+human.Number(f.Added)))
	}
	if f.Removed > 0 {
		words = append(words, t.style(removedLook, "−"+human.Number(f.Removed)))
	}
	return strings.Join(words, " ")
}

// diff prints at most limit lines of what happened to files, all with -1: the first ones,
// or those around the first mark. A change that failed is dim, since it was not made.
func (p *transcript) diff(files []diff.File, indent string, limit int, failed bool, marks []string) {
	rows := p.diffRows(files)
	if len(rows) == 0 {
		return
	}
	if failed {
		fmt.Fprintln(p.out, indent+p.dim("not applied:"))
	}
	above, below := 0, 0 // rows that are not shown
	if limit >= 0 && len(rows) > limit+1 {
		if m := slices.IndexFunc(rows, func(r diffRow) bool { return len(found(r.text, marks)) > 0 }); m >= limit {
			above = min(m-diff.Context, len(rows)-limit)
		}
		below = len(rows) - above - limit
		rows = rows[above : above+limit]
	}
	digits := 0
	if p.Width > 0 && p.Width < roomForNumbers {
		outdent(rows)
	} else {
		for i := range rows {
			digits = max(digits, len(rows[i].number))
		}
	}
	p.moreDiff(indent, above)
	for i := range rows {
		p.diffRow(&rows[i], indent, digits, limit >= 0, failed)
	}
	p.moreDiff(indent, below)
}

func (p *transcript) moreDiff(indent string, hidden int) {
	if hidden > 0 {
		fmt.Fprintln(p.out, indent+p.dim("… "+human.Plural(hidden, "more line", "more lines")+p.unfoldHint()))
	}
}

// diffRow is a line of a diff, or what is between such lines.
type diffRow struct {
	number string
	kind   diff.Kind // 0 for what is between
	text   string    // as the session has it; between lines as it is printed
}

// diffRows are the lines of a diff, with marks between hunks and the names of several
// files.
func (p *transcript) diffRows(files []diff.File) []diffRow {
	var rows []diffRow
	for i := range files {
		f := &files[i]
		if len(files) > 1 {
			rows = append(rows, diffRow{text: p.inside(terminal.Clean(f.Path)) + " " + p.changeCounts(f)})
		}
		for k, h := range f.Hunks {
			if k > 0 {
				rows = append(rows, diffRow{text: "⋯"})
			}
			for _, l := range h.Lines {
				n := l.New
				if l.Kind == diff.Removed {
					n = l.Old
				}
				row := diffRow{kind: l.Kind, text: l.Text}
				if n > 0 {
					row.number = strconv.Itoa(n)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// outdent removes the indentation that all lines have.
func outdent(rows []diffRow) {
	common := ""
	first := true
	for i := range rows {
		s := rows[i].text
		rest := strings.TrimLeft(s, " \t")
		if rows[i].kind == 0 || rest == "" {
			continue
		}
		if indent := s[:len(s)-len(rest)]; first {
			common, first = indent, false
		} else {
			for !strings.HasPrefix(indent, common) {
				common = common[:len(common)-1]
			}
		}
	}
	for i := range rows {
		if rows[i].kind != 0 {
			rows[i].text = strings.TrimPrefix(rows[i].text, common)
		}
	}
}

// diffRow prints a line of a diff: its number, its sign and its text.
func (p *transcript) diffRow(r *diffRow, indent string, digits int, folded, failed bool) {
	if digits > 0 {
		digits++ // and a space
	}
	if r.kind == 0 {
		fmt.Fprintln(p.out, indent+strings.Repeat(" ", digits)+p.cut(r.text, len(indent)+digits))
		return
	}
	look := ansi.Style{}
	switch {
	case failed:
		look = dimLook
	case r.kind == diff.Added:
		look = addedLook
	case r.kind == diff.Removed:
		look = removedLook
	}
	text := r.text
	if folded && len(text) > longestLine {
		text = text[:longestLine] + "…"
	}
	text = tidyLine(text)
	width := nothingToWrap
	if p.Width > 0 {
		width = max(minBodyColumns, p.Width-len(indent)-digits-1)
	}
	parts := breakLine(text, width, lookPlain)
	if folded && len(parts) > diffRows {
		parts = parts[:diffRows]
		last := &parts[diffRows-1].text
		*last = terminal.Clip(*last+"……", width)
	}
	number, sign := "", string(r.kind)
	if digits > 0 {
		number = r.number
	}
	for _, part := range parts {
		s := strings.TrimRight(sign+part.text, " ")
		if len(look) > 0 {
			s = p.style(look, s)
		}
		s = indent + p.dim(strings.Repeat(" ", max(0, digits-1-len(number)))+number) + strings.Repeat(" ", min(digits, 1)) + s
		fmt.Fprintln(p.out, strings.TrimRight(s, " "))
		number, sign = "", " "
	}
}

// tidyLine is tidy for one line.
func tidyLine(s string) string { return tidy([]byte(strings.ReplaceAll(s, "\r", " "))) }
