package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// garbage is the GC percent of commands. Most runs are too short for a collection to
// pay off, so the default is high.
var garbage = map[string]int{
	"pigrep":                100, // the TUI
	"pigrep tui":            100,
	"pigrep mcp":            100,
	"pigrep web":            100,
	"pigrep watch":          100,
	"pigrep search":         800,
	"pigrep grep":           100, // texts may be large
	"pigrep tools calls":    100, // the list may be long
	"pigrep tools commands": 100,
	"pigrep show":           50, // a session may be large
	"pigrep export":         50,
}

const usualGarbage = 400

// collectFor sets the GC percent for the command.
func collectFor(cmd *cobra.Command) {
	percent, ok := garbage[cmd.CommandPath()]
	if !ok {
		percent = usualGarbage
	}
	debug.SetGCPercent(percent)
}

const (
	// largeUpdate is the size in bytes from which an update runs with a lower GC
	// percent. Batches are short-lived: this saves a third of the memory of a first
	// build at almost no cost in time. Small updates end too soon to benefit.
	largeUpdate   = 8 << 20
	updateGarbage = 50

	// updateLimit is the memory limit of a large update. Only lines of hundreds of
	// megabytes come near it.
	updateLimit = 700 << 20
)

// updateMemory limits the memory of an update. It is not safe for concurrent use.
type updateMemory struct {
	large          bool
	percent, limit int64 // as they were before
}

// reads is called with the number of bytes the update has to read.
func (m *updateMemory) reads(bytes int64) {
	if !m.large && bytes >= largeUpdate {
		m.large = true
		m.percent, m.limit = int64(debug.SetGCPercent(updateGarbage)), debug.SetMemoryLimit(updateLimit)
	}
}

// restore ends what reads began.
func (m *updateMemory) restore() {
	if m.large {
		debug.SetGCPercent(int(m.percent))
		debug.SetMemoryLimit(m.limit)
	}
}
