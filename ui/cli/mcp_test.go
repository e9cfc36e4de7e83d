package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/near"
	"pigrep/lab/testkit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/mcp"
)

// agent is a client of a server over the sessions of testdata/sessions, or others.
type agent struct {
	*sdk.ClientSession
	t   *testing.T
	app *app.App
	dir string // of the sessions
	x   *snapshot.Live
	*location.Location
}

// newAgent copies the sessions and connects to a server in this process.
func newAgent(t *testing.T, from string, configure ...func(*mcp.Config)) *agent {
	t.Helper()
	return newAgentNamed(t, "test", from, configure...)
}

// newAgentNamed is newAgent for a client of this name.
func newAgentNamed(t *testing.T, name, from string, configure ...func(*mcp.Config)) *agent {
	t.Helper()
	a, _, _ := testApp(t)
	a.Now = time.Now // files are new as long as their times say so
	g := &agent{t: t, app: a, dir: filepath.Join(a.Home, "sessions")}
	if err := os.CopyFS(g.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	p := &location.Location{App: a, Agents: a.Registry(), IndexDir: filepath.Join(a.Home, "index"), Roots: []adapter.Root{{Path: g.dir}}}
	g.Location = p
	g.x = snapshot.OpenLive(t.Context(), p)
	g.x.Patience = time.Minute // the first index may take long on a busy machine
	config := mcpConfig(g.x, p, false)
	config.Within = time.Minute
	for _, change := range configure {
		change(&config)
	}
	here, there := sdk.NewInMemoryTransports()
	server, err := mcp.New(config).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: name}, nil).Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.ClientSession.Close()
		server.Wait()
		g.x.Close()
	})
	return g
}

// settle indexes the files, and waits until they are old enough for their times to prove
// them unchanged.
func (g *agent) settle() {
	g.t.Helper()
	opt := snapshot.Options(g.Location)
	opt.Wait = time.Minute // for the server
	waitFor(g.t, func() bool {
		res, err := indexer.Update(g.t.Context(), opt)
		if err != nil {
			g.t.Fatal(err)
		}
		defer res.Reader.Close()
		return res.Lag == indexer.Lag{} && res.Changes[indexer.Unchanged] == len(res.Found.Files)
	})
}

const samples = "../../testdata/sessions"

// answer has the fields of answers that the tests check.
type answer struct {
	Sessions []struct {
		Session, Title, Entry string
		Hits                  []hitRow
		Facts                 []struct{ What, Text string }
	}
	Hits    []hitRow
	Entries []entryAnswer

	Calls, Rows                 []hitRow
	EntriesBefore, EntriesAfter int
	Total                       any
	Looser, Folded              int
	Dropped                     int
	NextCursor                  string
	LeftOut                     *struct {
		Session  string
		Searches int
	}
	Warnings []string
	Newest   string
	Complete bool
}

type entryAnswer struct {
	Session, Entry, Role string
	Named                bool
	Steps                string
	Skipped              int
	Lines                []string
	Parts                []struct {
		Kind, Text                       string
		CutBytes, TextOffset, TextLength int
	}
	Images []any
}

// hitRow has the fields that rows of several tools have in common.
type hitRow struct{ Session, Entry, Kind, Text, Day, Model string }

// hits are those of all sessions, with their session.
func (a *answer) hits() (list []hitRow) {
	for _, s := range a.Sessions {
		for _, h := range s.Hits {
			h.Session = s.Session
			list = append(list, h)
		}
	}
	return append(list, a.Hits...)
}

// places are the sessions and entries of all rows.
func (a *answer) places() (list []hitRow) {
	if list = a.hits(); list != nil {
		return list
	}
	for _, s := range a.Sessions {
		list = append(list, hitRow{Session: s.Session, Entry: s.Entry})
	}
	for _, e := range a.Entries {
		for range max(1, len(e.Lines)) {
			list = append(list, hitRow{Session: e.Session, Entry: e.Entry})
		}
	}
	return append(append(list, a.Calls...), a.Rows...)
}

// items are the rows as texts.
func (a *answer) items() (list []string) {
	for _, p := range a.places() {
		list = append(list, fmt.Sprint(p))
	}
	i := 0
	for _, e := range a.Entries {
		for _, line := range e.Lines {
			list[i] += line
			i++
		}
	}
	return list
}

// call calls a tool and returns its answer, its text, and its bytes on the wire.
func (g *agent) call(tool, arguments string) (a answer, text string, size int) {
	g.t.Helper()
	r := g.result(tool, arguments)
	if r.IsError {
		g.t.Fatalf("%s %s: %s", tool, arguments, r.Content[0].(*sdk.TextContent).Text)
	}
	wire, err := json.Marshal(r)
	if err != nil {
		g.t.Fatal(err)
	}
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		g.t.Fatalf("%s: %v: %s", tool, err, data)
	}
	return a, r.Content[0].(*sdk.TextContent).Text, len(wire)
}

func (g *agent) result(tool, arguments string) *sdk.CallToolResult {
	g.t.Helper()
	r, err := g.CallTool(g.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		g.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return r
}

// fails calls a tool that refuses, and returns what it says.
func (g *agent) fails(tool, arguments string) string {
	g.t.Helper()
	r := g.result(tool, arguments)
	if !r.IsError || r.StructuredContent != nil { // which clients check against the schema of answers
		g.t.Fatalf("%s %s is answered with %v", tool, arguments, r.StructuredContent)
	}
	return r.Content[0].(*sdk.TextContent).Text
}

// A tool answers what its command answers with --json, with less about each row.
func TestToolsAnswerAsCommandsDo(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples, func(c *mcp.Config) { c.Reveal = true })
	g.settle()
	for _, test := range []struct{ tool, arguments, command string }{
		{"search", `{"query":"timeout","perSession":3,"maxBytes":512000}`, "search timeout --per-session 3"},
		{"search", `{"query":"timeout error","flat":true,"limit":7,"kind":"result","maxBytes":512000}`, "search timeout error --flat -n 7 --kind result"},
		{"search", `{"query":"timeot","perSession":3,"maxBytes":512000}`, "search timeot --per-session 3"},
		{"search", `{"query":"zzzqqq","scope":"prompts"}`, "search zzzqqq --scope prompts"},
		{"search", `{"query":"parser","sort":"newest","perSession":2,"since":"2020-01-01","maxBytes":512000}`, "search parser --sort newest --per-session 2 --since 2020-01-01"},
		{"grep", `{"pattern":"time(d)?out","context":1,"limit":1000,"maxBytes":512000}`, "grep time(d)?out -C 1 --sort newest"},
		{"grep", `{"pattern":["zzzqqq","yyyqqq"]}`, "grep -e zzzqqq -e yyyqqq"},
		{"find_fix", `{"error":"EACCES: permission denied"}`, "fix EACCES: permission denied"},
		{"find_fix", `{"error":"zzzqqq failed"}`, "fix zzzqqq failed"},
		{"list_sessions", `{"limit":1000,"maxBytes":512000}`, "sessions"},
		{"list_sessions", `{"query":"parser","limit":5,"maxBytes":512000}`, "sessions parser -n 5"},
		{"list_sessions", `{"forks":true,"maxBytes":512000}`, "sessions --forks"},
		{"tool_calls", `{"limit":1000,"maxBytes":512000}`, "tools calls"},
		{"tool_calls", `{"failed":true,"results":true,"limit":5}`, "tools calls --failed -n 5 --verbose"},
		{"tool_calls", `{"risky":true,"limit":1000}`, "tools calls --risky"},
		{"usage", `{}`, "usage"},
		{"usage", `{"by":["day","model"],"limit":1000}`, "usage --by day,model"},
	} {
		a, _, _ := g.call(test.tool, test.arguments)
		var out bytes.Buffer
		b := *g.app
		streams := *b.Streams
		streams.Out = &out
		b.Streams = &streams
		args := append(strings.Fields(test.command), "--json", "--session-dir", g.dir, "--quiet")
		if code := Run(t.Context(), &b, args); code == problem.ExitError {
			t.Errorf("%s: exit code %d", test.command, code)
		}
		type row struct {
			SessionID, SessionPath, EntryID string
			Error                           any
		}
		var command struct {
			Hits, Sessions, Matches, Rows []row
			Total, Calls                  any
		}
		if err := json.Unmarshal(out.Bytes(), &command); err != nil {
			t.Fatalf("%s: %v: %s", test.command, err, out.Bytes())
		}
		rows := slices.Concat(command.Hits, command.Matches, command.Rows)
		if len(rows) == 0 {
			rows = command.Sessions
		}
		places := a.places()
		if len(places) != len(rows) {
			t.Errorf("%s %s: %d rows, %s has %d", test.tool, test.arguments, len(places), test.command, len(rows))
			continue
		}
		for i, r := range rows {
			if e, ok := r.Error.(map[string]any); ok { // of fix
				r.EntryID, _ = e["entryId"].(string)
			}
			session, entry := places[i].Session, places[i].Entry
			if !near.IsID(r.SessionID, session) && r.SessionPath != session || r.EntryID != entry {
				t.Errorf("%s %s: row %d is %s:%s, in %s %+v", test.tool, test.arguments, i, session, entry, test.command, r)
			}
		}
		total := command.Total
		if command.Calls != nil {
			total = command.Calls
		}
		if _, sums := a.Total.(float64); sums && a.Total != total {
			t.Errorf("%s %s: total %v, in %s %v", test.tool, test.arguments, a.Total, test.command, total)
		}
	}
}

// Whatever the budget, an answer keeps to it, its items are whole, and the pages
// together are the long answer.
func TestPages(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	g := newAgent(t, samples)
	for _, test := range []struct{ tool, arguments string }{
		{"search", `"query":"the parser error timeout","perSession":3`},
		{"search", `"query":"the parser error timeout","flat":true,"limit":5`},
		{"search", `"query":"parser error gateway session","limit":2,"perSession":1`},
		{"search", `"query":"the","sort":"newest","limit":3`},
		{"grep", `"pattern":"e","limit":40`},
		{"list_sessions", `"limit":4`},
		{"tool_calls", `"limit":5`},
		{"usage", `"by":["session"],"limit":6`},
	} {
		var all []string
		for _, budget := range []int{512000, 4000, 9000} {
			var got []string
			cursor, pages := "", 0
			for {
				a, text, size := g.call(test.tool, fmt.Sprintf(`{%s,"maxBytes":%d,"cursor":%q}`, test.arguments, budget, cursor))
				if size > budget {
					t.Fatalf("%s: %d bytes for a budget of %d", test.tool, size, budget)
				}
				got = append(got, a.items()...)
				if pages++; pages > 2000 {
					t.Fatalf("%s %s: no end of pages", test.tool, test.arguments)
				}
				if a.Dropped > 0 && !strings.Contains(text, fmt.Sprintf("%d more", a.Dropped)) {
					t.Errorf("%s: the text does not say that %d are dropped: %s", test.tool, a.Dropped, text)
				}
				if a.NextCursor == "" {
					break
				}
				if !strings.Contains(text, a.NextCursor) {
					t.Errorf("%s: the text does not have the cursor", test.tool)
				}
				cursor = a.NextCursor
			}
			if all == nil {
				all = got
				if len(all) < 5 {
					t.Errorf("%s %s: only %d items, which shows little", test.tool, test.arguments, len(all))
				}
			}
			if diff := cmp.Diff(all, got); diff != "" {
				t.Errorf("%s %s with pages of %d bytes (-long +pages):\n%s", test.tool, test.arguments, budget, diff)
			}
		}
	}
}

// A budget holds for the answer as it is sent, texts and structure together; the
// smallest may be too small for one item, which says what is enough.
func TestBudgets(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	g := newAgent(t, samples)
	g.settle() // a cursor is longer if a part of the snapshot is in memory
	var listed int
	for _, test := range []struct{ tool, arguments string }{
		{"search", `"query":"the parser error timeout","context":3`},
		{"search", `"query":"` + strings.Repeat("many words ", 300) + `"`},
		{"grep", `"pattern":"e","context":2`},
		{"list_sessions", `"limit":1000`},
		{"list_sessions", `"query":"the"`},
		{"read_session", `"session":"0195562e"`},
		{"read_session", `"session":"0195562e","transcript":true,"full":true`},
		{"tool_calls", `"results":true,"limit":1000`},
		{"usage", `"by":["session","model","day"],"limit":1000`},
	} {
		last := 0
		for _, budget := range []int{1000, 2000, 24_000, 512_000} {
			arguments := fmt.Sprintf(`{%s,"maxBytes":%d}`, test.arguments, budget)
			r := g.result(test.tool, arguments)
			if r.IsError {
				var enough int
				text := r.Content[0].(*sdk.TextContent).Text
				if _, err := fmt.Sscanf(text[strings.LastIndex(text, "\n")+1:], "hint: ask with maxBytes %d or more", &enough); err != nil || budget > 10_000 {
					t.Errorf("%s %.80s, %d bytes: %s", test.tool, test.arguments, budget, text)
					continue
				}
				arguments, budget = fmt.Sprintf(`{%s,"maxBytes":%d}`, test.arguments, enough), enough
			}
			a, text, size := g.call(test.tool, arguments)
			n := len(a.items())
			if size > budget || n < last || n == 0 {
				t.Errorf("%s %.80s: %d items in %d bytes for a budget of %d", test.tool, test.arguments, n, size, budget)
			}
			if a.Dropped > 0 && (a.NextCursor == "" || !strings.Contains(text, a.NextCursor)) {
				t.Errorf("%s %.80s: %d are dropped without a cursor to them", test.tool, test.arguments, a.Dropped)
			}
			last = n
			listed += n
		}
	}
	if listed < 100 {
		t.Errorf("only %d items in all, which shows little", listed)
	}
}

// From every row of every tool an agent can read on: it names its session, and
// the entry where it is of one, and read_session knows both.
func TestEveryRowLeadsOn(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	g := newAgent(t, samples)
	for _, test := range []struct {
		tool, arguments, rows string
		entries               bool
	}{
		{"search", `{"query":"the parser error timeout","scope":"all","flat":true,"limit":200}`, "hits", true},
		{"search", `{"query":"the parser error timeout","scope":"all","limit":200,"perSession":5}`, "sessions", false},
		{"grep", `{"pattern":"e","scope":"all","maxCount":3,"limit":1000}`, "entries", true},
		{"list_sessions", `{"limit":1000}`, "sessions", false},
		{"list_sessions", `{"query":"parser","limit":1000}`, "sessions", true},
		{"tool_calls", `{"limit":1000}`, "calls", true},
		{"usage", `{"by":["session"],"limit":1000}`, "rows", false},
		{"read_session", `{"session":"0195562e"}`, "entries", true},
	} {
		arguments := strings.TrimSuffix(test.arguments, "}") + `,"maxBytes":512000}`
		data, err := json.Marshal(g.result(test.tool, arguments).StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			Session, Entry, Result string
			Hits                   []row
		}
		var lists map[string]json.RawMessage
		var rows []row
		if err := errors.Join(json.Unmarshal(data, &lists), json.Unmarshal(lists[test.rows], &rows)); err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", test.tool, len(rows), err)
		}
		for _, r := range rows {
			for _, h := range r.Hits {
				h.Session = r.Session
				rows = append(rows, h)
			}
		}
		read := 0
		for _, r := range rows {
			if test.tool == "read_session" {
				r.Session = "0195562e"
			}
			if r.Session == "" || test.entries && r.Entry == "" {
				t.Errorf("%s %s: a row names %+v", test.tool, test.arguments, r)
				continue
			}
			if read++; read > 40 && r.Result == "" {
				continue // many of the same kind
			}
			for _, entry := range []string{r.Entry, r.Result} {
				if a, _, _ := g.call("read_session", fmt.Sprintf(`{"session":%q,"entry":%q,"around":0}`, r.Session, entry)); len(a.Entries) == 0 && entry != "" {
					t.Errorf("%s: read_session has nothing at %s:%s", test.tool, r.Session, entry)
				} else if entry != "" && a.Entries[0].Entry != entry {
					t.Errorf("%s: read_session has %s at %s", test.tool, a.Entries[0].Entry, entry)
				}
			}
		}
	}
}

// A session that is read page by page is the whole session, texts included.
func TestReadSessionPages(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	big := t.TempDir()
	var want []string
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"01a1f7de-aaaa","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n")
	parent := "null"
	for i := range 12 {
		text := strings.Repeat(fmt.Sprintf("entry %d says \"<é&>\" and more\n", i), 1+i*i*6)
		want = append(want, text)
		quoted, _ := json.Marshal(text)
		fmt.Fprintf(&b, `{"type":"message","id":"e%07d","parentId":%s,"timestamp":"2026-03-01T10:00:%02d.000Z","message":{"role":"user","content":%s}}`+"\n", i, parent, i, quoted)
		parent = fmt.Sprintf(`"e%07d"`, i)
	}
	if err := os.WriteFile(filepath.Join(big, "a.jsonl"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	g := newAgent(t, big)
	for _, test := range []struct {
		budget     int
		transcript bool
	}{{3000, false}, {4000, false}, {4000, true}, {24000, false}, {24000, true}, {512000, false}, {512000, true}} {
		texts := make(map[string]string)
		var order []string
		var transcript strings.Builder
		cursor := ""
		for range 2000 {
			a, text, size := g.call("read_session", fmt.Sprintf(`{"session":"01a1f7de","full":true,"maxBytes":%d,"transcript":%v,"cursor":%q}`, test.budget, test.transcript, cursor))
			if size > test.budget {
				t.Fatalf("%d bytes for a budget of %d", size, test.budget)
			}
			transcript.WriteString(text)
			for _, e := range a.Entries {
				for _, p := range e.Parts {
					if p.TextOffset != len(texts[e.Entry]) {
						t.Fatalf("%s: a piece from %d on, after %d bytes", e.Entry, p.TextOffset, len(texts[e.Entry]))
					}
					texts[e.Entry] += p.Text
				}
				if len(order) == 0 || order[len(order)-1] != e.Entry {
					order = append(order, e.Entry)
				}
				if !strings.Contains(text, e.Entry) {
					t.Errorf("budget %d: the text does not name %s: %s", test.budget, e.Entry, text)
				}
			}
			if cursor = a.NextCursor; cursor == "" {
				break
			}
			if !strings.Contains(text, cursor) {
				t.Errorf("budget %d: the text does not have the cursor", test.budget)
			}
		}
		for i, text := range want {
			if got := texts[fmt.Sprintf("e%07d", i)]; got != text {
				t.Fatalf("%+v: entry %d has %d bytes, want %d", test, i, len(got), len(text))
			}
			if n := strings.Count(transcript.String(), fmt.Sprintf("entry %d says", i)); n < strings.Count(text, "\n") {
				t.Errorf("%+v: the transcript has %d lines of entry %d, want %d", test, n, i, strings.Count(text, "\n"))
			}
		}
		if !slices.IsSorted(order) || len(order) != len(want) {
			t.Errorf("%+v: entries %v", test, order)
		}
	}

	// Without full a long text is cut in the middle, and says so.
	a, text, _ := g.call("read_session", `{"session":"01a1f7de:e0000011","around":1,"transcript":true}`)
	if len(a.Entries) != 2 || a.EntriesBefore != 10 || a.EntriesAfter != 0 || a.Entries[1].Parts[0].CutBytes == 0 || !strings.Contains(text, "bytes left out") {
		t.Errorf("%d entries, %d before, %d after; text %.300s", len(a.Entries), a.EntriesBefore, a.EntriesAfter, text)
	}
	if _, text, _ := g.call("read_session", `{"session":"01a1f7de:e0000011","around":1}`); strings.Contains(text, "bytes left out") || !strings.Contains(text, `"transcript":true`) {
		t.Errorf("the short text: %s", text)
	}
	if a, _, _ := g.call("read_session", `{"session":"01a1f7de","last":2}`); len(a.Entries) != 2 || a.Entries[1].Entry != "e0000011" {
		t.Errorf("the last two are %+v", a.Entries)
	}
	if a, _, _ := g.call("read_session", `{"session":"e0000003","around":0}`); len(a.Entries) != 1 || a.Entries[0].Entry != "e0000003" {
		t.Errorf("an entry id alone: %+v", a.Entries)
	}
	for arguments, want := range map[string]string{
		`{"session":"nothing"}`:                   "no session nothing",
		`{"session":"/etc/passwd"}`:               "no session /etc/passwd",
		`{"session":"01a1f7de","entry":"zzzz"}`:   "no entry zzzz",
		`{"session":"01a1f7de","entry":"e00000"}`: "matches 12 entries",
	} {
		if got := g.fails("read_session", arguments); !strings.Contains(got, want) || !strings.Contains(got, "hint: ") {
			t.Errorf("%s: %q, want %q and a hint", arguments, got, want)
		}
	}
}

// Cursors lead on in the answer they came with, whatever is indexed meanwhile, and
// are refused when that answer is gone.
func TestCursorsOutliveUpdates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSessions(t, dir, 4)
	g := newAgent(t, dir)
	const arguments = `{"query":"words","flat":true,"limit":30,"perSession":200,"maxBytes":8000,"cursor":%q}`
	var want []string
	for cursor := ""; ; {
		a, _, _ := g.call("search", fmt.Sprintf(arguments, cursor))
		for _, h := range a.Hits {
			want = append(want, h.Session+h.Entry)
		}
		if cursor = a.NextCursor; cursor == "" || len(want) > 60 {
			break
		}
	}
	first, _, _ := g.call("search", fmt.Sprintf(arguments, ""))
	writeSessions(t, g.dir, 6)
	if a, _, _ := g.call("search", fmt.Sprintf(arguments, "")); a.Total == first.Total {
		t.Fatal("a new session is not found")
	}
	var got []string
	for a := first; ; {
		for _, h := range a.Hits {
			got = append(got, h.Session+h.Entry)
		}
		if a.NextCursor == "" || len(got) > 60 {
			break
		}
		a, _, _ = g.call("search", fmt.Sprintf(arguments, a.NextCursor))
	}
	if diff := cmp.Diff(want[:60], got[:60]); diff != "" {
		t.Errorf("pages before and after an update (-before +after):\n%s", diff)
	}
	for n := 7; n < 8+snapshot.MaxPinned; n++ {
		writeSessions(t, g.dir, n)
		g.call("search", fmt.Sprintf(arguments, ""))
	}
	if got := g.fails("search", fmt.Sprintf(arguments, first.NextCursor)); !strings.Contains(got, "the index has changed") {
		t.Errorf("a cursor of long ago: %s", got)
	}
}

func TestTheSameRequestGetsTheSameBytes(t *testing.T) {
	t.Parallel()
	g, other := newAgent(t, samples), newAgent(t, samples)
	for _, test := range []struct{ tool, arguments string }{
		{"search", `{"query":"parser timeout","maxBytes":6000,"since":"2 years ago"}`},
		{"grep", `{"pattern":"error","maxBytes":6000}`},
		{"list_sessions", `{"maxBytes":3000}`},
		{"tool_calls", `{"maxBytes":3000}`},
		{"usage", `{"by":["model","day"],"maxBytes":3000}`},
	} {
		for _, g := range []*agent{g, other} {
			g.settle()
			// Others ask at the same time.
			answers := make([][]byte, 6)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() {
					r, err := g.CallTool(t.Context(), &sdk.CallToolParams{Name: test.tool, Arguments: json.RawMessage(test.arguments)})
					if err != nil {
						t.Error(err)
						return
					}
					if answers[i], err = json.Marshal(r); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for _, answer := range answers[1:] {
				if bytes.Equal(answers[0], answer) {
					continue
				}
				t.Errorf("%s: two answers:\n%s\n%s", test.tool, answers[0], answer)
			}
		}
	}
}

func TestSecretsAreMaskedForAgents(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	dir := t.TempDir()
	text := `{"type":"session","version":3,"id":"01a1f7de-aaaa","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p/password=hunter2hunter2"}
{"type":"session_info","id":"e0000000","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","name":"DB_PASSWORD=hunter2hunter2"}
{"type":"message","id":"e0000001","parentId":"e0000000","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"needle DB_PASSWORD=hunter2hunter2"}}
{"type":"message","id":"e0000002","parentId":"e0000001","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","provider":"a","model":"m","usage":{"input":1,"output":1,"cost":{"total":0.1}},"content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"needle; PGPASSWORD=hunter2hunter2 psql"}}]}}
{"type":"message","id":"e0000003","parentId":"e0000002","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"needle postgres://u:hunter2hunter2@db/app"}],"isError":true}}
{"type":"label","id":"e0000004","parentId":"e0000003","timestamp":"2026-03-01T10:00:04.000Z","targetId":"e0000001","label":"password=hunter2hunter2"}
`
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	masked, plain := newAgent(t, dir), newAgent(t, dir, func(c *mcp.Config) { c.Reveal = true })
	for _, test := range []struct{ tool, arguments string }{
		{"search", `{"query":"needle","context":3}`},
		{"grep", `{"pattern":"needle","context":3}`},
		{"find_fix", `{"error":"needle"}`},
		{"list_sessions", `{}`},
		{"list_sessions", `{"query":"needle"}`},
		{"read_session", `{"session":"01a1f7de"}`},
		{"read_session", `{"session":"01a1f7de","full":true,"all":true}`},
		{"tool_calls", `{"results":true}`},
		{"usage", `{"by":["session"]}`},
	} {
		for _, g := range []*agent{masked, plain} {
			data, err := json.Marshal(g.result(test.tool, test.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if shows := bytes.Contains(data, []byte(secret)); shows != (g == plain) {
				t.Errorf("%s %s: the secret is shown: %v, want %v: %s", test.tool, test.arguments, shows, g == plain, data)
			}
		}
	}
	for _, uri := range []string{"pigrep://session/01a1f7de", "pigrep://session/01a1f7de/e0000003"} {
		r, err := masked.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || strings.Contains(r.Contents[0].Text, secret) || !strings.Contains(r.Contents[0].Text, "needle") {
			t.Errorf("%s: %+v, %v", uri, r, err)
		}
	}
	for _, uri := range []string{"pigrep://session/", "pigrep://session/nothing", "pigrep://session/01a1f7de/zzz", "pigrep://session/%zz", "file:///etc/passwd"} {
		if _, err := masked.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is there", uri)
		}
	}
}

// If the times exclude everything, the answer says when the newest entry was written.
func TestNothingInThisTime(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	newest := ""
	for tool, argument := range map[string]string{
		"search": `"query":"parser"`, "grep": `"pattern":"parser"`, "list_sessions": `"forks":false`, "tool_calls": `"results":false`, "usage": `"limit":3`, "find_fix": `"error":"EACCES: permission denied"`,
	} {
		a, text, _ := g.call(tool, "{"+argument+`,"since":"2199-01-01"}`)
		if a.Newest == "" || newest != "" && a.Newest != newest || !strings.Contains(text, "Nothing in this time; the newest entry is of "+a.Newest+".") {
			t.Errorf("%s: newest %q, the text is %s", tool, a.Newest, text)
		}
		newest = a.Newest
		if a, text, _ := g.call(tool, "{"+argument+"}"); a.Newest != "" {
			t.Errorf("%s without a time names the newest: %s", tool, text)
		}
	}
	if a, text, _ := g.call("grep", `{"pattern":"zzzqqq"}`); a.Newest != "" || !strings.HasPrefix(text, "No line matches in ") || strings.Contains(text, " 0 ") {
		t.Errorf("grep that finds nothing: %s", text)
	}
}

// No error repeats long input, and no answer exceeds its budget because of it.
func TestErrorsAreBrief(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	long := strings.Repeat("xyz ", 25_000)
	for _, call := range []struct{ tool, arguments string }{
		{"search", `"query":%q`}, {"search", `"query":"parser","since":%q`}, {"search", `"query":"parser","session":%q`}, {"search", `"query":"parser","kind":%q`},
		{"search", `"query":"parser","tool":%q`}, {"search", `"query":"parser","project":%q`}, {"search", `"query":"parser","sort":%q`}, {"grep", `"pattern":%q`}, {"grep", `"pattern":"(","session":%q`},
		{"list_sessions", `"until":%q`}, {"list_sessions", `"cwd":%q`}, {"read_session", `"session":%q`}, {"read_session", `"session":"0195562e","entry":%q`},
		{"read_session", `"session":"0195562e","cursor":%q`}, {"tool_calls", `"rule":%q`}, {"tool_calls", `"since":%q`}, {"usage", `"by":%q`}, {"find_fix", `"error":%q`}, {"usage", `%q:1`},
	} {
		r := g.result(call.tool, "{"+fmt.Sprintf(call.arguments, long)+`,"maxBytes":3000}`)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 3000 {
			t.Errorf("%s {%s}: %d bytes: %.300s", call.tool, call.arguments, len(data), data)
		}
	}
	_, unknownTool := g.CallTool(t.Context(), &sdk.CallToolParams{Name: long})
	_, unknownPrompt := g.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: long})
	_, noResource := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pigrep://session/" + strings.Repeat("x", 100_000)})
	for _, err := range []error{unknownTool, unknownPrompt, noResource} {
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.300v", err)
		}
	}
}

// Sessions that are not as pi writes them have names that every tool accepts, and none
// spoils a list.
func TestAgentsReadOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const entry = `{"type":"message","id":%q,"parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"otter in %s"}}` + "\n"
	files := map[string]string{
		"no-header": "", "null-id": `{"type":"session","version":3,"id":null,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`,
		"number-id": `{"type":"session","version":3,"id":5,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`,
		"path-id":   `{"type":"session","version":3,"id":"../x:y","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`,
		"no-cwd":    `{"type":"session","version":3,"id":"01a1f7de-0001","timestamp":"2026-03-01T10:00:00.000Z"}`,
		"no-time":   `{"type":"session","version":3,"id":"01a1f7de-0002","cwd":"/p"}`,
		"same/file": "", "other/file": "",
	}
	for name, header := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if header != "" {
			header += "\n"
		}
		long := `{"type":"session_info","id":"f0000001","parentId":"e0000001","timestamp":"2026-03-01T10:00:02.000Z","name":"` + strings.Repeat("name ", 60) + `\u001b[31m\u0007"}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(header+fmt.Sprintf(entry, "e0000001", name)+long+`{"type":"mess`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g := newAgent(t, dir)
	read := make(map[string]bool)
	for tool, arguments := range map[string]string{"search": `{"query":"otter","limit":20}`, "list_sessions": `{"query":"otter"}`, "grep": `{"pattern":"otter"}`} {
		a, _, _ := g.call(tool, arguments)
		var names []string
		for _, s := range a.Sessions {
			names = append(names, s.Session)
		}
		for _, e := range a.Entries {
			names = append(names, e.Session)
		}
		if len(names) != len(files) {
			t.Errorf("%s has %d sessions, want %d: %q", tool, len(names), len(files), names)
		}
		for _, name := range names {
			for _, in := range []string{name, name + ":e0000001"} {
				_, text, _ := g.call("read_session", fmt.Sprintf(`{"session":%q}`, in))
				if !strings.Contains(text, "otter in ") {
					t.Errorf("%s reads %s", in, text)
				}
				read[text[strings.Index(text, "otter in "):][:14]] = true
			}
			if a, _, _ := g.call("search", fmt.Sprintf(`{"query":"otter","session":%q}`, name)); len(a.Sessions) != 1 {
				t.Errorf("the filter session %q leaves %d sessions", name, len(a.Sessions))
			}
		}
	}
	if len(read) != len(files) {
		t.Errorf("read %d of %d sessions: %v", len(read), len(files), read)
	}
}
