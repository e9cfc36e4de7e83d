package indexer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pigrep/indexer"
)

// What every query pays before it begins: comparing files with an index that
// has nothing to learn.
func BenchmarkNothingChanged(b *testing.B) {
	for _, n := range []int{700, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root, dir := b.TempDir(), filepath.Join(b.TempDir(), "index")
			for i := range n {
				sub := filepath.Join(root, fmt.Sprintf("--p-%d--", i%100))
				if err := os.MkdirAll(sub, 0o755); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("%d.jsonl", i)), lines(2, 20), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			o := options(dir, root)
			for range 2 { // the second settles the files that were too young
				res, err := indexer.Update(context.Background(), o)
				if err != nil {
					b.Fatal(err)
				}
				res.Reader.Close()
			}
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
