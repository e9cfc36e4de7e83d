package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// garbage is the GC percent of commands, some with a flag. Most runs are too short for a
// collection to pay off, so the default is high.
var garbage = map[string]int{
	"pigrep":                        100, // the TUI
	"pigrep tui":                    100,
	"pigrep mcp":                    100,
	"pigrep web":                    400, // questions follow each other, and the heap is small
	"pigrep watch":                  100,
	"pigrep search":                 800,
	"pigrep sessions":               800,
	"pigrep grep":                   100, // texts may be large
	"pigrep tools calls":            100, // the list may be long
	"pigrep tools commands --raw":   100,
	"pigrep tools commands --risky": 100,
	"pigrep tools commands --rule":  100,
	"pigrep show":                   50, // a session may be large
	"pigrep export":                 50,
}

const usualGarbage = 400

// collectFor sets the GC percent for the command, whose flags are parsed.
func collectFor(cmd *cobra.Command) {
	percent, ok := garbage[cmd.CommandPath()]
	if !ok {
		percent = usualGarbage
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if p, ok := garbage[cmd.CommandPath()+" --"+f.Name]; ok {
			percent = p
		}
	})
	debug.SetGCPercent(percent)
}
