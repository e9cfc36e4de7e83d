package tui

import (
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
)

// planned is the result of planResume.
type planned struct {
	Place
	How
	resume *Resume
	err    error
}

// planResume asks the backend for the command that resumes a session, to run or to copy it.
func (m *Model) planResume(p Place, how How) tea.Cmd {
	if m.asking {
		return nil
	}
	m.asking = true
	ctx, plan := m.ctx, m.options.Resume
	return command(func() then {
		r, err := plan(ctx, p, how)
		return func(m *Model) tea.Cmd { return m.resumed(planned{p, how, r, err}) }
	})
}

func (m *Model) resume() tea.Cmd {
	if p, ok := m.target(); ok {
		return m.planResume(p, How{Run: true})
	}
	if m.search.mean != "" && m.search.shown == m.query.text {
		m.query.set(m.search.mean)
		return m.changed()
	}
	return nil
}

// resumed ends the program with the command, or first shows its warnings.
func (m *Model) resumed(msg planned) tea.Cmd {
	m.asking = false
	moved, isMoved := errors.AsType[*MovedError](msg.err)
	switch {
	case isMoved && !msg.Run && msg.Dir == "" && len(moved.Dirs) > 0:
		how := msg.How
		how.Dir = moved.Dirs[0]
		return m.planResume(msg.Place, how)
	case isMoved:
		m.chooseDir(msg, moved)
		return nil
	case msg.err != nil:
		m.complain(msg.err)
		return nil
	case !msg.Run:
		what := msg.resume.Command
		if msg.Dir != "" {
			what += " (its own directory is gone)"
		}
		return m.copyText(msg.resume.Command, what)
	case len(msg.resume.Warnings) > 0 && m.warned != msg.Place && !m.options.Print:
		m.warned = msg.Place
		m.say("%s; press Enter again to resume anyway", strings.Join(msg.resume.Warnings, "; "))
		return nil
	}
	m.done.Resume = msg.resume
	return tea.Sequence(m.remember(), tea.Quit)
}

// chooseDir asks where a session continues whose directory is gone.
func (m *Model) chooseDir(msg planned, moved *MovedError) {
	in := func(m *Model, dir string) tea.Cmd {
		how := msg.How
		how.Dir = dir
		return m.planResume(msg.Place, how)
	}
	var choices []choice
	for _, dir := range moved.Dirs {
		c := choice{label: terminal.Clean(human.Path(dir, m.options.Home)), do: func(m *Model) tea.Cmd { return in(m, dir) }}
		if dir == m.options.WorkDir {
			c.note = "the current directory"
		}
		choices = append(choices, c)
	}
	gone := terminal.Clean(human.Path(moved.Dir, m.options.Home))
	menu := newMenu(gone+" is gone; continue a copy in", "type a directory", choices)
	menu.typed = in
	m.setMenu(menu)
}

// target returns the place that actions are about: in the preview the entry that is read,
// else the selection; false when there is nothing.
func (m *Model) target() (Place, bool) {
	if e := m.preview.reading(); m.reading && e != nil {
		return e.Place, true
	}
	return m.results.selected()
}

func (m *Model) showInPager() tea.Cmd { return m.leaveFor(m.options.Show) }

func (m *Model) edit() tea.Cmd { return m.leaveFor(m.options.Edit) }

// leaveFor hands the terminal to do until it returns.
func (m *Model) leaveFor(do func(Place, io.Reader, io.Writer) error) tea.Cmd {
	p, ok := m.target()
	if !ok {
		return nil
	}
	return tea.Sequence(m.remember(), tea.Exec(&errand{do: do, place: p}, func(err error) tea.Msg {
		if err != nil {
			return failing(err)
		}
		return nil
	}))
}

// errand is a function that takes over the terminal.
type errand struct {
	do    func(Place, io.Reader, io.Writer) error
	place Place
	in    io.Reader
	out   io.Writer
}

func (e *errand) SetStdin(r io.Reader)  { e.in = r }
func (e *errand) SetStdout(w io.Writer) { e.out = w }
func (e *errand) SetStderr(io.Writer)   {}

func (e *errand) Run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	return e.do(e.place, e.in, e.out)
}
