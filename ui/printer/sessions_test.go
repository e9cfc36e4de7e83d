package printer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pigrep/internal/price"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// manySessions is a list as long as the longest that has to be fast.
func manySessions(n int) *Sessions {
	list := &sessions.Response{Total: n, TotalIsExact: true}
	for i := range n {
		id := fmt.Sprintf("%08x-0000-7000-8000-%012x", uint32(i)*2654435761, i)
		list.Sessions = append(list.Sessions, sessions.Session{SessionHit: search.SessionHit{Type: "session", SessionFacts: search.SessionFacts{
			SessionPath: "/home/u/.pi/agent/sessions/--home-u-src-app--/2026-01-01T00-00-00-000Z_" + id + ".jsonl", SessionID: id,
			CWD: fmt.Sprintf("/home/u/src/app-%d", i%200), Modified: at(time.Duration(i) * time.Minute), Messages: i % 500,
			FirstPrompt: fmt.Sprintf("message of session %d: please look at the retry logic of the connection pool and fix the timeout", i),
			Title:       fmt.Sprintf("message of session %d: please look at the retry logic of the connection pool and fix the timeout", i),
			Models:      []string{"anthropic/claude-opus-4-5"},
		}}})
	}
	return &Sessions{List: list}
}

func BenchmarkSessions(b *testing.B) {
	s := manySessions(10_000)
	for _, f := range []struct {
		name   string
		format Format
	}{{"plain", FormatPlain}, {"text", FormatText}, {"json", FormatJSON}} {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				w := bufio.NewWriterSize(io.Discard, 64<<10)
				if err := New(w, f.format, Layout{Width: 120, Colour: true, Now: now, Home: "/home/u", ShortID: beginningOf}).Print(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fewSessions() *Sessions {
	hit := func(facts search.SessionFacts) sessions.Session {
		return sessions.Session{SessionHit: search.SessionHit{Type: "session", SessionFacts: facts}}
	}
	fork := hit(search.SessionFacts{
		SessionPath: "/s/fork.jsonl", SessionID: "77777777-bb66", Name: "続き: ログインのリダイレクトを直す 👨‍👩‍👧 とても長い名前のセッション", Title: "続き: ログインのリダイレクトを直す 👨‍👩‍👧 とても長い名前のセッション", CWD: "/srv/日本/とても長いプロジェクトの名前",
		Modified: at(2 * time.Hour), Created: at(3 * time.Hour), Messages: 7, Labels: []string{"あとで"}, Models: []string{"openai/gpt-5", "anthropic/claude-sonnet-4-5"},
		ParentSession: "/s/login.jsonl",
	})
	fork.Depth, fork.ParentPath = 1, "/s/login.jsonl"
	return &Sessions{
		List: &sessions.Response{Total: 4, TotalIsExact: true, About: search.About{Index: search.IndexState{Generation: 3, Files: 4, Complete: true}}, Sessions: []sessions.Session{
			hit(search.SessionFacts{
				SessionPath: "/s/login.jsonl", SessionID: "01a1f7e5-bb66", Name: "Fix the login redirect", CWD: "/home/u/src/app", Created: at(4 * day), Modified: at(3 * day),
				Messages: 1234, FirstPrompt: "hello", Title: "Fix the login redirect", Models: []string{"anthropic/claude-sonnet-4-5"}, Forks: 1, Spent: price.Spent{Tokens: 1_234_567, Cost: 3.456},
			}),
			fork,
			hit(search.SessionFacts{
				SessionPath: "/s/evil.jsonl", SessionID: "9470c69e", CWD: "/tmp/\x1b]0;owned\x07dir", Modified: at(400 * day), Created: at(400 * day), Messages: 1,
				FirstPrompt: "\x1b[31mred\x1b[0m and\nmore \u202elines of a prompt that goes on and on until nobody wants to read it any further, not even here", Title: "\x1b[31mred\x1b[0m and\nmore \u202elines of a prompt that goes on and on until nobody wants to read it any further, not even here",
			}),
			hit(search.SessionFacts{SessionPath: "/s/empty.jsonl", SessionID: "5", Created: at(time.Minute), Modified: at(time.Minute)}),
		}},
	}
}

func TestSessionsText(t *testing.T) {
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			var b bytes.Buffer
			l.layout.ShortID = beginningOf
			if err := New(&b, FormatText, l.layout).Print(fewSessions()); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), l.layout)
			golden(t, "sessions-"+l.name, b.Bytes())
		})
	}
}

func TestSessionsForms(t *testing.T) {
	searched := func() *Sessions {
		s := fewSessions()
		s.Query, s.Searched, s.List.TotalIsExact = "login", true, false
		s.List.Sessions[0].Score, s.List.Sessions[0].Hits, s.List.Sessions[0].HitsAny = 12.5, 3, 9
		s.List.Sessions[0].Hit = &search.Hit{EntryPlace: session.EntryPlace{EntryName: session.EntryName{EntryID: "e1"}}}
		s.List.Sessions[1].HitsAny = 2
		return s
	}
	for _, test := range []struct {
		name   string
		format Format
		s      *Sessions
	}{
		{"sessions-plain", FormatPlain, fewSessions()}, {"sessions-json", FormatJSON, fewSessions()}, {"sessions-jsonl", FormatJSONL, fewSessions()},
		{"sessions-query", FormatText, searched()}, {"sessions-query-json", FormatJSON, searched()},
		{"sessions-none", FormatText, &Sessions{List: &sessions.Response{}}}, {"sessions-none-json", FormatJSON, &Sessions{List: &sessions.Response{TotalIsExact: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := New(&b, test.format, Layout{Width: 80, Now: now, Home: "/home/u", ShortID: beginningOf}).Print(test.s); err != nil {
				t.Fatal(err)
			}
			golden(t, test.name, b.Bytes())
		})
	}
}

// A program gets the bytes of paths; a terminal gets nothing that could change it.
func TestPaths(t *testing.T) {
	for tty, want := range map[bool]string{false: "/s/a b\x00/s/c\x1b[31m\x00", true: "/s/a b\n/s/c\n"} {
		var b bytes.Buffer
		if err := Paths(&b, []string{"/s/a b", "/s/c\x1b[31m"}, tty); err != nil || b.String() != want {
			t.Errorf("Paths, terminal %t: %q, error %v, want %q", tty, b.String(), err, want)
		}
	}
}

// A session without a header is listed with the name that commands accept.
func TestSessionsNameFilesWithoutHeader(t *testing.T) {
	list := &Sessions{List: &sessions.Response{Sessions: []sessions.Session{{SessionHit: search.SessionHit{SessionFacts: search.SessionFacts{SessionPath: "/s/2026-01-15_01bbcccc.jsonl"}}}}}}
	for _, width := range []int{40, 80} {
		var b bytes.Buffer
		if err := New(&b, FormatText, Layout{Width: width}).Print(list); err != nil || !strings.Contains(b.String(), "01bbcccc") {
			t.Errorf("at %d columns: %v\n%s", width, err, b.String())
		}
	}
}

// Each session has its project at every width.
func TestSessionsHaveTheirProject(t *testing.T) {
	list := &sessions.Response{}
	for i, cwd := range []string{"/home/u/work/clients/oh-my-posh", `D:\oh-my-posh`, "/oh-my-posh/"} {
		x := sessions.Session{}
		x.SessionID, x.Agent, x.CWD, x.Messages, x.Cost = fmt.Sprint("0123456", i), []string{"claude", "codex", "pi"}[i], cwd, 1232, 123.45
		x.Title, x.Tokens, x.Modified = strings.Repeat("Website redesign ", 1+4*i), 1e8, at(50*24*time.Hour)
		list.Sessions = append(list.Sessions, x)
	}
	for width := 40; width <= 160; width++ {
		for _, searched := range []bool{false, true} {
			var b bytes.Buffer
			testkit.Check(t, New(&b, FormatText, Layout{Width: width, Now: now, Several: true}).Print(&Sessions{List: list, Searched: searched}))
			if n := strings.Count(b.String(), "oh-my-posh"); n != 3 {
				t.Errorf("at %d columns %d of 3 sessions have their project:\n%s", width, n, b.String())
			}
		}
	}
}
