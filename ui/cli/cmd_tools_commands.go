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

func newCommandsCommand(a *app.App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "commands [QUERY...]",
		Short: "Count shell commands, or list risky ones",
		Long: `Count the programs, with subcommands, that shell commands ran: commands of
tools, of nested calls, and of the user. Pipes, lists, substitutions, sh -c,
xargs, sudo and here-documents are followed.

--raw lists commands as typed. --risky lists the commands that a reviewer should
see first, by the rule they match, the most severe first, with the part that
matches. Calls of other tools are counted below them ("tools calls --risky"
lists them); in a pipe and in JSON they are rows too. The rules:
` + ruleLines() + `.`,
		Example: `pigrep tools commands
pigrep tools commands --raw git push
pigrep tools commands --risky --since 1w
pigrep tools commands --rule credentials`,
	}, runCommands)
	flags.Add(cmd.Flags(), "raw", "", "", "list commands as typed", &o.raw)
	flags.Add(cmd.Flags(), "risky", "", "", "list the calls that match a risk rule", &o.risky)
	o.addRisk(cmd)
	o.addBars(cmd)
	o.addAudit(cmd)
	return cmd
}

func runCommands(ctx context.Context, a *app.App, o *auditOptions) error {
	switch {
	case o.risky || len(o.rules) > 0:
		return runRisky(ctx, a, o)
	case o.raw:
		return runCalls(ctx, a, o, "tools commands", false)
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Commands(ctx, run.reader, run.agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCommandsAudit(t, o.limit.N, run.out.Layout), nil
	})
}

// runRisky lists the commands that match rules. Its records are all calls that do.
func runRisky(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answer(ctx, a, func(asking context.Context, run *auditRun) (*printer.Audit, error) {
		if run.out.Format == printer.FormatText {
			run.req.Limit = 0 // calls that are only counted are no rows
		}
		l, err := audit.Calls(asking, run.reader, run.agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewRiskyAudit(ctx, l, o.limit.N, run.out.Layout), nil
	})
}
