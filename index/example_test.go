package index_test

import (
	"fmt"
	"log"
	"os"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// A writer commits the documents of a file with its record and publishes them;
// a reader finds them.
func Example() {
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := index.OpenWriter(dir, index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	b := index.NewBatch()
	file := w.NextFile()
	tokens := b.Add(&segment.Document{
		ID:   segment.ID{File: file, Offset: 120},
		Kind: session.KindPrompt,
		Text: []byte("Why does the connection time out?"),
	})
	b.Put(&session.Record{Summary: session.Summary{File: file, Path: "a.jsonl", Documents: 1, Tokens: uint64(tokens)}}, nil)
	if err := w.Commit(b); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Publish(); err != nil {
		log.Fatal(err)
	}

	r, err := index.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, s := range r.Segments() {
		p := s.Postings(segment.FieldText, []byte("connection"))
		for {
			doc, freq, length, ok := p.Next()
			if !ok {
				break
			}
			fmt.Printf("%v: %d of %d tokens\n", s.ID(doc), freq, length)
		}
	}
	if err := r.Fault(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 000001:0000000078:0000: 1 of 6 tokens
}
