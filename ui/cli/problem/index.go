package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"pigrep/index"
	"pigrep/internal/files"
)

// OfIndex adds hints to an error of the index.
func OfIndex(err error) error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	switch {
	case errors.Is(err, index.ErrNoIndex):
		return &Error{Code: codeNoIndex, Message: "there is no index yet", Hint: "build it: pigrep index"}
	case errors.Is(err, index.ErrForeign):
		return &Error{Code: codeForeign, Message: err.Error(), Hint: "name a directory that is empty or missing: --index-dir DIR, $PIGREP_INDEX_DIR or the setting index-dir"}
	case errors.Is(err, index.ErrInTheWay):
		return &Error{Code: codeForeign, Message: err.Error(), Hint: IndexHint(err)}
	case errors.Is(err, index.ErrLocked):
		return &Error{Code: CodeLocked, Message: err.Error(), Hint: "try again in a moment; `pigrep status` shows which process holds it"}
	case errors.Is(err, index.ErrNewer):
		return &Error{Code: CodeDamaged, Message: "a newer pigrep has taken the index", Err: err, Hint: "restart this one if pigrep was updated; to go back to this version: pigrep index --rebuild"}
	case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrVersion):
		return &Error{Code: CodeDamaged, Err: err, Hint: "rebuild it: pigrep index --rebuild"}
	}
	return &Error{Code: CodeIO, Message: "cannot open the index", Err: err, Hint: IndexHint(err)}
}

// OfUpdate adds hints to an error of updating the index.
func OfUpdate(err error) error {
	problem, ok := errors.AsType[*Error](OfIndex(err))
	if ok && problem.Code == CodeIO && problem.Err != nil {
		problem.Message = "cannot update the index"
	}
	return problem
}

// WithSessions is the error of an index directory in a directory of sessions, or around one.
func WithSessions(dir, relation, root string) error {
	return &Error{Code: codeForeign, Message: fmt.Sprintf("the index cannot be in %s: %s the session directory %s", dir, relation, root),
		Hint: "name a directory outside of it: --index-dir DIR"}
}

// IndexHint returns what to do if the index directory cannot be used.
func IndexHint(err error) string {
	const another = ", or use another directory: --index-dir DIR"
	switch {
	case files.NoSpace(err), errors.Is(err, index.ErrFull):
		return "free some space on its disk" + another
	case errors.Is(err, index.ErrInTheWay):
		return "move it away" + another
	case errors.Is(err, syscall.ENOMEM):
		return "raise the limit of the address space: ulimit -v unlimited"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the index directory" + another
	}
	return "check the index directory" + another
}
