package settings

import (
	"fmt"
	"strings"

	"pigrep/internal/terminal"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// defaultText returns the default of the setting, unless the usage already says it.
func (s *setting) defaultText(usage string) string {
	if s.Standard == "" || strings.Contains(usage, "default") || s.Standard == "false" || s.Standard == "0" {
		return ""
	}
	return " (default " + s.Standard + ")"
}

// sampleOf returns a line of the settings file that sets the setting.
func sampleOf(root *cobra.Command, s *setting) string {
	_, f := s.FlagOf(root)
	text := "*/scratch/*"
	if words := s.words(root); len(words) > 0 {
		text = words[len(words)-1]
	} else if name := valueName(f); name == "DIR" {
		text = "~/pi"
	} else if name == "FILE" {
		text = "~/prices.txt"
	}
	value := map[string]any{"bool": true, "int": 20, "string": text}[f.Value.Type()]
	if value == nil {
		value = []string{text}
	}
	line, err := toml.Marshal(map[string]any{s.flag: value})
	if err != nil {
		panic(err) // the values are ours
	}
	return strings.TrimSpace(string(line))
}

// Sample returns a settings file with every key commented out.
func Sample(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Settings of pigrep. Each key is a flag of the same name; the flag and the\n" +
		"# environment go before it. Relative paths are taken from this directory.\n")
	command := ""
	for i := range Table {
		s := &Table[i]
		if s.command != command {
			command = s.command
			fmt.Fprintf(&b, "\n[%s]\n", command)
		}
		_, f := s.FlagOf(root)
		_, usage := pflag.UnquoteUsage(f)
		var text strings.Builder
		terminal.WriteColumns(&text, "# ", strings.TrimPrefix(usage, valueName(f))+s.defaultText(usage))
		b.WriteString("\n" + strings.ReplaceAll(text.String(), "\n  ", "\n# ") + "#" + sampleOf(root, s) + "\n")
	}
	return b.String() + sampleTUI()
}
