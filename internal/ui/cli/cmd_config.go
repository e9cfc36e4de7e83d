package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/ui/printer"
)

type configOptions struct {
	sharedOptions
	keys   []string
	sample bool
}

func (o *configOptions) addFlags(cmd *cobra.Command) {
	addFlag(cmd.Flags(), "sample", "", "", "print a settings file with every key commented out", &o.sample)
	var others []string
	for _, row := range sharedFlags {
		if (row.group == groupFilter || row.group == groupAnswer) && !slices.Contains(settingKeys(), row.name) {
			others = append(others, row.name)
		}
	}
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput}, others...)
}

func newConfigCommand(a *App) *cobra.Command {
	o := &configOptions{}
	var keys strings.Builder
	writeColumns(&keys, "  ", strings.Join(settingKeys(), ", "))
	cmd := &cobra.Command{
		Use:   "config [KEY...]",
		Short: "Show the current settings and where they come from",
		Long: `Show the current settings and where each comes from: a flag, the environment,
the settings file, or the default, in this order of precedence.

The settings file is pigrep/config.toml in the user's configuration directory,
or the file named by $` + envConfig + ` ("` + noSettings + `" for none). It is optional. Each key
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
			return append(settingKeys(), tuiKeys()...), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.keys = args
			return runConfig(a, cmd, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runConfig(a *App, cmd *cobra.Command, o *configOptions) error {
	if o.sample {
		_, err := fmt.Fprint(a.out, sampleSettings(newRootCommand(a)))
		return err
	}
	known := append(settingKeys(), tuiKeys()...)
	for _, key := range o.keys {
		if !slices.Contains(known, key) {
			return usagef(nearestHint(known, key), "unknown setting %q", key)
		}
	}
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	file, err := a.readSettings()
	if err != nil {
		return err
	}
	root := newRootCommand(a)
	answer := &printer.Settings{Path: file.path, Exists: file.exists, Named: len(o.keys) > 0}
	for i := range settings {
		s := &settings[i]
		if len(o.keys) > 0 && !slices.Contains(o.keys, s.key()) {
			continue
		}
		row := settingRow(a, root, cmd, file, s)
		if row.Source == string(fromDefault) {
			row.Values = o.inForce(a, s)
		}
		answer.List = append(answer.List, row)
	}
	answer.List = append(answer.List, tuiRows(file, o.keys)...)
	return out.Print(answer)
}

// settingRow returns the value and the source of a setting in this run.
func settingRow(a *App, root, cmd *cobra.Command, file *settingsFile, s *setting) printer.Setting {
	from, v := s.origin(a, cmd, file)
	row := printer.Setting{Key: s.key(), Source: string(from), Note: s.note}
	switch from {
	case fromFlag:
		row.From, row.Values = "--"+s.flag, flagValues(cmd.Flags().Lookup(s.flag))
	case fromEnvironment:
		row.From, row.Values = "$"+v.name, []string{v.value}
		if v.value == "" {
			row.Values = []string{a.Getenv(v.name)}
		}
	case fromFile:
		at := file.said[s.key()]
		row.From, row.Values = fmt.Sprintf("%s:%d", file.path, at.line), at.values
	}
	_, f := s.flagOf(root)
	row.Type = f.Value.Type()
	return row
}

// inForce returns the default of a setting, nil if it has no single value.
func (o *configOptions) inForce(a *App, s *setting) []string {
	switch s.key() {
	case "session-dir":
		var paths []string
		for _, r := range o.roots(a) {
			paths = append(paths, r.Path)
		}
		return paths
	case "index-dir":
		if dir, err := a.indexDir(o.roots(a)); err == nil {
			return []string{dir}
		}
		return nil
	}
	if s.standard == "" {
		return nil
	}
	return []string{s.standard}
}

// flagValues returns the values of a flag.
func flagValues(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}
