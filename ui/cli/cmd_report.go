package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/output"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/html"
	"pigrep/ui/printer"
	"pigrep/ui/report"
	"pigrep/ui/transcript"
)

type reportOptions struct {
	auditOptions
	Output                    string
	Force, WithSessions, Open bool
}

func (o *reportOptions) AddFlags(cmd *cobra.Command) {
	o.Add(cmd, "filters files answer output on wait reveal -scope -kind -role -tool -error -max-bytes -dates -json -jsonl -color -hyperlink")
	flags.Ignore(cmd, "output -json -jsonl")
}

func runReport(ctx context.Context, a *app.App, o *reportOptions, _ []string) error {
	path := a.Absolute(o.Output)
	toFile := o.Output != "" && o.Output != "-"
	if err := o.checkOutput(path, toFile); err != nil {
		return err
	}
	q, err := asking.Begin(a, &o.auditOptions.Shared)
	if err != nil {
		return err
	}
	req, err := o.auditRequest(a, q.Request)
	if err != nil {
		return err
	}
	base := q.Request
	base.Limit, base.Redact = search.All, false // first come the true paths
	list, x, err := asking.Answer(ctx, q, "listed the sessions", nil, func(ctx context.Context, x *snapshot.Snapshot) (*sessions.Response, error) {
		return x.Answers().Sessions(ctx, sessions.FromSearch(base))
	})
	if err != nil {
		return err
	}
	defer x.Close()
	if len(list.Sessions) == 0 {
		a.WarnAll(noneBelow(ctx, x, &o.auditOptions.Shared, req.CWD))
		a.Warn("no session passes the filters: nothing to report")
		return asking.Outcome(false, x.State.Complete)
	}
	page, err := o.page(ctx, x, path, list, req)
	if err != nil {
		return err
	}
	if !toFile {
		return page.Write(a.Out)
	}
	out, err := output.Find(path, o.Force)
	if err != nil {
		return err
	}
	if err := output.Write(ctx, out, page.Write); err != nil {
		return err
	}
	a.Warn("wrote %s", path)
	if o.Open {
		return output.Open(a, path)
	}
	return nil
}

// checkOutput fails before the work begins if the report cannot be written there.
func (o *reportOptions) checkOutput(path string, toFile bool) error {
	switch {
	case o.WithSessions && !toFile:
		return problem.Usagef("add -o FILE", "--with-sessions needs a file to put them beside")
	case o.Open && !toFile:
		return problem.Usagef("add -o FILE", "--open needs a file")
	case !toFile:
		return nil
	}
	out, err := output.Find(path, o.Force)
	if err == nil && o.WithSessions {
		err = output.Need("--with-sessions", path, out)
	}
	if err == nil && o.Open {
		err = output.Need("--open", path, out)
	}
	return err
}

// page returns the report about the sessions of a list, which it masks. With --with-sessions it
// leads to their pages beside the file.
func (o *reportOptions) page(ctx context.Context, x *snapshot.Snapshot, file string, list *sessions.Response, req audit.Request) (*report.Report, error) {
	a := x.App
	view := &report.View{Home: a.Home, Now: a.Now().In(o.zone(a))}
	if o.WithSessions {
		names, err := o.exportSessions(ctx, x, file, list)
		if err != nil {
			return nil, err
		}
		view.Session = func(path, _, entry string) string {
			address := names[path]
			if address != "" && entry != "" {
				address += "#" + transcript.Anchor(entry)
			}
			return address
		}
	}
	if o.Redact {
		for i := range list.Sessions {
			list.Sessions[i].Redact()
		}
		o.Mask(list)
	}
	facts, listed := append(o.facts(a, list, view.Now), machines(x)...), view.Sessions(list) // while audits are made, the list is not kept
	src := auditSource(x.Answers())
	coverage := audit.Coverage{}
	usage := src.Usage
	src.Usage = func(ctx context.Context, req audit.Request) (*audit.UsageTable, error) {
		t, err := usage(ctx, req)
		if err == nil {
			coverage = t.Coverage
		}
		return t, err
	}
	sections, err := view.Usage(ctx, src, req)
	if err != nil {
		return nil, asking.Problem(ctx, err)
	}
	more, err := view.Audit(ctx, src, req)
	if err != nil {
		return nil, asking.Problem(ctx, err)
	}
	done, err := x.Answers().Recap(ctx, recap.Request{Spec: req.Spec, Limit: report.MostTold, Redact: o.Redact})
	if err != nil {
		return nil, asking.Problem(ctx, err)
	}
	return &report.Report{
		Title: "Agent report: " + period(req, &coverage, view.Now), Facts: facts,
		Sections: slices.Concat(sections, []*report.Section{view.Recap(done)}, more, []*report.Section{listed}), Coverage: printer.CoverageLine(&coverage, view.Now.Location(), true),
	}, nil
}

func auditSource(from remote.Answers) *report.Source {
	return &report.Source{
		Usage: from.Usage, Tools: from.Tools, Commands: from.Commands,
		Files: func(ctx context.Context, req audit.Request) (*audit.FileTable, error) {
			return from.Files(ctx, remote.FilesRequest{Request: req})
		},
		Calls: func(ctx context.Context, req audit.Request, visit func(*audit.CallRow) error) (int, error) {
			l, err := from.Calls(ctx, req)
			if err != nil {
				return 0, err
			}
			return l.Total, l.Each(ctx, visit)
		},
	}
}

func period(req audit.Request, c *audit.Coverage, now time.Time) string {
	first, last := report.Span(req, c)
	const form = "2 January 2006"
	from, to := first.In(now.Location()).Format(form), last.In(now.Location()).Format(form)
	if first.IsZero() || from == to {
		return to
	}
	return from + " to " + to
}

func (o *reportOptions) facts(a *app.App, list *sessions.Response, now time.Time) []report.Fact {
	projects, sessionsOf := make(map[string]bool), make(map[string]int)
	for i := range list.Sessions {
		projects[list.Sessions[i].CWD] = true
		sessionsOf[list.Sessions[i].Agent]++
	}
	var names []string
	for _, agent := range a.Agents {
		if n := sessionsOf[session.ShortAgent(agent.Name())]; n == len(list.Sessions) {
			names = append(names, agent.Label())
		} else if n > 0 {
			names = append(names, agent.Label()+" "+human.Number(n))
		}
	}
	facts := []report.Fact{
		{Name: "Written", Value: now.Format("2006-01-02 15:04 MST")}, {Name: "Agents", Value: strings.Join(names, ", ")},
		{Name: "Sessions", Value: human.Number(len(list.Sessions))}, {Name: "Projects", Value: human.Number(len(projects))},
	}
	for _, f := range []struct {
		name, filter string
	}{{"Only agent", filter.Agent}, {"Only project", filter.Project}, {"Only model", filter.Model}, {"Only session", filter.Session}, {"Only below", filter.CWD}} {
		if value := html.Line(strings.Join(o.Filters[f.filter], ", ")); value != "" {
			facts = append(facts, report.Fact{Name: f.name, Value: value})
		}
	}
	if o.Filters.On(filter.Here) {
		facts = append(facts, report.Fact{Name: "Only below", Value: html.Line(human.Path(a.WorkDir, a.Home))})
	}
	if o.Redact {
		facts = append(facts, report.Fact{Name: "Secrets", Value: "masked"})
	}
	return facts
}

// machines says which machines a report asked, and which did not answer.
func machines(x *snapshot.Snapshot) []report.Fact {
	if x.Asking == nil {
		return nil
	}
	names := lists.Map(x.Asking.Clients, func(c *ssh.Client) string { return c.Host.Name })
	if x.Asking.Here != nil {
		names = append(names, "this one")
	}
	facts := []report.Fact{{Name: "Machines", Value: strings.Join(names, ", ")}}
	for _, e := range x.Asking.Missing() {
		facts = append(facts, report.Fact{Name: "Nothing from", Value: html.Line(e.Host + ": " + e.Reason)})
	}
	return facts
}

// exportSessions exports the sessions of a list to a directory beside a file, and returns
// their addresses by path. A session that cannot be read is left out with a warning.
func (o *reportOptions) exportSessions(ctx context.Context, x *snapshot.Snapshot, file string, list *sessions.Response) (map[string]string, error) {
	dir := strings.TrimSuffix(file, filepath.Ext(file)) + "-sessions"
	if err := o.makeDir(dir); err != nil {
		return nil, err
	}
	names, used := make(map[string]string), make(map[string]bool)
	for i := range list.Sessions {
		path := list.Sessions[i].SessionPath
		name, err := o.exportOne(ctx, x, path, dir, used)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			x.App.Warn("%s is not exported: %v", path, err)
			continue
		}
		if o.Redact {
			path = redact.Text(path) // as rows have it
		}
		names[path] = url.PathEscape(filepath.Base(dir)) + "/" + url.PathEscape(name)
	}
	return names, nil
}

// makeDir makes the directory for the sessions. With --force it may exist.
func (o *reportOptions) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrExist):
		return output.Problem(err)
	case !o.Force:
		return problem.Usagef("choose another name, or use --force", "%s already exists", dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return problem.Usagef("choose another name", "%s is not a directory", dir)
	}
	return nil
}

// exportOne exports a session to a directory, under a name that no other one has.
func (o *reportOptions) exportOne(ctx context.Context, x *snapshot.Snapshot, path, dir string, used map[string]bool) (string, error) {
	if x.Hosts != nil { // a session comes from its machine as a whole
		var err error
		if x, err = snapshot.Open(ctx, x.Location, remote.Named{Names: []string{path}}); err != nil {
			return "", err
		}
		defer x.Close()
	}
	t, err := conversation.Open(x, path, "")
	if err != nil {
		return "", err
	}
	defer t.Close()
	title := t.Record.Title()
	if o.Redact {
		title = "" // names of files are not masked
	}
	stem := exportName(title, t.Names.Short(t.Record.ID, t.Record.Path))
	name := stem + ".html"
	for n := 2; used[name]; n++ {
		name = fmt.Sprintf("%s-%d.html", stem, n)
	}
	used[name] = true
	export := &exportOptions{Format: "html", Output: filepath.Join(dir, name), Force: o.Force, find: output.FindPlain}
	export.Redact = o.Redact
	return name, export.export(ctx, x, t, search.Request{Redact: o.Redact}, nil)
}

// recapOptions lack filters on parts of sessions: all of a session is told.
type recapOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format own -scope -kind -role -tool -model -error -branch"`
	pager.Options
	Limit                  flags.Number
	All, Lessons, Markdown bool
}

// shownSessions is how many sessions fit on a screen.
const shownSessions = 3

func runRecap(ctx context.Context, a *app.App, o *recapOptions, args []string) error {
	switch {
	case len(args) > 1:
		return problem.Usagef("`pigrep recap` without a session tells of all that pass the filters", "recap takes at most one session, not %d", len(args))
	case len(args) == 1 && strings.TrimSpace(args[0]) == "":
		return problem.Usagef("name one as `pigrep sessions` lists it: pigrep recap last", "the name of the session is empty")
	case o.Markdown && !o.Lessons:
		return problem.Usagef("pigrep recap --lessons --markdown", "only lessons can be written with --markdown")
	case o.Lessons && len(args) > 0:
		return problem.Usagef("filters such as --here choose sessions", "a lesson takes several sessions, so --lessons and a session cannot be combined")
	}
	if o.Lessons {
		o.Rows = "recap --lessons"
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	if o.Lessons {
		return runLessons(ctx, a, o, q)
	}
	req := recap.Request{Spec: q.Request.Spec, Limit: shownSessions, Redact: o.Redact}
	if o.Limit.Given {
		req.Limit = o.Limit.N
	}
	askForNamed(q, args...)
	res, x, err := asking.Answer(ctx, q, "read the sessions", nil, func(ctx context.Context, x *snapshot.Snapshot) (*recap.Response, error) {
		if len(args) == 0 {
			return asking.WithoutOwn(ctx, x, &o.Shared, remote.Recap, &req, &req.Spec, false)
		}
		t, err := conversation.Find(x, args[0])
		if err != nil {
			return nil, err
		}
		defer t.Close()
		if t.Index < 0 {
			return nil, &problem.Error{Code: conversation.CodeNotFound, Message: args[0] + " is in no session directory", Hint: "give its directory with --session-dir"}
		}
		req.Path = x.Reader.Summaries()[t.Index].Path
		return recap.Run(ctx, x.Reader, q.Agents, x.Source(), req)
	})
	if err != nil {
		return err
	}
	defer x.Close()

	if a.JSON { // otherwise they were said
		res.Warnings = append(res.Warnings, x.Lacks...)
	}
	x.Report(&res.Index, res.Warnings)
	x.Know(&q.Out.Layout)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, &printer.Recap{Response: res, All: o.All}); err != nil {
		return err
	}
	return asking.Finish(x, len(res.Sessions) > 0, 0, func() {
		a.WarnAll(noneBelow(ctx, x, &o.Shared, q.Request.CWD))
	})
}

func runLessons(ctx context.Context, a *app.App, o *recapOptions, q *asking.Command) error {
	if o.Markdown && q.Out.Format == printer.FormatText {
		q.Out.Format = printer.FormatPlain
	}
	res, x, err := asking.Answer(ctx, q, "looked for lessons", nil, func(ctx context.Context, x *snapshot.Snapshot) (*recap.Lessons, error) {
		req := recap.Request{Spec: q.Request.Spec, Limit: o.Limit.N, Redact: o.Redact}
		return asking.WithoutOwn(ctx, x, &o.Shared, remote.Lessons, &req, &req.Spec, false)
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	x.Know(&q.Out.Layout)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, &printer.Lessons{Response: res, Markdown: o.Markdown}); err != nil {
		return err
	}
	return asking.Finish(x, len(res.Lessons) > 0, 0, func() {
		a.WarnAll(noneBelow(ctx, x, &o.Shared, q.Request.CWD))
		a.Explain("", "no error came back in %d sessions or more with the same repair, in %s", recap.LessonSessions, human.Plural(res.Total, "session", "sessions"))
	})
}
