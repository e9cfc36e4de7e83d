package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/problem"
)

func newHelpCommand(a *app.App) *cobra.Command {
	manual := ""
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
			if manual != "" {
				return writeManual(a, a.Absolute(manual))
			}
			if len(args) == 0 {
				return cmd.Root().Help()
			}
			if text := help.Topic(args[0]); text != "" {
				_, err := a.Out.WriteString(text)
				return err
			}
			if c, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 && c.HasParent() && !c.Hidden {
				return c.Help()
			}
			hint := "topics: " + strings.Join(help.Topics, ", ") + "; `pigrep help` lists the commands"
			if len(args) > 1 {
				hint = "to search for these words: " + problem.SearchFor(append([]string{"help"}, args...))
			}
			return problem.Usagef(hint, "no help for %q", args[0])
		},
	}
	help.Describe(cmd)
	flags.Add(cmd.Flags(), "man", "", "DIR", "write the man pages to man1 and man7 in DIR", &manual)
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
	return cmd
}

// printHelp prints the help of a command: one screen with -h, otherwise all of it. Write
// errors are reported when the run flushes its output.
func printHelp(a *app.App, cmd *cobra.Command, args []string) {
	brief := len(args) > 0 && !slices.Contains(args, "--help")
	switch {
	case !cmd.HasParent():
		fmt.Fprint(a.Out, help.Root(cmd, brief))
	case brief:
		fmt.Fprint(a.Out, help.Brief(cmd))
	default:
		fmt.Fprint(a.Out, help.Command(cmd))
	}
}

// writeManual writes the man pages to a directory.
func writeManual(a *app.App, dir string) error {
	if err := help.WriteManual(newRootCommand(a), dir); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot write the man pages", Err: err}
	}
	a.Warn("wrote the man pages to %s; to read one: man -M %s pigrep", dir, dir)
	return nil
}
