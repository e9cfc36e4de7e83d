package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandFirst moves the command in the arguments to the front: flags may precede it.
// Arguments without a command are a query. Only the first word that is neither a flag
// nor the value of one can be a command.
func commandFirst(root *cobra.Command, args []string) []string {
	if isCompletion(args) {
		if words := args[1:]; len(words) > 1 || len(words) == 1 && strings.HasPrefix(words[0], "-") {
			return append([]string{args[0]}, commandFirst(root, words)...)
		}
		return args // a single word may be the start of a command name
	}
	names := []string{"help"}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	// Arguments without a command are a search, so its flags take precedence.
	commands := slices.Clone(root.Commands())
	slices.SortStableFunc(commands, func(a, b *cobra.Command) int {
		switch searchName {
		case a.Name():
			return -1
		case b.Name():
			return 1
		}
		return 0
	})
	for _, c := range commands {
		names = append(append(names, c.Name()), c.Aliases...)
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
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append([]string{searchName}, args...)
		case arg == "-h" || arg == "--help":
			if i == 0 {
				return args
			}
		case arg == "--version":
			return slices.Concat([]string{"version"}, args[:i], args[i+1:])
		case strings.HasPrefix(arg, "-") && arg != "-":
			if takesNext(flags, arg) {
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
