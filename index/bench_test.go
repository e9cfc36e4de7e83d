package index_test

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/index"
	"pigrep/internal/session"
)

// benchIndex publishes an index of so many files with so many documents each.
func benchIndex(b *testing.B, files, documents int) (string, *index.Writer) {
	dir := b.TempDir()
	w := openWriter(b, dir)
	for done := 0; done < files; {
		batch := w.NewBatch()
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
				batch := w.NewBatch()
				batch.Add(&index.Document{ID: index.ID{File: 1, Offset: 100 * n}, Kind: session.KindReply, Text: []byte("appended words")})
				batch.Put(&session.Record{Summary: session.Summary{File: 1, Path: "/1", Documents: int(n) + 1}}, nil)
				commit(b, w, batch)
				publish(b, w)
			}
		})
	}
}

func BenchmarkPostings(b *testing.B) {
	dir, _ := benchIndex(b, 200, 500)
	r := openReader(b, dir)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = 0
		for _, s := range r.Segments() {
			p, err := s.Postings(index.FieldText, []byte("common"))
			if err != nil {
				b.Fatal(err)
			}
			for {
				if _, _, _, ok := p.Next(); !ok {
					break
				}
				n++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/posting")
}

func BenchmarkPostingsBlocks(b *testing.B) {
	dir, _ := benchIndex(b, 200, 500)
	r := openReader(b, dir)
	n, sum := 0, uint32(0)
	for b.Loop() {
		n = 0
		for _, s := range r.Segments() {
			p, err := s.Postings(index.FieldText, []byte("common"))
			if err != nil {
				b.Fatal(err)
			}
			for {
				docs, freqs, lengths := p.NextBlock()
				if len(docs) == 0 {
					break
				}
				for i := range docs {
					sum += freqs[i] + lengths[i]
				}
				n += len(docs)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/posting")
	_ = sum
}

func BenchmarkCopies(b *testing.B) {
	dir := b.TempDir()
	w := openWriter(b, dir)
	batch := w.NewBatch()
	const n = 100_000
	for i := range n {
		batch.Add(&index.Document{ID: index.ID{File: 1, Offset: int64(i)}, Copy: uint64(i)*0x9e3779b97f4a7c15 + 1})
	}
	batch.Put(&session.Record{Summary: session.Summary{File: 1, Documents: n}}, nil)
	commit(b, w, batch)
	publish(b, w)
	r := openReader(b, dir)
	for b.Loop() {
		for _, s := range r.Segments() {
			docs := make([]uint32, s.Len())
			for i := range docs {
				docs[i] = uint32(i)
			}
			if err := s.Copies(docs, func(uint32, uint64) {}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/document")
}
