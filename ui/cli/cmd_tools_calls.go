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

func newCallsCommand(a *app.App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "calls [QUERY...]",
		Short: "List tool calls with their results",
		Long: `List tool calls and how they ended, latest first. With a query, list only calls
that contain all its words. --verbose shows the first lines of each result, read
from the session file.`,
		Example: `pigrep tools calls --failed --since 1w
pigrep tools calls --tool edit --arg path='^src/auth/'
pigrep tools calls docker compose --verbose`,
	}, func(ctx context.Context, a *app.App, o *auditOptions) error {
		return runCalls(ctx, a, o, "tools calls", o.Verbose)
	})
	flags.Add(cmd.Flags(), "arg", "", "NAME=PATTERN", "only calls whose argument NAME matches a regular expression", &o.args)
	flags.Add(cmd.Flags(), "risky", "", "", "only calls that match a risk rule", &o.risky)
	o.addRisk(cmd)
	o.addAudit(cmd)
	return cmd
}

func runCalls(ctx context.Context, a *app.App, o *auditOptions, command string, results bool) error {
	return o.answer(ctx, a, func(asking context.Context, run *auditRun) (*printer.Audit, error) {
		ruled := o.risky || len(o.rules) > 0
		run.req.Commands, run.req.Results = o.raw && !ruled, results
		l, err := audit.Calls(asking, run.reader, run.agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCallsAudit(ctx, command, l, ruled, run.out.Layout), nil
	})
}
