package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/diff"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/highlight"
	"pigrep/ui/markdown"
	"pigrep/ui/printer"
	"pigrep/ui/prose"
	"pigrep/ui/transcript"
)

// How many lines of a piece are shown unless --full is given, and other measures.
const (
	resultHead     = 6 // of a result
	shellHead      = 2 // of the output of a command, whose end matters more
	shellTail      = 4
	commandLines   = 6
	diffLines      = 20
	writeLines     = 8 // of a file that was written as a whole
	summaryLines   = 14
	focusLines     = 60 // of an entry that was named
	promptLines    = 200
	bodyIndent     = "  "
	resultIndent   = "    "
	failedIndent   = "  ✗ " // of the first line of a failure
	nothingToWrap  = 0
	minBodyColumns = 16
	relativeTitle  = 32 // the width of the title of a related session
)

// FocusMark begins the heading of an entry that was named.
const FocusMark = "▶ "

// showText prints a conversation as text. Calls wait for their results, so that
// both are printed together.
type showText struct {
	*printer.Text
	s       *Show
	owner   int               // the entry of the lines that are printed, by its index in the file; -1 above the first
	take    func(line string) // takes them instead of the Text; may be nil
	day     string
	last    string // what was printed last: "" at the start, "head", "body", "call" or "note"
	waiting []waitingCall
	piece   string // Entry.Message of the last entry that was neither a result nor a remark
	headed  bool   // the reply has its heading
	begun   bool   // the reply has a call or thinking
}

type waitingCall struct {
	entry  *entry.Entry
	call   *session.Call
	files  []diff.File      // what it did to files
	result *transcript.Item // its result, if that came before the results of earlier calls
	inner  []*session.Call  // the calls that it made, as its own entry says
}

func (s *Show) Text(t *printer.Text) { s.print(&showText{Text: t, s: s, owner: -1}) }

// Line is a line of a conversation.
type Line struct {
	Text  string
	Entry int // the index in the file of the entry that it belongs to; -1 above the first
}

// Lines returns the text as lines that know their entries. A blank line belongs to the
// entry above it.
func (s *Show) Lines(layout printer.Layout) ([]Line, error) {
	var lines []Line
	p := &showText{Text: &printer.Text{Sink: printer.NewSink(io.Discard), Layout: layout}, s: s, owner: -1}
	p.take = func(text string) {
		of := p.owner
		if n := len(lines); n > 0 && text == "" {
			of = lines[n-1].Entry
		}
		lines = append(lines, Line{text, of})
	}
	s.print(p)
	for n := len(lines); n > 0 && lines[n-1].Text == ""; n-- {
		lines = lines[:n-1]
	}
	return lines, p.Err
}

func (s *Show) print(p *showText) {
	p.facts()
	var file entry.FileLine
	for e, err := range s.Entries {
		p.Fail(err)
		if p.Err != nil {
			return
		}
		if name := file.Next(e); name != "" {
			p.release()
			p.line()
			p.note("⋯ goes on in " + terminal.Clean(name))
			p.last = ""
		}
		if s.Gaps[e.Index] {
			p.release()
			p.line()
			p.line(p.Dim("⋯"))
			p.last = ""
		}
		if e.Folded != "" {
			p.owner = e.Index
			p.dot("", e.Folded)
			continue
		}
		p.entry(e)
	}
	p.release()
}

// line prints a line, given in pieces, with the matches of its entry marked. A long one is not
// copied for that, unless it has to be.
func (p *showText) line(pieces ...string) {
	if marks := p.s.Marks[p.owner]; p.Colour && len(marks) > 0 {
		pieces = []string{markLine(strings.Join(pieces, ""), marks)}
	}
	if p.take != nil {
		p.take(strings.Join(pieces, ""))
		return
	}
	p.Print(pieces...)
	p.Print("\n")
}

// body returns the width for the text of an entry; 0 for any.
func (p *showText) body(indent string) int {
	if p.Width == 0 {
		return nothingToWrap
	}
	return max(minBodyColumns, p.Width-len(indent))
}

func (p *showText) cut(s string, indent int) string {
	if p.Width == 0 {
		return s
	}
	return terminal.Clip(s, max(minBodyColumns, p.Width-indent))
}

// clockTime returns the time of day, with the date if that has changed.
func (p *showText) clockTime(at time.Time) string {
	if at.IsZero() || p.Now.IsZero() {
		return p.s.stamp(at)
	}
	at = at.In(p.Now.Location())
	day := at.Format("2006-01-02 ")
	if day == p.day {
		day = ""
	} else {
		p.day = day
	}
	return day + at.Format("15:04")
}

// facts prints what is above a conversation.
func (p *showText) facts() {
	f := &p.s.Session
	p.line(p.Style(printer.TitleStyle, p.cut(human.Headline(f.Title), 0)))
	modified := p.Ago(f.Modified.Time)
	if p.Now.IsZero() {
		modified = p.s.stamp(f.Modified.Time)
	}
	modified += human.When(f.Undated, " (of the file)")
	tokens, cost := human.When(f.Tokens > 0, human.Short(f.Tokens)+" tokens"), human.When(f.Tokens > 0, cmp.Or(human.When(f.Cost > 0, f.CostText()), "no price known"))
	name := human.When(f.ShortID != f.SessionPath, f.ShortID) // that is below
	p.factLine(p.Links.File(terminal.Clean(human.Path(f.CWD, p.Home)), f.CWD), terminal.Clean(human.Badge(f.Host, f.Label, true, f.Kept)), modified, human.Plural(f.Messages, "message", "messages"), terminal.Clean(name))
	p.factLine("", strings.Join(printer.ModelNames(f.Models), ", "), tokens, cost)
	if !p.s.Whole {
		return
	}
	p.note(p.Links.File(terminal.Clean(human.Path(f.SessionPath, p.Home)), f.SessionPath))
	switch {
	case f.Parent != nil && f.Subagent:
		p.note("subagent of " + p.relative(f.Parent, 0))
	case f.Parent != nil:
		p.note("forked from " + p.relative(f.Parent, f.Entries))
	}
	p.note(human.When(f.Missing != "", "begins in "+terminal.Clean(f.BeginsIn())))
	for i := range f.Children {
		p.note("forked into " + p.relative(&f.Children[i], 0))
	}
	for i := range f.Subagents {
		p.note("subagent " + p.relative(&f.Subagents[i], 0))
	}
	more := f.Started - len(f.Subagents)
	p.note(human.When(more > 0, fmt.Sprintf("and %d more (pigrep sessions --subagents)", more)))
	p.note(human.When(len(f.Namesakes) > 0, "other sessions with this id: "+terminal.Clean(strings.Join(f.Namesakes[:min(len(f.Namesakes), mostFiles)], ", "))+human.When(len(f.Namesakes) > mostFiles, ", …")))
	for _, path := range f.Files[:min(len(f.Files), mostFiles)] {
		p.note("also in " + p.Links.File(terminal.Clean(human.Path(path, p.Home)), path))
	}
	p.note(human.When(len(f.Files) > mostFiles, "and in "+human.Some(len(f.Files)-mostFiles, "more file (--json)", "more files (--json)")))
	p.note(human.When(!p.s.Branches, human.Some(f.Abandoned, "entry on abandoned branches (--tree, --all)", "entries on abandoned branches (--tree, --all)")))
	p.note(human.Some(f.Skipped, "malformed line skipped", "malformed lines skipped"))
}

// mostFiles is how many other files of a session, and other sessions with its id, are named.
const mostFiles = 5

// factLine prints the facts that are known, after a directory or below it.
func (p *showText) factLine(dir string, facts ...string) {
	rest := human.Joined(" · ", facts...)
	switch room := p.Width - terminal.Width(rest) - 3; {
	case dir == "":
	case p.Width == 0 || room >= terminal.Width(dir):
		rest = dir + " · " + rest
	default:
		p.note(terminal.ClipLeft(dir, p.Width))
	}
	if p.Width > 0 {
		for line := range strings.Lines(p.Folded(rest, p.Width)) {
			p.line(strings.TrimSuffix(line, "\n"))
		}
		return
	}
	p.note(rest)
}

// note prints a remark, unless it is empty.
func (p *showText) note(s string) {
	if s != "" {
		p.line(p.Dim(p.cut(s, 0)))
	}
}

// relative describes a parent or a fork. For a parent, of is the number of entries in
// this session.
func (p *showText) relative(r *Relative, of int) string {
	path := terminal.Clean(human.Path(r.SessionPath, p.Home))
	if r.State == "missing" {
		return path + ", which is deleted"
	}
	name := cmp.Or(terminal.Clean(r.ShortID), path)
	name = human.Joined(" ", name, terminal.Clip(terminal.Clean(r.Title), relativeTitle))
	shares := human.When(of > 0 && r.Shared > 0, fmt.Sprintf("shares %s of %s", human.Number(r.Shared), human.Plural(of, "entry", "entries")))
	notes := human.Joined("; ", shares, human.When(r.State == "moved", "moved"))
	return name + human.When(notes != "", " ("+notes+")")
}

func (p *showText) entry(e *entry.Entry) {
	it := transcript.Describe(e)
	if it.Class == transcript.Result {
		p.result(&it)
		return
	}
	switch e.Type {
	case session.TypeMessage, session.TypeCompaction, session.TypeBranchSummary:
		if e.Message == "" || e.Message != p.piece {
			p.release()
			p.piece, p.headed, p.begun = e.Message, false, false
		}
	}
	p.owner = e.Index
	switch aside := it.Class == transcript.Other || it.Class == transcript.System; {
	case it.Class == transcript.Reply:
		p.reply(&it)
	case it.Remark != nil:
		words := lists.Map(it.Remark, terminal.Clean)
		p.remark(e, strings.Join(words, " "))
	case aside && !p.isOpen(e) && !p.isNamed(e):
		p.aside(&it)
	case len(it.Blocks) > 0 || it.Class != transcript.Note && it.Class != transcript.Unknown:
		p.printSaid(&it)
	}
}

// lineLimit returns how many lines of a piece of the entry are shown; -1 for all.
func (p *showText) lineLimit(e *entry.Entry, usual int) int {
	switch {
	case p.isWhole(e):
		return -1
	case p.isNamed(e):
		return max(usual, focusLines)
	}
	return usual
}

// isOpen reports whether nothing of an entry is folded.
func (p *showText) isOpen(e *entry.Entry) bool { return p.s.Full || p.s.Open[e.Index] }

// isWhole reports whether no text of an entry is folded; its details may be.
func (p *showText) isWhole(e *entry.Entry) bool {
	return p.isOpen(e) || p.s.Unfold && p.isNamed(e)
}

// isNamed reports whether more of an entry is shown because the user named it. An entry
// that was folded on its own stays folded.
func (p *showText) isNamed(e *entry.Entry) bool {
	_, set := p.s.Open[e.Index]
	return p.s.Focus[e.Index] && !set
}

// heading prints what an entry is, its time and its id.
func (p *showText) heading(e *entry.Entry, what string, style ansi.Style) {
	p.line()
	mark, model := p.mark(e), ""
	if e.Role == session.RoleAssistant && p.Width == 0 {
		model = terminal.Clean(e.Model)
	}
	rest := " · " + human.Joined(" · ", p.clockTime(e.Time)+" · "+terminal.Clean(e.Short), model, p.state(e))
	if p.Width > 0 {
		rest = terminal.Clip(rest, max(0, p.Width-terminal.Width(what)-terminal.Width(mark)))
	}
	p.line(mark + p.Style(style, what) + p.Dim(rest))
	p.last = "head"
}

// mark returns the mark of an entry that was named; "" for others.
func (p *showText) mark(e *entry.Entry) string {
	return p.Style(printer.MatchStyle, human.When(p.s.Focus[e.Index], FocusMark))
}

// state says what is unusual about an entry: label, branch, context; "" for nothing.
func (p *showText) state(e *entry.Entry) string {
	abandoned, focus := e.Branch == entry.BranchAbandoned, p.s.Focus[e.Index]
	return human.Joined(" · ",
		labelOf(e),
		human.When(abandoned && (p.s.Branches || focus), "abandoned branch"),
		human.When(!abandoned && !e.InContext && focus, "no longer in context (compacted)"))
}

// labelOf returns the label of an entry as it stands beside it; "" for none.
func labelOf(e *entry.Entry) string {
	return human.When(e.Labelled != "", "["+terminal.Clean(e.Labelled)+"]")
}

func (p *showText) printSaid(it *transcript.Item) {
	e, limit := it.Entry, summaryLines
	var style ansi.Style
	switch it.Class {
	case transcript.Prompt:
		style, limit = printer.KindStyles[session.KindPrompt], promptLines
	case transcript.Shell:
		style = printer.KindStyles[session.KindShell]
	case transcript.System, transcript.Other:
		style = printer.DimStyle
	}
	p.heading(e, it.Title, style)
	if it.Fact != "" {
		p.line(bodyIndent + p.Dim(it.Fact))
	}
	for _, b := range it.Blocks {
		switch {
		case b.Form == transcript.Command:
			p.command(bodyIndent, "$ ", b.Shell.Command, "", p.lineLimit(e, commandLines))
			p.output(e, b.Text, true, e.IsError)
			if outcome, failed := transcript.Outcome(b.Block); failed {
				p.line(resultIndent + p.Style(printer.ErrorStyle, outcome))
			}
		case isSaid(it.Class, b):
			p.prose(b, p.lineLimit(e, limit))
		default:
			p.foldedBlock(e, bodyIndent, b)
		}
	}
	p.last = "body"
}

// isSaid reports whether a block is what the entry says, not something beside it.
func isSaid(class transcript.Class, b transcript.Block) bool {
	switch class {
	case transcript.System, transcript.Other:
		return true
	case transcript.Summary, transcript.Shell:
		return b.Kind == session.KindSummary || b.Kind == session.KindShell
	}
	return b.Form != transcript.Folded
}

func (p *showText) prose(b transcript.Block, limit int) {
	if b.Image != nil {
		p.line(bodyIndent + p.Dim(imageText(b.Image)))
	}
	if len(b.Text) == 0 {
		return
	}
	lines, shown := p.rendered(b, p.body(bodyIndent), false), limit
	if limit < 0 || len(lines) <= limit+1 {
		shown = len(lines)
	}
	p.indented(bodyIndent, lines[:shown])
	p.printMore(bodyIndent, len(lines)-shown, "")
}

func (p *showText) indented(indent string, lines []string) {
	for _, l := range lines {
		p.line(human.When(l != "", indent), l)
	}
}

// printMore says how many lines are hidden, and how to see them.
func (p *showText) printMore(indent string, hidden int, hint string) {
	if hidden > 0 {
		p.line(indent + p.Dim("… "+human.Plural(hidden, "more line", "more lines")+hint))
	}
}

func imageText(i *session.Image) string {
	return "[" + cmp.Or(terminal.Clean(i.MimeType), "image") + " " + human.Bytes(int64(i.Size)) + "]"
}

// reply prints a reply of the assistant, or a piece of one. Its calls wait for their results.
func (p *showText) reply(it *transcript.Item) {
	e := it.Entry
	if p.s.Focus[e.Index] { // what was named has its mark
		p.headed = false
	}
	head := func() {
		if !p.headed {
			p.heading(e, it.Title, printer.KindStyles[session.KindReply])
			p.headed = true
		}
	}
	if len(it.Blocks) == 0 && (e.Message == "" || p.s.Focus[e.Index]) {
		head()
		p.line(bodyIndent + p.Dim("(empty)"))
		p.last = "body"
	}
	for _, b := range it.Blocks {
		switch b.Form {
		case transcript.Call:
			if n := len(p.waiting); b.Call.Nested && n > 0 {
				p.waiting[n-1].inner = append(p.waiting[n-1].inner, b.Call)
				break
			}
			p.waiting = append(p.waiting, waitingCall{entry: e, call: b.Call, files: diff.Of(b.Call)})
			p.begun = true
		case transcript.Thinking:
			if !p.begun && p.last != "call" {
				head()
			}
			p.thinking(e, b)
			p.last, p.begun = "call", true // so that what follows is printed below it
		case transcript.Problem:
			head()
			for _, l := range prose.SourceLines(b.Text, p.body(bodyIndent)) {
				p.line(bodyIndent + p.Style(printer.ErrorStyle, l.Text))
			}
			p.last = "body"
		case transcript.Prose, transcript.Image:
			head()
			p.prose(b, p.lineLimit(e, promptLines))
			p.last = "body"
		default:
			p.foldedBlock(e, bodyIndent, b)
		}
	}
}

func (p *showText) thinking(e *entry.Entry, b transcript.Block) {
	text := prose.Tidy(b.Text)
	if p.isOpen(e) || p.isNamed(e) {
		p.line(bodyIndent + p.Style(printer.KindStyles[session.KindThinking], "thinking"))
		p.indented(bodyIndent+bodyIndent, p.rendered(b, p.body(bodyIndent+bodyIndent), true))
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.Trim(terminal.Clean(first), "*# ")
	n := strings.Count(strings.TrimSpace(text), "\n") + 1
	note := human.When(n > 1, " ("+human.Plural(n, "line", "lines")+")")
	room := len(bodyIndent) + len("thinking  ") + terminal.Width(note)
	p.line(bodyIndent + p.Style(printer.KindStyles[session.KindThinking], "thinking ") + p.Dim(p.cut(first, room)+note))
}

func (p *showText) unfoldHint() string { return " (" + cmp.Or(p.s.FoldHint, "--full") + ")" }

// foldedBlock prints the kind and size of a block that is not part of the
// conversation; with --full its text.
func (p *showText) foldedBlock(e *entry.Entry, indent string, b transcript.Block) {
	if b.Kind == session.KindDetails && !p.isOpen(e) {
		return
	}
	if p.isOpen(e) {
		p.line(indent + p.Dim(string(b.Kind)))
		for _, l := range prose.SourceLines(b.Text, p.body(indent+bodyIndent)) {
			p.line(strings.TrimRight(indent+indent+p.Dim(l.Text), " "))
		}
		return
	}
	p.line(indent + p.Dim(string(b.Kind)+", "+human.Bytes(int64(len(b.Text)))+p.unfoldHint()))
}

// aside prints on one line an entry that is rarely read: short texts, and the sizes of others.
func (p *showText) aside(it *transcript.Item) {
	what, prompt := it.Title, 0 // bytes of a system prompt
	for _, b := range it.Blocks {
		switch {
		case it.Class == transcript.System:
			prompt += len(b.Text)
		case b.Kind == session.KindMeta || len(b.Text) < 80:
			what += " " + terminal.Clean(string(b.Text))
		default:
			what += ", " + human.Bytes(int64(len(b.Text)))
		}
	}
	p.remark(it.Entry, what+human.When(it.Class == transcript.System, ", "+human.Bytes(int64(prompt))+p.unfoldHint()))
}

func (p *showText) remark(e *entry.Entry, s string) {
	p.dot(p.mark(e), human.Joined(" · ", s, p.state(e)))
}

// dot prints a remark below a blank line, or below another remark.
func (p *showText) dot(mark, s string) {
	if p.last != "note" {
		p.line()
	}
	p.line(mark + p.Dim(p.cut("· "+s, terminal.Width(mark))))
	p.last = "note"
}

// codeStyle is for code of an unknown language.
var codeStyle = ansi.NewStyle().ForegroundColor(ansi.Cyan)

// classStyles are the looks of code.
var classStyles = map[highlight.Class]ansi.Style{
	highlight.Comment:  ansi.NewStyle().ForegroundColor(ansi.BrightBlack),
	highlight.Keyword:  ansi.NewStyle().ForegroundColor(ansi.Magenta),
	highlight.Type:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	highlight.Function: ansi.NewStyle().ForegroundColor(ansi.Blue),
	highlight.Name:     ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Tag:      ansi.NewStyle().ForegroundColor(ansi.Blue),
	highlight.String:   ansi.NewStyle().ForegroundColor(ansi.Green),
	highlight.Number:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Heading:  ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Inserted: addedStyle,
	highlight.Deleted:  removedStyle,
}

// rendered returns the lines of a text that fit into the width. With colours, Markdown is
// rendered; without them, it is left as written, because its marks are the only sign of
// headings and emphasis.
func (p *showText) rendered(b transcript.Block, width int, faint bool) []string {
	markdownForms := []transcript.Form{transcript.Prose, transcript.Thinking, transcript.Image}
	if p.Colour && width > 0 && !p.Source && slices.Contains(markdownForms, b.Form) {
		return lists.Map(markdown.Render(prose.Tidy(b.Text), width), func(l markdown.Line) string { return p.runs(l, faint) })
	}
	return lists.Map(prose.SourceLines(b.Text, width), func(l prose.Line) string {
		s := strings.TrimRight(l.Text, " ")
		switch {
		case faint, l.Style == prose.LineFence:
			return p.Dim(s)
		case l.Style == prose.LineHeading:
			return p.Style(printer.TitleStyle, s)
		case l.Style == prose.LineCode:
			return p.Style(codeStyle, s)
		}
		return s
	})
}

func (p *showText) runs(l markdown.Line, faint bool) string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(p.Style(runStyle(r, faint), p.Links.Address(r.Text, r.URL)))
	}
	return b.String()
}

func runStyle(r markdown.Run, faint bool) ansi.Style {
	style := classStyles[r.Class]
	has := func(s markdown.Style) bool { return r.Style&s != 0 }
	if has(markdown.Code) {
		style = codeStyle
	}
	style = style[:len(style):len(style)]
	if faint || has(markdown.Faint) {
		style = style.Faint()
	}
	if has(markdown.Bold) || has(markdown.Heading) {
		style = style.Bold()
	}
	if has(markdown.Italic) {
		style = style.Italic(true)
	}
	if has(markdown.Strike) {
		style = style.Strikethrough(true)
	}
	if has(markdown.Link) {
		style = style.Underline(true)
	}
	return style
}
