package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/human"
	"pigrep/query/recap"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type recapOptions struct {
	flags.Shared
	pager.Options
	Limit                  flags.Number
	All, Lessons, Markdown bool
}

// noRecapFilters are the filters on parts of sessions: all of a session is told.
var noRecapFilters = []string{"scope", "kind", "role", "tool", "model", "error", "branch", "no-searches"}

func (o *recapOptions) AddFlags(cmd *cobra.Command) {
	o.AddFormat(cmd.Flags(), func() []string {
		if o.Lessons {
			return printer.Fields(&printer.Lessons{Response: &recap.Lessons{}})
		}
		return printer.Fields(&printer.Recap{Response: &recap.Response{}})
	})
	o.Add(cmd, flags.SharedGroups, noRecapFilters...)
}

// shownSessions is how many sessions fit on a screen.
const shownSessions = 3

func runRecap(ctx context.Context, a *app.App, o *recapOptions, args []string) error {
	if len(args) > 1 {
		return problem.Usagef("`pigrep recap` without a session tells of all that pass the filters", "recap takes at most one session, not %d", len(args))
	}
	if len(args) == 1 && strings.TrimSpace(args[0]) == "" {
		return problem.Usagef("name one as `pigrep sessions` lists it: pigrep recap last", "the name of the session is empty")
	}
	if o.Markdown && !o.Lessons {
		return problem.Usagef("pigrep recap --lessons --markdown", "only lessons can be written with --markdown")
	}
	if o.Lessons && len(args) > 0 {
		return problem.Usagef("filters such as --here choose sessions", "a lesson takes several sessions, so --lessons and a session cannot be combined")
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
	res, x, err := asking.Answer(ctx, q, "read the sessions", nil, func(ctx context.Context, from remote.Answers) (*recap.Response, error) {
		r := asking.ReaderOf(from)
		if len(args) > 0 {
			t, err := conversation.Find(&snapshot.Snapshot{Location: q.Location, Reader: r}, args[0])
			if err != nil {
				return nil, err
			}
			defer t.Close()
			if t.Index < 0 {
				return nil, &problem.Error{Code: conversation.CodeNotFound, Message: args[0] + " is in no session directory", Hint: "give its directory with --session-dir"}
			}
			req.Path = r.Summaries()[t.Index].Path
		}
		return recap.Run(ctx, r, q.Agents, q.Source(), req)
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	q.Out.Layout.Know(x.Reader)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, &printer.Recap{Response: res, All: o.All}); err != nil {
		return err
	}
	return asking.Finish(x, len(res.Sessions) > 0, 0, func() {
		a.WarnAll(asking.NoneBelow(&o.Shared, x.Reader.Summaries(), q.Request.CWD))
	})
}

func runLessons(ctx context.Context, a *app.App, o *recapOptions, q *asking.Command) error {
	if o.Markdown && q.Out.Format == printer.FormatText {
		q.Out.Format = printer.FormatPlain
	}
	res, x, err := asking.Answer(ctx, q, "looked for lessons", nil, func(ctx context.Context, from remote.Answers) (*recap.Lessons, error) {
		return recap.Learn(ctx, asking.ReaderOf(from), q.Agents, q.Source(), recap.Request{Spec: q.Request.Spec, Limit: o.Limit.N, Redact: o.Redact})
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, nil)
	q.Out.Layout.Know(x.Reader)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, &printer.Lessons{Response: res, Markdown: o.Markdown}); err != nil {
		return err
	}
	return asking.Finish(x, len(res.Lessons) > 0, 0, func() {
		a.WarnAll(asking.NoneBelow(&o.Shared, x.Reader.Summaries(), q.Request.CWD))
		a.Explain("", "no error came back in %d sessions or more with the same repair, in %s", recap.LessonSessions, human.Plural(res.Total, "session", "sessions"))
	})
}
