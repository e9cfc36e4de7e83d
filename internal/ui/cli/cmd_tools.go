package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pigrep/internal/ui/printer"
	"pigrep/query/audit"
)

func newToolsCommand(a *App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "tools",
		Short: "Audit what tools did: calls, commands, files",
		Long: `Count the calls of every tool: how many failed, how long they took, how much
they put out. A call that a fork or clone copied counts once, in the session
where it was first. Calls that a tool made itself count for their own tool;
commands of the person count for the tool "!".

"tools calls" lists the calls, "tools commands" counts what shell commands ran,
or lists the risky ones, and "tools files" the files that were touched.`,
		Example: `pigrep tools
pigrep tools --by day --since 2w
pigrep tools --by project,tool --csv`,
		Args: noArgs,
	}, runTools)
	o.addBy(cmd, audit.Dimensions, "tool")
	addFlag(cmd.Flags(), "failed", "", "", "only calls that failed; the same as --error", &o.failed)
	o.addAudit(cmd)
	cmd.AddCommand(newCallsCommand(a), newCommandsCommand(a), newFilesCommand(a))
	return cmd
}

func runTools(ctx context.Context, a *App, o *auditOptions) error {
	return o.answer(ctx, a, func(run *auditRun) (*printer.Audit, error) {
		t, err := audit.Tools(ctx, run.reader, run.agents, disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewToolsAudit(t, o.limit.n, run.out.Look), nil
	})
}
