package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/query/sessions"
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

func (m *Model) openFilters() tea.Cmd {
	m.setMenu(m.filterMenu("", nil))
	ctx, facets := m.ctx, m.options.Facets
	return command(func() then {
		list, err := facets(ctx)
		return func(m *Model) tea.Cmd { return m.fillFilters(list, err) }
	})
}

// fillFilters fills the menu, if it is still open.
func (m *Model) fillFilters(list []sessions.Facet, err error) tea.Cmd {
	if m.menu == nil || m.menu.empty != reading {
		return nil
	}
	if err != nil {
		m.setMenu(nil)
		m.complain(err)
		return nil
	}
	narrow, at, field := m.menu.narrow, m.menu.at, m.menu.field
	m.setMenu(m.filterMenu(field, list))
	m.menu.narrow, m.menu.at = narrow, at
	m.menu.filter()
	return m.countFacets(field, list)
}

// filterMenu returns a menu of the fields, or of the values of one field. Typing searches
// all values at once.
func (m *Model) filterMenu(field string, facets []sessions.Facet) *menu {
	var choices []choice
	title := "filter"
	for _, f := range facetFields {
		switch field {
		case "":
			value := strings.Join(syntax.FieldValues(m.query.text, f.field), ", ")
			choices = append(choices, choice{label: f.label, note: terminal.Clean(value), on: value != "", value: f.field, do: func(m *Model) tea.Cmd {
				m.setMenu(m.filterMenu(f.field, facets))
				return m.countFacets(f.field, facets)
			}})
		case f.field:
			title += " by " + f.label
		}
	}
	for _, f := range facets {
		if field != "" && f.Field != field {
			continue
		}
		c := choice{label: terminal.Clean(f.Value), value: f.Field + ":" + f.Value, deep: field == "", do: func(m *Model) tea.Cmd {
			m.setFilter(f)
			return nil
		}}
		if name, ok := dateNames[f.Value]; ok && f.Field == "after" {
			c.note = name
		} else if f.Count > 0 && m.isEmpty() {
			c.note = human.Plural(f.Count, f.Unit, f.Unit+"s")
		}
		c.on = slices.Contains(syntax.FieldValues(m.query.text, f.Field), f.Value)
		if field == "" {
			c.label = f.Field + ":" + c.label
		}
		choices = append(choices, c)
	}
	facetOf := func(c choice) (sessions.Facet, bool) {
		i := slices.IndexFunc(facets, func(f sessions.Facet) bool { return c.value == f.Field+":"+f.Value })
		if i < 0 {
			return sessions.Facet{}, false
		}
		return facets[i], true
	}
	empty := "none in these sessions"
	if facets == nil {
		empty = reading
	}
	menu := newMenu(title, empty, choices)
	menu.field = field
	if field != "" {
		menu.mark = func(m *Model, c choice) {
			if f, ok := facetOf(c); ok {
				m.toggleFilter(f)
			}
			for _, list := range [][]choice{menu.choices, menu.shown} {
				for i := range list {
					f, _ := facetOf(list[i])
					list[i].on = slices.Contains(syntax.FieldValues(m.query.text, field), f.Value)
				}
			}
		}
		menu.back = func(m *Model) bool {
			m.setMenu(m.filterMenu("", facets))
			return true
		}
	}
	return menu
}

// countTime bounds the counting of hits; values not counted by then have no number.
const countTime = time.Second

// countFacets counts the hits that the current query would have with each value of a field.
// Without a query, facets have their numbers already.
func (m *Model) countFacets(field string, facets []sessions.Facet) tea.Cmd {
	if field == "" || facets == nil || m.isEmpty() {
		return nil
	}
	text, req, now := m.query.text, m.narrow(m.request), m.options.Now
	req.Env.Now = now()
	count, menu := m.options.Count, m.menu
	ctx, stop := context.WithTimeout(m.ctx, countTime)
	menu.counting = &job{stop}
	return command(func() then {
		defer stop()
		notes := make(map[string]string) // by the value of the choice
		for _, f := range facets {
			if f.Field != field {
				continue
			}
			r := req
			r.Text = syntax.SetField(text, field, f.Value)
			if field == "kind" && !scopeOf(r).Holds(session.Kind(f.Value)) {
				r.Scope = scope.All
			}
			n, err := count(ctx, r)
			if err != nil { // out of time, or an error of the index, which the search shows
				break
			}
			note := human.Plural(n.Total, "hit", "hits")
			if partial := n.TotalAny - n.Minor; n.Total == 0 && partial > 0 {
				note = human.Number(partial) + " partial"
			}
			notes[f.Field+":"+f.Value] = note
		}
		return func(m *Model) tea.Cmd {
			if m.menu == menu {
				menu.annotate(notes)
			}
			return nil
		}
	})
}

// annotate adds the numbers of hits to the choices.
func (m *menu) annotate(notes map[string]string) {
	for _, list := range [][]choice{m.choices, m.shown} {
		for i := range list {
			if note, ok := notes[list[i].value]; ok {
				list[i].note = note
				if name, ok := dateNames[list[i].label]; ok {
					list[i].note = name + " · " + note
				}
			}
		}
	}
}

// toggleFilter adds a value to its field or removes it. A field with a single value is
// changed to this one.
func (m *Model) toggleFilter(f sessions.Facet) {
	values := syntax.FieldValues(m.query.text, f.Field)
	row := filter.LookupField(f.Field)
	switch i := slices.Index(values, f.Value); {
	case i >= 0:
		values = slices.Delete(values, i, i+1)
	case row != nil && row.Many:
		values = append(values, f.Value)
	default:
		values = []string{f.Value}
	}
	m.setField(f.Field, values...)
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
