package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a hit says of its place holds: the bytes there are the JSON object of its
// entry, on its line, and the fragment and its spans are whole characters.
func TestHitsSayWhereTheyAre(t *testing.T) {
	home := t.TempDir()
	where := []string{"--session-dir", sessions(), "--index-dir", filepath.Join(home, "index"), "--scope", "all"}
	looked := 0
	for _, query := range []string{"the", "a", "of", "gateway", "登录", "修", "yaml", "claude", "http://localhost:8443/healthz", `"exit code 137"`, "getUserName"} {
		e, r := search(t, home, append(where, "--", query)...)
		if r.exit != 0 {
			t.Errorf("search for %q: exit code %d\n%s", query, r.exit, r.stderr)
		}
		for _, h := range e.Hits {
			looked++
			data, err := os.ReadFile(h.SessionPath)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%q: %s:%s", query, filepath.Base(h.SessionPath), h.EntryID)
			if h.Offset < 0 || h.Length <= 0 || h.Offset+int64(h.Length) > int64(len(data)) {
				t.Errorf("%s: offset %d and length %d in a file of %d bytes", name, h.Offset, h.Length, len(data))
				continue
			}
			var o struct {
				ID *string `json:"id"`
			}
			if err := json.Unmarshal(data[h.Offset:h.Offset+int64(h.Length)], &o); err != nil {
				t.Errorf("%s: the bytes at %d are no JSON object: %v", name, h.Offset, err)
			} else if o.ID != nil && *o.ID != h.EntryID {
				t.Errorf("%s: the object at %d has the id %s", name, h.Offset, *o.ID)
			}
			if line := 1 + bytes.Count(data[:h.Offset], []byte("\n")); line != h.Line {
				t.Errorf("%s: says line %d, stands on line %d", name, h.Line, line)
			}
			checkFragment(t, name, h)
		}
	}
	if looked < 50 {
		t.Errorf("only %d hits", looked)
	}
}

func checkFragment(t *testing.T, name string, h hit) {
	t.Helper()
	text := h.Fragment.Text
	if text == "" || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00\x1b") {
		t.Errorf("%s: fragment %q", name, text)
	}
	last := 0
	for _, s := range h.Fragment.Spans {
		if s[0] < last || s[1] <= s[0] || s[1] > len(text) || !utf8.ValidString(text[s[0]:s[1]]) || !utf8.ValidString(text[:s[0]]) {
			t.Errorf("%s: spans %v in %q", name, h.Fragment.Spans, text)
			return
		}
		last = s[1]
	}
}

// The same index and query give the same bytes, and what the contract promises
// of the envelope is there.
func TestAnswersAreStable(t *testing.T) {
	home := t.TempDir()
	where := []string{"--session-dir", sessions(), "--index-dir", filepath.Join(home, "index")}
	if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
		t.Fatalf("pigrep index: %s", r.stderr)
	}
	for _, form := range [][]string{{"--json"}, {"--jsonl"}, {"--json", "--flat"}} {
		args := append(append([]string{"search"}, form...), where...)
		first := pigrep(t, home, append(args, "gateway", "token")...)
		second := pigrep(t, home, append(args, "gateway", "token")...)
		if !bytes.Equal(first.stdout, second.stdout) {
			t.Errorf("%q gives other bytes the second time:\n%s\n%s", form, first.stdout, second.stdout)
		}
		if first.exit != 0 || len(first.stdout) == 0 {
			t.Errorf("%q: exit code %d, %d bytes\n%s", form, first.exit, len(first.stdout), first.stderr)
		}
	}

	r := pigrep(t, home, append(append([]string{"search", "--json"}, where...), "gateway", "token")...)
	var e map[string]any
	if err := json.Unmarshal(r.stdout, &e); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"schemaVersion", "command", "query", "scope", "hits", "sessions", "total", "totalAny", "totalIsExact", "warnings", "index"} {
		if _, ok := e[key]; !ok {
			t.Errorf("the envelope lacks %q", key)
		}
	}
	if bytes.Contains(r.stdout, []byte(":null")) {
		t.Errorf("null in the answer:\n%s", r.stdout)
	}
	hits, _ := e["hits"].([]any)
	if len(hits) == 0 {
		t.Fatalf("no hits:\n%s", r.stdout)
	}
	h, _ := hits[0].(map[string]any)
	for _, key := range []string{"type", "rank", "score", "tier", "kind", "sessionPath", "sessionId", "cwd", "entryId", "timestamp", "line", "offset", "length", "part", "branch", "inContext", "fragment", "resume"} {
		if _, ok := h[key]; !ok {
			t.Errorf("the first hit lacks %q: %v", key, h)
		}
	}

	lines := bytes.Split(bytes.TrimSpace(pigrep(t, home, append(append([]string{"search", "--jsonl"}, where...), "gateway")...).stdout), []byte("\n"))
	for i, line := range lines {
		var o struct{ Type string }
		if err := json.Unmarshal(line, &o); err != nil || o.Type == "" || (o.Type == "summary") != (i == len(lines)-1) {
			t.Errorf("line %d of %d has type %q, %v: %s", i+1, len(lines), o.Type, err, line)
		}
	}
}

// writeSession writes a session of one prompt for each text.
func writeSession(t testing.TB, path string, texts ...string) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":"written-%d","timestamp":"2026-09-20T12:00:00.000Z","cwd":"/home/dev/written"}`+"\n", len(texts))
	for i, text := range texts {
		b.Write(prompt(t, i, text))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func prompt(t testing.TB, n int, text string) []byte {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-09-20T12:%02d:%02d.000Z","message":{"role":"user","content":%s}}`+"\n", n, n/60%60, n%60, data)
}

func TestTokenOf100kB(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "sessions")
	giant := "qwertz" + strings.Repeat("uiopasdfg", 100_000/9)
	writeSession(t, filepath.Join(root, "x", "giant.jsonl"), "before the bilby "+giant+" after the quokka", "another one")
	where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	for _, query := range []string{giant, giant[:64], "bilby", "quokka", giant[:5000]} {
		e, r := search(t, home, append(where, "--", query)...)
		if r.exit != 0 || len(e.Hits) == 0 || e.Hits[0].EntryID != "00000000" || len(e.Hits[0].Missing) > 0 {
			t.Errorf("search for %.80q of %d bytes: exit code %d, %d hits\n%.500s", query, len(query), r.exit, len(e.Hits), r.stderr)
		}
		if len(e.Hits) > 0 && len(e.Hits[0].Fragment.Text) > 4000 {
			t.Errorf("search for %.80q: a fragment of %d bytes", query, len(e.Hits[0].Fragment.Text))
		}
	}
}

// A file that grows byte by byte: its last line is found as soon as it is whole,
// with or without its newline, and never before.
func TestUnfinishedLine(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "sessions", "x", "growing.jsonl")
	writeSession(t, path, "the first prompt")
	where := []string{"--session-dir", filepath.Join(home, "sessions"), "--index-dir", filepath.Join(home, "index")}
	line := prompt(t, 1, "then the thylacine appears")
	whole := len(line) - 1 // without the newline
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := 0
	for _, to := range []int{1, 40, whole - 20, whole - 1, whole, whole + 1} {
		if _, err := f.Write(line[at:to]); err != nil {
			t.Fatal(err)
		}
		at = to
		e, r := search(t, home, append(where, "thylacine")...)
		want := 0
		if to >= whole {
			want = 1
		}
		if len(e.Hits) != want || r.exit != 1-want {
			t.Errorf("with %d of %d bytes of the line: %d hits and exit code %d, want %d hits\n%s", to, len(line), len(e.Hits), r.exit, want, r.stderr)
		}
		if e.Index.SkippedLines != 0 {
			t.Errorf("with %d of %d bytes of the line: %d skipped lines", to, len(line), e.Index.SkippedLines)
		}
	}
	if _, err := f.Write(prompt(t, 2, "and then the dingo")); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"dingo", "thylacine", "first"} {
		if e, r := search(t, home, append(where, query)...); len(e.Hits) != 1 {
			t.Errorf("search for %q: %d hits\n%s", query, len(e.Hits), r.stderr)
		}
	}
}

// Each bad input gives the right exit code and a message that says what and
// what to type next, on one or two lines and without a stack trace.
func TestBadInput(t *testing.T) {
	home := t.TempDir()
	good := filepath.Join(home, "sessions")
	writeSession(t, filepath.Join(good, "x", "one.jsonl"), "a prompt about a gopher")
	empty := filepath.Join(home, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "a-file.txt")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	indexFile := filepath.Join(home, "index-file")
	if err := os.WriteFile(indexFile, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"search", "--session-dir", filepath.Join(home, "nowhere"), "gopher"}, 2, "nowhere"},
		{[]string{"search", "--session-dir", file, "gopher"}, 2, "a-file.txt"},
		{[]string{"search", "--session-dir", good, ""}, 2, ""},
		{[]string{"search", "--session-dir", good, "   "}, 2, ""},
		{[]string{"search", "--session-dir", good, "--", "!!! ... ???"}, 2, ""},
		{[]string{"search", "--session-dir", good}, 2, ""},
		{[]string{"search", "--session-dir", good, "--since", "the day the cat died", "gopher"}, 2, "the day the cat died"},
		{[]string{"search", "--session-dir", good, "--kind", "nonsense", "gopher"}, 2, "nonsense"},
		{[]string{"search", "--session-dir", good, "--scope", "nonsense", "gopher"}, 2, "nonsense"},
		{[]string{"search", "--session-dir", good, "--no-such-flag", "gopher"}, 2, "--"},
		{[]string{"search", "--session-dir", good, "--index-dir", indexFile, "gopher"}, 2, "index-file"},
		{[]string{"search", "--session-dir", good, "zyxwvutsrq"}, 1, ""},
		{[]string{"search", "--session-dir", good, "gopher"}, 0, ""},
	} {
		r := pigrep(t, home, c.args...)
		if r.exit != c.exit {
			t.Errorf("pigrep %q: exit code %d, want %d\n%s%s", c.args, r.exit, c.exit, r.stdout, r.stderr)
		}
		message := string(r.stderr)
		if c.exit == 2 && strings.TrimSpace(message) == "" {
			t.Errorf("pigrep %q says nothing", c.args)
		}
		if c.exit == 2 && !strings.Contains(message, c.says) {
			t.Errorf("pigrep %q does not name %q:\n%s", c.args, c.says, message)
		}
		if strings.Contains(message, "goroutine ") || strings.Contains(message, "panic:") || strings.Count(message, "\n") > 6 {
			t.Errorf("pigrep %q prints too much:\n%s", c.args, message)
		}
	}
	if data, err := os.ReadFile(indexFile); err != nil || string(data) != "x" {
		t.Errorf("a file given as index directory is now %q, %v", data, err)
	}
}
