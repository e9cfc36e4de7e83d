package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/ui/printer"
	"pigrep/query/audit"
)

func newUsageCommand(a *App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "usage",
		Short: "Show tokens and cost by day, model, project or session",
		Long: `Show the tokens and cost that sessions recorded for replies (including failed
ones), compactions, branch summaries, tool results and cache warming. Entries
copied by a fork or clone count once, in the session where they first appeared.
Costs are as recorded by pi.`,
		Example: `pigrep usage
pigrep usage --by month
pigrep usage --by day,model --since 2w --here
pigrep usage --by project --csv`,
		Args: noArgs,
	}, runUsage)
	o.addBy(cmd, byNames("tool"), "model")
	o.addAudit(cmd, "tool", "error")
	return cmd
}

func runUsage(ctx context.Context, a *App, o *auditOptions) error {
	if slices.Contains(strings.Split(strings.Join(o.by, ","), ","), "tool") {
		return usagef("`pigrep tools` counts tool calls", "--by tool: tokens are used by replies, not by tools")
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Usage(ctx, run.reader, run.req)
		if err != nil {
			return nil, err
		}
		if t.TimeZone == unnamedZone {
			t.TimeZone = a.Now().Format("UTC-07:00")
		}
		return printer.NewUsageAudit(t, o.limit.n, run.out.Look), nil
	})
}
