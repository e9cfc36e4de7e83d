package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/query/audit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

func newUsageCommand(a *app.App) *cobra.Command {
	return newAuditCommand(a, "usage", noArgs, runUsage, func(o *auditOptions, cmd *cobra.Command) {
		o.addBy(cmd, byNames("tool"), "model")
		flags.Add(cmd.Flags(), "prices", "", "FILE", "dollars per million tokens of models without a price", &o.prices)
		flags.Add(cmd.Flags(), "tree", "", "", "count subagents with the session that started them, by session unless --by says else", &o.tree)
		o.addChart(cmd)
	}, "tool", "error")
}

func runUsage(ctx context.Context, a *app.App, o *auditOptions) error {
	if slices.Contains(strings.Split(strings.Join(o.by, ","), ","), "tool") {
		return problem.Usagef("`pigrep tools` counts tool calls", "--by tool: tokens are used by replies, not by tools")
	}
	if o.tree && len(o.by) == 0 {
		o.by = []string{"session"}
	}
	prices, err := o.readPrices(a)
	if err != nil {
		return err
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		run.req.Prices, run.req.Tree = prices, o.tree
		t, err := audit.Usage(ctx, run.reader, run.req)
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
			if days, err = audit.Usage(ctx, run.reader, req); err != nil {
				return nil, err
			}
		}
		return printer.NewUsageAudit(t, days, o.limit.N, run.out.Layout), nil
	})
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
