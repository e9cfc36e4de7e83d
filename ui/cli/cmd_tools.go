package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	"pigrep/internal/price"
	"pigrep/internal/shellcmd"
	"pigrep/query/audit"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/ui/chart"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/output"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

// auditOptions are the options of all audit commands; each has some of them.
type auditOptions struct {
	flags.Shared
	pager.Options
	query             string
	Prices, SVG, Sort string
	By, Rule, Arg     []string
	dimensions        []string // that rows may be grouped by
	Limit             flags.Number
	UTC, CSV, Tree    bool
	Risky, Raw        bool
	Rejected, NoChart bool
	Line, Watch       bool
}

func (o *auditOptions) AddFlags(cmd *cobra.Command) {
	takes := "filters files answer output from on wait reveal format -scope -kind -role" // calls of tools have no kind and no role
	switch o.dimensions = audit.CallDimensions; cmd.Name() {
	case "usage":
		o.dimensions, takes = audit.UsageDimensions, takes+" -tool -error"
	}
	o.Add(cmd, takes)
	flags.Words(cmd, "by", o.dimensions)
	flags.Words(cmd, "rule", ruleIDs())
}

func ruleIDs() []string {
	return lists.Map(shellcmd.Rules(), func(r shellcmd.Rule) string { return r.ID })
}

// auditRequest returns the request that the flags make; base comes from the shared flags.
func (o *auditOptions) auditRequest(a *app.App, base search.Request) (audit.Request, error) {
	req := audit.Request{Text: base.Text, Spec: base.Spec, Env: base.Env, Redact: base.Redact, Location: o.zone(a), Rejected: o.Rejected, Risky: o.Risky, Rules: o.Rule}
	req.Text, req.Limit = strings.TrimSpace(o.query), o.Limit.N
	for _, value := range o.By {
		for by := range strings.SplitSeq(value, ",") {
			if by = strings.TrimSpace(by); !slices.Contains(o.dimensions, by) {
				return req, o.unknownGroup(by)
			}
			if !slices.Contains(req.By, by) {
				req.By = append(req.By, by)
			}
		}
	}
	for _, id := range o.Rule {
		if !slices.Contains(ruleIDs(), id) {
			return req, problem.Usagef("use one of "+strings.Join(ruleIDs(), ", "), "--rule: unknown rule %q", id)
		}
	}
	for _, arg := range o.Arg {
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

// unknownGroup returns the error for a group that does not exist, or that the command cannot count by.
func (o *auditOptions) unknownGroup(by string) error {
	switch {
	case slices.Contains(audit.CallDimensions, by):
		return problem.Usagef("`pigrep tools` counts tool calls", "--by %s: tokens are used by replies, not by tools", by)
	case slices.Contains(audit.UsageDimensions, by):
		return problem.Usagef("`pigrep usage` counts tokens", "--by %s: only uses of tokens are in blocks", by)
	}
	return problem.Usagef("use one of "+strings.Join(o.dimensions, ", "), "--by: unknown group %q", by)
}

func (o *auditOptions) zone(a *app.App) *time.Location {
	if o.UTC {
		return time.UTC
	}
	return a.Zone()
}

type auditRun struct {
	*asking.Command
	req audit.Request
	of  remote.Answers // the question
}

// trend asks a question again by day, if its answer has room for a chart of that; nil: it has none.
func trend[T any](ctx context.Context, run *auditRun, kind remote.Kind[audit.Request, T], by []string) (*T, error) {
	if run.Out.Format != printer.FormatText || !run.Out.Layout.TakesTrend(by) {
		return nil, nil
	}
	req := run.req
	req.By = append([]string{"day"}, by...)
	return kind.Ask(ctx, run.of, req)
}

// prepare builds the request and says where the index is.
func (o *auditOptions) prepare(a *app.App) (*auditRun, error) {
	if o.CSV && (o.JSON || o.JSONL || o.Format != "") {
		return nil, problem.Usagef("", "--csv and --json or --format cannot be combined")
	}
	if o.SVG != "" && (o.CSV || o.JSON || o.JSONL) {
		return nil, problem.Usagef("--svg prints no rows", "--svg and --csv, --json or --jsonl cannot be combined")
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return nil, err
	}
	q.Out.Layout.Now = q.Out.Layout.Now.In(o.zone(a))
	q.Out.Layout.Charts = a.Streams.OutTTY && !o.NoChart
	if o.CSV {
		q.Out.Format = printer.FormatCSV
	}
	run := &auditRun{Command: q}
	run.req, err = o.auditRequest(a, q.Request)
	return run, err
}

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
	if o.SVG != "" {
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
	if o.SVG == "-" {
		return c.Write(a.Out)
	}
	path := a.Absolute(o.SVG)
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

// findPicture is like output.Find for a chart. It may replace a chart of pigrep, and no other file.
func findPicture(path string) (*files.Output, error) {
	out, err := files.FindOutput(path)
	if err != nil {
		return nil, output.Problem(err)
	}
	isChart := false
	if out.Kind == files.File {
		f, err := os.Open(out.Path)
		if err != nil {
			return nil, output.Problem(err)
		}
		begin := make([]byte, len(chart.Begin))
		_, err = io.ReadFull(f, begin)
		f.Close()
		if isChart = err == nil && string(begin) == chart.Begin; !isChart {
			return nil, problem.Usagef("choose another name", "--svg: %s exists and is not a chart of pigrep; it is not overwritten", path)
		}
	}
	return output.Find(path, isChart)
}

func (o *auditOptions) answer(ctx context.Context, a *app.App, make func(context.Context, *auditRun) (*printer.Audit, error)) error {
	run, err := o.prepare(a)
	if err != nil {
		return err
	}
	answer, x, err := asking.Answer(ctx, run.Command, "counted", nil, func(ctx context.Context, x *snapshot.Snapshot) (*printer.Audit, error) {
		asked := *run
		asked.of = x.Answers()
		x.Know(&run.Out.Layout)
		return make(ctx, &asked)
	})
	if err != nil {
		return err
	}
	defer x.Close()
	if o.Sort != "" {
		if columns, ok := answer.SortBy(o.Sort, o.Limit.N); !ok {
			return problem.Usagef("use one of "+strings.Join(columns, ", "), "--sort: no column is called %q", o.Sort)
		}
	}
	addMissing(x, &answer.Coverage)
	x.Report(&answer.Index, nil)
	answer.Empty = func() (*printer.Empty, error) {
		if run.req.Since.IsZero() && run.req.Until.IsZero() {
			return nil, nil
		}
		whole := *run
		whole.of, whole.req.Since, whole.req.Until, whole.req.Limit = x.Answers(), time.Time{}, time.Time{}, 1
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
	a.WarnAll(append(why, noneBelow(ctx, x, &o.Shared, run.req.CWD)...))
	return problem.ErrNothingFound
}

// rows returns how many rows are made: all if they are sorted first.
func (o *auditOptions) rows() int {
	if o.Sort != "" {
		return 0
	}
	return o.Limit.N
}

func newToolsCommand(a *app.App) *cobra.Command {
	cmd := of("tools", noArgs, nil, runTools)(a)
	cmd.AddCommand(of("calls [QUERY...]", nil, nil, runCalls)(a), of("commands [QUERY...]", nil, nil, runCommands)(a), of("files [PATH]", onePath, nil, runFiles)(a))
	return cmd
}

// onePath checks the arguments of commands that take at most a path.
func onePath(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usagef("quote a path that has spaces", "%s takes at most one path: %q", strings.TrimPrefix(cmd.CommandPath(), "pigrep "), args[1])
	}
	return nil
}

func runTools(ctx context.Context, a *app.App, o *auditOptions, _ []string) error {
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := run.of.Tools(ctx, run.req)
		if err != nil {
			return nil, err
		}
		days, err := trend(ctx, run, remote.Tools, t.By)
		if err != nil {
			return nil, err
		}
		return printer.NewToolsAudit(t, days, o.rows(), run.Out.Layout), nil
	})
}

func runCalls(ctx context.Context, a *app.App, o *auditOptions, args []string) error {
	o.query = strings.Join(args, " ")
	return o.answerCalls(ctx, a, "tools calls", o.Verbose)
}

// answerCalls lists calls, with the first lines of their results if the command shows them.
func (o *auditOptions) answerCalls(ctx context.Context, a *app.App, command string, results bool) error {
	return o.answer(ctx, a, func(answering context.Context, run *auditRun) (*printer.Audit, error) {
		ruled := o.Risky || len(o.Rule) > 0
		run.req.Commands, run.req.Results = o.Raw && !ruled, results
		l, err := run.of.Calls(answering, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCallsAudit(ctx, command, l, ruled, run.Out.Layout), nil
	})
}

// runCommands counts shell commands, or lists those that match rules: the records of these are all calls
// that do.
func runCommands(ctx context.Context, a *app.App, o *auditOptions, args []string) error {
	o.query = strings.Join(args, " ")
	ruled := o.Risky || len(o.Rule) > 0
	if o.Sort != "" && (o.Raw || ruled) {
		return problem.Usagef("without --raw, --risky and --rule, commands are counted", "--sort sorts counts, not calls")
	}
	if o.Raw && !ruled {
		return o.answerCalls(ctx, a, "tools commands", false)
	}
	return o.answer(ctx, a, func(answering context.Context, run *auditRun) (*printer.Audit, error) {
		if !ruled {
			t, err := run.of.Commands(answering, run.req)
			if err != nil {
				return nil, err
			}
			return printer.NewCommandsAudit(t, o.rows(), run.Out.Layout), nil
		}
		if run.Out.Format == printer.FormatText {
			run.req.Limit = 0 // calls that are only counted are not rows
		}
		l, err := run.of.Calls(answering, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewRiskyAudit(ctx, l, o.Limit.N, run.Out.Layout), nil
	})
}

func runFiles(ctx context.Context, a *app.App, o *auditOptions, args []string) error {
	file := strings.Join(args, "")
	if strings.HasPrefix(file, ".") || strings.HasPrefix(file, "~") || filepath.IsAbs(file) {
		file = filepath.ToSlash(a.Absolute(file))
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := run.of.Files(ctx, remote.FilesRequest{Request: run.req, Name: file})
		if err != nil {
			return nil, err
		}
		return printer.NewFilesAudit(t, file != "", o.rows(), run.Out.Layout), nil
	})
}

func runUsage(ctx context.Context, a *app.App, o *auditOptions, _ []string) error {
	if o.Tree && len(o.By) == 0 {
		o.By = []string{"session"}
	}
	prices, err := o.readPrices(a)
	if err != nil {
		return err
	}
	once := o.usage
	if o.Line {
		once = o.usageLine
	}
	if !o.Watch {
		return once(ctx, a, prices)
	}
	if o.SVG != "" {
		return problem.Usagef("", "--watch and --svg cannot be combined")
	}
	o.NoPager = true
	return printAgain(ctx, a, func() error { return once(ctx, a, prices) })
}

func (o *auditOptions) usage(ctx context.Context, a *app.App, prices price.List) error {
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		run.req.Prices, run.req.Tree = prices, o.Tree
		t, err := run.of.Usage(ctx, run.req)
		if err != nil {
			return nil, err
		}
		if t.TimeZone == system.UnnamedZone {
			t.TimeZone = a.Now().Format("UTC-07:00")
		}
		days, err := trend(ctx, run, remote.Usage, t.By)
		if err != nil {
			return nil, err
		}
		var recent *audit.Recent
		if run.Out.Format == printer.FormatText || a.JSON {
			if recent, err = audit.RecentUsage(ctx, run.of.Usage, run.req, run.Out.Layout.Now); err != nil {
				return nil, err
			}
		}
		answer := printer.NewUsageAudit(t, days, recent, o.rows(), run.Out.Layout)
		if run.Out.Format == printer.FormatText && run.Out.Layout.Charts && !slices.ContainsFunc(t.By, audit.IsPeriod) {
			req := run.req
			req.By, req.Tree, req.Rows = []string{"week"}, false, 0
			weeks, err := remote.Usage.Ask(ctx, run.of, req)
			if err != nil {
				return nil, err
			}
			answer.Picture = chart.Usage(weeks, run.Out.Layout.Home)
		}
		return answer, nil
	})
}

func (o *auditOptions) usageLine(ctx context.Context, a *app.App, prices price.List) error {
	run, err := o.prepare(a)
	if err != nil {
		return err
	}
	if o.JSON || o.JSONL || o.CSV || o.Format != "" || o.SVG != "" || len(o.By) > 0 || !run.req.Since.IsZero() || !run.req.Until.IsZero() {
		return problem.Usagef("for programs: pigrep usage --by day --since 1w --json", "--line has one form: what today and this week cost")
	}
	run.req.Prices = prices
	recent, x, err := asking.Answer(ctx, run.Command, "counted", nil, func(ctx context.Context, x *snapshot.Snapshot) (*audit.Recent, error) {
		return audit.RecentUsage(ctx, x.Answers().Usage, run.req, run.Out.Layout.Now)
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

const lookEvery = 2 * time.Second

// printAgain prints an answer each time it changes, until the user interrupts it. On a terminal it
// replaces the answer before. Only the first answer has warnings.
func printAgain(ctx context.Context, a *app.App, answer func() error) error {
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

// interrupted returns the outcome of a command that runs until it is interrupted: a service manager ends it
// without an error.
func interrupted(ctx context.Context) error {
	if context.Cause(ctx) == problem.ErrTerminated {
		return nil
	}
	return problem.ErrLeft
}

func (o *auditOptions) readPrices(a *app.App) (price.List, error) {
	if o.Prices == "" {
		return nil, nil
	}
	path := a.Absolute(o.Prices)
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Usagef("a file of prices: `pigrep usage --help`", "--prices: %v", err)
	}
	defer f.Close()
	prices, err := price.Read(f)
	if e, ok := errors.AsType[*price.Error](err); ok {
		return nil, problem.Usagef("a line is: "+strings.Join(price.Fields, " ")+", in dollars per million tokens", "--prices: %s:%d: %s", path, e.Line, e.Problem)
	} else if err != nil {
		return nil, problem.Usagef("a file of prices: `pigrep usage --help`", "--prices: %v", err)
	}
	return prices, nil
}
