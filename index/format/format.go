// Package format holds what all encodings in an index share: the schema version,
// the errors for bytes that cannot be read, the containment of faults in mapped
// memory, and the primitives that records, facts and tables are made of (Decoder
// and the Append functions). It knows no encoding itself and imports nothing of
// ours.
package format

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// SchemaVersion is the version of everything in an index. It must change with
// anything that makes an index differ, the analysis of texts included: an index
// of another version is rebuilt, never read.
const SchemaVersion = 25

var (
	// ErrVersion reports an index of another SchemaVersion.
	ErrVersion = errors.New("the index has another version")
	// ErrDamaged reports bytes that are not as they were written.
	ErrDamaged = errors.New("the index is damaged")
)

// Damaged returns an error that wraps ErrDamaged and says what cannot be read.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// OtherVersion returns an error that wraps ErrVersion and names the version found.
func OtherVersion(found uint64) error {
	return fmt.Errorf("%w: %d, this program writes %d", ErrVersion, found, SchemaVersion)
}

// Contain turns a panic, and a fault in mapped memory, into an error that wraps
// ErrDamaged. It must be deferred around everything that reads what is on disk:
// the engine checks almost nothing that it reads. Use it as
//
//	defer format.Contain("open generation", &err)()
func Contain(doing string, err *error) func() { return ContainUnless(new(bool), doing, err) }

// ContainUnless is Contain for functions that call back: while *visiting is true,
// a panic is the caller's own and goes on.
func ContainUnless(visiting *bool, doing string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if *visiting {
			return
		}
		if p := recover(); p != nil {
			*err = Recovered(doing, p)
		}
	}
}

// Recovered turns a recovered panic into an error that wraps ErrDamaged. A panic with
// such an error is that error.
func Recovered(doing string, p any) error {
	if err, ok := p.(error); ok && errors.Is(err, ErrDamaged) {
		return err
	}
	return Damaged("%s: %v", doing, p)
}
