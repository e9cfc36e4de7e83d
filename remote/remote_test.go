package remote_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/search"
	"pigrep/remote"
)

// source sends these sessions, and then fails if it has an error.
type source struct {
	name string
	list []remote.Session
	more int
	odd  int
	err  error
}

func (s source) Name() string { return s.name }

func (s source) Whole(_ context.Context, _ remote.Named, visit func(*remote.Session) error) (remote.Coverage, error) {
	for i := range s.list {
		if err := visit(&s.list[i]); err != nil {
			return remote.Coverage{}, err
		}
	}
	return remote.Coverage{Sessions: len(s.list) + s.more, Sent: len(s.list), Damaged: s.odd}, s.err
}

func sessionOf(host, id, text string) remote.Session {
	begun := time.Date(2026, 3, 2, 9, 15, 0, 0, time.UTC)
	lines := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-03-02T09:15:00.000Z","cwd":"/app"}` + "\n" +
		`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-02T09:15:01.000Z","message":{"role":"user","content":"` + text + `"}}` + "\n"
	s := remote.Session{Host: host, Path: "/s/" + id + ".jsonl", Text: []byte(lines)}
	s.Summary = session.Summary{Path: remote.Name(host, s.Path), Header: session.Header{ID: id, Timestamp: begun, Agent: "pi.sessions_jsonl.v1"}}
	return s
}

func join(t *testing.T, sources ...remote.Source) (*remote.Joined, error) {
	t.Helper()
	registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	got, err := remote.Join(t.Context(), registry, index.Empty(), nil, "here", sources, remote.Named{Latest: 9})
	if err == nil {
		t.Cleanup(func() { got.Reader.Close() })
	}
	return got, err
}

// The answers of several sources are one answer: ranked by the same statistics, a session that
// two have counts once, and what is missing is said with the reason.
func TestJoin(t *testing.T) {
	gone := errors.New("no route")
	got, err := join(t,
		source{name: "one", list: []remote.Session{sessionOf("a", "s1", "word"), sessionOf("a", "s2", "word word other")}, more: 3},
		source{name: "two", list: []remote.Session{sessionOf("b", "s1", "word"), sessionOf("b", "s3", "another word")}},
		source{name: "three", err: gone},
		source{name: "four", odd: 2},
	)
	if err != nil {
		t.Fatal(err)
	}
	res, err := search.Run(t.Context(), got.Reader, adapter.NewRegistry(adapter.Environment{}, agents.All()...), got, search.Request{Text: "word"})
	if err != nil || res.TotalIn != 3 || len(res.Hits) != 3 {
		t.Fatalf("%d sessions, %d hits, %v", res.TotalIn, len(res.Hits), err)
	}
	for _, h := range res.Hits {
		if !strings.Contains(h.Fragment.Text, "word") {
			t.Errorf("the hit in %s says %q", h.SessionPath, h.Fragment.Text)
		}
	}
	res, err = search.Run(t.Context(), got.Reader, adapter.NewRegistry(adapter.Environment{}, agents.All()...), got, search.Request{Text: "re:anoth.r"})
	if err != nil || len(res.Hits) != 1 || res.Unreadable != 0 {
		t.Errorf("an entry that is read to be tested: %d hits, %d unreadable, %v", len(res.Hits), res.Unreadable, err)
	}
	if got.Known != 7 || len(got.Missing) != 3 || got.Missing[0].Sessions != 3 || !errors.Is(got.Missing[1].Err, gone) || got.Missing[2] != (remote.Missing{Source: "four", Sessions: 2, Err: remote.ErrDamaged}) {
		t.Errorf("known %d, missing %+v", got.Known, got.Missing)
	}
}

// Files of one machine whose sessions have the same id are all there.
func TestJoinKeepsNamesakes(t *testing.T) {
	first, second := sessionOf("a", "s1", "zebra"), sessionOf("a", "s1", "okapi")
	second.Path += "2"
	second.Summary.Path += "2"
	got, err := join(t, source{name: "one", list: []remote.Session{first, second}})
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Reader.Table().Len(); n != 2 {
		t.Errorf("%d of 2 files", n)
	}
}

// Copies of a session that differ are one session with what each of them has.
func TestJoinsCopies(t *testing.T) {
	laptop, desktop := sessionOf("laptop", "zebra", "the beginning"), sessionOf("desktop", "zebra", "the beginning")
	for s, word := range map[*remote.Session]string{&laptop: "zebralaptop", &desktop: "zebradesktop"} {
		s.Text = append(s.Text, `{"type":"message","id":"`+word+`","parentId":"e1","timestamp":"2026-03-02T09:16:00.000Z","message":{"role":"user","content":"`+word+`"}}`...)
	}
	got, err := join(t, source{name: "one", list: []remote.Session{laptop}}, source{name: "two", list: []remote.Session{desktop}})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"zebralaptop", "zebradesktop", "beginning"} {
		res, err := search.Run(t.Context(), got.Reader, adapter.NewRegistry(adapter.Environment{}, agents.All()...), got, search.Request{Text: word, AllWords: true})
		if err != nil || res.Total != 1 || len(res.Hits) != 1 || !strings.Contains(res.Hits[0].Fragment.Text, word) {
			t.Errorf("%s: %d hits, %v", word, res.Total, err)
		}
	}
}

// A question that names a session joins the copy of this machine with those of others, whose secrets
// are masked. If others have nothing more, the file here stands as it is.
func TestJoinsOwnCopy(t *testing.T) {
	const secret = "sk-ant-api03-Ab1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAb1Cd2Ef3GAA"
	entry := func(id, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":"e1","timestamp":"2026-03-02T09:16:00.000Z","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	for _, own := range []string{"", entry("own", "zebrahere")} {
		for _, more := range []string{"", entry("more", "zebralaptop")} {
			begun := string(sessionOf("laptop", "zebra", "the beginning "+secret).Text)
			path := filepath.Join(t.TempDir(), "zebra.jsonl")
			testkit.Check(t, os.WriteFile(path, []byte(begun+own), 0o600))
			base := indexer.NewElsewhere(registry, index.Empty())
			testkit.Check(t, base.Add(t.Context(), session.Summary{Path: path, Checkpoint: session.Checkpoint{Stat: session.Stat{Size: int64(len(begun + own))}}, Header: session.Header{Agent: "pi.sessions_jsonl.v1"}}, strings.NewReader(begun+own)))
			reader, err := base.Reader()
			testkit.Check(t, err)
			defer reader.Close()
			laptop := sessionOf("laptop", "zebra", "the beginning "+secret)
			var sent []byte
			for line := range bytes.Lines(laptop.Text) {
				sent = append(append(sent, redact.JSON(bytes.TrimSpace(line))...), "   \n"...)
			}
			laptop.Text = append(sent, more...)
			got, err := remote.Join(t.Context(), registry, reader, stories.Disk{}, "here", []remote.Source{source{name: "one", list: []remote.Session{laptop}}}, remote.Named{Names: []string{"zebra"}})
			testkit.Check(t, err)
			defer got.Reader.Close()
			if n := len(got.Reader.Summaries()); n != 1 || more == "" && got.Reader.Summaries()[0].Path != path {
				t.Errorf("sessions: %v", got.Reader.Summaries())
			}
			for word, want := range map[string]bool{"beginning": true, "zebrahere": own != "", "zebralaptop": more != ""} {
				res, err := search.Run(t.Context(), got.Reader, registry, got, search.Request{Text: word, AllWords: true, Flat: true})
				if err != nil || (res.Total == 1) != want || res.Total > 1 || len(res.Hits) != res.Total {
					t.Errorf("%s: %d hits, %v", word, res.Total, err)
				}
			}
		}
	}
}

// If no source answers there is no answer, and the first error is the reason.
func TestJoinFails(t *testing.T) {
	gone := errors.New("no route")
	if _, err := join(t, source{err: gone}, source{err: gone}); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// What a source sends cannot be more than a session, whatever it is.
func TestJoinTakesAnything(t *testing.T) {
	odd := sessionOf("a", "s1", "word")
	odd.Text = append([]byte("\x1b[2J\x00 no JSON\n{\"type\":\n"), odd.Text[:len(odd.Text)-30]...)
	none := remote.Session{Host: "a"} // without a path
	got, err := join(t, source{name: "one", list: []remote.Session{odd, none, sessionOf("a", strings.Repeat("x", 300), "word")}})
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Reader.Table().Len(); n != 2 {
		t.Errorf("%d files", n)
	}
}

// A name says the machine; a drive does not.
func TestSplit(t *testing.T) {
	for name, want := range map[string]string{"laptop:/s/a.jsonl": "laptop", `server:C:\s\a.jsonl`: "server", `C:\s\a.jsonl`: "", "/s/a:b.jsonl": "", "plain": ""} {
		host, _, ok := remote.Split(name)
		if ok != (want != "") || ok && host != want {
			t.Errorf("Split(%q) is %q, %v", name, host, ok)
		}
	}
}
