package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/literal"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/output"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

type grepOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal format no-searches own"`
	flags.Around
	Regexp []string

	FixedStrings, IgnoreCase, CaseSensitive, SmartCase               bool
	WordRegexp, Multiline                                            bool
	FilesWithMatches, Count, OnlyMatching, Vimgrep, LineNumber, Null bool
	MaxCount, Limit, MaxColumns                                      flags.Number
	Sort                                                             string
	Heading, NoHeading, WithFilename                                 bool
	NoIndex                                                          bool
}

func (o *grepOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	for _, habit := range []string{"recursive r", "dereference-recursive R", "extended-regexp E", "text a"} { // of other search tools
		name, short, _ := strings.Cut(habit, " ")
		flags.AddHidden(f, name, short, "for habit: it changes nothing", new(bool))
	}
	flags.Words(cmd, "sort", orderNames())
	cmd.SetFlagErrorFunc(grepFlagProblem)
}

// grepFlagProblem is like flagProblem for grep, whose patterns may begin with a dash, and which is called
// with flags of other search tools.
func grepFlagProblem(cmd *cobra.Command, err error) error {
	unknown, _ := errors.AsType[*pflag.NotExistError](err)
	err = flagProblem(cmd, err)
	if p, ok := errors.AsType[*problem.Error](err); ok && unknown != nil {
		p.Hint = cmp.Or(insteadOf(unknown.GetSpecifiedName()), "to search for it, put -e before it; "+p.Hint)
	}
	return err
}

func orderNames() []string {
	return lists.Map(grep.Orders, func(o grep.Order) string { return string(o) })
}

// insteadOf returns a hint for a flag of another search tool, or "" for unknown flags.
func insteadOf(flag string) string {
	for _, f := range []struct{ name, short, instead string }{
		{"invert-match", "v", "for the other lines: pigrep grep . | grep -v PATTERN"},
		{"pcre2", "P", "leave it out: patterns are RE2, without look-around and back references"},
		{"perl-regexp", "", "leave it out: patterns are RE2, without look-around and back references"},
		{"line-regexp", "x", "for whole lines: pigrep grep '^PATTERN$'"},
		{"glob", "g", "--session PATH searches one session, --exclude GLOB leaves paths out"},
		{"type", "t", "--kind, --role and --tool narrow it to what is meant"},
		{"files-without-match", "L", "for all sessions: pigrep sessions --limit 0"},
		{"max-depth", "d", "--session, --project and --cwd narrow it to what is meant"},
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

func (o *grepOptions) mode() (printer.GrepMode, error) {
	mode, given := printer.GrepLines, ""
	for _, m := range []struct {
		set  bool
		name string
		mode printer.GrepMode
	}{
		{o.OnlyMatching, "--only-matching", printer.GrepOnly}, {o.Vimgrep, "--vimgrep", printer.GrepVim},
		{o.Count, "--count", printer.GrepCounts}, {o.FilesWithMatches || o.Null, "--files-with-matches", printer.GrepFiles},
	} {
		if m.set {
			mode, given = m.mode, m.name
		}
	}
	switch {
	case given != "" && (o.JSON || o.JSONL):
		return mode, problem.Usagef("JSON already contains lines, matches and counts", "%s and JSON output cannot be combined", given)
	case given != "" && mode != printer.GrepOnly && o.Format != "":
		return mode, problem.Usagef("", "%s and --format cannot be combined", given)
	case given != "" && o.MaxColumns.N > 0:
		return mode, problem.Usagef("", "%s and --max-columns cannot be combined", given)
	case o.Count && o.Limit.N > 0:
		return mode, problem.Usagef("", "--count and --limit cannot be combined")
	}
	return mode, nil
}

func (o *grepOptions) request(a *app.App, mode printer.GrepMode) (grep.Request, error) {
	filters, err := o.Shared.Request(a)
	if err != nil {
		return grep.Request{}, err
	}
	r := grep.Request{
		Spec: filters.Spec, Redact: filters.Redact, Patterns: o.Regexp, Fixed: o.FixedStrings, Word: o.WordRegexp, Multiline: o.Multiline,
		Idle: func() { _ = a.Out.Flush() },
	}
	switch {
	case o.CaseSensitive:
		r.Case = literal.CaseSensitive
	case o.IgnoreCase && !o.SmartCase:
		r.Case = literal.IgnoreCase
	}
	r.Before, r.After = o.Around.Numbers()
	r.MaxCount, r.Limit, r.MaxColumns, r.Order = o.MaxCount.N, o.Limit.N, o.MaxColumns.N, grep.Order(o.Sort)
	if o.Sort != "" && !slices.Contains(grep.Orders, r.Order) {
		return r, problem.Usagef("use "+strings.Join(orderNames(), ", "), "--sort: unknown order %q", o.Sort)
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
	if len(o.Regexp) == 0 {
		return r, &problem.Error{Code: problem.CodeQuery, Message: "no pattern given", Hint: "usage: pigrep grep PATTERN"}
	}
	return r, nil
}

func runGrep(ctx context.Context, a *app.App, o *grepOptions, args []string) error {
	if len(args) > 0 && len(o.Regexp) > 0 {
		return problem.Usagef("to search one session: --session PATH", "with -e, every pattern needs -e: %q", args[0])
	}
	if len(args) > 0 {
		o.Regexp = []string{strings.Join(args, " ")}
	}
	o.warnOfNumber(a, args)
	mode, err := o.mode()
	if err != nil {
		return err
	}
	p, err := o.Printer(a)
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
	if o.Vimgrep && o.NoIndex {
		return problem.Usagef("", "--vimgrep and --no-index cannot be combined")
	}
	if o.Heading && o.NoHeading {
		return problem.Usagef("", "--heading and --no-heading cannot be combined")
	}
	where, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	if o.Vimgrep && where.Hosts != nil {
		return problem.Usagef("", "--vimgrep needs the files of this machine: leave out --on and --from")
	}
	x, err := snapshot.OpenFiles(ctx, where, o.NoIndex)
	if err != nil {
		return err
	}
	defer x.Close()
	out := &printer.Grep{
		Mode: mode, Numbers: o.LineNumber, Paths: o.WithFilename, Heading: o.Heading || p.Format == printer.FormatText && !o.NoHeading && !o.WithFilename, Context: req.Before > 0 || req.After > 0, Patterns: o.Regexp,
	}
	said := asking.LeaveOutOwn(x, &o.Shared, &req.Spec, true)
	if !a.JSON {
		a.WarnAll(said)
	}
	if len(req.Kinds) == 0 {
		out.Scope = string(scopeOf(req.Spec))
	}
	if x.Reader != nil {
		title, names := snapshot.Titles(x.Reader, o.Redact), sessions.NamesOf(x.Reader)
		out.Session = func(m *grep.Match) (string, string) {
			return cmp.Or(m.Title, title(m.SessionPath)), cmp.Or(m.ShortID, names.Short(m.SessionID, m.SessionPath))
		}
		x.Know(&p.Layout)
	}
	sum := &grep.Summary{}
	out.Each = func(visit func(*grep.Match) error) (err error) {
		if o.Vimgrep {
			visit = (&readable{x: x, redact: o.Redact}).matches(ctx, visit)
		}
		sum, err = searchFiles(ctx, x, req, visit)
		return err
	}
	out.End = func() (*grep.Summary, search.About) {
		return sum, search.About{Warnings: slices.Concat(x.Lacks, said), Index: x.State}
	}
	if o.Null {
		last := ""
		err = out.Each(func(m *grep.Match) error {
			if m.SessionPath == last {
				return nil
			}
			last = m.SessionPath
			return printer.Paths(a.Out, []string{last}, a.Streams.OutTTY)
		})
	} else {
		err = p.Print(out)
	}
	if err != nil {
		return err
	}
	return finishGrep(x, req, sum.Lines > 0)
}

// warnOfNumber warns that a number after -n, as in "foo -n 5", became part of the pattern.
func (o *grepOptions) warnOfNumber(a *app.App, args []string) {
	if len(args) < 2 || !o.LineNumber {
		return
	}
	if n, err := strconv.Atoi(args[len(args)-1]); err == nil {
		a.Warn("searching for %q: -n prints line numbers; for at most %d lines: --limit %d", strings.Join(args, " "), n, n)
	}
}

// searchFiles searches the session files, prints the first match at once, and completes the
// state of the snapshot with what could not be read.
func searchFiles(ctx context.Context, x *snapshot.Snapshot, req grep.Request, visit func(*grep.Match) error) (*grep.Summary, error) {
	a := x.App
	start, first := a.Now(), true
	found, err := x.Answers().Grep(ctx, req, func(m *grep.Match) error {
		if err := visit(m); err != nil || !first {
			return err
		}
		first = false
		return a.Out.Flush()
	})
	sum := &grep.Summary{}
	if found != nil {
		sum = &found.Summary
	}
	if err = x.Asked(err); err != nil {
		return sum, grepProblem(ctx, err)
	}
	if x.Hosts != nil {
		x.Lacks, x.State.Files = found.Warnings, found.Index.Files
		x.State.Complete = x.State.Complete && found.Index.Complete
		return sum, nil
	}
	a.Logger().Debug("searched", "took", a.Now().Sub(start).String(), "files", sum.Files, "lines", sum.Lines, "scanned", sum.Scanned)
	for _, e := range sum.Errors {
		x.Errors = append(x.Errors, indexer.FileError(e))
	}
	snapshot.WarnUnusable(a, x.Errors, x.Found)
	asking.WarnSkipped(a, sum.Skipped)
	x.Missing = indexer.Lag{} // was read from the files
	x.State.Complete = len(x.Errors)+len(x.Lacks) == 0
	return sum, nil
}

// finishGrep is like finish for grep, which names unknown filters.
func finishGrep(x *snapshot.Snapshot, req grep.Request, found bool) error {
	var failed error
	err := asking.Finish(x, found, 0, func() {
		if x.Hosts != nil {
			x.App.Explain("", "no line matches in %s", whereSearched(req.Spec, x.State.Files))
			return
		}
		if len(x.Found.Files) == 0 {
			snapshot.WarnNoFiles(x.Location)
			return
		}
		if x.Reader == nil || x.State.PendingFiles != x.Memory.Files {
			return // a new file may have it
		}
		unknown, err := search.Unknown(x.Reader, &req.Spec, nil)
		if err != nil {
			failed = problem.OfIndex(err)
		}
		x.App.WarnAll(unknown)
		if len(unknown) == 0 {
			x.App.Explain("", "no line matches in %s", whereSearched(req.Spec, len(x.Found.Files)))
		}
	})
	return cmp.Or(failed, err)
}

var tries = map[literal.Try]string{
	literal.TryFixed:     "to search for it literally, add -F",
	literal.TryMultiline: "to match across lines, add -U",
	literal.TrySmaller:   "repeat less: x{1000} needs a thousand states",
	literal.TryReplaced:  `for bytes that were not UTF-8 type \x{fffd}`,
}

func grepProblem(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*literal.PatternError](err); ok {
		return &problem.Error{Code: problem.CodeQuery, Message: e.Error(), Hint: tries[e.Try]}
	}
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return asking.Problem(ctx, e)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if system.IsClosedPipe(err) {
		return err
	}
	if errors.Is(err, index.ErrDamaged) {
		return &problem.Error{Code: problem.CodeDamaged, Err: err, Hint: "rebuild it with `pigrep index --rebuild`, or search without it: --no-index"}
	}
	return err
}

// Editors open the lines that grep --vimgrep names. Since a line of a session file is JSON,
// With --vimgrep, grep names the lines of a copy in the directory for temporary files. The copy has the text
// of each part, below a line that says what it is. It has the same name each time, and only
// its owner can read it.

// readable writes such copies.
type readable struct {
	x      *snapshot.Snapshot
	redact bool

	session string // the last one that was copied
	path    string // of its copy
	first   map[partOf]int
}

// partOf names a part of a session file. A readable maps it to the line before its text.
type partOf struct {
	offset int64
	part   int
}

// matches returns a visitor that passes each match on as lines of the copy of its session.
func (r *readable) matches(ctx context.Context, visit func(*grep.Match) error) func(*grep.Match) error {
	return func(m *grep.Match) error {
		if m.SessionPath != r.session {
			if err := r.copy(ctx, m.SessionPath); err != nil {
				return err
			}
		}
		before, ok := r.first[partOf{m.Offset, m.Part}]
		if !ok { // it was written after the copy
			return nil
		}
		for _, l := range m.Lines {
			line := *m
			line.SessionPath, line.Line, line.Lines = r.path, before+l.Number, []grep.Line{l}
			if err := visit(&line); err != nil {
				return err
			}
		}
		return nil
	}
}

func (r *readable) copy(ctx context.Context, path string) error {
	t, err := conversation.Open(r.x, path, "")
	if err != nil {
		return err
	}
	defer t.Close()
	t.Redact = r.redact
	r.session, r.first = path, make(map[partOf]int)
	r.path = filepath.Join(r.x.App.TempDir, "pigrep-"+exportName("", session.Handle(t.Record.ID, path))+".txt")
	out, err := output.FindOwn(r.path, true)
	if err != nil {
		return err
	}
	all := make([]int, len(t.Record.Nodes))
	for i := range all {
		all[i] = i
	}
	entries := conversation.ReadEntries(ctx, t, all, nil, entry.AllSteps)
	return output.Write(ctx, out, func(w io.Writer) error {
		lines := 0
		for e, err := range entries.All {
			if err != nil {
				return conversation.ReadProblem(ctx, err)
			}
			r.write(w, e, &lines)
		}
		return nil
	})
}

// write writes the parts of an entry, and counts their lines. w remembers its first error.
func (r *readable) write(w io.Writer, e *entry.Entry, lines *int) {
	for i := range e.Parts {
		p := &e.Parts[i]
		text := p.Text
		fmt.Fprintf(w, "── %s %s %s\n%s\n\n", p.Kind, e.ID, e.Time.Format(time.RFC3339), text)
		r.first[partOf{e.Offset, i}] = *lines + 1
		*lines += 3 + bytes.Count(text, []byte("\n"))
	}
}
