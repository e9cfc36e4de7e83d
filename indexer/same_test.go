package indexer

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"pigrep/internal/content"
	"pigrep/internal/session"
)

// A deep check tells apart all that is stored, and only that.
func TestSameAsStored(t *testing.T) {
	node := session.Node{ID: "a", Type: "message", Line: 1, Length: 10}
	rec := func() *session.Record {
		r := &session.Record{Nodes: []session.Node{node}, Labels: map[string]string{"a": "x"}, Blocks: []uint64{7}}
		r.Path, r.Entries = "/s.jsonl", 1
		return r
	}
	empty := rec()
	empty.Problems, empty.Models = []session.Problem{}, []string{}
	if !sameRecord(rec(), empty) {
		t.Error("a nil list is not an empty one")
	}
	for name, change := range map[string]func(*session.Record){
		"node":    func(r *session.Record) { r.Nodes[0].Offset++ },
		"label":   func(r *session.Record) { r.Labels["a"] = "y" },
		"block":   func(r *session.Record) { r.Blocks[0]++ },
		"problem": func(r *session.Record) { r.Problems = append(r.Problems, session.Problem{Reason: "no JSON"}) },
		"summary": func(r *session.Record) { r.Entries++ },
	} {
		other := rec()
		if change(other); sameRecord(rec(), other) {
			t.Errorf("another %s is not noticed", name)
		}
	}
	facts := func() *session.Facts {
		return &session.Facts{Usages: make([]session.UsageFact, 1), Calls: []session.CallFact{{Line: "ls"}}}
	}
	if a := facts(); !sameFacts(a, facts()) || !sameFacts(&session.Facts{}, &session.Facts{Usages: []session.UsageFact{}}) {
		t.Error("equal facts differ")
	}
	for name, change := range map[string]func(*session.Facts){
		"usage": func(f *session.Facts) { f.Usages[0].Input++ },
		"call":  func(f *session.Facts) { f.Calls[0].Failed = true },
		"line":  func(f *session.Facts) { f.Calls[0].Line = "rm" },
		"touch": func(f *session.Facts) { f.Touches = make([]session.TouchFact, 1) },
	} {
		other := facts()
		if change(other); sameFacts(facts(), other) {
			t.Errorf("another %s is not noticed", name)
		}
	}
}

// The blocks of a long file are compared where they are mapped, with the same result as by
// reading them. If the file becomes shorter meanwhile, that is a difference, not a crash.
func TestSameBlocks(t *testing.T) {
	const size = 2*blocksEach*session.HashedBlock + 4711
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	rec, m := &session.Record{}, newMarks(session.Volatile{})
	m.add(data)
	m.write(rec)
	rec.Checkpoint.Offset = size
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	compare := func(what string, want bool) {
		t.Helper()
		if same, err := sameBlocks(&content.File{Stored: file}, rec); same != want || err != nil {
			t.Errorf("%s: the same: %t, want %t, %v", what, same, want, err)
		}
	}
	write := func(b byte, at int64) {
		t.Helper()
		if _, err := file.WriteAt([]byte{b}, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	compare("the file that was hashed", true)
	if same, err := sameMapped(file, 0, size, 0, rec.Blocks[:blocksEach]); runtime.GOOS == "linux" && (!same || err != nil) {
		t.Errorf("blocks in memory: the same: %t, %v", same, err)
	}
	for at := int64(session.HashedBlock / 2); at < size; at += session.HashedBlock {
		write(data[at]^1, at)
		compare(fmt.Sprintf("a bit at %d", at), false)
		write(data[at], at)
	}
	write(data[size-1]^1, size-1)
	compare("the last bit", false)
	write(data[size-1], size-1)
	write('x', size)
	compare("one byte more", true)
	for _, shorter := range []int64{size - 1, size / 2, session.HashedBlock + 1, 0} {
		if err := file.Truncate(shorter); err != nil {
			t.Fatal(err)
		}
		compare(fmt.Sprintf("%d bytes", shorter), false)
	}
	if same, err := sameMapped(file, 0, size, 0, rec.Blocks[:blocksEach]); err == nil {
		t.Errorf("blocks of an empty file in memory: the same: %t, want an error", same)
	}
}
