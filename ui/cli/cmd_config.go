package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/terminal"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/printer"
)

type configOptions struct {
	flags.Shared
	keys   []string
	sample bool
}

func (o *configOptions) addFlags(cmd *cobra.Command) {
	flags.Add(cmd.Flags(), "sample", "", "", "print a settings file with every key commented out", &o.sample)
	var others []string
	for _, row := range flags.Table {
		if (row.Group == flags.GroupFilter || row.Group == flags.GroupAnswer) && !slices.Contains(settings.Keys(), row.Name) {
			others = append(others, row.Name)
		}
	}
	o.Add(cmd, flags.SharedGroups, others...)
}

func newConfigCommand(a *app.App) *cobra.Command {
	o := &configOptions{}
	var keys strings.Builder
	terminal.WriteColumns(&keys, "  ", strings.Join(settings.Keys(), ", "))
	cmd := &cobra.Command{
		Use:   "config [KEY...]",
		Short: "Show the current settings and where they come from",
		Long: `Show the current settings and where each comes from: a flag, the environment,
the settings file, or the default, in this order of precedence.

The settings file is pigrep/config.toml in the user's configuration directory,
or the file named by $` + settings.EnvConfig + ` ("` + settings.NoSettings + `" for none). It is optional. Each key
is the name of a flag: at the top level it applies to every command with that
flag, in a table named after a command to that command only. The tables
tui.keys and tui.colors change the keys and colours of the terminal interface.
Unknown keys are errors.

The keys are:

` + strings.TrimSuffix(keys.String(), "\n"),
		Example: `pigrep config
pigrep config search.limit
pigrep config --sample
pigrep config --json`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(settings.Keys(), settings.TUIKeys()...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.keys = args
			return runConfig(a, cmd, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runConfig(a *app.App, cmd *cobra.Command, o *configOptions) error {
	if o.sample {
		_, err := fmt.Fprint(a.Out, settings.Sample(newRootCommand(a)))
		return err
	}
	known := append(settings.Keys(), settings.TUIKeys()...)
	for _, key := range o.keys {
		if !slices.Contains(known, key) {
			return problem.Usagef(settings.NearestHint(known, key), "unknown setting %q", key)
		}
	}
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	file, err := settings.Read(a, func() *cobra.Command { return newRootCommand(a) })
	if err != nil {
		return err
	}
	root := newRootCommand(a)
	answer := &printer.Settings{Path: file.Path, Exists: file.Exists, Named: len(o.keys) > 0}
	answer.List = settings.Rows(a, root, cmd, file, o.keys, func(key, standard string) []string { return o.inForce(a, key, standard) })
	return out.Print(answer)
}

// inForce returns the default of a setting, nil if it has no single value.
func (o *configOptions) inForce(a *app.App, key, standard string) []string {
	switch key {
	case "session-dir":
		var paths []string
		for _, r := range location.Roots(&o.Shared, a) {
			paths = append(paths, r.Path)
		}
		return paths
	case "index-dir":
		if dir, err := location.DefaultIndexDir(a, location.Roots(&o.Shared, a)); err == nil {
			return []string{dir}
		}
		return nil
	}
	if standard == "" {
		return nil
	}
	return []string{standard}
}
