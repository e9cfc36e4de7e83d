package cli

import (
	"context"
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

type versionOptions struct{ flags.Shared }

func (o *versionOptions) addFlags(cmd *cobra.Command) {
	o.Add(cmd, []flags.Group{flags.GroupOutput}, "color", "hyperlink", "quiet", "verbose")
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
}

func runVersion(_ context.Context, a *app.App, o *versionOptions, _ []string) error {
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	return out.Print(buildVersion(a))
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
