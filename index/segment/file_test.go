package segment

import (
	"os"
	"path/filepath"
	"testing"
)

// openFile writes the documents as a segment file and opens it as a reader does.
func openFile(t testing.TB, docs ...Document) *Segment {
	t.Helper()
	a := NewAccumulator()
	for i := range docs {
		a.Add(&docs[i])
	}
	return openAccumulated(t, a)
}

func openAccumulated(t testing.TB, a *Accumulator) *Segment {
	t.Helper()
	image, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	return openImage(t, image)
}

// openImage writes an image to a file and opens that until the test ends.
func openImage(t testing.TB, image *Image) *Segment {
	t.Helper()
	path := filepath.Join(t.TempDir(), "1"+Ext)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := image.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	Share([]*Segment{s}, func() []Duplicates { return nil })
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// textDocuments makes a document of each text.
func textDocuments(texts ...string) []Document {
	docs := make([]Document, len(texts))
	for i, text := range texts {
		docs[i] = Document{ID: ID{File: 1, Offset: int64(i)}, Text: []byte(text)}
	}
	return docs
}
