// Package help writes the help of commands, topics and man pages, from the tables that
// the program itself uses.
package help

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/internal/files"
	"pigrep/internal/lists"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/scope"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/printer"
)

// Root returns the help of pigrep, on one screen.
func Root() string {
	_, text := read("commands/pigrep.txt")
	return text
}

// Brief returns the help of a command on one screen: its own flags, and three examples.
func Brief(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", cmd.Short)
	writeUsage(&b, cmd)
	rows := slices.DeleteFunc(flagRows(cmd.LocalFlags(), flags.GroupCommand), func(r flagHelp) bool {
		return strings.Contains(r.name, "--no-pager") // every command with long output has it
	})
	if len(rows) > 0 {
		b.WriteString("\nFlags:\n")
	}
	for _, r := range rows {
		writeFlag(&b, r.inShort())
	}
	examples := strings.Split(cmd.Example, "\n")
	fmt.Fprintf(&b, "\nExamples:\n  %s\n", strings.Join(examples[:min(len(examples), 3)], "\n  "))
	more := "All flags and details"
	if cmd.Flags().Lookup(filter.Here) != nil {
		more = "Filters such as --here and --since, and details"
	}
	fmt.Fprintf(&b, "\n%s: %s --help\n", more, cmd.CommandPath())
	return b.String()
}

// writeUsage writes how to call a command and its subcommands.
func writeUsage(b *strings.Builder, cmd *cobra.Command) {
	for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
		path := strings.TrimSuffix(c.CommandPath(), c.Name())
		fmt.Fprintf(b, "  %s%s%s\n", path, c.Use, map[bool]string{true: " [FLAGS]"}[c.HasAvailableLocalFlags()])
	}
}

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

type flagHelp struct{ name, usage string }

// inShort leaves out the details of a flag, so that it takes one line.
func (f flagHelp) inShort() flagHelp {
	for _, detail := range []string{"; ", " (", ", which ", ": "} {
		f.usage, _, _ = strings.Cut(f.usage, detail)
	}
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
	for _, name := range []string{flags.IncludeCurrent, flags.IncludeSearches, flags.Format} {
		if f := set.Lookup(name); f != nil && slices.Contains(f.Annotations[flags.Annotation], string(group)) {
			row(f)
		}
	}
	for _, s := range flags.Table {
		if f := set.Lookup(s.Name); f != nil && !f.Hidden && slices.Contains(f.Annotations[flags.Annotation], string(group)) {
			row(f)
		}
	}
	if group == flags.GroupMachines && len(rows) > 0 {
		names := lists.Map(rows, func(r flagHelp) string { return strings.TrimSpace(r.name) })
		rows = []flagHelp{{"    " + strings.Join(names, ", "), "pigrep help machines"}}
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

// The texts of commands and topics, one file each: a line that says what it is, the text, and
// the flags (see flags.Define) and the examples of a command. A line such as {fields} stands for a table that the program
// uses.
//
//go:embed commands topics
var texts embed.FS

// tables writes the tables that texts name.
var tables = map[string]func(b *strings.Builder){
	"forms": func(b *strings.Builder) {
		for _, f := range syntax.Forms {
			terminal.WriteColumns(b, fmt.Sprintf("  %-19s ", f.Form), f.Meaning)
		}
	},
	"fields": func(b *strings.Builder) {
		for _, f := range filter.Fields {
			terminal.WriteColumns(b, fmt.Sprintf("  %-19s ", f.Example), f.Meaning)
		}
	},
	"machines": func(b *strings.Builder) {
		cmd := &cobra.Command{}
		new(flags.Shared).Add(cmd, "from on wait reveal")
		cmd.Flags().VisitAll(func(f *pflag.Flag) { writeFlag(b, helpOf(f)) })
	},
	"kinds": writeKinds,
	"exit-codes": func(b *strings.Builder) {
		for _, c := range problem.ExitCodes {
			terminal.WriteColumns(b, fmt.Sprintf("  %-4d", c.Code), c.Meaning)
		}
	},
	"audit-rows": func(b *strings.Builder) {
		for _, r := range AuditRows {
			terminal.WriteColumns(b, fmt.Sprintf("  %-9s ", r.Name), strings.Join(FieldNames(r.Row), ", "))
		}
	},
	"columns": func(b *strings.Builder) {
		for _, c := range printer.Columns() {
			terminal.WriteColumns(b, fmt.Sprintf("  %-16s ", c.Command), strings.Join(c.Columns, ", "))
		}
	},
	"agent-variables": writeVariables,
	"session-variables": func(b *strings.Builder) { // agents pass their session in them to the processes they start
		var names []string
		for _, v := range AgentVariables() {
			if !v.Path {
				names = append(names, "$"+v.Name)
			}
		}
		writeNames(b, names)
	},
	"setting-keys": func(b *strings.Builder) { writeNames(b, settings.Keys()) },
	"topic-names":  func(b *strings.Builder) { writeNames(b, Topics) },
	"topics": func(b *strings.Builder) {
		for _, t := range Topics {
			fmt.Fprintf(b, "  %-12s %s\n", t, short(topicFile(t)))
		}
	},
	"rules": func(b *strings.Builder) {
		ids := lists.Map(shellcmd.Rules(), func(r shellcmd.Rule) string { return r.ID })
		writeNames(b, ids)
	},
}

// Topics are help texts that are not about a command, in the order of help.
var Topics = []string{"query", "scopes", "machines", "json", "exit-codes", "environment"}

func topicFile(name string) string { return "topics/" + name + ".txt" }

// Topic returns the text of a topic, "" if there is none of this name.
func Topic(name string) string {
	if !slices.Contains(Topics, name) {
		return ""
	}
	_, text := read(topicFile(name))
	return complete(text, nil)
}

func short(file string) string {
	line, _ := read(file)
	return line
}

// read returns the first line of a file, and what follows the blank line after it.
func read(file string) (line, text string) {
	data, err := texts.ReadFile(file)
	if err != nil {
		panic(err) // the files are ours
	}
	line, text, _ = strings.Cut(string(data), "\n\n")
	return line, text
}

// Text is the annotation of a command that names its text; the usual one is the command's.
const Text = "pigrep_text"

// Describe gives a command its text, and its flags, whose values are fields of the options.
func Describe(cmd *cobra.Command, options any) {
	var text string
	cmd.Short, text = read("commands/" + cmp.Or(cmd.Annotations[Text], cmd.Name()) + ".txt")
	text, examples, _ := strings.Cut(text, "\nExamples:\n")
	text, rows, _ := strings.Cut(text, "\nFlags:\n")
	flags.Define(cmd, rows, options)
	cmd.Long = strings.TrimSuffix(complete(text, nil), "\n")
	cmd.Example = strings.TrimSpace(strings.ReplaceAll("\n"+examples, "\n  ", "\n"))
}

// complete puts the tables that a text names in their places. more has further tables.
func complete(text string, more map[string]func(b *strings.Builder)) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimSpace(line)
		if !strings.HasPrefix(line, "{") || !strings.HasSuffix(name, "}") {
			b.WriteString(line)
			continue
		}
		name = name[1 : len(name)-1]
		write := tables[name]
		if write == nil {
			write = more[name]
		}
		write(&b)
	}
	return b.String()
}

func writeNames(b *strings.Builder, names []string) {
	terminal.WriteColumns(b, "  ", strings.Join(names, ", "))
}

func writeKinds(b *strings.Builder) {
	fmt.Fprintf(b, "  %-9s", "kind")
	for _, s := range scope.Scopes {
		fmt.Fprintf(b, "  %s", s)
	}
	b.WriteString("  from\n")
	for _, r := range scope.Kinds {
		left := fmt.Sprintf("  %-9s", r.Kind)
		for _, s := range scope.Scopes {
			left += fmt.Sprintf("  %-*s", len(s), map[bool]string{true: "x"}[s.Holds(r.Kind)])
		}
		terminal.WriteColumns(b, left+"  ", r.From)
	}
}

func AgentVariables() []adapter.Variable {
	return adapter.NewRegistry(adapter.Environment{}, agents.All()...).Variables()
}

// writeVariables writes the variables of agents; those with the same use share a row.
func writeVariables(b *strings.Builder) {
	const width = 27
	list := AgentVariables()
	for i := 0; i < len(list); {
		use, names := list[i].Use, ""
		for ; i < len(list) && list[i].Use == use; i++ {
			names += ", " + list[i].Name
		}
		if names = names[2:]; len(names) > width {
			fmt.Fprintf(b, "  %s\n", names)
			names = ""
		}
		terminal.WriteColumns(b, fmt.Sprintf("  %-*s  ", width, names), use)
	}
}

// AuditRows are the types of the rows of audits, and of their coverage.
var AuditRows = []struct {
	Name string
	Row  any
}{
	{"tool", audit.ToolRow{}}, {"call", audit.CallRow{}}, {"command", audit.CommandRow{}}, {"file", audit.FileRow{}},
	{"touch", audit.TouchRow{}}, {"usage", audit.UsageRow{}}, {"coverage", audit.Coverage{}},
}

// FieldNames lists the JSON fields of a struct except type.
func FieldNames(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "type" {
			names = append(names, name)
		}
	}
	return names
}

// WriteManual writes the man pages to a directory, in roff: commands to man1, topics to man7.
func WriteManual(root *cobra.Command, dir string) error {
	pages := map[string]string{"man1/pigrep.1": rootPage(root)}
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		pages["man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = commandPage(c)
		for _, below := range c.Commands() {
			add(below)
		}
	}
	for _, c := range root.Commands() {
		add(c)
	}
	for _, t := range Topics {
		pages["man7/pigrep-"+t+".7"] = topicPage(t)
	}
	for name, text := range pages {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		out, err := files.FindOutput(path)
		if err != nil {
			return err
		}
		out.Overwrite = true
		if err := out.Replace(0o644, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return err
		}
	}
	return nil
}

// page is a man page in roff.
type page struct{ strings.Builder }

func newPage(name, section, short string) *page {
	p := &page{}
	fmt.Fprintf(p, ".TH %q %q \"\" \"pigrep\" \"pigrep manual\"\n.nh\n.ad l\n", strings.ToUpper(name), section)
	p.section("Name")
	p.line(name + " - " + strings.ToLower(short[:1]) + short[1:])
	return p
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", strings.ToUpper(title)) }

// line writes a line of text, which roff joins with its neighbours.
func (p *page) line(text string) {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	p.WriteString(text + "\n")
}

// text writes paragraphs. Lines that begin with a space are kept as they are.
func (p *page) text(text string) {
	kept := false
	keep := func(keeps bool) {
		if keeps != kept {
			p.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[keeps])
			kept = keeps
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		keep(strings.HasPrefix(line, " ") || kept && line == "")
		if line == "" && !kept {
			line = ".PP"
			p.WriteString(line + "\n")
			continue
		}
		p.line(line)
	}
	keep(false)
}

func (p *page) item(term, meaning string) {
	p.WriteString(".TP\n.B ")
	p.line(term)
	p.line(meaning)
}

func (p *page) seeAlso(names ...string) string {
	for _, t := range Topics {
		names = append(names, "pigrep-"+t+"(7)")
	}
	p.section("See also")
	p.line(strings.Join(names, ", "))
	return p.String()
}

func rootPage(root *cobra.Command) string {
	p := newPage("pigrep", "1", root.Short)
	p.section("Description")
	p.text(Root())
	names := lists.Map(root.Commands(), func(c *cobra.Command) string { return "pigrep-" + c.Name() + "(1)" })
	return p.seeAlso(names...)
}

func commandPage(c *cobra.Command) string {
	p := newPage(strings.ReplaceAll(c.CommandPath(), " ", "-"), "1", c.Short)
	p.section("Synopsis")
	var usage strings.Builder
	writeUsage(&usage, c)
	p.text(usage.String())
	p.section("Description")
	p.text(c.Long + "\n")
	for _, group := range flags.Groups {
		rows := flagRows(c.LocalFlags(), group)
		if len(rows) > 0 {
			p.section(string(group))
		}
		for _, r := range rows {
			p.item(strings.TrimSpace(r.name), r.usage)
		}
	}
	p.section("Examples")
	p.text("  " + strings.ReplaceAll(c.Example, "\n", "\n  ") + "\n")
	p.section("Exit status")
	for _, e := range problem.ExitCodes {
		p.item(fmt.Sprint(e.Code), e.Meaning)
	}
	return p.seeAlso("pigrep(1)")
}

func topicPage(topic string) string {
	p := newPage("pigrep-"+topic, "7", short(topicFile(topic)))
	p.section("Description")
	p.text(Topic(topic))
	return p.seeAlso("pigrep(1)")
}
