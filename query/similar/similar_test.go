package similar

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
)

// longest returns the session with the most messages.
func longest(r *index.Reader) *session.Summary {
	list := r.Summaries()
	best := 0
	for i := range list {
		if list[i].Messages > list[best].Messages {
			best = i
		}
	}
	return &list[best]
}

// find returns the sessions that are like the one with this path, or like one of its
// entries.
func find(t *testing.T, r *index.Reader, path, entryID string, req Request) (*Response, error) {
	t.Helper()
	summaries := r.Summaries()
	i := slices.IndexFunc(summaries, func(s session.Summary) bool { return s.Path == path })
	rec, err := r.Record(summaries[i].File)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	of, number := entry.NewConversation(pi.New(), rec, file), -1
	if entryID != "" {
		number = of.Tree.Find(entryID)
	}
	of.Redact = req.Redact
	asked, err := Ask(t.Context(), of, number)
	if err != nil {
		return nil, err
	}
	asked.Spec, asked.Limit, asked.Env, asked.Redact = req.Spec, req.Limit, req.Env, req.Redact
	return Find(t.Context(), r, pi.New(), stories.Disk{}, asked)
}

func minutes(entries ...stories.Turn) []stories.Turn {
	for i := range entries {
		entries[i].Minute = i
	}
	return entries
}

var websocket = minutes(
	stories.Prompt("The websocket behind nginx closes when idle").Named("w1"),
	stories.Reply("nginx drops an idle websocket after a minute: raise proxy_read_timeout, or send a heartbeat.").Named("w2"),
	stories.Prompt("and the zanzibar rollout?").Named("w3"),
	stories.Reply("Not before the websocket survives.").Named("w4"),
)

func library(t *testing.T, more ...stories.Story) *stories.Library {
	list := []stories.Story{
		{Name: "websocket", Entries: websocket},
		{Name: "proxy", Start: stories.Day.AddDate(0, 0, 1), Entries: minutes(stories.Prompt("nginx websocket idle again"), stories.Reply("It needs the heartbeat."))},
		{Name: "zanzibar", Start: stories.Day.AddDate(0, 0, 2), Entries: minutes(stories.Prompt("zanzibar is down"), stories.Reply("I look at it."))},
		{Name: "cooking", Start: stories.Day.AddDate(0, 0, 3), Entries: minutes(stories.Prompt("bread with walnuts"), stories.Reply("Take sourdough."))},
		{Name: "dump", Start: stories.Day.AddDate(0, 0, 4), Entries: minutes(stories.Prompt("list files"), stories.Result("bash", "nginx websocket idle heartbeat zanzibar", false))},
		{Name: "empty", Start: stories.Day.AddDate(0, 0, 5), Entries: minutes(stories.Prompt("12 34 a"))},
	}
	return stories.New(t, append(list, more...)...)
}

func described(resp *Response) (list []string) {
	for i := range resp.Sessions {
		s := &resp.Sessions[i]
		shares := slices.Sorted(slices.Values(s.Shares))
		list = append(list, strings.TrimPrefix(s.SessionID, "id-of-")+": "+strings.Join(shares, " "))
	}
	return list
}

func TestFind(t *testing.T) {
	l := library(t)
	for _, c := range []struct {
		name, of, entry string
		req             Request
		want            []string
	}{
		{"a session", "websocket", "", Request{}, []string{"proxy: heartbeat idle nginx websocket"}},
		{"one entry", "websocket", "w3", Request{}, []string{"zanzibar: zanzibar"}},
		{"an entry of any kind", "dump", "dump-0001", Request{}, []string{"websocket: heartbeat idle nginx websocket zanzibar", "proxy: heartbeat idle nginx websocket", "zanzibar: zanzibar"}},
		{"the best one", "websocket", "", Request{Limit: 1}, []string{"proxy: heartbeat idle nginx websocket"}},
		{"filtered", "websocket", "", Request{Spec: filter.Spec{Sessions: []string{"id-of-zanzibar"}}}, []string{"zanzibar: zanzibar"}},
		{"nothing in common", "cooking", "", Request{}, nil},
	} {
		resp, err := find(t, l.Reader, l.Path(c.of), c.entry, c.req)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, described(resp)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for i := range resp.Sessions {
			if s := resp.Sessions[i].Score; s < least || s > 1 || i > 0 && s > resp.Sessions[i-1].Score {
				t.Errorf("%s: score %v in place %d", c.name, s, i)
			}
		}
	}
	if _, err := find(t, l.Reader, l.Path("empty"), "", Request{}); !errors.Is(err, ErrNoTerms) {
		t.Errorf("a session without words: %v", err)
	}
}

// The session itself is left out, whatever file it is in.
func TestFindLeavesOutCopies(t *testing.T) {
	original := stories.Story{Name: "websocket", Entries: websocket}
	text := original.Text()
	lines := text[strings.Index(text, "\n")+1:]
	l := library(t,
		stories.Story{Name: "imported", Start: stories.Day.AddDate(0, 0, 7), Raw: lines},
		stories.Story{Name: "twin", ID: "id-of-websocket", Start: stories.Day.AddDate(0, 0, 8), Entries: minutes(stories.Prompt("websocket nginx idle heartbeat"))},
	)
	resp, err := find(t, l.Reader, l.Path("websocket"), "", Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range resp.Sessions {
		if name := filepath.Base(s.SessionPath); name == "websocket.jsonl" || name == "imported.jsonl" || name == "twin.jsonl" {
			t.Errorf("%s is in the answer", name)
		}
	}
	if len(resp.Sessions) == 0 || !strings.HasSuffix(resp.Sessions[0].SessionPath, "proxy.jsonl") {
		t.Errorf("sessions %q, want proxy first", described(resp))
	}
}

// Of the real sessions, the most similar one is of the same project.
func TestRealSessions(t *testing.T) {
	root := filepath.Join(testkit.Fixtures(), "real")
	if _, err := os.Stat(root); testkit.Fixtures() == "" || err != nil {
		// Real sessions are not part of the repository.
		t.Skip("SKIPPED: PIGREP_FIXTURES names no directory with real sessions: similar is not measured")
	}
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	res, err := indexer.Update(t.Context(), indexer.Options{
		Dir: t.TempDir(), Adapter: pi.New(), Roots: []adapter.Root{{Path: root, Origin: "test"}}, Now: now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Reader.Close()
	right, all := 0, 0
	for _, s := range res.Reader.Summaries() {
		resp, err := find(t, res.Reader, s.Path, "", Request{})
		if err != nil {
			t.Fatal(err)
		}
		all++
		if len(resp.Sessions) > 0 && resp.Sessions[0].CWD == s.CWD {
			right++
		} else {
			t.Errorf("%s: %q, want one in %s first", filepath.Base(s.Path), described(resp), s.CWD)
		}
	}
	t.Logf("%d sessions: the most similar one is of the same project for %d", all, right)
}

// BenchmarkFind compares the longest session of the index at PIGREP_BENCH_INDEX.
func BenchmarkFind(b *testing.B) {
	dir := os.Getenv("PIGREP_BENCH_INDEX")
	if dir == "" {
		b.Skip("PIGREP_BENCH_INDEX names no index")
	}
	l := stories.Open(b, dir)
	s := longest(l.Reader)
	rec, err := l.Reader.Record(s.File)
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.Open(s.Path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	for b.Loop() {
		req, err := Ask(b.Context(), entry.NewConversation(pi.New(), rec, file), -1)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Find(b.Context(), l.Reader, pi.New(), stories.Disk{}, req); err != nil {
			b.Fatal(err)
		}
	}
}
