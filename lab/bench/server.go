//go:build linux

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/lab/must"
)

const (
	corpusSeed = 1

	// agentCalls is how many calls of a running server are measured.
	agentCalls = 1000
)

// An agent calls a running MCP server and notes how long each call takes.
type agent struct {
	client      *mcp.ClientSession
	rng         *rand.Rand
	pairs       [][2]string // words of the session files, side by side in a text
	identifiers []string    // of the session files, in camel case
	hit         string      // of the last search, as read_session takes it
	took        map[string][]time.Duration
}

// server measures calls of `pigrep mcp` as agents mix them. Their words are drawn from
// the session files, so that most are new to the server.
func (b *suite) server(t *tree) {
	a := &agent{rng: rand.New(rand.NewPCG(corpusSeed, 1)), took: map[string][]time.Duration{}}
	a.readWords(t, agentCalls)
	server := &mcp.CommandTransport{Command: exec.Command(b.pigrep, t.command("mcp")...)}
	a.client = must.Get(mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).Connect(context.Background(), server, nil))
	defer a.client.Close()
	for n := range agentCalls {
		a.mixed(n)
	}
	var all, phrases []time.Duration
	var tools []string
	for _, name := range slices.Sorted(maps.Keys(a.took)) {
		times := a.took[name]
		all = append(all, times...)
		if strings.HasPrefix(name, "phrase") {
			phrases = append(phrases, times...)
		}
		tools = append(tools, fmt.Sprintf("%s %s", name, ms(percentile(times, 95))))
	}
	b.add(rowOf(t, "MCP: 1,000 mixed calls, p95", fmt.Sprintf("%s, median %s", ms(percentile(all, 95)), ms(percentile(all, 50))), t.atLarge("≤ 40 ms")))
	b.add(rowOf(t, "MCP: p95 of each kind of call", strings.Join(tools, ", "), ""))
	b.add(rowOf(t, "MCP: phrase", ms(percentile(phrases, 50)), t.atLarge("≤ 30 ms")))
	b.add(rowOf(t, "MCP: identifier", ms(percentile(a.took["identifier"], 50)), t.atLarge("≤ 30 ms")))
}

// readWords reads n pairs of words and n identifiers at random places of the session files.
func (a *agent) readWords(t *tree, n int) {
	pair := regexp.MustCompile(` ([a-z]{4,12}) ([a-z]{4,12}) `)
	identifier := regexp.MustCompile(`[ .(]([a-z]{2,12}[A-Z][a-z]{2,12})[ .(]`)
	chunk := make([]byte, 64<<10)
	for len(a.pairs) < n || len(a.identifiers) < n {
		f := must.Get(os.Open(t.files[a.rng.IntN(len(t.files))]))
		got, _ := f.ReadAt(chunk, a.rng.Int64N(must.Get(f.Stat()).Size())) // the end of the file is no error
		f.Close()
		if m := pair.FindSubmatch(chunk[:got]); m != nil {
			a.pairs = append(a.pairs, [2]string{string(m[1]), string(m[2])})
		}
		if m := identifier.FindSubmatch(chunk[:got]); m != nil {
			a.identifiers = append(a.identifiers, string(m[1]))
		}
	}
}

// calls are what an agent calls in turn: a name of ours, a tool, and its arguments. $x and $y are
// words that stand side by side in a text, $z is one of another text, $id an identifier, and $hit
// the first hit of the last search.
var calls = strings.Split(strings.TrimSpace(callList), "\n")

//go:embed calls.txt
var callList string

// mixed makes the call number n.
func (a *agent) mixed(n int) {
	pair := a.pairs[n]
	values := map[string]string{
		"x": pair[0], "y": pair[1], "z": a.pairs[(n+1)%len(a.pairs)][0],
		"piece": pair[0][1:], "id": a.identifiers[n], "hit": a.hit,
	}
	row := calls[n%len(calls)]
	if a.hit == "" && strings.Contains(row, "$hit") {
		row = calls[0]
	}
	part := strings.SplitN(row, ";", 3)
	name, tool := part[0], strings.TrimSpace(part[1])
	arguments := os.Expand(part[2], func(name string) string { return values[name] })

	start := time.Now()
	r, err := a.client.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	a.took[name] = append(a.took[name], time.Since(start))
	must.Do(err)
	if r.IsError {
		must.Fail("%s %s: %s", tool, arguments, must.Get(json.Marshal(r.Content)))
	}
	if tool == "search" {
		a.hit = hitOf(r)
	}
}

// hitOf names the first hit of a search, or nothing if there is none.
func hitOf(r *mcp.CallToolResult) string {
	var answer struct {
		Sessions []struct {
			Session string
			Hits    []struct{ Entry string }
		}
	}
	must.Do(json.Unmarshal(must.Get(json.Marshal(r.StructuredContent)), &answer))
	if len(answer.Sessions) == 0 || len(answer.Sessions[0].Hits) == 0 {
		return ""
	}
	return answer.Sessions[0].Session + ":" + answer.Sessions[0].Hits[0].Entry
}
