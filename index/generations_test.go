package index_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"pigrep/index"
	"pigrep/index/segment"
)

// What was committed and not published is what the next writer continues from, and
// what readers see when it is published.
func TestCommittedNotPublished(t *testing.T) {
	dir := t.TempDir()
	put := func(w *index.Writer, path string) {
		b := index.NewBatch()
		putFile(b, w.NextFile(), path, "some words")
		commit(t, w, b)
	}
	sees := func(want int) {
		t.Helper()
		if got := found(t, openReader(t, dir), segment.FieldText, "words"); len(got) != want {
			t.Errorf("words: %v, want %d", got, want)
		}
	}
	w := openWriter(t, dir)
	put(w, "/a")
	first := publish(t, w)
	if again := publish(t, w); again != first {
		t.Errorf("published again without a change: %d after %d", again, first)
	}
	put(w, "/b")
	put(w, "/c")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sees(1)
	w = openWriter(t, dir)
	if n := len(w.Summaries()); n != 3 {
		t.Errorf("%d files, want 3", n)
	}
	if second := publish(t, w); second <= first {
		t.Errorf("published as %d after %d", second, first)
	}
	sees(3)
}

// Publishing removes what a crash has left, and keeps what readers may use.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	if err := openWriter(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	left := []string{"gen-000099.tmp/state", "segments/0000000000ff.zap", "segments/0000000000fe.tri"}
	for _, name := range left {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := openWriter(t, dir)
	var readers []*index.Reader
	for i := range 8 {
		b := index.NewBatch()
		if i > 0 {
			b.DeleteFile(uint32(i))
		}
		putFile(b, w.NextFile(), fmt.Sprint("/", i), "words")
		commit(t, w, b)
		publish(t, w)
		readers = append(readers, openReader(t, dir))
	}
	read := func() {
		for _, r := range readers {
			if got := found(t, r, segment.FieldText, "words"); len(got) != 1 {
				t.Errorf("generation %d: %v, want one", r.Generation(), got)
			}
		}
	}
	read()
	if runtime.GOOS == "windows" { // which removes no file that is open: the next publish does
		for _, r := range readers {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		readers = nil
		publish(t, w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	// Each generation has its own segment.
	if segments, _ := filepath.Glob(filepath.Join(dir, "segments", "*")); len(segments) != 3 {
		t.Errorf("segments of three generations: %v", segments)
	}
	read()
}

// Without its newest generation an index has to be rebuilt.
func TestMissingGeneration(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	number := publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("gen-%06d", number))); err != nil {
		t.Fatal(err)
	}
	if _, err := index.OpenWriter(dir, index.WriterOptions{}); !errors.Is(err, index.ErrDamaged) {
		t.Errorf("OpenWriter: %v, want ErrDamaged", err)
	}
	if _, err := index.Open(dir); !errors.Is(err, index.ErrDamaged) {
		t.Errorf("Open: %v, want ErrDamaged", err)
	}
	w, err := index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
	if err != nil {
		t.Fatalf("OpenWriter with Rebuild: %v", err)
	}
	defer w.Close()
	if next := publish(t, w); next <= number {
		t.Errorf("published as %d after %d", next, number)
	}
	openReader(t, dir)
}

// putOne commits one file with a text.
func putOne(t *testing.T, w *index.Writer, path, text string) {
	t.Helper()
	b := index.NewBatch()
	putFile(b, w.NextFile(), path, text)
	commit(t, w, b)
}

// Generations may have more digits than their names are padded to.
func TestManyGenerations(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	putOne(t, w, "/a", "words")
	number := publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, fmt.Sprintf("gen-%06d", number)), filepath.Join(dir, "gen-999998")); err != nil {
		t.Fatal(err)
	}
	current := fmt.Appendf(nil, "999998 %016x\n", xxhash.Sum64String("999998"))
	if err := os.WriteFile(filepath.Join(dir, "current"), current, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		w := openWriter(t, dir)
		putOne(t, w, fmt.Sprint("/", i), "words")
		if i%2 == 0 {
			publish(t, w)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w = openWriter(t, dir)
	if n := publish(t, w); n != 1_000_002 {
		t.Errorf("published as %d, want 1000002", n)
	}
	if err := w.Close(); err != nil { // which waits until the old ones are gone
		t.Fatal(err)
	}
	r := openReader(t, dir)
	if got := found(t, r, segment.FieldText, "words"); len(got) != 5 {
		t.Errorf("words: %v, want 5", got)
	}
	if n, _, err := r.Generations(); n != 3 || err != nil {
		t.Errorf("Generations = %d, %v, want 3", n, err)
	}
}

// A writer whose directory was deleted leaves the index that another writer made in
// its place alone.
func TestDeletedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	old := openWriter(t, dir)
	putOne(t, old, "/old", "words")
	publish(t, old)
	if err := os.RemoveAll(dir); err != nil {
		t.Skip("Windows deletes no file that is open or mapped, so nobody can do this to a writer")
	}
	w := openWriter(t, dir)
	putOne(t, w, "/new", "words")
	publish(t, w)
	b := index.NewBatch()
	putFile(b, old.NextFile(), "/older", "words")
	if err := old.Commit(b); !errors.Is(err, index.ErrDamaged) {
		t.Errorf("Commit: %v, want ErrDamaged", err)
	}
	if err := old.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	putOne(t, w, "/newer", "words")
	publish(t, w)
	if got := found(t, openReader(t, dir), segment.FieldText, "words"); len(got) != 2 {
		t.Errorf("words: %v, want those of the new index", got)
	}
}

// A reader can be verified when the files that it has open are removed.
func TestVerifyOldGeneration(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	putOne(t, w, "/a", "some words")
	putOne(t, w, "/b", "other words")
	publish(t, w)
	r := openReader(t, dir)
	if err := w.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if errs := r.Verify(t.Context()); len(errs) != 0 {
		t.Errorf("Verify: %v", errs)
	}
}

// What nobody can read takes no space after a rebuild.
func TestRebuildRemovesTheDamaged(t *testing.T) {
	dir := t.TempDir()
	w := openWriter(t, dir)
	putOne(t, w, "/a", "some words")
	number := publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, fmt.Sprintf("gen-%06d", number), "manifest"), 10); err != nil {
		t.Fatal(err)
	}
	w, err := index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
	if err != nil {
		t.Fatal(err)
	}
	putOne(t, w, "/a", "some words")
	publish(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"gen-*", "segments/*"} {
		if list, _ := filepath.Glob(filepath.Join(dir, pattern)); len(list) != 1 {
			t.Errorf("%s: %v, want one", pattern, list)
		}
	}
}

// A published segment with many terms has trigrams beside it, those that went
// missing included.
func TestPublishAddsTrigrams(t *testing.T) {
	dir := tempDir(t)
	w := openWriter(t, dir)
	var text strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&text, "%x ", uint32(i)*0x9e3779b1)
	}
	putOne(t, w, "/many.jsonl", text.String())
	publish(t, w)
	pattern := filepath.Join(dir, "segments", "*.tri")
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("trigrams: %q, %v, want one file", found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	putOne(t, w, "/one.jsonl", "text")
	publish(t, w)
	if _, err := os.Stat(found[0]); err != nil {
		t.Errorf("trigrams that are missing were not made: %v", err)
	}
}
