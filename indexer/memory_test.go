package indexer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/testkit"
)

// A large file that has to be read from the start is indexed on disk, even if the little
// that was appended or cut off would fit into memory.
func TestTooMuchForMemory(t *testing.T) {
	testkit.Unraced(t)
	original := lines(60, 300<<10) // 18 MB
	edited := bytes.Replace(original, []byte("x"), []byte("y"), 1)
	for name, data := range map[string][]byte{
		"truncated":          original[:len(original)-1000],
		"edited":             edited,
		"edited and grown":   append(bytes.Clone(edited), '\n'),
		"many small changes": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
			path := filepath.Join(root, "a.jsonl")
			change := func(path string, data []byte) {
				if err := write(data)(path); err != nil {
					t.Fatal(err)
				}
			}
			o := options(dir, root)
			if data == nil {
				// Each file is small, and all together are too much.
				for _, name := range "abcdefghij" {
					change(filepath.Join(root, string(name)+".jsonl"), lines(4, 300<<10))
				}
				update(t, o)
				for _, name := range "abcdefghij" {
					change(filepath.Join(root, string(name)+".jsonl"), lines(3, 300<<10))
				}
			} else {
				change(path, original)
				update(t, o)
				change(path, data)
			}
			o.Memory = true
			var last indexer.Progress
			o.Progress = func(p indexer.Progress) { last = p }
			r := update(t, o)
			if last.Bytes != last.BytesTotal {
				t.Errorf("progress: %d of %d bytes", last.Bytes, last.BytesTotal)
			}
			if r.InMemory != (indexer.Lag{}) || !r.Complete() {
				t.Errorf("in memory: %+v, complete %t; want everything on disk", r.InMemory, r.Complete())
			}
			changed := r.Changes[indexer.Truncated] + r.Changes[indexer.Rewritten]
			if want := max(1, len(r.Found.Files)); changed != want || r.Changes[indexer.Unchanged] != 0 {
				t.Errorf("changes %v, want %d files read from the start", r.Changes, want)
			}
			o.Memory = false
			if again := update(t, o).Changes; again[indexer.Truncated]+again[indexer.Rewritten]+again[indexer.New] != 0 {
				t.Errorf("the next update changed %v", again)
			}
		})
	}
}

// What is in memory is not committed to another index with a generation of the same number.
func TestNotCommittedToAnotherIndex(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The promise is about removing an index in use, which Windows refuses.
		t.Skip("on Windows an index that is open cannot be removed")
	}
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	file := func(name string, data []byte) {
		t.Helper()
		if err := write(data)(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, root)
	o.Workers = 1 // for the same number of commits
	file("a.jsonl", lines(3, 20))
	file("b.jsonl", lines(4, 20))
	first := update(t, o).Reader.Generation()
	file("a.jsonl", lines(2, 20)) // truncated, so that committing pays off

	o.Memory = true
	r := update(t, o)
	if r.InMemory.Files != 1 {
		t.Fatalf("in memory: %+v, want 1 file", r.InMemory)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	file("c.jsonl", lines(7, 20))
	o.Memory = false
	if second := update(t, o).Reader.Generation(); second != first {
		t.Fatalf("generations %d and %d, want the same number for both", first, second)
	}
	if err := r.Commit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	reader, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var got []string
	for _, s := range reader.Summaries() {
		got = append(got, filepath.Base(s.Path))
	}
	if len(got) != 2 || got[0] != "a.jsonl" || got[1] != "c.jsonl" {
		t.Errorf("files %q", got)
	}
	o.Dir = filepath.Join(t.TempDir(), "index")
	if fresh := update(t, o).Reader; fresh.Documents() != reader.Documents() || fresh.Tokens() != reader.Tokens() {
		t.Errorf("%d documents with %d tokens, a new index has %d with %d", reader.Documents(), reader.Tokens(), fresh.Documents(), fresh.Tokens())
	}
}
