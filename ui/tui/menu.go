package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/terminal"
	"pigrep/query/sessions"
)

// menu is a list of choices, which typing narrows.
type menu struct {
	title   string
	field   string // of filters
	choices []choice
	mark    func(m *Model, f sessions.Facet)    // the action of Tab, which chooses several; nil for none
	typed   func(m *Model, text string) tea.Cmd // takes a text that no choice has; nil: there must be one
	back    func(m *Model) bool                 // the action of Esc; nil, or a result of false, closes the menu
	marked  bool                                // Tab has chosen something

	counting *job // adds notes to the choices; nil for none

	narrow input
	shown  []*choice // those of choices that pass narrow
	at     int
	top    int
	height int
	empty  string // shown when there are no choices
}

// choice is a line of a menu.
type choice struct {
	label string // cleaned
	note  string
	on    bool           // it applies already
	off   string         // why it cannot be chosen now; "" if it can
	none  bool           // a filter that leaves no hit
	deep  bool           // hidden until the list is narrowed
	facet sessions.Facet // of a filter

	do func(*Model) tea.Cmd // the action of Enter, after the menu was closed
}

func newMenu(title, empty string, choices []choice) *menu {
	m := &menu{title: title, empty: empty, choices: choices}
	m.filter()
	return m
}

// setMenu shows a menu, or none. It ends what is still counted for the one before.
func (m *Model) setMenu(next *menu) {
	if m.menu != nil && m.menu.counting != nil {
		m.menu.counting.stop()
	}
	m.menu = next
}

// filter keeps the choices that contain every typed word.
func (m *menu) filter() {
	m.shown = m.shown[:0]
	words := strings.Fields(strings.ToLower(m.narrow.text))
next:
	for i := range m.choices {
		c := &m.choices[i]
		if c.deep && len(words) == 0 {
			continue
		}
		label := strings.ToLower(c.label)
		for _, w := range words {
			if !strings.Contains(label, w) {
				continue next
			}
		}
		m.shown = append(m.shown, c)
	}
	m.move(0)
}

// choose applies the selected choice of the menu. After Tab, all that is chosen applies already.
func (m *Model) choose() tea.Cmd {
	menu := m.menu
	if len(menu.shown) == 0 {
		if menu.typed == nil || menu.narrow.text == "" {
			return nil
		}
		m.setMenu(nil)
		return menu.typed(m, menu.narrow.text)
	}
	c := menu.shown[menu.at]
	if c.off != "" {
		m.say("%s", c.off)
		return nil
	}
	m.setMenu(nil)
	if menu.marked {
		return nil
	}
	before := m.query.text
	cmd := c.do(m)
	if m.query.text == before {
		return cmd
	}
	return tea.Batch(cmd, m.changed())
}

// mark toggles the choice of the current item and moves to the next.
func (m *Model) mark() tea.Cmd {
	menu := m.menu
	if menu.mark == nil || len(menu.shown) == 0 {
		return nil
	}
	before := m.query.text
	menu.mark(m, menu.shown[menu.at].facet)
	menu.marked = true
	menu.move(1)
	if m.query.text == before {
		return nil
	}
	return m.changed()
}

func (m *menu) move(n int) { m.at = max(0, min(len(m.shown)-1, m.at+n)) }

// render returns height lines, each width cells wide, and the cell of the cursor
// in the first.
func (m *menu) render(v view, width, height int) (lines []string, cursor int) {
	head := m.title + ": "
	text, cursor := m.narrow.render(width - terminal.Width(head))
	cursor += terminal.Width(head)
	lines = append(lines, terminal.Fit(v.prompt.Render(head)+text, width))
	m.height = max(1, height-1)
	if m.at < m.top {
		m.top = m.at
	}
	m.top = max(0, min(max(m.top, m.at-m.height+1), len(m.shown)-m.height))
	for i := m.top; i < len(m.shown) && len(lines) < height; i++ {
		lines = append(lines, m.line(v, i, width))
	}
	if len(m.shown) == 0 && height > 1 {
		text := m.empty
		switch {
		case m.typed != nil && m.narrow.text != "":
			text = "Enter takes what you typed"
		case len(m.choices) > 0:
			text = "no match"
		}
		lines = append(lines, terminal.Fit("  "+v.dim.Render(text), width))
	}
	return filled(lines, width, height), cursor
}

func (m *menu) line(v view, i, width int) string {
	c := m.shown[i]
	p := painter{chosen: i == m.at, selected: v.selected}
	margin, mark := "  ", "  "
	if i == m.at {
		margin = "▌ "
	}
	if c.on {
		mark = "✓ "
	}
	look := v.plain
	if c.off != "" {
		look = v.dim
	}
	line := p.paint(v.mark, margin) + p.paint(v.title, mark) + p.paint(look, terminal.Clip(c.label, width-4))
	if c.note != "" {
		if room := width - terminal.Width(line) - 2; room >= terminal.Width(c.note) {
			line += p.paint(v.dim, "  "+c.note)
		}
	}
	return line + p.paint(v.plain, strings.Repeat(" ", max(0, width-terminal.Width(line))))
}
