package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/help"
)

// command is a row of the table of commands.
type command struct {
	name string
	make func(a *app.App) *cobra.Command
	also string // what others call it, for suggestions
}

// commands is the only table of commands, in the order of help.
func commands() []command {
	return []command{
		{"completion", newCompletionCommand, ""},
		{"config", newConfigCommand, "settings"},
		{"doctor", newDoctorCommand, "fsck"},
		{"export", newExportCommand, ""},
		{"fix", newFixCommand, ""},
		{"grep", newGrepCommand, ""},
		{"index", newIndexCommand, "rebuild reindex"},
		{"init", newInitCommand, ""},
		{"mcp", newMCPCommand, ""},
		{"report", newReportCommand, ""},
		{"resume", newResumeCommand, ""},
		{searchName, newSearchCommand, ""},
		{"sessions", newSessionsCommand, "ls list history"},
		{"show", newShowCommand, "cat view"},
		{"similar", newSimilarCommand, ""},
		{"skill", newSkillCommand, ""},
		{"status", newStatusCommand, ""},
		{"tools", newToolsCommand, "audit"},
		{"tui", newTUICommand, "ui interactive"},
		{"usage", newUsageCommand, "cost costs stats tokens"},
		{"version", newVersionCommand, ""},
		{"watch", newWatchCommand, ""},
		{"web", newWebCommand, "serve browse browser"},
	}
}

// commandMeant returns the command whose name is close to a word, or that other programs call
// by this word; "" for none.
func commandMeant(word string) string {
	for _, c := range commands() {
		if slices.Contains(strings.Fields(c.also), word) || word+"s" == c.name || word == c.name+"s" {
			return c.name
		}
	}
	if word == "man" {
		return "help --man DIR"
	}
	return ""
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// newRootCommand returns the bare command with all commands below it.
func newRootCommand(a *app.App) *cobra.Command {
	root := newBareCommand(a)
	for _, c := range commands() {
		root.AddCommand(c.make(a))
	}
	addCompletions(a, root)
	return root
}

// rootFor returns the bare command with at least the command that the arguments begin
// with. Most runs need only that one, and it takes longer to make them all than to start
// the rest of pigrep. A command that looks at the others must get them from
// newRootCommand.
func rootFor(a *app.App, args []string) *cobra.Command {
	for _, c := range commands() {
		if len(args) > 0 && args[0] == c.name {
			root := newBareCommand(a)
			root.AddCommand(c.make(a))
			return root
		}
	}
	return newRootCommand(a)
}

// options are those of a command.
type options interface{ addFlags(*cobra.Command) }

// newCommand completes a command with its flags, and what it runs with its arguments.
func newCommand[O options](a *app.App, o O, cmd *cobra.Command, run func(context.Context, *app.App, O, []string) error) *cobra.Command {
	if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	help.Describe(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), a, o, args) }
	o.addFlags(cmd)
	return cmd
}

// newBareCommand returns the command without a name. On a terminal it is tui.
func newBareCommand(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "pigrep QUERY... | COMMAND",
		Short:         "Find anything in your past conversations with pi",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return prepare(a, cmd) }
	root.SetFlagErrorFunc(flagProblem)
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { printHelp(a, cmd, args) })
	root.SetHelpCommand(newHelpCommand(a))
	return root
}
