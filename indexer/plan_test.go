package indexer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index/record"
	"pigrep/indexer"
	"pigrep/internal/session"
)

func options(dir, root string) indexer.Options {
	return indexer.Options{
		Dir: dir, Adapter: pi.New(), Roots: []adapter.Root{{Path: root}}, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), PID: 1,
	}
}

func update(t *testing.T, o indexer.Options) *indexer.Result {
	t.Helper()
	res, err := indexer.Update(context.Background(), o)
	if err != nil {
		t.Fatalf("update: %v", err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	return res
}

// lines returns a session file of n messages, each of about the given size.
func lines(n, size int) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, `{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/p"}`)
	for i := range n {
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"word%d %s"}}`+"\n", i, i, strings.Repeat("x ", size/2))
	}
	return b.Bytes()
}

// One function decides what happened to a file. It recognizes every way in which a
// file can change.
func TestWhatHappenedToAFile(t *testing.T) {
	const size = 3 * session.HashedBlock / 2
	base := lines(300, size/300)
	flip := func(at int) []byte {
		data := bytes.Clone(base)
		data[at] ^= 1
		return data
	}
	line := base[bytes.LastIndexByte(base[:len(base)-1], '\n')+1:]
	for _, test := range []struct {
		name   string
		change func(path string) error
		want   indexer.Change
	}{
		{"nothing", func(string) error { return nil }, indexer.Unchanged},
		{"other times", func(p string) error { return os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0)) }, indexer.Touched},
		{"the same bytes in another file", func(p string) error { return replace(p, base) }, indexer.Touched},
		{"a line more", write(append(bytes.Clone(base), line...)), indexer.Grown},
		{"half a line more", write(append(bytes.Clone(base), line[:20]...)), indexer.Grown},
		{"one bit at the start", write(flip(5)), indexer.Rewritten},
		{"one bit in the first block", write(flip(session.HashedBlock / 2)), indexer.Rewritten},
		{"one bit in the last block", write(flip(len(base) - 9)), indexer.Rewritten},
		{"one bit in the first block, and a line more", write(append(flip(session.HashedBlock/2), line...)), indexer.Rewritten},
		{"one bit in the middle of the last block, and a line more", write(append(flip(session.HashedBlock+session.HashedBlock/4), line...)), indexer.Rewritten},
		{"one bit in another file, and a line more", func(p string) error {
			return replace(p, append(flip(session.HashedBlock/2), line...))
		}, indexer.Rewritten},
		{"the same bytes in another file, and a line more", func(p string) error { return replace(p, append(bytes.Clone(base), line...)) }, indexer.Grown},
		{"one bit in the first block, with the times set back", func(p string) error {
			info, err := os.Stat(p)
			if err != nil {
				return err
			}
			if err := write(flip(session.HashedBlock / 2))(p); err != nil {
				return err
			}
			return os.Chtimes(p, info.ModTime(), info.ModTime())
		}, indexer.Rewritten},
		{"one bit at the start, and a line more", write(append(flip(5), line...)), indexer.Rewritten},
		{"one bit before the checkpoint, and a line more", write(append(flip(len(base)-9), line...)), indexer.Rewritten},
		{"a line less", write(base[:len(base)-len(line)]), indexer.Truncated},
		{"empty", write(nil), indexer.Truncated},
		{"gone", os.Remove, indexer.Gone},
		{"a directory in its place", func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.Mkdir(p, 0o755)
		}, indexer.Gone},
	} {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(test.name, "times set back") {
				t.Skip("Go does not say when a file on Windows was changed whose time was set back")
			}
			t.Parallel()
			root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
			path := filepath.Join(root, "s.jsonl")
			if err := write(base)(path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(15 * time.Millisecond) // until the file's times prove it unchanged; see settle
			first := update(t, options(dir, root))
			if err := test.change(path); err != nil {
				t.Fatal(err)
			}
			o := options(dir, root)
			steps := indexer.Plan(indexer.Discover(o.Adapter, o.Roots, nil), first.Reader)
			if len(steps) != 1 || steps[0].Change != test.want {
				t.Fatalf("plan = %v, want %v", steps, test.want)
			}
			if (steps[0].Reason == "") != (test.want == indexer.Unchanged) {
				t.Errorf("reason = %q", steps[0].Reason)
			}
			res := update(t, options(dir, root))
			if test.want != indexer.Gone && res.Changes[test.want] != 1 {
				t.Errorf("update made of it %v, want %v", res.Changes, test.want)
			}
			if !res.Complete() {
				t.Errorf("not complete: %d files pending, errors %v", res.Lag.Files, res.Errors)
			}
		})
	}
}

func write(data []byte) func(string) error {
	return func(path string) error { return os.WriteFile(path, data, 0o644) }
}

func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// A file far larger than a batch is committed in pieces. An interruption keeps the
// committed ones.
func TestInterruptedAndResumed(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	data := lines(2000, 500)
	if err := write(data)(filepath.Join(root, "s.jsonl")); err != nil {
		t.Fatal(err)
	}
	o := options(dir, root)
	o.BatchBytes = 100_000
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(p indexer.Progress) {
		if p.Bytes > int64(len(data)/2) {
			cancel()
		}
	}
	res, err := indexer.Update(ctx, o)
	if err != context.Canceled {
		t.Fatalf("update: %v, want it canceled", err)
	}
	kept := res.Reader.Documents()
	res.Reader.Close()
	if kept < 900 || kept >= 2000 || res.Complete() || res.Lag.Bytes < int64(len(data)/3) {
		t.Fatalf("%d documents kept, %d files and %d bytes pending", kept, res.Lag.Files, res.Lag.Bytes)
	}
	o.Progress = nil
	res = update(t, o)
	if res.Reader.Documents() != 2000 || !res.Complete() {
		t.Errorf("%d documents after resuming, want 2000", res.Reader.Documents())
	}
	if res.BytesRead > int64(len(data)*2/3) {
		t.Errorf("resuming read %d bytes of %d again", res.BytesRead, len(data))
	}
}

// Files in a directory that cannot be listed keep their documents.
func TestUnreadableDirectoryLosesNothing(t *testing.T) {
	known := fakeIndex{{Path: "/r/closed/a.jsonl"}, {Path: "/r/open/b.jsonl"}}
	found := &indexer.Found{Unreadable: []indexer.FileError{{Path: "/r/closed", Err: os.ErrPermission}}}
	got := make(map[string]indexer.Change)
	for _, s := range indexer.Plan(found, known) {
		got[s.File.Path] = s.Change
	}
	if got["/r/closed/a.jsonl"] != indexer.Unreadable || got["/r/open/b.jsonl"] != indexer.Gone {
		t.Errorf("plan = %v", got)
	}
	if lag := indexer.Behind(found, known.Table()); lag.Files != 1 {
		t.Errorf("%d files look changed, want the one that is gone", lag.Files)
	}
}

type fakeIndex []session.Summary

func (f fakeIndex) Table() *record.Table {
	var put []*session.Summary
	for i := range f {
		f[i].File = uint32(i + 1)
		put = append(put, &f[i])
	}
	return new(record.Table).With(put, func(uint32) bool { return false }, 0)
}

func (f fakeIndex) Summaries() []session.Summary                     { return f }
func (f fakeIndex) RecordToContinue(uint32) (*session.Record, error) { return nil, os.ErrNotExist }
