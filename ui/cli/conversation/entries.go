package conversation

import (
	"context"
	"errors"
	"iter"

	"pigrep/query/engine/entry"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
)

// Entries is a sequence of entries, read lazily.
type Entries struct {
	All      iter.Seq2[*entry.Entry, error]
	Filtered bool // a filter applies
	passed   int  // entries that passed the filters so far
}

// ReadEntries reads the entries of the list that pass the filter; nil passes all.
func ReadEntries(ctx context.Context, t *Target, list []int, pass func(*entry.Entry) bool) *Entries {
	c := &Entries{Filtered: pass != nil}
	c.All = func(yield func(*entry.Entry, error) bool) {
		for _, i := range list {
			e, err := t.Read(i)
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && pass != nil && !pass(e) {
				continue
			}
			c.passed++
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
	return c
}

// Count returns a filter that counts what it passes; nil for nil.
func (c *Entries) Count(pass func(*entry.Entry) bool) func(*entry.Entry) bool {
	if pass == nil {
		return nil
	}
	return func(e *entry.Entry) bool {
		ok := pass(e)
		if ok {
			c.passed++
		}
		return ok
	}
}

// End returns the error of the command, given that of printing the entries.
func (c *Entries) End(ctx context.Context, a *app.App, err error) error {
	if err == nil && c.Filtered && c.passed == 0 {
		if a.Streams.ErrTTY && !a.JSON {
			a.Warn("no entry passes the filters; --branch any includes all branches")
		}
		return problem.ErrNothingFound
	}
	return ReadProblem(ctx, err)
}

// UntilDone ends a sequence with the error of the context when that is done.
func UntilDone[T any](ctx context.Context, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// ReadHeader returns the header line of the session.
func ReadHeader(t *Target) ([]byte, error) {
	end := t.Record.Checkpoint.Offset + t.Record.TailBytes
	if len(t.Record.Nodes) > 0 {
		if first := t.Record.Nodes[0].Offset; first > t.Record.Header.Offset {
			end = first
		}
	} else if t.Record.Size > 0 {
		end = t.Record.Size
	}
	return t.Header(end)
}

// ReadProblem adds hints to an error of reading a session file.
func ReadProblem(ctx context.Context, err error) error {
	switch {
	case err == nil, system.IsClosedPipe(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, entry.ErrChanged):
		return &problem.Error{Code: problem.CodeIO, Message: err.Error(), Hint: "run it again; without --no-update the index is updated first"}
	}
	return err
}
