package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/search"
)

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

// narrow returns the request of a search with the toggles.
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

func (m *Model) toggleAllWords() tea.Cmd {
	m.toggles.allWords = !m.toggles.allWords
	return m.changed()
}

func (m *Model) toggleAny() tea.Cmd {
	m.toggles.any = !m.toggles.any
	return m.changed()
}

func (m *Model) toggleHere() tea.Cmd {
	m.toggles.here = !m.toggles.here
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

// on returns the toggles that are on, each with its key.
func (m *Model) on() []key.Binding {
	t := &m.toggles
	var list []key.Binding
	if t.allWords {
		list = append(list, m.hint("all-words", "all words"))
	}
	if t.any {
		list = append(list, m.hint("any", "looser hits"))
	}
	if t.here {
		list = append(list, m.hint("here", "in "+terminal.Clean(human.Path(m.options.WorkDir, m.options.Home))))
	}
	if t.session != nil {
		list = append(list, m.hint("this-session", "in "+quoted(t.session.title())))
	}
	return list
}

// within says which sessions are searched.
func (m *Model) within() string {
	text := string(m.scope())
	if t := &m.toggles; t.session != nil {
		text += " of " + quoted(t.session.title())
	} else if t.here {
		text += " of " + terminal.Clean(human.Path(m.options.WorkDir, m.options.Home))
	}
	return text
}

// without says how to drop a filter, in the words of the TUI.
func (m *Model) without(filter string) string {
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
	whole := ""
	if len(m.results.rows) > 0 {
		whole = " with every word"
	}
	var list []string
	for i, r := range m.search.removed {
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
		var list []string
		for _, d := range dirs {
			list = append(list, terminal.Clean(human.Path(d, m.options.Home)))
		}
		return strings.Join(list, " or ")
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
