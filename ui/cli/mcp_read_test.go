package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/terminal"
	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/grep"
	"pigrep/ui/cli/location"
)

// Following the cursors of read_session always ends, and gives every entry once: those
// of the branch from the first one that was asked for, whole texts with full. A budget
// that is too small for that is refused, and the one that the hint names is enough. Texts have
// no control codes, and offsets and lengths count what is left of them.
func TestReadSessionLeadsOn(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	const sessions = 5
	var texts [sessions][]map[string]string // of each entry by the part's kind
	for i := range sessions {
		var file string
		file, texts[i] = randomSession(random, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".jsonl")), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := newAgent(t, dir)
	g.settle()
	for range testkit.HowMany(4, 80, 80) {
		i := random.IntN(sessions)
		entries := texts[i]
		first, named, full := 0, -1, random.IntN(2) == 0
		arguments := map[string]any{"session": fmt.Sprintf("5e55%04d", i), "full": full, "transcript": random.IntN(2) == 0}
		switch random.IntN(3) {
		case 0:
			named = random.IntN(len(entries))
			around := random.IntN(4)
			arguments["entry"], arguments["around"] = entryName(named), around
			first = max(0, named-around)
		case 1:
			last := 1 + random.IntN(len(entries))
			arguments["last"], first = last, len(entries)-last
		}
		budgets := []int{1000, 1500, 2500, 3000, 6000, 24_000, 200_000}
		budget := budgets[random.IntN(len(budgets))]
		what := fmt.Sprint(arguments, " within ", budget)
		got := make([]map[string]string, len(entries))
		at, seen, refused := first, map[string]bool{}, 0
		for pages := 0; ; pages++ {
			arguments["maxBytes"] = budget
			data, err := json.Marshal(arguments)
			if err != nil {
				t.Fatal(err)
			}
			r := g.result("read_session", string(data))
			if r.IsError {
				text := r.Content[0].(*sdk.TextContent).Text
				if _, err := fmt.Sscanf(text[strings.LastIndex(text, "\n")+1:], "hint: ask with maxBytes %d or more", &budget); err != nil || refused == pages+1 {
					t.Fatalf("%s: page %d: %s", what, pages, text)
				}
				refused = pages + 1
				pages--
				continue
			}
			a, _, size := g.call("read_session", string(data))
			if size > budget {
				t.Fatalf("%s: %d bytes for %d", what, size, budget)
			}
			if pages == 0 && named >= 0 { // what does not fit before the named entry is left out
				if !slices.ContainsFunc(a.Entries, func(e entryAnswer) bool { return e.Entry == entryName(named) }) || a.EntriesBefore < first {
					t.Fatalf("%s: %d entries before the page, which has %+v", what, a.EntriesBefore, a.Entries)
				}
				first, at = a.EntriesBefore, a.EntriesBefore
			}
			for k, e := range a.Entries {
				// Only the first entry of a page may continue one of the page before.
				if name := entryName(at); e.Entry != name && (k > 0 || e.Entry != entryName(at-1)) {
					t.Fatalf("%s: page %d has %s, want %s", what, pages, e.Entry, name)
				} else if e.Entry == name {
					at++
				}
				n := at - 1
				if got[n] == nil {
					got[n] = make(map[string]string)
				}
				for _, p := range e.Parts {
					if full && p.TextOffset != len(got[n][p.Kind]) {
						t.Fatalf("%s: %s: a piece of the %s from %d on, after %d bytes", what, e.Entry, p.Kind, p.TextOffset, len(got[n][p.Kind]))
					}
					if whole := len(terminal.CleanLines(entries[n][p.Kind])); full && p.TextLength != 0 && p.TextLength != whole {
						t.Fatalf("%s: %s: the %s has %d bytes, want %d", what, e.Entry, p.Kind, p.TextLength, whole)
					}
					got[n][p.Kind] += p.Text
				}
			}
			if a.EntriesBefore+len(a.Entries)+a.EntriesAfter < len(entries) {
				t.Fatalf("%s: %d entries, %d before, %d after", what, len(a.Entries), a.EntriesBefore, a.EntriesAfter)
			}
			if a.NextCursor == "" {
				break
			}
			if seen[a.NextCursor] {
				t.Fatalf("%s: page %d leads to a page before", what, pages)
			}
			seen[a.NextCursor] = true
			arguments["cursor"] = a.NextCursor
		}
		if at != len(entries) {
			t.Fatalf("%s: ends after %d of %d entries", what, at, len(entries))
		}
		for n := first; n < len(entries); n++ {
			for kind, want := range entries[n] {
				want = terminal.CleanLines(want)
				if have, there := got[n][kind]; !there || full && have != want {
					t.Fatalf("%s: %s has %d bytes of its %s, want %d", what, entryName(n), len(have), kind, len(want))
				}
			}
		}
	}
}

func entryName(i int) string { return fmt.Sprintf("e%07d", i) }

// randomSession returns a session file without branches, and the texts of its entries
// by the kind of their part.
func randomSession(random *rand.Rand, number int) (file string, texts []map[string]string) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":"5e55%04d-aaaa","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`+"\n", number)
	words := []string{"plain words ", "é<&>", "日本語", "\n", `"quoted"`, "\t", "\u2028", "\x1b[31m"}
	text := func() string {
		length := []int{1, 30, 400, 3000, 9000}[random.IntN(5)]
		var s strings.Builder
		s.WriteString("x") // nobody trims it
		for s.Len() < length {
			s.WriteString(words[random.IntN(len(words))])
			if random.IntN(40) == 0 {
				s.WriteString(strings.Repeat("日", 500)) // no place to cut after a line
			}
		}
		return s.String() + "x"
	}
	quote := func(s string) string {
		data, _ := json.Marshal(s)
		return string(data)
	}
	parent := "null"
	for i := range 4 + random.IntN(12) {
		parts := map[string]string{}
		var message string
		switch random.IntN(3) {
		case 0:
			parts["prompt"] = text()
			message = `{"role":"user","content":` + quote(parts["prompt"]) + `}`
		case 1:
			var blocks []string
			for _, kind := range []string{"thinking", "reply"} {
				if random.IntN(3) > 0 || kind == "reply" && len(blocks) == 0 {
					parts[kind] = text()
					name := map[string]string{"thinking": "thinking", "reply": "text"}[kind]
					blocks = append(blocks, fmt.Sprintf(`{"type":%q,%q:%s}`, name, name, quote(parts[kind])))
				}
			}
			message = `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
		case 2:
			parts["result"] = text()
			blocks := []string{fmt.Sprintf(`{"type":"text","text":%s}`, quote(parts["result"]))}
			if random.IntN(4) == 0 {
				blocks = slices.Insert(blocks, 0, `{"type":"image","data":"AAAA","mimeType":"image/png"}`)
			}
			message = `{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[` + strings.Join(blocks, ",") + `]}`
		}
		fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-03-01T10:00:%02d.000Z","message":%s}`+"\n", entryName(i), parent, i, message)
		parent = fmt.Sprintf("%q", entryName(i))
		texts = append(texts, parts)
	}
	return b.String(), texts
}

// Answers are lean: a search with default arguments takes at most 750 tokens of
// o200k in each part, which has 3.2 bytes a token there.
func TestAnswersAreLean(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	dir := t.TempDir()
	if _, err := corpus.Generate(dir, corpus.Options{Seed: 3, Bytes: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	g := newAgent(t, dir)
	newest, _, _ := g.call("list_sessions", `{}`)
	for _, test := range []struct {
		tool, arguments string
		most            int // tokens
	}{
		{"search", `{"query":"connection timeout parser"}`, 750},
		{"search", `{"query":"error build index"}`, 750},
		{"search", `{"query":"retry","flat":true}`, 1200},
		{"grep", `{"pattern":"retry"}`, 1800},
		{"list_sessions", `{}`, 800},
		{"tool_calls", `{}`, 2000},
		{"usage", `{}`, 500},
		{"recap", `{}`, 1100},
		{"status", `{}`, 150},
		{"read_session", fmt.Sprintf(`{"session":%q}`, newest.Sessions[0].Session), 2000},
	} {
		r := g.result(test.tool, test.arguments)
		data, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		if r.IsError || len(data) > test.most*32/10 || len(text) > test.most*32/10 || len(data) < 100 {
			t.Errorf("%s %s takes %d bytes as JSON and %d as text, at most %d tokens wanted", test.tool, test.arguments, len(data), len(text), test.most)
		}
	}
}

// Control characters that tools printed do not reach whoever reads the rows.
func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{"type":"session","version":3,"id":"01a1f7de-aaaa","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}
{"type":"message","id":"e0000001","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"needle \u001b[31mred\u001b[0m\u0007 a\tb \u202eright"}}
`
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	g := newAgent(t, dir)
	want := "needle \\x1b[31mred\\x1b[0m\\a a\tb \\u202eright"
	a, shown, _ := g.call("grep", `{"pattern":"needle"}`)
	if len(a.Entries) != 1 || a.Entries[0].Lines[0] != "1:"+want || !strings.Contains(shown, want) {
		t.Errorf("%q, %+v", shown, a.Entries)
	}
	for _, c := range []struct{ tool, arguments string }{{"search", `{"query":"needle"}`}, {"list_sessions", `{}`}} {
		if _, shown, _ := g.call(c.tool, c.arguments); strings.ContainsAny(shown, "\x1b\a\u202e") || !strings.Contains(shown, "needle") {
			t.Errorf("%s shows %q", c.tool, shown)
		}
	}
}

// Calls of pigrep and their results repeat what other sessions say: agents do not find
// them unless they ask, whether the index has them or not yet, and learn how many there are.
func TestSearchesAreLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	entry := func(i int, message string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-03-01T10:00:%02d.000Z","message":%s}`+"\n", entryName(i), i, message)
	}
	call := func(id, tool, arguments string) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"zebra, says the reply"},{"type":"toolCall","id":%q,"name":%q,"arguments":%s}]}`, id, tool, arguments)
	}
	result := func(id, tool string) string {
		return fmt.Sprintf(`{"role":"toolResult","toolCallId":%q,"toolName":%q,"content":[{"type":"text","text":"zebra, says a result"}]}`, id, tool)
	}
	file := `{"type":"session","version":3,"id":"01a1f7de-aaaa","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n" +
		entry(1, `{"role":"user","content":"where is the zebra?"}`) +
		entry(2, call("c1", "mcp__pigrep__search", `{"query":"zebra"}`)) + entry(3, result("c1", "mcp__pigrep__search")) +
		entry(4, call("c2", "bash", `{"command":"pigrep grep zebra | head"}`)) + entry(5, result("c2", "bash")) +
		entry(6, call("c3", "bash", `{"command":"rg zebra"}`)) + entry(7, result("c3", "bash")) +
		entry(8, call("c4", "bash", `{"command":"pigrep zebra"}`))
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	g := newAgent(t, dir)
	g.settle()
	check := func(when string, shown, hidden int) {
		t.Helper()
		for _, c := range []struct{ tool, arguments string }{
			{"search", `{"query":"zebra","flat":true`}, {"search", `{"query":"zebra","perSession":50`}, {"grep", `{"pattern":"zebra"`},
		} {
			a, text, _ := g.call(c.tool, c.arguments+"}")
			if a.LeftOut == nil || a.LeftOut.Searches != hidden || a.Total != float64(shown) || !strings.Contains(text, fmt.Sprintf("%d hits in calls of pigrep left out", hidden)) {
				t.Errorf("%s, %s %s: total %v, left out %+v, want %d and %d: %s", when, c.tool, c.arguments, a.Total, a.LeftOut, shown, hidden, text)
			}
			for _, e := range a.places() {
				if e.Entry == entryName(3) || e.Entry == entryName(5) || e.Entry == entryName(9) {
					t.Errorf("%s, %s %s: shows %+v", when, c.tool, c.arguments, e)
				}
			}
			if a, _, _ := g.call(c.tool, c.arguments+`,"includeSearches":true}`); a.LeftOut != nil || a.Total != float64(shown+hidden) {
				t.Errorf("%s, %s %s: with them the total is %v, want %d", when, c.tool, c.arguments, a.Total, shown+hidden)
			}
		}
		if a, text, _ := g.call("search", `{"query":"zebra","tool":"mcp__pigrep__search"}`); a.Total != 0.0 || !strings.Contains(text, "with includeSearches") {
			t.Errorf("%s: what would give hits is not said: %s", when, text)
		}
		if a, _, _ := g.call("tool_calls", `{"query":"zebra"}`); len(a.Calls) != 1 {
			t.Errorf("%s: %d calls with a query, want 1", when, len(a.Calls))
		}
		if a, _, _ := g.call("tool_calls", `{}`); len(a.Calls) != 4 {
			t.Errorf("%s: %d calls, want 4", when, len(a.Calls))
		}
	}
	// A prompt, four replies, and the call and the result of rg.
	check("indexed", 1+4+2, 2+2+1)
	// The result of a call that is indexed already.
	f, err := os.OpenFile(filepath.Join(g.dir, "a.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(entry(9, result("c4", "bash"))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	check("appended", 1+4+2, 2+2+2)
	// Without an index the file itself says it.
	sum, err := grep.Run(t.Context(), grep.Input{Adapter: g.Agents, Source: location.Disk{}, Files: []grep.File{{Path: filepath.Join(g.dir, "a.jsonl")}}},
		grep.Request{Spec: filter.Spec{NoSearches: true}, Patterns: []string{"zebra"}}, func(*grep.Match) error { return nil })
	if err != nil || sum.Lines != 1+4+2 || sum.Searches != 2+2+2 {
		t.Errorf("without an index: %+v, %v", sum, err)
	}
}
