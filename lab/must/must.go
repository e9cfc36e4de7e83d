// Package must ends what a command of the lab does at its first error. A benchmark or a
// comparison without one of its figures says nothing, so no step goes on after an error.
package must

import "fmt"

// failure is the error that ends the command.
type failure struct{ error }

// Do ends the command if there is an error, which then says what was being done.
func Do(err error, doing ...any) {
	switch {
	case err == nil:
	case len(doing) == 0:
		panic(failure{err})
	default:
		panic(failure{fmt.Errorf("%s: %w", fmt.Sprint(doing...), err)})
	}
}

// Get returns the value, unless there is an error.
func Get[T any](value T, err error) T {
	Do(err)
	return value
}

// Fail ends the command with a new error.
func Fail(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// Catch, deferred, stores the error that ended the function. Every goroutine needs one.
func Catch(err *error) {
	switch v := recover().(type) {
	case nil:
	case failure:
		*err = v.error
	default:
		panic(v)
	}
}
