package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// garbage is how many percent the heap of a command may grow by before memory is
// collected. Most runs are short and end before that is worth it.
var garbage = map[string]int{
	"pigrep":                100, // the interface runs on
	"pigrep tui":            100,
	"pigrep mcp":            100,
	"pigrep watch":          100,
	"pigrep search":         800,
	"pigrep tools calls":    100, // the list may be of any length
	"pigrep tools commands": 100,
	"pigrep show":           50, // a session may be of any size
	"pigrep export":         50,
}

const usualGarbage = 400

// collectFor sets when memory is collected while the command runs.
func collectFor(cmd *cobra.Command) {
	percent, ok := garbage[cmd.CommandPath()]
	if !ok {
		percent = usualGarbage
	}
	debug.SetGCPercent(percent)
}

const (
	// largeUpdate is how many bytes an update must read for memory to be collected
	// sooner while it runs. Large batches are short-lived: that saves a third of the
	// memory of a first build and next to no time. A small update ends before it is
	// worth it.
	largeUpdate   = 8 << 20
	updateGarbage = 50

	// updateLimit is how much memory a large update takes before it collects at any
	// price. Only lines of hundreds of megabytes come near it.
	updateLimit = 700 << 20
)

// updateMemory bounds the memory of an update. Its methods are for one goroutine.
type updateMemory struct {
	large          bool
	percent, limit int64 // as they were before
}

// reads says how many bytes the update has to read.
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
