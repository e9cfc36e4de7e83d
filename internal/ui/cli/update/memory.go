package update

import "runtime/debug"

const (
	// Large is the size in bytes from which an update runs with a lower GC
	// percent. Batches are short-lived: this saves a third of the memory of a first
	// build at almost no cost in time. Small updates end too soon to benefit.
	Large         = 8 << 20
	updateGarbage = 50

	// updateLimit is the memory limit of a large update. Only lines of hundreds of
	// megabytes come near it.
	updateLimit = 700 << 20
)

// Memory limits the memory of an update. It is not safe for concurrent use.
type Memory struct {
	large          bool
	percent, limit int64 // as they were before
}

// Reads is called with the number of bytes the update has to read.
func (m *Memory) Reads(bytes int64) {
	if !m.large && bytes >= Large {
		m.large = true
		m.percent, m.limit = int64(debug.SetGCPercent(updateGarbage)), debug.SetMemoryLimit(updateLimit)
	}
}

// Restore ends what reads began.
func (m *Memory) Restore() {
	if m.large {
		debug.SetGCPercent(int(m.percent))
		debug.SetMemoryLimit(m.limit)
	}
}
