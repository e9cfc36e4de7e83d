package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
)

// styles are the looks of the screen. What a colour says is said by a word, a
// sign or an attribute too.
type styles struct {
	plain, title, dim, match, found, prompt, notice, problem, mark lipgloss.Style

	selected color.Color // the background of the selected line
	kinds    map[session.Kind]lipgloss.Style
}

// newStyles returns the looks for a terminal with a dark or a light background.
func newStyles(dark bool) styles {
	plain := lipgloss.NewStyle()
	pick := lipgloss.LightDark(dark)
	colour := func(light, dark string) lipgloss.Style {
		return plain.Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	red, green, yellow := colour("1", "9"), colour("28", "2"), colour("130", "3")
	blue, magenta, cyan := colour("4", "12"), colour("5", "13"), colour("30", "6")
	return styles{
		plain:    plain,
		title:    plain.Bold(true),
		dim:      plain.Faint(true),
		match:    red.Bold(true),
		found:    plain.Reverse(true),
		prompt:   blue.Bold(true),
		notice:   yellow,
		problem:  red.Bold(true),
		mark:     red.Bold(true),
		selected: pick(lipgloss.Color("254"), lipgloss.Color("237")),
		kinds: map[session.Kind]lipgloss.Style{
			session.KindPrompt: green, session.KindReply: blue, session.KindThinking: magenta,
			session.KindCall: yellow, session.KindShell: yellow, session.KindResult: cyan, session.KindError: red,
		},
	}
}

// clip shortens a line to at most width cells, at the end.
func clip(s string, width int) string { return ansi.Truncate(s, max(0, width), "…") }

// clipLeft shortens a line to at most width cells, at the beginning.
func clipLeft(s string, width int) string {
	if n := ansi.StringWidth(s); n > width {
		return ansi.TruncateLeft(s, n-max(0, width-1), "…")
	}
	return s
}

// fit makes a line exactly width cells wide.
func fit(s string, width int) string {
	n := ansi.StringWidth(s)
	if n > width {
		s = clip(s, width)
		n = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(0, width-n))
}

// harmless is text of a session as it may stand in a line of a screen.
func harmless(s string) string { return terminal.Clean(s) }
