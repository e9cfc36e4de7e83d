package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/index"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// searchName is the default command.
const searchName = "search"

type searchOptions struct {
	flags.Shared
	query      string
	limit      flags.Number
	perSession flags.Number
	allWords   bool
	any        bool
	flat       bool
	sort       string
	explain    bool
	null       bool

	around flags.Around
	pager.Options
}

func (o *searchOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "limit", "n", "N", "show at most N sessions, or N hits with --flat; 0 for all (default 10, with --flat 20)", &o.limit)
	flags.Add(f, "per-session", "", "N", "show at most N hits per session; 0 for all (default 3)", &o.perSession)
	flags.Add(f, "all-words", "", "", "only hits with every word, as if each had a +", &o.allWords)
	flags.Add(f, "any", "", "", "also looser hits, which lack a word", &o.any)
	flags.Add(f, "flat", "", "", "list hits by rank, not grouped by session", &o.flat)
	flags.AddWords(cmd, "sort", "ORDER", strings.Join(rank.SortNames, ", ")+" first", rank.SortNames, &o.sort)
	flags.Add(f, "explain", "", "", "show how each score was computed", &o.explain)
	flags.AddNull(f, &o.null)
	o.Options.AddFlags(f)
	o.around.AddFlags(f, "show N entries before each hit on its branch", "show N entries after each hit", "show N entries before and after each hit")
	o.AddNoSearches(f)
	o.AddFormat(f, func() []string { return printer.Fields(&printer.Search{Response: &search.Response{}}) })
	o.Add(cmd, flags.SharedGroups)
}

func newSearchCommand(a *app.App) *cobra.Command {
	o := &searchOptions{}
	cmd := &cobra.Command{
		Use:               searchName + " QUERY...",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && canShow(a) && opensTUI(cmd) {
				return runTUI(cmd.Context(), a, &tuiOptions{Shared: o.Shared, sort: o.sort, allWords: o.allWords}, nil)
			}
			o.query = strings.Join(args, " ")
			return runSearch(cmd.Context(), a, o)
		},
	}
	help.Describe(cmd)
	o.addFlags(cmd)
	return cmd
}

// opensTUI reports whether a search without words can open the TUI: it has all flags that
// were given.
func opensTUI(cmd *cobra.Command) bool {
	ui := &cobra.Command{}
	(&tuiOptions{}).addFlags(ui)
	opens := true
	cmd.Flags().Visit(func(f *pflag.Flag) {
		same := ui.Flags().Lookup(f.Name)
		opens = opens && same != nil && !same.Hidden
	})
	return opens
}

func runSearch(ctx context.Context, a *app.App, o *searchOptions) error {
	order, err := rank.ParseSort(o.sort)
	if err != nil {
		return problem.Usagef("", "--sort: %v", err)
	}
	if o.null && (o.JSON || o.JSONL) {
		return problem.Usagef("", "--null and --json cannot be combined")
	}
	if strings.TrimSpace(o.query) == "" {
		req, err := o.Request(a)
		if err == nil && !req.Selects() {
			err = emptyQuery()
		}
		if err != nil {
			return err
		}
	}
	q, err := begin(a, &o.Shared)
	if err != nil {
		return err
	}
	req := q.request
	req.Text, req.Limit, req.PerSession, req.Flat = o.query, o.limit.Limit(), o.perSession.Limit(), o.flat
	req.AllWords, req.Any, req.Sort, req.Explain = o.allWords, o.any, order, o.explain
	req.Before, req.After = o.around.Numbers()
	req.Resume = q.Agents.ResumeCommand
	var res *search.Response
	x, err := q.ask(ctx, func(ctx context.Context, r *index.Reader) (err error) {
		start := a.Now()
		if res, err = search.Run(ctx, r, q.Agents, location.Disk{}, req); err != nil {
			return err
		}
		a.Logger().Debug("searched", "took", a.Now().Sub(start).String(), "hits", res.TotalAny)
		if !a.JSON {
			r.Summaries() // decoded while the files are still compared
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.Report(&res.Index, res.Warnings)
	if !o.limit.Given && !a.JSON {
		shortenParts(res)
	}
	o.Mask(res)
	answer := &printer.Search{
		Query: o.query, AllWords: o.allWords, Flat: o.flat, Response: res,
	}
	if !a.JSON {
		answer.Title = titles(x.Reader.Summaries(), o.Redact)
		q.out.Layout.Know(x.Reader.Summaries())
	} else {
		name := sessions.Names(x.Reader.Summaries())
		for i := range res.Sessions {
			res.Sessions[i].ShortID = name(res.Sessions[i].SessionID, res.Sessions[i].SessionPath)
		}
	}
	if len(req.Kinds) == 0 {
		answer.Scope = string(scopeOf(req.Spec))
	}
	if o.null {
		err = printer.Paths(a.Out, pathsOf(res.Hits), a.Streams.OutTTY)
	} else {
		err = pager.ShowIfLong(a, &o.Options, q.out, answer)
	}
	if err != nil {
		return err
	}
	return o.finish(x, req, res)
}

// sessionsWithParts is how many sessions are shown if no hit has the word as written.
const sessionsWithParts = 3

// shortenParts keeps the best sessions of an answer whose hits only have the parts of a word:
// such hits are rarely what was meant.
func shortenParts(res *search.Response) {
	if res.Total > 0 || len(res.Words) != 1 || res.Words[0].Parts == 0 || len(res.Sessions) <= sessionsWithParts {
		return
	}
	res.Sessions = res.Sessions[:sessionsWithParts]
	last := res.Sessions[sessionsWithParts-1].SessionPath
	for res.Hits[len(res.Hits)-1].SessionPath != last {
		res.Hits = res.Hits[:len(res.Hits)-1]
	}
}

// pathsOf lists the session files of hits, each once.
func pathsOf(hits []search.Hit) (paths []string) {
	for i := range hits {
		if !slices.Contains(paths, hits[i].SessionPath) {
			paths = append(paths, hits[i].SessionPath)
		}
	}
	return paths
}

// finish suggests other queries, and says why nothing was found.
func (o *searchOptions) finish(x *snapshot.Snapshot, req search.Request, res *search.Response) error {
	a := x.App
	why := suggestion{res.TotalAny > 0, res.DidYouMean, res.Words, res.Removed}
	if !a.JSON && suggestCommand(a, o.query, res) {
		why.didYouMean, why.words = "", nil // one suggestion is enough
	}
	found := len(res.Hits) > 0
	if !found && res.Index.Complete && res.Unreadable == 0 && res.Index.Files > 0 { // otherwise a warning says that there are none
		where := ""
		if len(res.Removed) == 0 { // otherwise the filters are the reason
			where = " in " + whereSearched(req.Spec, res.Index.Files)
		}
		a.Explain("", "nothing found%s", where)
	}
	suggest(&o.Shared, a, why)
	return finish(x, found, res.Unreadable, func() {})
}

// suggestCommand says that the first word of a query looks like a mistyped command and
// occurs nowhere, whatever the filters, or that the only word is another program's name for
// a command. It reports whether it did.
func suggestCommand(a *app.App, text string, res *search.Response) bool {
	word, rest, _ := strings.Cut(text, " ")
	const said = "%s is not a command and was searched as text; did you mean: pigrep %s"
	if meant := commandMeant(word); meant != "" && rest == "" {
		a.Explain("", said, word, meant)
		return a.Streams.ErrTTY
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
	a.Warn(said, word, strings.TrimSpace(found[0]+" "+rest))
	return true
}

// scopeOf returns the scope of a filter, or the default.
func scopeOf(r filter.Spec) scope.Scope {
	if r.Scope == "" {
		return scope.Default
	}
	return r.Scope
}

func emptyQuery() error {
	return &problem.Error{Code: problem.CodeQuery, Message: "the query is empty", Hint: "type words to search for, for example: pigrep connection timeout; or name a filter, such as --kind prompt"}
}

// searchProblem adds hints to an error of a search.
func searchProblem(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*words.TextError](err); ok {
		hint := e.Hint
		if e.Grep {
			hint += ": pigrep grep -F"
		}
		return &problem.Error{Code: problem.CodeQuery, Message: e.Reason, Hint: hint}
	}
	return problem.OfIndex(err)
}

// titles returns a function from session paths to titles.
func titles(sessions []session.Summary, redact bool) func(string) string {
	return func(path string) string {
		i := slices.IndexFunc(sessions, func(s session.Summary) bool { return s.Path == path })
		if i < 0 {
			return ""
		}
		s := search.Describe(&sessions[i], nil)
		if redact {
			s.Redact()
		}
		return s.Title
	}
}

// whereSearched describes the text that was searched.
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
