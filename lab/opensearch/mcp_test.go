//go:build unix

package opensearch

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls are calls of agents. Their answers are the same from the archive and from this machine.
var calls = []struct{ tool, arguments string }{
	{"search", `{"query":"session timeout"}`},
	{"search", `{"query":"token","flat":true,"context":1,"limit":3}`},
	{"search", `{"query":"nothingofthekind"}`},
	{"search", `{"query":"token nothingofthekind"}`},
	{"grep", `{"pattern":"time(d)?out","context":1}`},
	{"grep", `{"pattern":"."}`},
	{"list_sessions", `{}`},
	{"list_sessions", `{"query":"token"}`},
	{"list_sessions", `{"kind":["summary"]}`},
	{"read_session", `{"session":"0195562e"}`},
	{"read_session", `{"session":"0195562e","entry":"a1000003","around":1}`},
	{"read_session", `{"session":"nothingofthekind"}`},
	{"tool_calls", `{}`},
	{"tool_calls", `{"query":"grep"}`},
	{"usage", `{"by":["model"]}`},
	{"find_fix", `{"error":"curl: (7) Failed to connect to localhost port 8443"}`},
}

// cursor is a place in an answer from an index.
var cursor = regexp.MustCompile(`(?m)^Next page: cursor .*$`)

// agentsAsk compares the answers of two servers to agents, by the client of the protocol's makers.
func agentsAsk(t *testing.T, m *machine, host string) {
	named := regexp.MustCompile(`( ·)? ` + regexp.QuoteMeta(host) + `\b( pi\b)?| · pi\b`) // what only answers of several machines say
	connect := func(args ...string) *mcp.ClientSession {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: m.command(append([]string{"mcp"}, args...)...)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	there, here := connect("--from", "team"), connect("--session-dir", m.sessions)
	for _, c := range calls {
		answer := func(s *mcp.ClientSession) string {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)})
			if err != nil {
				t.Fatalf("%s %s: %v", c.tool, c.arguments, err)
			}
			var b strings.Builder
			for _, part := range res.Content {
				if text, ok := part.(*mcp.TextContent); ok {
					b.WriteString(named.ReplaceAllString(strings.ReplaceAll(text.Text, host+":"+m.sessions, m.sessions), "") + "\n")
				}
			}
			return b.String()
		}
		got, want := answer(there), answer(here)
		got, want = cursor.ReplaceAllString(got, ""), cursor.ReplaceAllString(want, "")
		want = strings.Replace(want, "No hits in 30 session files.", "No hits.", 1)
		want = strings.Replace(want, "nowhere (nearest: nothing)", "nowhere", 1)      // nothing was sent that could be near
		want = strings.Replace(want, "9 malformed lines were not searched.\n", "", 1) // an archive has only what says something
		if c.tool == "search" {                                                       // ties
			got, want = sorted(got), sorted(want)
		}
		if got != want {
			t.Errorf("%s %s:\n%s\nwant\n%s", c.tool, c.arguments, got, want)
		}
	}
	res, err := there.CallTool(t.Context(), &mcp.CallToolParams{Name: "status", Arguments: json.RawMessage("{}")})
	if err != nil || !res.IsError {
		t.Errorf("status: %+v, %v", res, err)
	}
}
