package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pigrep/index"
	"pigrep/indexer"
)

// updateInMemory is update while another process holds the lock of the index.
func updateInMemory(t testing.TB, dir, root string) *indexer.Result {
	t.Helper()
	w, err := index.OpenWriter(dir, index.WriterOptions{PID: 4321})
	if errors.Is(err, index.ErrVersion) || errors.Is(err, index.ErrDamaged) {
		w, err = index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before, err := index.Newest(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := options(dir, root)
	o.Memory = true
	res, err := indexer.Update(context.Background(), o)
	if err != nil {
		t.Fatalf("update while another process writes: %v", err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	if now, err := index.Newest(dir); err != nil || now != before {
		t.Fatalf("generation %d became %d, %v", before, now, err)
	}
	return res
}

// compareInMemory fails unless what is answered from memory equals a fresh build.
func compareInMemory(t testing.TB, what, dir, root string) {
	t.Helper()
	res := updateInMemory(t, dir, root)
	if !res.Complete() {
		t.Fatalf("%s: not complete: %+v, errors %v", what, res.Lag, res.Errors)
	}
	compareWithFresh(t, what, res.Reader, root)
}

// A search is never behind, whoever holds the lock of the index, and whether or not there
// is one: what is pending is indexed in memory, and equals a fresh build.
func TestInMemory(t *testing.T) {
	t.Parallel()
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	write := func(name, data string) {
		t.Helper()
		writeInPlace(t, filepath.Join(root, name), []byte(data))
		letTimesSettle()
	}
	call := `{"type":"message","id":"c","parentId":"1","timestamp":"2026-01-02T03:07:00.000Z","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"make"}}],"usage":{"input":1,"output":2,"cost":{"total":0.5}}}}` + "\n"
	result := `{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-02T03:08:00.000Z","message":{"role":"toolResult","toolCallId":"t","toolName":"bash","content":[{"type":"text","text":"made"}]}}` + "\n"

	write("a.jsonl", header("a")+message(1, "", "alpha"))
	compareInMemory(t, "no index yet", dir, root)

	write("b.jsonl", header("b")+message(1, "", "beta")+call)
	write("gone.jsonl", header("gone")+message(1, "", "gamma"))
	write("short.jsonl", header("short")+message(1, "", "delta")+message(2, "1", "epsilon"))
	write("torn.jsonl", header("torn")+message(1, "", "zeta")[:60])
	update(t, dir, root)
	compareInMemory(t, "nothing pending", dir, root)

	write("b.jsonl", header("b")+message(1, "", "beta")+call+result+message(9, "1", "eta"))
	write("short.jsonl", header("short")+message(1, "", "delta"))
	write("a.jsonl", header("a")+message(1, "", "omega"))
	write("torn.jsonl", header("torn")+message(1, "", "zeta")+message(2, "1", "theta")[:50])
	write("copy.jsonl", header("copy")+message(1, "", "beta")+call)
	if err := os.Remove(filepath.Join(root, "gone.jsonl")); err != nil {
		t.Fatal(err)
	}
	compareInMemory(t, "appended, truncated, rewritten, torn, new and deleted files", dir, root)
	res := updateInMemory(t, dir, root)
	if res.InMemory.Files != 6 {
		t.Errorf("%d files in memory, want 6", res.InMemory.Files)
	}

	// Committing what is in memory leaves nothing to do, and the index equals a fresh one.
	commit := func(res *indexer.Result) *index.Reader {
		t.Helper()
		if err := res.Commit(context.Background(), options(dir, root)); err != nil {
			t.Fatal(err)
		}
		after := update(t, dir, root)
		if n := after.Changes[indexer.Unchanged]; n != 5 || after.BytesRead > 0 {
			t.Errorf("after the commit %d files are unchanged and %d bytes were read; want 5 and 0", n, after.BytesRead)
		}
		return after.Reader
	}
	compareWithFresh(t, "committed", commit(res), root)

	// If another process has indexed more in between, the commit must not undo or repeat that.
	write("a.jsonl", header("a")+message(1, "", "alpha"))
	late := updateInMemory(t, dir, root)
	write("b.jsonl", header("b")+message(1, "", "beta"))
	update(t, dir, root)
	compareWithFresh(t, "committed late", commit(late), root)
}
