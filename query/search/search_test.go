package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/scope"
)

// shelf is a small library that has one of most things.
func shelf(t testing.TB) *library {
	label := turn{Fields: map[string]any{"type": "label", "targetId": "e-code", "label": "keeper"}}
	return newLibrary(t,
		story{Name: "auth", ID: "01a1f7de-1111-7222-8333-444455556666", CWD: "/home/u/app", Entries: []turn{
			prompt("why does the auth token expire?").Named("e-ask"),
			reply("The getUserName helper in src/auth/login.ts renews it.").Named("e-code"),
			result("bash", "exit\n  code 137\nECONNREFUSED at file.go:520", true).Named("e-fail"),
			label.Named("e-label"),
			reply("Renamed the files; run go test -race and see C++ notes.").Named("e-race"),
		}},
		story{Name: "other", ID: "01b2c3d4-0000-7000-8000-000000000000", CWD: "/home/u/app-two", Start: day.AddDate(0, 1, 0), Entries: []turn{
			prompt("the token bucket is full, not the auth").Named("o-ask"),
			reply("code 137 exit is something else, and the race is on with C").Named("o-code"),
			{ID: "o-system", Message: map[string]any{"role": "system", "content": "grep is a tool, token too"}},
			prompt("如何实现用户登录功能 with getUser用").Named("o-cjk"),
			reply("Please rename get_user_name to café_name soon.").Named("o-snake"),
		}},
	)
}

func TestSearchWords(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		text string
		want []string // entries that lack nothing, in any order
	}{
		{"expire", []string{"e-ask"}},
		{"EXPIRE", []string{"e-ask"}},
		{"expires", []string{"e-ask"}},
		{"expiring", []string{"e-ask"}},
		{"bucket token", []string{"o-ask"}},
		{"auth token", []string{"e-ask", "o-ask"}},
		{"+auth NOT bucket", []string{"e-ask", "e-code"}},
		{"auth !token", []string{"e-code"}},
		{"bucket OR expire", []string{"e-ask", "o-ask"}},
		{"auth AND (bucket OR renews)", []string{"e-code", "o-ask"}},
		{"getUserName", []string{"e-code", "o-snake"}},
		{"get_user_name", []string{"e-code", "o-snake"}},
		{"getusername", []string{"e-code", "o-snake"}},
		{"get-user-name", []string{"e-code", "o-snake"}},
		{"UserName", []string{"e-code", "o-snake"}},
		{"src/auth/login.ts", []string{"e-code"}},
		{"login.ts", []string{"e-code"}},
		{"authzzz", nil},
		{"file.go:520", []string{"e-fail"}},
		{`"exit code 137"`, []string{"e-fail"}},
		{`"code 137"`, []string{"e-fail", "o-code"}},
		{`"exit code"`, []string{"e-fail"}},
		{`"xit code"`, nil},
		{`NOT "exit code" 137`, []string{"o-code"}},
		{`"the -race"`, nil},
		{"econnrefused", []string{"e-fail"}},
		{"conn*", nil},
		{"econn*", []string{"e-fail"}},
		{"econ", []string{"e-fail"}},
		{"bukcet", []string{"o-ask"}},
		{"buckte~", []string{"o-ask"}},
		{"登", []string{"o-cjk"}},
		{"登录", []string{"o-cjk"}},
		{"用户登录", []string{"o-cjk"}},
		{"\"现用户登\"", []string{"o-cjk"}},
		{"\"用登\"", nil},
		{"cafe_name", []string{"o-snake"}},
		{"café", []string{"o-snake"}},
		{"keeper", []string{"e-label"}},
		{"e-race", []string{"e-race"}},
		{"kind:reply token", nil},
		{"kind:reply auth", []string{"e-code"}},
		{"is:error exit", []string{"e-fail"}},
		{"-is:error exit", []string{"o-code"}},
		{"auth session:01b2", []string{"o-ask"}},
		{"after:2026-05-15 auth", []string{"o-ask"}},
		{"before:2026-05-15 auth token", []string{"e-ask"}},
		{"is:error", []string{"e-fail"}},
		{"zzzz", nil},
	} {
		got := sorted(l.flat(c.text))
		if c.want == nil {
			c.want = []string{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("hits of %q that lack nothing (-want +got):\n%s", c.text, diff)
		}
		resp := l.search(Request{Text: c.text})
		if resp.Total != len(c.want) || !resp.TotalIsExact {
			t.Errorf("Run(%q) totals %d, exact %v; want %d and true", c.text, resp.Total, resp.TotalIsExact, len(c.want))
		}
	}
}

func TestSearchBest(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		text, want string
		tier       Tier
	}{
		{"getUserName", "e-code", TierExact},
		{"get_user_name", "o-snake", TierExact},
		{"UserName", "o-snake", TierParts},
		{"-race", "e-race", TierExact},
		{"C++", "e-race", TierExact},
		{"rename", "o-snake", TierExact},
		{"renaming", "o-snake", TierForms},
		{"bukcet", "o-ask", TierFuzzy},
		{"buck", "o-ask", TierPrefix},
		{"src/login", "e-code", TierParts},
		{"runtest", "e-race", TierParts},
		{"why does the auth token expire?", "e-ask", TierExact},
	} {
		resp := l.search(Request{Text: c.text, Flat: true})
		if len(resp.Hits) == 0 || resp.Hits[0].EntryID != c.want || resp.Hits[0].Tier != c.tier {
			t.Errorf("Run(%q): first hit %+v, want %s with tier %s", c.text, resp.Hits, c.want, c.tier)
		}
	}
}

// A rare word in a very long text counts more than a frequent one in a short text.
func TestSearchLongText(t *testing.T) {
	entries := []turn{result("bash", strings.Repeat("drwxr-xr-x 2 root root 4096 objects\n", 2000)+"hooks fsmonitor", false).Named("long")}
	for range 9 {
		entries = append(entries, prompt("what are hooks?"), reply("Hooks run before and after a call."))
	}
	for range 20 {
		entries = append(entries, prompt("something else"))
	}
	l := newLibrary(t, story{Name: "long", Entries: entries})
	if hits := l.search(Request{Text: "fsmonitor hooks", Flat: true}).Hits; hits[0].EntryID != "long" {
		t.Errorf("fsmonitor hooks: first hit %+v, want the long text that has both words", hits[0])
	}
}

// A word that may be two is not there where only one of them is.
func TestSearchWordOfTwo(t *testing.T) {
	if resp := shelf(t).search(Request{Text: "authlogin"}); resp.TotalAny != 1 {
		t.Errorf("authlogin: %d hits in all, want the one with both auth and login", resp.TotalAny)
	}
}

func TestSearchMissingAndElsewhere(t *testing.T) {
	l := shelf(t)
	resp := l.search(Request{Text: `expire renews bucket "exit code"`, Flat: true, Spec: filter.Spec{Sessions: []string{"01a1f7de"}}})
	var got [][]string
	for _, h := range resp.Hits {
		got = append(got, []string{h.EntryID, strings.Join(h.Missing, ","), strings.Join(h.Elsewhere, ",")})
	}
	want := map[string][]string{
		"e-ask":  {"e-ask", `renews,bucket,"exit code"`, `renews,"exit code"`},
		"e-code": {"e-code", `expire,bucket,"exit code"`, `expire,"exit code"`},
		"e-fail": {"e-fail", "expire,renews,bucket", "expire,renews"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %d hits, want %d: %v", len(got), len(want), got)
	}
	for _, g := range got {
		if diff := cmp.Diff(want[g[0]], g); diff != "" {
			t.Errorf("missing and elsewhere (-want +got):\n%s", diff)
		}
	}
	if resp.Total != 0 || resp.TotalAny != 3 {
		t.Errorf("totals %d and %d, want 0 and 3", resp.Total, resp.TotalAny)
	}
}

func TestSearchFilters(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		name string
		req  Request
		want []string
	}{
		{"prompts", Request{Text: "token", Spec: filter.Spec{Scope: scope.Prompts}}, []string{"e-ask", "o-ask"}},
		{"all", Request{Text: "token", Spec: filter.Spec{Scope: scope.All}}, []string{"e-ask", "o-ask", "o-system"}},
		{"kinds", Request{Text: "token", Spec: filter.Spec{Kinds: []session.Kind{session.KindSystem}}}, []string{"o-system"}},
		{"roles", Request{Text: "auth", Spec: filter.Spec{Roles: []string{"assistant", "toolResult"}}}, []string{"e-code"}},
		{"tools", Request{Text: "code", Spec: filter.Spec{Tools: []string{"bash"}}}, []string{"e-fail"}},
		{"models", Request{Text: "code", Spec: filter.Spec{Models: []string{"acme/opus"}}}, []string{"o-code"}},
		{"models of a provider", Request{Text: "code", Spec: filter.Spec{Models: []string{"acme"}}}, []string{"o-code"}},
		{"a model of another provider", Request{Text: "code", Spec: filter.Spec{Models: []string{"other/opus"}}}, []string{}},
		{"a model, in the text", Request{Text: "code model:cme/OP"}, []string{"o-code"}},
		{"a model of another provider, in the text", Request{Text: "code model:other/opus"}, []string{}},
		{"no such model", Request{Text: "code", Spec: filter.Spec{Models: []string{"sonnet"}}}, []string{}},
		{"session path", Request{Text: "auth", Spec: filter.Spec{Sessions: []string{l.Path("other")}}}, []string{"o-ask"}},
		{"cwd", Request{Text: "auth", Spec: filter.Spec{CWD: "/home/u/app"}}, []string{"e-ask", "e-code"}},
		{"cwd above", Request{Text: "auth", Spec: filter.Spec{CWD: "/home/u/"}}, []string{"e-ask", "e-code", "o-ask"}},
		{"project", Request{Text: "auth", Spec: filter.Spec{Projects: []string{"app-two"}}}, []string{"o-ask"}},
		{"exclude", Request{Text: "auth", Spec: filter.Spec{Excludes: []string{"oth*.jsonl"}}}, []string{"e-ask", "e-code"}},
		{"exclude directory", Request{Text: "auth", Spec: filter.Spec{Excludes: []string{"sessions"}}}, []string{}},
		{"since", Request{Text: "auth", Spec: filter.Spec{Since: day.AddDate(0, 0, 1)}}, []string{"o-ask"}},
		{"until", Request{Text: "auth", Spec: filter.Spec{Until: day}}, []string{"e-ask", "e-code"}},
		{"until before", Request{Text: "auth", Spec: filter.Spec{Until: day.Add(-time.Millisecond)}}, []string{}},
		{"error", Request{Text: "code", Spec: filter.Spec{Error: true}}, []string{"e-fail"}},
	} {
		c.req.Flat, c.req.Limit = true, 1000
		resp := l.search(c.req)
		if diff := cmp.Diff(c.want, sorted(ids(resp))); diff != "" {
			t.Errorf("%s: hits (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSearchTimesOfEntries(t *testing.T) {
	var entries []turn
	for i := range 10 {
		e := prompt("tick").Named(string(rune('a' + i)))
		e.Minute = i
		entries = append(entries, e)
	}
	l := newLibrary(t, story{Name: "clock", Entries: entries})
	got := sorted(ids(l.search(Request{Text: "tick", Flat: true, Spec: filter.Spec{Since: day.Add(3 * time.Minute), Until: day.Add(5 * time.Minute)}})))
	if diff := cmp.Diff([]string{"d", "e", "f"}, got); diff != "" {
		t.Errorf("hits from minute 3 to 5 (-want +got):\n%s", diff)
	}
	got = sorted(l.flat("tick after:2026-05-01T12:08:00Z"))
	if diff := cmp.Diff([]string{"i", "j"}, got); diff != "" {
		t.Errorf("hits after minute 8 (-want +got):\n%s", diff)
	}
}

func TestSearchErrors(t *testing.T) {
	l := shelf(t)
	for _, text := range []string{"", "   ", "->", `"->"`, "!= == ()", "NOT token", "!token NOT auth", `!"exit code"`, "+ *"} {
		_, err := Run(context.Background(), l.Reader, pi.New(), Disk{}, Request{Text: text})
		var e *words.TextError
		if !errors.As(err, &e) || e.Reason == "" || e.Hint == "" {
			t.Errorf("Run(%q): error %v, want a TextError with a hint", text, err)
		}
	}
	resp := l.search(Request{Text: "kind:nonsense token"})
	if len(resp.Warnings) == 0 || resp.TotalAny == 0 {
		t.Errorf("an unknown kind: warnings %q, %d hits; want a warning, and the text searched for", resp.Warnings, resp.TotalAny)
	}
}

// What a query must not have is enough to ask for, if a filter says what is wanted: in the
// query or beside it.
func TestNegationsNeedAFilter(t *testing.T) {
	l := shelf(t)
	want := sorted(l.flat("NOT auth model:opus"))
	if len(want) == 0 {
		t.Fatal("no hits with the filter in the query")
	}
	got := sorted(ids(l.search(Request{Text: "NOT auth", Flat: true, Spec: filter.Spec{Models: []string{"opus"}}})))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with the filter beside the query (-want +got):\n%s", diff)
	}
	// Clients always give these: they say where to look, or what else to leave out.
	for _, spec := range []filter.Spec{{Scope: scope.All}, {Excludes: []string{"x"}}, {NoSearches: true}} {
		for _, text := range []string{"NOT auth", ""} {
			_, err := Run(t.Context(), l.Reader, pi.New(), Disk{}, Request{Text: text, Spec: spec})
			if _, ok := errors.AsType[*words.TextError](err); !ok {
				t.Errorf("%q with %+v: error %v, want a TextError", text, spec, err)
			}
		}
	}
}

// A filter alone lists what passes it, newest first, whether it is in the query or beside it.
func TestFilterAlone(t *testing.T) {
	odd := newLibrary(t,
		story{Name: "old", ID: "old", Entries: []turn{prompt("the old prompt").Named("o-ask"), reply("the old reply").Named("o-say")}},
		story{Name: "new", ID: "new", Start: day.AddDate(0, 0, 2), Entries: []turn{prompt("the new prompt").Named("n-ask"), reply("the new reply").Named("n-say")}},
		story{Name: "no entries", ID: "none", Raw: "\n"},
		story{Name: "torn", ID: "torn", Start: day.AddDate(0, 0, 1), Raw: `{"type":"mess` + "\n", Entries: []turn{prompt("after a torn line").Named("t-ask")}},
	)
	for _, c := range []struct {
		query string
		spec  filter.Spec
		want  []string
	}{
		{"kind:prompt", filter.Spec{Kinds: []session.Kind{session.KindPrompt}}, []string{"n-ask", "t-ask", "o-ask"}},
		{"model:opus", filter.Spec{Models: []string{"opus"}}, []string{"n-say", "o-say"}},
		{"session:old", filter.Spec{Sessions: []string{"old"}}, []string{"o-say", "o-ask"}},
		{"model:nobody", filter.Spec{Models: []string{"nobody"}}, []string{}},
	} {
		for _, req := range []Request{{Text: c.query, Flat: true}, {Text: " ", Spec: c.spec, Flat: true}} {
			resp := odd.search(req)
			if diff := cmp.Diff(c.want, ids(resp)); diff != "" || resp.Total != len(c.want) || resp.TotalAny != resp.Total {
				t.Errorf("%q with %+v: %d hits of %d (-want +got):\n%s", req.Text, req.Spec, resp.Total, resp.TotalAny, diff)
			}
		}
	}
	if resp := odd.search(Request{Spec: filter.Spec{Kinds: []session.Kind{session.KindPrompt}}}); len(resp.Sessions) != 3 || resp.Sessions[0].SessionID != "new" {
		t.Errorf("grouped, a kind lists %+v, want three sessions, the newest first", resp.Sessions)
	}
}

// A word of several scripts is found by its beginning, wherever that ends.
func TestPrefixOfSeveralScripts(t *testing.T) {
	typed := []string{"한국어running", "naïve한국어running", "한국어getUserName", "run한국어를", "中文Zürich漢字"}
	var entries []turn
	for i, w := range typed {
		entries = append(entries, prompt("before "+w+" after").Named(fmt.Sprint("e", i)))
	}
	l := newLibrary(t, story{Name: "scripts", Entries: entries})
	for i, w := range typed {
		runes := []rune(w)
		for n := 1; n <= len(runes); n++ {
			text := string(runes[:n]) + "*"
			if got := l.flat(text); !slices.Contains(got, fmt.Sprint("e", i)) {
				t.Errorf("%s does not find %s, but %v", text, w, got)
			}
		}
	}
	for _, text := range []string{"한국어ra*", "국어ri*", "n한국어*"} {
		if resp := l.search(Request{Text: text, Flat: true}); resp.Total > 0 {
			t.Errorf("%s finds %v", text, ids(resp))
		}
	}
}

func TestSearchHit(t *testing.T) {
	l := shelf(t)
	resp := l.search(Request{Text: "getUserName src/auth/login.ts", Resume: func(s *session.Summary) (string, []string) {
		return s.CWD, []string{"agent", s.Path}
	}})
	h := resp.Hits[0]
	h.Score = 0
	if h.Offset == 0 || h.Length == 0 {
		t.Errorf("offset %d and length %d, want both", h.Offset, h.Length)
	}
	h.Offset, h.Length = 0, 0
	text := "The getUserName helper in src/auth/login.ts renews it."
	want := Hit{
		Type: "hit", Rank: 1, Tier: TierExact, Kind: session.KindReply, Role: "assistant",
		EntryPlace: session.EntryPlace{SessionPath: l.Path("auth"), SessionID: "01a1f7de-1111-7222-8333-444455556666", Agent: "pi", CWD: "/home/u/app", EntryName: session.EntryName{EntryID: "e-code"}},
		ParentID:   "e-ask", Timestamp: session.Time{Time: day}, At: session.At{Line: 3},
		Origin: session.Origin{Provider: "acme", Model: "opus-9"}, Branch: "active", InContext: true, Label: "keeper",
		Fragment: match.Fragment{Text: text, Spans: [][2]int{
			{strings.Index(text, "getUserName"), strings.Index(text, " helper")},
			{strings.Index(text, "src/"), strings.Index(text, " renews")},
		}},
		Resume: &Resume{Dir: "/home/u/app", Argv: []string{"agent", l.Path("auth")}},
	}
	h.Place = rank.Place{} // as of the order
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("hit (-want +got):\n%s", diff)
	}
	s := resp.Sessions[0]
	if s.Hits != 1 || s.Messages != 4 || s.FirstPrompt != "why does the auth token expire?" || len(s.Labels) != 1 || s.Score <= 0 {
		t.Errorf("session %+v", s)
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"timestamp":"2026-05-01T12:00:00.000Z"`) {
		t.Errorf("JSON of the hit: %s", data)
	}
}

func TestSearchCopies(t *testing.T) {
	original := story{Name: "original", Entries: []turn{prompt("lemur question").Named("a1"), reply("lemur answer").Named("a2")}}
	fork := original
	fork.Name, fork.ID = "fork", "fork-id"
	raw := original.Text()
	fork.Raw = raw[strings.Index(raw, "\n")+1:] // the entries as they are
	fork.Start = day.AddDate(0, 0, 3)
	fork.Entries = []turn{prompt("lemur again").Named("b1")}
	l := newLibrary(t, fork, original)
	resp := l.search(Request{Text: "lemur"})
	if resp.Total != 3 || resp.TotalAny != 3 {
		t.Errorf("totals %d and %d, want 3", resp.Total, resp.TotalAny)
	}
	var got []string
	for _, h := range resp.Hits {
		s := h.EntryID + " in " + h.SessionID
		for _, c := range h.Copies {
			s += ", copy " + c.EntryID + " in " + strings.TrimPrefix(c.SessionPath, l.Dir)
		}
		got = append(got, s)
	}
	slash := strings.TrimPrefix(l.Path("fork"), l.Dir)
	want := []string{"a1 in id-of-original, copy a1 in " + slash, "a2 in id-of-original, copy a2 in " + slash, "b1 in fork-id"}
	if diff := cmp.Diff(want, sorted(got)); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	// With the original filtered out, the copy is the hit.
	resp = l.search(Request{Text: "lemur", Spec: filter.Spec{Sessions: []string{"fork-id"}}})
	if resp.Total != 3 || len(resp.Hits) != 3 || len(resp.Hits[0].Copies) != 0 {
		t.Errorf("in the fork alone: total %d, hits %+v", resp.Total, resp.Hits)
	}
}

func TestSearchLimits(t *testing.T) {
	var stories []story
	for i := range 30 {
		s := story{Name: "s" + string(rune('a'+i%26)) + string(rune('a'+i/26))}
		for range 5 {
			s.Entries = append(s.Entries, prompt("common word "+strings.Repeat("filler ", i)))
		}
		stories = append(stories, s)
	}
	l := newLibrary(t, stories...)
	// Copies would be one hit: their timestamps are the same, their texts differ by session only.
	resp := l.search(Request{Text: "common", PerSession: 2, Limit: 4})
	if len(resp.Sessions) != 4 || resp.TotalAny != 30 || len(resp.Hits) != 4 {
		t.Errorf("%d sessions, %d hits of %d; want 4, 4 of 30", len(resp.Sessions), len(resp.Hits), resp.TotalAny)
	}
	resp = l.search(Request{Text: "common"})
	if len(resp.Sessions) != DefaultLimit {
		t.Errorf("%d sessions without a limit, want %d", len(resp.Sessions), DefaultLimit)
	}
	resp = l.search(Request{Text: "common", Flat: true})
	if len(resp.Hits) != DefaultFlatLimit || len(resp.Sessions) != 0 {
		t.Errorf("flat: %d hits, %d sessions; want %d and none", len(resp.Hits), len(resp.Sessions), DefaultFlatLimit)
	}
	for i, h := range resp.Hits {
		if h.Rank != i+1 || i > 0 && h.Score > resp.Hits[i-1].Score {
			t.Errorf("hit %d has rank %d and score %v after %v", i, h.Rank, h.Score, resp.Hits[max(0, i-1)].Score)
		}
	}
}

// A hit is never shown from bytes other than those that were indexed.
func TestSearchChangedFile(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(text string) string
	}{
		{"shifted", func(s string) string { return "\n" + s }},
		{"same length, other text", func(s string) string { return strings.Replace(s, "expire", "repaid", 1) }},
		{"cut", func(s string) string { return s[:strings.Index(s, "expire")] }},
		{"empty", func(string) string { return "" }},
	} {
		l := shelf(t)
		data, err := os.ReadFile(l.Path("auth"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.Path("auth"), []byte(c.change(string(data))), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"expire", `"token expire"`} {
			resp := l.search(Request{Text: text})
			if len(resp.Hits) != 0 || len(resp.Sessions) != 0 || len(resp.Warnings) != 1 || resp.TotalIsExact {
				t.Errorf("%s, %q: %d hits, warnings %q; want none and one", c.name, text, len(resp.Hits), resp.Warnings)
			}
		}
	}
}

func TestSearchCancelled(t *testing.T) {
	l := shelf(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, l.Reader, pi.New(), Disk{}, Request{Text: "token"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Search with a cancelled context: error %v", err)
	}
}

func TestSearchIDs(t *testing.T) {
	l := shelf(t)
	for _, text := range []string{"01a1f7", "01A1F7DE", "01a1f7de-1111-7222-8333-444455556666"} {
		resp := l.search(Request{Text: text})
		if len(resp.Hits) != 1 || resp.Hits[0].EntryID != "e-ask" || resp.Total != 1 {
			t.Errorf("Run(%q) finds %+v, want the first prompt of the session", text, resp.Hits)
		}
	}
	if resp := l.search(Request{Text: "01a1f"}); resp.TotalAny != 0 {
		t.Errorf("five characters find %d hits, want none", resp.TotalAny)
	}
	resp := l.search(Request{Text: "01a1f7de login.ts"})
	if resp.Total != 1 || resp.Hits[0].SessionID[:8] != "01a1f7de" {
		t.Errorf("an id and a word: total %d, want the one entry that has the word in that session", resp.Total)
	}
	if got := l.flat("o-snak"); len(got) != 1 || got[0] != "o-snake" {
		t.Errorf("the beginning of an entry id finds %q", got)
	}
}

// A word of a question is an id only if it looks like one, whatever ids there are.
func TestSearchWordsAreNoIDs(t *testing.T) {
	const random = "01a1f7e5-bb6d-7087-87d3-7f62229a5ccd"
	asked := []turn{prompt("hello"), reply("hello")}
	l := newLibrary(t,
		story{Name: "talk", ID: "talk", Entries: []turn{
			prompt("which model writes the summaries of migration 404040 behind the facade?").Named("t-ask"), reply("haiku").Named("t-say"),
		}},
		story{Name: "end", ID: "weekly-summaries", Entries: asked},
		story{Name: "beginning", ID: "migration-of-2026", Entries: asked},
		story{Name: "entries", ID: "other", Entries: []turn{prompt("hello").Named("facade12"), reply("hello").Named("4040404f")}},
		story{Name: "random", ID: random, Entries: []turn{prompt("the summaries of the random one").Named("r-ask")}},
		story{Name: "nothing", ID: "nothing", Raw: "{\"type\":\"mess", Entries: nil},
	)
	for _, text := range []string{
		"which model writes the summaries", "migration of the model", "the model behind the facade", "migration 404040", "summaries", "SUMMARIES model",
	} {
		resp := l.search(Request{Text: text, Flat: true})
		for _, h := range resp.Hits {
			if h.Score > 1000 {
				t.Errorf("Run(%q) takes a word for the id of %s in %s", text, h.EntryID, h.SessionID)
			}
		}
		if len(resp.Hits) == 0 || !slices.Contains([]string{"t-ask", "r-ask"}, resp.Hits[0].EntryID) {
			t.Errorf("Run(%q) finds %v, want an entry with the words", text, ids(resp))
		}
	}
	for text, want := range map[string]string{
		"229a5ccd": "r-ask", "what was 229A5CCD about": "r-ask", "summaries 01a1f7e5": "r-ask", random: "r-ask",
		"facade": "facade12", "the prompt facade12": "facade12", "hello 4040404f": "4040404f",
	} {
		if resp := l.search(Request{Text: text, Flat: true}); len(resp.Hits) == 0 || resp.Hits[0].EntryID != want || resp.Hits[0].Score < 1000 {
			t.Errorf("Run(%q) finds %v, want %s first, which the id names", text, ids(resp), want)
		}
	}
}
