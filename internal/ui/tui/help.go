package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
)

// help is the table of keys as an overlay.
type help struct{ top, height int }

func (m *Model) toggleHelp() tea.Cmd {
	if m.help != nil {
		m.help = nil
	} else {
		m.help = &help{}
	}
	return nil
}

func (h *help) scroll(n int) { h.top += n }

// render returns height lines, each width cells wide.
func (h *help) render(v view, width, height int) []string {
	const column = 28
	var all []string
	for i, g := range Keys() {
		if i > 0 {
			all = append(all, "")
		}
		all = append(all, v.title.Render(g.Title))
		for _, r := range g.Rows {
			keys, indent := "  "+r.Keys, column
			if width < 2*column {
				indent = 6
			}
			room := max(8, width-indent)
			text := strings.Split(ansi.Wordwrap(r.Help, room, ""), "\n")
			if terminal.Width(keys)+2 > indent {
				all = append(all, v.prompt.Render(keys))
				keys = ""
			}
			for _, t := range text {
				all = append(all, v.prompt.Render(terminal.Fit(keys, indent))+t)
				keys = ""
			}
		}
	}
	h.height = height
	h.top = max(0, min(h.top, len(all)-height))
	lines := make([]string, 0, height)
	for _, l := range all[h.top:] {
		if len(lines) < height {
			lines = append(lines, terminal.Fit(l, width))
		}
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}
