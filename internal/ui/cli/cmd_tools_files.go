package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/ui/printer"
	"pigrep/query/audit"
)

func newFilesCommand(a *App) *cobra.Command {
	o := &auditOptions{}
	cmd := newAuditCommand(a, o, &cobra.Command{
		Use:   "files [PATH]",
		Short: "Count which files were read, written and edited",
		Long: `Count which files were read, written and edited by tools, and listed by
summaries. With a path, list every time that file was touched, the latest first:
a path that begins with / or . is that file or what is below it, any other one
is every file whose path has these elements.`,
		Example: `pigrep tools files --here
pigrep tools files src/auth.go
pigrep tools files ./config --since 4w`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("put it in quotes when it has spaces", "one path at most: %q", args[1])
			}
			return nil
		},
	}, runFiles)
	addFlag(cmd.Flags(), "failed", "", "", "only calls that failed; the same as --error", &o.failed)
	o.addAudit(cmd)
	return cmd
}

func runFiles(ctx context.Context, a *App, o *auditOptions) error {
	file := o.query
	o.query = ""
	if strings.HasPrefix(file, ".") || strings.HasPrefix(file, "~") || filepath.IsAbs(file) {
		file = filepath.ToSlash(a.absolute(file))
	}
	return o.answer(ctx, a, func(run *auditRun) (*printer.Audit, error) {
		t, err := audit.Files(ctx, run.reader, run.req, file)
		if err != nil {
			return nil, err
		}
		return printer.NewFilesAudit(t, file != "", o.limit.n, run.out.Look), nil
	})
}
