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
)

// MainFlags are the flags of a search that the help of pigrep names.
var MainFlags = []string{"here", "project", "since", "kind", "all-words", "sort", "limit", "context", "json"}

// Root is the help of pigrep: one screen if brief is set, otherwise all of it.
func Root(root *cobra.Command, brief bool) string {
	_, text := read("commands/pigrep" + map[bool]string{true: "-h"}[brief] + ".txt")
	return complete(text, map[string]func(b *strings.Builder){
		"commands": func(b *strings.Builder) {
			for _, c := range root.Commands() {
				if !c.Hidden {
					fmt.Fprintf(b, "  %-12s %s\n", c.Name(), c.Short)
				}
			}
		},
		"main-flags": func(b *strings.Builder) {
			if search, _, err := root.Find([]string{"search"}); err == nil && search.HasParent() {
				for _, name := range MainFlags {
					writeFlag(b, helpOf(search.Flags().Lookup(name)).inShort())
				}
			}
		},
	})
}

// Brief is the help of a command on one screen: its own flags, and three examples.
func Brief(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", cmd.Short)
	writeUsage(&b, cmd)
	if rows := flagRows(cmd.LocalFlags(), flags.GroupCommand); len(rows) > 0 {
		b.WriteString("\nFlags:\n")
		for _, r := range rows {
			if !strings.Contains(r.name, "--no-pager") { // every command with long output has it
				writeFlag(&b, r.inShort())
			}
		}
	}
	examples := strings.Split(cmd.Example, "\n")
	fmt.Fprintf(&b, "\nExamples:\n  %s\n", strings.Join(examples[:min(len(examples), 3)], "\n  "))
	fmt.Fprintf(&b, "\nAll flags, filters and details: %s --help\n", cmd.CommandPath())
	return b.String()
}

// writeUsage writes how to call a command and its subcommands.
func writeUsage(b *strings.Builder, cmd *cobra.Command) {
	for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
		path := strings.TrimSuffix(c.CommandPath(), c.Name())
		fmt.Fprintf(b, "  %s%s%s\n", path, c.Use, map[bool]string{true: " [FLAGS]"}[c.HasAvailableLocalFlags()])
	}
}

// Command is the help of a command.
func Command(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n", cmd.Long)
	writeUsage(&b, cmd)
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
	tables["exit-codes"](&b)
	return b.String()
}

// flagHelp is a flag in a help text.
type flagHelp struct{ name, usage string }

// inShort leaves out the details of a flag, so that it takes one line.
func (f flagHelp) inShort() flagHelp {
	for _, detail := range []string{"; ", " (", ", which ", ": "} {
		if before, _, ok := strings.Cut(f.usage, detail); ok && strings.Contains(before, " ") {
			f.usage = before
		}
	}
	f.usage = terminal.Clip(f.usage, 78-max(nameWidth+4, terminal.Width(f.name)+4))
	return f
}

// nameWidth is the width of the column with the names of flags.
const nameWidth = 22

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
	if f := set.Lookup(flags.Format); f != nil && slices.Contains(f.Annotations[flags.Annotation], string(group)) {
		row(f)
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
	terminal.WriteColumns(b, fmt.Sprintf("  %-*s  ", nameWidth, r.name), r.usage)
}
