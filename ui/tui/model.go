package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/scope"
)

// Model is the state of the TUI. Only bubbletea's goroutine uses it. Commands do the
// slow work; they get what they need by value.
type Model struct {
	options Options
	ctx     context.Context // ends with the program
	keys    []binding
	quit    func()                    // ends the program; set by Run, without which it does nothing
	post    func(time.Duration, then) // does this to the model after this time; set by Run, too

	// What is drawn around the panes, and over them.
	width, height int
	styles        styles
	panes         panes // where the preview is
	menu          *menu // drawn over everything; nil for none
	help          *help // drawn over everything; nil for none
	message       message

	// What the user asks for.
	query   input
	request search.Request // scope, order and filters from flags; the text is in query
	toggles toggles
	history history

	// What was found.
	results results
	moved   bool // the user chose the selection; until then it stays at the top
	search  searching
	state   State
	waiting func(*Model) tea.Cmd // the action that waits for the answer to the query

	preview   preview
	reading   bool // the preview has the focus
	findFocus bool // its find line has the focus

	// What actions do, and how the program ends.
	marked  []Place            // the sessions that actions are about, instead of the selected one
	asking  context.CancelFunc // stops a Resume of the backend; nil if none runs
	warned  Place              // its warnings about resuming were shown
	done    Outcome
	crash   *crash
	exports sync.RWMutex // read-locked by each running export
}

// message is the response to the last key, shown in the last line.
type message struct {
	text string
	bad  bool
}

// Outcome is how the TUI ended.
type Outcome struct {
	Resume      *Resume // the chosen command; nil for none
	Interrupted bool
}

// crash is a panic, kept until the terminal is restored.
type crash struct {
	value any
	stack []byte
}

func (c *crash) String() string { return fmt.Sprint(c.value) }

// New returns the model that Run runs.
func New(ctx context.Context, o Options) *Model {
	m := &Model{
		options: o, ctx: ctx, keys: o.bind(), quit: func() {}, post: func(time.Duration, then) {}, styles: newStyles(backgroundOf(o.Environ), o.Colors), message: message{text: o.Note},
		request: o.Request, history: history{path: o.History}, toggles: toggles{allWords: o.Request.AllWords, here: o.Here},
	}
	m.query.set(o.Query)
	m.search.found = new(search.Response)
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
			cmd = crashing(r)(m)
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
		return tea.Batch(m.arranged(), m.searchMore())
	case tea.BackgroundColorMsg:
		on := light
		if msg.IsDark() {
			on = dark
		}
		m.styles = newStyles(on, m.options.Colors)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.typed(msg.Content)
	case tea.MouseClickMsg:
		return m.click(msg.Mouse())
	case tea.MouseWheelMsg:
		return m.wheel(msg.Mouse())
	case State:
		m.state = msg
		if msg.Generation != m.search.known && m.search.running == nil {
			return m.begin(true)
		}
	case then:
		return msg(m)
	}
	return nil
}

// then is the message of a command that has ended: it shows the outcome.
type then func(*Model) tea.Cmd

// command returns a command that does slow work, and then shows its outcome. A panic ends
// the program.
func command(do func() then) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = crashing(r)
			}
		}()
		if show := do(); show != nil {
			return show
		}
		return nil
	}
}

// start runs work until it ends or is stopped, and then shows its outcome. Until then, running
// stops it.
func (m *Model) start(running *context.CancelFunc, work func(context.Context) then) tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	*running = stop
	return command(func() then {
		defer stop()
		show := work(ctx)
		return func(m *Model) tea.Cmd {
			*running = nil
			return show(m)
		}
	})
}

// crashing keeps a panic, and ends the program.
func crashing(value any) then {
	stack := debug.Stack()
	return func(m *Model) tea.Cmd {
		m.crash = &crash{value, stack}
		return tea.Quit
	}
}

// failing shows an error.
func failing(err error) then {
	return func(m *Model) tea.Cmd {
		m.complain(err)
		return nil
	}
}

func (m *Model) say(format string, args ...any) {
	m.message = message{text: fmt.Sprintf(format, args...)}
}

// complain shows an error, with its hint. Cancelled work is not an error.
func (m *Model) complain(err error) {
	if !errors.Is(err, context.Canceled) {
		m.message = complaint(err)
	}
}

func complaint(err error) message {
	text := err.Error()
	if h, ok := errors.AsType[Hint](err); ok {
		text = human.Joined(" — ", text, h.HintText())
	}
	return message{text: text, bad: true}
}

// place returns which part has the focus.
func (m *Model) place() place {
	switch {
	case m.help != nil:
		return inHelp
	case m.menu != nil:
		return inMenu
	case m.findFocus:
		return inFind
	case m.reading:
		return inPreview
	}
	return inList
}

func (m *Model) line() *input {
	switch m.place() {
	case inMenu:
		return &m.menu.narrow
	case inFind:
		return &m.preview.find.line
	}
	return &m.query
}

// typed inserts text in the line that has the focus, if one has it.
func (m *Model) typed(text string) tea.Cmd {
	if text == "" || m.place()&inText == 0 {
		return nil
	}
	m.line().insert(text)
	return m.edited()
}

// edited reacts to a change of the input line with the focus.
func (m *Model) edited() tea.Cmd {
	switch m.place() {
	case inMenu:
		m.menu.at = 0
		m.menu.filter()
		return nil
	case inFind:
		return m.findText()
	}
	m.moved = false
	return m.changed()
}

// changed starts a search for the current query.
func (m *Model) changed() tea.Cmd {
	m.search.limit, m.search.room = m.firstLimit(), 0
	return m.begin(false)
}

func (m *Model) move(n int) tea.Cmd {
	if m.menu != nil {
		m.menu.move(n)
		return nil
	}
	m.results.move(n)
	return m.selectedByUser()
}

func (m *Model) page(n int) tea.Cmd {
	if m.menu != nil {
		m.menu.move(n * m.menu.height)
		return nil
	}
	m.results.page(n)
	return m.selectedByUser()
}

// selectedByUser reacts to a selection that the user made, which then stays where it is.
func (m *Model) selectedByUser() tea.Cmd {
	m.moved, m.waiting = true, nil
	m.results.open()
	return tea.Batch(m.showPreview(), m.searchMore())
}

func (m *Model) switchPane() tea.Cmd {
	m.reading, m.panes.zoom = !m.reading, false
	m.moved = true
	if m.reading && len(m.results.items) == 0 {
		m.reading = false
		m.say("there is nothing to read")
	}
	return m.showPreview()
}

func (m *Model) scrollPreview(n int) tea.Cmd {
	if m.help != nil {
		m.help.top += n
		return nil
	}
	m.moved = true
	m.preview.scroll(n)
	return m.load()
}

func (m *Model) pagePreview(n int) tea.Cmd {
	height := m.preview.height
	if m.help != nil {
		height = m.help.height
	}
	return m.scrollPreview(n * max(1, height-1))
}

// goBack closes what is open, else clears the query, else ends the program.
func (m *Model) goBack() tea.Cmd {
	switch m.place() {
	case inHelp:
		m.help = nil
	case inMenu:
		if m.menu.back != nil {
			return m.menu.back(m)
		}
		m.setMenu(nil)
	case inFind:
		return m.cancelFind()
	case inPreview:
		switch {
		case m.preview.find.text() != "":
			m.preview.find.clear()
			return nil
		case m.panes.zoom:
			return m.zoom()
		}
		m.reading = false
		return m.showPreview()
	default:
		if len(m.marked) > 0 {
			m.marked = nil
			m.say("marks cleared")
			return nil
		}
		if m.query.text != "" {
			save := m.remember()
			m.query.set("")
			return tea.Batch(save, m.changed())
		}
		if m.toggles.session != nil {
			return m.toggleSession()
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

func (m *Model) scope() scope.Scope { return scopeOf(m.request) }

func scopeOf(r search.Request) scope.Scope {
	return cmp.Or(r.Scope, scope.Default)
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

// wheelLines is how many lines one notch of the wheel scrolls.
const wheelLines = 3

func (m *Model) wheel(at tea.Mouse) tea.Cmd {
	n := map[tea.MouseButton]int{tea.MouseWheelUp: -wheelLines, tea.MouseWheelDown: wheelLines}[at.Button]
	switch {
	case n == 0:
	case m.help != nil:
		m.help.top += n
	case m.menu != nil:
		m.menu.move(n / wheelLines)
	case m.layout().preview.contains(at.X, at.Y):
		return m.scrollPreview(n)
	case m.layout().list.contains(at.X, at.Y):
		m.results.scroll(n)
		return m.selectedByUser()
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
	case l.preview.contains(at.X, at.Y):
		m.reading = len(m.results.items) > 0
		m.preview.click(at.Y - l.preview.y)
	case l.list.contains(at.X, at.Y):
		m.reading, m.findFocus = false, false
		m.results.click(at.Y - l.list.y)
		return m.selectedByUser()
	}
	return nil
}

// path returns a path as people write it.
func (m *Model) path(path string) string { return terminal.Clean(human.Path(path, m.options.Home)) }

// quoted returns a text in quotes, for a message.
func quoted(s string) string { return "“" + strings.TrimSpace(terminal.Clean(s)) + "”" }
