package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

// planResume asks the backend for the command that resumes a session, to run or to copy it.
func (m *Model) planResume(p Place, how How) tea.Cmd {
	if m.asking != nil {
		return nil
	}
	plan := m.options.Resume
	return m.start(&m.asking, func(ctx context.Context) then {
		r, err := plan(ctx, p, how)
		return func(m *Model) tea.Cmd { return m.resumed(p, how, r, err) }
	})
}

// pressEnter opens the conversation at the hit, on the whole screen, and unfolds the entry there. Where a session
// is chosen, it takes that.
func (m *Model) pressEnter() tea.Cmd {
	if p, ok := m.target(); ok {
		switch {
		case m.options.Choose && !p.isElsewhere():
			return m.resume()
		case m.panes.zoom && m.reading:
			return m.toggleFold()
		}
		m.panes.zoom = false
		return m.zoom()
	}
	if mean := m.search.found.DidYouMean; mean != "" && m.search.shown == m.query.text {
		m.query.set(mean)
		return m.changed()
	}
	return nil
}

// resume resumes the session, unless it is on another machine.
func (m *Model) resume() tea.Cmd {
	switch p, ok := m.target(); {
	case !ok:
		m.say("no session is selected")
	case p.isElsewhere():
		m.say("the session is on another machine, which can resume it")
	default:
		return m.planResume(p, How{Run: true})
	}
	return nil
}

// resumed ends the program with the command. Before an agent starts, it asks once, unless a session is to be
// chosen; then it only shows warnings.
func (m *Model) resumed(p Place, how How, r *Resume, err error) tea.Cmd {
	moved, isMoved := errors.AsType[*MovedError](err)
	switch {
	case isMoved && !how.Run && how.Dir == "" && len(moved.Dirs) > 0:
		return m.planResume(p, How{Dir: moved.Dirs[0]})
	case isMoved:
		m.chooseDir(p, how, moved)
		return nil
	case err != nil:
		m.complain(err)
		return nil
	case !how.Run:
		what := r.Command
		if how.Dir != "" {
			what += " (its own directory is gone)"
		}
		return m.copyText(r.Command, what)
	case (len(r.Warnings) > 0 || !m.options.Choose && how.Dir == "") && m.warned != p && !m.options.Print:
		m.warned = p
		keys := cmp.Or(m.keysOf("resume"), "r")
		if m.options.Choose {
			keys = "Enter"
		}
		start := fmt.Sprintf("press %s again to start %s", keys, r.Argv[0]) + human.When(r.Dir != "", " in "+m.path(r.Dir))
		m.say("%s", human.Joined("; ", append(slices.Clone(r.Warnings), start)...))
		return nil
	}
	m.done.Resume = r
	return tea.Sequence(m.remember(), tea.Quit)
}

// chooseDir asks where a session continues whose directory is gone.
func (m *Model) chooseDir(p Place, how How, moved *MovedError) {
	in := func(m *Model, dir string) tea.Cmd { return m.planResume(p, How{dir, how.Run}) }
	choices := lists.Map(moved.Dirs, func(dir string) choice {
		c := choice{label: m.path(dir), do: func(m *Model) tea.Cmd { return in(m, dir) }}
		if dir == m.options.WorkDir {
			c.note = "the current directory"
		}
		return c
	})
	menu := newMenu(m.path(moved.Dir)+" is gone; continue a copy in", "type a directory", choices)
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

// markSession marks the selected session, or unmarks it, and selects the next one.
func (m *Model) markSession() tea.Cmd {
	p, ok := m.target()
	if !ok {
		return nil
	}
	if i := slices.IndexFunc(m.marked, func(q Place) bool { return q.Path == p.Path }); i >= 0 {
		m.marked = slices.Delete(m.marked, i, i+1)
	} else {
		m.marked = append(m.marked, Place{Path: p.Path, ID: p.ID})
	}
	if m.reading {
		return nil
	}
	r := &m.results
	group := func(item int) int { return r.rows[item].group }
	if n := slices.IndexFunc(r.items[r.at:], func(item int) bool { return group(item) != group(r.items[r.at]) }); n > 0 {
		r.at += n
	}
	return m.selectedByUser()
}

// chosen returns the sessions that actions are about: those that are marked, else the
// target.
func (m *Model) chosen() []Place {
	if len(m.marked) > 0 {
		return m.marked
	}
	if p, ok := m.target(); ok {
		return []Place{p}
	}
	return nil
}

// openMenuOf shows a menu of actions for the chosen sessions, if there are any.
func (m *Model) openMenuOf(menu func(chosen []Place) *menu) tea.Cmd {
	chosen := m.chosen()
	if len(chosen) == 0 {
		m.say("no session is selected")
		return nil
	}
	m.setMenu(menu(chosen))
	return nil
}

func (m *Model) openActions() tea.Cmd { return m.openMenuOf(m.actionMenu) }

// actionMenu returns the menu of all actions. Those that do not apply are in it too, so that
// each has its place.
func (m *Model) actionMenu(chosen []Place) *menu {
	what := "the session"
	if len(m.marked) > 0 {
		what = human.Plural(len(chosen), "marked session", "marked sessions")
	}
	var choices []choice
	add := func(name, label, off string, do func(*Model) tea.Cmd) {
		choices = append(choices, choice{label: label, note: m.keysOf(name), off: off, do: do})
	}
	noSession, noEntry := "", ""
	if p, ok := m.target(); !ok {
		noSession, noEntry = "no session is selected", "no entry is selected"
	} else if p.EntryID == "" {
		noEntry = "no entry is selected"
	}
	add("", "copy the text of the entry", noEntry, (*Model).copyEntry)
	add("", "copy the command that resumes the session", noSession, (*Model).copyCommand)
	add("", "copy the path of "+what, "", func(m *Model) tea.Cmd { return m.copyAll(chosen, "path", func(p Place) string { return p.Path }) })
	add("", "copy the id of "+what, "", func(m *Model) tea.Cmd { return m.copyAll(chosen, "id", func(p Place) string { return p.ID }) })
	for _, f := range m.options.Formats {
		add("", "export "+what+" as "+f, "", func(m *Model) tea.Cmd { return m.export(chosen, f) })
	}
	add("resume", "resume the session", noSession, (*Model).resume)
	add("pager", "read the conversation in a pager", noSession, (*Model).showInPager)
	add("editor", "open the session file in an editor", noSession, (*Model).edit)
	add("mark-session", "mark the session, or unmark it", noSession, (*Model).markSession)
	add("unfold-all", "unfold everything in the preview, or fold it", noSession, (*Model).toggleAll)
	add("zoom", "preview on the whole screen, and back", noSession, (*Model).zoom)
	add("hide-preview", "hide the preview, or show it", "", (*Model).hidePreview)
	add("layout", "preview beside the list, below it, or where there is room", "", (*Model).nextSide)
	return newMenu("do", "", choices)
}

func (m *Model) openExport() tea.Cmd {
	return m.openMenuOf(func(chosen []Place) *menu {
		choices := lists.Map(m.options.Formats, func(f string) choice {
			return choice{label: f, do: func(m *Model) tea.Cmd { return m.export(chosen, f) }}
		})
		return newMenu("export "+human.Plural(len(chosen), "session", "sessions")+" as", "", choices)
	})
}

func (m *Model) export(list []Place, format string) tea.Cmd {
	m.say("exporting %s …", human.Plural(len(list), "session", "sessions"))
	ctx, export := m.ctx, m.options.Export
	list = slices.Clone(list)
	return command(func() then {
		m.exports.RLock()
		defer m.exports.RUnlock()
		var paths []string
		err := ctx.Err() // once the program has ended, it does not wait
		for i := 0; i < len(list) && err == nil; i++ {
			var path string
			if path, err = export(ctx, list[i], format); err == nil {
				paths = append(paths, human.Path(path, m.options.Home))
			}
		}
		return func(m *Model) tea.Cmd {
			switch done := strings.Join(paths, ", "); {
			case err != nil && len(paths) > 0:
				m.complain(fmt.Errorf("%d of %d exported (%s), then: %w", len(paths), len(list), done, err))
			case err != nil:
				m.complain(err)
			default:
				m.marked = nil
				m.say("wrote %s", done)
			}
			return nil
		}
	})
}

// copy copies the command, or in the preview the text of the entry.
func (m *Model) copy() tea.Cmd {
	if m.reading {
		return m.copyEntry()
	}
	return m.copyCommand()
}

func (m *Model) copyCommand() tea.Cmd {
	if p, ok := m.target(); ok {
		return m.planResume(p, How{})
	}
	return nil
}

func (m *Model) copyEntry() tea.Cmd {
	p, ok := m.target()
	if !ok {
		return nil
	}
	ctx, read := m.ctx, m.options.Text
	return m.copying(func() (text, what string, err error) {
		text, err = read(ctx, p)
		return text, "the text of the entry (" + human.Plural(len([]rune(text)), "character", "characters") + ")", err
	})
}

func (m *Model) copyAll(list []Place, what string, of func(Place) string) tea.Cmd {
	lines := slices.DeleteFunc(lists.Map(list, of), func(s string) bool { return s == "" })
	switch len(lines) {
	case 0:
		m.say("the session has no %s", what)
		return nil
	case 1:
		return m.copyText(lines[0], lines[0])
	}
	return m.copyText(strings.Join(lines, "\n"), fmt.Sprintf("%d %ss", len(lines), what))
}

func (m *Model) copyText(text, what string) tea.Cmd {
	return m.copying(func() (string, string, error) { return text, what, nil })
}

func (m *Model) copying(read func() (text, what string, err error)) tea.Cmd {
	ctx, copy := m.ctx, m.options.Copy
	return command(func() then {
		text, what, err := read()
		if err != nil {
			return failing(err)
		}
		kept := copy(ctx, text) // by a program such as xclip
		return func(m *Model) tea.Cmd {
			if !kept && len(text) > mostOSC52 {
				m.complain(fmt.Errorf("too long to be copied through the terminal: %s; export it instead", what))
				return nil
			}
			m.say("copied: %s", terminal.Clean(what))
			if len(text) > mostOSC52 {
				return nil
			}
			return tea.SetClipboard(text) // the terminal may run on another machine
		}
	})
}

// mostOSC52 is the length of the longest text that the terminal is asked to copy: xterm
// accepts no more.
const mostOSC52 = 74_994
