// Package format says how numbers and strings are encoded in an index. It has the
// primitives of records, facts and tables (Decoder and the Append functions), the schema
// version, the errors for damaged bytes, and the containment of faults in mapped memory.
// It knows no complete encoding and imports no other package of the project.
package format

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// SchemaVersion is the version of everything in an index. It must be increased whenever
// the content of an index changes, including the analysis of texts. An index of another
// version is rebuilt, never read.
const SchemaVersion = 39

var (
	// ErrVersion reports an index of another SchemaVersion.
	ErrVersion = errors.New("the index has another version")
	// ErrNewer reports an index of a later SchemaVersion, which is also an ErrVersion.
	ErrNewer = errors.New("the index is of a newer version")
	// ErrDamaged reports bytes that differ from what was written.
	ErrDamaged = errors.New("the index is damaged")
)

// Damaged returns an error that wraps ErrDamaged and says what cannot be read.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// OtherVersion returns an ErrVersion that names the version found; if that is later, it is
// an ErrNewer too.
func OtherVersion(found uint64) error { return versionError(found) }

type versionError uint64

func (found versionError) Error() string {
	return fmt.Sprintf("%v: %d, this program writes %d", ErrVersion, uint64(found), SchemaVersion)
}

func (found versionError) Is(target error) bool {
	return target == ErrVersion || target == ErrNewer && found > SchemaVersion
}

// Guard makes a fault in mapped memory panic in this goroutine, and returns whether it
// did before. It is the first argument of Contain.
func Guard() (before bool) { return debug.SetPanicOnFault(true) }

// Contain turns a panic, and a fault in mapped memory, into an error that wraps
// ErrDamaged. It must be deferred around everything that reads what is on disk:
// the engine checks almost nothing that it reads. Use it as
//
//	defer format.Contain(format.Guard(), "open generation", &err)
//
// It allocates nothing: it is called for each term of a query.
func Contain(before bool, doing string, err *error) {
	debug.SetPanicOnFault(before)
	if p := recover(); p != nil {
		*err = Recovered(doing, p)
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
