package cli

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
)

func testFollower(t *testing.T, sessions int) (*follower, *App, *place) {
	t.Helper()
	a, _, _ := testApp(t)
	p := &place{agents: a.registry(), indexDir: filepath.Join(a.Home, "index"), roots: []adapter.Root{{Path: filepath.Join(a.Home, "sessions")}}}
	writeSessions(t, p.roots[0].Path, sessions)
	f := (&sharedOptions{}).follow(t.Context(), a, p)
	t.Cleanup(func() { f.Close() })
	return f, a, p
}

func openLease(t *testing.T, f *follower) *lease {
	t.Helper()
	l, err := f.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestFollowerSeesWhatIsNew(t *testing.T) {
	t.Parallel()
	f, a, p := testFollower(t, 2)
	first := openLease(t, f)
	if n := len(first.reader.Summaries()); n != 2 || !first.state.Complete {
		t.Fatalf("%d sessions, complete %v; want 2, true", n, first.state.Complete)
	}
	if again := openLease(t, f); again.reader != first.reader && again.reader.Generation() == first.reader.Generation() {
		t.Error("the same generation was opened twice")
	}

	// Another process indexes a third session: its generation is taken over.
	writeSessions(t, p.roots[0].Path, 3)
	res, err := indexer.Update(t.Context(), a.indexing(p))
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	second := openLease(t, f)
	if n := len(second.reader.Summaries()); n != 3 {
		t.Errorf("%d sessions after another process indexed a third", n)
	}

	// This one indexes what it finds itself, and a question that came before
	// keeps what it had.
	writeSessions(t, p.roots[0].Path, 4)
	third := openLease(t, f)
	if n := len(third.reader.Summaries()); n != 4 || !third.state.Complete {
		t.Errorf("%d sessions, complete %v after a fourth; want 4, true", n, third.state.Complete)
	}
	if n := len(first.reader.Summaries()); n != 2 {
		t.Errorf("the first lease has %d sessions now", n)
	}
}

// A process that writes the index is not waited for, and one that wants to is
// not held up.
func TestFollowerAndWriters(t *testing.T) {
	t.Parallel()
	f, _, p := testFollower(t, 1)
	openLease(t, f)
	w, err := index.OpenWriter(p.indexDir, index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		t.Fatalf("a writer beside a follower: %v", err)
	}
	defer w.Close()
	writeSessions(t, p.roots[0].Path, 2)
	l := openLease(t, f)
	if l.failed == nil || l.state.PendingFiles != 2 || l.state.Complete {
		t.Errorf("failed %v, state %+v; want an error, two pending files, not complete", l.failed, l.state)
	}
}

func TestFollowerDoesNotWaitForALongUpdate(t *testing.T) {
	t.Parallel()
	f, _, p := testFollower(t, 1)
	openLease(t, f)
	block := make(chan struct{})
	entered := make(chan struct{})
	var once sync.Once
	f.options.Progress = func(indexer.Progress) {
		once.Do(func() { close(entered) })
		<-block
	}
	f.patience = 0
	writeSessions(t, p.roots[0].Path, 2)
	l := openLease(t, f)
	if !l.updating || l.state.PendingFiles == 0 {
		t.Errorf("updating %v, state %+v; want an answer from before", l.updating, l.state)
	}
	<-entered
	close(block)
}

func TestFollowerKeepsWhatIsPinned(t *testing.T) {
	t.Parallel()
	f, _, p := testFollower(t, 1)
	old := openLease(t, f)
	old.pin()
	number := old.reader.Generation()
	for n := 2; n < 2+maxPinned; n++ {
		writeSessions(t, p.roots[0].Path, n)
		openLease(t, f)
	}
	l := f.at(number)
	if l == nil {
		t.Fatal("a pinned generation is gone")
	}
	defer l.Close()
	if n := len(l.reader.Summaries()); n != 1 {
		t.Errorf("generation %d has %d sessions now", number, n)
	}
	if f.at(number+100) != nil {
		t.Error("a generation that never was is there")
	}
}

func TestFollowerManyAtOnce(t *testing.T) {
	t.Parallel()
	f, _, p := testFollower(t, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				l, err := f.open(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if len(l.reader.Summaries()) == 0 {
					t.Error("an answer without sessions")
				}
				l.pin()
				l.Close()
			}
		})
	}
	for n := range 5 {
		writeSessions(t, p.roots[0].Path, n+1)
	}
	all.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	writeSessions(t, p.roots[0].Path, 7)
	if _, err := f.open(gone); err == nil {
		t.Error("a question that was given up is answered")
	}
}

// A follower that nobody asks lets its generation go, and takes it up again; a
// question keeps it.
func TestFollowerRests(t *testing.T) {
	t.Parallel()
	f, _, _ := testFollower(t, 2)
	l, err := f.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	number := l.reader.Generation()
	f.rest()
	if f.newest == nil || len(l.reader.Summaries()) != 2 {
		t.Error("a generation was closed while a question had it")
	}
	l.pin()
	l.Close()
	f.rest()
	if f.newest != nil {
		t.Error("the generation stays open")
	}
	if again := openLease(t, f); again.reader.Generation() < number || len(again.reader.Summaries()) != 2 {
		t.Errorf("generation %d with %d sessions after a rest, want %d or later with 2", again.reader.Generation(), len(again.reader.Summaries()), number)
	}
}
