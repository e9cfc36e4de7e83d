package indexer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
)

// An update waits for another writer, and then does what that one has left to do; without
// waiting, or when the writer does not finish, it says who is writing.
func TestUpdateWaitsForAnotherWriter(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	path := filepath.Join(root, "a.jsonl")
	if err := write(lines(3, 20))(path); err != nil {
		t.Fatal(err)
	}
	o := options(dir, root)
	update(t, o)
	if err := write(lines(5, 20))(path); err != nil {
		t.Fatal(err)
	}
	lock := func() *index.Writer {
		t.Helper()
		w, err := index.OpenWriter(dir, index.WriterOptions{PID: 4321})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	locked := func(r *indexer.Result, err error) {
		t.Helper()
		if !errors.Is(err, index.ErrLocked) || !strings.Contains(err.Error(), "4321") || r.Reader == nil || r.Lag.Files != 1 {
			t.Errorf("update: %v with %+v, want an error that names the writer, and the last generation", err, r)
		}
		if r.Reader != nil {
			r.Reader.Close()
		}
	}
	w := lock()
	locked(indexer.Update(t.Context(), o))

	o.Wait = 50 * time.Millisecond
	locked(indexer.Update(t.Context(), o))

	o.Wait = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	o.Waiting = func(err error) {
		if !strings.Contains(err.Error(), "4321") {
			t.Errorf("waiting for %v, want the process named", err)
		}
		cancel()
	}
	if r, err := indexer.Update(ctx, o); !errors.Is(err, context.Canceled) || r.Reader == nil {
		t.Errorf("update: %v, want it cancelled while waiting", err)
	} else {
		r.Reader.Close()
	}

	o.Waiting = func(error) {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	r := update(t, o)
	if !r.Complete() || r.Changes[indexer.Grown] != 1 {
		t.Errorf("after the other writer: %v, complete %t", r.Changes, r.Complete())
	}

	// The other writer does it all: nothing is left to do.
	more, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := more.Write(lines(1, 20)[len(lines(0, 20)):]); err != nil {
		t.Fatal(err)
	}
	more.Close()
	time.Sleep(15 * time.Millisecond) // until the file's times prove it unchanged; see settle
	done := make(chan *indexer.Result)
	w = lock()
	go func() {
		other := options(dir, root)
		other.Wait = time.Hour
		r, err := indexer.Update(context.Background(), other)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	o.Waiting = nil
	mine, theirs := update(t, o), <-done
	defer theirs.Reader.Close()
	if mine.Changes[indexer.Grown]+theirs.Changes[indexer.Grown] != 1 || !mine.Complete() || !theirs.Complete() {
		t.Errorf("two updates of one line: %v and %v", mine.Changes, theirs.Changes)
	}
}

// hooked is an adapter that calls a function before it parses a file.
type hooked struct {
	adapter.Adapter
	before func(path string)
}

func (h hooked) Parse(s adapter.State) adapter.Parser {
	h.before(s.Path)
	return h.Adapter.Parse(s)
}

// A file that grows after it was found is read with what was added, and the update is
// complete, whether it writes what it read or keeps it in memory.
func TestGrownWhileUpdating(t *testing.T) {
	for _, memory := range []bool{false, true} {
		root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
		older, newer := filepath.Join(root, "older.jsonl"), filepath.Join(root, "newer.jsonl")
		for _, path := range []string{older, newer} {
			if err := write(lines(3, 20))(path); err != nil {
				t.Fatal(err)
			}
		}
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(older, past, past); err != nil {
			t.Fatal(err)
		}
		o := options(dir, root)
		o.Workers, o.Memory = 1, memory
		o.Adapter = hooked{o.Adapter, func(path string) { // the newer file is read first
			if path == newer {
				if err := write(lines(4, 20))(older); err != nil {
					t.Error(err)
				}
			}
		}}
		if memory {
			w, err := index.OpenWriter(dir, index.WriterOptions{PID: 4321})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
		}
		if r := update(t, o); !r.Complete() || r.Reader.Documents() != 7 {
			t.Errorf("in memory %t: complete %t, %d documents, lag %+v; want all 7", memory, r.Complete(), r.Reader.Documents(), r.Lag)
		}
	}
}
