package cli

import (
	"context"
	"errors"

	"pigrep/internal/human"
	"pigrep/query/similar"
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

// similarOptions lack some filters: prompts, replies, titles and summaries are compared.
type similarOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format own -scope -kind -role -tool -error" ignores:"filters files answer output"`
	pager.Options
	Limit flags.Number
}

func runSimilar(ctx context.Context, a *app.App, o *similarOptions, args []string) error {
	target := args[0]
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	askForNamed(q, target)
	x, err := snapshot.Open(ctx, q.Location, q.Named)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := conversation.Find(x, target)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Redact = o.Redact
	start := a.Now()
	req, err := similar.Ask(ctx, t.Conversation, t.Entry)
	req.Spec, req.Env, req.Limit, req.Redact = q.Request.Spec, q.Request.Env, o.Limit.Limit(), o.Redact
	if o.JSON || o.JSONL { // the only ones that have it
		req.Resume = q.ResumeCommand
	}
	var res *similar.Response
	if err == nil {
		res, err = asking.WithoutOwn(ctx, x, &o.Shared, remote.Similar, &req, &req.Spec, true)
	}
	if x.Asking != nil && x.State.Complete { // otherwise those that are missing were named
		err = asking.Problem(ctx, x.Asked(err))
	}
	if errors.Is(err, similar.ErrNoTerms) {
		what := "the session"
		if t.Entry >= 0 {
			what = "the entry"
		}
		return &problem.Error{Code: problem.CodeQuery, Message: what + " has no words to compare", Hint: "`pigrep show " + target + "` shows what it has"}
	}
	if err != nil {
		return conversation.ReadProblem(ctx, err)
	}
	a.Logger().Debug("compared sessions", "took", a.Now().Sub(start).String(), "sessions", res.Total)
	x.Report(&res.Index, res.Warnings)
	x.Know(&q.Out.Layout)
	answer := &printer.Similar{SessionPath: t.Record.Path, SessionID: t.Record.ID, Response: res}
	if t.Entry >= 0 {
		answer.EntryName = t.Named(t.Entry)
	}
	o.Mask(answer)
	if err := pager.Show(a, &o.Options, q.Out, func() error { return q.Out.Print(answer) }); err != nil {
		return err
	}
	return asking.Finish(x, len(res.Sessions) > 0, 0, func() {
		a.Explain("", "none of the other %s is similar", human.Plural(max(res.Index.Files-1, 0), "session", "sessions"))
	})
}
