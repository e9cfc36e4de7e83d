package tui

import (
	"image/color"

	"charm.land/lipgloss/v2"

	"pigrep/internal/session"
)

// styles are the styles of the screen. No information is conveyed by colour alone: a
// word, a sign or an attribute repeats it.
type styles struct {
	plain, title, dim, match, found, current, prompt, notice, problem, mark lipgloss.Style

	selected color.Color // background of the selected line
	kinds    map[session.Kind]lipgloss.Style
}

// role is what a colour is for.
type role struct {
	name, help  string
	light, dark string // the colours, as lipgloss writes them; "" for that of the terminal
}

// colors returns the colours as they are written in the settings file.
func (r role) colors() []string {
	if r.light == r.dark {
		return []string{colorName(r.light)}
	}
	return []string{colorName(r.light), colorName(r.dark)}
}

// roles is the one table of colours; styles, docs and settings are made from it.
var roles = []role{
	{"match", "words that match, and the mark of the selection", "1", "9"},
	{"prompt", "the sign before the query, and names of keys", "4", "12"},
	{"title", "titles of sessions", "", ""},
	{"dim", "directories, ages, hints and rules", "", ""},
	{"notice", "messages, and toggles that are on", "130", "3"},
	{"error", "errors", "1", "9"},
	{"selection", "background of the selected hit", "254", "237"},
	{"kind-prompt", "the word prompt before a hit", "28", "2"},
	{"kind-reply", "the word reply", "4", "12"},
	{"kind-thinking", "the word thinking", "5", "13"},
	{"kind-call", "the words call and shell", "130", "3"},
	{"kind-result", "the word result", "30", "6"},
}

// newStyles returns the styles for a dark or a light background, with the colours of a
// Config.
func newStyles(dark bool, colors map[string][]string) styles {
	colour := func(name string) color.Color {
		for _, r := range roles {
			if r.name != name {
				continue
			}
			light, onDark := r.light, r.dark
			if c := colors[name]; len(c) > 0 {
				light, _ = parseColor(c[0])
				onDark, _ = parseColor(c[len(c)-1])
			}
			return lipgloss.LightDark(dark)(lipgloss.Color(light), lipgloss.Color(onDark))
		}
		panic("no role " + name)
	}
	plain := lipgloss.NewStyle()
	in := func(name string) lipgloss.Style { return plain.Foreground(colour(name)) }
	call := in("kind-call")
	return styles{
		plain:    plain,
		title:    in("title").Bold(true),
		dim:      in("dim").Faint(len(colors["dim"]) == 0),
		match:    in("match").Bold(true),
		found:    plain.Reverse(true),
		current:  in("match").Bold(true).Reverse(true),
		prompt:   in("prompt").Bold(true),
		notice:   in("notice"),
		problem:  in("error").Bold(true),
		mark:     in("match").Bold(true),
		selected: colour("selection"),
		kinds: map[session.Kind]lipgloss.Style{
			session.KindPrompt: in("kind-prompt"), session.KindReply: in("kind-reply"), session.KindThinking: in("kind-thinking"),
			session.KindCall: call, session.KindShell: call, session.KindResult: in("kind-result"), session.KindError: in("error"),
		},
	}
}
