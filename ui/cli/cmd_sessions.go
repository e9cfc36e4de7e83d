package cli

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type sessionsOptions struct {
	flags.Shared
	pager.Options
	query  string
	limit  flags.Number
	any    bool
	named  bool
	forks  bool
	print0 bool
}

func (o *sessionsOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "limit", "n", "N", "list at most N sessions; 0 for all (default all, with a query 20)", &o.limit)
	flags.Add(f, "any", "", "", "also sessions with looser hits only, which lack a word", &o.any)
	flags.Add(f, "named", "", "", "only sessions with a name", &o.named)
	flags.Add(f, "forks", "", "", "only forks and their parents, grouped by family", &o.forks)
	flags.AddNull(f, &o.print0)
	flags.Add(f, "print0", "", "", "the same as --null", &o.print0)
	f.Lookup("print0").Hidden = true // its name in find
	o.Options.AddFlags(f)
	o.AddNoSearches(f)
	o.AddFormat(f, func() []string { return printer.Fields(&printer.Sessions{List: &sessions.Response{}}) })
	o.Add(cmd, flags.SharedGroups)
}

func runSessions(ctx context.Context, a *app.App, o *sessionsOptions, args []string) error {
	o.query = strings.Join(args, " ")
	if o.print0 && (o.JSON || o.JSONL) {
		return problem.Usagef("", "--null and --json cannot be combined")
	}
	q, err := begin(a, &o.Shared)
	if err != nil {
		return err
	}
	out, req := q.out, o.request(q)
	var list *sessions.Response
	write := func(r *index.Reader) error {
		if o.print0 {
			paths := make([]string, len(list.Sessions))
			for i := range list.Sessions {
				paths[i] = list.Sessions[i].SessionPath
			}
			return printer.Paths(out.Out, paths, a.Streams.OutTTY)
		}
		out.Layout.Know(r.Summaries())
		for i, name := 0, sessions.Names(r.Summaries()); a.JSON && i < len(list.Sessions); i++ {
			s := &list.Sessions[i]
			s.ShortID = name(s.SessionID, s.SessionPath)
		}
		return out.Print(&printer.Sessions{Query: o.query, Searched: req.Text != "", List: list})
	}
	// Records do not tell the state of the index. Those of thousands of sessions are ready
	// when the files have been compared.
	var records bytes.Buffer
	early := o.print0 || out.Format.Records()
	if early {
		out.Out = &records
	}
	x, err := q.ask(ctx, func(ctx context.Context, r *index.Reader) (err error) {
		if list, err = sessions.List(ctx, r, q.Agents, location.Disk{}, req); err != nil {
			return err
		}
		o.Mask(list)
		if early {
			records.Reset()
			records.Grow(sizeOfRecord * len(list.Sessions))
			return write(r)
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
		err = pager.Show(a, &o.Options, out, func() error { return write(x.Reader) })
	}
	if err != nil {
		return err
	}
	if len(list.Sessions) == 0 && list.Index.Files > 0 && !a.JSON {
		if err := o.explain(ctx, a, x, req, out.Layout.Now); err != nil {
			return err
		}
	}
	suggest(&o.Shared, a, suggestion{len(list.Sessions) > 0, list.DidYouMean, list.Words, list.Removed})
	return outcome(len(list.Sessions) > 0, list.Index.Complete)
}

// request returns the request of a question with these options.
func (o *sessionsOptions) request(q *asking) sessions.Request {
	base := q.request
	base.Text, base.Limit, base.Any = strings.TrimSpace(o.query), o.limit.Limit(), o.any
	req := sessions.FromSearch(base)
	req.Named, req.Forks = o.named, o.forks
	if o.JSON || o.JSONL { // the only ones that have it
		req.Resume = q.Agents.ResumeCommand
	}
	return req
}

// sizeOfRecord is about what a record takes, in bytes.
const sizeOfRecord = 256

// explain says why the list is empty, as far as the filters of sessions are the reason.
func (o *sessionsOptions) explain(ctx context.Context, a *app.App, x *snapshot.Snapshot, req sessions.Request, now time.Time) error {
	why := noneBelow(&o.Shared, x.Reader.Summaries(), req.CWD) // the answer has warnings about other filters
	if req.Text == "" && (!req.Since.IsZero() || !req.Until.IsZero()) {
		none := printer.Empty{Since: req.Since, Until: req.Until}
		req.Since, req.Until, req.Limit = time.Time{}, time.Time{}, 1
		all, err := sessions.List(ctx, x.Reader, x.Agents, location.Disk{}, req)
		if err != nil {
			return searchProblem(ctx, err)
		}
		if len(all.Sessions) > 0 {
			none.Last = all.Sessions[0].Modified.Time
			why = append(why, none.Text(now))
		}
	}
	for _, w := range why {
		a.Warn("%s", w)
	}
	if len(why) == 0 && x.State.Complete {
		what := "no session passes the filters"
		if req.Text != "" {
			what = "no session matches " + req.Text
		}
		a.Explain("`pigrep sessions` lists all", "%s", what)
	}
	return nil
}
