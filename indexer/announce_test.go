package indexer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pigrep/adapter"
	"pigrep/index"
)

// bulky writes session files with more than readers index in memory, unless they are alone.
func bulky(t *testing.T, root string) (reader Options, documents int) {
	t.Helper()
	const files, lines = 4, 500
	for i := range files {
		write(t, filepath.Join(root, fmt.Sprint(i, ".jsonl")), lines)
	}
	reader = testOptions(t, root).Options
	reader.Await, reader.Memory, reader.memory = true, true, memoryLimit{100 << 10, 100}
	return reader, files * lines
}

// Commands that begin while another process builds the first index show its progress and wait
// for it, whether it has published something or not. They have all, and index nothing
// themselves. If the other one is interrupted, one of them goes on.
func TestReadersAwaitTheFirstBuild(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		before    int // the builder stops before it parses this file
		interrupt bool
	}{
		{"nothing published", 0, false},
		{"something published", 1, false},
		{"nothing published, interrupted", 0, true},
		{"something published, interrupted", 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			o, documents := bulky(t, root)
			reached, proceed := make(chan struct{}), make(chan struct{})
			n := 0
			builder := o
			builder.PID, builder.Workers, builder.BatchBytes, builder.Memory = 4711, 1, 1<<10, false
			builder.Adapter = parsing{o.Adapter.(adapter.Agent), func() {
				if n == test.before {
					close(reached)
					<-proceed
				}
				n++
			}}
			ctx, interrupt := context.WithCancel(t.Context())
			built := make(chan error)
			go func() {
				r, err := Update(ctx, builder)
				if r.Reader != nil {
					r.Reader.Close()
				}
				built <- err
			}()
			<-reached
			if r, err := index.Open(o.Dir); (err == nil) != (test.before > 0) {
				t.Errorf("published: %v", err)
			} else if err == nil {
				r.Close()
			}

			const readers = 8
			var waiting, done sync.WaitGroup
			var mu sync.Mutex
			indexing := 0
			waiting.Add(readers)
			for i := range readers {
				done.Go(func() {
					o := o
					var once sync.Once
					o.PID = i + 1
					o.Progress = func(p Progress) {
						if p.By == 4711 && p.First && p.FilesTotal == 4 && p.Bytes < p.BytesTotal {
							once.Do(waiting.Done)
						}
					}
					r, err := Update(t.Context(), o)
					if err != nil {
						t.Error(err)
						return
					}
					defer r.Reader.Close()
					if !r.Complete() || r.Reader.Documents() != documents || r.InMemory.Files > 0 {
						t.Errorf("complete %t, %d documents, %+v in memory; want %d on disk", r.Complete(), r.Reader.Documents(), r.InMemory, documents)
					}
					mu.Lock()
					defer mu.Unlock()
					if r.BytesRead > 0 {
						indexing++
					}
				})
			}
			waiting.Wait()
			want := 0
			if test.interrupt {
				interrupt()
				want = 1
			}
			close(proceed)
			if err := <-built; (err != nil) != test.interrupt {
				t.Errorf("the builder ends with %v", err)
			}
			done.Wait()
			interrupt()
			if indexing != want {
				t.Errorf("%d of those who waited read session files, want %d", indexing, want)
			}
			if said := index.Announcement(o.Dir); said != "" {
				t.Errorf("of a complete index, %q is announced", said)
			}
		})
	}
}

// An update of an index that was complete is not waited for: the answer says what is missing.
func TestReadersDoNotAwaitLaterUpdates(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "first.jsonl"), 3)
	o := testOptions(t, root).Options
	r, err := Update(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.Reader.Close()
	reader, _ := bulky(t, root)
	reader.Dir = o.Dir
	w, err := index.OpenWriter(o.Dir, index.WriterOptions{PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err = Update(t.Context(), reader)
	if !errors.Is(err, index.ErrLocked) || r.Reader == nil || r.Lag.Files != 4 {
		t.Fatalf("%v, lag %+v; want the last generation", err, r.Lag)
	}
	r.Reader.Close()
}

// If the builder shows no sign of life, what is pending is indexed in memory. If it is too
// much for that, the error names the builder. The clock is synctest's: waiting takes no time.
func TestReadersOfADeadBuild(t *testing.T) {
	root := t.TempDir()
	o, documents := bulky(t, root)
	synctest.Test(t, func(t *testing.T) {
		w, err := index.OpenWriter(o.Dir, index.WriterOptions{PID: 4711})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		r, err := Update(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Complete() || r.InMemory.Files != 4 || r.Reader.Documents() != documents {
			t.Errorf("complete %t, %+v in memory, %d documents; want all", r.Complete(), r.InMemory, r.Reader.Documents())
		}
		r.Reader.Close()

		o.Memory = false
		r, err = Update(t.Context(), o)
		if !errors.Is(err, index.ErrLocked) || !strings.Contains(err.Error(), "4711") || r.Reader != nil {
			t.Errorf("without memory: %v", err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r, err := Update(ctx, o); !errors.Is(err, context.DeadlineExceeded) || r.Reader != nil {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// A watch that finds another process at the first index shows its progress, and goes on
// where that ends.
func TestWatchAwaitsTheFirstBuild(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	o := testOptions(t, root)
	w, err := index.OpenWriter(o.Dir, index.WriterOptions{PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Announce(`{"FilesTotal":2,"Bytes":30,"BytesTotal":100}`); err != nil {
		t.Fatal(err)
	}
	seen := make(chan Progress, 1)
	o.Progress = func(p Progress) {
		select {
		case seen <- p:
		default:
		}
	}
	r := startWatch(t, o)
	if p := <-seen; p.By != 4711 || !p.First || p.FilesTotal != 2 || p.Bytes != 30 || p.BytesTotal != 100 {
		t.Errorf("progress %+v", p)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r.waitTold(WatchReady, 1)
	r.current()
	if said := index.Announcement(o.Dir); said != "" {
		t.Errorf("of a complete index, %q is announced", said)
	}
}
