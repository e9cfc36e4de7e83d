package tui

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
)

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
		left := min(m.width*45/100, 100)
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

func (m *Model) nextEntry(n int) tea.Cmd { return m.loadIf(m.preview.nextEntry(n)) }

func (m *Model) jump(at int) tea.Cmd {
	if m.help != nil {
		return m.scrollPreview(map[int]int{AtStart: -far, AtEnd: far}[at])
	}
	return m.loadIf(m.preview.jump(at))
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
	ctx, stop := context.WithCancel(m.ctx)
	menu.counting = &job{stop}
	prompts := m.options.Prompts
	return command(func() then {
		defer stop()
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
func (m *Model) goTo(at Place, marks []string) tea.Cmd {
	p := &m.preview
	p.goal, p.marks = goalHit, marks
	want := p.want
	want.Place, want.At = Place{at.Path, want.ID, at.EntryID, at.Offset, at.Line}, AtPlace
	return m.showPage(p.ask(want))
}

// toggleFold folds or unfolds the entry that is read.
func (m *Model) toggleFold() tea.Cmd {
	list := m.preview.foldable()
	if len(list) == 0 {
		return nil
	}
	if e := list[len(list)-1]; e.Large > 0 && !e.Open {
		m.say("this entry is too large for the preview (%s); the pager shows all of it", human.Bytes(e.Large))
		if len(list) == 1 {
			return nil
		}
	}
	if m.preview.toggleFold() {
		return m.loadPreview()
	}
	m.folded()
	return nil
}

// folded shows a message if there was nothing to fold or unfold.
func (m *Model) folded() {
	if m.preview.unchanged() {
		m.say("nothing to unfold here")
	}
}

// toggleAll folds or unfolds the whole conversation.
func (m *Model) toggleAll() tea.Cmd {
	loading := m.preview.toggleAll()
	if m.preview.want.All {
		m.say("everything is unfolded; O folds it")
	} else {
		m.say("long texts are folded")
	}
	return m.loadIf(loading)
}
