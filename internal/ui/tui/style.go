package tui

import (
	"image/color"

	"charm.land/lipgloss/v2"

	"pigrep/internal/session"
)

// styles are the styles of the screen. No information is in a colour alone: a word, a
// sign or an attribute repeats it.
type styles struct {
	plain, title, dim, match, found, prompt, notice, problem, mark lipgloss.Style

	selected color.Color // background of the selected line
	kinds    map[session.Kind]lipgloss.Style
}

// newStyles returns the styles for a dark or a light background.
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
