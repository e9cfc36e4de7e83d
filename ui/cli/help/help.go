// Package help writes the help of commands, topics and man pages, from the tables that
// the program itself uses.
package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/internal/terminal"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

// MainFlags are the flags of a search that the help of pigrep names.
var MainFlags = []string{"here", "project", "since", "kind", "all-words", "sort", "limit", "context", "json"}

func Root(root *cobra.Command) string {
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
	if search, _, err := root.Find([]string{"search"}); err == nil && search.HasParent() {
		b.WriteString("\nFlags of a search (all of them: pigrep search --help):\n")
		for _, name := range MainFlags {
			f := helpOf(search.Flags().Lookup(name))
			if end := strings.IndexAny(f.usage, ";:("); end >= 0 { // the rest is detail
				f.usage = f.usage[:end]
			}
			writeFlag(&b, f)
		}
	}
	b.WriteString("\nTopics (pigrep help TOPIC):\n")
	for _, t := range Topics {
		fmt.Fprintf(&b, "  %-12s %s\n", t.Name, t.short)
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

func Command(cmd *cobra.Command) string {
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
	for _, group := range flags.Groups {
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
	for _, c := range problem.ExitCodes {
		terminal.WriteColumns(&b, fmt.Sprintf("  %-4d", c.Code), c.Meaning)
	}
	return b.String()
}

// flagHelp is a flag in a help text.
type flagHelp struct{ name, usage string }

// flagRows lists the flags of a group: shared flags in the order of their table, those
// of the command by name.
func flagRows(set *pflag.FlagSet, group flags.Group) []flagHelp {
	var rows []flagHelp
	row := func(f *pflag.Flag) { rows = append(rows, helpOf(f)) }
	if group == flags.GroupCommand {
		set.VisitAll(func(f *pflag.Flag) {
			if f.Annotations[flags.Annotation] == nil && f.Name != "help" && !f.Hidden {
				row(f)
			}
		})
		return rows
	}
	for _, s := range flags.Table {
		if f := set.Lookup(s.Name); f != nil && slices.Contains(f.Annotations[flags.Annotation], string(group)) {
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
	terminal.WriteColumns(b, fmt.Sprintf("  %-22s  ", r.name), r.usage)
}
