package indexer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/internal/session"
)

// broken is an adapter with a bug.
type broken struct{ adapter.Adapter }

func (b broken) Parse(s adapter.State) adapter.Parser { return brokenParser{b.Adapter.Parse(s)} }

type brokenParser struct{ adapter.Parser }

func (brokenParser) Parse(adapter.Line, func(*session.Entry)) []adapter.ParseError { panic("a bug") }

// A panic while reading a file is an error that names the file: the program goes on,
// and the lock is released.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "a.jsonl")
	if err := os.WriteFile(path, []byte(`{"type":"session","version":3,"id":"a","cwd":"/a"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(filepath.Join(t.TempDir(), "index"), root)
	o.Adapter = broken{o.Adapter}
	if _, err := indexer.Update(t.Context(), o); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "a bug") {
		t.Errorf("got %v, want an error that names %s and the bug", err, path)
	}
	o.Adapter = pi.New()
	update(t, o)
}
