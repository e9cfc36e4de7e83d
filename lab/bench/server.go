//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentCalls is how many calls of a running server are measured.
const agentCalls = 1000

// An agent calls a running MCP server and notes how long each call takes.
type agent struct {
	*suite
	client      *mcp.ClientSession
	rng         *rand.Rand
	pairs       [][2]string // words of the session files, side by side in a text
	identifiers []string    // of the session files, in camel case
	hit         string      // of the last search, as read_session takes it
	took        map[string][]time.Duration
}

// server measures calls of `pigrep mcp` as agents mix them. Their words are drawn from
// the session files, so that most are new to the server.
func (b *suite) server(t *tree) error {
	a := &agent{suite: b, rng: rand.New(rand.NewPCG(corpusSeed, 1)), took: map[string][]time.Duration{}}
	if err := a.readWords(t, agentCalls); err != nil {
		return err
	}
	cmd := exec.CommandContext(b.ctx, b.pigrep, "mcp", "--session-dir", t.dir, "--index-dir", t.index)
	var err error
	if a.client, err = mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(b.ctx, &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		return err
	}
	defer a.client.Close()
	for n := range agentCalls {
		if err := a.mixed(n); err != nil {
			return err
		}
	}
	var all, phrases []time.Duration
	var tools []string
	for name, times := range a.took {
		all = append(all, times...)
		if strings.HasPrefix(name, "phrase") {
			phrases = append(phrases, times...)
		}
		tools = append(tools, fmt.Sprintf("%s %s", name, ms(p95(times))))
	}
	slices.Sort(tools)
	b.add(rowOf(t, "MCP: 1,000 mixed calls, p95", fmt.Sprintf("%s, median %s", ms(p95(all)), ms(middle(all))), t.atLarge("≤ 40 ms")))
	b.add(rowOf(t, "MCP: p95 of each kind of call", strings.Join(tools, ", "), ""))
	b.add(rowOf(t, "MCP: phrase", ms(middle(phrases)), t.atLarge("≤ 30 ms")))
	b.add(rowOf(t, "MCP: identifier", ms(middle(a.took["identifier"])), t.atLarge("≤ 30 ms")))
	return nil
}

func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// readWords reads n pairs of words and n identifiers at random places of the session files.
func (a *agent) readWords(t *tree, n int) error {
	pair := regexp.MustCompile(` ([a-z]{4,12}) ([a-z]{4,12}) `)
	identifier := regexp.MustCompile(`[ .(]([a-z]{2,12}[A-Z][a-z]{2,12})[ .(]`)
	chunk := make([]byte, 64<<10)
	for len(a.pairs) < n || len(a.identifiers) < n {
		f, err := os.Open(t.files[a.rng.IntN(len(t.files))])
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			var got int
			got, _ = f.ReadAt(chunk, a.rng.Int64N(info.Size())) // the end of the file is no error
			if m := pair.FindSubmatch(chunk[:got]); m != nil {
				a.pairs = append(a.pairs, [2]string{string(m[1]), string(m[2])})
			}
			if m := identifier.FindSubmatch(chunk[:got]); m != nil {
				a.identifiers = append(a.identifiers, string(m[1]))
			}
		}
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// mixed makes the call number n.
func (a *agent) mixed(n int) error {
	x, y := a.pairs[n][0], a.pairs[n][1]
	other := a.pairs[(n+1)%len(a.pairs)][0]
	type arguments map[string]any
	search := func(name, query string) error { return a.call(name, "search", arguments{"query": query}) }
	grep := func(name, pattern string) error { return a.call(name, "grep", arguments{"pattern": pattern}) }
	switch n % 20 {
	case 0, 1:
		return search("word", x)
	case 2, 3:
		return search("words", x+" "+y+" "+other)
	case 4:
		return search("phrase", `"`+x+" "+y+`"`)
	case 5:
		return search("phrase that is rare", `"`+x+" "+other+`"`)
	case 6:
		return search("identifier", a.identifiers[n])
	case 7, 8, 9:
		if a.hit == "" {
			return search("word", y)
		}
		return a.call("read_session", "read_session", arguments{"session": a.hit, "around": n % 9})
	case 10:
		return grep("grep word", `\b`+x+`\b`)
	case 11:
		return grep("grep expression", x+".*"+other)
	case 12:
		return grep("grep piece", x[1:])
	case 13, 14:
		return a.call("list_sessions", "list_sessions", arguments{"query": x})
	case 15:
		return a.call("list_sessions", "list_sessions", arguments{})
	case 16:
		return a.call("tool_calls", "tool_calls", arguments{"query": x, "results": true})
	case 17:
		return a.call("tool_calls", "tool_calls", arguments{"failed": true})
	case 18:
		return a.call("usage", "usage", arguments{"by": []string{"project", "model"}})
	default:
		return a.call("status", "status", arguments{})
	}
}

// call measures a call, under a name of its own.
func (a *agent) call(name, tool string, arguments any) error {
	start := time.Now()
	r, err := a.client.CallTool(a.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	a.took[name] = append(a.took[name], time.Since(start))
	if err != nil {
		return err
	}
	if r.IsError {
		text, _ := json.Marshal(r.Content)
		return fmt.Errorf("%s %v: %s", tool, arguments, text)
	}
	if tool == "search" {
		a.hit = hitOf(r)
	}
	return nil
}

// hitOf names the first hit of a search, or nothing if there is none.
func hitOf(r *mcp.CallToolResult) string {
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return ""
	}
	var answer struct {
		Sessions []struct {
			Session string
			Hits    []struct{ Entry string }
		}
	}
	if json.Unmarshal(data, &answer) != nil || len(answer.Sessions) == 0 || len(answer.Sessions[0].Hits) == 0 {
		return ""
	}
	return answer.Sessions[0].Session + ":" + answer.Sessions[0].Hits[0].Entry
}
