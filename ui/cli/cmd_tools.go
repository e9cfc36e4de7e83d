package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/indexer"
	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/internal/shellcmd"
	"pigrep/query/audit"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/output"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

// auditOptions are the shared flags of the audit commands.
type auditOptions struct {
	flags.Shared
	pager.Options
	query, prices, svg string
	by, rules, args    []string
	dimensions         []string // that rows may be grouped by
	limit              flags.Number
	utc, csv, tree     bool
	failed, risky, raw bool
	rejected           bool
	bare               bool // --no-chart
	line, watch        bool // of usage
}

// auditOthers are the shared filters that do not apply to tool calls, which have no
// kind and no role.
var auditOthers = []string{"scope", "kind", "role"}

func (o *auditOptions) addAudit(cmd *cobra.Command, without ...string) {
	f := cmd.Flags()
	o.AddFormat(f, nil)
	o.AddFrom()
	o.AddOn()
	flags.Add(f, "limit", "n", "N", "show at most N rows; 0 for all (default)", &o.limit)
	flags.Add(f, "csv", "", "", "print comma-separated values for a spreadsheet", &o.csv)
	flags.Add(f, "utc", "", "", "use UTC instead of the local time zone", &o.utc)
	o.Options.AddFlags(f)
	o.Add(cmd, flags.SharedGroups, slices.Concat(auditOthers, without)...)
}

func (o *auditOptions) addBy(cmd *cobra.Command, dimensions []string, standard string) {
	o.dimensions = dimensions
	flags.AddWords(cmd, "by", "WHAT", "group rows by "+strings.Join(dimensions, ", ")+"; join several with commas (default "+standard+")", dimensions, &o.by)
}

func (o *auditOptions) addBars(cmd *cobra.Command) {
	flags.Add(cmd.Flags(), "no-chart", "", "", "no bars beside the numbers; there are none in a pipe", &o.bare)
}

func (o *auditOptions) addChart(cmd *cobra.Command) {
	o.addBars(cmd)
	flags.Add(cmd.Flags(), "svg", "", "FILE", "draw the rows in an SVG file instead of printing them; - is stdout", &o.svg)
}

func (o *auditOptions) addFailed(cmd *cobra.Command) {
	flags.Add(cmd.Flags(), "failed", "", "", "only failed calls; same as --error", &o.failed)
	flags.Add(cmd.Flags(), "rejected", "", "", "only calls that you did not let run; they did not fail", &o.rejected)
}

func (o *auditOptions) addRisk(cmd *cobra.Command) {
	o.addFailed(cmd)
	flags.AddWords(cmd, "rule", "RULE", "only calls that match this rule", ruleIDs(), &o.rules)
}

func ruleIDs() []string {
	return lists.Map(shellcmd.Rules(), func(r shellcmd.Rule) string { return r.ID })
}

// newAuditCommand returns one of the audit commands, with its own flags and the shared ones
// but some.
func newAuditCommand(a *app.App, use string, args cobra.PositionalArgs, run func(context.Context, *app.App, *auditOptions) error, addFlags func(*auditOptions, *cobra.Command), without ...string) *cobra.Command {
	o, cmd := &auditOptions{}, &cobra.Command{Use: use, Args: args, ValidArgsFunction: cobra.NoFileCompletions}
	help.Describe(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.query = strings.Join(args, " ")
		return run(cmd.Context(), a, o)
	}
	addFlags(o, cmd)
	o.addAudit(cmd, without...)
	return cmd
}

// auditRequest turns the flags into a request, given that of the shared flags.
func (o *auditOptions) auditRequest(a *app.App, base search.Request) (audit.Request, error) {
	req := audit.Request{Text: base.Text, Spec: base.Spec, Env: base.Env, Redact: base.Redact, Location: o.zone(a), Failed: o.failed, Rejected: o.rejected, Risky: o.risky, Rules: o.rules}
	req.Text, req.Limit = strings.TrimSpace(o.query), o.limit.N
	for _, value := range o.by {
		for by := range strings.SplitSeq(value, ",") {
			if by = strings.TrimSpace(by); !slices.Contains(o.dimensions, by) {
				return req, o.unknownGroup(by)
			}
			if !slices.Contains(req.By, by) {
				req.By = append(req.By, by)
			}
		}
	}
	for _, id := range o.rules {
		if !slices.Contains(ruleIDs(), id) {
			return req, problem.Usagef("use one of "+strings.Join(ruleIDs(), ", "), "--rule: unknown rule %q", id)
		}
	}
	for _, arg := range o.args {
		name, pattern, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return req, problem.Usagef("example: --arg path='^src/'", "--arg: %q is not NAME=PATTERN", arg)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return req, problem.Usagef("PATTERN is a regular expression (RE2)", "--arg: %v", err)
		}
		req.Args = append(req.Args, audit.ArgTest{Name: name, Match: re})
	}
	return req, nil
}

// unknownGroup is the error for a group that there is not, or not for what the command counts.
func (o *auditOptions) unknownGroup(by string) error {
	switch {
	case slices.Contains(audit.CallDimensions, by):
		return problem.Usagef("`pigrep tools` counts tool calls", "--by %s: tokens are used by replies, not by tools", by)
	case slices.Contains(audit.UsageDimensions, by):
		return problem.Usagef("`pigrep usage` counts tokens", "--by %s: only uses of tokens are in blocks", by)
	}
	return problem.Usagef("use one of "+strings.Join(o.dimensions, ", "), "--by: unknown group %q", by)
}

// zone returns the time zone that defines days.
func (o *auditOptions) zone(a *app.App) *time.Location {
	if o.utc {
		return time.UTC
	}
	return a.Zone()
}

// auditRun is the state of a running audit command.
type auditRun struct {
	*asking.Command
	req  audit.Request
	from remote.Answers // of the question
}

// takesTrend reports whether the answer needs the rows by day, too.
func (run *auditRun) takesTrend(by []string) bool {
	return run.Out.Format == printer.FormatText && run.Out.Layout.TakesTrend(by)
}

// prepare builds the request and says where the index is.
func (o *auditOptions) prepare(a *app.App) (*auditRun, error) {
	if o.csv && (o.JSON || o.JSONL || o.Format != "") {
		return nil, problem.Usagef("", "--csv and --json or --format cannot be combined")
	}
	if o.svg != "" && (o.csv || o.JSON || o.JSONL) {
		return nil, problem.Usagef("--svg prints no rows", "--svg and --csv, --json or --jsonl cannot be combined")
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return nil, err
	}
	q.Out.Layout.Now = q.Out.Layout.Now.In(o.zone(a))
	q.Out.Layout.Charts = a.Streams.OutTTY && !o.bare
	if o.csv {
		q.Out.Format = printer.FormatCSV
	}
	run := &auditRun{Command: q}
	run.req, err = o.auditRequest(a, q.Request)
	q.Question().Whole, q.Question().Facts = true, run.req.Text == "" // texts of calls are in their sessions
	return run, err
}

// addMissing adds what the snapshot does not have to the coverage of its answer.
func addMissing(x *snapshot.Snapshot, c *audit.Coverage) {
	if x.Missing.Files == 0 {
		return
	}
	for _, step := range indexer.Plan(indexer.Discover(x.Agents, x.Roots, x.Archive), x.Reader) {
		switch step.Change {
		case indexer.Unchanged, indexer.Touched, indexer.Unreadable:
		case indexer.New:
			c.New++
		case indexer.Gone:
			c.Vanished++
		default:
			c.Changed++
		}
	}
}

// finish prints the answer; the error says if it is empty.
func (o *auditOptions) finish(ctx context.Context, a *app.App, run *auditRun, x *printer.Audit) error {
	x.Verbose = o.Verbose
	if o.svg != "" {
		if err := o.draw(ctx, a, run, x); err != nil {
			return err
		}
	} else if err := pager.Show(a, &o.Options, run.Out, func() error { return run.Out.Print(x) }); err != nil {
		return flags.FormatProblem(err)
	}
	if x.Rows == 0 && run.Out.Format.Records() {
		if nothing, err := x.Nothing(run.Out.Layout.Now); err != nil {
			return err
		} else if nothing != "" {
			a.Warn("%s", nothing)
		}
	}
	if run.Out.Format.Records() { // stdout has only rows
		a.Warn("%s", printer.CoverageLine(&x.Coverage, run.Out.Layout.Now.Location(), x.Verbose))
	}
	if !a.JSON {
		a.WarnAll(x.Warnings)
	}
	return asking.Outcome(x.Rows > 0, x.Index.Complete)
}

// draw writes the answer as an SVG file. An answer without rows leaves the file alone.
func (o *auditOptions) draw(ctx context.Context, a *app.App, run *auditRun, x *printer.Audit) error {
	run.Out.Format = printer.FormatPlain // the chart takes the place of the rows
	c := x.Chart()
	if x.Rows = len(c.Labels); x.Rows == 0 {
		return nil
	}
	if o.svg == "-" {
		return c.Write(a.Out)
	}
	path := a.Absolute(o.svg)
	out, err := findPicture(path)
	if err != nil {
		return err
	}
	if err := output.Write(ctx, out, c.Write); err != nil {
		return err
	}
	a.Warn("wrote %s", path)
	return nil
}

// findPicture is findOutput for a picture, which may be drawn again. Any other file is left
// alone.
func findPicture(path string) (*files.Output, error) {
	out, err := files.FindOutput(path)
	if err != nil {
		return nil, output.Problem(err)
	}
	isPicture := strings.EqualFold(filepath.Ext(out.Path), ".svg")
	if out.Kind == files.File && !isPicture {
		return nil, problem.Usagef("choose a name that ends in .svg", "--svg: %s exists and is not overwritten", path)
	}
	return output.Find(path, isPicture)
}

func (o *auditOptions) answer(ctx context.Context, a *app.App, make func(context.Context, *auditRun) (*printer.Audit, error)) error {
	run, err := o.prepare(a)
	if err != nil {
		return err
	}
	answer, x, err := asking.Answer(ctx, run.Command, "counted", nil, func(ctx context.Context, from remote.Answers) (*printer.Audit, error) {
		asked := *run
		asked.from = from
		asking.Know(&run.Out.Layout, run.Location, asking.ReaderOf(from))
		return make(ctx, &asked)
	})
	if err != nil {
		return err
	}
	defer x.Close()
	addMissing(x, &answer.Coverage)
	x.Report(&answer.Index, nil)
	answer.Empty = func() (*printer.Empty, error) {
		if run.req.Since.IsZero() && run.req.Until.IsZero() {
			return nil, nil
		}
		whole := *run
		whole.from, whole.req.Since, whole.req.Until, whole.req.Limit = asking.From(x), time.Time{}, time.Time{}, 1
		all, err := make(ctx, &whole)
		if err != nil {
			return nil, asking.Problem(ctx, err)
		}
		last, err := all.LastUse()
		return &printer.Empty{Since: run.req.Since, Until: run.req.Until, Last: last}, err
	}
	if err := o.finish(ctx, a, run, answer); !errors.Is(err, problem.ErrNothingFound) || a.JSON {
		return err
	}
	why, err := search.Unknown(x.Reader, &run.req.Spec, nil)
	if err != nil {
		return problem.OfIndex(err)
	}
	a.WarnAll(append(why, asking.NoneBelow(&o.Shared, x.Reader.Summaries(), run.req.CWD)...))
	return problem.ErrNothingFound
}

func newToolsCommand(a *app.App) *cobra.Command {
	cmd := newAuditCommand(a, "tools", noArgs, runTools, func(o *auditOptions, cmd *cobra.Command) {
		o.addBy(cmd, audit.CallDimensions, "tool")
		o.addFailed(cmd)
		o.addChart(cmd)
	})
	calls := newAuditCommand(a, "calls [QUERY...]", nil, runCalls, func(o *auditOptions, cmd *cobra.Command) {
		flags.Add(cmd.Flags(), "arg", "", "NAME=PATTERN", "only calls whose argument NAME matches a regular expression", &o.args)
		flags.Add(cmd.Flags(), "risky", "", "", "only calls that match a risk rule", &o.risky)
		o.addRisk(cmd)
	})
	commands := newAuditCommand(a, "commands [QUERY...]", nil, runCommands, func(o *auditOptions, cmd *cobra.Command) {
		flags.Add(cmd.Flags(), "raw", "", "", "list commands as typed", &o.raw)
		flags.Add(cmd.Flags(), "risky", "", "", "list the calls that match a risk rule", &o.risky)
		o.addRisk(cmd)
		o.addBars(cmd)
	})
	cmd.AddCommand(calls, commands, newAuditCommand(a, "files [PATH]", onePath, runFiles, (*auditOptions).addFailed))
	return cmd
}

// onePath checks the arguments of commands that take at most a path.
func onePath(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usagef("quote a path that has spaces", "%s takes at most one path: %q", strings.TrimPrefix(cmd.CommandPath(), "pigrep "), args[1])
	}
	return nil
}

func runTools(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := remote.Tools.Ask(ctx, run.from, run.req)
		if err != nil {
			return nil, err
		}
		var days *audit.ToolTable
		if run.takesTrend(t.By) {
			req := run.req
			req.By = append([]string{"day"}, t.By...)
			if days, err = remote.Tools.Ask(ctx, run.from, req); err != nil {
				return nil, err
			}
		}
		return printer.NewToolsAudit(t, days, o.limit.N, run.Out.Layout), nil
	})
}

func runCalls(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answerCalls(ctx, a, "tools calls", o.Verbose)
}

// answerCalls lists calls, with the first lines of their results if the command shows them.
func (o *auditOptions) answerCalls(ctx context.Context, a *app.App, command string, results bool) error {
	return o.answer(ctx, a, func(answering context.Context, run *auditRun) (*printer.Audit, error) {
		ruled := o.risky || len(o.rules) > 0
		run.req.Commands, run.req.Results = o.raw && !ruled, results
		l, err := remote.Calls.Ask(answering, run.from, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCallsAudit(ctx, command, l, ruled, run.Out.Layout), nil
	})
}

func runCommands(ctx context.Context, a *app.App, o *auditOptions) error {
	switch {
	case o.risky || len(o.rules) > 0:
		return runRisky(ctx, a, o)
	case o.raw:
		return o.answerCalls(ctx, a, "tools commands", false)
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := remote.Commands.Ask(ctx, run.from, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCommandsAudit(t, o.limit.N, run.Out.Layout), nil
	})
}

// runRisky lists the commands that match rules. Its records are all calls that do.
func runRisky(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answer(ctx, a, func(answering context.Context, run *auditRun) (*printer.Audit, error) {
		if run.Out.Format == printer.FormatText {
			run.req.Limit = 0 // calls that are only counted are no rows
		}
		l, err := remote.Calls.Ask(answering, run.from, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewRiskyAudit(ctx, l, o.limit.N, run.Out.Layout), nil
	})
}

func runFiles(ctx context.Context, a *app.App, o *auditOptions) error {
	file := o.query
	o.query = ""
	if strings.HasPrefix(file, ".") || strings.HasPrefix(file, "~") || filepath.IsAbs(file) {
		file = filepath.ToSlash(a.Absolute(file))
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := remote.Files.Ask(ctx, run.from, remote.FilesRequest{Request: run.req, Name: file})
		if err != nil {
			return nil, err
		}
		return printer.NewFilesAudit(t, file != "", o.limit.N, run.Out.Layout), nil
	})
}

func newUsageCommand(a *app.App) *cobra.Command {
	return newAuditCommand(a, "usage", noArgs, runUsage, func(o *auditOptions, cmd *cobra.Command) {
		o.addBy(cmd, audit.UsageDimensions, "model")
		flags.Add(cmd.Flags(), "line", "", "", "print what today and this week cost on one line, for a status bar", &o.line)
		flags.Add(cmd.Flags(), "watch", "", "", "print the answer again when it changes, until interrupted", &o.watch)
		flags.Add(cmd.Flags(), "prices", "", "FILE", "dollars per million tokens of models without a price", &o.prices)
		flags.Add(cmd.Flags(), "tree", "", "", "count subagents with the session that started them, by session unless --by says else", &o.tree)
		o.addChart(cmd)
	}, "tool", "error")
}

func runUsage(ctx context.Context, a *app.App, o *auditOptions) error {
	if o.tree && len(o.by) == 0 {
		o.by = []string{"session"}
	}
	prices, err := o.readPrices(a)
	if err != nil {
		return err
	}
	once := o.usage
	if o.line {
		once = o.usageLine
	}
	if !o.watch {
		return once(ctx, a, prices)
	}
	if o.svg != "" {
		return problem.Usagef("", "--watch and --svg cannot be combined")
	}
	o.NoPager = true
	return again(ctx, a, func() error { return once(ctx, a, prices) })
}

// usage prints the table of tokens and cost.
func (o *auditOptions) usage(ctx context.Context, a *app.App, prices audit.Prices) error {
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		run.req.Prices, run.req.Tree = prices, o.tree
		t, err := remote.Usage.Ask(ctx, run.from, run.req)
		if err != nil {
			return nil, err
		}
		if t.TimeZone == system.UnnamedZone {
			t.TimeZone = a.Now().Format("UTC-07:00")
		}
		var days *audit.UsageTable
		if run.takesTrend(t.By) {
			req := run.req
			req.By = append([]string{"day"}, t.By...)
			if days, err = remote.Usage.Ask(ctx, run.from, req); err != nil {
				return nil, err
			}
		}
		var recent *audit.Recent
		if run.Out.Format == printer.FormatText || a.JSON {
			if recent, err = audit.RecentUsage(ctx, remote.Usage.Of(run.from), run.req, run.Out.Layout.Now); err != nil {
				return nil, err
			}
		}
		return printer.NewUsageAudit(t, days, recent, o.limit.N, run.Out.Layout), nil
	})
}

// usageLine prints what today and this week cost on one line.
func (o *auditOptions) usageLine(ctx context.Context, a *app.App, prices audit.Prices) error {
	run, err := o.prepare(a)
	if err != nil {
		return err
	}
	if o.JSON || o.JSONL || o.csv || o.Format != "" || o.svg != "" || len(o.by) > 0 || !run.req.Since.IsZero() || !run.req.Until.IsZero() {
		return problem.Usagef("for programs: pigrep usage --by day --since 1w --json", "--line has one form: what today and this week cost")
	}
	run.req.Prices = prices
	recent, x, err := asking.Answer(ctx, run.Command, "counted", nil, func(ctx context.Context, from remote.Answers) (*audit.Recent, error) {
		return audit.RecentUsage(ctx, remote.Usage.Of(from), run.req, run.Out.Layout.Now)
	})
	if err != nil {
		return err
	}
	defer x.Close()
	if lag := x.Lag(); lag != "" {
		a.Warn("%s", lag)
	}
	_, err = fmt.Fprintln(a.Out, printer.RecentLine(recent, "week"))
	return err
}

// lookEvery is how often a command that is repeated looks for changes.
const lookEvery = 2 * time.Second

// again prints an answer whenever it is another one, until the user interrupts it: on a terminal in the
// place of the one before. Warnings are those of the first answer.
func again(ctx context.Context, a *app.App, answer func() error) error {
	out, last := a.Out, ""
	defer func() { a.Out = out }()
	for look := time.Tick(lookEvery); ; {
		var text bytes.Buffer
		a.Out = bufio.NewWriter(&text)
		err := answer()
		if err != nil && !errors.Is(err, problem.ErrNothingFound) && !errors.Is(err, problem.ErrIncomplete) && ctx.Err() == nil {
			return err
		}
		_ = a.Out.Flush() // a buffer takes everything
		if ctx.Err() == nil && text.String() != last {
			last = text.String()
			if a.Streams.OutTTY {
				fmt.Fprint(out, clearScreen)
			}
			fmt.Fprint(out, last)
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if a.Afterwards != nil && ctx.Err() == nil {
			if err := a.Afterwards(ctx); err != nil {
				return err
			}
			a.Afterwards = nil
		}
		a.Quiet = true
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-look:
		}
	}
}

// clearScreen moves the cursor to the first cell of the terminal and clears all cells.
const clearScreen = "\x1b[H\x1b[2J"

// interrupted is the outcome of a command that runs until it is interrupted: a service manager ends it
// without an error.
func interrupted(ctx context.Context) error {
	if context.Cause(ctx) == problem.ErrTerminated {
		return nil
	}
	return problem.ErrLeft
}

// readPrices reads the file of --prices, nil without one.
func (o *auditOptions) readPrices(a *app.App) (audit.Prices, error) {
	if o.prices == "" {
		return nil, nil
	}
	path := a.Absolute(o.prices)
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Usagef("a file of prices: `pigrep usage --help`", "--prices: %v", err)
	}
	defer f.Close()
	prices, err := audit.ReadPrices(f)
	if e, ok := errors.AsType[*audit.PriceError](err); ok {
		return nil, problem.Usagef("a line is: "+strings.Join(audit.PriceFields, " ")+", in dollars per million tokens", "--prices: %s:%d: %s", path, e.Line, e.Problem)
	} else if err != nil {
		return nil, problem.Usagef("a file of prices: `pigrep usage --help`", "--prices: %v", err)
	}
	return prices, nil
}
