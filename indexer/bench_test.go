package indexer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pigrep/indexer"
)

// The cost of every query before it begins: comparing the files with an index that is
// up to date.
func BenchmarkNothingChanged(b *testing.B) {
	for _, n := range []int{700, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o, _ := indexed(b, n)
			b.ReportAllocs()
			for b.Loop() {
				res, err := indexer.Update(context.Background(), o)
				if err != nil || res.BytesRead != 0 || !res.Complete() {
					b.Fatalf("%v, %d bytes read, complete %v", err, res.BytesRead, res.Complete())
				}
				res.Reader.Close()
			}
		})
	}
}

// One line is appended to one file, and the updated index is opened.
func BenchmarkLineAppended(b *testing.B) {
	o, files := indexed(b, 700)
	line := []byte(`{"type":"message","id":"ffffffff","parentId":null,"timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"one more"}}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.OpenFile(files[0], os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			b.Fatal(err)
		}
		_, err = f.Write(line)
		if err := errors.Join(err, f.Close()); err != nil {
			b.Fatal(err)
		}
		res, err := indexer.Update(context.Background(), o)
		if err != nil || res.Entries != 1 || !res.Complete() {
			b.Fatalf("%v, %d entries read, complete %v", err, res.Entries, res.Complete())
		}
		res.Reader.Close()
	}
}

// indexed creates and indexes a number of small files with old times.
func indexed(b *testing.B, n int) (o indexer.Options, files []string) {
	root, dir := b.TempDir(), filepath.Join(b.TempDir(), "index")
	for i := range n {
		sub := filepath.Join(root, fmt.Sprintf("--p-%d--", i%100))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		files = append(files, filepath.Join(sub, fmt.Sprintf("%d.jsonl", i)))
		if err := os.WriteFile(files[i], lines(2, 20), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	o = options(dir, root)
	o.Now = later
	res, err := indexer.Update(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	res.Reader.Close()
	return o, files
}
