package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/query/audit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

func newFilesCommand(a *app.App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "files [PATH]",
		Short: "List the files that were read, written and edited",
		Long: `Count how often tools read, wrote and edited each file, and how often summaries
list it. With a path, list each time it was touched, latest first: a path that
starts with / or . is that file or directory; any other path matches every file
that has these path elements.`,
		Example: `pigrep tools files --here
pigrep tools files src/auth.go
pigrep tools files ./config --since 4w`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return problem.Usagef("quote a path that has spaces", "tools files takes at most one path: %q", args[1])
			}
			return nil
		},
	}, runFiles)
	flags.Add(cmd.Flags(), "failed", "", "", "only failed calls; same as --error", &o.failed)
	o.addAudit(cmd)
	return cmd
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
