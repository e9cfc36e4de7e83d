package printer

import (
	"bufio"
	"fmt"
	"io"
	"testing"
	"time"

	"pigrep/query"
)

// manySessions is a list as long as the longest that has to be fast.
func manySessions(n int) *Sessions {
	list := &query.SessionList{Total: n, TotalIsExact: true}
	for i := range n {
		id := fmt.Sprintf("%08x-0000-7000-8000-%012x", uint32(i)*2654435761, i)
		list.Sessions = append(list.Sessions, query.ListedSession{SessionHit: query.SessionHit{
			Type: "session", SessionPath: "/home/u/.pi/agent/sessions/--home-u-src-app--/2026-01-01T00-00-00-000Z_" + id + ".jsonl", SessionID: id,
			CWD: fmt.Sprintf("/home/u/src/app-%d", i%200), Modified: at(time.Duration(i) * time.Minute), Messages: i % 500,
			FirstPrompt: fmt.Sprintf("message of session %d: please look at the retry logic of the connection pool and fix the timeout", i),
			Models:      []string{"anthropic/claude-opus-4-5"},
		}})
	}
	return &Sessions{List: list, ShortID: func(id string) string { return id[:8] }}
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
				if err := New(w, f.format, Look{Width: 120, Colour: true, Now: now, Home: "/home/u"}).Sessions(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
