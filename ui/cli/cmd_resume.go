package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
	"pigrep/ui/show"
)

type resumeOptions struct {
	flags.Shared `takes:"filters files output on wait reveal"`
	conversation.Manner
	words []string
	named bool // the word is the name of the session, and nothing is searched
	Last  bool
}

func runResume(ctx context.Context, a *app.App, o *resumeOptions, args []string) error {
	o.words = args
	if o.Exec && (o.JSON || o.JSONL) {
		return problem.Usagef("", "--exec and --json cannot be combined")
	}
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	req, err := o.Request(a)
	if err != nil {
		return err
	}
	if o.query() == "" && !o.Last && len(o.On) == 0 && canPick(a) {
		return o.pick(ctx, a)
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	if p.Hosts != nil {
		return o.onHosts(ctx, p, out, req)
	}
	x, err := snapshot.Open(ctx, p, remote.Named{})
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := o.find(ctx, a, x, req)
	if errors.Is(err, errSeveral) {
		a.Afterwards = nil // the TUI updates the index
		return o.pick(ctx, a)
	}
	if err != nil {
		return err
	}
	return o.resume(a, t, out)
}

// resume resumes a session of this machine.
func (o *resumeOptions) resume(a *app.App, t *conversation.Target, out *printer.Printer) error {
	defer t.Close()
	r, err := o.Plan(a, t)
	if p, ok := errors.AsType[*problem.Error](err); ok && r != nil && !o.Exec && !a.JSON {
		a.Advise(p.Hint, "%v; the command makes it again", p) // programs are told that the directory is gone
		err = nil
	}
	if err != nil {
		return err
	}
	a.WarnAll(r.Warnings)
	if !o.Exec {
		return out.Print(r)
	}
	return replace(a, cmp.Or(r.Dir, a.WorkDir), r.Argv)
}

// onHosts resumes a session of another machine on that machine, or a session of this machine if this
// machine is asked too. A session with the words as its name comes before sessions that contain them.
func (o *resumeOptions) onHosts(ctx context.Context, p *location.Location, out *printer.Printer, req search.Request) error {
	if o.query() == "" && !o.Last {
		return problem.Usagef("`pigrep sessions --on HOST` lists them; or take the latest: --last", "resume --on needs a session or words to search for")
	}
	var here *snapshot.Snapshot
	if p.Elsewhere.Here {
		own := *p
		own.Hosts, own.Elsewhere = nil, nil
		var err error
		if here, err = snapshot.Open(ctx, &own, remote.Named{}); err != nil {
			return err
		}
		defer here.Close()
	}
	from := snapshot.OfHosts(p).Asking
	if host, path, ok := remote.Split(strings.Join(o.words, " ")); ok && len(o.words) == 1 { // the path of an answer
		if i := slices.IndexFunc(from.Clients, func(c *ssh.Client) bool { return c.Host.Name == host }); i >= 0 {
			from.Hosts, here, o.words = &ssh.Hosts{Clients: from.Clients[i : i+1]}, nil, []string{path}
		}
	}
	var found []*ssh.ResumeAnswer
	var on []*ssh.Host
	var own *conversation.Target
	var refused error
	for _, o.named = range []bool{true, false} {
		if o.named && (len(o.words) != 1 || o.Last) {
			continue
		}
		var errs []error
		found, on, errs = from.Resume(ctx, ssh.ResumeRequest{Request: req, Words: o.words, Named: o.named, Last: o.Last, Fork: o.Fork, In: o.In})
		if here != nil {
			quiet, streams := *p.App, *p.App.Streams
			streams.Err = io.Discard // hosts say what they do not find
			quiet.JSON, quiet.Streams = true, &streams
			var err error
			if own, err = o.findQuietly(ctx, &quiet, here, req); err != nil {
				errs = append(errs, err)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		refused = nil
		for _, err := range errs {
			if err = asking.Problem(ctx, err); refused == nil || isNotFound(refused) && !isNotFound(err) {
				refused = err
			}
		}
		if own != nil || len(found) > 0 || refused != nil && !isNotFound(refused) {
			break
		}
	}
	names := lists.Map(on, func(h *ssh.Host) string { return h.Name })
	if own != nil {
		names = append(names, filter.ThisHost)
	}
	if len(names) == 0 && refused == nil {
		return asking.Problem(ctx, from.None())
	}
	for _, e := range from.Missing() {
		p.App.Advise(e.Hint, "nothing from %s: %s", e.Host, e.Reason)
	}
	switch {
	case len(names) == 0 && isNotFound(refused):
		all := strings.Join(lists.Map(from.Clients, func(c *ssh.Client) string { return c.Host.Name }), ",")
		if here != nil {
			all += "," + filter.ThisHost
		}
		return &problem.Error{Code: conversation.CodeNotFound, Message: "no session matches " + o.query(), Hint: "`pigrep sessions --on " + all + "` lists them"}
	case len(names) == 0:
		if e, ok := errors.AsType[*problem.Error](refused); ok {
			e.Hint = cmp.Or(e.Hint, "log in there to resume it, or name another host")
		}
		return refused
	case len(names) > 1:
		if own != nil {
			own.Close()
		}
		return &problem.Error{Code: conversation.CodeAmbiguous, Message: "sessions on several hosts match: " + strings.Join(names, ", "), Hint: "name one of them: --on " + names[0]}
	}
	if own != nil {
		return o.resume(p.App, own, out)
	}
	x := found[0]
	r := &show.Resume{EntryName: x.EntryName, Branch: x.Branch, InContext: x.InContext, Fork: x.Fork, Warnings: x.Warnings, Argv: on[0].Interactive(x.Dir, x.Argv)}
	r.Session = show.SessionFacts{SessionHit: x.Session, Version: x.Version, Entries: x.Entries}
	if r.Argv == nil {
		return problem.Usagef("there: "+shellcmd.Line(x.Dir, x.Argv), "%s is reached by a command, which may have no terminal", on[0].Name)
	}
	r.Command = shellcmd.Here.Command("", r.Argv)
	p.App.WarnAll(r.Warnings)
	if !o.Exec {
		return out.Print(r)
	}
	return replace(p.App, p.App.WorkDir, r.Argv)
}

// isNotFound reports whether an error says that there is no such session.
func isNotFound(err error) bool {
	p, ok := errors.AsType[*problem.Error](err)
	return ok && p.Code == conversation.CodeNotFound
}

// findQuietly is like find, and returns an error instead of printing what was not found.
func (o *resumeOptions) findQuietly(ctx context.Context, quiet *app.App, x *snapshot.Snapshot, req search.Request) (*conversation.Target, error) {
	t, err := o.find(ctx, quiet, x, req)
	if errors.Is(err, problem.ErrNothingFound) {
		err = &problem.Error{Code: conversation.CodeNotFound, Message: "no session matches " + o.query(), Hint: "`pigrep sessions` lists all sessions"}
	}
	return t, err
}

func (o *resumeOptions) query() string { return strings.TrimSpace(strings.Join(o.words, " ")) }

// canPick reports whether the user can choose a session in the TUI. Like other choosers it
// opens the terminal itself if stdout is read by a shell, as in eval "$(pigrep resume)".
func canPick(a *app.App) bool {
	return !a.JSON && a.Streams.InTTY && (a.Streams.OutTTY || a.Streams.ErrTTY) && a.Getenv("TERM") != "dumb"
}

func (o *resumeOptions) pick(ctx context.Context, a *app.App) error {
	return runTUI(ctx, a, &tuiOptions{Shared: o.Shared, Print: !o.Exec, how: o.Manner, choosing: true}, []string{o.query()})
}

var errSeveral = errors.New("several sessions match")

// find returns the session that the words name or find, with the entry of its best
// hit.
func (o *resumeOptions) find(ctx context.Context, a *app.App, x *snapshot.Snapshot, req search.Request) (*conversation.Target, error) {
	var p *problem.Error
	if len(o.words) == 1 && !o.Last {
		t, err := conversation.Find(x, o.words[0])
		var isProblem bool
		p, isProblem = errors.AsType[*problem.Error](err)
		switch {
		case err == nil:
			return t, nil
		case o.named, !isProblem || p.Code == conversation.CodeAmbiguous || session.IsPath(o.words[0]) && filepath.IsAbs(a.Absolute(o.words[0])) && strings.HasSuffix(o.words[0], session.Extension):
			return nil, err
		}
		// Otherwise it is a word to search for.
	}
	req.Text, req.Resume = o.query(), x.Agents.ResumeCommand
	var list *sessions.Response
	var err error
	if o.Last {
		list, err = o.latest(ctx, a, x, req)
	} else {
		if req.Text != "" {
			req.Limit = conversation.MaxCandidates + 1
		}
		list, err = sessions.List(ctx, x.Reader, x.Agents, x.Source(), sessions.FromSearch(req))
	}
	if err != nil {
		return nil, asking.Problem(ctx, err)
	}
	a.WarnAll(list.Warnings)
	switch n := len(list.Sessions); {
	case n == 0 && p != nil && strings.HasPrefix(p.Hint, conversation.Nearest):
		return nil, p
	case n == 0:
		what := "no session passes the filters"
		if req.Text != "" {
			what = "no session matches " + req.Text
		}
		a.Advise("`pigrep sessions` lists all sessions", "%s", what)
		asking.Suggest(&o.Shared, a, asking.Suggestion{DidYouMean: list.DidYouMean, Words: list.Words, Removed: list.Removed})
		if !x.State.Complete {
			return nil, problem.ErrIncomplete
		}
		return nil, problem.ErrNothingFound
	case n > 1 && canShow(a) && !a.JSON:
		return nil, errSeveral
	case n > 1 && req.Text == "":
		return nil, needsOne(x, list)
	}
	s := &list.Sessions[0]
	entry := ""
	if s.Hit != nil && s.Hit.Kind != session.KindTitle { // which names all of it
		entry = s.Hit.EntryID
	}
	return conversation.Open(x, s.SessionPath, entry)
}

// latest lists the latest session: of the working directory, or if it has none, of all that
// pass the filters. With a text, sessions that have every word come first.
func (o *resumeOptions) latest(ctx context.Context, a *app.App, x *snapshot.Snapshot, req search.Request) (list *sessions.Response, err error) {
	req.Limit = search.All
	dirs := []string{req.CWD}
	if req.CWD == "" {
		dirs = []string{a.WorkDir, ""}
	}
	for _, req.CWD = range dirs {
		list, err = sessions.List(ctx, x.Reader, x.Agents, x.Source(), sessions.FromSearch(req))
		if err != nil || len(list.Sessions) > 0 {
			break
		}
	}
	if err != nil || len(list.Sessions) == 0 {
		return list, err
	}
	if req.CWD == "" {
		a.Warn("no session was started in this directory or below it: this is the latest of all")
		a.WarnAll(otherCheckout(ctx, x, a.WorkDir))
	}
	last := slices.MaxFunc(list.Sessions, func(s, than sessions.Session) int {
		whole := cmp.Compare(min(s.Hits, 1), min(than.Hits, 1))
		return cmp.Or(whole, s.Modified.Compare(than.Modified.Time))
	})
	list.Sessions = []sessions.Session{last}
	return list, nil
}

// needsOne returns the error for a command without words that cannot ask, with the
// sessions it could resume.
func needsOne(x *snapshot.Snapshot, list *sessions.Response) error {
	summaries := x.Reader.Summaries()
	lineage := sessions.NewLineage(x.Reader)
	var found []*session.Summary
	for i := range list.Sessions {
		if at := lineage.IndexOf(list.Sessions[i].SessionPath); at >= 0 {
			found = append(found, &summaries[at])
		}
	}
	return &problem.Error{Code: problem.CodeUsage, Message: "resume needs a session or words to search for, or a terminal to choose on; the latest sessions:",
		Candidates: conversation.Candidates(x, found), Hint: "name one, or take the latest: pigrep resume --last"}
}

func replace(a *app.App, dir string, argv []string) error {
	if err := a.Out.Flush(); err != nil {
		return err
	}
	return a.Replace(dir, argv)
}
