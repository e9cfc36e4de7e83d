package html

import (
	"fmt"
	"html/template"
	"strings"
	"unsafe"

	"pigrep/internal/terminal"
	"pigrep/ui/diff"
	"pigrep/ui/highlight"
	"pigrep/ui/transcript"
)

// code is a text in a language, or of a file with that name.
func (x *writer) code(language string, text []byte) template.HTML {
	return x.highlight(language, strings.Trim(visible(text), "\n"))
}

// with returns the fold with a text as code. If it is not highlighted, its HTML is made as
// it is written: there may be much of it.
func (f fold) with(x *writer, language string, text []byte) *fold {
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

// edits adds what the call did to files.
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

// Visible is Line for a piece of a line, whose white space stays.
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
