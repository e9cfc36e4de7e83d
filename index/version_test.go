package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pigrep/index/segment"
)

// An index of another version is left as it is, until the caller wants a rebuild.
func TestOtherVersionOnDisk(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenWriter(dir, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := w.Publish()
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(w.published.path, manifestName)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, fmt.Appendf(nil, "pigrep index %d\nwhatever it says then\n", SchemaVersion+1), fileMode); err != nil {
		t.Fatal(err)
	}

	if _, err := Open(dir); !errors.Is(err, ErrVersion) {
		t.Errorf("Open: %v, want ErrVersion", err)
	}
	if _, err := OpenWriter(dir, WriterOptions{}); !errors.Is(err, ErrVersion) {
		t.Fatalf("OpenWriter: %v, want ErrVersion", err)
	}
	if _, err := OpenWriter(dir, WriterOptions{}); !errors.Is(err, ErrVersion) {
		t.Fatalf("OpenWriter again: %v, want ErrVersion", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, segmentsName)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWriter(dir, WriterOptions{}); !errors.Is(err, ErrVersion) {
		t.Fatalf("OpenWriter once more: %v, want ErrVersion", err)
	}
	if _, err := os.Stat(filepath.Join(dir, segmentsName)); err == nil {
		t.Error("something was made in an index of another version")
	}
	w, err = OpenWriter(dir, WriterOptions{Rebuild: true})
	if err != nil {
		t.Fatalf("OpenWriter with Rebuild: %v", err)
	}
	defer w.Close()
	if next, err := w.Publish(); err != nil || next.Number <= first.Number {
		t.Errorf("Publish = %d, %v, want more than %d", next.Number, err, first.Number)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatalf("Open after the rebuild: %v", err)
	}
	_ = r.Close()
}

func TestManifestRoundTrip(t *testing.T) {
	want := &generation{ID: ID{Number: 3}, files: []listedFile{{"000000000001.zap", segment.Fingerprint{Size: 4711, Hash: 99}}, {stateName, segment.Fingerprint{Size: 1}}}}
	text := want.encode()
	got := &generation{ID: ID{Number: 3}}
	if err := got.decode(string(text)); err != nil {
		t.Fatalf("decode: %v\n%s", err, text)
	}
	if !bytes.Equal(got.encode(), text) || len(got.files) != 2 {
		t.Errorf("decode: %+v, want %+v", got, want)
	}
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if err := new(generation).decode(string(damaged)); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Errorf("decode with byte %d changed: %v", i, err)
		}
		if err := new(generation).decode(string(text[:i])); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Errorf("decode of %d bytes: %v", i, err)
		}
	}
}
