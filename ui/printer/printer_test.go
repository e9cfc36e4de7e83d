package printer

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/engine/match"
	"pigrep/query/search"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares the output with the file of that name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", path, diff)
	}
}

var now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func at(ago time.Duration) session.Time { return session.Time{Time: now.Add(-ago)} }

// spans returns where the words stand in the text.
func spans(text string, words ...string) [][2]int {
	var list [][2]int
	from := 0
	for _, w := range words {
		i := from + strings.Index(text[from:], w)
		list = append(list, [2]int{i, i + len(w)})
		from = i + len(w)
	}
	return list
}

func fragment(text string, words ...string) match.Fragment {
	return match.Fragment{Text: text, Spans: spans(text, words...)}
}

const day = 24 * time.Hour

// answer has a hit of every shape: short, long, without spaces, in wide
// characters, hostile, erroneous, on an abandoned branch, with copies.
func answer() *Search {
	login, ja := "/home/u/.pi/agent/sessions/--p--/login.jsonl", "/srv/日本/セッション.jsonl"
	r := &search.Response{
		Hits: []search.Hit{
			{
				Type: "hit", Rank: 1, Score: 12.5, Tier: search.TierExact, Kind: session.KindPrompt, Role: "user",
				EntryPlace: session.EntryPlace{SessionPath: login, SessionID: "01a1f7e5-bb66-7394-a526-4a6c2a8edee6", SessionName: "Fix the login redirect", CWD: "/home/u/src/app", EntryName: session.EntryName{EntryID: "1a2b3c4d"}},
				Timestamp:  at(3 * day), At: session.At{Line: 4, Offset: 1234, Length: 567},
				Branch: "active", InContext: true,
				Fragment: fragment("Fix the timeout of the login redirect", "timeout"),
				Resume:   &search.Resume{Dir: "/home/u/src/app", Argv: []string{"pi", "--session", login}},
			},
			{
				Type: "hit", Rank: 2, Score: 9.25, Tier: search.TierParts, Lacks: search.Lacks{Missing: []string{"redirect"}, Elsewhere: []string{"redirect"}},
				Kind: session.KindResult, Role: "toolResult", Origin: session.Origin{Tool: "bash", IsError: true},
				EntryPlace: session.EntryPlace{SessionPath: login, SessionID: "01a1f7e5-bb66-7394-a526-4a6c2a8edee6", SessionName: "Fix the login redirect", CWD: "/home/u/src/app", EntryName: session.EntryName{EntryID: "5e6f7a8b"}},
				Timestamp:  at(3*day - time.Hour), At: session.At{Line: 9, Offset: 4321, Length: 999},
				Branch: "abandoned",
				Fragment: fragment("… --- FAIL: TestLogin (30.00s)\n\tlogin_test.go:52: get /login: context deadline exceeded: "+
					"the connection timeout of 30s was reached while waiting for headers from 127.0.0.1:8443, after 3 tries with <html> & \"quotes\" …",
					"connection timeout"),
				Copies: []search.Copy{{SessionPath: "/home/u/.pi/agent/sessions/--p--/fork.jsonl", EntryName: session.EntryName{EntryID: "5e6f7a8b"}}},
			},
			{
				Type: "hit", Rank: 3, Score: 7, Tier: search.TierFuzzy, Kind: session.KindReply, Role: "assistant",
				EntryPlace: session.EntryPlace{SessionPath: ja, SessionID: "9470c69e-8ef4-4241-8976-00cf81600372", CWD: "/srv/日本/とても長いプロジェクトの名前", EntryName: session.EntryName{EntryID: "@123456"}},
				Timestamp:  at(400 * day), At: session.At{Line: 2, Offset: 10, Length: 20}, Branch: "active", InContext: true,
				Label: "あとで",
				Fragment: fragment("接続がタイムアウトしました。サーバーの設定を確認してください。タイムアウトの値は三十秒です 👨‍👩‍👧 😀 "+
					"設定ファイルの場所は次の通りです。もう一度お試しください。", "タイムアウト", "タイムアウト"),
			},
			{
				Type: "hit", Rank: 4, Score: 6, Tier: search.TierExact, Kind: session.KindCall, Role: "assistant", Origin: session.Origin{Tool: "write"},
				EntryPlace: session.EntryPlace{SessionPath: ja, SessionID: "9470c69e-8ef4-4241-8976-00cf81600372", CWD: "/srv/日本/とても長いプロジェクトの名前", EntryName: session.EntryName{EntryID: "0198c0de-aaaa-7bbb-8ccc-ddddeeeeffff", ShortEntryID: "0198c0de"}},
				Timestamp:  at(20 * time.Minute), At: session.At{Line: 3, Offset: 30, Length: 20},
				Branch: "active",
				Fragment: fragment("\x1b[31m\x1b]0;owned\x07"+strings.Repeat("x", 90)+"/timeout/"+strings.Repeat("y", 90)+
					"\x1b[2J\u202e\u009b2J", "timeout"),
			},
		},
		Sessions: []search.SessionHit{
			{
				Type: "session", Score: 12.5, Hits: 1, HitsAny: 4, Looser: 3, SessionFacts: search.SessionFacts{SessionPath: login, SessionID: "01a1f7e5-bb66-7394-a526-4a6c2a8edee6", Name: "Fix the login redirect",
					CWD: "/home/u/src/app", Created: at(4 * day), Modified: at(3 * day), Messages: 12, FirstPrompt: "hello", Title: "Fix the login redirect"},
			},
			{
				Type: "session", Score: 7, Hits: 2, HitsAny: 2, SessionFacts: search.SessionFacts{SessionPath: ja, SessionID: "9470c69e-8ef4-4241-8976-00cf81600372",
					CWD: "/srv/日本/とても長いプロジェクトの名前", Created: at(400 * day), Modified: at(20 * time.Minute), Messages: 3,
					FirstPrompt: "サーバーに接続できません。\x1b[31m何が起きていますか?調べてください。よろしくお願いします。ログは次の通りです", Title: "サーバーに接続できません。\x1b[31m何が起きていますか?調べてください。よろしくお願いします。ログは次の通りです"},
			},
		},
		Total: 3, TotalIn: 2, TotalAny: 6, SessionTotal: 2, TotalIsExact: true,
		About: search.About{
			Warnings: []string{"no field is called \"knd\": searched as text"},
			Index:    search.IndexState{Generation: 12, Files: 674, SkippedLines: 2, Complete: true},
		},
	}
	return &Search{
		Query: "timeout redirect", Scope: "conversations", Response: r,
	}
}

func beginningOf(id string) string { return id[:min(8, len(id))] }

func flat() *Search {
	s := answer()
	s.Flat, s.Response.Sessions = true, nil
	return s
}

func TestSearchText(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		for _, colour := range []bool{false, true} {
			name := fmt.Sprintf("search-%d", width)
			if colour {
				name += "-colour"
			}
			t.Run(name, func(t *testing.T) {
				var b bytes.Buffer
				p := New(&b, FormatText, Layout{Width: width, Colour: colour, Now: now, Home: "/home/u", ShortID: beginningOf})
				if err := p.Print(answer()); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(b.String()) {
					if n := terminal.Width(strings.TrimSuffix(line, "\n")); n > width {
						t.Errorf("%d cells in %q", n, line)
					}
				}
				golden(t, name, b.Bytes())
			})
		}
	}
}

func TestSearch(t *testing.T) {
	tests := []struct {
		name   string
		format Format
		answer *Search
	}{
		{"search-plain", FormatPlain, answer()},
		{"search-json", FormatJSON, answer()},
		{"search-jsonl", FormatJSONL, answer()},
		{"search-flat", FormatText, flat()},
		{"search-flat-json", FormatJSON, flat()},
		{"search-none-json", FormatJSON, &Search{Query: "x", Response: &search.Response{TotalIsExact: true}}},
		{"search-none-jsonl", FormatJSONL, &Search{Query: "x", Response: &search.Response{TotalIsExact: true}}},
		{"search-none", FormatText, &Search{Query: "x", Response: &search.Response{TotalIsExact: true}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			p := New(&b, test.format, Layout{Width: 80, Now: now, Home: "/home/u", ShortID: beginningOf})
			if err := p.Print(test.answer); err != nil {
				t.Fatal(err)
			}
			golden(t, test.name, b.Bytes())
		})
	}
}

// The last line counts hits and looser hits separately, and says what shows more of each.
func TestClosingCountsWhatIsShown(t *testing.T) {
	r := &search.Response{
		TotalAny: 1177, Weak: 1086, SessionTotal: 9, TotalIsExact: true, Hits: make([]search.Hit, 91), Sessions: make([]search.SessionHit, 9),
		Words: []search.WordCount{{Word: "getUserName", Parts: 91}},
	}
	if got, want := closing(&Search{Response: r}), "91 looser hits in 9 sessions, with all parts of getUserName, none as written"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r = &search.Response{Total: 2, TotalAny: 6, TotalIsExact: true, Hits: make([]search.Hit, 6), Sessions: make([]search.SessionHit, 4)}
	if got, want := closing(&Search{Response: r}), "2 hits, 4 looser ones"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r = &search.Response{Total: 15, TotalIn: 4, TotalAny: 467, Folded: 452, TotalIsExact: true, Hits: make([]search.Hit, 9)}
	if got, want := closing(&Search{Response: r}), "15 hits in 4 sessions; 9 shown (more: -n); 452 looser ones (--any)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Hits that say the same as one that is shown are not behind -n.
func TestClosingCountsAlikeHits(t *testing.T) {
	r := &search.Response{Total: 3, TotalAny: 3, TotalIsExact: true, Hits: []search.Hit{{NearDuplicates: 2}}}
	if got, want := closing(&Search{Response: r, Flat: true}), "3 hits"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.TotalAny, r.Total = 4, 4
	if got, want := closing(&Search{Response: r, Flat: true}), "4 hits; 1 shown (more: -n)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What stood in a session file never acts on a terminal.
func TestNoControlCharacters(t *testing.T) {
	for _, format := range []Format{FormatText, FormatPlain, FormatJSON, FormatJSONL} {
		var b bytes.Buffer
		if err := New(&b, format, Layout{Width: 80, Now: now, ShortID: beginningOf}).Print(answer()); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if terminal.Hidden(r) && r != '\n' && (r != '\t' || format != FormatPlain) {
				t.Errorf("format %d prints %q", format, r)
			}
		}
	}
}

func TestJSONIsJSON(t *testing.T) {
	var b bytes.Buffer
	if err := New(&b, FormatJSONL, Layout{}).Print(answer()); err != nil {
		t.Fatal(err)
	}
	var types []string
	for d := json.NewDecoder(&b); d.More(); {
		var v struct{ Type string }
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		types = append(types, v.Type)
	}
	want := []string{"hit", "hit", "hit", "hit", "session", "session", "summary"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("types of the lines (-want +got):\n%s", diff)
	}
}

func status() *Status {
	return &Status{
		Dir: "/home/u/.cache/pigrep/0123456789abcdef", Built: true,
		Roots: []Root{
			{Path: "/home/u/.pi/agent/sessions", Origin: "default", Files: 673},
			{Path: "/mnt/gone", Origin: "$PI_CODING_AGENT_SESSION_DIR", Error: "no such file or directory"},
		},
		Changes:  []ChangeCount{{"unchanged", 671}, {"grown", 2}, {"unreadable", 1}},
		Sessions: 672, Entries: 123456, Documents: 234567, Kinds: []KindCount{{"prompt", 4321}, {"result", 99999}},
		Indexed: 1_200_000_000, Size: 420_000_000, Newest: at(time.Hour),
		Store:   "/home/u/.cache/pigrep/0123456789abcdef/store",
		Skipped: []Skipped{{"/home/u/.pi/agent/sessions/a\x1b[31m.jsonl", 7, 4711, "not JSON"}},
		Errors:  []FileError{{"/home/u/.pi/agent/sessions/b.jsonl", "permission denied", ""}},
		State:   search.IndexState{Generation: 12, Files: 674, PendingFiles: 2, PendingBytes: 5000, SkippedLines: 1},
	}
}

func TestReports(t *testing.T) {
	yes, no := true, false
	stores := Stores{
		{"pi", "pi", "sessions", "conversations", "JSON lines", "/home/u/.pi/agent/sessions", "searched", &yes},
		{"pi", "pi", "auth", "keys and tokens", "JSON", "/home/u/.pi/agent/auth.json", "private", nil},
		{"pi", "pi", "themes", "colour themes", "JSON", "/home/u/.pi/agent/themes", "catalogued", &no},
	}
	index := &Index{
		Dir: "/i", Changes: []ChangeCount{{"unchanged", 3}, {"new", 2}, {"rewritten", 1}}, Bytes: 8_800_000, Entries: 4317,
		State: search.IndexState{Generation: 3, Files: 6, Complete: true},
	}
	plan := &Index{
		DryRun: true, Dir: "/i", Changes: index.Changes, Bytes: 1500,
		Steps: []Step{{"new", "/home/u/s/a.jsonl", "not indexed yet", 1000}, {"rewritten", "/home/u/s/b.jsonl", "the same size, other bytes", 500}},
	}
	version := &Version{Version: "1.2.3", Revision: "abcdef012345", Go: "go1.26.0", Platform: "linux/amd64", Adapter: "pi.sessions_jsonl.v1"}
	settings := &Settings{
		Path: "/home/u/.config/pigrep/config.toml", Exists: true,
		List: []Setting{
			{Key: "session-dir", Values: []string{"/home/u/.pi/agent/sessions", "/mnt/pi"}, Type: "stringArray", Source: "default"},
			{Key: "exclude", Note: "none", Type: "stringArray", Source: "default"},
			{Key: "scope", Values: []string{"all"}, Type: "string", Source: "file", From: "/home/u/.config/pigrep/config.toml:2"},
			{Key: "color", Values: []string{"never"}, Type: "string", Source: "environment", From: "$NO_COLOR"},
			{Key: "no-update", Values: []string{"true"}, Type: "bool", Source: "flag", From: "--no-update"},
			{Key: "search.limit", Values: []string{"20"}, Type: "int", Source: "file", From: "/home/u/.config/pigrep/config.toml:7"},
		},
	}
	reports := map[string]Answer{
		"config":         settings,
		"config-none":    &Settings{},
		"status":         status(),
		"status-none":    &Status{Dir: "/i"},
		"status-damaged": &Status{Dir: "/i", Damage: "the index is damaged: x"},
		"stores":         stores,
		"index":          index,
		"index-none":     &Index{Changes: []ChangeCount{{"unchanged", 3}}},
		"index-plan":     plan,
		"version":        version,
	}
	formats := map[string]Format{"text": FormatText, "plain": FormatPlain, "json": FormatJSON, "jsonl": FormatJSONL}
	for report, answer := range reports {
		var b bytes.Buffer
		for _, name := range []string{"text", "plain", "json", "jsonl"} {
			fmt.Fprintf(&b, "== %s\n", name)
			if err := New(&b, formats[name], Layout{Width: 80, Now: now, Home: "/home/u", ShortID: beginningOf}).Print(answer); err != nil {
				t.Fatal(err)
			}
		}
		golden(t, report, b.Bytes())
	}
}

func TestMessage(t *testing.T) {
	f := Message{Code: "query", Message: "the query is\nempty \x1b[31m<>", Hint: "type a word"}
	var b bytes.Buffer
	for _, asJSON := range []bool{false, true} {
		if err := f.Write(&b, asJSON, 0); err != nil {
			t.Fatal(err)
		}
		for _, w := range []Message{{Message: "a\tfile \x1b[1mis\n<gone>"}, {Message: "behind", Hint: "wait"}} {
			if err := w.Write(&b, asJSON, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := "pigrep: the query is empty <>\nhint: type a word\n" + "pigrep: a file is <gone>\npigrep: behind\nhint: wait\n" +
		`{"error":{"code":"query","message":"the query is\nempty \u001b[31m<>","hint":"type a word"}}` + "\n" +
		`{"warning":{"message":"a\tfile \u001b[1mis\n<gone>"}}` + "\n" + `{"warning":{"message":"behind","hint":"wait"}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// failing is a writer whose reader has gone away.
type failing struct{}

var errGone = errors.New("gone")

func (failing) Write([]byte) (int, error) { return 0, errGone }

func TestWriteErrorsComeBack(t *testing.T) {
	for _, format := range []Format{FormatText, FormatPlain, FormatJSON, FormatJSONL} {
		p := New(failing{}, format, Layout{Width: 80, Now: now, ShortID: beginningOf})
		errs := map[string]error{
			"Search": p.Print(answer()), "Status": p.Print(status()), "Version": p.Print(&Version{}),
			"Index": p.Print(&Index{}), "Stores": p.Print(Stores{{}}),
			"Settings": p.Print(&Settings{List: []Setting{{}}}),
		}
		for name, err := range errs {
			if !errors.Is(err, errGone) {
				t.Errorf("format %d, %s on a broken writer: %v", format, name, err)
			}
		}
	}
}

// A message breaks between words on a terminal, and never in a pipe.
func TestMessageWidth(t *testing.T) {
	w := Message{Message: "nothing found in this directory; --scope all searches everything", Hint: "pigrep sessions --project /a/path/that/is/longer/than/the/terminal now"}
	for width, want := range map[int]string{
		0:  "pigrep: nothing found in this directory; --scope all searches everything\nhint: pigrep sessions --project /a/path/that/is/longer/than/the/terminal now\n",
		40: "pigrep: nothing found in this directory;\n--scope all searches everything\nhint: pigrep sessions --project\n/a/path/that/is/longer/than/the/terminal\nnow\n",
		30: "pigrep: nothing found in this\ndirectory; --scope all\nsearches everything\nhint: pigrep sessions\n--project\n/a/path/that/is/longer/than/the/terminal\nnow\n",
	} {
		var b bytes.Buffer
		if err := w.Write(&b, false, width); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
}

// Remarks about a hit are never cut: they continue on the next line.
func TestNotesWrap(t *testing.T) {
	h := search.Hit{EntryPlace: session.EntryPlace{SessionPath: "/s", EntryName: session.EntryName{EntryID: "5e6f7a8b"}}, TargetID: "1a2b3c4d", Label: "a label of some words", Branch: "abandoned",
		Kind: session.KindReply, Fragment: match.Fragment{Text: "a hit"}}
	for _, text := range []string{"a hit", strings.Repeat("a hit of two lines ", 6)} {
		h.Fragment.Text = text
		var b strings.Builder
		if err := New(&b, FormatText, Layout{Width: 60, Now: time.Now()}).Print(&Search{Response: &search.Response{Hits: []search.Hit{h}, Total: 1, TotalAny: 1}}); err != nil {
			t.Fatal(err)
		}
		joined := strings.Join(strings.Fields(b.String()), " ")
		if !strings.Contains(joined, "label a label of some words") || !strings.Contains(joined, "on an abandoned branch") {
			t.Errorf("the notes are cut:\n%s", b.String())
		}
		for line := range strings.Lines(b.String()) {
			if terminal.Width(strings.TrimSuffix(line, "\n")) > 60 {
				t.Errorf("%q is too wide", line)
			}
		}
	}
}

// looks are the terminals that golden files are made for.
var looks = []struct {
	name   string
	layout Layout
}{
	{"40", Layout{Width: 40, Now: now, Home: "/home/u"}},
	{"40-colour", Layout{Width: 40, Now: now, Home: "/home/u", Colour: true}},
	{"80", Layout{Width: 80, Now: now, Home: "/home/u"}},
	{"80-colour", Layout{Width: 80, Now: now, Home: "/home/u", Colour: true}},
	{"200", Layout{Width: 200, Now: now, Home: "/home/u"}},
	{"200-colour", Layout{Width: 200, Now: now, Home: "/home/u", Colour: true}},
}

// checkLines makes sure that no line is wider than the terminal and that nothing
// in them acts on it.
func checkLines(t *testing.T, out string, l Layout) {
	t.Helper()
	if !l.Colour {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && terminal.Hidden(r) }); i >= 0 {
			t.Errorf("a control character gets out: %q", out[max(0, i-20):min(len(out), i+20)])
		}
	} else if strings.Contains(out, "\x1b]") || strings.Contains(out, "owned") {
		t.Errorf("a control sequence of the session gets out")
	}
	for line := range strings.Lines(out) {
		if n := terminal.Width(strings.TrimSuffix(line, "\n")); l.Width > 0 && n > l.Width {
			t.Errorf("%d cells in a line of %d: %q", n, l.Width, line)
		}
		if plain := ansi.Strip(strings.TrimSuffix(line, "\n")); plain != strings.TrimRight(plain, " ") {
			t.Errorf("spaces at the end: %q", line)
		}
	}
}

// The line of what was used recently says what is only estimated.
func TestRecentLine(t *testing.T) {
	used := func(cost, listed float64) audit.UsageRow {
		return audit.UsageRow{Tokens: 1200, Cost: cost, ListedCost: listed}
	}
	for _, c := range []struct {
		recent audit.Recent
		want   string
	}{
		{audit.Recent{}, "$0 today · $0 week"},
		{audit.Recent{Today: used(4.1, 0), Week: used(31.2, 0)}, "$4.10 today · $31.20 week"},
		{audit.Recent{Today: used(4.1, 4.1), Week: used(31.2, 7.1)}, "$4.10 today · $31.20 week · $7.10 of it estimated"},
		{audit.Recent{Week: used(31.2, 31.2)}, "$0 today · $31.20 week · estimated"},
		{audit.Recent{Today: used(0, 0), Week: used(0, 0)}, "1,200 tokens today · 1,200 tokens week"},
	} {
		if got := RecentLine(&c.recent, "week"); got != c.want {
			t.Errorf("RecentLine(%+v) = %q, want %q", c.recent, got, c.want)
		}
	}
}
