package html

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unsafe"

	"pigrep/internal/diff"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/highlight"
	"pigrep/ui/transcript"
)

// callView is a call with its result.
type callView struct {
	id, path string
	reads    bool   // it reads the file
	run      string // the shell command
	Anchor   string // of the entry with the result
	Tool     string
	Sign     string // before the summary: "$" for a command
	Summary  string
	Notes    []note
	Failed   bool
	Nested   bool
	Hit      bool // its result is marked
	Open     bool
	lines    int // in Code, Arguments, Diffs and Output

	Code      template.HTML // the command, if the summary is not all of it
	Subagents []subagent
	Arguments []argument
	Diffs     []diffView
	Output    []block
}

// subagent is a session that the call started.
type subagent struct{ Title, Address, Command string }

type argument struct {
	Name, Value string
	Code        template.HTML // instead of Value, if it has several lines
}

// Calls with up to openLines lines of output are open; edits and failures may be longer.
const (
	openLines    = 8
	diffLines    = 60
	failedLines  = 40
	summaryWidth = 200
	loadLines    = failedLines // longer output is loaded when it is wanted
)

func (x *writer) newCall(c *session.Call) *callView {
	v := &callView{id: c.ID, path: c.Path(), reads: c.Deed == session.DeedRead, Tool: Line(c.Tool), Nested: c.Nested, Failed: c.Failed}
	command := transcript.CommandOf(c)
	if command != "" {
		v.command(x, command)
	} else {
		v.Summary = clip(Line(transcript.CallSummary(c, x.page.Session.CWD, false)))
	}
	v.edits(x, diff.Of(c))
	if len(v.Diffs) > 0 {
		v.Summary = Line(transcript.Inside(v.path, x.page.Session.CWD))
	}
	for _, a := range transcript.Arguments(c, len(v.Diffs) > 0, command) {
		value := strings.Trim(visible(a.Value), "\n")
		switch {
		case v.path != "" && (a.Text && string(a.Value) == c.Path() || !a.Text && (a.Name == "offset" || a.Name == "limit")): // the summary shows the place
		case strings.Contains(value, "\n"):
			v.Arguments = append(v.Arguments, argument{Name: Line(a.Name), Code: v.code(x, "", a.Value)})
		case !strings.Contains(v.Summary, value) || value == "":
			v.Arguments = append(v.Arguments, argument{Name: Line(a.Name), Value: value})
		}
	}
	for _, s := range c.Subagents {
		sub := subagent{Title: Line(s.Title), Command: "pigrep show " + shellcmd.Here.Operand(s.Name)}
		if x.page.Site != nil {
			sub.Address = x.page.Site.Session(s.Path, s.ID)
		}
		v.Subagents = append(v.Subagents, sub)
	}
	if len(c.Arguments) == 0 && len(c.Raw) > 0 && string(c.Raw) != "{}" {
		v.Code = v.code(x, "json", c.Raw)
	}
	return v
}

// command sets the summary to a command, and the code if it is longer.
func (v *callView) command(x *writer, command string) {
	text := strings.Trim(visible([]byte(command)), "\n ")
	line, rest, _ := strings.Cut(text, "\n")
	v.run, v.Sign, v.Summary = command, "$", clip(line)
	v.Summary += human.When(rest != "", " …")
	if v.Summary != text {
		v.Code = v.code(x, "bash", []byte(command))
	}
}

func clip(s string) string {
	return session.Cut(s, summaryWidth) + human.When(len(s) > summaryWidth, "…")
}

// newShell returns a command of the user.
func (x *writer) newShell(e *entry.Entry, i int) *callView {
	b := &e.View.Blocks[i]
	outcome, failed := transcript.Outcome(b)
	v := &callView{Failed: failed, Hit: x.isHit(e)}
	v.command(x, b.Shell.Command)
	v.output(x, e, i, "")
	if outcome != "" {
		v.Notes = append(v.Notes, note{Text: outcome, Class: map[bool]string{true: "bad", false: "ok"}[failed]})
	}
	v.Open = v.lines <= openLines || v.Hit
	return v
}

// answer adds a result to the call waiting for it. It returns false if there is none.
func (x *writer) answer(e *entry.Entry) bool {
	at := slices.IndexFunc(x.calls, func(c *callView) bool { return c.id != "" && c.id == e.ToolCallID })
	if at < 0 {
		return false
	}
	c := x.calls[at]
	x.calls = slices.Delete(x.calls, at, at+1)
	c.Anchor = x.names[e.Index]
	c.result(x, e)
	return true
}

// newResult returns a result whose call is not shown.
func (x *writer) newResult(e *entry.Entry) *entryView {
	v, _ := x.newEntry(e)
	c := &callView{Tool: Line(e.Tool), Summary: "result"}
	c.edits(x, transcript.Edits(e))
	c.result(x, e)
	v.Class, v.Blocks = "reply step", []block{{Call: c}}
	return v
}

func (v *callView) result(x *writer, e *entry.Entry) {
	noMatch := transcript.IsNoMatch(v.run, e)
	v.Failed, v.Hit = e.IsError && !noMatch, x.isHit(e)
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		switch {
		case b.Call != nil:
			v.Output = append(v.Output, block{Call: x.newCall(b.Call)})
		case b.Image != nil:
			v.Output = append(v.Output, block{Image: x.newImage(b.Image)})
		case b.Kind == session.KindDetails:
			v.Output = append(v.Output, block{Fold: x.data(b)})
		default:
			language := ""
			if v.reads && !e.IsError {
				language = v.path
			}
			v.output(x, e, i, language)
		}
	}
	limit := openLines
	if len(v.Diffs) > 0 {
		limit = diffLines
	}
	status := note{Text: "ok", Class: "ok"}
	switch {
	case noMatch:
		status.Text = transcript.NoMatch
	case e.View.Rejected:
		status.Text = "rejected"
	case e.IsError:
		limit, status = failedLines, note{Text: "failed", Class: "bad"}
	}
	exit, took := int32(session.Unknown), int32(session.Unknown)
	if e.Facts != nil {
		exit, took = e.Facts.Exit, e.Facts.Duration
	}
	if exit != session.Unknown && !noMatch && (exit != 0 || e.IsError) {
		status = note{Text: fmt.Sprintf("exit %d", exit), Class: "bad"}
	}
	v.Notes = append(v.Notes, status)
	if took != session.Unknown {
		v.Notes = append(v.Notes, note{Text: human.Duration(time.Duration(took) * time.Millisecond)})
	} else if d := e.Time.Sub(x.before); d >= time.Second && !x.before.IsZero() && d < maxGuess {
		v.Notes = append(v.Notes, note{Text: "~" + human.Duration(d), Hint: "from the times of the entries"})
	}
	x.before = e.Time
	v.Open = v.lines <= limit || v.Hit
}

// maxGuess is the longest duration derived from the times of entries; anything longer is
// taken for a pause of the user.
const maxGuess = time.Hour

// output adds block i of a result. A long one is loaded when it is wanted, if there is a
// site to load it from.
func (v *callView) output(x *writer, e *entry.Entry, i int, language string) {
	text := bytes.Trim(e.View.Blocks[i].Text, "\r\n")
	switch {
	case len(text) == 0:
		return
	case len(v.Diffs) > 0 && !v.Failed && len(text) < maxAside: // "Successfully replaced …"
		v.Output = append(v.Output, block{Text: visible(text)})
		return
	}
	v.Notes = append(v.Notes, note{Text: human.Plural(bytes.Count(text, []byte{'\n'})+1, "line", "lines")})
	n := linesOf(text)
	v.lines += n
	if x.page.Site != nil && n > loadLines {
		v.Output = append(v.Output, block{Load: x.page.Site.Output(e.Index, i, language)})
		return
	}
	v.Output = append(v.Output, block{Fold: fold{}.withCode(x, language, bytes.Trim(text, "\n"))})
}

// maxAside is the length of the longest result that is shown as a remark on a diff.
const maxAside = 400

// code returns highlighted code and counts its lines.
func (v *callView) code(x *writer, language string, text []byte) template.HTML {
	text = bytes.Trim(text, "\n")
	v.lines += linesOf(text)
	return x.code(language, text)
}

// linesOf counts the lines of a text; a long one is several.
func linesOf(text []byte) int { return bytes.Count(text, []byte{'\n'}) + 1 + len(text)/longLine }

// Output returns a block of output as on a page, highlighted as a file with that name.
func Output(text []byte, name string) template.HTML {
	return `<pre tabindex="0"><code>` + new(writer).code(name, bytes.Trim(text, "\r\n")) + "</code></pre>"
}

// longLine is how many bytes of output count as an additional line.
const longLine = 500

// code returns a text in a language, or of a file with that name.
func (x *writer) code(language string, text []byte) template.HTML {
	return x.highlight(language, strings.Trim(visible(text), "\n"))
}

// withCode returns the fold with a text as code. If it is not highlighted, its HTML is made as
// it is written: there may be much of it.
func (f fold) withCode(x *writer, language string, text []byte) *fold {
	source := strings.Trim(visible(text), "\n")
	switch {
	case source == "":
	case language != "" && x.highlighted+len(source) <= maxHighlighted:
		f.Code = x.highlight(language, source)
	default:
		x.highlighted += len(source)
		f.Plain = func(yield func(template.HTML) bool) {
			for piece := range terminal.Pieces(source, false) {
				if !yield(template.HTML(template.HTMLEscapeString(piece))) {
					return
				}
			}
		}
	}
	return &f
}

// highlight marks the tokens of source code. No span crosses a line.
func (x *writer) highlight(language, source string) template.HTML {
	if x.highlighted += len(source); x.highlighted > maxHighlighted {
		language = ""
	}
	var b strings.Builder
	for _, r := range highlight.Code(source, language) {
		class := r.Class.String()
		if class == "" {
			b.WriteString(template.HTMLEscapeString(r.Text))
			continue
		}
		for i, line := range strings.Split(r.Text, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			if line != "" {
				b.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(line) + `</span>`)
			}
		}
	}
	return template.HTML(b.String())
}

// maxHighlighted is how many bytes of code are highlighted on a page. A megabyte takes
// about a second.
const maxHighlighted = 4 << 20

// diffView is what a call did to a file.
type diffView struct {
	Path string
	Code template.HTML
}

func (v *callView) edits(x *writer, files []diff.File) {
	added, removed := 0, 0
	for _, f := range files {
		d := diffView{Path: Line(transcript.Inside(f.Path, x.page.Session.CWD))}
		var b strings.Builder
		for i, h := range f.Hunks {
			if i > 0 {
				b.WriteString(`<span class="gap">⋯` + "\n</span>")
			}
			x.writeHunk(&b, f.Path, h)
			v.lines += len(h.Lines)
		}
		d.Code = template.HTML(b.String())
		if f.Deleted {
			d.Path += ", deleted"
		}
		v.Diffs = append(v.Diffs, d)
		added += f.Added
		removed += f.Removed
	}
	if len(files) > 0 {
		v.Notes = append(v.Notes, note{Text: fmt.Sprintf("+%d −%d", added, removed), Hint: "lines added and removed"})
	}
}

var lineClasses = map[diff.Kind]string{diff.Same: "same", diff.Added: "added", diff.Removed: "removed"}

func (x *writer) writeHunk(b *strings.Builder, path string, h diff.Hunk) {
	texts := make([]string, len(h.Lines))
	for i, l := range h.Lines {
		texts[i] = strings.ReplaceAll(visible([]byte(l.Text)), "\n", " ")
	}
	code := strings.Split(string(x.highlight(path, strings.Join(texts, "\n"))), "\n")
	for i, l := range h.Lines {
		number := l.New
		if l.Kind == diff.Removed {
			number = l.Old
		}
		fmt.Fprintf(b, `<span class="%s">`, lineClasses[l.Kind])
		if number > 0 {
			fmt.Fprintf(b, `<span class="no">%d</span>`, number)
		}
		fmt.Fprintf(b, `<span class="sign">%c</span>%s%s</span>`, l.Kind, code[i], "\n")
	}
}

// visible returns a text of a session without escape sequences and control characters.
// Characters that change the direction of surrounding text are replaced by their names,
// so that text cannot be disguised.
func visible(text []byte) string {
	s := unsafe.String(unsafe.SliceData(text), len(text)) // entries do not change
	if strings.ContainsRune(s, '\r') {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return terminal.CleanLines(nameMarks(s))
}

// Line returns a text of a session on one line, without what is not shown: as safe and as
// honest as in a conversation.
func Line(s string) string { return strings.TrimSpace(terminal.Clean(nameMarks(s))) }

// Visible is like Line for a piece of a line, whose white space stays.
func Visible(s string) string {
	s, _ = terminal.CleanSpans(nameMarks(s), nil)
	return s
}

// nameMarks replaces characters that change the direction of text.
func nameMarks(s string) string {
	if !strings.ContainsFunc(s, isMark) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isMark(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isMark(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}
