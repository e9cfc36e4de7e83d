package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/near"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

// flagProblem adds hints to an error of the flag parser.
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
		}
		if flag := nearestFlag(cmd, name); flag != "" {
			hints = append(hints, "did you mean "+flag+"?")
		}
		if strings.Contains(cmd.Use, "QUERY") {
			path := cmd.CommandPath()
			if cmd.Name() == searchName {
				path = cmd.Root().Name()
			}
			hints = append(hints, fmt.Sprintf("to search for the text %[2]s: %[1]s -- %[2]s", path, name))
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
	"-i": "leave it out: case is ignored; for exact lines: pigrep grep -s PATTERN",
	"-r": "leave it out: all sessions are searched",
	"-l": "for the sessions with these words: pigrep sessions WORDS; with a line: pigrep grep -l PATTERN",
	"-v": "--verbose prints steps and timings, -V the version",
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

// noArgs returns an error if a command without arguments gets some.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		hint := fmt.Sprintf("`%s --help` lists its subcommands", cmd.CommandPath())
		if found := near.Nearest(names, args[0]); len(found) > 0 {
			hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), found[0])
		}
		return problem.Usagef(hint, "%s has no subcommand %q", cmd.Name(), args[0])
	}
	return problem.Usagef("to search for these words: "+problem.SearchFor(append([]string{cmd.Name()}, args...)),
		"%s takes no arguments, but got %q", cmd.Name(), args[0])
}
