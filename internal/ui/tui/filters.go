package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/sessions"
	"pigrep/query/syntax"
	"pigrep/scope"
)

// The filter menu edits the text of the query, where filters can be seen, changed and
// removed.

// facetFields are the fields of the menu, in order.
var facetFields = []struct{ field, label string }{
	{"kind", "kind"}, {"tool", "tool"}, {"project", "project"}, {"model", "model"}, {"after", "date"}, {"branch", "branch"},
}

// dateNames describe the usual values of after:.
var dateNames = map[string]string{
	"today": "today", "yesterday": "since yesterday", "1w": "the last week", "2w": "the last two weeks",
	"1mo": "the last month", "3mo": "the last three months", "1y": "the last year",
}

// reading is shown until there is something to show.
const reading = "reading …"

// facetsMsg is the result of Backend.Facets.
type facetsMsg struct {
	list []sessions.Facet
	err  error
}

func (m *Model) openFilters() tea.Cmd {
	m.menu = m.filterMenu("", nil)
	m.menu.empty = reading
	ctx, facets := m.ctx, m.options.Facets
	return command(func() tea.Msg {
		list, err := facets(ctx)
		return facetsMsg{list, err}
	})
}

// facetsCame fills the menu, if it is still open.
func (m *Model) facetsCame(msg facetsMsg) {
	if m.menu == nil || m.menu.empty != reading {
		return
	}
	if msg.err != nil {
		m.menu = nil
		m.complain(msg.err)
		return
	}
	narrow := m.menu.narrow
	m.menu = m.filterMenu("", msg.list)
	m.menu.narrow = narrow
	m.menu.filter()
}

// filterMenu returns a menu of the fields, or of the values of one field. Typing searches
// all values at once.
func (m *Model) filterMenu(field string, facets []sessions.Facet) *menu {
	var choices []choice
	title := "filter"
	if field == "" {
		for _, f := range facetFields {
			value := strings.Join(syntax.FieldValues(m.query.text, f.field), ", ")
			choices = append(choices, choice{label: f.label, note: terminal.Clean(value), on: value != "", value: f.field})
		}
	}
	for _, f := range facets {
		if field != "" && f.Field != field {
			continue
		}
		c := choice{label: terminal.Clean(f.Value), value: f.Field + ":" + f.Value, deep: field == ""}
		if name, ok := dateNames[f.Value]; ok && f.Field == "after" {
			c.note = name
		} else if f.Count > 0 {
			c.note = human.Plural(f.Count, f.Unit, f.Unit+"s")
		}
		c.on = slices.Contains(syntax.FieldValues(m.query.text, f.Field), f.Value)
		if field == "" {
			c.label = f.Field + ":" + c.label
		}
		choices = append(choices, c)
	}
	for _, f := range facetFields {
		if f.field == field {
			title += " by " + f.label
		}
	}
	menu := newMenu(title, "none in these sessions", choices, func(m *Model, c choice) {
		for _, f := range facetFields {
			if c.value == f.field {
				m.menu = m.filterMenu(f.field, facets)
				return
			}
		}
		for _, f := range facets {
			if c.value == f.Field+":"+f.Value {
				m.setFilter(f)
			}
		}
	})
	if field != "" {
		menu.back = func(m *Model) bool {
			m.menu = m.filterMenu("", facets)
			return true
		}
	}
	return menu
}

// setFilter writes a filter into the query in place of the values that its field has. The same
// filter again removes it.
func (m *Model) setFilter(f sessions.Facet) {
	if values := syntax.FieldValues(m.query.text, f.Field); len(values) == 1 && values[0] == f.Value {
		m.setField(f.Field)
		return
	}
	m.setField(f.Field, f.Value)
}

// setField writes the values of a field into the query. It widens the scope to include the
// kinds.
func (m *Model) setField(name string, values ...string) {
	m.query.set(syntax.SetField(m.query.text, name, values...))
	if name == "kind" && slices.ContainsFunc(values, func(v string) bool { return !m.scope().Holds(session.Kind(v)) }) {
		m.request.Scope = scope.All
		m.say("scope: %s, which includes this kind", scope.All)
	}
}
