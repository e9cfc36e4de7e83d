package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/query/engine/filter"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/upkeep"
	"pigrep/ui/printer"
)

type command struct {
	name string
	make func(a *app.App) *cobra.Command
	also string // what others call it, for suggestions
}

// commands returns the only table of commands, in the order of help.
func commands() []command {
	return []command{
		{"blame", of("blame FILE[:LINE[-LINE]]", oneFile, completeFile, runBlame), "annotate who"},
		{"completion", forShell("completion", shells, runCompletion), ""},
		{"config", of("config [KEY...]", nil, completeSettings, runConfig), "settings"},
		{"export", of("export SESSION", conversation.OneSession, completeSession, runExport), ""},
		{"fix", of("fix {ERROR... | -}", nil, nil, runFix), ""},
		{"grep", of("grep PATTERN...", nil, nil, runGrep), ""},
		{"hook", of("hook", noArgs, nil, runHook), ""},
		{"hosts", of("hosts", noArgs, nil, runHosts), "machines"},
		{"index", of("index", noArgs, nil, upkeep.RunIndex), "rebuild reindex"},
		{"init", forShell("init", lists.Map(keyBindings, func(b keyBinding) string { return b.shell }), runInit), ""},
		{"keep", of("keep [AGENT...]", nil, func(a *app.App) complete {
			return cobra.FixedCompletions(a.AgentNames(), cobra.ShellCompDirectiveNoFileComp)
		}, func(ctx context.Context, a *app.App, o *upkeep.KeepOptions, agents []string) error {
			return upkeep.RunKeep(ctx, a, o, agents, func() *cobra.Command { return newRootCommand(a) })
		}), "backup copies"},
		{"log", of("log [REV | PATH]", onePath, completeFile, runLog), ""},
		{"mcp", of("mcp", noArgs, nil, runMCP), ""},
		{"push", of("push NAME", oneArchive, completeArchive, runPush), "upload sync"},
		{"recap", of("recap [SESSION]", nil, completeSession, runRecap), "summary summarize done"},
		{"remote", newRemoteCommand, "remotes archive archives"},
		{"report", of("report", noArgs, nil, runReport), ""},
		{"resume", of("resume [SESSION | QUERY...]", nil, completeSession, runResume), ""},
		{searchName, of(searchName+" QUERY...", nil, nil, runSearch), ""},
		{"secrets", of("secrets", noArgs, nil, runSecrets), "leaks keys passwords"},
		{"sessions", of("sessions [QUERY...]", nil, nil, runSessions), "ls list history"},
		{"setup", of("setup", noArgs, nil, runSetup), "install"},
		{"show", of("show {SESSION[:ENTRY] | ENTRY | -}", conversation.OneSession, completeSession, runShow), "cat view open"},
		{"similar", of("similar {SESSION[:ENTRY] | ENTRY}", conversation.OneSession, completeSession, runSimilar), ""},
		{"skill", of("skill", noArgs, nil, runSkill), ""},
		{"status", of("status", noArgs, nil, upkeep.RunStatus), "fsck check"},
		{"tools", newToolsCommand, "audit"},
		{"tui", of("tui [QUERY...]", nil, nil, runTUI), "ui interactive"},
		{"usage", of("usage", noArgs, nil, runUsage), "cost costs stats tokens"},
		{"version", of("version", noArgs, nil, runVersion), ""},
		{"watch", of("watch", noArgs, nil, upkeep.RunWatch), ""},
		{"web", of("web [QUERY...]", nil, nil, runWeb), "serve browse browser"},
	}
}

// former are commands of earlier versions, and how they are written now.
var former = map[string][]string{"commit": {"log", "--commit"}, "doctor": {"status", "--check"}}

// of returns what makes a command with options of its own: how it is called, which arguments
// it takes and how they are completed, and what it runs.
func of[T any](use string, args cobra.PositionalArgs, completeArgs func(*app.App) complete, run func(context.Context, *app.App, *T, []string) error) func(*app.App) *cobra.Command {
	return func(a *app.App) *cobra.Command {
		cmd := &cobra.Command{Use: use, Args: args}
		if completeArgs != nil {
			cmd.ValidArgsFunction = completeArgs(a)
		}
		return newCommand(a, new(T), cmd, run)
	}
}

// forShell returns what makes a command whose argument is one of these shells.
func forShell[T any](name string, shells []string, run func(context.Context, *app.App, *T, []string) error) func(*app.App) *cobra.Command {
	return func(a *app.App) *cobra.Command {
		return newCommand(a, new(T), &cobra.Command{Use: name + " {" + strings.Join(shells, " | ") + "}", ValidArgs: shells, Args: oneShell}, run)
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

func commandNames() []string { return lists.Map(commands(), func(c command) string { return c.name }) }

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
	for _, c := range append(commands(), command{name: ssh.Command, make: newAnswerCommand}) {
		if len(args) > 0 && args[0] == c.name {
			root := newBareCommand(a)
			root.AddCommand(c.make(a))
			return root
		}
	}
	return newRootCommand(a)
}

// newCommand completes a command with its text and its flags, and what it runs with its options and its
// arguments. Options may have AddFlags, for what their flags need besides.
func newCommand[T any](a *app.App, o *T, cmd *cobra.Command, run func(context.Context, *app.App, *T, []string) error) *cobra.Command {
	if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	help.Describe(cmd, o)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f := cmd.Flags().Lookup(flags.Format); f != nil && f.Value.String() == "{}" {
			if fields := printer.Fields(cmd.Name()); fields != nil {
				_, err := a.Out.WriteString(printer.FieldList(fields))
				return err
			}
		}
		return run(cmd.Context(), a, o, args)
	}
	if more, ok := any(o).(interface{ AddFlags(*cobra.Command) }); ok {
		more.AddFlags(cmd)
	}
	return cmd
}

// newBareCommand returns the command without a name. On a terminal it is tui.
func newBareCommand(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "pigrep QUERY... | COMMAND",
		Short:         "Find anything in your past conversations with coding agents",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := prepare(a, cmd)
		if err != nil && cmd.Name() == "hook" && !a.Streams.InTTY { // nothing may disturb an agent
			return cmd.Flags().Set("off", "true")
		}
		return err
	}
	root.SetFlagErrorFunc(flagProblem)
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		brief := len(args) > 0 && !slices.Contains(args, "--help")
		switch {
		case !cmd.HasParent():
			fmt.Fprint(a.Out, help.Root())
		case brief:
			fmt.Fprint(a.Out, help.Brief(cmd))
		default:
			fmt.Fprint(a.Out, help.Command(cmd))
		}
	})
	root.SetHelpCommand(newHelpCommand(a))
	return root
}

// commandFirst moves the command in the arguments to the front: flags may precede it.
// Arguments without a command are a query. Only the first word that is neither a flag
// nor the value of one can be a command.
func commandFirst(a *app.App, args []string) []string {
	if isCompletion(args) {
		if words := args[1:]; len(words) > 1 || len(words) == 1 && strings.HasPrefix(words[0], "-") {
			return append([]string{args[0]}, commandFirst(a, words)...)
		}
		return args // a single word may be the start of a command name
	}
	names := append(commandNames(), "help", ssh.Command)
	flags := sync.OnceValue(func() *pflag.FlagSet { return allFlags(a) })
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append([]string{searchName}, args...)
		case arg == "-h" || arg == "--help":
			if i == 0 {
				return args
			}
		case arg == "--version" || arg == "-V" || arg == "-v" && len(args) == 1:
			return slices.Concat([]string{"version"}, args[:i], args[i+1:])
		case strings.HasPrefix(arg, "-") && arg != "-":
			if takesNext(flags(), arg) {
				i++
			}
		case former[arg] != nil:
			return slices.Concat(former[arg], args[:i], args[i+1:])
		case slices.Contains(names, arg):
			return slices.Concat([]string{arg}, args[:i], args[i+1:])
		default:
			return append([]string{searchName}, args...)
		}
	}
	if len(args) == 0 {
		return args
	}
	return append([]string{searchName}, args...)
}

// keepExclusions writes -kind:call as NOT kind:call in the arguments of commands that take a query: it is no flag.
func keepExclusions(args []string) {
	if len(args) == 0 || !slices.Contains(strings.Fields("search sessions tools resume tui web"), args[0]) {
		return
	}
	for i, arg := range args {
		if arg == "--" {
			return
		}
		if name, _, ok := strings.Cut(arg, ":"); ok && strings.HasPrefix(name, "-") && filter.LookupField(name[1:]) != nil {
			args[i] = "NOT " + arg[1:]
		}
	}
}

// queryIn returns the command line that searches for words which ran a command because they
// begin with its name; "" if flags or quotes show that the command was meant.
func queryIn(args []string) string {
	isNoWord := func(arg string) bool { return strings.HasPrefix(arg, "-") || strings.ContainsAny(arg, " \t\n:/") }
	if len(args) < 2 || args[0] == searchName || former[args[0]] == nil && !slices.Contains(commandNames(), args[0]) || slices.ContainsFunc(args, isNoWord) {
		return ""
	}
	return problem.SearchFor(args)
}

// allFlags returns the flags of all commands. Arguments without a command are a search,
// so its flags take precedence; otherwise the first command with a flag does.
func allFlags(a *app.App) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	commands := newRootCommand(a).Commands()
	search := slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == searchName })
	for _, c := range append([]*cobra.Command{commands[search]}, commands...) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if flags.Lookup(f.Name) != nil {
				return
			}
			if f.Shorthand != "" && flags.ShorthandLookup(f.Shorthand) != nil {
				// The first command keeps the shorthand.
				long := *f
				long.Shorthand = ""
				f = &long
			}
			flags.AddFlag(f)
		})
	}
	return flags
}

func takesNext(flags *pflag.FlagSet, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		f := flags.Lookup(name)
		return f != nil && f.NoOptDefVal == ""
	}
	// In joined short flags, the first one with a value takes the rest.
	for i := 1; i < len(arg); i++ {
		if f := flags.ShorthandLookup(arg[i : i+1]); f != nil && f.NoOptDefVal == "" {
			return i == len(arg)-1
		}
	}
	return false
}

// wantsJSON reports whether the arguments ask for JSON. It runs before the flag parser
// so that errors of the parser are JSON too.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"--json", "--jsonl", "--json=true", "--jsonl=true"}, arg)
	})
}

func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

func flagProblem(cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + e.GetSpecifiedName()
		if short := e.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
		}
		var hints []string
		if instead := habits[name]; instead != "" {
			hints = append(hints, instead)
		} else if flag := nearestFlag(cmd, name); flag != "" {
			hints = append(hints, "did you mean "+flag+"?")
		}
		if strings.Contains(cmd.Use, "QUERY") {
			path := cmd.CommandPath()
			if cmd.Name() == searchName {
				path = cmd.Root().Name()
			}
			hints = append(hints, fmt.Sprintf("to search for the text %[2]s: %[1]s -- %[2]s", path, name))
			if word := e.GetSpecifiedShortnames(); len(word) > 2 {
				hints = append(hints, "to leave out hits with the word: NOT "+word)
			}
		}
		return problem.Usagef(strings.Join(append(hints, help), "; "), "unknown flag %s", name)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		switch name := flagName(e.GetFlag()); {
		case errors.Is(err, strconv.ErrSyntax), errors.Is(err, strconv.ErrRange):
			if e.GetFlag().Name == "limit" && e.GetFlag().Shorthand != "" {
				help = "for line numbers: pigrep grep -n PATTERN; " + help
			}
			return problem.Usagef(help, "%s takes a number, not %q", name, e.GetValue())
		case errors.Is(err, flags.ErrNegative):
			return problem.Usagef(help, "%s takes a number >= 0, not %s", name, e.GetValue())
		case e.GetFlag().Value.Type() == "duration":
			return problem.Usagef("forms that work: 500ms, 30s, 2m, 0", "%s takes a time, not %q", name, e.GetValue())
		}
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return problem.Usagef(help, "%s needs an argument", flagName(e.GetFlag()))
	}
	return problem.Usagef(help, "%v", err)
}

// habits are the hints for flags that users of grep give to other commands.
var habits = map[string]string{
	"--from": "archives are asked with search, grep, sessions, show, tools, usage, recap and others: `pigrep remote --help`",
	"--on":   "it is about this machine only; every question takes --on, such as search, show, blame and usage",
	"-i":     "leave it out: case is ignored; for exact lines: pigrep grep -s PATTERN",
	"-r":     "leave it out: all sessions are searched",
	"-l":     "for the sessions with these words: pigrep sessions WORDS; with a line: pigrep grep -l PATTERN",
	"-v":     "--verbose prints steps and timings, -V the version",
}

// flagName returns all names of a flag: the user may have typed either.
func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}

// nearestFlag returns the long flag of the command that is most similar to name, "" if
// there is none.
func nearestFlag(cmd *cobra.Command, name string) string {
	name, long := strings.CutPrefix(name, "--")
	if !long || name == "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name[0] == name[0] { // few mistype the first letter
			names = append(names, f.Name)
		}
	})
	if found := near.Nearest(names, name); len(found) > 0 {
		return "--" + found[0]
	}
	return ""
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		names := lists.Map(cmd.Commands(), (*cobra.Command).Name)
		hint := fmt.Sprintf("`%s --help` lists its subcommands", cmd.CommandPath())
		if found := near.Nearest(names, args[0]); len(found) > 0 {
			hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), found[0])
		}
		return problem.Usagef(hint, "%s has no subcommand %q", cmd.Name(), args[0])
	}
	return problem.Usagef("to search for these words: "+problem.SearchFor(append([]string{cmd.Name()}, args...)),
		"%s takes no arguments, but got %q", cmd.Name(), args[0])
}
