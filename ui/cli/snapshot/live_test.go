package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/testkit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
)

// writeSessions makes n sessions in a directory.
func writeSessions(t *testing.T, root string, n int) {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"s%06d","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`+"\n"+
			`{"type":"message","id":"e0000001","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"needle%d"}}`+"\n", i, i)
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("s%06d.jsonl", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// openIndex opens the index of so many sessions.
func openIndex(t *testing.T, sessions int) (x *Live, opt indexer.Options) {
	t.Helper()
	home := t.TempDir()
	a := &app.App{
		Process: app.Process{Getenv: func(string) string { return "" }, Now: time.Now, PID: os.Getpid()},
		User:    app.User{Home: home, WorkDir: home},
		Agents:  agents.All(),
	}
	p := &location.Location{App: a, Agents: a.Registry(), IndexDir: filepath.Join(home, "index"), Roots: []adapter.Root{{Path: filepath.Join(home, "sessions")}}}
	writeSessions(t, p.Roots[0].Path, sessions)
	x = OpenLive(t.Context(), p)
	t.Cleanup(func() { x.Close() })
	return x, Options(p)
}

func snapshotOf(t *testing.T, x *Live) *Snapshot {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestIndexSeesWhatIsNew(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 2)
	first := snapshotOf(t, x)
	if n := len(first.Reader.Summaries()); n != 2 || !first.State.Complete {
		t.Fatalf("%d sessions, complete %v; want 2, true", n, first.State.Complete)
	}
	if again := snapshotOf(t, x); again.Reader != first.Reader && again.Number == first.Number {
		t.Error("two readers have the same number")
	}

	// Another process indexes a third session: its generation is taken over.
	writeSessions(t, opt.Roots[0].Path, 3)
	opt.Wait = time.Minute // for the index, which commits what it has in memory
	res, err := indexer.Update(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	second := snapshotOf(t, x)
	if n := len(second.Reader.Summaries()); n != 3 {
		t.Errorf("%d sessions after another process indexed a third", n)
	}

	// This one indexes what it finds itself, and a question that came before
	// keeps what it had.
	writeSessions(t, opt.Roots[0].Path, 4)
	third := snapshotOf(t, x)
	if n := len(third.Reader.Summaries()); n != 4 || !third.State.Complete {
		t.Errorf("%d sessions, complete %v after a fourth; want 4, true", n, third.State.Complete)
	}
	if n := len(first.Reader.Summaries()); n != 2 {
		t.Errorf("the first snapshot has %d sessions now", n)
	}
}

// A question neither waits for a process that writes the index nor keeps one from writing.
// What that process has not written yet is indexed in memory.
func TestIndexAndWriters(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 1)
	snapshotOf(t, x)
	x.work.Wait()
	w, err := index.OpenWriter(opt.Dir, index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		t.Fatalf("open a writer beside the index: %v", err)
	}
	defer w.Close()
	writeSessions(t, opt.Roots[0].Path, 2)
	l := snapshotOf(t, x)
	if l.Failed != nil || l.State.PendingFiles == 0 || !l.State.Complete || len(l.Reader.Summaries()) != 2 {
		t.Errorf("failed %v, state %+v, %d sessions; want both, the new one pending, complete", l.Failed, l.State, len(l.Reader.Summaries()))
	}
}

func TestIndexDoesNotWaitForALongUpdate(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 1)
	snapshotOf(t, x)
	x.work.Wait()
	block := make(chan struct{})
	entered := make(chan struct{})
	var once sync.Once
	x.options.Progress = func(indexer.Progress) {
		once.Do(func() { close(entered) })
		<-block
	}
	x.options.Memory, x.Patience = false, 0 // as if there were much to index
	writeSessions(t, opt.Roots[0].Path, 2)
	l := snapshotOf(t, x)
	if !l.Updating || l.State.PendingFiles == 0 {
		t.Errorf("updating %v, state %+v; want an answer from before", l.Updating, l.State)
	}
	<-entered
	close(block)
}

func TestIndexKeepsWhatIsPinned(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 1)
	old := snapshotOf(t, x)
	old.Pin()
	number := old.Number
	for n := 2; n < 2+MaxPinned; n++ {
		writeSessions(t, opt.Roots[0].Path, n)
		snapshotOf(t, x)
	}
	l := x.At(number)
	if l == nil {
		t.Fatal("a pinned generation is gone")
	}
	defer l.Close()
	if n := len(l.Reader.Summaries()); n != 1 {
		t.Errorf("generation %d has %d sessions now", number, n)
	}
	if x.At(number+100) != nil {
		t.Error("a generation that never was is there")
	}
}

func TestIndexManyAtOnce(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				l, err := x.Snapshot(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if len(l.Reader.Summaries()) == 0 {
					t.Error("an answer without sessions")
				}
				l.Pin()
				l.Close()
			}
		})
	}
	for n := range 5 {
		writeSessions(t, opt.Roots[0].Path, n+1)
	}
	all.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	writeSessions(t, opt.Roots[0].Path, 7)
	if _, err := x.Snapshot(gone); err == nil {
		t.Error("a question that was given up is answered")
	}
}

// Without questions an index closes its generation, and opens it again later; a
// question keeps it.
func TestIndexRests(t *testing.T) {
	t.Parallel()
	x, _ := openIndex(t, 2)
	l, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	number := l.Reader.Generation()
	x.rest()
	if x.newest == nil || len(l.Reader.Summaries()) != 2 {
		t.Error("a generation was closed while a question had it")
	}
	l.Pin()
	l.Close()
	x.rest()
	if x.newest != nil {
		t.Error("the generation stays open")
	}
	if again := snapshotOf(t, x); again.Reader.Generation() < number || len(again.Reader.Summaries()) != 2 {
		t.Errorf("generation %d with %d sessions after a rest, want %d or later with 2", again.Reader.Generation(), len(again.Reader.Summaries()), number)
	}
}

// A generation that a question found damaged is not given out again: the index is
// rebuilt first. Reporting an older generation changes nothing.
func TestDamagedIsRebuilt(t *testing.T) {
	t.Parallel()
	x, _ := openIndex(t, 3)
	snapshotOf(t, x)
	x.work.Wait() // until generation 1 is committed
	first := snapshotOf(t, x)
	first.Damaged()
	second := snapshotOf(t, x)
	if a, b := first.Reader.Generation(), second.Reader.Generation(); a == b {
		t.Fatalf("generation %d is given out after it was reported as damaged", a)
	}
	if n := second.Reader.Documents(); n != 3 || !second.State.Complete {
		t.Errorf("%d documents after the rebuild, state %+v", n, second.State)
	}
	first.Damaged()
	if third := snapshotOf(t, x); third.Reader.Generation() != second.Reader.Generation() {
		t.Errorf("reporting an old generation makes a new one: %d, then %d", second.Reader.Generation(), third.Reader.Generation())
	}
}

// newestOnDisk updates the index as another process does, and returns the new generation.
func newestOnDisk(t *testing.T, x *Live, opt indexer.Options) *index.Reader {
	t.Helper()
	res, err := indexer.Update(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	s, err := x.Newest()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Reader
}

// An index that was deleted and built again is another one, even if it ends at the same
// generation number.
func TestAnotherIndexOfTheSameNumber(t *testing.T) {
	t.Parallel()
	x, opt := openIndex(t, 2)
	x.location.NoUpdate = true // others build both
	opt.Workers = 1            // commits once
	newestOnDisk(t, x, opt)
	old := snapshotOf(t, x)
	old.Pin()
	if err := os.RemoveAll(opt.Dir); err != nil {
		t.Skip("Windows deletes no file that is open or mapped:", err)
	}
	writeSessions(t, opt.Roots[0].Path, 3)
	fresh := newestOnDisk(t, x, opt)
	if a, b := fresh.Generation(), old.Reader.Generation(); a != b {
		t.Fatalf("generation %d after %d: the test needs the same number", a, b)
	}
	if n := len(fresh.Summaries()); n != 3 {
		t.Errorf("the newest generation has %d sessions, want 3", n)
	}
	next := snapshotOf(t, x)
	if n := len(next.Reader.Summaries()); n != 3 || !next.State.Complete || next.Missing.Files > 0 {
		t.Errorf("%d sessions, lag %+v; want 3 and none", n, next.Missing)
	}
	if next.Number == old.Number {
		t.Error("snapshots of two indexes have the same number")
	}
	if l := x.At(old.Number); l == nil || len(l.Reader.Summaries()) != 2 {
		t.Error("the pinned snapshot is not the old one")
	} else {
		l.Close()
	}
}

// An answer has every line that was written before the question, whatever else indexes the
// files at the same time, and never says that it lacks some.
func TestLineBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		beside func(context.Context, indexer.Options) // runs at the same time
	}{
		{"alone", nil},
		{"updates", func(ctx context.Context, opt indexer.Options) {
			for ctx.Err() == nil {
				if res, _ := indexer.Update(ctx, opt); res.Reader != nil {
					res.Reader.Close()
				}
			}
		}},
		{"watcher", func(ctx context.Context, opt indexer.Options) {
			_ = indexer.Watch(ctx, indexer.WatchOptions{Options: opt, Tell: func(indexer.WatchEvent) {}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x, opt := openIndex(t, 3)
			snapshotOf(t, x)
			x.work.Wait()
			ctx, stop := context.WithCancel(t.Context())
			var others sync.WaitGroup
			defer others.Wait()
			defer stop()
			for range 2 {
				others.Go(func() {
					for ctx.Err() == nil {
						runtime.Gosched()
					}
				})
			}
			if test.beside != nil {
				others.Go(func() { test.beside(ctx, opt) })
			}
			root := opt.Roots[0].Path
			turns := make(chan int)
			defer close(turns)
			others.Go(func() { // another agent appends, and renames its file
				name := func(n int) string { return filepath.Join(root, fmt.Sprintf("renamed%d.jsonl", n)) }
				for n := range turns {
					for range 5 {
						appendLine(t, filepath.Join(root, "s000001.jsonl"), n)
					}
					appendLine(t, name(n), n)
					_ = os.Rename(name(n), name(n+1))
				}
			})
			path := filepath.Join(root, "s000000.jsonl")
			for n := range testkit.Rounds(40, 200, 2000) {
				turns <- n
				size := appendLine(t, path, n)
				s, err := x.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				at, _ := s.Reader.Table().Find(path)
				if have := s.Reader.Table().Checkpoint(at).Offset; have < size || !s.State.Complete {
					t.Errorf("turn %d: %d of %d bytes, lag %+v, complete %v, failed %v", n, have, size, s.Missing, s.State.Complete, s.Failed)
				}
				s.Close()
			}
		})
	}
}

// appendLine appends an entry to a session file, and returns its size.
func appendLine(t *testing.T, path string, n int) int64 {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, `{"type":"message","id":"f%07d","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"line%d"}}`+"\n", n, n); err != nil {
		t.Error(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Error(err)
		return 0
	}
	return info.Size()
}

// A file that was edited in place is not said to lack nothing.
func TestLagText(t *testing.T) {
	for lag, want := range map[indexer.Lag]string{
		{Files: 1, Bytes: 3000}: "1 file (3.0 kB) is", {Files: 2, Bytes: 3000}: "2 files (3.0 kB) are", {Files: 1}: "1 file is", {Files: 2}: "2 files are",
	} {
		if got := lagText(lag); got != want {
			t.Errorf("%+v: %q, want %q", lag, got, want)
		}
	}
}
