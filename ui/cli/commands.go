package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
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
		{"completion", forShell("completion", shells, runCompletion), ""},
		{"config", of("config [KEY...]", nil, completeSettings, runConfig), "settings"},
		{"doctor", of("doctor", noArgs, nil, runDoctor), "fsck"},
		{"export", of("export SESSION", conversation.OneSession, completeSession, runExport), ""},
		{"fix", of("fix {ERROR... | -}", nil, nil, runFix), ""},
		{"grep", newGrepCommand, ""},
		{"index", of("index", noArgs, nil, runIndex), "rebuild reindex"},
		{"init", forShell("init", keyShells(), runInit), ""},
		{"mcp", of("mcp", noArgs, nil, runMCP), ""},
		{"report", of("report", noArgs, nil, runReport), ""},
		{"resume", of("resume [SESSION | QUERY...]", nil, completeSession, runResume), ""},
		{searchName, newSearchCommand, ""},
		{"sessions", of("sessions [QUERY...]", nil, nil, runSessions), "ls list history"},
		{"show", of("show {SESSION[:ENTRY] | ENTRY | -}", conversation.OneSession, completeSession, runShow), "cat view"},
		{"similar", of("similar {SESSION[:ENTRY] | ENTRY}", conversation.OneSession, completeSession, runSimilar), ""},
		{"skill", of("skill", noArgs, nil, runSkill), ""},
		{"status", of("status", noArgs, nil, runStatus), ""},
		{"tools", newToolsCommand, "audit"},
		{"tui", of("tui [QUERY...]", nil, nil, runTUI), "ui interactive"},
		{"usage", newUsageCommand, "cost costs stats tokens"},
		{"version", of("version", noArgs, nil, runVersion), ""},
		{"watch", of("watch", noArgs, nil, runWatch), ""},
		{"web", of("web [QUERY...]", nil, nil, runWeb), "serve browse browser"},
	}
}

// of returns what makes a command with options of its own: how it is called, which arguments
// it takes and how they are completed, and what it runs.
func of[T any, O interface {
	*T
	options
}](use string, args cobra.PositionalArgs, completeArgs func(*app.App) complete, run func(context.Context, *app.App, O, []string) error) func(*app.App) *cobra.Command {
	return func(a *app.App) *cobra.Command {
		cmd := &cobra.Command{Use: use, Args: args}
		if completeArgs != nil {
			cmd.ValidArgsFunction = completeArgs(a)
		}
		return newCommand(a, O(new(T)), cmd, run)
	}
}

// forShell returns what makes a command whose argument is one of these shells.
func forShell[T any, O interface {
	*T
	options
}](name string, shells []string, run func(context.Context, *app.App, O, []string) error) func(*app.App) *cobra.Command {
	return func(a *app.App) *cobra.Command {
		return newCommand(a, O(new(T)), &cobra.Command{Use: name + " {" + strings.Join(shells, " | ") + "}", ValidArgs: shells, Args: oneShell}, run)
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
