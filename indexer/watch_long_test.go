package indexer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/lab/testkit"
)

// longSession is a session with many calls that wait for their results, and a watcher of it
// whose passes a test makes.
type longSession struct {
	*testing.T
	path   string
	first  int64 // offset of a word in the first entry
	lines  int
	now    time.Time
	w      *watcher
	events []WatchEvent
}

func newLongSession(t *testing.T) *longSession {
	root := t.TempDir()
	s := &longSession{T: t, path: filepath.Join(root, "long.jsonl"), now: time.Now().Add(time.Hour)}
	var text bytes.Buffer
	text.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n")
	for text.Len() < 9<<20 { // more than a command indexes in memory
		text.WriteString(s.line(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q},{"type":"toolCall","id":"c%d","name":"read","arguments":{"path":"a"}}]}`,
			"needle "+strings.Repeat("hay ", 4000), s.lines)))
	}
	s.first = int64(bytes.Index(text.Bytes(), []byte("needle")))
	if err := os.WriteFile(s.path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	o := testOptions(t, root)
	o.Now = func() time.Time { return s.now }
	o.Tell = func(e WatchEvent) { s.events = append(s.events, e) }
	o.times = usualTimes
	s.w = newWatcher(o)
	s.w.notifier = noEvents{}
	s.w.presence = presence{dir: o.Dir, state: Watcher{PID: 1, Started: s.now, IndexSchema: index.SchemaVersion}}
	s.w.keeper = keeper{Options: o.Options}
	t.Cleanup(func() {
		if err := errors.Join(s.w.keeper.release(), s.w.presence.leave()); err != nil {
			t.Error(err)
		}
	})
	s.w.check(t.Context(), true)
	return s
}

func (s *longSession) line(message string) string {
	s.lines++
	return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-03-01T10:00:00.000Z","message":%s}`+"\n", s.lines, s.lines-1, message)
}

// add appends a message.
func (s *longSession) add(message string) {
	s.Helper()
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(s.line(message))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.Fatal(err)
	}
}

// edit replaces a word of the first entry, and restores the time of the file.
func (s *longSession) edit(word string) {
	s.Helper()
	info, err := os.Stat(s.path)
	if err != nil {
		s.Fatal(err)
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(word), s.first)
		err = errors.Join(err, f.Close(), os.Chtimes(s.path, info.ModTime(), info.ModTime()))
	}
	if err != nil {
		s.Fatal(err)
	}
}

// pass lets the watcher look at the file, and says what it reports.
func (s *longSession) pass() (what []string) {
	s.events = nil
	s.now = s.now.Add(time.Millisecond)
	s.w.schedule.hints.file(s.path)
	s.w.follow(s.Context())
	for _, e := range s.events {
		if e.Err != nil || e.Rebuilt != "" {
			what = append(what, fmt.Sprint(e.Kind, " ", e.Rebuilt, e.Err))
		}
		for _, step := range e.Steps {
			what = append(what, step.Change.String())
		}
	}
	return what
}

// reports makes a pass, and wants it to report one change.
func (s *longSession) reports(change Change) {
	s.Helper()
	if got := s.pass(); len(got) != 1 || got[0] != change.String() {
		s.Fatalf("the watcher reports %q, want %s", got, change)
	}
}

// command updates as a command that answers does, while the watcher lives.
func (s *longSession) command() (*Result, error) {
	o := s.w.Options
	o.Yield, o.Memory = true, true
	res, err := Update(s.Context(), o)
	if res.Reader != nil {
		s.Cleanup(func() { res.Reader.Close() })
	}
	return res, err
}

const userMessage = `{"role":"user","content":"more"}`

// An edit of old bytes of a file that grows is noticed by the watcher, and by a command while the watcher has the
// lock: that says how much its answer lacks, and does not leave it to the watcher.
func TestEditOfOldBytes(t *testing.T) {
	testkit.Unraced(t)
	s := newLongSession(t)
	s.add(userMessage)
	s.reports(Grown)
	if res, err := s.command(); err != nil || !res.Complete() {
		t.Errorf("nothing was edited, and a command finds %v, lag %+v, %v", res.Changes, res.Lag, err)
	}
	s.edit("noodle")
	info, err := os.Stat(s.path)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.command()
	if !errors.Is(err, index.ErrLocked) || res.Watcher != nil || res.Lag.Files != 1 || res.Lag.Bytes != info.Size() {
		t.Errorf("an edit, while the watcher has the lock: watcher %v, lag %+v, %v", res.Watcher, res.Lag, err)
	}
	s.add(userMessage)
	s.reports(Rewritten)
}

// A pass that takes long is followed by a pause in proportion, of at most two seconds.
func TestPauseAfterALongPass(t *testing.T) {
	now := time.Now()
	var took time.Duration
	w := newWatcher(WatchOptions{Options: Options{Now: func() time.Time { return now }, Dir: t.TempDir()}, times: usualTimes, passing: func(hints) error {
		now = now.Add(took)
		return nil
	}})
	w.notifier = noEvents{}
	for _, test := range []struct{ took, pause time.Duration }{{time.Millisecond, 4 * time.Millisecond}, {300 * time.Millisecond, 1200 * time.Millisecond}, {time.Minute, pauseMax}, {0, 0}} {
		took = test.took
		if w.follow(t.Context()); w.schedule.pause != test.pause {
			t.Errorf("after a pass of %v the pause is %v, want %v", test.took, w.schedule.pause, test.pause)
		}
	}
}

// A watcher that released its writer still finds the call of a result that is appended.
func TestResultOfAnEarlyCall(t *testing.T) {
	s := newLongSession(t)
	s.add(userMessage)
	s.reports(Grown)
	if err := s.w.keeper.release(); err != nil {
		t.Fatal(err)
	}
	s.add(`{"role":"toolResult","toolCallId":"c1","toolName":"read","isError":true,"content":[{"type":"text","text":"no"}]}`)
	s.reports(Grown)
	r, err := index.Open(s.w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.RecordToContinue(r.Table().File(0))
	if err == nil {
		err = rec.Facts.Whole()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rec.Facts.Calls {
		if want := c.ID == "c1"; c.HasResult != want || c.Failed != want {
			t.Errorf("call %s: has a result %t, failed %t", c.ID, c.HasResult, c.Failed)
		}
	}
}
