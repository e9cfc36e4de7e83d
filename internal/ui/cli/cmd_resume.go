package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/internal/ui/cli/shell"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/sessions"
)

type resumeOptions struct {
	sharedOptions
	manner
	words []string
	last  bool
}

// manner is how a session is resumed.
type manner struct {
	exec bool
	fork bool
	in   string
}

func (o *resumeOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "last", "", "", "the latest session of this directory, or if it has none, of all", &o.last)
	addFlag(f, "exec", "", "", "run the command: pi replaces pigrep", &o.exec)
	addFlag(f, "fork", "", "", "continue in a new session with the same history; the old one is unchanged", &o.fork)
	addFlag(f, "in", "", "DIR", "the project has moved to DIR; pi forks the session there", &o.in)
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupOutput})
}

func newResumeCommand(a *App) *cobra.Command {
	o := &resumeOptions{}
	cmd := &cobra.Command{
		Use:   "resume [SESSION | QUERY...]",
		Short: "Print the command that resumes a session, or run it",
		Long: `Print the command that resumes a session in its directory. SESSION is a path, an
id, or the start of one; anything else is a query. Without either, or when
several sessions match, choose one on a terminal: type to narrow the list, and
press Enter. In a pipe, the best match of a query is used.

--last takes the latest session that passes the filters: of the current
directory or below it, or if there is none, of any directory.

pigrep first checks what pi needs: that the file exists and pi can open it, and
that the directory exists. Pi always continues at the last entry of a session;
if it would not restore the entry that was found, a warning says so.`,
		Example: `pigrep resume
pigrep resume --last --exec
pigrep resume 01a1f7de
pigrep resume login redirect --exec
eval "$(pigrep resume --here retry)"
pigrep resume 01a1f7de --in ~/src/app-moved --exec`,
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.words = args
			return runResume(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runResume(ctx context.Context, a *App, o *resumeOptions) error {
	if o.exec && (o.json || o.jsonl) {
		return usagef("", "--exec and --json cannot be combined")
	}
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	req, err := o.request(a)
	if err != nil {
		return err
	}
	if o.query() == "" && !o.last && a.canPick() {
		return o.pick(ctx, a)
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	x, err := o.open(ctx, a, p)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := o.find(ctx, a, x, req)
	if errors.Is(err, errSeveral) {
		a.afterwards = nil // the TUI updates the index
		return o.pick(ctx, a)
	}
	if err != nil {
		return err
	}
	defer t.Close()
	r, err := o.plan(a, t)
	if err != nil {
		return err
	}
	for _, w := range r.Warnings {
		a.warn("%s", w)
	}
	if !o.exec {
		return out.Print(r)
	}
	dir := r.Dir
	if dir == "" {
		dir = a.WorkDir
	}
	return a.replace(dir, r.Argv)
}

func (o *resumeOptions) query() string { return strings.TrimSpace(strings.Join(o.words, " ")) }

// canPick reports whether the user can choose a session in the TUI. Like other choosers it
// opens the terminal itself if stdout is read by a shell, as in eval "$(pigrep resume)".
func (a *App) canPick() bool {
	return !a.json && a.Streams.InTTY && (a.Streams.OutTTY || a.Streams.ErrTTY) && a.Getenv("TERM") != "dumb"
}

// pick lets the user choose the session in the TUI.
func (o *resumeOptions) pick(ctx context.Context, a *App) error {
	return runTUI(ctx, a, &tuiOptions{sharedOptions: o.sharedOptions, query: o.query(), print: !o.exec, how: o.manner, choosing: true})
}

// errSeveral means that several sessions match and the user can choose.
var errSeveral = errors.New("several sessions match")

// find returns the session that the words name or find, with the entry of its best
// hit.
func (o *resumeOptions) find(ctx context.Context, a *App, x *snapshot, req query.Request) (*target, error) {
	if len(o.words) == 1 && !o.last {
		t, err := findTarget(a, x, o.words[0])
		p, isProblem := errors.AsType[*problem](err)
		switch {
		case err == nil:
			return t, nil
		case !isProblem || p.code == codeAmbiguous || sessions.IsPath(o.words[0]) && filepath.IsAbs(a.absolute(o.words[0])) && strings.HasSuffix(o.words[0], ".jsonl"):
			return nil, err
		}
		// Otherwise it is a word to search for.
	}
	req.Text, req.Resume = o.query(), x.agents.ResumeCommand
	var list *sessions.Response
	var err error
	if o.last {
		list, err = o.latest(ctx, a, x, req)
	} else {
		if req.Text != "" {
			req.Limit = maxCandidates + 1
		}
		list, err = sessions.List(ctx, x.reader, x.agents, disk{}, sessions.FromSearch(req))
	}
	if err != nil {
		return nil, searchProblem(ctx, err)
	}
	for _, w := range list.Warnings {
		a.warn("%s", w)
	}
	switch n := len(list.Sessions); {
	case n == 0:
		what := "no session passes the filters"
		if req.Text != "" {
			what = "no session matches " + req.Text
		}
		a.advise("`pigrep sessions` lists all sessions", "%s", what)
		o.suggest(a, suggestion{false, list.DidYouMean, list.Words, list.Removed})
		if !x.state.Complete {
			return nil, errIncomplete
		}
		return nil, errNothingFound
	case n > 1 && a.canShow() && !a.json:
		return nil, errSeveral
	case n > 1 && req.Text == "":
		return nil, o.needsOne(a, x, list)
	}
	s := &list.Sessions[0]
	entry := ""
	if s.Hit != nil {
		entry = s.Hit.EntryID
	}
	return openTarget(a, x, s.SessionPath, entry)
}

// latest lists the latest session: of the working directory, or if it has none, of all that
// pass the filters. With a text, sessions that have every word come first.
func (o *resumeOptions) latest(ctx context.Context, a *App, x *snapshot, req query.Request) (list *sessions.Response, err error) {
	req.Limit = query.All
	if req.CWD == "" {
		req.CWD = a.WorkDir
		if list, err = sessions.List(ctx, x.reader, x.agents, disk{}, sessions.FromSearch(req)); err != nil {
			return nil, err
		}
		req.CWD = ""
	}
	elsewhere := list != nil && len(list.Sessions) == 0
	if list == nil || elsewhere {
		if list, err = sessions.List(ctx, x.reader, x.agents, disk{}, sessions.FromSearch(req)); err != nil {
			return nil, err
		}
	}
	if len(list.Sessions) > 0 {
		if elsewhere {
			a.warn("no session was started in this directory or below it: this is the latest of all")
		}
		last := slices.MaxFunc(list.Sessions, func(s, than sessions.Session) int {
			whole := cmp.Compare(min(s.Hits, 1), min(than.Hits, 1))
			return cmp.Or(whole, s.Modified.Compare(than.Modified.Time))
		})
		list.Sessions = []sessions.Session{last}
	}
	return list, nil
}

// needsOne returns the error for a command without words that cannot ask, with the
// sessions it could resume.
func (o *resumeOptions) needsOne(a *App, x *snapshot, list *sessions.Response) error {
	summaries := x.reader.Summaries()
	lineage := sessions.NewLineage(summaries)
	var found []*session.Summary
	for i := range list.Sessions {
		if at := lineage.IndexOf(list.Sessions[i].SessionPath); at >= 0 {
			found = append(found, &summaries[at])
		}
	}
	return &problem{code: codeUsage, message: "resume needs a session or words to search for, or a terminal to choose on; the latest sessions:",
		candidates: a.candidates(x, found), hint: "name one, or take the latest: pigrep resume --last"}
}

// plan builds the command and checks that it will work.
func (o *manner) plan(a *App, t *target) (*printer.Resume, error) {
	rec := t.Record
	r := &printer.Resume{Session: printer.SessionFacts{
		SessionHit: query.Describe(&rec.Summary, t.agents.ResumeCommand), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}}
	head := make([]byte, adapter.HeadLength)
	if n, err := t.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &problem{code: codeIO, message: "read the session", err: err}
	} else {
		head = head[:n]
	}
	r.Fork = o.fork || o.in != ""
	how, err := t.agents.Resume(rec, head, r.Fork)
	if obstacle, ok := errors.AsType[*adapter.Obstacle](err); ok {
		return nil, &problem{code: codeCannotResume, message: obstacle.Program + " cannot resume " + rec.Path + ": " + obstacle.Reason,
			hint: cmp.Or(obstacle.Hint, "`pigrep show` and `pigrep export` can still read it")}
	}
	if err != nil {
		return nil, err
	}
	r.Argv = how.Argv
	if err := o.chooseDir(a, t, r); err != nil {
		return nil, err
	}
	if _, err := a.LookPath(r.Argv[0]); err != nil {
		if o.exec {
			return nil, &problem{code: codeCannotResume, message: r.Argv[0] + " is not on your PATH", hint: how.Install}
		}
		r.Warnings = append(r.Warnings, r.Argv[0]+" is not on your PATH")
	}
	if how.BeforeFork != "" && checkDir(rec.CWD) == nil {
		how.Warnings = append(how.Warnings, how.BeforeFork)
	}
	warnings, err := o.warnings(a, t, r)
	r.Warnings = slices.Concat(r.Warnings, how.Warnings, warnings)
	r.Command = shell.Of(runtime.GOOS).Command(r.Dir, r.Argv)
	return r, err
}

// codeCannotResume is the error code of a session that its agent cannot resume.
const codeCannotResume = "cannot-resume"

// chooseDir sets the directory to run pi in.
func (o *manner) chooseDir(a *App, t *target, r *printer.Resume) error {
	rec := t.Record
	if o.in != "" {
		dir := a.absolute(o.in)
		if err := checkDir(dir); err != nil {
			return &problem{code: codeCannotResume, message: "--in", err: err, hint: "name the directory the project has moved to"}
		}
		r.Dir = dir
		return nil
	}
	err := checkDir(rec.CWD)
	switch {
	case err == nil:
		r.Dir = rec.CWD
	case rec.CWD == "" && !r.Fork:
		// Old sessions have no directory; pi runs in the current one.
	case r.Fork:
		// A fork belongs to the directory where it is created.
		r.Warnings = append(r.Warnings, "the session's directory no longer exists ("+rec.CWD+"): the fork is created in the current directory")
	default:
		name := rec.Path
		if t.index >= 0 && rec.ID != "" && len(t.lineage.Twins(t.index)) == 0 {
			name = t.shortID(rec.ID)
		}
		again := "pigrep resume " + shell.Of(runtime.GOOS).Quote(name)
		return &problem{code: codeCannotResume, message: fmt.Sprintf("%s (%s)", name, terminal.Clip(human.Title(rec.Title()), 50)), err: &directoryGoneError{program: r.Argv[0], err: err},
			hint: "to fork it in the current directory: " + again + " --fork --exec; if the project has moved: " + again + " --in DIR --exec"}
	}
	return nil
}

// directoryGoneError means that the directory of a session does not exist any more.
type directoryGoneError struct {
	program string
	err     error
}

func (e *directoryGoneError) Error() string {
	if gone, ok := errors.AsType[*missingDirError](e.err); ok {
		return "the session's directory no longer exists: " + gone.dir
	}
	return e.program + " cannot start in the session's directory: " + e.err.Error()
}

func (e *directoryGoneError) Unwrap() error { return e.err }

// replace replaces pigrep by another program.
func (a *App) replace(dir string, argv []string) error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	return a.Replace(dir, argv)
}

// missingDirError means that a directory does not exist.
type missingDirError struct{ dir string }

func (e *missingDirError) Error() string { return e.dir + " does not exist" }

func checkDir(dir string) error {
	if dir == "" {
		return errors.New("the session names no directory")
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is not a directory on this machine", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missingDirError{dir}
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// justNow is the age below which a session may still be open in another pi.
const justNow = time.Minute

// warnings lists surprises in resuming the session.
func (o *manner) warnings(a *App, t *target, r *printer.Resume) ([]string, error) {
	var list []string
	rec := t.Record
	info, err := t.file.Stat()
	if err != nil {
		return nil, err
	}
	if age := a.Now().Sub(info.ModTime()); age < justNow && !r.Fork {
		list = append(list, "it was written to in the last minute: if another pi has it open, both will write to the same file")
	}
	if t.entry >= 0 {
		n := &rec.Nodes[t.entry]
		switch {
		case !t.Tree.Active(t.entry):
			list = append(list, fmt.Sprintf("entry %s is on an abandoned branch: pi continues at the last entry; use /tree in pi to go back to it", n.ID))
		case !t.Tree.InContext(t.entry):
			list = append(list, fmt.Sprintf("entry %s is no longer in context (compacted): it is in the file, but pi does not restore it for the model", n.ID))
		}
		r.EntryID, r.Branch, r.InContext = n.ID, entry.BranchOf(t.Tree, t.entry), new(t.Tree.InContext(t.entry))
	}
	open, err := t.OpenCalls()
	if err != nil {
		return nil, readProblem(context.Background(), err)
	}
	if n := len(open); n > 0 {
		list = append(list, fmt.Sprintf("its last turn was cut off: %d tool calls have no result (%s)", n, strings.Join(open, ", ")))
	}
	if o.in != "" && !o.fork {
		list = append(list, "pi will fork the session there; the original is unchanged")
	}
	return list, nil
}
