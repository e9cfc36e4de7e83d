package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pigrep/internal/ui/printer"
	"pigrep/query/audit"
)

func newCommandsCommand(a *App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "commands [QUERY...]",
		Short: "Count shell commands, or list risky ones",
		Long: `Count the programs, with subcommands, that shell commands ran: commands of
tools, of nested calls, and of the user. Pipes, lists, substitutions, sh -c,
xargs, sudo and here-documents are followed.

--raw lists commands as typed. --risky lists the calls of any tool that a
reviewer should see first, with the rules they match:
` + ruleLines() + `.`,
		Example: `pigrep tools commands
pigrep tools commands --raw git push
pigrep tools commands --risky --since 1w
pigrep tools commands --rule credentials`,
	}, runCommands)
	addFlag(cmd.Flags(), "raw", "", "", "list commands as typed", &o.raw)
	addFlag(cmd.Flags(), "risky", "", "", "list the calls that match a risk rule", &o.risky)
	o.addRisk(cmd)
	o.addAudit(cmd)
	return cmd
}

func runCommands(ctx context.Context, a *App, o *auditOptions) error {
	if o.raw || o.risky || len(o.rules) > 0 {
		return runCalls(ctx, a, o, "tools commands", false)
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Commands(ctx, run.reader, run.agents, disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCommandsAudit(t, o.limit.n, run.out.Look), nil
	})
}
