package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"golang.org/x/term"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/resume"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
	"pigrep/ui/tui"
)

// tuiBackend implements the functions of the TUI: answers, and the work of other commands.
type tuiBackend struct {
	*backend
	options *tuiOptions
	context context.Context // of the run
	links   *terminal.Links // in the preview; nil for none
}

// newTUIBackend returns the backend for an index. The caller closes the index.
func newTUIBackend(ctx context.Context, o *tuiOptions, p *location.Location) *tuiBackend {
	return &tuiBackend{backend: newBackend(ctx, p), options: o, context: ctx}
}

// functions are those of the TUI.
func (b *tuiBackend) functions() tui.Backend {
	return tui.Backend{
		Search: b.search, Sessions: b.sessions, Preview: b.preview, Find: b.find, Prompts: b.prompts, Text: b.text, Facets: b.values, Count: b.count,
		Export: b.export, Copy: b.copy,
		Resume: b.resume, Show: b.show, Edit: b.edit, Follow: b.follow,
	}
}

func (b *tuiBackend) sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	req.Scope = "" // a scope selects text, and this request has no text
	return b.backend.sessions(ctx, req)
}

// openPlace opens the session of a place in the newest generation, and finds its entry.
// The caller calls done.
func (b *tuiBackend) openPlace(p tui.Place) (x *snapshot.Snapshot, t *conversation.Target, done func(), err error) {
	x, t, done, err = b.openSession(func(*snapshot.Snapshot) (string, error) { return p.Path, nil })
	if err == nil && (p.EntryID != "" || p.Line > 0) {
		t.Entry = t.Record.NodeAt(p.Offset)
		if t.Entry < 0 || t.Record.Nodes[t.Entry].ID != p.EntryID {
			t.Entry = t.Tree.Find(p.EntryID)
		}
	}
	return x, t, done, err
}

// resume builds the same command as `pigrep resume`.
func (b *tuiBackend) resume(_ context.Context, p tui.Place, how tui.How) (*tui.Resume, error) {
	x, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	o := b.options.how
	o.Exec = how.Run && !b.options.print
	if how.Dir != "" {
		o.In = how.Dir
	}
	r, err := o.Plan(b.App, t)
	if _, gone := errors.AsType[*resume.DirectoryGoneError](err); gone {
		return nil, &tui.MovedError{Dir: t.Record.CWD, Dirs: placesFor(b.App, t.Record.CWD, x.Reader.Summaries())}
	}
	if err != nil {
		return nil, err
	}
	return &tui.Resume{Dir: r.Dir, Argv: r.Argv, Command: r.Command, Warnings: r.Warnings}, nil
}

// placesFor returns the directories where a session could continue whose own is gone: those
// of other sessions that have its name, then the current one.
func placesFor(a *app.App, gone string, list []session.Summary) []string {
	const most = 8
	var dirs []string
	for _, s := range list {
		if filepath.Base(s.CWD) == filepath.Base(gone) && len(dirs) < most && !slices.Contains(dirs, s.CWD) && resume.CheckDir(s.CWD) == nil {
			dirs = append(dirs, s.CWD)
		}
	}
	if !slices.Contains(dirs, a.WorkDir) {
		dirs = append(dirs, a.WorkDir)
	}
	return dirs
}

// uiPager is less in the TUI. It stays open if everything fits on a screen, and starts at
// the entry.
const uiPager = "less -+F -+X '+/^" + printer.FocusMark + "'"

// show shows the conversation of the entry in a pager.
func (b *tuiBackend) show(p tui.Place, in io.Reader, out io.Writer) error {
	x, t, done, err := b.openPlace(p)
	if err != nil {
		return err
	}
	defer done()
	ctx, a := b.context, b.borrow(in, out)
	write := func() error {
		facts, err := t.Facts(ctx, x)
		if err != nil {
			return problem.OfIndex(err)
		}
		list := t.Tree.Path()
		s := &printer.Show{Session: facts, Focus: map[int]bool{}, Whole: true}
		if t.Entry >= 0 {
			s.Focus[t.Entry], s.Unfold = true, true
			if !slices.Contains(list, t.Entry) {
				list = t.Tree.Through(t.Entry)
			}
		}
		s.Entries = conversation.ReadEntries(ctx, t, list, nil).All
		look, err := b.options.Printer(a)
		if err != nil {
			return err
		}
		look.Layout.Links = nil // the pager may not take them
		return conversation.ReadProblem(ctx, look.Print(s))
	}
	command := pager.Command(a, &pager.Options{})
	if name, _ := pager.Name(a); command == "" && name != pager.None { // it is not installed
		if _, err := a.LookPath(pager.Default); err != nil {
			return fmt.Errorf("no pager: neither %s nor %s was found", name, pager.Default)
		}
		command = pager.Default
	}
	switch command {
	case "": // without a pager the output would vanish immediately
		if err := write(); err != nil {
			return err
		}
		if err := a.Out.Flush(); err != nil {
			return err
		}
		return waitForEnter(in, out)
	case pager.Default:
		command = uiPager
		if t.Entry < 0 {
			command = "less -+F -+X +G"
		}
	}
	return pager.ShowWith(a, command, write)
}

// borrow returns a copy of the app that uses the terminal of the TUI.
func (b *tuiBackend) borrow(in io.Reader, out io.Writer) *app.App {
	a := *b.App
	a.Streams = &terminal.Streams{In: in, Out: out, Err: out, InTTY: true, OutTTY: true, ErrTTY: true, Width: b.App.Streams.Width}
	if f, ok := out.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			a.Streams.Width = width
		}
	}
	a.Out = bufio.NewWriter(out)
	return &a
}

func waitForEnter(in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprint(out, "\n[Enter] "); err != nil {
		return err
	}
	_, err := bufio.NewReader(in).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
