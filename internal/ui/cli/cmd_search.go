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
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/filter"
	"pigrep/query/rank"
	"pigrep/query/sessions"
	"pigrep/query/words"
	"pigrep/scope"
)

// searchName is the default command.
const searchName = "search"

type searchOptions struct {
	sharedOptions
	query      string
	limit      number
	perSession number
	allWords   bool
	flat       bool
	sort       string
	explain    bool

	around aroundOptions
	pagerOptions
}

func (o *searchOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "limit", "n", "N", "show at most N sessions, or N hits with --flat; 0 for all (default 10, with --flat 20)", &o.limit)
	addFlag(f, "per-session", "", "N", "show at most N hits per session; 0 for all (default 3)", &o.perSession)
	addFlag(f, "all-words", "", "", "only hits with every word, as if each had a +", &o.allWords)
	addFlag(f, "flat", "", "", "list hits by rank, not grouped by session", &o.flat)
	addFlag(f, "sort", "", "ORDER", strings.Join(rank.SortNames, ", ")+" first; by time, partial matches are shown only if nothing matches fully", &o.sort)
	addFlag(f, "explain", "", "", "show how each score was computed", &o.explain)
	o.pagerOptions.addFlags(f)
	o.around.addFlags(f, "show N entries before each hit on its branch", "show N entries after each hit", "show N entries before and after each hit")
	// It fails only for an undefined flag.
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(rank.SortNames, cobra.ShellCompDirectiveNoFileComp))
	o.addNoSearches(f)
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput})
}

func newSearchCommand(a *App) *cobra.Command {
	o := &searchOptions{}
	cmd := &cobra.Command{
		Use:   searchName + " QUERY...",
		Short: "Search all past conversations, best hits first",
		Long: `Search all past conversations. Hits are grouped by session, best session first.

Entries that contain all words rank above those that lack one; --all-words
leaves those out. The arguments
are joined with spaces; see "pigrep help query" for the query language. What was
written to the session files before the search began is found. The first run
builds the index.

To search for a word that starts with -, put -- before it.`,
		Example: `pigrep connection timeout
pigrep search '"exit code 137"'
pigrep --here --since 2w retry
pigrep --kind call,shell -- rm -rf
pigrep --sort newest -C 2 'cmd:"docker build"'
pigrep --json ENOENT`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && a.canShow() && opensTUI(cmd) {
				return runTUI(cmd.Context(), a, &tuiOptions{sharedOptions: o.sharedOptions, sort: o.sort, allWords: o.allWords})
			}
			o.query = strings.Join(args, " ")
			return runSearch(cmd.Context(), a, o)
		},
	}
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

func runSearch(ctx context.Context, a *App, o *searchOptions) error {
	before, after := o.around.numbers()
	order, err := rank.ParseSort(o.sort)
	if err != nil {
		return usagef("", "--sort: %v", err)
	}
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	req, err := o.request(a)
	if err != nil {
		return err
	}
	req.Text, req.Limit, req.PerSession, req.Flat = o.query, o.limit.limit(), o.perSession.limit(), o.flat
	req.AllWords = o.allWords
	req.Sort, req.Explain, req.Before, req.After = order, o.explain, before, after
	if strings.TrimSpace(o.query) == "" {
		return emptyQuery()
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	req.Resume = p.agents.ResumeCommand
	var res *query.Response
	x, err := o.ask(ctx, a, p, func(ctx context.Context, r *index.Reader) (err error) {
		start := a.Now()
		if res, err = query.Search(ctx, r, p.agents, disk{}, req); err != nil {
			return searchProblem(ctx, err)
		}
		a.logger().Debug("searched", "took", a.Now().Sub(start).String(), "hits", res.TotalAny)
		return nil
	})
	if err != nil {
		return err
	}
	defer x.Close()

	x.report(a, &res.Index, res.Warnings)

	o.mask(res)
	answer := &printer.Search{
		Query: o.query, AllWords: o.allWords, Flat: o.flat, Response: res,
		Title: titles(x.reader.Summaries(), o.redact), ShortID: sessions.ShortIDs(x.reader.Summaries()),
	}
	if len(req.Kinds) == 0 {
		answer.Scope = string(scopeOf(req.Spec))
	}
	if err := a.pagedIfLong(&o.pagerOptions, out, answer); err != nil {
		return err
	}
	why := suggestion{res.TotalAny > 0, res.DidYouMean, res.Words, res.Removed}
	if !a.json && a.suggestCommand(o.query, res) {
		why.didYouMean, why.words = "", nil // one suggestion is enough
	}
	switch {
	case len(res.Hits) > 0:
		o.suggest(a, why)
		return nil
	case res.Index.Complete && res.Unreadable == 0:
		if a.Streams.ErrTTY && !a.json && res.Index.Files > 0 { // otherwise a warning says that there are none
			where := ""
			if len(res.Removed) == 0 { // otherwise the filters are the reason
				where = " in " + whereSearched(req, res.Index.Files)
			}
			a.warn("nothing found%s", where)
		}
		o.suggest(a, why)
		return errNothingFound
	}
	o.suggest(a, why)
	a.warnIncomplete(x.missing.Files, len(x.errors), res.Unreadable)
	return errIncomplete
}

// suggestCommand warns if the first word of a query looks like a mistyped command and
// occurs nowhere, whatever the filters, and reports whether it does.
func (a *App) suggestCommand(text string, res *query.Response) bool {
	word, rest, _ := strings.Cut(text, " ")
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
	a.warn("%s is not a command and was searched as text; did you mean: pigrep %s", word, strings.TrimSpace(found[0]+" "+rest))
	return true
}

// suggestion is what an answer without a full hit says about its query.
type suggestion struct {
	partial    bool // there are hits with some of the words
	didYouMean string
	words      []query.WordCount
	removed    []query.Removed
}

// suggest says why no hit has all words, and prints alternatives to the query. JSON has
// them in the answer.
func (o *sharedOptions) suggest(a *App, s suggestion) {
	if a.json {
		return
	}
	if why := query.ExplainWords(s.words, s.removed, o.without); why != "" {
		a.warn("%s", why)
	}
	if s.didYouMean != "" {
		a.warn("did you mean: %s", s.didYouMean)
	}
	if len(s.removed) > 0 {
		there, all := "there are %d hits%s %s", ""
		if s.removed[0].Hits == 1 {
			there = "there is %d hit%s %s"
		}
		if s.partial {
			all = " with every word"
		}
		text := fmt.Sprintf(there, s.removed[0].Hits, all, o.without(s.removed[0].Filter))
		for _, r := range s.removed[1:] {
			text += fmt.Sprintf(", %d %s", r.Hits, o.without(r.Filter))
		}
		a.warn("%s", text)
	}
}

// without names a filter that could be dropped, as it is written on the command line.
func (o *sharedOptions) without(filter string) string {
	switch {
	case filter == "cwd" && o.here:
		return "without --here"
	case filter == query.FilterSearches:
		return "without --no-searches"
	}
	return query.Without(filter)
}

// scopeOf returns the scope of a filter, or the default.
func scopeOf(r filter.Spec) scope.Scope {
	if r.Scope == "" {
		return scope.Default
	}
	return r.Scope
}

func emptyQuery() error {
	return &problem{code: codeQuery, message: "the query is empty", hint: "type words to search for, for example: pigrep connection timeout"}
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
		return &problem{code: codeQuery, message: e.Reason, hint: hint}
	}
	return indexProblem(err)
}

// titles returns a function from session paths to titles.
func titles(sessions []session.Summary, redact bool) func(string) string {
	return func(path string) string {
		i := slices.IndexFunc(sessions, func(s session.Summary) bool { return s.Path == path })
		if i < 0 {
			return ""
		}
		s := query.Describe(&sessions[i], nil)
		if redact {
			s.Redact()
		}
		return s.Title
	}
}

// whereSearched describes the text that was searched.
func whereSearched(r query.Request, files int) string {
	what := fmt.Sprintf("the %s of %d session files", scopeOf(r.Spec), files)
	switch {
	case len(r.Kinds) > 0:
		what = fmt.Sprintf("the selected kinds of text in %d session files", files)
	case scopeOf(r.Spec) == scope.All:
		what = fmt.Sprintf("all text of %d session files", files)
	case slices.Contains(scope.Scopes, scopeOf(r.Spec)):
		what += "; --scope all searches everything"
	}
	return what
}
