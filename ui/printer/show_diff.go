package printer

import (
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/diff"
	"pigrep/ui/transcript"
)

var (
	addedStyle   = ansi.NewStyle().ForegroundColor(ansi.Green)
	removedStyle = ansi.NewStyle().ForegroundColor(ansi.Red)
)

const (
	roomForNumbers = 60 // the narrowest terminal that shows numbers and indentation of lines
	diffRows       = 3  // of a long line, unless --full is given
)

// callDiff prints what a call did to files.
func (p *showText) callDiff(w *waitingCall, failed bool) {
	if len(w.files) > 0 {
		p.own(w.entry)
		p.diff(w.files, resultIndent, p.diffLimit(w.entry, w.files), failed, p.s.Marks[w.entry.Index])
	}
}

// diffLimit is how many lines of a diff are shown as a part of entry e.
func (p *showText) diffLimit(e *entry.Entry, files []diff.File) int {
	if len(files) == 1 && files[0].Whole {
		return p.lineLimit(e, writeLines)
	}
	return p.lineLimit(e, diffLines)
}

// changeSummary names the files of a call and counts the lines of its diff, in a width.
func (p *showText) changeSummary(files []diff.File, width int) string {
	name, all := transcript.Inside(terminal.Clean(files[0].Path), p.s.Session.CWD), files[0]
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
	if path := files[0].Path; len(files) == 1 {
		if !filepath.IsAbs(path) && p.s.Session.CWD != "" {
			path = filepath.Join(p.s.Session.CWD, path)
		}
		name = p.Links.File(name, path)
	}
	return strings.TrimPrefix(name+" "+counts, " ")
}

// changeCounts says how many lines of a file were added and removed, omitting zeros.
func (t *text) changeCounts(f *diff.File) string {
	if f.Deleted {
		return t.style(removedStyle, "deleted")
	}
	var words []string
	if f.Added > 0 || f.Removed == 0 {
		words = append(words, t.style(addedStyle, "+"+human.Number(f.Added)))
	}
	if f.Removed > 0 {
		words = append(words, t.style(removedStyle, "−"+human.Number(f.Removed)))
	}
	return strings.Join(words, " ")
}

// diff prints at most limit lines of the changes of files, or all with -1: the first lines,
// or those around the first mark. A failed change is dim, because it was not made.
func (p *showText) diff(files []diff.File, indent string, limit int, failed bool, marks []string) {
	total, marked := 0, -1
	for r := range p.diffRows(files) {
		if marked < 0 && contains(r.text, marks) {
			marked = total
		}
		total++
	}
	if total == 0 {
		return
	}
	above, shown := 0, total
	if limit >= 0 && total > limit+1 {
		shown = limit
		if marked >= limit {
			above = min(marked-diff.Context, total-limit)
		}
	}
	if failed {
		fmt.Fprintln(p.out, indent+p.dim("not applied:"))
	}
	rows := func(yield func(diffRow) bool) {
		i := 0
		for r := range p.diffRows(files) {
			if i >= above+shown || i >= above && !yield(r) {
				return
			}
			i++
		}
	}
	layout := diffLayout{indent: indent, folded: limit >= 0, failed: failed}
	if p.Width > 0 && p.Width < roomForNumbers {
		layout.common = commonIndent(rows)
	} else {
		highest := 0
		for r := range rows {
			highest = max(highest, r.number)
		}
		if highest > 0 {
			layout.digits = len(strconv.Itoa(highest))
		}
	}
	p.moreDiff(indent, above)
	for r := range rows {
		p.diffRow(r, layout)
	}
	p.moreDiff(indent, total-above-shown)
}

func (p *showText) moreDiff(indent string, hidden int) {
	if hidden > 0 {
		fmt.Fprintln(p.out, indent+p.dim("… "+human.Plural(hidden, "more line", "more lines")+p.unfoldHint()))
	}
}

// diffRow is a line of a diff, or a separator.
type diffRow struct {
	kind   diff.Kind // 0 for a separator
	number int       // 0 if it is not known
	text   string    // as in the session; of a separator as printed
	pair   string    // the text that replaces it, or that it replaces; "" if there is none
}

// diffRows are the lines of a diff, with marks between hunks and the names of several
// files.
func (p *showText) diffRows(files []diff.File) iter.Seq[diffRow] {
	return func(yield func(diffRow) bool) {
		for i := range files {
			f := &files[i]
			if len(files) > 1 && !yield(diffRow{text: transcript.Inside(terminal.Clean(f.Path), p.s.Session.CWD) + " " + p.changeCounts(f)}) {
				return
			}
			for k, h := range f.Hunks {
				if k > 0 && !yield(diffRow{text: p.dim("⋯")}) {
					return
				}
				pairs := 0 // distance to the pair of a line, if its run has pairs
				for n, l := range h.Lines {
					if n == 0 || l.Kind != h.Lines[n-1].Kind {
						pairs = pairing(h.Lines, n)
					}
					row := diffRow{kind: l.Kind, number: l.New, text: l.Text}
					if l.Kind == diff.Removed {
						row.number = l.Old
					}
					if pairs != 0 {
						row.pair = h.Lines[n+pairs].Text
					}
					if !yield(row) {
						return
					}
				}
			}
		}
	}
}

// pairing returns the distance between each line of the run at n and the line that
// replaces it, or that it replaces. It returns 0 unless as many lines are removed as are
// added.
func pairing(lines []diff.Line, n int) int {
	run := func(from, step int) (length int) {
		for i := from; i >= 0 && i < len(lines) && lines[i].Kind == lines[from].Kind; i += step {
			length++
		}
		return length
	}
	length := run(n, 1)
	switch kind := lines[n].Kind; {
	case kind == diff.Removed && n+length < len(lines) && lines[n+length].Kind == diff.Added && run(n+length, 1) == length:
		return length
	case kind == diff.Added && n > 0 && lines[n-1].Kind == diff.Removed && run(n-1, -1) == length:
		return -length
	}
	return 0
}

// commonIndent returns the indentation that all lines have.
func commonIndent(rows iter.Seq[diffRow]) string {
	common, first := "", true
	for r := range rows {
		rest := strings.TrimLeft(r.text, " \t")
		if r.kind == 0 || rest == "" {
			continue
		}
		indent := r.text[:len(r.text)-len(rest)]
		if first {
			common, first = indent, false
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
	}
	return common
}

// diffLayout is how the rows of a diff are printed.
type diffLayout struct {
	indent string
	common string // indentation that is left out
	digits int    // of the numbers of lines; 0 for none
	folded bool
	failed bool
}

// diffRow prints a line of a diff: its number, its sign and its text.
func (p *showText) diffRow(r diffRow, l diffLayout) {
	gutter := min(l.digits, 1) + l.digits // with a space
	if r.kind == 0 {
		fmt.Fprintln(p.out, l.indent+strings.Repeat(" ", gutter)+p.cut(r.text, len(l.indent)+gutter))
		return
	}
	style := ansi.Style{}
	switch {
	case l.failed:
		style = dimStyle
	case r.kind == diff.Added:
		style = addedStyle
	case r.kind == diff.Removed:
		style = removedStyle
	}
	text := strings.TrimPrefix(r.text, l.common)
	from, to := 0, 0 // what is bold
	if p.Colour && r.pair != "" && len(r.text)+len(r.pair) < transcript.LongestLine {
		text = tidyLine(text)
		from, to = changed(text, tidyLine(strings.TrimPrefix(r.pair, l.common)))
	} else {
		if l.folded && len(text) > transcript.LongestLine {
			text = text[:transcript.LongestLine] + "…"
		}
		text = tidyLine(text)
	}
	width := nothingToWrap
	if p.Width > 0 {
		width = max(minBodyColumns, p.Width-len(l.indent)-gutter-1)
	}
	parts := breakText(text, width)
	if l.folded && len(parts) > diffRows {
		parts = parts[:diffRows]
		last := &parts[diffRows-1]
		*last = terminal.Clip(*last+"……", width)
	}
	number, sign := "", string(r.kind)
	if gutter > 0 && r.number > 0 {
		number = strconv.Itoa(r.number)
	}
	at := 0
	for _, part := range parts {
		s := strings.TrimRight(part, " ")
		a, b := min(max(from-at, 0), len(s)), min(max(to-at, 0), len(s))
		at += len(part)
		switch s = sign + s; {
		case len(style) == 0:
		case a == b:
			s = p.style(style, s)
		default:
			s = p.style(style, s[:1+a]) + p.style(style.Bold(), s[1+a:1+b]) + p.style(style, s[1+b:])
		}
		margin := strings.Repeat(" ", max(0, l.digits-len(number)))
		fmt.Fprintln(p.out, strings.TrimRight(l.indent+p.dim(margin+number)+strings.Repeat(" ", min(gutter, 1))+s, " "))
		number, sign = "", " "
	}
}

// changed returns the words of a line that differ from its pair, as one range. It is
// empty if the two have no other words in common.
func changed(line, pair string) (from, to int) {
	for from < min(len(line), len(pair)) && line[from] == pair[from] {
		from++
	}
	to = len(line)
	for end := len(pair); to > from && end > from && line[to-1] == pair[end-1]; end-- {
		to--
	}
	isPart := func(i int) bool {
		c := line[i]
		return c >= utf8.RuneSelf || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for from > 0 && from < len(line) && isPart(from-1) && isPart(from) {
		from--
	}
	for to > from && to < len(line) && isPart(to-1) && isPart(to) {
		to++
	}
	if strings.TrimSpace(line[:from]+line[to:]) == "" {
		return 0, 0
	}
	return from, to
}

// tidyLine is tidy for one line.
func tidyLine(s string) string { return tidy([]byte(strings.ReplaceAll(s, "\r", " "))) }
