package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pigrep/internal/human"
	"pigrep/internal/ui/printer"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

type similarOptions struct {
	sharedOptions
	pagerOptions
	target string
	limit  number
}

// noSimilarFilters are the filters that similar does not have: it compares prompts,
// replies, titles and summaries.
var noSimilarFilters = []string{"scope", "kind", "role", "tool", "error"}

func (o *similarOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "limit", "n", "N", fmt.Sprintf("list at most N sessions; 0 for all (default %d)", sessions.DefaultSessions), &o.limit)
	o.pagerOptions.addFlags(f)
	groups := []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput}
	o.addShared(cmd, groups, noSimilarFilters...)
	ignoreShared(cmd, groups)
}

func newSimilarCommand(a *App) *cobra.Command {
	o := &similarOptions{}
	cmd := &cobra.Command{
		Use:   "similar {SESSION[:ENTRY] | ENTRY}",
		Short: "List sessions about the same things as a session or an entry",
		Long: `List the sessions that share the weightiest words of a session, or of one of its
entries: words that it has often and that few other sessions have. The most
similar come first, each with the words it shares. SESSION is the path of a
session file, a session id, or the start of one.

Prompts, replies, titles and summaries are compared. The session itself, its
forks and copies are left out.`,
		Example: `pigrep similar 01a1f7de
pigrep similar 01a1f7de:5e6f7a8b -n 5
pigrep similar 01a1f7de --json`,
		Args:              oneSession,
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.target = args[0]
			return runSimilar(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runSimilar(ctx context.Context, a *App, o *similarOptions) error {
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	base, err := o.request(a)
	if err != nil {
		return err
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
	t, err := findTarget(a, x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Redact = o.redact
	req := similar.Request{Of: t.Conversation, Entry: t.entry, Spec: base.Spec, Env: base.Env, Limit: o.limit.limit(), Redact: o.redact}
	if o.json || o.jsonl { // the only ones that have it
		req.Resume = p.agents.ResumeCommand
	}
	start := a.Now()
	res, err := similar.Find(ctx, x.reader, p.agents, disk{}, req)
	if errors.Is(err, similar.ErrNoTerms) {
		what := "the session"
		if t.entry >= 0 {
			what = "the entry"
		}
		return &problem{code: codeQuery, message: what + " has no words to compare", hint: "`pigrep show " + o.target + "` shows what it has"}
	}
	if err != nil {
		return readProblem(ctx, err)
	}
	a.logger().Debug("compared sessions", "took", a.Now().Sub(start).String(), "sessions", res.Total)
	x.report(a, &res.Index, res.Warnings)
	answer := &printer.Similar{SessionPath: t.Record.Path, SessionID: t.Record.ID, Response: res, ShortID: t.shortID}
	if t.entry >= 0 {
		answer.EntryID = t.Record.Nodes[t.entry].ID
	}
	o.mask(answer)
	if err := a.paged(&o.pagerOptions, out, func() error { return out.Print(answer) }); err != nil {
		return err
	}
	switch {
	case len(res.Sessions) > 0:
		return nil
	case res.Index.Complete:
		if a.Streams.ErrTTY && !a.json {
			a.warn("none of the other %s is similar", human.Plural(max(res.Index.Files-1, 0), "session", "sessions"))
		}
		return errNothingFound
	}
	a.warnIncomplete(x.missing.Files, len(x.errors), 0)
	return errIncomplete
}
