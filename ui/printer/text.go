package printer

import (
	"bytes"
	"io"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/session"
)

// text writes for people.
type text struct {
	w io.Writer
	Look
	line bytes.Buffer // the current row of a table
}

// The styles. They only use attributes and the sixteen basic colours.
var (
	titleLook = ansi.NewStyle().Bold()
	dimLook   = ansi.NewStyle().Faint()
	matchLook = ansi.NewStyle().Bold().ForegroundColor(ansi.Red)
	errorLook = ansi.NewStyle().ForegroundColor(ansi.Red)
)

// kindLooks are the colours of kinds: they show who spoke.
var kindLooks = map[session.Kind]ansi.Style{
	session.KindPrompt:   ansi.NewStyle().ForegroundColor(ansi.Green),
	session.KindReply:    ansi.NewStyle().ForegroundColor(ansi.Blue),
	session.KindThinking: ansi.NewStyle().ForegroundColor(ansi.Magenta),
	session.KindCall:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindResult:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	session.KindShell:    ansi.NewStyle().ForegroundColor(ansi.Yellow),
	session.KindError:    errorLook,
}

func (t *text) style(s ansi.Style, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return s.Styled(text)
}

func (t *text) dim(s string) string { return t.style(dimLook, s) }
