package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/fix"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
	"pigrep/remote"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

const (
	searchName        = "search" // the default command
	sessionsWithParts = 3        // are shown if no hit has the word as written
	sizeOfRecord      = 256      // about what a record takes, in bytes
)

type searchOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format no-searches"`
	pager.Options
	flags.Around
	cmd                                *cobra.Command
	query, Sort                        string
	Limit, PerSession                  flags.Number
	AllWords, Any, Flat, Explain, Null bool
}

func (o *searchOptions) AddFlags(cmd *cobra.Command) {
	o.cmd = cmd
	flags.Words(cmd, "sort", rank.SortNames)
}

// opensTUI reports whether a search without words can open the TUI: it has all flags that
// were given.
func opensTUI(a *app.App, cmd *cobra.Command) bool {
	ui, _, _ := rootFor(a, []string{"tui"}).Find([]string{"tui"})
	opens := true
	cmd.Flags().Visit(func(f *pflag.Flag) {
		same := ui.Flags().Lookup(f.Name)
		opens = opens && same != nil && !same.Hidden
	})
	return opens
}

func runSearch(ctx context.Context, a *app.App, o *searchOptions, args []string) error {
	if len(args) == 0 && canShow(a) && opensTUI(a, o.cmd) {
		return runTUI(ctx, a, &tuiOptions{Shared: o.Shared, Sort: o.Sort, AllWords: o.AllWords}, nil)
	}
	o.query = strings.Join(args, " ")
	order, err := rank.ParseSort(o.Sort)
	if err != nil {
		return problem.Usagef("", "--sort: %v", err)
	}
	if o.Null && (o.JSON || o.JSONL) {
		return problem.Usagef("", "--null and --json cannot be combined")
	}
	if strings.TrimSpace(o.query) == "" {
		req, err := o.Request(a)
		if err == nil && !req.Selects() {
			err = &problem.Error{Code: problem.CodeQuery, Message: "the query is empty", Hint: "type words to search for, for example: pigrep connection timeout; or name a filter, such as --kind prompt"}
		}
		if err != nil {
			return err
		}
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	req := q.Request
	req.Text, req.Limit, req.PerSession, req.Flat = o.query, o.Limit.Limit(), o.PerSession.Limit(), o.Flat
	req.AllWords, req.Any, req.Sort, req.Explain = o.AllWords, o.Any, order, o.Explain
	req.Answers = !q.Out.Format.Records()
	req.Before, req.After = o.Around.Numbers()
	req.Later = o.Flat && req.Limit == search.All && req.Before+req.After == 0 && !o.Explain
	req.Resume = q.ResumeCommand
	q.Question = questionOf(&req)
	hits := func(res *search.Response) []any { return []any{"hits", res.TotalAny} }
	res, x, err := asking.Answer(ctx, q, "searched", hits, func(ctx context.Context, x *snapshot.Snapshot) (*search.Response, error) {
		return remote.Search.Ask(ctx, x, req)
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	if !o.Limit.Given && !a.JSON {
		shortenParts(res)
	}
	warned := len(res.Warnings)
	o.Mask(res)
	answer := &printer.Search{
		Context: ctx, Query: o.query, AllWords: o.AllWords, Flat: o.Flat, Response: res,
	}
	if req.Later {
		answer.Shown = func(h *search.Hit) { o.Mask(h) }
	}
	x.Know(&q.Out.Layout)
	q.Out.Layout.Several = res.Index.Several
	if !a.JSON {
		answer.Title = snapshot.Titles(x.Reader, o.Redact)
	}
	for i := 0; a.JSON && i < len(res.Sessions); i++ {
		s := &res.Sessions[i]
		s.ShortID = cmp.Or(s.ShortID, q.Out.Layout.Name(s.SessionID, s.SessionPath))
	}
	if len(req.Kinds) == 0 {
		answer.Scope = string(scopeOf(req.Spec))
	}
	switch {
	case o.Null:
		var paths []string
		if paths, err = answer.Paths(); err == nil {
			err = printer.Paths(a.Out, paths, a.Streams.OutTTY)
		}
	case req.Later:
		err = pager.Show(a, &o.Options, q.Out, func() error { return q.Out.Print(answer) })
	default:
		err = pager.ShowIfLong(a, &o.Options, q.Out, answer)
	}
	if err != nil {
		return err
	}
	x.Report(&res.Index, res.Warnings[warned:]) // of hits that were read while they were written
	return o.finish(x, req, res, answer.Written() > 0)
}

// shortenParts keeps the best sessions of an answer whose hits only have the parts of a word:
// such hits are rarely what was meant.
func shortenParts(res *search.Response) {
	if res.Total > 0 || len(res.Words) != 1 || res.Words[0].Parts == 0 || len(res.Sessions) <= sessionsWithParts {
		return
	}
	res.Sessions = res.Sessions[:sessionsWithParts]
	owner := res.Owners()
	res.Hits = slices.DeleteFunc(res.Hits, func(h search.Hit) bool { return owner(&h) == nil })
}

// finish suggests other queries, and says why nothing was found.
func (o *searchOptions) finish(x *snapshot.Snapshot, req search.Request, res *search.Response, found bool) error {
	a := x.App
	why := asking.Suggestion{Partial: res.TotalAny > 0, DidYouMean: res.DidYouMean, Words: res.Words, Removed: res.Removed}
	if !a.JSON && suggestCommand(a, o.query, res) {
		why.DidYouMean, why.Words = "", nil // one suggestion is enough
	}
	nowhere := len(res.Words) > 0 && !slices.ContainsFunc(res.Words, func(w search.WordCount) bool { return !w.Nowhere() })
	if !found && !nowhere && res.Index.Complete && res.Unreadable == 0 && res.Index.Files > 0 { // otherwise a warning says that there are none
		where := ""
		if len(res.Removed) == 0 { // otherwise the filters are the reason
			where = " in " + whereSearched(req.Spec, res.Index.Files)
		}
		a.Explain("", "nothing found%s", where)
	}
	asking.Suggest(&o.Shared, a, why)
	return asking.Finish(x, found, res.Unreadable, func() {})
}

// suggestCommand says that the first word of a query looks like a mistyped command and
// occurs nowhere, whatever the filters, or that the only word is another program's name for
// a command. It reports whether it did.
func suggestCommand(a *app.App, text string, res *search.Response) bool {
	word, rest, _ := strings.Cut(text, " ")
	const said = "%s is not a command and was searched as text; did you mean: pigrep %s"
	if meant := commandMeant(word); meant != "" {
		if rest == "" {
			a.Explain("", said, word, meant)
		}
		return rest == "" && a.Streams.ErrTTY
	}
	nowhere := res.TotalAny == 0 && len(res.Removed) == 0
	if len(res.Words) > 0 {
		nowhere = res.Words[0].Word == word && res.Words[0].Nowhere()
	}
	meant, _, _ := strings.Cut(res.DidYouMean, " ")
	if !nowhere && (res.Total > 0 || meant == "" || meant == word) {
		return false
	}
	found := near.Nearest(commandNames(), word)
	if len(found) == 0 || len(word) <= 3 {
		return false
	}
	edits := near.Distance(found[0], word, near.Typo)
	if edits > near.Typo || nowhere && len(res.Words) > 0 && len(res.Words[0].Nearest) > 0 && near.Unlike(res.Words[0].Nearest[0].Word, word) < edits {
		return false // a word of the sessions
	}
	a.Warn(said, word, strings.TrimSpace(found[0]+" "+rest))
	return true
}

func scopeOf(r filter.Spec) scope.Scope {
	if r.Scope == "" {
		return scope.Default
	}
	return r.Scope
}

func whereSearched(r filter.Spec, files int) string {
	what := fmt.Sprintf("the %s of %d session files", scopeOf(r), files)
	switch {
	case len(r.Kinds) > 0:
		what = fmt.Sprintf("the selected kinds of text in %d session files", files)
	case scopeOf(r) == scope.All:
		what = fmt.Sprintf("all text of %d session files", files)
	case slices.Contains(scope.Scopes, scopeOf(r)):
		what += "; --scope all searches everything"
	}
	return what
}

type sessionsOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format no-searches"`
	pager.Options
	query                              string
	Limit                              flags.Number
	Any, Named, Forks, Null, Subagents bool
}

func (o *sessionsOptions) AddFlags(cmd *cobra.Command) {
	flags.AddHidden(cmd.Flags(), "print0", "", "the same as --null", &o.Null) // its name in find
}

func runSessions(ctx context.Context, a *app.App, o *sessionsOptions, args []string) error {
	o.query = strings.Join(args, " ")
	if o.Null && (o.JSON || o.JSONL) {
		return problem.Usagef("", "--null and --json cannot be combined")
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	out, req := q.Out, o.request(q)
	q.Question = questionAbout(&req)
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
	// Records do not tell the state of the index. Those of thousands of sessions are ready
	// when the files have been compared.
	var records bytes.Buffer
	early := o.Null || out.Format.Records()
	if early {
		out.Out = &records
	}
	x, err := q.Ask(ctx, func(ctx context.Context, x *snapshot.Snapshot) (err error) {
		if list, err = remote.Sessions.Ask(ctx, x, req); err != nil {
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

// onlySummaries reports whether summaries are enough to list sessions: nothing tests their
// parts, and a session with an entry between two times begins or ends between them.
func onlySummaries(req *sessions.Request) bool {
	s := req.Spec
	return len(s.Kinds)+len(s.Roles)+len(s.Tools) == 0 && s.Scope == "" && s.Branch == "" && !s.Error && !s.NoSearches && (s.Since.IsZero() || s.Until.IsZero())
}

func (o *sessionsOptions) request(q *asking.Command) sessions.Request {
	base := q.Request
	base.Text, base.Limit, base.Any = strings.TrimSpace(o.query), o.Limit.Limit(), o.Any
	req := sessions.FromSearch(base)
	req.Named, req.Forks, req.Subagents = o.Named, o.Forks, o.Subagents
	if o.JSON || o.JSONL { // the only ones that have it
		req.Resume = q.ResumeCommand
	}
	return req
}

// explain says why the list is empty, as far as the filters of sessions are the reason.
func (o *sessionsOptions) explain(ctx context.Context, a *app.App, x *snapshot.Snapshot, req sessions.Request, now time.Time) error {
	why := asking.NoneBelow(&o.Shared, x.Reader.Summaries(), req.CWD) // the answer has warnings about other filters
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

// similarOptions lack some filters: prompts, replies, titles and summaries are compared.
type similarOptions struct {
	flags.Shared `takes:"filters files answer output on wait reveal format -scope -kind -role -tool -error" ignores:"filters files answer output"`
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
	x, err := snapshot.Open(ctx, q.Location, q.Question)
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
		res, err = remote.Similar.Ask(ctx, x, req)
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
		answer.EntryID = t.Record.Nodes[t.Entry].ID
	}
	o.Mask(answer)
	if err := pager.Show(a, &o.Options, q.Out, func() error { return q.Out.Print(answer) }); err != nil {
		return err
	}
	return asking.Finish(x, len(res.Sessions) > 0, 0, func() {
		a.Explain("", "none of the other %s is similar", human.Plural(max(res.Index.Files-1, 0), "session", "sessions"))
	})
}

// fixOptions lack some filters: errors occur in results, error messages, shell output and prompts, all of
// which are looked at, and which have no model.
type fixOptions struct {
	flags.Shared `takes:"filters files answer output on wait reveal format -scope -kind -role -error -model" ignores:"filters files answer output -model"`
	text         string
	Limit        flags.Number
}

func runFix(ctx context.Context, a *app.App, o *fixOptions, args []string) error {
	o.text = strings.Join(args, " ")
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	if o.text == "-" {
		a.Final = true
		if o.text, err = readEnd(a.Streams.In, fix.MaxText+1); err != nil { // one more byte shows that there is more
			return fmt.Errorf("cannot read the error from stdin: %w", err)
		}
	}
	if strings.TrimSpace(o.text) == "" {
		return noErrorText("the error is empty")
	}
	req := fix.Request{Text: o.text, Spec: q.Request.Spec, Env: q.Request.Env, Limit: o.Limit.Limit(), Redact: o.Redact, Resume: q.ResumeCommand}
	total := func(res *fix.Response) []any { return []any{"sessions", res.Total} }
	res, x, err := asking.Answer(ctx, q, "looked for the error", total, func(ctx context.Context, x *snapshot.Snapshot) (*fix.Response, error) {
		res, err := remote.Fix.Ask(ctx, x, req)
		if errors.Is(err, fix.ErrNoWords) {
			err = noErrorText(err.Error())
		}
		return res, err
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	o.Mask(res)
	x.Know(&q.Out.Layout)
	if err := q.Out.Print(&printer.Fix{Response: res}); err != nil {
		return err
	}
	if len(res.Missing) > 0 && q.Out.Format.Records() {
		a.Advise("", "no session has this error with %s; these are like it", strings.Join(res.Missing, ", "))
	}
	found := len(res.Sessions) > 0
	if !found && res.Index.Complete && !res.TotalIsExact {
		if o.Limit.Limit() != search.All {
			a.Explain("`-n 0` compares all", "nothing found, but not everything was compared")
		}
		return problem.ErrIncomplete
	}
	return asking.Finish(x, found, 0, func() {
		a.Explain("`pigrep WORDS` searches for some of its words", "no such error in %s", human.Plural(res.Index.Files, "session file", "session files"))
	})
}

func readEnd(r io.Reader, n int) (string, error) {
	var kept []byte
	buf := make([]byte, n)
	for {
		k, err := r.Read(buf)
		kept = append(kept, buf[:k]...)
		kept = kept[max(0, len(kept)-n):]
		if err == io.EOF {
			return string(kept), nil
		}
		if err != nil {
			return "", err
		}
	}
}

func noErrorText(message string) error {
	return &problem.Error{Code: problem.CodeQuery, Message: message, Hint: `give the text as it was printed: pigrep fix "No module named 'yaml'"`}
}
