package segment

import (
	"fmt"
	"strings"
	"testing"
)

func benchSegment(b *testing.B) *Segment {
	docs := make([]Document, 100_000)
	for i := range docs {
		text := fmt.Sprint("common words of a document ", i%100, " in ", i%50, strings.Repeat(" filler", i%20))
		docs[i] = Document{ID: ID{File: uint32(i / 500), Offset: int64(i)}, Text: []byte(text)}
	}
	return openFile(b, docs...)
}

func BenchmarkPostings(b *testing.B) {
	s := benchSegment(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = 0
		p := s.Postings(FieldText, []byte("common"))
		for {
			if _, _, _, ok := p.Next(); !ok {
				break
			}
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/posting")
}

func BenchmarkPostingsBlocks(b *testing.B) {
	s := benchSegment(b)
	n, sum := 0, uint32(0)
	for b.Loop() {
		n = 0
		p := s.Postings(FieldText, []byte("common"))
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
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/posting")
	_ = sum
}

func BenchmarkEntryHashes(b *testing.B) {
	const n = 100_000
	list, docs := make([]Document, n), make([]uint32, n)
	for i := range list {
		list[i] = Document{ID: ID{File: 1, Offset: int64(i)}, Copy: uint64(i)*0x9e3779b97f4a7c15 + 1}
		docs[i] = uint32(i)
	}
	s := openFile(b, list...)
	for b.Loop() {
		s.EntryHashes(docs, func(uint32, uint64) {})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/document")
}
