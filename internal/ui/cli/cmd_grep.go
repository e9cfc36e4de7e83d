package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/grep"
	"pigrep/query/literal"
	"pigrep/query/sessions"
)

type grepOptions struct {
	sharedOptions
	patterns []string

	fixed, ignoreCase, caseSensitive, smartCase bool
	word, multiline                             bool
	files, count, only, vimgrep, numbers        bool
	maxCount, limit, maxColumns                 number
	sort                                        string
	around                                      aroundOptions
	heading, noHeading                          bool
	noIndex                                     bool
}

func (o *grepOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "regexp", "e", "PATTERN", "a pattern; repeat it to match any of several", &o.patterns)
	addFlag(f, "fixed-strings", "F", "", "patterns are literal text, not regular expressions", &o.fixed)
	addFlag(f, "ignore-case", "i", "", "ignore case", &o.ignoreCase)
	addFlag(f, "case-sensitive", "s", "", "match case exactly", &o.caseSensitive)
	addFlag(f, "smart-case", "S", "", "match case only if a pattern has an upper-case letter (default)", &o.smartCase)
	addFlag(f, "word-regexp", "w", "", "match whole words only", &o.word)
	addFlag(f, "multiline", "U", "", "let matches span lines", &o.multiline)
	addFlag(f, "files-with-matches", "l", "", "print only the session files with a match", &o.files)
	addFlag(f, "count", "c", "", "print only the number of matching lines per session file", &o.count)
	addFlag(f, "only-matching", "o", "", "print only the matching text, one match per line", &o.only)
	addFlag(f, "vimgrep", "", "", "print sessionPath:line:column:text for each match", &o.vimgrep)
	addFlag(f, "line-number", "n", "", "print line numbers within a part; always on in a terminal", &o.numbers)
	addFlag(f, "heading", "", "", "print title and id above the lines of each session; default in a terminal", &o.heading)
	addFlag(f, "no-heading", "", "", "print the path of the session on each line; default in a pipe", &o.noHeading)
	addFlag(f, "max-count", "m", "N", "print at most N lines per session file; 0 for all (default)", &o.maxCount)
	addFlag(f, "limit", "", "N", "print at most N lines in all; 0 for all (default)", &o.limit)
	addFlag(f, "max-columns", "M", "N", "print about N bytes of a longer line, around its first match; 0 for all (default)", &o.maxColumns)
	addFlag(f, "sort", "", "ORDER", "search session files in this order: path (default), newest or oldest message first", &o.sort)
	o.around.addFlags(f, "show N lines before each match", "show N lines after each match", "show N lines before and after each match")
	addFlag(f, "no-index", "", "", "read all session files; neither use nor update the index", &o.noIndex)
	// It fails only for an undefined flag.
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(orderNames(), cobra.ShellCompDirectiveNoFileComp))
	o.addNoSearches(f)
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput})
}

func orderNames() []string {
	var names []string
	for _, o := range grep.Orders {
		names = append(names, string(o))
	}
	return names
}

func newGrepCommand(a *App) *cobra.Command {
	o := &grepOptions{}
	cmd := &cobra.Command{
		Use:   "grep PATTERN...",
		Short: "Find every line that matches a regular expression",
		Long: `Find every line of past conversations that matches a regular expression (RE2),
in file order. The answer is exact and complete.

The index only narrows the search: text that is not indexed yet is read. Lines
are lines of the conversation, not of the session file. The arguments are joined
with spaces; use -e for several patterns. Flags work as in ripgrep, with smart
case.`,
		Example: `pigrep grep 'time(d)?out after \d+'
pigrep grep -F 'a[i] = b->c'
pigrep grep -w --kind call rm
pigrep grep -l --here TODO
pigrep grep -C2 --since 1w panic:
pigrep grep -e ENOENT -e EACCES -c`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && len(o.patterns) > 0 {
				return usagef("to search one session: --session PATH", "with -e, every pattern needs -e: %q", args[0])
			}
			if len(args) > 0 {
				o.patterns = []string{strings.Join(args, " ")}
			}
			return runGrep(cmd.Context(), a, o)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		unknown, _ := errors.AsType[*pflag.NotExistError](err)
		err = flagProblem(cmd, err)
		if p, ok := errors.AsType[*problem](err); ok && unknown != nil {
			p.hint = "to search for it, put -e before it; " + p.hint
			if instead := insteadOf(unknown.GetSpecifiedName()); instead != "" {
				p.hint = instead
			}
		}
		return err
	})
	o.addFlags(cmd)
	return cmd
}

// insteadOf returns what to type in place of a flag of another search tool; "" for
// unknown flags.
func insteadOf(flag string) string {
	for _, f := range []struct{ name, short, instead string }{
		{"invert-match", "v", "for the other lines: pigrep grep . | grep -v PATTERN"},
		{"extended-regexp", "E", "leave it out: patterns are regular expressions (RE2)"},
		{"pcre2", "P", "leave it out: patterns are RE2, without look-around and back references"},
		{"perl-regexp", "", "leave it out: patterns are RE2, without look-around and back references"},
		{"line-regexp", "x", "for whole lines: pigrep grep '^PATTERN$'"},
		{"recursive", "r", "leave it out: all session files are searched; --here, --project and --session narrow it"},
		{"glob", "g", "--session PATH searches one session, --exclude GLOB leaves paths out"},
		{"type", "t", "--kind, --role and --tool narrow it to what is meant"},
		{"files-without-match", "L", "for all sessions: pigrep sessions --limit 0"},
		{"max-depth", "d", "--session, --project and --cwd narrow it to what is meant"},
		{"text", "a", "leave it out: all text is searched"},
		{"with-filename", "H", "leave it out: each line comes with its path; --json has all of it"},
		{"no-filename", "I", "--jsonl has the text alone, in lines.text"},
		{"quiet", "q", "the exit code says it: pigrep grep -l PATTERN >/dev/null"},
		{"no-line-number", "N", "leave it out: in a pipe there are numbers with -n only"},
	} {
		if flag == f.name || f.short != "" && flag == f.short {
			return f.instead
		}
	}
	return ""
}

// mode returns what is printed for each match.
func (o *grepOptions) mode() (printer.GrepMode, error) {
	mode, given := printer.GrepLines, ""
	for _, m := range []struct {
		set  bool
		name string
		mode printer.GrepMode
	}{
		{o.only, "--only-matching", printer.GrepOnly}, {o.vimgrep, "--vimgrep", printer.GrepVim},
		{o.count, "--count", printer.GrepCounts}, {o.files, "--files-with-matches", printer.GrepFiles},
	} {
		if m.set {
			mode, given = m.mode, m.name
		}
	}
	switch {
	case given != "" && (o.json || o.jsonl):
		return mode, usagef("JSON already contains lines, matches and counts", "%s and JSON output cannot be combined", given)
	case given != "" && o.maxColumns.n > 0:
		return mode, usagef("", "%s and --max-columns cannot be combined", given)
	case o.count && o.limit.n > 0:
		return mode, usagef("", "--count and --limit cannot be combined")
	}
	return mode, nil
}

// request turns the flags into a request.
func (o *grepOptions) request(a *App, mode printer.GrepMode) (grep.Request, error) {
	filters, err := o.sharedOptions.request(a)
	if err != nil {
		return grep.Request{}, err
	}
	r := grep.Request{
		Spec: filters.Spec, Redact: filters.Redact, Patterns: o.patterns, Fixed: o.fixed, Word: o.word, Multiline: o.multiline,
		Idle: func() { _ = a.out.Flush() },
	}
	switch {
	case o.caseSensitive:
		r.Case = literal.CaseSensitive
	case o.ignoreCase && !o.smartCase:
		r.Case = literal.IgnoreCase
	}
	r.Before, r.After = o.around.numbers()
	r.MaxCount, r.Limit, r.MaxColumns, r.Order = o.maxCount.n, o.limit.n, o.maxColumns.n, grep.Order(o.sort)
	if o.sort != "" && !slices.Contains(grep.Orders, r.Order) {
		return r, usagef("use "+strings.Join(orderNames(), ", "), "--sort: unknown order %q", o.sort)
	}
	switch mode {
	case printer.GrepLines:
	case printer.GrepFiles:
		r.MaxCount, r.Brief = 1, true
	case printer.GrepCounts:
		r.Brief = true
	default:
		r.Before, r.After = 0, 0
	}
	if len(o.patterns) == 0 {
		return r, &problem{code: codeQuery, message: "no pattern given", hint: "usage: pigrep grep PATTERN"}
	}
	return r, nil
}

func runGrep(ctx context.Context, a *App, o *grepOptions) error {
	mode, err := o.mode()
	if err != nil {
		return err
	}
	p, err := o.printer(a)
	if err != nil {
		return err
	}
	req, err := o.request(a, mode)
	if err != nil {
		return err
	}
	if err := req.Check(); err != nil { // before the first byte of the answer
		return grepProblem(ctx, err)
	}
	if o.heading && o.noHeading {
		return usagef("", "--heading and --no-heading cannot be combined")
	}
	where, err := o.locate(a)
	if err != nil {
		return err
	}
	out := &printer.Grep{
		Mode: mode, Numbers: o.numbers, Heading: o.heading || p.Format == printer.FormatText && !o.noHeading, Context: req.Before > 0 || req.After > 0, Patterns: o.patterns,
	}
	if len(req.Kinds) == 0 {
		out.Scope = string(scopeOf(req.Spec))
	}
	known, err := o.known(ctx, a, where)
	if err != nil {
		return err
	}
	if known.reader != nil {
		defer known.reader.Close()
		out.Session = headings(known.reader.Summaries(), o.redact)
	}

	var sum *grep.Summary
	out.Each = func(visit func(*grep.Match) error) (err error) {
		start, first := a.Now(), true
		sum, err = grep.Run(ctx, grep.Input{Reader: known.reader, Adapter: where.agents, Source: disk{}, Files: known.files()}, req, func(m *grep.Match) error {
			if err := visit(m); err != nil || !first {
				return err
			}
			first = false
			return a.out.Flush()
		})
		if err != nil {
			return grepProblem(ctx, err)
		}
		a.logger().Debug("searched", "took", a.Now().Sub(start).String(), "files", sum.Files, "lines", sum.Lines, "scanned", sum.Scanned)
		for _, e := range sum.Errors {
			known.errors = append(known.errors, indexer.FileError(e))
		}
		a.warnUnusable(known.errors)
		a.warnOutside(known.found)
		known.state.Complete = len(known.errors) == 0
		return nil
	}
	out.End = func() (*grep.Summary, query.IndexState) { return sum, known.state }
	if err := p.Print(out); err != nil {
		return err
	}
	switch {
	case sum.Lines > 0:
		return nil
	case len(known.errors) == 0:
		if len(known.found.Files) == 0 {
			a.warnNoFiles(where)
		} else if known.reader != nil && known.state.PendingFiles == known.memory.Files { // otherwise a new file may have it
			unknown, err := query.Unknown(known.reader, &req.Spec, nil)
			if err != nil {
				return indexProblem(err)
			}
			for _, w := range unknown {
				a.warn("%s", w)
			}
		}
		return errNothingFound
	}
	a.warnIncomplete(0, len(known.errors), 0)
	return errIncomplete
}

// headings returns the function for the titles and short ids of sessions.
func headings(list []session.Summary, redact bool) func(*grep.Match) (title, id string) {
	title, short := titles(list, redact), sessions.ShortIDs(list)
	return func(m *grep.Match) (string, string) {
		return title(m.SessionPath), short(session.Handle(m.SessionID, m.SessionPath))
	}
}

// tries are the hints for patterns that are not accepted.
var tries = map[literal.Try]string{
	literal.TryFixed:     "to search for it literally, add -F",
	literal.TryMultiline: "to match across lines, add -U",
}

// grepProblem explains an error of the search.
func grepProblem(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*literal.PatternError](err); ok {
		return &problem{code: codeQuery, message: e.Error(), hint: tries[e.Try]}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if isClosedPipe(err) {
		return err
	}
	if errors.Is(err, index.ErrDamaged) {
		return &problem{code: codeDamaged, err: err, hint: "rebuild it with `pigrep index --rebuild`, or search without it: --no-index"}
	}
	return err
}
