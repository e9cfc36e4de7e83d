package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/internal/ui/printer"
	"pigrep/query/sessions"
)

type sessionsOptions struct {
	sharedOptions
	pagerOptions
	query  string
	limit  number
	named  bool
	forks  bool
	print0 bool
}

func (o *sessionsOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "limit", "n", "N", "list at most N sessions; 0 for all (default all, with a query 20)", &o.limit)
	addFlag(f, "named", "", "", "only sessions with a name", &o.named)
	addFlag(f, "forks", "", "", "only forks and their parents, grouped by family", &o.forks)
	addFlag(f, "print0", "0", "", "print only paths, separated by NUL bytes, for xargs -0", &o.print0)
	o.pagerOptions.addFlags(f)
	o.addNoSearches(f)
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput})
}

func newSessionsCommand(a *App) *cobra.Command {
	o := &sessionsOptions{}
	cmd := &cobra.Command{
		Use:   "sessions [QUERY...]",
		Short: "List sessions, latest first or best match first",
		Long: `List sessions, latest message first; with a query, list the sessions that match
it, best match first. A session without a name is called by its first prompt,
without skills, attached files, commands and marks of headings; by the section
with the task, if a template has one; and by the next prompt, if the first is
only a command. Filters on entries (--kind, --tool, ...) keep sessions with at
least one such entry.`,
		Example: `pigrep sessions
pigrep sessions --here -n 10
pigrep sessions login redirect
pigrep sessions --forks --since 2w
pigrep sessions --project app --print0 | xargs -0 ls -l`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.query = strings.Join(args, " ")
			return runSessions(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runSessions(ctx context.Context, a *App, o *sessionsOptions) error {
	if o.print0 && (o.json || o.jsonl) {
		return usagef("", "--print0 and --json cannot be combined")
	}
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	base, err := o.request(a)
	if err != nil {
		return err
	}
	base.Text, base.Limit = strings.TrimSpace(o.query), o.limit.limit()
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	req := sessions.FromSearch(base)
	req.Named, req.Forks = o.named, o.forks
	if o.json || o.jsonl { // the only ones that have it
		req.Resume = p.agents.ResumeCommand
	}
	var list *sessions.Response
	x, err := o.ask(ctx, a, p, func(ctx context.Context, r *index.Reader) (err error) {
		if list, err = sessions.List(ctx, r, p.agents, disk{}, req); err != nil {
			return searchProblem(ctx, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer x.Close()
	x.report(a, &list.Index, list.Warnings)
	o.mask(list)
	if o.print0 {
		err = printer.Paths(a.out, list)
	} else {
		err = a.paged(&o.pagerOptions, out, func() error {
			return out.Print(&printer.Sessions{
				Query: o.query, Searched: base.Text != "", List: list, ShortID: sessions.ShortIDs(x.reader.Summaries()),
			})
		})
	}
	if err != nil {
		return err
	}
	if len(list.Sessions) == 0 && list.Index.Files > 0 && !a.json {
		if err := o.explain(ctx, a, x, req, out.Look.Now); err != nil {
			return err
		}
	}
	o.suggest(a, suggestion{len(list.Sessions) > 0, list.DidYouMean, list.Words, list.Removed})
	switch {
	case len(list.Sessions) > 0:
		return nil
	case list.Index.Complete:
		return errNothingFound
	}
	return errIncomplete
}

// explain says why the list is empty, as far as the filters of sessions are the reason.
func (o *sessionsOptions) explain(ctx context.Context, a *App, x *snapshot, req sessions.Request, now time.Time) error {
	why := o.noneBelow(x.reader.Summaries(), req.CWD) // the answer has warnings about other filters
	if req.Text == "" && (!req.Since.IsZero() || !req.Until.IsZero()) {
		none := printer.Empty{Since: req.Since, Until: req.Until}
		req.Since, req.Until, req.Limit = time.Time{}, time.Time{}, 1
		all, err := sessions.List(ctx, x.reader, x.agents, disk{}, req)
		if err != nil {
			return searchProblem(ctx, err)
		}
		if len(all.Sessions) > 0 {
			none.Last = all.Sessions[0].Modified.Time
			why = append(why, none.Text(now))
		}
	}
	for _, w := range why {
		a.warn("%s", w)
	}
	if len(why) == 0 && a.Streams.ErrTTY && x.state.Complete {
		what := "no session passes the filters"
		if req.Text != "" {
			what = "no session matches " + req.Text
		}
		a.advise("`pigrep sessions` lists all", "%s", what)
	}
	return nil
}
