package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/terminal"
)

func newHelpCommand(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Explain a command or a topic",
		Long:  "Explain a command or a topic: " + strings.Join(topicNames(), ", ") + ".",
		Example: `pigrep help search
pigrep help scopes`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := topicNames()
			for _, c := range cmd.Root().Commands() {
				if !c.Hidden {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Root().Help()
			}
			if t := topicOf(args[0]); t != nil {
				_, err := fmt.Fprint(a.out, t.text())
				return err
			}
			if c, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 && c.HasParent() && !c.Hidden {
				return c.Help()
			}
			return usagef("topics: "+strings.Join(topicNames(), ", ")+"; `pigrep help` lists the commands",
				"no help for %q", args[0])
		},
	}
	ignoreShared(cmd, []flagGroup{groupWhere, groupOutput})
	return cmd
}

// help prints the help of a command. Write errors are reported when the run flushes
// its output.
func (a *App) help(cmd *cobra.Command, _ []string) {
	if cmd.HasParent() {
		fmt.Fprint(a.out, commandHelp(cmd))
		return
	}
	fmt.Fprint(a.out, rootHelp(cmd))
}

// mainFlags are the flags of a search that the help of pigrep names.
var mainFlags = []string{"here", "project", "since", "kind", "all-words", "sort", "limit", "context", "json"}

func rootHelp(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(root.Short + `. pigrep keeps an index of the
session files of the pi coding agent and searches it.

Usage:
  pigrep                   on a terminal: search as you type
  pigrep QUERY...          same as pigrep search QUERY...
  pigrep COMMAND [FLAGS]

Commands:
`)
	for _, c := range root.Commands() {
		if !c.Hidden {
			fmt.Fprintf(&b, "  %-12s %s\n", c.Name(), c.Short)
		}
	}
	if search, _, err := root.Find([]string{searchName}); err == nil && search.HasParent() {
		b.WriteString("\nFlags of a search (all of them: pigrep search --help):\n")
		for _, name := range mainFlags {
			f := helpOf(search.Flags().Lookup(name))
			if end := strings.IndexAny(f.usage, ";:("); end >= 0 { // the rest is detail
				f.usage = f.usage[:end]
			}
			writeFlag(&b, f)
		}
	}
	b.WriteString("\nTopics (pigrep help TOPIC):\n")
	for _, t := range topics {
		fmt.Fprintf(&b, "  %-12s %s\n", t.name, t.short)
	}
	b.WriteString(`
Examples:
  pigrep connection timeout
  pigrep --here --since 2w retry
  pigrep --kind call,shell -- rm -rf

The first run builds the index; later runs read only new text. Session files are
never modified. "pigrep COMMAND --help" explains a command and its flags.
`)
	return b.String()
}

func commandHelp(cmd *cobra.Command) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	path := strings.TrimSuffix(cmd.CommandPath(), cmd.Name())
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s%s%s\n", text, path, cmd.Use, map[bool]string{true: " [FLAGS]"}[cmd.HasAvailableLocalFlags()])
	for _, c := range cmd.Commands() {
		fmt.Fprintf(&b, "  %s %s [FLAGS]\n", cmd.CommandPath(), c.Use)
	}
	if cmd.Example != "" {
		b.WriteString("\nExamples:\n")
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			b.WriteString("  " + line + "\n")
		}
	}
	for _, group := range flagGroups {
		rows := flagRows(cmd.LocalFlags(), group)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", group)
		for _, r := range rows {
			writeFlag(&b, r)
		}
	}
	b.WriteString("\nExit codes:\n")
	for _, c := range exitCodes {
		writeColumns(&b, fmt.Sprintf("  %-4d", c.Code), c.Meaning)
	}
	return b.String()
}

// helpWidth is the width of help texts on every terminal.
const helpWidth = 80

// flagHelp is a flag in a help text.
type flagHelp struct{ name, usage string }

// flagRows lists the flags of a group: shared flags in the order of their table, those
// of the command by name.
func flagRows(flags *pflag.FlagSet, group flagGroup) []flagHelp {
	var rows []flagHelp
	row := func(f *pflag.Flag) { rows = append(rows, helpOf(f)) }
	if group == groupCommand {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Annotations[groupAnnotation] == nil && f.Name != "help" && !f.Hidden {
				row(f)
			}
		})
		return rows
	}
	for _, s := range sharedFlags {
		if f := flags.Lookup(s.name); f != nil && slices.Contains(f.Annotations[groupAnnotation], string(group)) {
			row(f)
		}
	}
	return rows
}

// helpOf describes a flag.
func helpOf(f *pflag.Flag) flagHelp {
	value, usage := pflag.UnquoteUsage(f)
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	if f.Value.Type() != "bool" {
		name += " " + value
		usage = strings.TrimPrefix(usage, value)
	}
	if strings.HasSuffix(f.Value.Type(), "Array") {
		usage += " (repeatable)"
	}
	return flagHelp{name, usage}
}

func writeFlag(b *strings.Builder, r flagHelp) {
	writeColumns(b, fmt.Sprintf("  %-22s  ", r.name), r.usage)
}

// writeColumns writes text next to a left column, wrapped at spaces.
func writeColumns(b *strings.Builder, left, text string) {
	width := terminal.Width(left)
	b.WriteString(left)
	at := width
	for i, word := range strings.Fields(text) {
		n := terminal.Width(word)
		switch {
		case i == 0:
		case at+1+n > helpWidth:
			b.WriteString("\n" + strings.Repeat(" ", width))
			at = width
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
}
