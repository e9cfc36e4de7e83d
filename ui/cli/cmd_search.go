package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/human"
	"pigrep/internal/near"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
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
	flags.Shared `takes:"filters files answer output from on wait reveal format no-searches own"`
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
	hits := func(res *search.Response) []any { return []any{"hits", res.TotalAny} }
	res, x, err := asking.Answer(ctx, q, "searched", hits, func(ctx context.Context, x *snapshot.Snapshot) (*search.Response, error) {
		return asking.WithoutOwn(ctx, x, &o.Shared, remote.Search, &req, &req.Spec, true)
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
	if q.Out.Format.Records() && res.Folded > 0 {
		of := human.When(res.Folded < res.Looser(), human.Number(res.Folded)+" of ")
		a.Advise("", "%s%s not listed; --any lists them", of, search.Apart(res.Counts()))
	}
	return o.finish(ctx, x, req, res, answer.Written() > 0)
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
func (o *searchOptions) finish(ctx context.Context, x *snapshot.Snapshot, req search.Request, res *search.Response, found bool) error {
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
	if req.CWD != "" && !found && !a.JSON {
		a.WarnAll(otherCheckout(ctx, x, req.CWD))
	}
	if !found {
		asking.WarnSkipped(a, res.Index.SkippedLines)
	}
	return asking.Finish(x, found, res.Unreadable, func() {})
}

// fewHits is how many hits a mistyped command has at most: others have mistyped it too.
const fewHits = 5

// suggestCommand says that the first word of a query looks like a mistyped command and
// occurs nowhere, whatever the filters, or that it is another program's name for a command, or looks like a command and has
// few hits. It reports whether it did.
func suggestCommand(a *app.App, text string, res *search.Response) bool {
	word, rest, _ := strings.Cut(text, " ")
	const said = "%s is not a command and was searched as text; did you mean: pigrep %s"
	isCall := rest == "" || !strings.Contains(rest, " ") && (rest == sessions.Last || strings.ContainsAny(rest, "0123456789"))
	if meant := commandMeant(word); meant != "" {
		if isCall {
			a.Explain("", said, word, strings.TrimSpace(meant+" "+rest))
		}
		return isCall && a.Streams.ErrTTY
	}
	nowhere := res.TotalAny == 0 && len(res.Removed) == 0
	if res.Total == 0 && len(res.Words) > 0 {
		nowhere = res.Words[0].Word == word && res.Words[0].Nowhere()
	}
	meant, _, _ := strings.Cut(res.DidYouMean, " ")
	isRare := isCall && res.Total <= fewHits
	if res.Total == 0 && len(res.Words) > 0 {
		isRare = res.Words[0].Word == word && res.Words[0].Hits <= fewHits
	}
	isRare = isRare && a.Streams.ErrTTY
	if !nowhere && !isRare && (res.Total > 0 || meant == "" || meant == word) {
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
	return cmp.Or(r.Scope, scope.Default)
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
