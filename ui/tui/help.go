package tui

import (
	"slices"
	"strings"

	bubbles "charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
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

// keyHelp returns the renderer of keys and what they do, for a width.
func (v view) keyHelp(width int) bubbles.Model {
	h := bubbles.New()
	h.ShortSeparator = " · "
	h.Styles = bubbles.Styles{Ellipsis: v.dim, ShortKey: v.dim, ShortDesc: v.dim, ShortSeparator: v.dim}
	h.SetWidth(width)
	return h
}

// signs are what the screen shows beside texts.
var signs = KeyGroup{Title: "Signs", Rows: []KeyRow{
	{Keys: "✗", Help: "failed: an error, or a command that ended with one"},
	{Keys: "▶", Help: "the hit"},
	{Keys: "▎", Help: "the entry that is read"},
}}

// keyColumn is the maximum width of the column of keys in help.
const keyColumn = 26

// render returns height lines, each width cells wide.
func (h *help) render(v view, groups []KeyGroup, width, height int) []string {
	column := min(keyColumn, width/3)
	var all []string
	for i, g := range groups {
		if i > 0 {
			all = append(all, "")
		}
		all = append(all, v.title.Render(g.Title))
		for _, r := range g.Rows {
			keys := strings.Split(ansi.Wordwrap(r.Keys, column, ""), "\n")
			text := strings.Split(ansi.Wordwrap(r.Help, max(8, width-column-4), ""), "\n")
			for i := range max(len(keys), len(text)) {
				k, t := "", ""
				if i < len(keys) {
					k = keys[i]
				}
				if i < len(text) {
					t = text[i]
				}
				all = append(all, v.prompt.Render("  "+terminal.Fit(k, column))+"  "+t)
			}
		}
	}
	h.height = height
	h.top = max(0, min(h.top, len(all)-height))
	lines := all[h.top:min(len(all), h.top+height)]
	for i := range lines {
		lines[i] = terminal.Fit(lines[i], width)
	}
	return filled(lines, width, height)
}

// hint returns the key of an action, for the last line.
func (m *Model) hint(name, what string) key.Binding {
	i := slices.IndexFunc(m.keys, func(b binding) bool { return b.name == name })
	if i < 0 || len(m.keys[i].keys) == 0 {
		return key.NewBinding(key.WithDisabled())
	}
	return fixedHint(keyName(m.keys[i].keys[0]), what)
}

// fixedHint is the hint for a key that cannot be changed.
func fixedHint(name, what string) key.Binding {
	return key.NewBinding(key.WithKeys(name), key.WithHelp(name, what))
}

// hints returns the most important keys of the part that has the focus, the most important
// first.
func (m *Model) hints() []key.Binding {
	switch m.place() {
	case inHelp:
		return []key.Binding{fixedHint("Esc", "back")}
	case inMenu:
		hints := []key.Binding{fixedHint("Enter", "choose"), fixedHint("Esc", "back")}
		if m.menu.mark != nil {
			hints = append(hints, m.hint("mark", "choose several"))
		}
		return hints
	case inFind:
		return []key.Binding{fixedHint("Enter", "done"), fixedHint("Esc", "cancel")}
	case inPreview:
		fold := m.hint("unfold", "unfold")
		if m.preview.isOpen() {
			fold = m.hint("unfold", "fold")
		}
		switch {
		case m.preview.find.text() != "":
			return []key.Binding{fixedHint("Esc", "end of search"), m.hint("find-next", "next"), m.hint("find-previous", "previous"), fold}
		case m.panes.zoom:
			return []key.Binding{fixedHint("Esc", "back to the list"), fixedHint("?", "help"), m.hint("find", "find"), fold, m.hint("find-next", "next hit")}
		}
		return []key.Binding{fixedHint("?", "help"), m.hint("switch-pane", "back"), m.hint("find", "find"), fold, m.hint("find-next", "next hit"), m.hint("zoom", "zoom")}
	}
	help := m.hint("help", "help")
	if m.isEmpty() {
		help = fixedHint("?", "help")
	}
	enter, filter, read := fixedHint("Enter", "resume"), m.hint("filters", "filter"), m.hint("pager", "read")
	switch {
	case m.panes.hide:
		return []key.Binding{m.hint("hide-preview", "preview"), enter, help}
	case m.width < previewFrom: // there may be room for one
		return []key.Binding{help, enter, filter, read, m.hint("switch-pane", "preview")}
	}
	return []key.Binding{enter, m.hint("switch-pane", "preview"), help, filter, read}
}
