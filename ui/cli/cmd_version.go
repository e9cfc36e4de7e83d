package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/printer"
)

// release and commit are the version of a release build and where it was built from, set
// by the linker. Other builds know their commit if Go found it.
var release, commit string

func newVersionCommand(a *app.App) *cobra.Command {
	o := &flags.Shared{}
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Long:              "Print the version of pigrep, the commit it was built from, and the version of\nthe index that it reads.",
		Example:           "pigrep version\npigrep version --json",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			out, err := o.Printer(a)
			if err != nil {
				return err
			}
			return out.Print(buildVersion(a))
		},
	}
	o.Add(cmd, []flags.Group{flags.GroupOutput}, "color", "hyperlink", "quiet", "verbose")
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
	return cmd
}

func buildVersion(a *app.App) *printer.Version {
	v := &printer.Version{
		Version: release, Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Adapter: strings.Join(a.Registry().Names(), " "),
		IndexSchema: index.SchemaVersion,
	}
	if v.Version == "" {
		v.Version = "dev"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || v.Revision != "" {
		return v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Revision = s.Value[:min(12, len(s.Value))] + v.Revision
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Revision += "+changes"
		}
	}
	return v
}
