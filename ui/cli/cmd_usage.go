package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/query/audit"
	"pigrep/remote"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

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
