package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/ui/prose"
)

// area is a rectangle of the screen, in cells.
type area struct{ x, y, width, height int }

func (a area) contains(x, y int) bool {
	return x >= a.x && x < a.x+a.width && y >= a.y && y < a.y+a.height
}

// View implements tea.Model.
func (m *Model) View() (v tea.View) {
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "pigrep"
	defer func() {
		if r := recover(); r != nil {
			crashing(r)(m)
			v.SetContent("")
			go m.quit()
		}
	}()
	lines, cursor := m.screen()
	v.SetContent(strings.Join(lines, "\n"))
	if cursor != nil {
		v.Cursor = tea.NewCursor(cursor.X, cursor.Y)
		v.Cursor.Blink = false
		v.Cursor.Shape = tea.CursorBar
	}
	return v
}

func (m *Model) screen() (lines []string, cursor *tea.Position) {
	if m.width < 4 || m.height < frame+1 {
		return []string{terminal.Clip("too small", m.width)}, nil
	}
	v := view{styles: &m.styles, now: m.options.Now(), home: m.options.Home, marked: m.marked, links: m.options.Links, agents: m.search.several}
	body := m.height - 1
	switch {
	case m.help != nil:
		lines = m.help.render(v, append(keyGroups(m.keys), signs), m.width, body)
	case m.menu != nil:
		var x int
		lines, x = m.menu.render(v, m.width, body)
		cursor = &tea.Position{X: x}
	default:
		lines, cursor = m.main(v)
	}
	lines = filled(lines, m.width, body)
	if cursor != nil && (cursor.X >= m.width || cursor.Y >= body) {
		cursor = nil
	}
	foot := m.foot(v)
	return append(lines[:m.height-len(foot)], foot...), cursor
}

// fitted returns height lines, each width cells wide.
func fitted(lines []string, width, height int) []string {
	for i := range lines {
		lines[i] = terminal.Fit(lines[i], width)
	}
	return filled(lines, width, height)
}

// filled appends blank lines, width cells wide, until there are height lines.
func filled(lines []string, width, height int) []string {
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines
}

const promptText = "> "

// main draws the input and the panes.
func (m *Model) main(v view) (lines []string, cursor *tea.Position) {
	text, x := m.query.render(m.width - len(promptText))
	head := v.prompt.Render(promptText) + text
	if m.query.text == "" {
		head += v.dim.Render(terminal.Clip("type to search every past conversation", m.width-len(promptText)))
	}
	if !m.reading {
		cursor = &tea.Position{X: len(promptText) + x}
	}
	l := m.layout()
	lines = append(lines, terminal.Fit(head, m.width), m.rule(v, m.width))
	note := lists.Map(m.note(), func(line string) string { return v.notice.Render(terminal.Fit(line, m.width)) })
	if l.whole {
		lines, note = nil, nil
	}
	list := m.list(v, l.list.width, l.list.height)
	if l.preview.height <= 0 || l.preview.width <= 0 {
		return slices.Concat(lines, list, note), cursor
	}
	pane := append([]string{m.previewTitle(v, l.preview.width)}, m.preview.render(v, l.preview.width, l.preview.height)...)
	if m.findFocus {
		right := terminal.Clip(m.preview.find.label(), l.preview.width-len("/x "))
		text, x := m.preview.find.line.render(l.preview.width - 2 - terminal.Width(right))
		room := l.preview.width - terminal.Width(right)
		pane[0] = terminal.Fit(v.prompt.Render("/")+text, room) + v.notice.Render(right)
		cursor = &tea.Position{X: l.preview.x + 1 + x, Y: l.preview.y - 1}
	}
	if !l.beside {
		return slices.Concat(lines, list, pane, note), cursor
	}
	for i := range list {
		lines = append(lines, list[i]+v.dim.Render(" │ ")+pane[i])
	}
	return append(lines, note...), cursor
}

// rule draws the line below the input, with the toggles that are on.
func (m *Model) rule(v view, width int) string {
	on := m.togglesOn()
	if len(on) == 0 {
		return v.dim.Render(strings.Repeat("─", width))
	}
	const margin = "── "
	text := terminal.Clip(v.hints(on, v.notice), width-terminal.Width(margin)-1)
	rest := max(0, width-terminal.Width(margin)-terminal.Width(text)-1)
	return terminal.Fit(v.dim.Render(margin)+text+" "+v.dim.Render(strings.Repeat("─", rest)), width)
}

// list draws the results, or the reason why there are none.
func (m *Model) list(v view, width, height int) []string {
	if len(m.results.rows) > 0 || width <= 0 || height <= 0 {
		return m.results.render(v, width, max(0, height), !m.reading)
	}
	var text []string
	s := &m.search
	switch {
	case errors.Is(s.failed, index.ErrNoIndex) && m.state.Problem == "":
		text = []string{"Building the index; hits appear as they are ready."}
	case errors.Is(s.failed, index.ErrNoIndex):
		text = []string{sentence(m.state.Problem), sentence(m.state.Hint)}
	case s.failed != nil:
		text = []string{complaint(s.failed).text}
	case !s.answered || s.running != nil:
		text = []string{"searching …"}
	case s.noWord != "":
		text = []string{s.noWord}
	case s.shown == "":
		text = []string{m.noSessions()}
	default:
		mean := s.found.DidYouMean
		text = []string{"Nothing found in " + m.searchedSessions() + ".", human.When(s.why != "", s.why+"."), human.When(mean != "", "Did you mean "+quoted(mean)+"? Enter searches for it.")}
		text = append(append(text, lists.Map(s.found.Warnings, sentence)...), m.elsewhere())
	}
	var lines []string
	for _, t := range text {
		if t == "" {
			continue
		}
		for _, line := range prose.FoldWords(terminal.Clean(t), max(1, width-4)) {
			lines = append(lines, "  "+v.dim.Render(line))
		}
	}
	return fitted(lines, width, height)[:height]
}

// previewTitle draws the title line of the preview: the session and the position in it.
func (m *Model) previewTitle(v view, width int) string {
	p := &m.preview
	if p.want.Path == "" {
		return v.dim.Render(strings.Repeat("─", width))
	}
	mark, look := "── ", v.dim
	if m.reading {
		mark, look = "▶─ ", v.prompt
	}
	right := cmp.Or(p.find.label(), p.hits.label(p))
	if e := p.reading(); e != nil && width >= placeFrom+2*terminal.Width(right) {
		right = human.Joined(" · ", right, human.Number(e.Number)+"/"+human.Number(p.page.Total))
	}
	if right != "" {
		right = " " + right + " "
	}
	room := width - len("── ") - terminal.Width(right) - 1
	title := look.Render(mark) + v.title.Render(terminal.Clip(p.title, room)) + " "
	rest := width - terminal.Width(title) - terminal.Width(right)
	return terminal.Fit(title+look.Render(strings.Repeat("─", max(0, rest)))+v.notice.Render(right), width)
}

// placeFrom is the least width of a title line with the number of the entry.
const placeFrom = 36

// noteShare bounds the height of note: at most one line in this many.
const noteShare = 8

// note returns the lines above the status: why the index is behind, and why hits are partial.
func (m *Model) note() []string {
	most := m.height / noteShare
	if most == 0 || len(m.results.rows) == 0 {
		return nil
	}
	var lines []string
	if m.state.Hint != "" {
		lines = prose.FoldWords(sentence(m.state.Problem)+" "+sentence(m.state.Hint), m.width)
	}
	if text := human.Joined(". ", m.search.why, m.elsewhere()); text != "" {
		lines = append(lines, prose.FoldWords(text, m.width)...)
	}
	if len(lines) > most {
		lines[most-1] = strings.Join(lines[most-1:], " ")
		lines = lines[:most]
	}
	return lines
}

// sentence returns a message as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// maxFoot is the most lines of a message.
const maxFoot = 4

// foot returns the last lines: the status line, or a message that needs more than one
// line.
func (m *Model) foot(v view) []string {
	text := terminal.Clean(m.message.text)
	most := min(maxFoot, m.height/3)
	if terminal.Width(text) <= m.width || most < 2 {
		return []string{m.status(v)}
	}
	lines := strings.Split(ansi.Wrap(text, m.width, ""), "\n")
	if len(lines) > most {
		lines[most-1] = terminal.Clip(strings.Join(lines[most-1:], " "), m.width)
		lines = lines[:most]
	}
	return lists.Map(lines, func(line string) string { return m.message.style(v).Render(terminal.Fit(line, m.width)) })
}

// style returns how a message looks.
func (m message) style(v view) lipgloss.Style {
	if m.bad {
		return v.problem
	}
	return v.notice
}

// status returns the last line: the current message, or counts, freshness and scope.
func (m *Model) status(v view) string {
	left, look := m.message.text, m.message.style(v)
	hints := m.hints()
	widthOf := func(n int) int { return terminal.Width(v.hints(hints[:min(n, len(hints))], v.dim)) }
	const gap = 2
	if left == "" { // a message matters more than a hint
		needed := 2 // reading and resuming
		if m.width >= previewFrom {
			needed++
		}
		room := m.width - widthOf(needed) - gap
		if len(m.search.found.Warnings) > 0 && len(m.results.rows) > 0 { // else the list shows them all
			left, look = m.search.found.Warnings[0], v.notice
		} else if m.place()&inMain != 0 {
			left, look = m.counts(room), v.dim
		}
		left = terminal.Clip(left, max(0, room))
	}
	left = terminal.Clean(left)
	room := m.width - terminal.Width(left) - gap
	if left == "" {
		room = m.width
	}
	if room < widthOf(1) {
		return terminal.Fit(look.Render(left), m.width)
	}
	for len(hints) > 1 && widthOf(len(hints)) > room {
		hints = hints[:len(hints)-1]
	}
	right := v.hints(hints, v.dim)
	return look.Render(left) + strings.Repeat(" ", m.width-terminal.Width(left)-terminal.Width(right)) + right
}

// counts returns the number of hits, the time, freshness, scope and order. If there is no room
// for all, it leaves out those that matter least.
func (m *Model) counts(room int) string {
	s := &m.search
	parts := []string{m.found(), "", m.freshness(), "", string(m.scope()), ""}
	if !m.state.Pushed.IsZero() {
		parts[3] = "pushed " + human.Ago(m.options.Now(), m.state.Pushed)
	}
	if s.answered && !s.slow && s.failed == nil && s.noWord == "" && s.took >= time.Millisecond {
		parts[1] = fmt.Sprintf("%d ms", s.took.Milliseconds())
	}
	if m.request.Sort != 0 {
		parts[5] = m.sortName()
	}
	if n := len(m.marked); n > 0 {
		parts[0] = human.Joined(" · ", human.Number(n)+" marked", parts[0])
	}
	join := func() string { return human.Joined(" · ", parts...) }
	least := []int{1, 2, 4}
	if m.state.Archive != "" {
		least = []int{1, 4, 3, 5}
	}
	for _, i := range least {
		if terminal.Width(join()) <= room {
			break
		}
		if i != 2 || parts[2] == upToDate {
			parts[i] = ""
		}
	}
	if m.state.Archive != "" && terminal.Width(join()) > room {
		parts[0], _, _ = strings.Cut(parts[0], ", ") // without looser hits
	}
	return join()
}

// found returns the number of hits or sessions.
func (m *Model) found() string {
	s := &m.search
	n := s.found.Counts()
	n.TotalSessions, n.ListedSessions = 0, 0
	switch {
	case s.slow:
		return "searching …"
	case !s.answered || s.failed != nil || s.noWord != "":
		return ""
	case s.shown == "" || n.Total+n.Looser() == 0 && s.sessions > 0:
		return human.Plural(s.sessions, "session", "sessions")
	case n.Total == 0 || n.Looser() == 0:
		return search.Found(n)
	}
	apart, _, _ := strings.Cut(search.Apart(n), " one")
	text := search.Found(n) + ", " + apart
	if keys := m.keysOf("any"); s.found.Folded > 0 && keys != "" {
		text += " (" + keys + ")"
	}
	return text
}

// upToDate is the usual state of the index.
const upToDate = "up to date"

func (m *Model) freshness() string {
	switch s := &m.state; {
	case s.Archive != "":
		return s.Archive
	case s.Indexing:
		text := "indexing " + human.Percent(s.Share)
		if s.Left > 2*time.Second {
			text += fmt.Sprintf(", %s left", s.Left.Round(time.Second))
		}
		return text
	case s.Hint != "":
		return "not up to date"
	case s.Problem != "":
		return s.Problem
	case !s.Ready:
		return "checking for changes"
	}
	return upToDate
}

// panes is how the user has arranged the screen. It is not saved.
type panes struct {
	side side
	hide bool // the list only
	zoom bool // the preview only, on the whole screen
	list bool // the list had the focus before the zoom
}

// side is where the preview is.
type side uint8

const (
	sideAuto side = iota // by the size of the window
	sideRight
	sideBelow
	sides
)

var sideNames = [sides]string{"beside or below the list, by the width", "beside the list", "below the list"}

// layout is the position of the panes. The first line is the input, the second a rule,
// the last the status.
type layout struct {
	list    area
	preview area // without the title line above it
	beside  bool // the preview is beside the list, not below it
	whole   bool // the preview has the whole screen
}

const (
	besideFrom  = 100 // columns for two panes side by side
	previewFrom = 60  // columns for two panes, one above the other
	stackFrom   = 16  // lines for two panes, one above the other
	frame       = 3   // lines outside of the panes

	leastList   = 50 // columns of a list beside the preview, unless that has less then
	leastBeside = 60 // columns for two panes side by side, if the user wants them so
	leastStack  = 10 // lines for one above the other
)

func (m *Model) layout() layout {
	height := max(0, m.height-frame-len(m.note()))
	all := area{0, 2, m.width, height}
	beside := m.width >= besideFrom && height >= 4
	below := m.width >= previewFrom && m.height >= stackFrom
	switch {
	case m.panes.side == sideRight && m.width >= leastBeside && height >= 4:
		beside = true
	case m.panes.side == sideBelow && m.height >= leastStack:
		beside, below = false, true
	}
	switch {
	case m.panes.zoom && m.reading:
		return layout{preview: area{0, 1, m.width, max(0, m.height-2)}, whole: true}
	case m.panes.hide || !beside && !below:
		if m.reading {
			return layout{preview: area{0, 3, m.width, max(0, height-1)}}
		}
		return layout{list: all}
	case beside:
		left := max(min(m.width*45/100, 100), min(m.width/2, leastList))
		return layout{list: area{0, 2, left, height}, preview: area{left + 3, 3, m.width - left - 3, max(0, height-1)}, beside: true}
	}
	top := height / 2
	return layout{list: area{0, 2, m.width, top}, preview: area{0, 2 + top + 1, m.width, height - top - 1}}
}

// zoom toggles the preview between the whole screen and its pane.
func (m *Model) zoom() tea.Cmd {
	m.panes.zoom = !m.panes.zoom
	switch {
	case !m.panes.zoom:
		m.reading = m.reading && !m.panes.list
	case m.reading:
		m.panes.list = false
	case len(m.results.items) > 0:
		m.reading, m.panes.list = true, true
	default:
		m.panes.zoom = false
		m.say("there is nothing to read")
	}
	return m.arranged()
}

// hidePreview leaves the list alone on the screen, or shows the preview again.
func (m *Model) hidePreview() tea.Cmd {
	m.panes.hide, m.panes.zoom = !m.panes.hide, false
	if m.panes.hide {
		m.reading, m.findFocus = false, false
	}
	return m.arranged()
}

// toggleBrief leaves one line for each session, or brings the hits back. The selection stays
// in its session.
func (m *Model) toggleBrief() tea.Cmd {
	r := &m.results
	before := r.session()
	r.brief = !r.brief
	r.fill(r.groups, false)
	if before == nil {
		return nil
	}
	r.at = slices.IndexFunc(r.items, func(row int) bool { return r.groups[r.rows[row].group].SessionPath == before.SessionPath })
	return m.selectedByUser()
}

// nextSide moves the preview to another side of the list.
func (m *Model) nextSide() tea.Cmd {
	m.panes.side = (m.panes.side + 1) % sides
	m.panes.hide, m.panes.zoom = false, false
	m.say("preview %s", sideNames[m.panes.side])
	return m.arranged()
}

// arranged reacts to a new arrangement of the screen. It redraws everything: bubbletea
// would move lines by scrolling, and if the terminal is resized at the same time, the
// screen could differ from what bubbletea assumes.
func (m *Model) arranged() tea.Cmd { return tea.Batch(m.showPreview(), tea.ClearScreen) }

func (m *Model) nextEntry(n int) tea.Cmd {
	m.preview.nextEntry(n)
	return m.load()
}

func (m *Model) jump(at int) tea.Cmd {
	if m.help != nil {
		return m.scrollPreview(map[int]int{AtStart: -far, AtEnd: far}[at])
	}
	m.preview.jump(at)
	return m.load()
}

// openOutline shows the prompts of the conversation, to go to one of them.
func (m *Model) openOutline() tea.Cmd {
	p, ok := m.target()
	if !ok {
		m.say("there is nothing to read")
		return nil
	}
	menu := newMenu("prompt", reading, nil)
	m.setMenu(menu)
	prompts := m.options.Prompts
	return m.start(&menu.running, func(ctx context.Context) then {
		list, err := prompts(ctx, p)
		return func(m *Model) tea.Cmd {
			switch {
			case m.menu != menu:
			case err != nil:
				m.setMenu(nil)
				m.complain(err)
			default:
				m.fillOutline(menu, list)
			}
			return nil
		}
	})
}

// fillOutline lists prompts. The last one before the entry that is read is selected.
func (m *Model) fillOutline(menu *menu, list []Prompt) {
	here, _ := m.target()
	menu.empty = "there are no prompts"
	for i, p := range list {
		c := choice{label: fmt.Sprintf("%*d  %s", len(strconv.Itoa(len(list))), i+1, p.Text), do: func(m *Model) tea.Cmd {
			m.reading, m.moved = true, true
			return tea.Batch(m.showPreview(), m.goTo(p.Place, nil))
		}}
		if !p.Time.IsZero() {
			c.note = human.Age(m.options.Now(), p.Time)
		}
		menu.choices = append(menu.choices, c)
		if p.Offset <= here.Offset || here.EntryID == "" {
			menu.at = i
		}
	}
	menu.filter()
}

// goTo shows another entry of the conversation, and marks texts in it.
func (m *Model) goTo(at Place, marks []match.Mark) tea.Cmd {
	p := &m.preview
	p.goal, p.marks = p.toHit, marks
	want := p.want
	want.Place, want.At = Place{at.Path, want.ID, at.EntryID, at.Offset, at.Line}, AtPlace
	p.ask(want)
	return m.load()
}

func (m *Model) toggleFold() tea.Cmd {
	p := &m.preview
	list, open := p.foldable(), p.isOpen()
	if len(list) == 0 {
		return nil
	}
	if e := list[len(list)-1]; e.Large > 0 && !e.Open {
		m.say("this entry is too large for the preview (%s); the pager shows all of it", human.Bytes(e.Large))
		if len(list) == 1 {
			return nil
		}
	}
	want := p.want
	p.folds, p.unfolded = want.Folds, p.linesOf(list)
	for _, e := range list {
		if e.Large == 0 {
			want.Folds = setFold(want.Folds, e.Index, !open)
		}
	}
	p.ask(want)
	m.folded()
	return m.load()
}

// folded shows a message if there was nothing to fold or unfold.
func (m *Model) folded() {
	if m.preview.unchanged() {
		m.say("nothing to unfold here")
	}
}

func (m *Model) toggleAll() tea.Cmd {
	want := m.preview.want
	want.All, want.Folds = !want.All, ""
	m.preview.ask(want)
	if want.All {
		m.say("everything is unfolded; O folds it")
	} else {
		m.say("long texts are folded")
	}
	return m.load()
}
