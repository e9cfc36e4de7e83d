package index

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Errors that callers act on; all are matched with errors.Is.
var (
	// ErrNoIndex says that the directory holds no published generation.
	ErrNoIndex = errors.New("no index")
	// ErrVersion says that the index was written with another SchemaVersion;
	// it has to be rebuilt.
	ErrVersion = errors.New("the index has another version")
	// ErrDamaged says that something in the index is not as it was written;
	// it has to be rebuilt.
	ErrDamaged = errors.New("the index is damaged")
	// ErrLocked says that another process is writing; the message names its pid.
	ErrLocked = errors.New("the index is being updated by another process")
	// ErrFull says that there is no space left for the index.
	ErrFull = errors.New("no space left on the disk of the index")
	// ErrClosed says that the writer was closed, or that an earlier commit
	// failed and what is on disk is the last commit that did not.
	ErrClosed = errors.New("the index writer is closed")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// contain is deferred around everything that reads what is on disk: it turns a
// panic, and a fault in mapped memory, into ErrDamaged. The engine checks almost
// nothing that it reads. Use it as
//
//	defer contain("open generation", &err)()
func contain(doing string, err *error) func() { return containUnless(new(bool), doing, err) }

// containUnless is contain for what calls back: while visiting is true a panic
// is the caller's own and goes on.
func containUnless(visiting *bool, doing string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if *visiting {
			return
		}
		if p := recover(); p != nil {
			*err = damaged("%s: %v", doing, p)
		}
	}
}

func versionError(found uint64) error {
	return fmt.Errorf("%w: %d, this program writes %d", ErrVersion, found, SchemaVersion)
}
