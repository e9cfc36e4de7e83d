package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/terminal"
	"pigrep/internal/ui/printer"
	"pigrep/internal/ui/tui"
	"pigrep/query"
	"pigrep/query/sessions"
)

// desk is what the terminal interface works with: an index that stays open, and
// the commands that it does the work of.
type desk struct {
	app     *App
	options *tuiOptions
	place   *place
	index   *follower
}

func (d *desk) backend() tui.Backend {
	return tui.Backend{
		Search: d.search, Sessions: d.sessions, Preview: d.preview, Facets: d.facets,
		Resume: d.resume, Show: d.show, Edit: d.edit, Follow: d.follow,
	}
}

// Hint implements tui.Hint.
func (p *problem) Hint() string { return p.hint }

// open returns the newest generation, and what gives it back.
func (d *desk) open() (x *answerer, give func(), err error) {
	held, err := d.index.take()
	switch {
	case held != nil:
		return &answerer{reader: held.Reader, agents: d.place.agents}, func() { d.index.give(held) }, nil
	case errors.Is(err, index.ErrNoIndex):
		return nil, nil, tui.ErrNoIndex
	}
	return nil, nil, indexProblem(err)
}

func (d *desk) search(ctx context.Context, req query.Request) (*query.Response, error) {
	x, give, err := d.open()
	if err != nil {
		return nil, err
	}
	defer give()
	return query.Search(ctx, x.reader, d.place.agents, disk{}, req)
}

func (d *desk) sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	x, give, err := d.open()
	if err != nil {
		return nil, err
	}
	defer give()
	// The scope is about text, and there is none to look for.
	req.Scope = ""
	return sessions.List(ctx, x.reader, d.place.agents, disk{}, req)
}

func (d *desk) facets(context.Context) ([]sessions.Facet, error) {
	x, give, err := d.open()
	if err != nil {
		return nil, err
	}
	defer give()
	return sessions.Facets(x.reader)
}

// target opens a session, with the entry of the place.
func (d *desk) target(x *answerer, p tui.Place) (*target, error) {
	t, err := openTarget(d.app, x, p.Path, "")
	if err != nil || p.EntryID == "" && p.Line == 0 {
		return t, err
	}
	t.entry = t.Record.NodeAt(p.Offset)
	if t.entry < 0 || t.Record.Nodes[t.entry].ID != p.EntryID {
		t.entry = t.Tree.Find(p.EntryID)
	}
	return t, nil
}

// wholeFrom is the size of an entry, in bytes, from which a preview folds it.
const wholeFrom = 4 << 20

// preview renders the neighbourhood of an entry, or the end of a conversation.
func (d *desk) preview(ctx context.Context, p tui.Place, extent tui.Extent) (*tui.Preview, error) {
	x, give, err := d.open()
	if err != nil {
		return nil, err
	}
	defer give()
	t, err := d.target(x, p)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	page := &tui.Preview{}
	focus, branch := t.entry, t.Tree.Path()
	s := &printer.Show{Focus: map[int]bool{}}
	switch {
	case focus >= 0:
		s.Focus[focus] = true
		s.Unfold = t.Record.Nodes[focus].Length < wholeFrom
		if !slices.Contains(branch, focus) {
			branch = t.Tree.Through(focus)
		}
	case len(branch) > 0:
		focus = branch[len(branch)-1]
	default:
		page.Lines = []string{"(nothing was said)"}
		return page, nil
	}
	list := neighbourhood(t, branch, []int{focus}, extent.Around, true)
	page.Before, page.After = list[0] != branch[0], list[len(list)-1] != branch[len(branch)-1]
	if s.Session, err = t.facts(ctx, d.app, x); err != nil {
		return nil, indexProblem(err)
	}
	s.Entries = readEntries(ctx, t, list, nil).all
	var out bytes.Buffer
	look := printer.Look{Width: extent.Width, Colour: true, Now: d.app.Now(), Home: d.app.Home}
	if err := readProblem(ctx, printer.New(&out, printer.FormatText, look).Print(s)); err != nil {
		return nil, err
	}
	page.Lines = strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if page.Before { // what stands above a conversation is above its beginning only
		if i := slices.Index(page.Lines, ""); i >= 0 {
			page.Lines = page.Lines[i+1:]
		}
	}
	page.Focus = max(0, slices.IndexFunc(page.Lines, printer.IsFocus))
	if t.entry >= 0 {
		e, err := t.Read(t.entry)
		if err != nil {
			return nil, readProblem(ctx, err)
		}
		var text []string
		for i := range e.Parts {
			text = append(text, string(e.Parts[i].Text))
		}
		page.Text = strings.Join(text, "\n")
	}
	return page, nil
}

// resume makes the command as `pigrep resume --exec` does.
func (d *desk) resume(_ context.Context, p tui.Place) (*tui.Resume, error) {
	x, give, err := d.open()
	if err != nil {
		return nil, err
	}
	defer give()
	t, err := d.target(x, p)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	o := &resumeOptions{exec: !d.options.print}
	r, err := o.plan(d.app, t)
	if gone, ok := errors.AsType[*directoryGoneError](err); ok {
		command := "pigrep resume " + t.shortID(t.Record.ID)
		return nil, &problem{code: codeCannotResume, err: gone, hint: "project moved? " + command + " --in DIR; otherwise " + command + " --fork"}
	}
	if err != nil {
		return nil, err
	}
	return &tui.Resume{Dir: r.Dir, Argv: r.Argv, Command: r.Command, Warnings: r.Warnings}, nil
}

// uiPager is the pager for a conversation when the person names none. It stays
// open when all fits on a screen, and begins at the entry.
const uiPager = "less -R '+/^" + printer.FocusMark + "'"

// show shows the conversation that the entry is in, in a pager.
func (d *desk) show(p tui.Place, in io.Reader, out io.Writer) error {
	x, give, err := d.open()
	if err != nil {
		return err
	}
	defer give()
	t, err := d.target(x, p)
	if err != nil {
		return err
	}
	defer t.Close()
	ctx, a := d.index.context, d.borrow(in, out)
	write := func() error {
		facts, err := t.facts(ctx, a, x)
		if err != nil {
			return indexProblem(err)
		}
		list := t.Tree.Path()
		s := &printer.Show{Session: facts, Focus: map[int]bool{}, Whole: true}
		if t.entry >= 0 {
			s.Focus[t.entry], s.Unfold = true, true
			if !slices.Contains(list, t.entry) {
				list = t.Tree.Through(t.entry)
			}
		}
		s.Entries = readEntries(ctx, t, list, nil).all
		look, err := d.options.printer(a)
		if err != nil {
			return err
		}
		return readProblem(ctx, look.Print(s))
	}
	command := a.pagerCommand(&pagerOptions{})
	switch command {
	case "": // then the screen would be gone at once
		if err := write(); err != nil {
			return err
		}
		if err := a.out.Flush(); err != nil {
			return err
		}
		return waitForEnter(in, out)
	case defaultPager:
		command = uiPager
		if t.entry < 0 {
			command = "less -R +G"
		}
	}
	if err := a.pagedWith(ctx, command, write); !isClosedPipe(err) {
		return err
	}
	return nil
}

// borrow returns the app with the terminal that the interface has.
func (d *desk) borrow(in io.Reader, out io.Writer) *App {
	a := *d.app
	a.Streams = &terminal.Streams{In: in, Out: out, Err: out, InTTY: true, OutTTY: true, ErrTTY: true, Width: d.app.Streams.Width}
	if f, ok := out.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			a.Streams.Width = width
		}
	}
	a.out = bufio.NewWriter(out)
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

// editorArgs say how editors are told the line to begin at, by the name of
// their program. Of others only the file is opened.
var editorArgs = map[string]string{
	"vi": "+%d %s", "vim": "+%d %s", "nvim": "+%d %s", "nano": "+%d %s", "emacs": "+%d %s", "emacsclient": "+%d %s", "micro": "+%d %s",
	"kak": "+%d %s", "jed": "+%d %s", "joe": "+%d %s", "less": "+%d %s", "mg": "+%d %s", "ne": "+%d %s", "mcedit": "+%d %s",
	"hx": "%[2]s:%[1]d", "helix": "%[2]s:%[1]d", "zed": "%[2]s:%[1]d", "subl": "%[2]s:%[1]d",
	"code": "--goto %[2]s:%[1]d", "codium": "--goto %[2]s:%[1]d", "cursor": "--goto %[2]s:%[1]d",
}

// editCommand is what opens the file at the line, for a shell.
func editCommand(editor, path string, line int, quote func(string) string) string {
	name, _, _ := strings.Cut(editor, " ")
	name = strings.TrimSuffix(filepath.Base(name), ".exe")
	form, ok := editorArgs[name]
	if !ok || line <= 0 {
		return editor + " " + quote(path)
	}
	return editor + " " + fmt.Sprintf(form, line, quote(path))
}

// edit opens the session file in the person's editor.
func (d *desk) edit(p tui.Place, in io.Reader, out io.Writer) error {
	editor := usualEditor
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if v := strings.TrimSpace(d.app.Getenv(name)); v != "" {
			editor = v
		}
	}
	cmd := shellCommand(d.index.context, editCommand(editor, p.Path, p.Line, shellOf(runtime.GOOS).quote))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	cmd.Dir = d.app.WorkDir
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == notFound {
		return &problem{code: codeIO, message: "there is no editor " + editor, hint: "name another in $EDITOR"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", editor, err)
	}
	return nil
}

const (
	// pollEvery is how often is looked for what other processes published.
	pollEvery = time.Second
	// tellEvery is how often progress is told.
	tellEvery = 100 * time.Millisecond
)

// follow keeps the index up to date, as `pigrep watch` does, and tells how it
// stands. With another watcher, or when that is not wanted, it looks for what
// others publish.
func (d *desk) follow(ctx context.Context, tell func(tui.State)) {
	dir := d.place.indexDir
	var mu sync.Mutex
	var state tui.State
	change := func(with func(*tui.State)) {
		mu.Lock()
		defer mu.Unlock()
		before := state
		if with(&state); state != before {
			tell(state)
		}
	}
	look := func(s *tui.State) {
		if n, err := index.Newest(dir); err == nil {
			s.Generation = n
		}
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	if d.options.noUpdate {
		change(func(s *tui.State) { look(s); s.Problem = "as it was indexed" })
	} else {
		change(look)
		watching.Go(func() { d.watch(ctx, change) })
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			change(look)
		}
	}
}

// watch keeps the index up to date until the context ends or it cannot.
func (d *desk) watch(ctx context.Context, change func(func(*tui.State))) {
	a := d.app
	opt := indexer.WatchOptions{Options: a.indexing(d.place)}
	var told time.Time
	ready := false
	opt.Progress = func(at indexer.Progress) {
		// Later updates are over before anybody could read of them.
		if now := a.Now(); !ready && now.Sub(told).Abs() >= tellEvery {
			told = now
			change(func(s *tui.State) {
				s.Indexing, s.First, s.Share, s.Left = true, at.First, at.Share(), at.Left.Round(time.Second)
			})
		}
	}
	opt.Tell = func(e indexer.WatchEvent) {
		change(func(s *tui.State) {
			switch e.Kind {
			case indexer.WatchReady, indexer.WatchUpdated:
				ready = true
				*s = tui.State{Generation: e.Generation, Ready: true}
				if !e.Complete {
					s.Problem = "not all files can be read (pigrep status)"
				}
			case indexer.WatchWaiting:
				s.Indexing, s.Problem = false, "another process writes the index"
			case indexer.WatchFailed:
				s.Indexing, s.Problem = false, "update failed: "+reason(e.Err)
			}
		})
	}
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil { // searching goes on
				err = fmt.Errorf("internal error: %v", r)
			}
		}()
		return indexer.Watch(ctx, opt)
	}()
	change(func(s *tui.State) {
		s.Indexing = false
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, indexer.ErrWatched):
			s.Ready, s.Problem = true, ""
		default:
			s.Problem = "update failed: " + reason(err)
		}
	})
}
