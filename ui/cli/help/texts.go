package help

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/scope"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/printer"
)

// The texts of commands and topics, one file each: a line that says what it is, the text, and
// the examples of a command. A line such as {fields} stands for a table that the program
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
	"agent-variables":   writeVariables,
	"session-variables": func(b *strings.Builder) { writeNames(b, sessionVariables()) },
	"setting-keys":      func(b *strings.Builder) { writeNames(b, settings.Keys()) },
	"topic-names":       func(b *strings.Builder) { writeNames(b, Topics) },
	"topics": func(b *strings.Builder) {
		for _, t := range Topics {
			fmt.Fprintf(b, "  %-12s %s\n", t, short(topicFile(t)))
		}
	},
	"rules": func(b *strings.Builder) {
		var ids []string
		for _, r := range shellcmd.Rules {
			ids = append(ids, r.ID)
		}
		writeNames(b, ids)
	},
}

// Topics are help texts that are not about a command, in the order of help.
var Topics = []string{"query", "scopes", "json", "exit-codes", "environment"}

func topicFile(name string) string { return "topics/" + name + ".txt" }

// Topic returns the text of a topic, "" if there is none of this name.
func Topic(name string) string {
	if !slices.Contains(Topics, name) {
		return ""
	}
	_, text := read(topicFile(name))
	return complete(text, nil)
}

// short returns the first line of a file.
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

// Describe completes a command with its text.
func Describe(cmd *cobra.Command) {
	var text string
	cmd.Short, text = read("commands/" + cmd.Name() + ".txt")
	text, examples, _ := strings.Cut(text, "\nExamples:\n")
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

// writeKinds writes the table of kinds and the scopes that have them.
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

// AgentVariables are the environment variables of all agents.
func AgentVariables() []adapter.Variable {
	return adapter.NewRegistry(adapter.Environment{}, agents.All()...).Variables()
}

// sessionVariables are those in which agents pass their session to the processes they
// start.
func sessionVariables() (names []string) {
	for _, v := range AgentVariables() {
		if !v.Path {
			names = append(names, "$"+v.Name)
		}
	}
	return names
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
