package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/printer"
)

type configOptions struct {
	flags.Shared
	cmd    *cobra.Command
	sample bool
}

func (o *configOptions) addFlags(cmd *cobra.Command) {
	o.cmd = cmd
	flags.Add(cmd.Flags(), "sample", "", "", "print a settings file with every key commented out", &o.sample)
	var others []string
	for _, row := range flags.Table {
		if (row.Group == flags.GroupFilter || row.Group == flags.GroupAnswer) && !slices.Contains(settings.Keys(), row.Name) {
			others = append(others, row.Name)
		}
	}
	o.Add(cmd, flags.SharedGroups, others...)
}

// completeSettings completes the names of settings.
func completeSettings(*app.App) complete {
	return cobra.FixedCompletions(append(settings.Keys(), settings.TUIKeys()...), cobra.ShellCompDirectiveNoFileComp)
}

func runConfig(_ context.Context, a *app.App, o *configOptions, keys []string) error {
	if o.sample {
		_, err := fmt.Fprint(a.Out, settings.Sample(newRootCommand(a)))
		return err
	}
	known := append(settings.Keys(), settings.TUIKeys()...)
	for _, key := range keys {
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
	answer := &printer.Settings{Path: file.Path, Exists: file.Exists, Named: len(keys) > 0}
	answer.List = settings.Rows(a, root, o.cmd, file, keys, func(key, standard string) []string { return o.inForce(a, key, standard) })
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
