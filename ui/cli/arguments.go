package cli

import (
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

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
	names := append(commandNames(), "help")
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

// queryIn returns the command line that searches for words which ran a command because they
// begin with its name; "" if flags or quotes show that the command was meant.
func queryIn(args []string) string {
	isNoWord := func(arg string) bool { return strings.HasPrefix(arg, "-") || strings.ContainsAny(arg, " \t\n:/") }
	if len(args) < 2 || args[0] == searchName || !slices.Contains(commandNames(), args[0]) || slices.ContainsFunc(args, isNoWord) {
		return ""
	}
	return problem.SearchFor(args)
}

// startsAtOnce reports whether a command starts work that may not have been meant.
func startsAtOnce(args []string) bool {
	return args[0] == "web" || args[0] == "fix" && len(args) > 2
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

// takesNext reports whether the value of the flag is the next argument.
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
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--jsonl", "--json=true", "--jsonl=true":
			return true
		}
	}
	return false
}

// isCompletion reports whether a shell asks for completions.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}
