package indexer_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/indexer"
)

// An update reads only new bytes.
func ExampleUpdate() {
	dir, err := os.MkdirTemp("", "indexer")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "sessions")
	if err := os.Mkdir(root, 0o755); err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(root, "a.jsonl")
	add := func(line string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		fmt.Fprintln(f, line)
	}
	update := func() {
		res, err := indexer.Update(context.Background(), indexer.Options{
			Dir: filepath.Join(dir, "index"), Adapter: pi.New(), Roots: []adapter.Root{{Path: root, Origin: "example"}},
			Now: time.Now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
		})
		if err != nil {
			log.Fatal(err)
		}
		defer res.Reader.Close()
		fmt.Println(res.Changes, res.BytesRead, "bytes,", res.Entries, "entries; complete:", res.Complete())
	}
	add(`{"type":"session","version":3,"id":"01a1","timestamp":"2026-01-15T10:30:00.000Z","cwd":"/home/u/app"}`)
	add(`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-15T10:30:03.000Z","message":{"role":"user","content":"why?"}}`)
	update()
	add(`{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-15T10:30:05.000Z","message":{"role":"user","content":"and how?"}}`)
	update()
	// Output:
	// map[new:1] 229 bytes, 1 entries; complete: true
	// map[grown:1] 131 bytes, 1 entries; complete: true
}
