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
		Short: "Count what shell commands ran, or list the risky ones",
		Long: `Count the programs, with their subcommands, that shell commands ran: those of
tools, of tools in tools, and of the person. Pipes, lists, substitutions, sh -c,
xargs, sudo and here-documents are followed.

--raw lists the commands as typed. --risky lists the calls, of any tool, that a
reviewer wants to see first, each with the rules that it matches:
` + ruleLines() + `.`,
		Example: `pigrep tools commands
pigrep tools commands --raw git push
pigrep tools commands --risky --since 1w
pigrep tools commands --rule credentials`,
	}, runCommands)
	addFlag(cmd.Flags(), "raw", "", "", "list each command as it was typed", &o.raw)
	addFlag(cmd.Flags(), "risky", "", "", "list the calls that match one of the rules", &o.risky)
	o.addRisk(cmd)
	o.addAudit(cmd)
	return cmd
}

func runCommands(ctx context.Context, a *App, o *auditOptions) error {
	if o.raw || o.risky || len(o.rules) > 0 {
		return runCalls(ctx, a, o, "tools commands", false)
	}
	return o.answer(ctx, a, func(run *auditRun) (*printer.Audit, error) {
		t, err := audit.Commands(ctx, run.reader, run.agents, disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCommandsAudit(t, o.limit.n, run.out.Look), nil
	})
}
