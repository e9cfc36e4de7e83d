package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pigrep/query/audit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/printer"
)

func newToolsCommand(a *app.App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "tools",
		Short: "Audit tools: calls, commands, files",
		Long: `Count the calls of each tool: failures, durations, output size. Calls copied by
a fork or clone count once, in the session where they first appeared. Nested
calls count for their own tool; commands typed by the user count as the tool
"!".

"tools calls" lists calls, "tools commands" counts shell commands or lists risky
ones, and "tools files" lists the files that were touched.`,
		Example: `pigrep tools
pigrep tools --by day --since 2w
pigrep tools --by project,tool --csv`,
		Args: noArgs,
	}, runTools)
	o.addBy(cmd, audit.Dimensions, "tool")
	flags.Add(cmd.Flags(), "failed", "", "", "only failed calls; same as --error", &o.failed)
	o.addChart(cmd)
	o.addAudit(cmd)
	cmd.AddCommand(newCallsCommand(a), newCommandsCommand(a), newFilesCommand(a))
	return cmd
}

func runTools(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Tools(ctx, run.reader, run.agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		var days *audit.ToolTable
		if run.takesTrend(t.By) {
			req := run.req
			req.By = append([]string{"day"}, t.By...)
			if days, err = audit.Tools(ctx, run.reader, run.agents, location.Disk{}, req); err != nil {
				return nil, err
			}
		}
		return printer.NewToolsAudit(t, days, o.limit.N, run.out.Layout), nil
	})
}
