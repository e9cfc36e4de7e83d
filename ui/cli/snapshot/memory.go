package snapshot

import (
	"runtime"
	"runtime/debug"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

const (
	// large is the size in bytes from which an update runs with a lower GC
	// percent. Batches are short-lived: this saves a third of the memory of a first
	// build at almost no cost in time. Small updates end too soon to benefit.
	large         = 8 << 20
	updateGarbage = 50

	// usualMemory is the memory from which on garbage is collected at once. Only lines of
	// hundreds of megabytes come near it.
	usualMemory = 700 << 20

	// elsewhereMemory is the same if other machines are asked. Their answers are bounded by the memory
	// that they take.
	elsewhereMemory = 224 << 20

	// With less than roomyMemory one worker indexes small batches. With less than
	// leastMemory, the heap may not grow by even one of its arenas.
	roomyMemory = 3 << 29
	leastMemory = arena + 16<<20
	arena       = 64 << 20
	smallBatch  = 8 << 20

	// Indexing maps all segments, of a third of the bytes that it reads, and more.
	mappedMemory = 48 << 20
)

// LimitMemory makes the process collect its garbage within half of what limits leave to
// it. The other half is for mapped files, and for what cannot be collected in time. It
// fails if a limit leaves too little to do anything.
func LimitMemory(a *app.App) error {
	limit, m := min(debug.SetMemoryLimit(-1), usualMemory), a.Memory
	if m.Limit == 0 {
		debug.SetMemoryLimit(limit)
		return nil
	}
	if m.Hard && m.Left < leastMemory {
		return problem.OfMemory(m, leastMemory, "pigrep")
	}
	debug.SetMemoryLimit(min(limit, max(m.Left, leastMemory)/2))
	if m.Space {
		// This reserves addresses for the heap. If mapped files took them all, the next
		// allocation would end the process; a file that cannot be mapped is only an error.
		runtime.KeepAlive(make([]byte, max(arena, min(m.Left/4, usualMemory))))
	}
	return nil
}

// saveMemory makes the process collect its garbage early. It is for questions to other machines.
func saveMemory() { debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), elsewhereMemory)) }

func isTight(a *app.App) bool { return a.Memory.Limit > 0 && a.Memory.Left < roomyMemory }

// memory is the memory of an update. It is not safe for concurrent use.
type memory struct {
	app     *app.App
	large   bool
	percent int // as it was before
}

// reads is called with the number of bytes the update has to read. It fails if that needs
// more memory than there is.
func (m *memory) reads(bytes int64) error {
	if m.large || bytes < large {
		return nil
	}
	m.large = true
	m.percent = debug.SetGCPercent(updateGarbage)
	if !isTight(m.app) {
		return nil
	}
	limit := m.app.Memory
	if needs := mappedMemory + bytes/3; limit.Space && limit.Left < needs {
		return problem.OfMemory(limit, needs, "pigrep index")
	}
	m.app.Warn("%s: indexing saves memory and takes longer", problem.LimitText(limit))
	return nil
}

func (m *memory) restore() {
	if m.large {
		debug.SetGCPercent(m.percent)
	}
}
