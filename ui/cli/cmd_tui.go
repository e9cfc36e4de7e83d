package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pigrep/adapter"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
	"pigrep/ui/show"
	"pigrep/ui/tui"
)

type tuiOptions struct {
	flags.Shared               `takes:"filters files output from on wait reveal -json -jsonl -verbose" ignores:"output -json -jsonl"`
	query, Sort                string
	AllWords, Print, NoHistory bool

	how      conversation.Manner // of resuming; exec is the opposite of print
	choosing bool                // a session to resume: without words, sessions are listed
}

func (o *tuiOptions) AddFlags(cmd *cobra.Command) {
	flags.Words(cmd, "sort", rank.SortNames)
}

func errNoScreen(why string) error {
	return &problem.Error{Code: problem.CodeUsage, Message: "the TUI needs a terminal, but " + why,
		Hint: "to search without the TUI: pigrep search QUERY"}
}

func canShow(a *app.App) bool {
	return a.Streams.InTTY && a.Streams.OutTTY && a.Getenv("TERM") != "dumb"
}

func (o *tuiOptions) beginning(a *app.App) (tui.Options, error) {
	order, err := rank.ParseSort(o.Sort)
	if err != nil {
		return tui.Options{}, problem.Usagef("", "--sort: %v", err)
	}
	out, err := o.Printer(a)
	if err != nil {
		return tui.Options{}, err
	}
	req, err := o.Request(a)
	if err != nil {
		return tui.Options{}, err
	}
	if o.Filters.On(filter.Here) {
		req.CWD = ""
	}
	ui := tui.Options{Query: seed(&o.Shared, o.query, req), Here: o.Filters.On(filter.Here), Print: o.Print, Choose: o.Print || o.choosing, Home: a.Home, WorkDir: a.WorkDir, Now: a.Now, Formats: exportFormats, Links: out.Layout.Links, Environ: o.environ(a)}
	ui.Request = search.Request{Sort: order, AllWords: o.AllWords, PhraseBytes: search.FastPhraseBytes, Answers: true, Env: filter.Env{Expand: a.Absolute}, Spec: filter.Spec{Scope: wideEnough(req), Excludes: req.Excludes}}
	if o.choosing {
		ui.Note = "Enter prints the command that resumes it"
		if !o.Print {
			ui.Note = "Enter resumes it"
		}
		if filters := ui.Query; o.query == "" && filters != "" {
			// In the query, they would find entries.
			fixed := req.Spec
			fixed.Scope = ui.Request.Scope
			ui.Query, ui.Request.Spec = "", fixed
			ui.Note += "; filtered by " + filters
		}
	}
	return ui, nil
}

func runTUI(ctx context.Context, a *app.App, o *tuiOptions, args []string) error {
	o.query = strings.Join(args, " ")
	ui, err := o.beginning(a)
	if err != nil {
		return err
	}
	switch {
	case a.Getenv("TERM") == "dumb":
		return errNoScreen("this one cannot position text (TERM=dumb)")
	case o.Print: // a shell reads stdout, so the TUI opens the terminal itself
	case !a.Streams.InTTY:
		return errNoScreen("stdin is not one")
	case !a.Streams.OutTTY:
		return errNoScreen("stdout is not one")
	default:
		ui.In, _ = a.Streams.In.(*os.File)
		ui.Out, _ = a.Streams.Out.(*os.File)
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	ui.Dirs = lists.Map(p.Roots, func(r adapter.Root) string { return r.Path })
	settings, err := settings.Read(a, func() *cobra.Command { return newRootCommand(a) })
	if err != nil {
		return err
	}
	ui.Config = settings.TUI()
	if !o.NoHistory {
		ui.History = historyFile(a)
	}
	a.Log = nil // log lines would garble the screen
	d := newTUIBackend(ctx, o, p)
	defer d.index.Close()
	d.links = ui.Links
	ui.Backend = d.functions()
	done, err := tui.Run(ctx, ui)
	switch {
	case errors.Is(err, tui.ErrNoTerminal):
		return errNoScreen("there is none")
	case err != nil:
		return err
	case done.Interrupted:
		return problem.ErrLeft
	case done.Resume == nil && o.Print:
		return problem.ErrNothingFound
	case done.Resume == nil:
		return nil
	}
	a.WarnAll(done.Resume.Warnings)
	if o.Print {
		_, err := fmt.Fprintln(a.Out, done.Resume.Command)
		return err
	}
	return replace(a, cmp.Or(done.Resume.Dir, a.WorkDir), done.Resume.Argv)
}

// environ returns the environment for detecting the terminal's colours, adjusted to
// --color.
func (o *tuiOptions) environ(a *app.App) []string {
	env := a.Environ()
	switch o.Color {
	case "never":
		env = append(env, "NO_COLOR=1")
	case "always":
		env = append(slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "NO_COLOR=") }), "CLICOLOR_FORCE=1")
	}
	return env
}

// historyFile returns the path of the query history, "" if there is no directory for it.
func historyFile(a *app.App) string {
	dir := a.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = system.StateDir(a.Home, a.Getenv)
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "pigrep", "history")
}

// wideEnough returns the scope of the request, or all if it lacks one of the requested
// kinds.
func wideEnough(req search.Request) scope.Scope {
	s := scopeOf(req.Spec)
	for _, k := range req.Kinds {
		if !s.Holds(k) {
			return scope.All
		}
	}
	return s
}

// seed returns the text of a query with the filters of flags, so that they can be seen
// and edited in the TUI.
func seed(o *flags.Shared, words string, req search.Request) string {
	text := strings.TrimSpace(words)
	for i := range filter.Table {
		row := &filter.Table[i]
		if row.Field != "" {
			text = syntax.AddField(text, row.Field, o.Filters.InQuery(row, &req.Spec)...)
		}
	}
	return strings.TrimSpace(text)
}

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

func (b *tuiBackend) functions() tui.Backend {
	return tui.Backend{
		Search: asks(b.backend, remote.Search), Sessions: b.sessions, Count: b.count, Facets: b.values,
		Preview: b.preview, Find: b.find, Prompts: b.prompts, Text: b.text,
		Export: b.export, Copy: b.copy,
		Resume: b.resume, Show: b.show, Edit: b.edit, Follow: b.follow,
	}
}

func (b *tuiBackend) sessions(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
	req.Scope = "" // a scope selects text, and this request has no text
	return asks(b.backend, remote.Sessions)(ctx, req)
}

func (b *tuiBackend) count(ctx context.Context, req search.Request) (search.Counts, error) {
	n, err := asks(b.backend, remote.Count)(ctx, req)
	if n == nil {
		return search.Counts{}, err
	}
	return n.Counts, err
}

// openPlace opens the session of a place in the newest generation, and finds its entry.
// The caller calls done.
func (b *tuiBackend) openPlace(p tui.Place) (x *snapshot.Snapshot, t *conversation.Target, done func(), err error) {
	x, t, done, err = b.openSession(b.context, p.Path)
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
	o.Exec = how.Run && !b.options.Print
	if how.Dir != "" {
		o.In = how.Dir
	}
	r, err := o.Plan(b.App, t)
	if gone, ok := errors.AsType[*conversation.DirectoryGoneError](err); ok && !gone.Bound {
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
		if filepath.Base(s.CWD) == filepath.Base(gone) && len(dirs) < most && !slices.Contains(dirs, s.CWD) && conversation.CheckDir(s.CWD) == nil {
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
const uiPager = "less -+F -+X '+/^" + show.FocusMark + "'"

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
		s := &show.Show{Session: facts, Focus: map[int]bool{}, Whole: true}
		if t.Entry >= 0 {
			s.Focus[t.Entry], s.Unfold = true, true
			if !slices.Contains(list, t.Entry) {
				list = t.Tree.Through(t.Entry)
			}
		}
		s.Entries = conversation.ReadEntries(ctx, t, list, nil, func(i, _ int) bool { return i == t.Entry }).All
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

func (b *tuiBackend) export(ctx context.Context, p tui.Place, format string) (_ string, err error) {
	x, t, done, err := b.openPlace(tui.Place{Path: p.Path})
	if err != nil {
		return "", err
	}
	defer done()
	title := search.Describe(&t.Record.Summary, nil).Title
	name := exportName(title, t.Names.Short(t.Record.ID, t.Record.Path))
	path, err := newFile(b.App.WorkDir, name, "."+format)
	if err != nil {
		return "", &problem.Error{Code: problem.CodeIO, Message: "cannot write the export", Err: err, Hint: "start pigrep in a directory that you can write to, or use `pigrep export -o FILE`"}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	o := &exportOptions{Format: format, Output: path, Force: true}
	if err := o.export(ctx, x, t, search.Request{}, nil); err != nil {
		return "", err
	}
	return path, nil
}

// newFile creates an empty file with a name that no file has, for its owner alone.
func newFile(dir, name, ext string) (string, error) {
	for i := 1; ; i++ {
		path := filepath.Join(dir, name+ext)
		if i > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, i, ext))
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return path, f.Close()
	}
}

// exportName returns a name for a file with a session: the first words of its title, and its id.
func exportName(title, id string) string {
	const longest = 40
	other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	name := strings.Join(strings.FieldsFunc(strings.ToLower(title), other), "-")
	for i := range name {
		if i > longest || i == longest && name[i-1] != '-' {
			name = name[:i]
			break
		}
	}
	id = strings.Map(func(r rune) rune {
		if other(r) {
			return '-'
		}
		return r
	}, id)
	return cmp.Or(strings.TrimLeft(name+"-"+id, "-"), "session") // a dash at the start would be an option of what opens it
}

// copy gives a text to the clipboard program of the system, if there is one and the terminal
// is on this machine.
func (b *tuiBackend) copy(ctx context.Context, text string) bool {
	argv := system.Clipboard(runtime.GOOS, b.App.Getenv, func(name string) bool { _, err := b.App.LookPath(name); return err == nil })
	if argv == nil {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, copyTime)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(text)
	// xclip and wl-copy stay in the background; with pipes Wait would wait for them.
	cmd.Stdout, cmd.Stderr = nil, nil
	return cmd.Run() == nil
}

// editorArgs are the arguments that open a file at a line, by the name of the editor.
// Other editors get only the file.
var editorArgs = map[string]string{
	"vi": "+%d %s", "vim": "+%d %s", "nvim": "+%d %s", "nano": "+%d %s", "emacs": "+%d %s", "emacsclient": "+%d %s", "micro": "+%d %s",
	"kak": "+%d %s", "jed": "+%d %s", "joe": "+%d %s", "less": "+%d %s", "mg": "+%d %s", "ne": "+%d %s", "mcedit": "+%d %s",
	"hx": "%[2]s:%[1]d", "helix": "%[2]s:%[1]d", "zed": "%[2]s:%[1]d", "subl": "%[2]s:%[1]d",
	"code": "--goto %[2]s:%[1]d", "codium": "--goto %[2]s:%[1]d", "cursor": "--goto %[2]s:%[1]d",
}

func editCommand(editor, path string, line int, quote func(string) string) string {
	name, _, _ := strings.Cut(editor, " ")
	name = strings.TrimSuffix(filepath.Base(name), ".exe")
	form, ok := editorArgs[name]
	if !ok || line <= 0 {
		return editor + " " + quote(path)
	}
	return editor + " " + fmt.Sprintf(form, line, quote(path))
}

func (b *tuiBackend) edit(p tui.Place, in io.Reader, out io.Writer) error {
	editor := system.UsualEditor
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if v := strings.TrimSpace(b.App.Getenv(name)); v != "" {
			editor = v
		}
	}
	if host, path, there := remote.Split(p.Path); there && b.Elsewhere != nil {
		return &problem.Error{Code: problem.CodeIO, Message: path + " is on " + host, Hint: "F3 reads it here"}
	}
	cmd := system.ShellCommand(b.context, editCommand(editor, p.Path, p.Line, shellcmd.Here.Quote))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	cmd.Dir = b.App.WorkDir
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == system.NotFound {
		return &problem.Error{Code: problem.CodeIO, Message: "editor not found: " + editor, Hint: "set $EDITOR to another one"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", editor, err)
	}
	return nil
}

// The preview of the TUI: a part of a conversation, and the search in all of it.

const (
	openFrom      = 4 << 20         // the size in bytes from which the entry of a hit is folded at first
	foldedFrom    = 16 << 20        // the size in bytes from which an entry stays folded
	pageBytes     = 8 << 20         // how many bytes of entries a preview reads on each side of its anchor
	maxCalls      = 1000            // by how many results a page is extended to keep them with their calls
	longestPrompt = 400             // in an outline: wider than any terminal
	copyTime      = 2 * time.Second // how long a clipboard program may take
)

func (b *tuiBackend) preview(ctx context.Context, p tui.Place, extent tui.Extent) (*tui.Preview, error) {
	x, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	anchor, branch := anchorOf(t, extent.At)
	if anchor < 0 {
		return &tui.Preview{Anchor: -1, Lines: []tui.Line{{Text: "(nothing was said)", Entry: -1}}}, nil
	}
	from, to := pageOf(t, branch, anchor, extent.Around)
	page := &tui.Preview{Anchor: anchor, Total: len(t.Talk(branch)), Before: from > 0, After: to < len(branch)}
	s := &show.Show{
		Focus: map[int]bool{t.Entry: true}, Open: map[int]bool{}, FoldHint: "o unfolds it",
		Branches: !t.Tree.Active(anchor),
	}
	number := len(t.Talk(branch[:from]))
	add := func(i int, at time.Time, steps bool) {
		node := &t.Record.Nodes[i]
		e := tui.Entry{
			Place: tui.Place{Path: p.Path, ID: p.ID, EntryID: node.ID, Offset: node.Offset, Line: node.Line}, Index: i, Time: at,
			Steps: steps || t.IsStep(i), Result: node.Role == session.RoleToolResult,
		}
		if !e.Steps {
			number++
		}
		e.Number = number
		open, set := extent.Unfolded(i)
		switch {
		case steps:
		case node.Length >= foldedFrom:
			e.Large = int64(node.Length)
		case set:
			e.Open, s.Open[i] = open, open
		case extent.All:
			e.Open, s.Open[i] = true, true
		case i == t.Entry && node.Length < openFrom:
			e.Open, s.Unfold = true, true
		}
		page.Entries = append(page.Entries, e)
	}
	if s.Session, err = t.Facts(ctx, x); err != nil {
		return nil, problem.OfIndex(err)
	}
	shows := func(i, first int) bool {
		open, _ := extent.Unfolded(first)
		return extent.All || open || i == t.Entry
	}
	all := conversation.ReadEntries(ctx, t, branch[from:to], nil, shows).All
	s.Entries = func(yield func(*entry.Entry, error) bool) {
		all(func(e *entry.Entry, err error) bool {
			if err == nil {
				add(e.Index, e.Time, e.Folded != "")
			}
			return yield(e, err)
		})
	}
	lines, err := s.Lines(printer.Layout{Width: extent.Width, Colour: true, Now: b.App.Now(), Home: b.App.Home, Links: b.links})
	if err != nil {
		return nil, conversation.ReadProblem(ctx, err)
	}
	if page.Before { // the header belongs to the start of the conversation
		if i := slices.IndexFunc(lines, func(l show.Line) bool { return l.Text == "" }); i >= 0 {
			lines = lines[i+1:]
		}
	}
	page.Focus = max(0, slices.IndexFunc(lines, func(l show.Line) bool { return l.Entry == anchor }))
	page.Lines = lists.Map(lines, func(l show.Line) tui.Line { return tui.Line(l) })
	return page, nil
}

// anchorOf returns the entry in the middle of a preview, -1 if nothing was said, and a branch that
// has it. at comes from an extent.
func anchorOf(t *conversation.Target, at int) (anchor int, branch []int) {
	anchor, branch = t.Entry, t.Tree.Path()
	switch {
	case at >= 0 && at < len(t.Record.Nodes):
		anchor = at
	case len(branch) == 0 && anchor < 0:
		return -1, nil
	case at == tui.AtStart || at == tui.AtEnd:
		if anchor >= 0 {
			branch = t.Through(branch, anchor)
		}
		anchor = branch[0]
		if at == tui.AtEnd {
			anchor = branch[len(branch)-1]
		}
	case anchor < 0:
		anchor = branch[len(branch)-1]
	}
	return anchor, t.Through(branch, anchor)
}

// pageOf returns the range of a branch around an entry: n messages on each side, fewer if
// they are large. Results are not separated from their calls, nor the pieces of a message.
func pageOf(t *conversation.Target, branch []int, anchor, n int) (from, to int) {
	at := slices.Index(branch, anchor)
	from, to = t.Around(branch, anchor, n, n)
	belongs := func(at int) bool { // to what is before it
		n := &t.Record.Nodes[branch[at]]
		return n.Role == session.RoleToolResult || n.Continues(&t.Record.Nodes[branch[at-1]])
	}
	for size, i := 0, at-1; i >= from; i-- {
		if size += t.Record.Nodes[branch[i]].Length; size > pageBytes && i < at-1 {
			from = i + 1
		}
	}
	for from > 0 && from > at-maxCalls && belongs(from) {
		from--
	}
	for size, i := 0, at+1; i < to; i++ {
		if size += t.Record.Nodes[branch[i]].Length; size > pageBytes && i > at+1 {
			to = i
		}
	}
	for to < len(branch) && to < at+n+maxCalls && belongs(to) {
		to++
	}
	return from, to
}

func (b *tuiBackend) find(ctx context.Context, p tui.Place, text string, in scope.Scope) ([]tui.Found, error) {
	x, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	input := grep.Input{Adapter: x.Agents, Source: x.Source(), Files: []grep.File{{Path: t.Record.Path}}}
	if t.Index >= 0 {
		known := &x.Reader.Summaries()[t.Index]
		input.Reader, input.Files[0].Known, input.Files[0].Indexed = x.Reader, known, known.Checkpoint.Offset
	}
	if in != scope.All {
		in = scope.Default
	}
	req := grep.Request{Spec: filter.Spec{Scope: in}, Patterns: []string{text}, Fixed: true, Case: literal.IgnoreCase}
	var found []tui.Found
	sum, err := grep.Run(ctx, input, req, func(m *grep.Match) error {
		i := t.Record.NodeAt(m.Offset)
		switch {
		case i < 0: // it was written since the session was indexed
		case len(found) > 0 && found[len(found)-1].Entry == i:
			found[len(found)-1].Matches += m.Matches
		default:
			found = append(found, tui.Found{Entry: i, Matches: m.Matches})
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, grepProblem(ctx, err)
	case len(sum.Errors) > 0 && !snapshot.IsTooLong(sum.Errors[0].Err):
		return nil, sum.Errors[0].Err
	}
	return found, nil
}

func (b *tuiBackend) prompts(ctx context.Context, p tui.Place) (list []tui.Prompt, err error) {
	_, t, done, err := b.openPlace(p)
	if err != nil {
		return nil, err
	}
	defer done()
	_, branch := anchorOf(t, tui.AtPlace)
	branch = slices.DeleteFunc(slices.Clone(branch), func(i int) bool { return t.Record.Nodes[i].Role != session.RoleUser || t.IsStep(i) })
	for e, err := range conversation.ReadEntries(ctx, t, branch, nil, entry.AllSteps).All {
		if err != nil {
			return nil, conversation.ReadProblem(ctx, err)
		}
		text := cmp.Or(session.Subject(e.UserText), e.UserText)
		if text == "" && len(e.Images) > 0 {
			text = "(image)"
		}
		node := &t.Record.Nodes[e.Index]
		list = append(list, tui.Prompt{
			Place: tui.Place{Path: p.Path, ID: p.ID, EntryID: node.ID, Offset: node.Offset, Line: node.Line},
			Text:  terminal.Clip(human.Title(text), longestPrompt), Time: e.Time,
		})
	}
	return list, nil
}

func (b *tuiBackend) text(ctx context.Context, p tui.Place) (string, error) {
	_, t, done, err := b.openPlace(p)
	if err != nil {
		return "", err
	}
	defer done()
	if t.Entry < 0 {
		return "", conversation.ReadProblem(ctx, entry.ErrChanged)
	}
	e, err := t.Read(t.Entry)
	if err != nil {
		return "", conversation.ReadProblem(ctx, err)
	}
	return strings.Join(lists.Map(e.Parts, func(p session.Part) string { return string(p.Text) }), "\n"), nil
}
