package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

// place is a part of the screen that can have the focus.
type place uint8

const (
	inList    place = 1 << iota // the input line and the results
	inPreview                   // the conversation
	inFind                      // the find line of the preview
	inMenu
	inHelp

	inMain = inList | inPreview
	inText = inList | inFind | inMenu // where typing edits a line
	inAny  = inList | inPreview | inFind | inMenu | inHelp
)

// KeyRow is keys and what they do, for help and docs.
type KeyRow struct {
	Keys string // for people
	Help string
	Name string // in the settings file; "" if the keys cannot be changed
}

// KeyGroup is a titled part of the table of keys.
type KeyGroup struct {
	Title string
	Rows  []KeyRow
}

// binding binds keys, named as bubbletea names them, to an action.
type binding struct {
	group string
	name  string // of the action in the settings file; "" if its keys cannot be changed
	keys  []string
	in    place
	help  string              // "" to leave it out of help
	when  func(m *Model) bool // nil: always
	do    func(*Model) tea.Cmd
}

// The groups of keys, in the order of help.
const (
	groupFound  = "Results"
	groupDo     = "With the selected hit"
	groupSearch = "Searching"
	groupRead   = "Preview (after Tab)"
	groupPanes  = "Layout"
	groupWrite  = "Typing"
	groupRest   = "Everywhere"
)

// bindings is the one table of keys; help, docs and settings are made from it. The first row that
// matches wins. Keys that edit a line are the keys of readline; pigrep's own actions are on
// function keys, on Alt, and on control keys that readline does not use for editing.
var bindings = []binding{
	{groupFound, "next", []string{"down", "ctrl+n"}, inList | inMenu, "next hit", nil, func(m *Model) tea.Cmd { return m.move(1) }},
	{groupFound, "previous", []string{"up", "ctrl+p"}, inList | inMenu, "previous hit", nil, func(m *Model) tea.Cmd { return m.move(-1) }},
	{groupFound, "page-down", []string{"pgdown"}, inList | inMenu, "page down", nil, func(m *Model) tea.Cmd { return m.page(1) }},
	{groupFound, "page-up", []string{"pgup"}, inList | inMenu, "page up", nil, func(m *Model) tea.Cmd { return m.page(-1) }},
	{groupFound, "switch-pane", []string{"tab"}, inMain, "switch between list and preview", nil, (*Model).switchPane},
	{groupFound, "preview-down", []string{"shift+down"}, inList, "scroll the preview down", nil, func(m *Model) tea.Cmd { return m.scrollPreview(1) }},
	{groupFound, "preview-up", []string{"shift+up"}, inList, "scroll the preview up", nil, func(m *Model) tea.Cmd { return m.scrollPreview(-1) }},

	{groupDo, "", []string{"enter"}, inMain, "read the conversation at the hit, on the whole screen; there, unfold the entry", nil, (*Model).pressEnter},
	{groupDo, "resume", []string{"alt+r", "f12"}, inMain, "resume the session: asked once, its agent runs in its directory; so does r in the preview", nil, (*Model).resume},
	{groupDo, "", []string{"r"}, inPreview, "", nil, (*Model).resume},
	{groupDo, "pager", []string{"f3", "ctrl+o"}, inMain, "read the conversation in a pager", nil, (*Model).showInPager},
	{groupDo, "editor", []string{"f4", "alt+e"}, inMain, "open the session file at the entry in $VISUAL or $EDITOR", nil, (*Model).edit},
	{groupDo, "copy", []string{"alt+c"}, inMain, "copy the command that resumes it; in the preview, the text of the entry", nil, (*Model).copy},
	{groupDo, "actions", []string{"f10", "alt+x"}, inMain, "all actions: copy text, command, path or id, export, layout", nil, (*Model).openActions},
	{groupDo, "export", []string{"alt+w"}, inMain, "export the session, or those that are marked", nil, (*Model).openExport},
	{groupDo, "mark-session", []string{"shift+tab"}, inMain, "mark the session, and go to the next; actions are about all that are marked", nil, (*Model).markSession},

	{groupSearch, "filters", []string{"f2", "alt+m"}, inMain, "filters: kind, tool, agent, project, model, date, branch, with the hits of each", nil, (*Model).openFilters},
	{groupSearch, "mark", []string{"tab"}, inMenu, "in the filters: choose several values", nil, (*Model).mark},
	{groupSearch, "all-words", []string{"f5", "alt+a"}, inMain, "only hits with every word, or those with some words too", nil, func(m *Model) tea.Cmd { return m.flip(&m.toggles.allWords) }},
	{groupSearch, "any", []string{"alt+n"}, inMain, "looser hits too, which lack a word, even if there are enough others", nil, func(m *Model) tea.Cmd { return m.flip(&m.toggles.any) }},
	{groupSearch, "here", []string{"f6", "alt+h"}, inMain, "only sessions of this directory, or of all", nil, func(m *Model) tea.Cmd { return m.flip(&m.toggles.here) }},
	{groupSearch, "this-session", []string{"f7", "alt+s"}, inMain, "only the selected session, or all", nil, (*Model).toggleSession},
	{groupSearch, "scope", []string{"ctrl+s"}, inMain, "next scope (which kinds of text are searched)", nil, (*Model).nextScope},
	{groupSearch, "order", []string{"ctrl+t"}, inMain, "next order (best, newest or oldest first)", nil, (*Model).nextSort},
	{groupSearch, "history", []string{"ctrl+r"}, inMain, "earlier queries", nil, (*Model).openHistory},
	{groupSearch, "", []string{"esc", "ctrl+g"}, inAny, "go back; clear the query; quit", nil, (*Model).goBack},

	{groupRead, "read-down", []string{"down", "j", "ctrl+n"}, inPreview | inHelp, "scroll down a line", nil, func(m *Model) tea.Cmd { return m.scrollPreview(1) }},
	{groupRead, "read-up", []string{"up", "k", "ctrl+p"}, inPreview | inHelp, "scroll up a line", nil, func(m *Model) tea.Cmd { return m.scrollPreview(-1) }},
	{groupRead, "read-page-down", []string{"pgdown", "space", "f", "ctrl+f"}, inPreview | inHelp, "page down", nil, func(m *Model) tea.Cmd { return m.pagePreview(1) }},
	{groupRead, "read-page-up", []string{"pgup", "b", "ctrl+b"}, inPreview | inHelp, "page up", nil, func(m *Model) tea.Cmd { return m.pagePreview(-1) }},
	{groupRead, "read-top", []string{"home", "g"}, inPreview | inHelp, "to the start", nil, func(m *Model) tea.Cmd { return m.jump(AtStart) }},
	{groupRead, "read-end", []string{"end", "G"}, inPreview | inHelp, "to the end", nil, func(m *Model) tea.Cmd { return m.jump(AtEnd) }},
	{groupRead, "next-entry", []string{"]", "J"}, inPreview, "next entry", nil, func(m *Model) tea.Cmd { return m.nextEntry(1) }},
	{groupRead, "previous-entry", []string{"[", "K"}, inPreview, "previous entry", nil, func(m *Model) tea.Cmd { return m.nextEntry(-1) }},
	{groupRead, "find", []string{"/"}, inPreview, "search the whole conversation, also what is folded", nil, (*Model).openFind},
	{groupRead, "find-next", []string{"n"}, inPreview, "next match of the search; without one, next hit of the query", nil, func(m *Model) tea.Cmd { return m.nextMatch(1) }},
	{groupRead, "find-previous", []string{"N"}, inPreview, "previous match or hit", nil, func(m *Model) tea.Cmd { return m.nextMatch(-1) }},
	{groupRead, "outline", []string{"alt+o"}, inMain, "the prompts of the conversation; so does p in the preview", nil, (*Model).openOutline},
	{groupRead, "", []string{"p"}, inPreview, "", nil, (*Model).openOutline},
	{groupRead, "unfold", []string{"o"}, inPreview, "unfold the entry that is marked, or fold it", nil, (*Model).toggleFold},
	{groupRead, "unfold-all", []string{"O"}, inPreview, "unfold everything, steps of the machine too, or fold it", nil, (*Model).toggleAll},

	{groupPanes, "zoom", []string{"f9", "alt+z"}, inMain, "preview on the whole screen, and back; so does z in the preview", nil, (*Model).zoom},
	{groupPanes, "", []string{"z"}, inPreview, "", nil, (*Model).zoom},
	{groupPanes, "hide-preview", []string{"f8", "alt+p"}, inMain, "hide the preview, or show it", nil, (*Model).hidePreview},
	{groupPanes, "one-line", []string{"alt+l"}, inMain, "one line for each session, or its hits too", nil, (*Model).toggleBrief},
	{groupPanes, "layout", []string{"alt+v"}, inMain, "preview beside the list, below it, or where there is room", nil, (*Model).nextSide},

	{groupWrite, "left", []string{"left", "ctrl+b"}, inText, "move left", nil, edit((*input).left)},
	{groupWrite, "right", []string{"right", "ctrl+f"}, inText, "move right", nil, edit((*input).right)},
	{groupWrite, "word-left", []string{"alt+b", "ctrl+left", "alt+left"}, inText, "move left a word", nil, edit((*input).wordLeft)},
	{groupWrite, "word-right", []string{"alt+f", "ctrl+right", "alt+right"}, inText, "move right a word", nil, edit((*input).wordRight)},
	{groupWrite, "start", []string{"home", "ctrl+a"}, inText, "move to the start", nil, edit((*input).home)},
	{groupWrite, "end", []string{"end", "ctrl+e"}, inText, "move to the end", nil, edit((*input).end)},
	{groupWrite, "", []string{"ctrl+d"}, inList, "", (*Model).isEmpty, func(*Model) tea.Cmd { return tea.Quit }},
	{groupWrite, "backspace", []string{"backspace", "ctrl+h"}, inText, "delete the character before the cursor", nil, edit((*input).backspace)},
	{groupWrite, "delete", []string{"delete", "ctrl+d"}, inText, "delete the character at the cursor; Ctrl-D in an empty query quits", nil, edit((*input).delete)},
	{groupWrite, "cut-word-left", []string{"ctrl+w", "alt+backspace"}, inText, "cut the word before the cursor", nil, edit(cut((*input).wordLeft))},
	{groupWrite, "cut-word-right", []string{"alt+d"}, inText, "cut the word after the cursor", nil, edit(cut((*input).wordRight))},
	{groupWrite, "cut-left", []string{"ctrl+u"}, inText, "cut everything before the cursor", nil, edit(cut((*input).home))},
	{groupWrite, "cut-right", []string{"ctrl+k"}, inText, "cut everything after the cursor", nil, edit(cut((*input).end))},
	{groupWrite, "paste", []string{"ctrl+y"}, inText, "paste what was cut last", nil, edit((*input).paste)},

	{groupRest, "help", []string{"f1"}, inAny, "show these keys; so does ? in an empty query and in the preview", nil, (*Model).toggleHelp},
	{groupRest, "", []string{"?"}, inPreview | inHelp, "", nil, (*Model).toggleHelp},
	{groupRest, "", []string{"?"}, inList, "", (*Model).isEmpty, (*Model).toggleHelp},
	{groupRest, "", []string{"q"}, inHelp | inPreview, "", nil, (*Model).goBack},
	{groupRest, "redraw", []string{"ctrl+l"}, inAny, "redraw", nil, func(*Model) tea.Cmd { return tea.ClearScreen }},
	{groupRest, "suspend", []string{"ctrl+z"}, inAny, "suspend", func(m *Model) bool { return !m.options.Print }, func(*Model) tea.Cmd { return tea.Suspend }},
	{groupRest, "", []string{"ctrl+c"}, inAny, "quit", nil, (*Model).interrupt},
	{"", "", []string{"enter"}, inFind, "", nil, (*Model).closeFind},
	{"", "", []string{"enter"}, inMenu, "", nil, (*Model).choose},
}

func (m *Model) isEmpty() bool { return m.query.text == "" }

// far is more lines than any conversation has.
const far = 1 << 40

func edit(change func(*input)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		line := m.line()
		before := line.text
		change(line)
		if line.text == before {
			return nil
		}
		return m.edited()
	}
}

// mouseRows describes what the mouse does.
var mouseRows = []KeyRow{
	{"wheel", "scroll what is under the pointer", ""},
	{"click", "select a hit; switch to the preview or the list", ""},
}

func keyGroups(table []binding) []KeyGroup {
	var groups []KeyGroup
	for _, b := range table {
		if b.group == "" || b.help == "" || len(b.keys) == 0 {
			continue
		}
		if len(groups) == 0 || groups[len(groups)-1].Title != b.group {
			groups = append(groups, KeyGroup{Title: b.group})
		}
		last := &groups[len(groups)-1]
		last.Rows = append(last.Rows, KeyRow{strings.Join(lists.Map(b.keys, keyName), " "), b.help, b.name})
	}
	return append(groups, KeyGroup{"Mouse", mouseRows})
}

var keyNames = map[string]string{
	"up": "↑", "down": "↓", "left": "←", "right": "→", "pgdown": "PgDn", "pgup": "PgUp", "esc": "Esc", "enter": "Enter", "tab": "Tab",
	"space": "Space", "home": "Home", "end": "End", "backspace": "Backspace", "delete": "Del",
	"ctrl": "Ctrl", "shift": "Shift", "alt": "Alt",
}

func keyName(key string) string {
	parts := strings.Split(key, "+")
	for i, p := range parts {
		if name, ok := keyNames[p]; ok {
			parts[i] = name
		} else if len(parts) > 1 || len(p) > 1 {
			parts[i] = strings.ToUpper(p)
		}
	}
	return strings.Join(parts, "-")
}

// key runs the action of a key in the part that has the focus.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	m.message, m.waiting = message{}, nil
	name := k.String()
	for i := range m.keys {
		b := &m.keys[i]
		if b.in&m.place() == 0 || !slices.Contains(b.keys, name) && !slices.Contains(b.keys, k.Keystroke()) || b.when != nil && !b.when(m) {
			continue
		}
		if b.group == groupDo && m.outdated() {
			m.waiting = b.do
			return nil
		}
		return b.do(m)
	}
	return m.typed(k.Text)
}

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
			rows := max(len(keys), len(text))
			keys, text = filled(keys, 0, rows), filled(text, 0, rows)
			for i := range rows {
				all = append(all, v.prompt.Render("  "+terminal.Fit(keys[i], column))+"  "+text[i])
			}
		}
	}
	h.height = height
	h.top = max(0, min(h.top, len(all)-height))
	return fitted(all[h.top:min(len(all), h.top+height)], width, height)
}

// keysOf returns the keys of an action as people write them; "" if it has none. It returns the
// first one and, if that is a function key, which some keyboards and terminals keep for
// themselves, also the next one.
func (m *Model) keysOf(name string) string {
	i := slices.IndexFunc(m.keys, func(b binding) bool { return b.name == name && name != "" })
	if i < 0 || len(m.keys[i].keys) == 0 {
		return ""
	}
	keys := m.keys[i].keys
	text := keyName(keys[0])
	if len(keys) > 1 && len(text) > 1 && text[0] == 'F' && text[1] <= '9' {
		text += "/" + keyName(keys[1])
	}
	return text
}

// hint says what keys do, on one of the lines around the panes. Without keys it is not shown.
type hint struct{ keys, what string }

// hint returns a hint for an action.
func (m *Model) hint(name, what string) hint { return hint{m.keysOf(name), what} }

// hints draws hints side by side.
func (v view) hints(list []hint, what lipgloss.Style) string {
	var shown []string
	for _, h := range list {
		if h.keys != "" {
			shown = append(shown, v.dim.Render(h.keys)+" "+what.Render(h.what))
		}
	}
	return strings.Join(shown, v.dim.Render(" · "))
}

// hints returns the most important keys of the part that has the focus, the most important
// first.
func (m *Model) hints() []hint {
	switch m.place() {
	case inHelp:
		return []hint{{"Esc", "back"}}
	case inMenu:
		hints := []hint{{"Enter", "choose"}, {"Esc", "back"}}
		if m.menu.mark != nil {
			hints = append(hints, m.hint("mark", "choose several"))
		}
		return hints
	case inFind:
		return []hint{{"Enter", "done"}, {"Esc", "cancel"}}
	case inPreview:
		fold := m.hint("unfold", "unfold")
		if m.preview.isOpen() {
			fold = m.hint("unfold", "fold")
		}
		switch {
		case m.preview.find.text() != "":
			return []hint{{"Esc", "end of search"}, m.hint("find-next", "next"), m.hint("find-previous", "previous"), fold}
		case m.panes.zoom:
			return []hint{{"Esc", "back to the list"}, {"r", "resume"}, {"?", "help"}, m.hint("find", "find"), {"p", "prompts"}, fold, m.hint("find-next", "next hit")}
		}
		return []hint{{"?", "help"}, m.hint("switch-pane", "back"), {"r", "resume"}, m.hint("find", "find"), {"p", "prompts"}, fold, m.hint("find-next", "next hit"), m.hint("zoom", "zoom")}
	}
	help := m.hint("help", "help")
	if m.isEmpty() {
		help = hint{"?", "help"}
	}
	hints := []hint{{"Enter", "read"}, m.hint("resume", "resume"), help, m.hint("switch-pane", "preview"), m.hint("filters", "filter"), m.hint("one-line", "one line each")}
	switch p, ok := m.target(); {
	case ok && p.isElsewhere():
		hints = slices.Delete(hints, 1, 2)
	case m.options.Choose:
		hints[0], hints[1] = hint{"Enter", "resume"}, m.hint("zoom", "read")
	}
	if m.panes.hide {
		hints = slices.Insert(hints, 2, m.hint("hide-preview", "show both"))
	}
	return hints
}
