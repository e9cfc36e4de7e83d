package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/lab/corpus"
	"pigrep/lab/stories"
)

// benchBytes is the size of the session files that the benchmarks search. Set
// PIGREP_BENCH_INDEX to the directory of an index to search that one instead.
const benchBytes = 24 << 20

func benchLibrary(b *testing.B) *library {
	if dir := os.Getenv("PIGREP_BENCH_INDEX"); dir != "" {
		return &library{stories.Open(b, dir), b}
	}
	l := newLibrary(b)
	root := filepath.Join(l.Dir, "made")
	if _, err := corpus.Generate(root, corpus.Options{Seed: 1, Bytes: benchBytes}); err != nil {
		b.Fatal(err)
	}
	batch := index.NewBatch()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		l.AddTo(batch, path, string(text))
		if batch.Size() > benchBytes/8 {
			l.Commit(batch)
			batch = index.NewBatch()
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	l.Commit(batch)
	return l
}

func BenchmarkSearch(b *testing.B) {
	l := benchLibrary(b)
	for _, c := range []struct{ name, text string }{
		{"rare", "connectionTimeout"},
		{"1word", "error"},
		{"3words", "connection timeout retry"},
		{"5words", "config token login refresh error"},
		{"filtered", "kind:prompt error"},
		{"prefix", "conn*"},
		{"typo", "conection"},
		{"path", "src/main.go"},
		{"identifier", "readRequestLine"},
		{"phrase", `"return nil"`},
		{"absent phrase", `"timeout retry"`},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(context.Background(), l.Reader, pi.New(), Disk{}, Request{Text: c.text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
