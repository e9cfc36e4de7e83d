package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pigrep/internal/human"
	"pigrep/query/similar"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type similarOptions struct {
	flags.Shared
	pager.Options
	target string
	limit  flags.Number
}

// noSimilarFilters are the filters that similar does not have: it compares prompts,
// replies, titles and summaries.
var noSimilarFilters = []string{"scope", "kind", "role", "tool", "error"}

func (o *similarOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "limit", "n", "N", fmt.Sprintf("list at most N sessions; 0 for all (default %d)", similar.DefaultLimit), &o.limit)
	o.Options.AddFlags(f)
	o.AddFormat(f, func() []string { return printer.Fields(&printer.Similar{Response: &similar.Response{}}) })
	groups := flags.SharedGroups
	o.Add(cmd, groups, noSimilarFilters...)
	flags.Ignore(cmd, groups)
}

func runSimilar(ctx context.Context, a *app.App, o *similarOptions, args []string) error {
	o.target = args[0]
	q, err := begin(a, &o.Shared)
	if err != nil {
		return err
	}
	x, err := snapshot.Open(ctx, q.Location)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := conversation.Find(x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Redact = o.Redact
	req := similar.Request{Of: t.Conversation, Entry: t.Entry, Spec: q.request.Spec, Env: q.request.Env, Limit: o.limit.Limit(), Redact: o.Redact}
	if o.JSON || o.JSONL { // the only ones that have it
		req.Resume = q.Agents.ResumeCommand
	}
	start := a.Now()
	res, err := similar.Find(ctx, x.Reader, q.Agents, location.Disk{}, req)
	if errors.Is(err, similar.ErrNoTerms) {
		what := "the session"
		if t.Entry >= 0 {
			what = "the entry"
		}
		return &problem.Error{Code: problem.CodeQuery, Message: what + " has no words to compare", Hint: "`pigrep show " + o.target + "` shows what it has"}
	}
	if err != nil {
		return conversation.ReadProblem(ctx, err)
	}
	a.Logger().Debug("compared sessions", "took", a.Now().Sub(start).String(), "sessions", res.Total)
	x.Report(&res.Index, res.Warnings)
	q.out.Layout.Know(x.Reader.Summaries())
	answer := &printer.Similar{SessionPath: t.Record.Path, SessionID: t.Record.ID, Response: res}
	if t.Entry >= 0 {
		answer.EntryID = t.Record.Nodes[t.Entry].ID
	}
	o.Mask(answer)
	if err := pager.Show(a, &o.Options, q.out, func() error { return q.out.Print(answer) }); err != nil {
		return err
	}
	return finish(x, len(res.Sessions) > 0, 0, func() {
		a.Explain("", "none of the other %s is similar", human.Plural(max(res.Index.Files-1, 0), "session", "sessions"))
	})
}
