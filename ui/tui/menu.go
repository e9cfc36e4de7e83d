package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
)

// menu is a list of choices, which typing narrows.
type menu struct {
	title   string
	choices []choice
	mark    func(m *Model, f sessions.Facet)    // the action of Tab, which chooses several; nil for none
	typed   func(m *Model, text string) tea.Cmd // takes a text that no choice has; nil: there must be one
	back    func(m *Model) tea.Cmd              // the action of Esc; nil closes the menu
	marked  bool                                // Tab has chosen something

	running context.CancelFunc // stops what fills in the choices or counts their hits; nil if nothing does

	narrow input
	shown  []*choice // the choices that pass narrow
	at     int
	top    int
	height int
	empty  string // shown when there are no choices

	// Of filters:
	field  string           // whose values it shows; "" for the fields
	facets []sessions.Facet // nil until they are known
	counts map[sessions.Facet]search.Counts
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
	if m.menu != nil && m.menu.running != nil {
		m.menu.running()
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
	v.chosen = i == m.at
	margin, mark := "  ", "  "
	if v.chosen {
		margin = "▌ "
	}
	if c.on {
		mark = "✓ "
	}
	look := v.plain
	if c.off != "" {
		look = v.dim
	}
	line := v.paint(v.mark, margin) + v.paint(v.title, mark) + v.paint(look, terminal.Clip(c.label, width-4))
	if c.note != "" {
		if room := width - terminal.Width(line) - 2; room >= terminal.Width(c.note) {
			line += v.paint(v.dim, "  "+c.note)
		}
	}
	return v.fill(line, width)
}

// The filter menu edits the text of the query, where filters can be seen, changed and
// removed.

var facetFields = []string{"kind", "tool", "agent", "host", "project", "model", "after", "branch"}

func fieldLabel(field string) string {
	if field == "after" {
		return "date"
	}
	return field
}

// dateNames describe the usual values of after:.
var dateNames = map[string]string{
	"today": "today", "yesterday": "since yesterday", "1w": "the last week", "2w": "the last two weeks",
	"1mo": "the last month", "3mo": "the last three months", "1y": "the last year",
}

// reading is shown until there is something to show.
const reading = "reading …"

func (m *Model) openFilters() tea.Cmd {
	menu := &menu{empty: reading}
	m.showFilters(menu, "")
	ctx, facets := m.ctx, m.options.Facets
	return command(func() then {
		list, err := facets(ctx)
		return func(m *Model) tea.Cmd {
			switch {
			case m.menu != menu:
				return nil
			case err != nil:
				m.setMenu(nil)
				m.complain(err)
				return nil
			}
			menu.facets, menu.empty = list, "none in these sessions"
			m.fillFilters(menu)
			return m.countFacets(menu)
		}
	})
}

// showFilters lets a menu show the fields, or the values of one field. Typing searches all values
// at once.
func (m *Model) showFilters(menu *menu, field string) tea.Cmd {
	m.setMenu(menu)
	menu.field, menu.title, menu.mark, menu.back = field, "filter", nil, nil
	menu.narrow, menu.at, menu.marked, menu.counts = input{}, 0, false, nil
	if field != "" {
		menu.title += " by " + fieldLabel(field)
		menu.mark = func(m *Model, f sessions.Facet) {
			m.toggleFilter(f)
			m.fillFilters(menu)
		}
		menu.back = func(m *Model) tea.Cmd { return m.showFilters(menu, "") }
	}
	m.fillFilters(menu)
	return m.countFacets(menu)
}

// fillFilters lists the choices of a menu of filters. The selection stays on its value.
func (m *Model) fillFilters(menu *menu) {
	var selected sessions.Facet
	if len(menu.shown) > 0 {
		selected = menu.shown[menu.at].facet
	}
	menu.choices = m.valueChoices(menu)
	if menu.field == "" {
		menu.choices = append(m.fieldChoices(menu), menu.choices...)
	}
	menu.filter()
	if selected != (sessions.Facet{}) {
		menu.at = max(0, slices.IndexFunc(menu.shown, func(c *choice) bool { return c.facet == selected }))
	}
}

// fieldChoices returns the choices that lead to the values of a field.
func (m *Model) fieldChoices(menu *menu) []choice {
	var choices []choice
	for _, field := range facetFields {
		if field == filter.Agent && !m.search.several || field == filter.Host && !slices.ContainsFunc(menu.facets, func(f sessions.Facet) bool { return f.Field == field }) {
			continue // all have the same
		}
		value := strings.Join(syntax.FieldValues(m.query.text, field), ", ")
		choices = append(choices, choice{label: fieldLabel(field), note: terminal.Clean(value), on: value != "", do: func(m *Model) tea.Cmd {
			return m.showFilters(menu, field)
		}})
	}
	return choices
}

// valueChoices returns the values of a field or, without a field, the values of all fields, which
// are hidden until something is typed. Those with the most hits come first, except dates, which have
// their order.
func (m *Model) valueChoices(menu *menu) []choice {
	var choices []choice
	for _, f := range menu.facets {
		if menu.field != "" && f.Field != menu.field {
			continue
		}
		set := syntax.FieldValues(m.query.text, f.Field)
		c := choice{label: terminal.Clean(f.Value), facet: f, on: slices.Contains(set, f.Value), deep: menu.field == ""}
		c.do = func(m *Model) tea.Cmd { // the same filter again removes it
			if slices.Equal(set, []string{f.Value}) {
				m.setField(f.Field)
			} else {
				m.setField(f.Field, f.Value)
			}
			return nil
		}
		if f.Field == "after" {
			c.note = dateNames[f.Value]
		}
		if n, ok := menu.counts[f]; ok {
			hits := human.Plural(n.Total, "hit", "hits")
			if n.Total == 0 && n.Looser() > 0 {
				hits = human.Number(n.Looser()) + " looser"
			}
			c.note = human.Joined(" · ", c.note, hits)
			c.none = n.Total == 0 && n.Looser() == 0
		} else if c.note == "" && f.Count > 0 && m.isEmpty() {
			c.note = human.Plural(f.Count, f.Unit, f.Unit+"s")
		}
		if menu.field == "" {
			c.label = f.Field + ":" + c.label
		}
		choices = append(choices, c)
	}
	if menu.field != "after" {
		rank := func(c choice) int { // those that are not counted yet stand between the others
			if c.none {
				return 1
			}
			return 0
		}
		lists.SortStable(choices, func(a, b choice) int {
			x, y := menu.counts[a.facet], menu.counts[b.facet]
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(y.Total, x.Total), cmp.Compare(y.Looser(), x.Looser()))
		})
	}
	return choices
}

// countTime bounds the counting of hits; values not counted by then have no number.
const countTime = time.Second

// countFacets counts the hits that the current query would have with each value of the field of a
// menu. Without a query, facets have their numbers already.
func (m *Model) countFacets(menu *menu) tea.Cmd {
	if menu.field == "" || menu.facets == nil || m.isEmpty() {
		return nil
	}
	text, req, count := m.query.text, m.narrow(m.request), m.options.Count
	req.Env.Now = m.options.Now()
	field, facets := menu.field, menu.facets
	return m.start(&menu.running, func(ctx context.Context) then {
		ctx, stop := context.WithTimeout(ctx, countTime)
		defer stop()
		counts := make(map[sessions.Facet]search.Counts)
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
			counts[f] = n
		}
		return func(m *Model) tea.Cmd {
			if m.menu == menu && menu.field == field {
				menu.counts = counts
				m.fillFilters(menu)
			}
			return nil
		}
	})
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

// setField writes the values of a field into the query, in place of those that it has. It widens the scope to include the
// kinds.
func (m *Model) setField(name string, values ...string) {
	m.query.set(syntax.SetField(m.query.text, name, values...))
	if name == "kind" && slices.ContainsFunc(values, func(v string) bool { return !m.scope().Holds(session.Kind(v)) }) {
		m.request.Scope = scope.All
		m.say("scope: %s, which includes this kind", scope.All)
	}
}

// toggles restrict every search until they are switched off. The line below the input shows
// those that are on.
type toggles struct {
	allWords bool
	any      bool   // looser hits, too
	here     bool   // only sessions of the working directory
	session  *group // only this session; nil: all
}

// mostInSession is how many hits are listed when a single session is searched.
const mostInSession = 500

func (m *Model) narrow(r search.Request) search.Request {
	t := &m.toggles
	r.AllWords, r.Any = t.allWords, t.any
	if t.here {
		r.CWD = m.options.WorkDir
	}
	if t.session != nil {
		r.Sessions = []string{t.session.SessionPath}
		r.PerSession = mostInSession
	}
	return r
}

func (m *Model) flip(toggle *bool) tea.Cmd {
	*toggle = !*toggle
	return m.changed()
}

// toggleSession restricts the search to the selected session, or searches all of them again.
func (m *Model) toggleSession() tea.Cmd {
	t := &m.toggles
	if t.session == nil {
		g := m.results.session()
		if g == nil {
			m.say("no session is selected")
			return nil
		}
		t.session = g
	} else {
		t.session = nil
	}
	m.moved = true // keep the selection: the user means this session
	return m.changed()
}

func (m *Model) togglesOn() []hint {
	t := &m.toggles
	var list []hint
	if t.allWords {
		list = append(list, m.hint("all-words", "all words"))
	}
	if t.any {
		list = append(list, m.hint("any", "looser hits"))
	}
	if t.here {
		list = append(list, m.hint("here", "in "+m.path(m.options.WorkDir)))
	}
	if t.session != nil {
		list = append(list, m.hint("this-session", "in "+quoted(t.session.title())))
	}
	return list
}

// searchedSessions says which sessions are searched.
func (m *Model) searchedSessions() string {
	text := string(m.scope())
	if t := &m.toggles; t.session != nil {
		text += " of " + quoted(t.session.title())
	} else if t.here {
		text += " of " + m.path(m.options.WorkDir)
	}
	return text
}

func (m *Model) withoutFilter(filter string) string {
	what, _ := m.dropping(filter)
	return what
}

// dropping says how to drop a filter, and which action does it; "" for none.
func (m *Model) dropping(filter string) (what, action string) {
	switch t := &m.toggles; {
	case filter == "scope":
		return "in scope all", "scope"
	case filter == search.FilterAllWords:
		return "with some of the words", "all-words"
	case filter == "cwd" && t.here:
		return "in other directories", "here"
	case filter == "session" && t.session != nil:
		return "in other sessions", "this-session"
	}
	return search.Without(terminal.Clip(terminal.Clean(filter), maxFilter)), ""
}

// elsewhere says how many hits there are without a filter; "" if none.
func (m *Model) elsewhere() string {
	whole := human.When(len(m.results.rows) > 0, " with every word")
	var list []string
	for i, r := range m.search.found.Removed {
		n := human.Number(r.Hits)
		if i == 0 {
			n = "There are " + n + " hits" + whole
			if r.Hits == 1 {
				n = "There is 1 hit" + whole
			}
		}
		what, action := m.dropping(r.Filter)
		if keys := m.keysOf(action); keys != "" {
			what += " (" + keys + ")"
		}
		list = append(list, n+" "+what)
	}
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ", ") + "."
}

// maxFilter is the width of a filter in a sentence.
const maxFilter = 32

// noSessions says why the list without a query is empty.
func (m *Model) noSessions() string {
	in := func(dirs ...string) string {
		return strings.Join(lists.Map(dirs, m.path), " or ")
	}
	switch n := m.search.indexed; {
	case n == 0 && len(m.options.Dirs) > 0:
		return "There are no session files in " + in(m.options.Dirs...) + "."
	case n == 0:
		return "There are no sessions yet."
	case m.toggles.here:
		text := "No sessions of " + in(m.options.WorkDir) + " or below"
		if keys := m.keysOf("here"); keys != "" {
			text += "; " + keys + " shows all " + human.Number(n)
		}
		return text + "."
	}
	return "None of the " + human.Number(m.search.indexed) + " sessions passes the filters."
}
