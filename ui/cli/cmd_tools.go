package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/query/audit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

func newToolsCommand(a *app.App) *cobra.Command {
	cmd := newAuditCommand(a, "tools", noArgs, runTools, func(o *auditOptions, cmd *cobra.Command) {
		o.addBy(cmd, audit.Dimensions, "tool")
		o.addFailed(cmd)
		o.addChart(cmd)
	})
	calls := newAuditCommand(a, "calls [QUERY...]", nil, runCalls, func(o *auditOptions, cmd *cobra.Command) {
		flags.Add(cmd.Flags(), "arg", "", "NAME=PATTERN", "only calls whose argument NAME matches a regular expression", &o.args)
		flags.Add(cmd.Flags(), "risky", "", "", "only calls that match a risk rule", &o.risky)
		o.addRisk(cmd)
	})
	commands := newAuditCommand(a, "commands [QUERY...]", nil, runCommands, func(o *auditOptions, cmd *cobra.Command) {
		flags.Add(cmd.Flags(), "raw", "", "", "list commands as typed", &o.raw)
		flags.Add(cmd.Flags(), "risky", "", "", "list the calls that match a risk rule", &o.risky)
		o.addRisk(cmd)
		o.addBars(cmd)
	})
	cmd.AddCommand(calls, commands, newAuditCommand(a, "files [PATH]", onePath, runFiles, (*auditOptions).addFailed))
	return cmd
}

// onePath checks the arguments of "tools files".
func onePath(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usagef("quote a path that has spaces", "tools files takes at most one path: %q", args[1])
	}
	return nil
}

func runTools(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Tools(ctx, run.reader, run.Agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		var days *audit.ToolTable
		if run.takesTrend(t.By) {
			req := run.req
			req.By = append([]string{"day"}, t.By...)
			if days, err = audit.Tools(ctx, run.reader, run.Agents, location.Disk{}, req); err != nil {
				return nil, err
			}
		}
		return printer.NewToolsAudit(t, days, o.limit.N, run.out.Layout), nil
	})
}

func runCalls(ctx context.Context, a *app.App, o *auditOptions) error {
	return o.answerCalls(ctx, a, "tools calls", o.Verbose)
}

// answerCalls lists calls, with the first lines of their results if the command shows them.
func (o *auditOptions) answerCalls(ctx context.Context, a *app.App, command string, results bool) error {
	return o.answer(ctx, a, func(asking context.Context, run *auditRun) (*printer.Audit, error) {
		ruled := o.risky || len(o.rules) > 0
		run.req.Commands, run.req.Results = o.raw && !ruled, results
		l, err := audit.Calls(asking, run.reader, run.Agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewCallsAudit(ctx, command, l, ruled, run.out.Layout), nil
	})
}

func runCommands(ctx context.Context, a *app.App, o *auditOptions) error {
	switch {
	case o.risky || len(o.rules) > 0:
		return runRisky(ctx, a, o)
	case o.raw:
		return o.answerCalls(ctx, a, "tools commands", false)
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Commands(ctx, run.reader, run.Agents, location.Disk{}, run.req)
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
		l, err := audit.Calls(asking, run.reader, run.Agents, location.Disk{}, run.req)
		if err != nil {
			return nil, err
		}
		return printer.NewRiskyAudit(ctx, l, o.limit.N, run.out.Layout), nil
	})
}

func runFiles(ctx context.Context, a *app.App, o *auditOptions) error {
	file := o.query
	o.query = ""
	if strings.HasPrefix(file, ".") || strings.HasPrefix(file, "~") || filepath.IsAbs(file) {
		file = filepath.ToSlash(a.Absolute(file))
	}
	return o.answer(ctx, a, func(ctx context.Context, run *auditRun) (*printer.Audit, error) {
		t, err := audit.Files(ctx, run.reader, run.req, file)
		if err != nil {
			return nil, err
		}
		return printer.NewFilesAudit(t, file != "", o.limit.N, run.out.Layout), nil
	})
}
