package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/terminal"
	"pigrep/query"
	"pigrep/query/rank"
	"pigrep/scope"
)

// Model is the state of the interface. Only the program's own goroutine uses it;
// what takes time is done by commands, which get what they need as values.
type Model struct {
	options Options
	ctx     context.Context // ends with the program
	styles  styles

	width, height int

	query   input
	request query.Request // beside the text: scope, order, filters of flags
	results results
	preview preview
	reading bool  // the keys go to the preview
	finding bool  // and there to the line to find something
	menu    *menu // over all; nil: none
	help    *help // over all; nil: none

	search  searching
	state   State
	history history
	message message

	asking bool  // for the command that resumes the selected session
	warned Place // for which the person has seen the warnings of resuming
	done   Outcome
	crash  *crash

	// What the program does for the model; nil without one.
	quit func()                       // ends it
	post func(time.Duration, tea.Msg) // gives the model a message after this time
}

// message is something that the last key brought about.
type message struct {
	text string
	bad  bool
}

// Outcome is how the interface ended.
type Outcome struct {
	Resume      *Resume // chosen; nil: none
	Interrupted bool
}

// crash is a panic, kept until the terminal is itself again.
type crash struct {
	value any
	stack []byte
}

func (c *crash) String() string { return fmt.Sprint(c.value) }

// crashed ends the program, as soon as it can be told.
func (m *Model) crashed(value any) {
	m.crash = &crash{value, debug.Stack()}
	if m.quit != nil {
		go m.quit()
	}
}

// New returns the model of the interface, which Run runs.
func New(ctx context.Context, o Options) *Model {
	m := &Model{options: o, ctx: ctx, styles: newStyles(true), request: o.Request, history: history{path: o.History}}
	m.query.set(o.Query)
	m.search.limit = m.firstLimit()
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.begin(false), m.loadHistory())
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			m.crashed(r)
			cmd = tea.Quit
		}
	}()
	if m.crash != nil {
		return m, tea.Quit
	}
	return m, m.update(msg)
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m.selected()
	case tea.BackgroundColorMsg:
		m.styles = newStyles(msg.IsDark())
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.place()&inText != 0 {
			return m.insert(msg.Content)
		}
	case tea.MouseClickMsg:
		return m.click(msg.Mouse())
	case tea.MouseWheelMsg:
		return m.wheel(msg.Mouse())
	case searchedMsg:
		return m.searched(msg)
	case slowMsg:
		m.search.slow = m.search.job != nil && int(msg) == m.search.seq
	case previewMsg:
		return m.previewed(msg)
	case State:
		return m.stateChanged(msg)
	case facetsMsg:
		m.facetsCame(msg)
	case historyMsg:
		m.history.queries = msg
	case resumeMsg:
		return m.resumed(msg)
	case messageMsg:
		m.message = message(msg)
	case crashMsg:
		m.crash = (*crash)(&msg)
		return tea.Quit
	}
	return nil
}

// messageMsg is something to be said.
type messageMsg message

// crashMsg is a panic in a command.
type crashMsg crash

// command makes a command that survives a panic.
func command(do func() tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = crashMsg{r, debug.Stack()}
			}
		}()
		return do()
	}
}

func (m *Model) say(format string, args ...any) {
	m.message = message{text: fmt.Sprintf(format, args...)}
}

// complain says what went wrong, and what to do next when it is known.
func (m *Model) complain(err error) { m.message = complaint(err) }

func complaint(err error) message {
	text := err.Error()
	if h, ok := err.(Hint); ok && h.Hint() != "" {
		text += " — " + h.Hint()
	}
	return message{text: text, bad: true}
}

// place is where the keys go.
func (m *Model) place() place {
	switch {
	case m.help != nil:
		return inHelp
	case m.menu != nil:
		return inMenu
	case m.finding:
		return inFind
	case m.reading:
		return inPreview
	}
	return inList
}

// line is the line that typing edits.
func (m *Model) line() *input {
	switch m.place() {
	case inMenu:
		return &m.menu.narrow
	case inFind:
		return &m.preview.find
	}
	return &m.query
}

func (m *Model) insert(text string) tea.Cmd {
	m.line().insert(text)
	return m.edited()
}

// edited follows a change of the line that is typed.
func (m *Model) edited() tea.Cmd {
	switch m.place() {
	case inMenu:
		m.menu.at = 0
		m.menu.filter()
		return nil
	case inFind:
		m.preview.findFrom()
		return m.loadMore()
	}
	return m.changed()
}

// changed searches for what is asked now.
func (m *Model) changed() tea.Cmd {
	m.search.limit = m.firstLimit()
	return m.begin(false)
}

func (m *Model) move(n int) tea.Cmd {
	if m.menu != nil {
		m.menu.move(n)
		return nil
	}
	m.results.move(n)
	return m.selected()
}

func (m *Model) page(n int) tea.Cmd {
	if m.menu != nil {
		m.menu.move(n * m.menu.height)
		return nil
	}
	m.results.page(n)
	return m.selected()
}

// selected follows a change of the selection.
func (m *Model) selected() tea.Cmd {
	return tea.Batch(m.showPreview(), m.searchMore())
}

func (m *Model) switchPane() tea.Cmd {
	m.reading = !m.reading
	if m.reading && len(m.results.items) == 0 {
		m.reading = false
		m.say("there is nothing to read")
	}
	return m.showPreview()
}

func (m *Model) scrollPreview(n int) tea.Cmd {
	if m.help != nil {
		m.help.scroll(n)
		return nil
	}
	if m.preview.scroll(n) {
		return m.loadPreview()
	}
	return nil
}

func (m *Model) pagePreview(n int) tea.Cmd {
	if m.help != nil {
		return m.scrollPreview(n * max(1, m.help.height-1))
	}
	return m.scrollPreview(n * max(1, m.preview.height-1))
}

func (m *Model) openFind() tea.Cmd {
	m.finding = true
	m.preview.find.set("")
	m.preview.look()
	return nil
}

func (m *Model) closeFind() tea.Cmd {
	m.finding = false
	if m.preview.find.text != "" && len(m.preview.found) == 0 {
		m.say("%q is not in this part of the conversation", m.preview.find.text)
	}
	return nil
}

// back leaves what is open, then clears the query, then ends the program.
func (m *Model) back() tea.Cmd {
	switch m.place() {
	case inHelp:
		m.help = nil
	case inMenu:
		if m.menu.back == nil || !m.menu.back(m) {
			m.menu = nil
		}
	case inFind:
		m.finding = false
		m.preview.find.set("")
		m.preview.look()
	case inPreview:
		m.reading = false
		return m.showPreview()
	default:
		if m.query.text != "" {
			save := m.remember()
			m.query.set("")
			return tea.Batch(save, m.changed())
		}
		return tea.Quit
	}
	return nil
}

func (m *Model) interrupt() tea.Cmd {
	m.done.Interrupted = true
	return tea.Sequence(m.remember(), tea.Quit)
}

func (m *Model) nextScope() tea.Cmd {
	at := slices.Index(scope.Scopes, m.scope())
	m.request.Scope = scope.Scopes[(at+1)%len(scope.Scopes)]
	m.say("scope: %s", m.request.Scope)
	return m.changed()
}

// scope is the scope in force.
func (m *Model) scope() scope.Scope {
	if m.request.Scope == "" {
		return scope.Default
	}
	return m.request.Scope
}

func (m *Model) nextSort() tea.Cmd {
	m.request.Sort = rank.Sort((int(m.request.Sort) + 1) % len(rank.SortNames))
	m.say("order: %s", m.sortName())
	return m.changed()
}

func (m *Model) sortName() string {
	if m.request.Sort == rank.Relevance {
		return "best first"
	}
	return rank.SortNames[m.request.Sort] + " first"
}

// wheelLines is how far one notch of the wheel goes.
const wheelLines = 3

func (m *Model) wheel(at tea.Mouse) tea.Cmd {
	n := map[tea.MouseButton]int{tea.MouseWheelUp: -wheelLines, tea.MouseWheelDown: wheelLines}[at.Button]
	switch {
	case n == 0:
	case m.help != nil:
		m.help.scroll(n)
	case m.menu != nil:
		m.menu.move(n / wheelLines)
	case m.layout().preview.has(at.X, at.Y):
		return m.scrollPreview(n)
	case m.layout().list.has(at.X, at.Y):
		m.results.scroll(n)
		return m.selected()
	}
	return nil
}

func (m *Model) click(at tea.Mouse) tea.Cmd {
	l := m.layout()
	switch {
	case at.Button != tea.MouseLeft || m.help != nil:
	case m.menu != nil:
		if i := m.menu.top + at.Y - 1; at.Y >= 1 && i < len(m.menu.shown) && at.Y <= m.menu.height {
			m.menu.at = i
			return m.choose()
		}
	case l.preview.has(at.X, at.Y):
		m.reading = len(m.results.items) > 0
	case l.list.has(at.X, at.Y):
		m.reading, m.finding = false, false
		m.results.click(at.Y - l.list.y)
		return m.selected()
	}
	return nil
}

// choose takes the selected line of the menu.
func (m *Model) choose() tea.Cmd {
	menu := m.menu
	if len(menu.shown) == 0 {
		return nil
	}
	m.menu = nil
	before := m.query.text
	menu.choose(m, menu.shown[menu.at])
	if m.query.text == before {
		return nil
	}
	return m.changed()
}

// quoted is a text as it stands in a message.
func quoted(s string) string { return "“" + strings.TrimSpace(terminal.Clean(s)) + "”" }
