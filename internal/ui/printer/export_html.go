package printer

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"sync"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/entry"
)

// The page is self-contained: no script, no network. html/template escapes all
// text of sessions, and the Content-Security-Policy in the head of the page makes
// the browser enforce the rest.
//
//go:embed export.html
var exportPage string

var exportTemplates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(exportPage)) })

// openLines is the most lines of an output that is shown unfolded.
const openLines = 12

func exportHTML(w io.Writer, s *Show) error {
	write := func(name string, data any) error { return exportTemplates().ExecuteTemplate(w, name, data) }
	err := write("top", struct {
		Title string
		Facts [][2]string
	}{human.Title(s.Session.Title), exportFacts(s)})
	if err != nil {
		return err
	}
	names := anchors{}
	for e, err := range s.Entries {
		if err == nil {
			err = write("entry", newHTMLEntry(s, e, names.of(e.ID)))
		}
		if err != nil {
			return err
		}
	}
	return write("bottom", nil)
}

// htmlEntry is an entry as the templates show it.
type htmlEntry struct {
	Anchor, Class, Title, Notes, ID string
	Blocks                          []htmlBlock
}

// htmlBlock is a block of an entry. Empty fields are not shown.
type htmlBlock struct {
	Call    *htmlCall
	Command string
	Picture *htmlPicture
	Folded  string // the title of prose that is folded; "" shows it unfolded
	Prose   []htmlProse
	Text    string
	Problem string
	Output  *htmlOutput
	End     string // of a command that failed: how it ended
}

type htmlCall struct {
	Nested, Failed     bool
	Tool, Command, Raw string
	Arguments          []htmlArgument
}

type htmlArgument struct{ Name, Value string }

// Lines reports whether the value has more than one line.
func (a htmlArgument) Lines() bool { return strings.Contains(a.Value, "\n") }

type htmlPicture struct {
	Text   string
	Source template.URL // "" shows only the text
}

type htmlOutput struct {
	What, Lines, Text string
	Open, Failed      bool
}

func newHTMLEntry(s *Show, e *entry.Entry, anchor string) *htmlEntry {
	var classes []string
	switch e.Role {
	case session.RoleUser:
		classes = append(classes, "prompt")
	case session.RoleAssistant:
		classes = append(classes, "reply")
	}
	if e.IsError {
		classes = append(classes, "error")
	}
	if s.Branches && e.Branch == entry.BranchAbandoned {
		classes = append(classes, "abandoned")
	}
	x := &htmlEntry{
		Anchor: anchor, Class: strings.Join(classes, " "), Title: entryTitle(e), ID: terminal.Clean(e.ID),
		Notes: strings.Join(entryNotes(s, e), " · "),
	}
	for i := range e.View.Blocks {
		x.Blocks = append(x.Blocks, newHTMLBlock(e, &e.View.Blocks[i]))
	}
	return x
}

func newHTMLBlock(e *entry.Entry, block *session.Block) (x htmlBlock) {
	switch {
	case block.Call != nil:
		x.Call = newHTMLCall(block.Call)
	case block.Shell != nil:
		x.Command, x.Output = tidy([]byte(block.Shell.Command)), newHTMLOutput("output", block.Text, e.IsError)
		if sh := block.Shell; sh.Cancelled {
			x.End = "cancelled"
		} else if sh.HasExit && sh.ExitCode != 0 {
			x.End = fmt.Sprintf("exit %d", sh.ExitCode)
		}
	case block.Image != nil:
		x.Picture = &htmlPicture{Text: imageText(block.Image)}
		if isShownImage(block.Image) {
			x.Picture.Source = template.URL("data:" + block.Image.MimeType + ";base64," + string(block.Image.Base64))
		}
		x.Prose = newHTMLProse(block.Text)
	case block.Kind == session.KindError:
		x.Problem = tidy(block.Text)
	case block.Kind == session.KindThinking:
		x.Folded, x.Prose = "thinking", newHTMLProse(block.Text)
	case isProse(block.Kind) && e.Role != session.RoleToolResult:
		x.Prose = newHTMLProse(block.Text)
	case isRemark(block):
		x.Text = terminal.Clean(string(block.Text))
	case block.Kind == session.KindResult:
		x.Output = newHTMLOutput("result", block.Text, e.IsError)
	default:
		x.Output = newHTMLOutput(string(block.Kind), block.Text, false)
	}
	return x
}

func newHTMLCall(c *session.Call) *htmlCall {
	x := &htmlCall{Nested: c.Nested, Failed: c.Failed, Tool: terminal.Clean(c.Tool)}
	command, ok := commandOf(c)
	if ok {
		x.Command = tidy([]byte(command))
	}
	for _, a := range c.Arguments {
		if ok && a.Text && string(a.Value) == command {
			ok = false
			continue
		}
		x.Arguments = append(x.Arguments, htmlArgument{terminal.Clean(a.Name), strings.Trim(tidy(a.Value), "\n")})
	}
	if len(c.Arguments) == 0 {
		x.Raw = tidy(c.Raw)
	}
	return x
}

// newHTMLOutput is the output of a tool or command; nil if it is empty.
func newHTMLOutput(what string, text []byte, failed bool) *htmlOutput {
	s := strings.Trim(tidy(text), "\n")
	if s == "" {
		return nil
	}
	n := strings.Count(s, "\n") + 1
	return &htmlOutput{What: what, Lines: human.Plural(n, "line", "lines"), Text: s, Open: n <= openLines && len(s) < 4000, Failed: failed}
}

// htmlProse is a piece of Markdown: a code block, or lines with headings, bold text
// and code. All other markup stays as it was typed.
type htmlProse struct {
	Code  bool
	Text  string // of a code block
	Lines []htmlLine
}

type htmlLine struct {
	Break   string // before it
	Heading bool
	Spans   []htmlSpan
}

type htmlSpan struct {
	Text string
	Code bool
	Bold []htmlSpan // instead of Text
}

func newHTMLProse(text []byte) (all []htmlProse) {
	var run []htmlLine
	code, inCode := []string{}, false
	flush := func() {
		blank := func(l htmlLine) bool { return len(l.Spans) == 0 }
		for len(run) > 0 && blank(run[0]) {
			run = run[1:]
		}
		for len(run) > 0 && blank(run[len(run)-1]) {
			run = run[:len(run)-1]
		}
		if len(run) > 0 {
			run[0].Break = ""
			all = append(all, htmlProse{Lines: run})
		}
		run = nil
	}
	endCode := func() {
		all = append(all, htmlProse{Code: true, Text: strings.Join(code, "\n")})
		code, inCode = code[:0], false
	}
	for _, l := range markdown(text, 0) {
		switch {
		case l.look == lookFence && !inCode:
			flush()
			inCode = true
		case l.look == lookFence:
			endCode()
		case inCode:
			code = append(code, l.text)
		case l.look == lookHeading:
			run = append(run, htmlLine{"\n", true, spansOf(strings.TrimLeft(l.text, "# "))})
		default:
			run = append(run, htmlLine{"\n", false, spansOf(l.text)})
		}
	}
	if inCode {
		endCode()
	}
	flush()
	return all
}

// spansIn matches code, and bold text that may contain code.
var spansIn = regexp.MustCompile("`[^`]+`|\\*\\*(?:[^*`]|`[^`]+`)+\\*\\*")

// spansOf splits a line into plain text, code and bold text.
func spansOf(s string) (spans []htmlSpan) {
	at := 0
	for _, m := range append(spansIn.FindAllStringIndex(s, -1), []int{len(s), len(s)}) {
		if m[0] > at {
			spans = append(spans, htmlSpan{Text: s[at:m[0]]})
		}
		switch found := s[m[0]:m[1]]; {
		case found == "":
		case found[0] == '`':
			spans = append(spans, htmlSpan{Text: strings.Trim(found, "`"), Code: true})
		default:
			spans = append(spans, htmlSpan{Bold: spansOf(found[2 : len(found)-2])})
		}
		at = m[1]
	}
	return spans
}

// isShownImage reports whether the image is safe to embed: of a type that cannot
// contain scripts, and valid base64.
func isShownImage(i *session.Image) bool {
	switch i.MimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return false
	}
	for _, c := range i.Base64 {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return len(i.Base64) > 0
}
