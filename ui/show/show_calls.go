package show

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/diff"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/ui/printer"
	"pigrep/ui/prose"
	"pigrep/ui/transcript"
)

// release prints the calls without a result.
func (p *showText) release() {
	for len(p.waiting) > 0 {
		w := p.waiting[0]
		if w.result != nil {
			p.waiting[0].result = nil
			p.result(w.result)
			continue
		}
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.call(w)
		p.callDiff(&w, false)
		if p.s.Whole && w.call.ID != "" { // otherwise the result may just not be shown
			p.line(resultIndent + p.Dim("(no result)"))
		}
	}
}

// call prints a call, with the id of its entry at the right.
func (p *showText) call(w waitingCall) {
	if p.last != "call" || p.s.Full {
		p.line()
	}
	p.last = "call"
	p.owner = w.entry.Index
	switch shown := !p.isWhole(w.entry) && !slices.ContainsFunc(w.inner, func(c *session.Call) bool { return len(c.Arguments) == 0 }); {
	case shown && len(w.inner) == 1: // what its script says
		p.callLine(w.inner[0], diff.Of(w.inner[0]), bodyIndent, w.entry, p.lineLimit(w.entry, commandLines))
		p.diff(w.entry, diff.Of(w.inner[0]), resultIndent, false)
	case shown && len(w.inner) > 1:
		short := &session.Call{Tool: w.call.Tool, Raw: []byte(human.Plural(len(w.inner), "call", "calls"))}
		p.callLine(short, nil, bodyIndent, w.entry, 1)
		p.inner(w.entry, w.inner)
	default:
		p.callLine(w.call, w.files, bodyIndent, w.entry, p.lineLimit(w.entry, commandLines))
		p.inner(w.entry, w.inner)
	}
	for _, s := range w.call.Subagents {
		command := "pigrep show " + shellcmd.Here.Operand(s.Name)
		title := terminal.Clean(s.Title)
		if p.Width > 0 {
			title = terminal.Clip(title, max(minBodyColumns, p.Width-terminal.Width(resultIndent+"subagent  · "+command)))
		}
		p.line(resultIndent + p.Dim("subagent "+title+" · "+command))
	}
}

// inner prints the calls that a call of an entry made.
func (p *showText) inner(e *entry.Entry, list []*session.Call) {
	for _, c := range list {
		files := diff.Of(c)
		p.callLine(c, files, resultIndent, nil, p.lineLimit(e, 1))
		p.diff(e, files, resultIndent+bodyIndent, c.Failed)
		if c.Failed {
			p.line(resultIndent + bodyIndent + p.Style(printer.ErrorStyle, "failed"))
		}
	}
}

// callLine prints a call at an indent; e may be nil.
func (p *showText) callLine(c *session.Call, files []diff.File, indent string, e *entry.Entry, limit int) {
	right, mark := "", indent
	if e != nil {
		right = human.When(p.state(e) != "", p.state(e)+" · ") + terminal.Clean(e.Short)
		mark = cmp.Or(p.mark(e), indent)
	}
	name := terminal.Clean(c.Tool)
	full := e != nil && p.isWhole(e) || e == nil && p.s.Full
	if len(files) > 0 {
		p.callHead(mark, name+" ", right, func(room int) string { return p.changeSummary(files, room) })
		if full {
			p.arguments(c, true)
		}
		return
	}
	if command := transcript.CommandOf(c); command != "" && !(full && len(c.Arguments) > 1) {
		p.command(mark, name+" $ ", command, right, limit)
		return
	}
	summary := transcript.CallSummary(c, p.s.Session.CWD, full)
	p.command(mark, name+" ", summary, right, 1)
	if full && !(len(c.Arguments) == 1 && c.Path() != "") {
		p.arguments(c, false)
	}
}

// callHead prints the first line of a call: the name of its tool, what summary says in so much
// room, and a text at the right, unless the room would be too narrow beside it.
func (p *showText) callHead(indent, name, right string, summary func(room int) string) {
	room, text := p.body(bodyIndent)-terminal.Width(name), ""
	switch {
	case p.Width == 0:
		text, right = summary(nothingToWrap), human.When(right != "", "  · "+right)
	case right != "" && room-terminal.Width(right) >= minBodyColumns:
		before := room - terminal.Width(right)
		text = terminal.Clip(summary(before-2), before-2)
		right = strings.Repeat(" ", before-terminal.Width(text)) + right
	default:
		room = max(minBodyColumns, room)
		text, right = terminal.Clip(summary(room), room), ""
	}
	p.line(indent + p.Style(printer.KindStyles[session.KindCall], name) + text + p.Dim(right))
}

// command prints the name of a tool and its command in at most limit lines.
func (p *showText) command(indent, name, command, right string, limit int) {
	lines := strings.Split(strings.Trim(prose.Tidy([]byte(command)), "\n"), "\n")
	shown := len(lines)
	if limit >= 0 {
		shown = min(shown, limit)
	}
	first, rest := lines[0], lines[1:shown:shown]
	if limit < 0 && p.Width > 0 { // a first line that is too long must not be clipped
		fits := max(minBodyColumns, p.body(bodyIndent)-terminal.Width(name)-terminal.Width(right)-2)
		if parts := prose.BreakText(first, fits); len(parts) > 1 {
			rest = slices.Insert(rest, 0, first[len(parts[0]):])
			first = strings.TrimRight(parts[0], " ")
		}
	}
	p.callHead(indent, name, right, func(int) string { return first })
	for _, l := range rest {
		p.broken(resultIndent, l)
	}
	p.printMore(resultIndent, len(lines)-shown, "")
}

// broken prints a line on as many as it needs.
func (p *showText) broken(indent, line string) {
	for part := range prose.BrokenLine(line, p.body(indent)) {
		p.line(strings.TrimRight(indent+part, " "))
	}
}

// arguments prints the arguments of a call in full, all or those that its diff does not
// show.
func (p *showText) arguments(c *session.Call, diffed bool) {
	for _, a := range transcript.Arguments(c, diffed, "") {
		name := terminal.Clean(a.Name)
		if a.Text && bytes.IndexByte(a.Value, '\n') >= 0 {
			p.line(resultIndent + p.Dim(name+":"))
			for l := range strings.SplitSeq(strings.TrimRight(prose.Tidy(a.Value), "\n"), "\n") {
				p.broken(resultIndent+bodyIndent, l)
			}
			continue
		}
		parts := slices.Collect(prose.BrokenLine(name+": "+terminal.Clean(string(a.Value)), p.body(resultIndent)))
		parts[0] = p.Dim(name+":") + strings.TrimPrefix(parts[0], name+":")
		for _, part := range parts {
			p.line(resultIndent, part)
		}
	}
	if len(c.Arguments) == 0 && len(c.Raw) > 0 && string(c.Raw) != "{}" {
		p.line(resultIndent + terminal.Clean(string(c.Raw)))
	}
}

// result prints the result of a call, below the call if that is waiting. Between the
// two is the diff of an edit, but after the error if it failed.
func (p *showText) result(it *transcript.Item) {
	e := it.Entry
	// Without its call the result shows what it has.
	edits := waitingCall{entry: e, files: transcript.Edits(e)}
	i := slices.IndexFunc(p.waiting, func(w waitingCall) bool { return w.call.ID == e.ToolCallID && w.call.ID != "" })
	asked := i >= 0
	if i > 0 { // calls are printed in their order
		kept := *it
		p.waiting[i].result = &kept
		return
	}
	if asked {
		edits = p.waiting[i]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.call(edits)
	}
	p.owner = e.Index
	if !asked {
		p.heading(e, it.Title, printer.KindStyles[session.KindResult])
	} else if mark := p.mark(e); mark != "" {
		p.line(mark + "  " + p.Dim(human.Joined(" · ", "result · "+terminal.Clean(e.Short), p.state(e))))
	}
	if p.isNamed(e) {
		edits.entry = e // what was named is unfolded
	}
	undone := e.IsError || e.View.Rejected
	if !undone {
		p.callDiff(&edits, false)
		p.owner = e.Index
	}
	if !p.resultBlocks(it, asked && edits.call.Deed == session.DeedRun) {
		text := cmp.Or(human.When(e.IsError, p.Style(printer.ErrorStyle, "error")), "(no output)")
		p.line(resultIndent + p.Dim(text))
	}
	if undone {
		p.callDiff(&edits, true)
	}
	p.last = "call"
	if asked && len(p.waiting) > 0 && p.waiting[0].result != nil {
		next := p.waiting[0].result
		p.waiting[0].result = nil
		p.result(next)
	}
}

// resultBlocks prints the blocks of a result, perhaps of a command, and reports whether some of
// them are not details.
func (p *showText) resultBlocks(it *transcript.Item, command bool) (printed bool) {
	e := it.Entry
	for _, b := range it.Blocks {
		switch {
		case b.Form == transcript.Call: // a nested one
			p.inner(e, []*session.Call{b.Call})
		case b.Form == transcript.Image:
			p.line(resultIndent + p.Dim(imageText(b.Image)))
		case b.Kind == session.KindDetails, b.Kind == session.KindOther:
			if p.isOpen(e) {
				p.foldedBlock(e, resultIndent, b)
			}
			continue
		default:
			p.output(e, b.Text, command || e.IsError, e.IsError)
		}
		printed = true
	}
	return printed
}

// output prints the first lines of an output and, if its end matters, the last
// ones.
func (p *showText) output(e *entry.Entry, text []byte, endMatters, failed bool) {
	if len(text) == 0 {
		return
	}
	indent, style := resultIndent, printer.DimStyle
	if failed {
		indent, style = p.Style(printer.ErrorStyle, failedIndent), printer.ErrorStyle
	}
	show := func(line string) {
		if line == "" {
			p.line()
			return
		}
		p.line(indent, p.Style(style, line))
		indent = resultIndent // the mark of a failure is before its first line
	}
	head, tail := p.lineLimit(e, resultHead), 0
	if head < 0 {
		for line := range prose.TidyLines(text) {
			for part := range prose.BrokenLine(line, p.body(resultIndent)) {
				show(part)
			}
		}
		return
	}
	if endMatters && head == resultHead {
		head, tail = shellHead, shellTail
	}
	f := prose.Fold(text, head, tail)
	blank := false // of repeated blank lines print one
	lines := func(list []string) {
		for _, line := range list {
			if line != "" || !blank {
				show(p.cut(line, len(resultIndent)))
			}
			blank = line == ""
		}
	}
	lines(f.Head)
	p.printMore(resultIndent, f.Hidden, "")
	lines(f.Tail)
}

var (
	addedStyle   = ansi.NewStyle().ForegroundColor(ansi.Green)
	removedStyle = ansi.NewStyle().ForegroundColor(ansi.Red)
	changeStyles = map[diff.Kind]ansi.Style{diff.Added: addedStyle, diff.Removed: removedStyle}
)

const (
	roomForNumbers = 60 // the narrowest terminal that shows numbers and indentation of lines
	diffRows       = 3  // of a long line, unless --full is given
)

func (p *showText) callDiff(w *waitingCall, failed bool) {
	if len(w.files) > 0 {
		p.owner = w.entry.Index
		p.diff(w.entry, w.files, resultIndent, failed)
	}
}

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
func (p *showText) changeCounts(f *diff.File) string {
	if f.Deleted {
		return p.Style(removedStyle, "deleted")
	}
	return human.Joined(" ",
		human.When(f.Added > 0 || f.Removed == 0, p.Style(addedStyle, "+"+human.Number(f.Added))),
		human.When(f.Removed > 0, p.Style(removedStyle, "−"+human.Number(f.Removed))))
}

// diff prints the changes that an entry made to files, unless it is whole not all of them: the first
// lines, or those around the first mark. A failed change is dim, because it was not made.
func (p *showText) diff(e *entry.Entry, files []diff.File, indent string, failed bool) {
	rows := p.diffRows(files)
	if len(rows) == 0 {
		return
	}
	limit := p.lineLimit(e, diffLines)
	if len(files) == 1 && files[0].Whole {
		limit = p.lineLimit(e, writeLines)
	}
	above, below := 0, 0
	if total := len(rows); limit >= 0 && total > limit+1 {
		marked := slices.IndexFunc(rows, func(r diffRow) bool { return len(found(r.text, p.s.Marks[e.Index])) > 0 })
		if marked >= limit {
			above = min(marked-diff.Context, total-limit)
		}
		rows, below = rows[above:above+limit], total-above-limit
	}
	if failed {
		p.line(indent + p.Dim("not applied:"))
	}
	layout := diffLayout{indent: indent, folded: limit >= 0, failed: failed}
	if p.Width > 0 && p.Width < roomForNumbers {
		layout.common = commonIndent(rows)
	} else if highest := slices.MaxFunc(rows, func(a, b diffRow) int { return a.number - b.number }).number; highest > 0 {
		layout.digits = len(strconv.Itoa(highest))
	}
	p.printMore(indent, above, p.unfoldHint())
	for _, r := range rows {
		p.diffRow(r, layout)
	}
	p.printMore(indent, below, p.unfoldHint())
}

// diffRow is a line of a diff, or a separator.
type diffRow struct {
	kind   diff.Kind // 0 for a separator
	number int       // 0 if it is not known
	text   string    // as in the session; of a separator as printed
	pair   string    // the text that replaces it, or that it replaces; "" if there is none
}

// diffRows returns the lines of a diff, with marks between hunks and the names of several
// files.
func (p *showText) diffRows(files []diff.File) (rows []diffRow) {
	for i := range files {
		f := &files[i]
		if len(files) > 1 {
			rows = append(rows, diffRow{text: transcript.Inside(terminal.Clean(f.Path), p.s.Session.CWD) + " " + p.changeCounts(f)})
		}
		for k, h := range f.Hunks {
			if k > 0 {
				rows = append(rows, diffRow{text: p.Dim("⋯")})
			}
			for n := 0; n < len(h.Lines); {
				removed := runOf(h.Lines[n:], diff.Removed)
				added := runOf(h.Lines[n+removed:], diff.Added)
				lines := h.Lines[n:][:max(removed+added, 1)]
				for i, l := range lines {
					row := diffRow{kind: l.Kind, number: l.New, text: l.Text}
					if l.Kind == diff.Removed {
						row.number = l.Old
					}
					if removed > 0 && removed == added {
						row.pair = lines[(i+removed)%len(lines)].Text
					}
					rows = append(rows, row)
				}
				n += len(lines)
			}
		}
	}
	return rows
}

// runOf returns how many lines of a kind there are at the beginning.
func runOf(lines []diff.Line, kind diff.Kind) (n int) {
	for n < len(lines) && lines[n].Kind == kind {
		n++
	}
	return n
}

// commonIndent returns the indentation that all lines have.
func commonIndent(rows []diffRow) string {
	common, first := "", true
	for _, r := range rows {
		text := strings.TrimLeft(r.text, " \t")
		if r.kind == 0 || text == "" {
			continue
		}
		if first {
			common, first = strings.TrimSuffix(r.text, text), false
		}
		for !strings.HasPrefix(r.text, common) {
			common = common[:len(common)-1]
		}
	}
	return common
}

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
		p.line(l.indent + strings.Repeat(" ", gutter) + p.cut(r.text, len(l.indent)+gutter))
		return
	}
	style := changeStyles[r.kind]
	if l.failed {
		style = printer.DimStyle
	}
	text := strings.TrimPrefix(r.text, l.common)
	if l.folded && len(text) > transcript.LongestLine {
		text = text[:transcript.LongestLine] + "…"
	}
	text = tidyLine(text)
	from, to := 0, 0 // what is bold
	if p.Colour && r.pair != "" && len(r.text)+len(r.pair) < transcript.LongestLine {
		from, to = changed(text, tidyLine(strings.TrimPrefix(r.pair, l.common)))
	}
	width := nothingToWrap
	if p.Width > 0 {
		width = max(minBodyColumns, p.Width-len(l.indent)-gutter-1)
	}
	parts := prose.BreakText(text, width)
	if l.folded && len(parts) > diffRows {
		parts = parts[:diffRows]
		last := &parts[diffRows-1]
		*last = terminal.Clip(*last+"……", width)
	}
	number, sign, at := human.When(gutter > 0 && r.number > 0, strconv.Itoa(r.number)), string(r.kind), 0
	for _, part := range parts {
		s := strings.TrimRight(part, " ")
		a, b := min(max(from-at, 0), len(s)), min(max(to-at, 0), len(s))
		at += len(part)
		switch s = sign + s; {
		case len(style) == 0:
		case a == b:
			s = p.Style(style, s)
		default:
			s = p.Style(style, s[:1+a]) + p.Style(style.Bold(), s[1+a:1+b]) + p.Style(style, s[1+b:])
		}
		margin := strings.Repeat(" ", max(0, l.digits-len(number)))
		p.line(strings.TrimRight(l.indent+p.Dim(margin+number)+strings.Repeat(" ", min(gutter, 1))+s, " "))
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

func tidyLine(s string) string { return prose.Tidy([]byte(strings.ReplaceAll(s, "\r", " "))) }

// foundStyle marks matches in a conversation. It sets no colour, because the lines of a
// diff have their own.
var foundStyle = ansi.NewStyle().Bold().Reverse(true)

// markLine shows marks in a line. Attributes that the line sets within a match take
// effect after the match.
func markLine(line string, marks []match.Mark) string {
	var b strings.Builder
	var borders []int // where marks begin and end
	for _, span := range found(ansi.Strip(line), marks) {
		borders = append(borders, span[0], span[1])
	}
	at, style, marking := 0, "", false // the offset without sequences, and the attributes that the line has set there
	turn := func() {
		if marking = !marking; marking {
			b.WriteString(foundStyle.String())
		} else {
			b.WriteString(ansi.ResetStyle + style)
		}
	}
	for rest := line; rest != ""; {
		if rest[0] == ansi.ESC {
			sequence, _, n, _ := ansi.DecodeSequence(rest, ansi.NormalState, nil)
			rest = rest[n:]
			isStyle := strings.HasPrefix(sequence, "\x1b[") // else a link
			switch {
			case sequence == ansi.ResetStyle:
				style = ""
			case isStyle:
				style += sequence
			}
			if !isStyle || !marking {
				b.WriteString(sequence)
			}
			continue
		}
		plain, _, _ := strings.Cut(rest, "\x1b")
		for len(borders) > 0 && borders[0] == at {
			turn()
			borders = borders[1:]
		}
		if len(borders) > 0 {
			plain = plain[:min(len(plain), borders[0]-at)]
		}
		b.WriteString(plain)
		rest, at = rest[len(plain):], at+len(plain)
	}
	if marking {
		turn()
	}
	return b.String()
}

// found returns where marks occur in a line, in any case. If some overlap, it returns the first one,
// and the longest of those that begin there.
func found(line string, marks []match.Mark) (spans [][2]int) {
	lower := strings.ToLower(line)
	if len(lower) != len(line) { // offsets in one are not valid in the other
		lower = line
	}
	for _, m := range marks {
		m.Text = terminal.Clean(m.Text)
		folded := strings.ToLower(m.Text)
		for at := 0; folded != ""; at++ {
			k := strings.Index(lower[at:], folded)
			if k < 0 {
				break
			}
			at += k
			if end := at + len(folded); m.Fits(line, at, end) {
				spans = append(spans, [2]int{at, end})
			}
		}
	}
	lists.Sort(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	end := 0
	return slices.DeleteFunc(spans, func(span [2]int) bool {
		if span[0] < end {
			return true
		}
		end = span[1]
		return false
	})
}
