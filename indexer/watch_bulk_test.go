package indexer

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/index"
)

// parsing is an adapter that calls a function before it parses a file.
type parsing struct {
	adapter.Agent
	before func()
}

func (p parsing) Parse(s adapter.State) adapter.Parser {
	p.before()
	return p.Agent.Parse(s)
}

// A watch goes on after updates of any size. Files that are renamed, rewritten, removed or
// added while a bulk is being indexed are noticed.
func TestWatchOfBulks(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The promise is about files that go away while they are read, which Windows refuses.
		t.Skip("Windows removes no file that is being read")
	}
	t.Parallel()
	root := t.TempDir()
	file := func(name string) string { return filepath.Join(root, name+".jsonl") }
	for _, name := range []string{"grows", "moves", "shrinks", "goes"} {
		write(t, file(name), 20)
	}
	var once sync.Once
	o := testOptions(t, root)
	o.BulkBytes, o.Workers = 1, 1
	o.Adapter = parsing{o.Adapter.(adapter.Agent), func() {
		once.Do(func() {
			if err := os.Rename(file("moves"), file("moved")); err != nil {
				t.Error(err)
			}
			if err := os.Remove(file("goes")); err != nil {
				t.Error(err)
			}
			write(t, file("shrinks"), 5)
			write(t, file("grows"), 30)
			write(t, file("comes"), 3)
		})
	}}
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	r.current()
	updates := len(r.told(WatchUpdated))
	write(t, file("later"), 4)
	r.waitTold(WatchUpdated, updates+1)
	r.current()
	reader, err := index.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, want := reader.Documents(), 20+5+30+3+4; got != want {
		t.Errorf("%d documents, want %d", got, want)
	}
	if failed := r.told(WatchFailed); len(failed) > 0 {
		t.Errorf("failures told: %v", failed)
	}
	if w, err := WatcherOf(o.Dir, time.Now()); err != nil || w == nil || w.Stuck(time.Now()) {
		t.Errorf("others see %+v, %v", w, err)
	}
}
