package cli

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/internal/lists"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type sessionsOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format no-searches own"`
	pager.Options
	query, Sort                        string
	Limit                              flags.Number
	Any, Named, Forks, Null, Subagents bool
}

func (o *sessionsOptions) AddFlags(cmd *cobra.Command) {
	flags.Words(cmd, "sort", sessions.Orders)
	flags.AddHidden(cmd.Flags(), "print0", "", "the same as --null", &o.Null) // its name in find
}

func runSessions(ctx context.Context, a *app.App, o *sessionsOptions, args []string) error {
	o.query = strings.Join(args, " ")
	if o.Null && (o.JSON || o.JSONL) {
		return problem.Usagef("", "--null and --json cannot be combined")
	}
	switch {
	case o.Sort != "" && !slices.Contains(sessions.Orders, o.Sort):
		return problem.Usagef("use one of "+strings.Join(sessions.Orders, ", "), "--sort: there is no order %q", o.Sort)
	case o.Sort != "" && o.Forks:
		return problem.Usagef("", "--sort and --forks cannot be combined")
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	out, req := q.Out, o.request(q)
	var list *sessions.Response
	write := func(x *snapshot.Snapshot) error {
		if o.Null {
			paths := lists.Map(list.Sessions, func(s sessions.Session) string { return s.SessionPath })
			return printer.Paths(out.Out, paths, a.Streams.OutTTY)
		}
		x.Know(&out.Layout)
		for i := 0; a.JSON && i < len(list.Sessions); i++ {
			s := &list.Sessions[i]
			s.ShortID = cmp.Or(s.ShortID, out.Layout.Name(s.SessionID, s.SessionPath))
		}
		return out.Print(&printer.Sessions{Query: o.query, Searched: req.Text != "", List: list})
	}
	// Records do not say what state the index is in, so thousands of them can be made while
	// the files are compared.
	var records bytes.Buffer
	early := o.Null || out.Format.Records()
	if early {
		out.Out = &records
	}
	x, err := q.Ask(ctx, func(ctx context.Context, x *snapshot.Snapshot) (err error) {
		if list, err = asking.WithoutOwn(ctx, x, &o.Shared, remote.Sessions, &req, &req.Spec, req.Text != ""); err != nil {
			return err
		}
		o.Mask(list)
		if early {
			records.Reset()
			records.Grow(sizeOfRecord * len(list.Sessions))
			return write(x)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer x.Close()
	x.Report(&list.Index, list.Warnings)
	if early {
		_, err = records.WriteTo(a.Out)
	} else {
		err = pager.Show(a, &o.Options, out, func() error { return write(x) })
	}
	if err != nil {
		return err
	}
	if len(list.Sessions) == 0 && list.Index.Files > 0 && !a.JSON {
		if err := o.explain(ctx, a, x, req, out.Layout.Now); err != nil {
			return err
		}
	}
	asking.Suggest(&o.Shared, a, asking.Suggestion{Partial: len(list.Sessions) > 0, DidYouMean: list.DidYouMean, Words: list.Words, Removed: list.Removed})
	return asking.Outcome(len(list.Sessions) > 0, list.Index.Complete)
}

func (o *sessionsOptions) request(q *asking.Command) sessions.Request {
	base := q.Request
	base.Text, base.Limit, base.Any = strings.TrimSpace(o.query), o.Limit.Limit(), o.Any
	req := sessions.FromSearch(base)
	req.Named, req.Forks, req.Subagents, req.Order = o.Named, o.Forks, o.Subagents, o.Sort
	if o.JSON || o.JSONL { // the only ones that have it
		req.Resume = q.ResumeCommand
	}
	return req
}

// explain says why the list is empty, as far as the filters of sessions are the reason.
func (o *sessionsOptions) explain(ctx context.Context, a *app.App, x *snapshot.Snapshot, req sessions.Request, now time.Time) error {
	why := noneBelow(ctx, x, &o.Shared, req.CWD) // the answer has warnings about other filters
	if req.Text == "" && (!req.Since.IsZero() || !req.Until.IsZero()) {
		none := printer.Empty{Since: req.Since, Until: req.Until}
		req.Since, req.Until, req.Limit = time.Time{}, time.Time{}, 1
		all, err := sessions.List(ctx, x.Reader, x.Agents, x.Source(), req)
		if err != nil {
			return asking.Problem(ctx, err)
		}
		if len(all.Sessions) > 0 {
			none.Last = all.Sessions[0].Modified.Time
			why = append(why, none.Text(now))
		}
	}
	a.WarnAll(why)
	if len(why) == 0 && x.State.Complete {
		what := "no session passes the filters"
		if req.Text != "" {
			what = "no session matches " + req.Text
		}
		a.Explain("`pigrep sessions` lists all", "%s", what)
	}
	return nil
}
