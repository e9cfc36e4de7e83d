package indexer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/lab/testkit"
)

// A watcher hashes all bytes of a long file that grows only when that is due. It then notices
// an edit of old bytes, whether a line is appended or not. A command notices it at once.
func TestLongFileThatGrows(t *testing.T) {
	deferProofs(t)
	testkit.Unraced(t)
	for _, byLine := range []bool{true, false} {
		root := t.TempDir()
		path := filepath.Join(root, "long.jsonl")
		var text bytes.Buffer
		text.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n")
		n, parent := 0, "null"
		line := func(words string) string {
			n++
			s := fmt.Sprintf(`{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":%q}}`+"\n", n, parent, words)
			parent = fmt.Sprintf(`"%08x"`, n)
			return s
		}
		for text.Len() < longFile+1<<20 {
			text.WriteString(line("needle " + strings.Repeat("hay ", 4000)))
		}
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		o := testOptions(t, root).Options
		now := time.Now().Add(time.Hour)
		o.Now = func() time.Time { return now }
		k := keeper{Options: o}
		k.growing = &growing{proofs: make(map[string]proof)}
		defer k.release()
		// pass updates the index as a watcher does, and says what happened to the file.
		pass := func() Step {
			t.Helper()
			now = now.Add(time.Millisecond)
			found := Discover(o.Adapter, o.Roots, nil)
			res := &Result{Found: found, Changes: make(map[Change]int)}
			steps, err := k.update(t.Context(), res, func(ix *index.Writer) []Step { return planFiles(found.Files, found, ix) })
			if err != nil {
				t.Fatal(err)
			}
			return steps[0]
		}
		appended := func(words string) {
			t.Helper()
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(line(words)); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		pass()
		for range 3 {
			appended("more")
			if s := pass(); s.Change != Grown {
				t.Fatalf("a line was appended: %v, %s", s.Change, s.Reason)
			}
			if c := k.writer.Table().Checkpoint(0); c.Ctime != unsettled {
				t.Fatal("the checkpoint claims times, though the bytes were not hashed")
			}
		}
		now, _ = k.growing.next()
		if byLine {
			appended("more")
		}
		k.growing.prove()
		if s := pass(); s.Change != Grown && s.Change != Touched {
			t.Fatalf("nothing was edited: %v, %s", s.Change, s.Reason)
		}
		if !byLine {
			appended("more")
			pass()
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("noodle"), int64(bytes.Index(text.Bytes(), []byte("needle")))); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		appended("and more")
		if s := pass(); s.Change != Grown {
			t.Fatalf("the proof is not due: %v, %s", s.Change, s.Reason)
		}
		command := o
		command.Memory, command.memory = true, memoryLimit{64 << 20, 10}
		res, err := Update(t.Context(), command)
		if err != nil {
			t.Fatal(err)
		}
		if res.Changes[Rewritten] != 1 {
			t.Errorf("a command finds %v, want the edit", res.Changes)
		}
		res.Reader.Close()
		due, ok := k.growing.next()
		if wait := due.Sub(now); !ok || wait <= 0 || wait > time.Second {
			t.Fatalf("the proof is due in %v, %t", wait, ok)
		}
		now = due
		if byLine {
			appended("still more")
		} else if paths := k.growing.prove(); len(paths) != 1 || paths[0] != path {
			t.Fatalf("to be hashed: %v", paths)
		}
		if s := pass(); s.Change != Rewritten {
			t.Errorf("after the proof was due, by a line %t: %v, %s", byLine, s.Change, s.Reason)
		}
		if c := k.writer.Table().Checkpoint(0); c.Ctime == unsettled {
			t.Error("the checkpoint claims no times, though the bytes were hashed")
		}
	}
}
