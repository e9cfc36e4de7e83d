package cli

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/printer"
)

func newHelpCommand(a *app.App) *cobra.Command {
	o := &struct {
		flags.Shared `ignores:"files output"`
		Man          string
	}{}
	cmd := &cobra.Command{
		Use: "help [COMMAND | TOPIC]",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := slices.Clone(help.Topics)
			for _, c := range cmd.Root().Commands() {
				if !c.Hidden {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Man != "" {
				dir := a.Absolute(o.Man)
				if err := help.WriteManual(newRootCommand(a), dir); err != nil {
					return &problem.Error{Code: problem.CodeIO, Message: "cannot write the man pages", Err: err}
				}
				a.Warn("wrote the man pages to %s; to read one: man -M %s pigrep", dir, dir)
				return nil
			}
			if len(args) == 0 {
				return cmd.Root().Help()
			}
			if text := help.Topic(args[0]); text != "" {
				_, err := a.Out.WriteString(text)
				return err
			}
			if now := former[args[0]]; now != nil {
				args[0] = now[0]
			}
			if c, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 && c.HasParent() {
				return c.Help()
			}
			hint := "topics: " + strings.Join(help.Topics, ", ") + "; `pigrep help` lists the commands"
			if len(args) > 1 {
				hint = "to search for these words: " + problem.SearchFor(append([]string{"help"}, args...))
			}
			return problem.Usagef(hint, "no help for %q", args[0])
		},
	}
	help.Describe(cmd, o)
	return cmd
}

type configOptions struct {
	flags.Shared
	cmd    *cobra.Command
	Sample bool
}

func (o *configOptions) AddFlags(cmd *cobra.Command) {
	o.cmd = cmd
	takes := "filters files answer output"
	for _, row := range flags.Table {
		if (row.Group == flags.GroupFilter || row.Group == flags.GroupAnswer) && !slices.Contains(settings.Keys(), row.Name) {
			takes += " -" + row.Name
		}
	}
	o.Add(cmd, takes)
}

func completeSettings(*app.App) complete {
	return cobra.FixedCompletions(append(settings.Keys(), settings.TUIKeys()...), cobra.ShellCompDirectiveNoFileComp)
}

func runConfig(_ context.Context, a *app.App, o *configOptions, keys []string) error {
	root := newRootCommand(a)
	if o.Sample {
		_, err := a.Out.WriteString(settings.Sample(root))
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
	file, err := settings.Read(a, func() *cobra.Command { return root })
	if err != nil {
		return err
	}
	answer := &printer.Settings{Path: file.Path, Exists: file.Exists, Named: len(keys) > 0}
	answer.List = settings.Rows(a, root, o.cmd, file, keys, func(key, standard string) []string { return o.inForce(a, key, standard) })
	return out.Print(answer)
}

// inForce returns the default of a setting, nil if it has no single value.
func (o *configOptions) inForce(a *app.App, key, standard string) []string {
	switch key {
	case "session-dir":
		return lists.Map(location.Present(location.Roots(&o.Shared, a)), func(r adapter.Root) string { return r.Path })
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

//go:embed skill.md
var skillText string

const packageName = "pi-pigrep"

type skillOptions struct {
	flags.Shared `ignores:"files output"`
	Install, Yes bool
	Agent        string
}

func runSkill(_ context.Context, a *app.App, o *skillOptions, _ []string) error {
	if !o.Install {
		for name, given := range map[string]bool{"--yes": o.Yes, "--" + filter.Agent: o.Agent != ""} {
			if given {
				return problem.Usagef("", "%s requires --install", name)
			}
		}
		_, err := a.Out.WriteString(skillText)
		return err
	}
	places, err := o.places(a)
	if err != nil {
		return err
	}
	for i := range places {
		if err := o.installFor(a, &places[i]); err != nil {
			return err
		}
	}
	return nil
}

// places returns where to install the skill: for the agent that was named, else for those
// that have session directories, else for the first.
func (o *skillOptions) places(a *app.App) (places []adapter.Skills, err error) {
	var names []string
	roots, _ := a.Registry().Roots() // problems with settings are for those who read sessions
	all := a.Registry().Skills(packageName)
	for _, s := range all {
		short := session.ShortAgent(s.Name())
		names = append(names, short)
		here := slices.ContainsFunc(roots, func(r adapter.Root) bool {
			_, err := os.Stat(r.Path)
			return r.Agent == s.Name() && err == nil
		})
		if o.Agent == short || o.Agent == "" && here {
			places = append(places, s)
		}
	}
	switch {
	case len(places) > 0:
	case o.Agent != "":
		err = problem.Usagef("agents with skills: "+strings.Join(names, ", "), "--%s: unknown agent %q", filter.Agent, o.Agent)
	default:
		places = all[:1]
	}
	return places, err
}

func (o *skillOptions) installFor(a *app.App, to *adapter.Skills) error {
	path := skillPath(to)
	out, had, err := readUser(path)
	if err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot read the installed skill", Err: err}
	}
	if to.Package {
		fmt.Fprintf(a.Out, "the skill is left out: %s has the package %s, which gives the model its own tools\n", to.Label(), packageName)
		if out.Kind != files.Missing {
			a.Warn("the skill that was installed before repeats them; delete it: %s", path)
		}
		return nil
	}
	action := "write " + path
	switch {
	case had == skillText:
		fmt.Fprintf(a.Out, "%s is up to date\n", path)
		return nil
	case out.Kind == files.File:
		action = "replace " + path
	}
	if err := a.Confirm(o.Yes, action, ""); err != nil {
		return err
	}
	if err := writeUser(out, 0o644, skillText); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot install the skill", Err: err, Hint: "`pigrep skill` prints it; save it where " + to.Label() + " finds skills"}
	}
	fmt.Fprintf(a.Out, "wrote %s; %s loads it from the next session on\n", path, to.Label())
	return nil
}

// release and commit are the version of a release build and where it was built from, set
// by the linker. Other builds know their commit if Go found it.
var release, commit string

type versionOptions struct {
	flags.Shared `takes:"output -color -hyperlink -quiet -verbose" ignores:"files output"`
}

// AddFlags hides the command, an old name of --version.
func (o *versionOptions) AddFlags(cmd *cobra.Command) { cmd.Hidden = true }

func runVersion(_ context.Context, a *app.App, o *versionOptions, _ []string) error {
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	return out.Print(buildVersion(a))
}

func buildVersion(a *app.App) *printer.Version {
	v := &printer.Version{
		Version: cmp.Or(release, "dev"), Revision: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Adapter: strings.Join(a.Registry().Names(), " "),
		IndexSchema: index.SchemaVersion,
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
