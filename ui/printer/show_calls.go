package printer

import (
	"bytes"
	"fmt"
	"strings"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/diff"
	"pigrep/ui/transcript"
)

// wait holds a call back until its result.
func (p *showText) wait(e *entry.Entry, c *session.Call) {
	p.waiting = append(p.waiting, waitingCall{e, c, diff.Of(c)})
}

// release prints the calls without a result.
func (p *showText) release() {
	for _, w := range p.waiting {
		p.call(w)
		p.callDiff(&w, false)
		if p.s.Whole { // otherwise the result may just not be shown
			fmt.Fprintln(p.out, resultIndent+p.dim("(no result)"))
		}
	}
	p.waiting = p.waiting[:0]
}

// call prints a call, with the id of its entry at the right.
func (p *showText) call(w waitingCall) {
	if p.last != "call" || p.s.Full {
		p.out.WriteByte('\n')
	}
	p.last = "call"
	p.own(w.entry)
	p.callLine(w.call, w.files, bodyIndent, w.entry, p.lineLimit(w.entry, commandLines))
}

// callLine prints a call at an indent; e may be nil.
func (p *showText) callLine(c *session.Call, files []diff.File, indent string, e *entry.Entry, limit int) {
	right := ""
	mark := indent
	if e != nil {
		right = terminal.Clean(e.ID)
		if facts := p.state(e); len(facts) > 0 {
			right = strings.Join(facts, " · ") + " · " + right
		}
		if p.s.Focus[e.Index] {
			mark = p.style(matchStyle, FocusMark)
		}
	}
	name := terminal.Clean(c.Tool)
	full := e != nil && p.whole(e) || e == nil && p.s.Full
	if len(files) > 0 {
		p.callHead(mark, name+" ", p.changeSummary(files, p.headRoom(name+" ", right)), right)
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

// callHead prints the first line of a call, with what is at its right if there is room.
func (p *showText) callHead(indent, name, l, right string) {
	all, room := p.body(bodyIndent)-terminal.Width(name), p.headRoom(name, right)
	switch {
	case p.Width > 0 && (right == "" || room == all):
		l, right = terminal.Clip(l, max(minBodyColumns, all)), ""
	case p.Width > 0:
		l = terminal.Clip(l, room)
		right = strings.Repeat(" ", all-terminal.Width(l)-terminal.Width(right)) + right
	case right != "":
		right = "  · " + right
	}
	fmt.Fprintln(p.out, indent+p.style(kindStyles[session.KindCall], name)+l+p.dim(right))
}

// headRoom returns the width of the first line of a call between the name of its tool
// and the text at the right. That text is omitted if the room would be too narrow.
func (p *showText) headRoom(name, right string) int {
	room := p.body(bodyIndent) - terminal.Width(name)
	if right != "" && room-terminal.Width(right) >= minBodyColumns {
		room -= terminal.Width(right) + 2
	}
	return room
}

// command prints the name of a tool and its command in at most limit lines.
func (p *showText) command(indent, name, command, right string, limit int) {
	lines := strings.Split(strings.Trim(tidy([]byte(command)), "\n"), "\n")
	hidden := 0
	if limit >= 0 && len(lines) > limit {
		hidden = len(lines) - limit
		lines = lines[:limit]
	}
	for i, l := range lines {
		if i > 0 {
			for _, part := range breakLine(l, p.body(resultIndent), linePlain) {
				fmt.Fprintln(p.out, strings.TrimRight(resultIndent+part.text, " "))
			}
			continue
		}
		var rest []line // of a first line that is too long and must not be clipped
		if limit < 0 {
			fits := max(minBodyColumns, p.body(bodyIndent)-terminal.Width(name)-terminal.Width(right)-2)
			if parts := breakText(l, fits); p.Width > 0 && len(parts) > 1 {
				rest = breakLine(l[len(parts[0]):], p.body(resultIndent), linePlain)
				l = strings.TrimRight(parts[0], " ")
			}
		}
		p.callHead(indent, name, l, right)
		for _, part := range rest {
			fmt.Fprintln(p.out, strings.TrimRight(resultIndent+part.text, " "))
		}
	}
	p.more(resultIndent, hidden)
}

// arguments prints the arguments of a call in full, all or those that its diff does not
// show.
func (p *showText) arguments(c *session.Call, diffed bool) {
	for _, a := range transcript.Arguments(c, diffed, "") {
		name := terminal.Clean(a.Name)
		if a.Text && bytes.IndexByte(a.Value, '\n') >= 0 {
			fmt.Fprintln(p.out, resultIndent+p.dim(name+":"))
			for l := range strings.SplitSeq(strings.TrimRight(tidy(a.Value), "\n"), "\n") {
				for _, part := range breakLine(l, p.body(resultIndent+bodyIndent), linePlain) {
					fmt.Fprintln(p.out, strings.TrimRight(resultIndent+bodyIndent+part.text, " "))
				}
			}
			continue
		}
		for i, part := range breakLine(name+": "+terminal.Clean(string(a.Value)), p.body(resultIndent), linePlain) {
			if i == 0 {
				part.text = p.dim(name+":") + strings.TrimPrefix(part.text, name+":")
			}
			fmt.Fprintln(p.out, resultIndent+part.text)
		}
	}
	if len(c.Arguments) == 0 && len(c.Raw) > 0 && string(c.Raw) != "{}" {
		fmt.Fprintln(p.out, resultIndent+terminal.Clean(string(c.Raw)))
	}
}

// result prints the result of a call, below the call if that is waiting. Between the
// two is the diff of an edit, but after the error if it failed.
func (p *showText) result(it *transcript.Item) {
	e, asked := it.Entry, false
	// Without its call the result shows what it has.
	edits := waitingCall{entry: e, files: transcript.Edits(e)}
	for i, w := range p.waiting {
		if w.call.ID == e.ToolCallID && w.call.ID != "" {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			p.call(w)
			asked, edits = true, w
			break
		}
	}
	p.own(e)
	if !asked {
		p.heading(e, it.Title, kindStyles[session.KindResult])
	} else if p.s.Focus[e.Index] {
		facts := append([]string{"result", terminal.Clean(e.ID)}, p.state(e)...)
		fmt.Fprintln(p.out, p.style(matchStyle, FocusMark)+"  "+p.dim(strings.Join(facts, " · ")))
	}
	if p.named(e) {
		edits.entry = e // what was named is unfolded
	}
	if !e.IsError {
		p.callDiff(&edits, false)
		p.own(e)
	}
	if !p.resultBlocks(it) {
		text := "(no output)"
		if e.IsError {
			text = p.style(errorStyle, "error")
		}
		fmt.Fprintln(p.out, resultIndent+p.dim(text))
	}
	if e.IsError {
		p.callDiff(&edits, true)
	}
	p.last = "call"
}

// resultBlocks prints the blocks of a result, and reports whether it has some that are not
// details.
func (p *showText) resultBlocks(it *transcript.Item) (printed bool) {
	e := it.Entry
	for _, b := range it.Blocks {
		switch {
		case b.Form == transcript.Call: // a nested one
			files := diff.Of(b.Call)
			p.callLine(b.Call, files, resultIndent, nil, p.lineLimit(e, 1))
			p.diff(files, resultIndent+bodyIndent, p.diffLimit(e, files), b.Call.Failed, p.s.Marks[e.Index])
			if b.Call.Failed {
				fmt.Fprintln(p.out, resultIndent+bodyIndent+p.style(errorStyle, "failed"))
			}
		case b.Form == transcript.Image:
			fmt.Fprintln(p.out, resultIndent+p.dim(imageText(b.Image)))
		case b.Kind == session.KindDetails, b.Kind == session.KindOther:
			if p.open(e) {
				p.foldedBlock(e, resultIndent, b)
			}
			continue
		default:
			p.output(e, b.Text, e.Tool == "bash" || e.IsError, e.IsError)
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
	p.failed = failed
	var f folded
	switch limit := p.lineLimit(e, resultHead); {
	case limit < 0:
		for l := range tidyLines(text) {
			for part := range brokenLine(l, p.body(resultIndent)) {
				p.outputLine(part, failed)
			}
		}
		return
	case limit > resultHead:
		f = fold(text, limit, 0)
	case endMatters:
		f = fold(text, shellHead, shellTail)
	default:
		f = fold(text, resultHead, 0)
	}
	blank := false // of repeated blank lines print one
	show := func(lines []string) {
		for _, l := range lines {
			if l == "" && blank {
				continue
			}
			blank = l == ""
			p.outputLine(p.cut(l, len(resultIndent)), failed)
		}
	}
	show(f.head)
	p.more(resultIndent, f.hidden)
	show(f.tail)
}

func (p *showText) outputLine(s string, failed bool) {
	indent := resultIndent
	switch {
	case s == "":
		p.out.WriteByte('\n')
		return
	case p.failed: // its first line
		indent, p.failed = p.style(errorStyle, failedIndent), false
		s = p.style(errorStyle, s)
	case failed:
		s = p.style(errorStyle, s)
	default:
		s = p.dim(s)
	}
	p.put(indent, s, "\n")
}
