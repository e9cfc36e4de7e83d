package index_test

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// benchIndex publishes an index of so many files with so many documents each.
func benchIndex(b *testing.B, files, documents int) (string, *index.Writer) {
	dir := b.TempDir()
	w := openWriter(b, dir)
	for done := 0; done < files; {
		batch := index.NewBatch()
		for range min(files-done, 1000) {
			file := w.NextFile()
			list := make([]string, documents)
			for j := range list {
				list[j] = fmt.Sprint("common words of a document ", j%100, " in ", file%50, strings.Repeat(" filler", j%20))
			}
			putFile(batch, file, fmt.Sprintf("/home/user/.pi/agent/sessions/--home-user-src-app--/2026-01-02T03-04-05-678Z_%032x.jsonl", file), list...)
			done++
		}
		commit(b, w, batch)
	}
	publish(b, w)
	return dir, w
}

func BenchmarkOpen(b *testing.B) {
	for _, files := range []int{100, 700, 10_000} {
		b.Run(fmt.Sprint(files, "-files"), func(b *testing.B) {
			dir, _ := benchIndex(b, files, 1)
			for b.Loop() {
				r, err := index.Open(dir)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One document is added to one file, and a reader can find it.
func BenchmarkCommitPublish(b *testing.B) {
	for _, files := range []int{100, 700, 10_000} {
		b.Run(fmt.Sprint(files, "-files"), func(b *testing.B) {
			_, w := benchIndex(b, files, 1)
			n := int64(0)
			for b.Loop() {
				n++
				batch := index.NewBatch()
				batch.Add(&segment.Document{ID: segment.ID{File: 1, Offset: 100 * n}, Kind: session.KindReply, Text: []byte("appended words")})
				batch.Put(&session.Record{Summary: session.Summary{File: 1, Path: "/1", Documents: int(n) + 1}}, nil)
				commit(b, w, batch)
				publish(b, w)
			}
		})
	}
}

// Publishing when nothing was added, which renews the store for Bleve.
func BenchmarkStore(b *testing.B) {
	dir, w := benchIndex(b, 30_000, 20) // in 30 segments
	r, err := index.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.Logf("%d segments", len(r.Segments()))
	for b.Loop() {
		publish(b, w)
		w.Settle()
	}
}
