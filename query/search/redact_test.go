package search

import (
	"strings"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// secrets are the values that no answer below may show.
var secrets = []string{"hunter2hunter2", "xyzzy0123456789ABCDEFxyzzy"}

func secretLibrary(t *testing.T) *library {
	// A word next to the middle of a key, far from where it begins.
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEAx0123456789abcdef\n", 30) +
		"needle " + secrets[1] + "\n-----END RSA PRIVATE " + "KEY-----"
	return newLibrary(t, story{Name: "s", Entries: []turn{
		prompt("connect with DB_PASSWORD=hunter2hunter2 please"),
		reply("the word needle stands here: postgres://u:hunter2hunter2@db/app and the tail needle"),
		result("bash", key, false),
	}})
}

func checkMasked(t *testing.T, what, text string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s shows %s: %s", what, s, text)
		}
	}
}

func TestRedactedHits(t *testing.T) {
	t.Parallel()
	l := secretLibrary(t)
	for _, text := range []string{"connect", "needle", "hunter2hunter2", `"xyzzy0123456789ABCDEFxyzzy"`, "tail"} {
		plain := l.search(Request{Text: text})
		resp := l.search(Request{Text: text, Redact: true, Before: 2, After: 2})
		if len(resp.Hits) == 0 || len(resp.Hits) != len(plain.Hits) {
			t.Fatalf("%s: %d hits, without masking %d", text, len(resp.Hits), len(plain.Hits))
		}
		for _, h := range resp.Hits {
			checkMasked(t, text, h.Fragment.Text)
			if !strings.Contains(h.Fragment.Text, "[redacted:") {
				t.Errorf("%s: nothing is masked in %q", text, h.Fragment.Text)
			}
			at := 0
			for _, s := range h.Fragment.Spans {
				if s[0] < at || s[1] > len(h.Fragment.Text) || s[0] >= s[1] {
					t.Errorf("%s: spans %v of %d bytes", text, h.Fragment.Spans, len(h.Fragment.Text))
				}
				at = s[1]
			}
			for _, n := range append(h.Before, h.After...) {
				checkMasked(t, text+", an entry beside it", n.Text)
			}
		}
		for _, s := range resp.Sessions {
			checkMasked(t, "the session", s.FirstPrompt)
		}
	}
	if h := l.search(Request{Text: "tail", Redact: true}).Hits[0].Fragment; !strings.HasPrefix(h.Text[h.Spans[0][0]:], "tail") {
		t.Errorf("the match after a masked secret is marked as %q of %q", h.Text[h.Spans[0][0]:], h.Text)
	}
}

func TestRedactedEntries(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, story{Name: "s", Entries: []turn{
		{Message: map[string]any{"role": "assistant", "content": []any{map[string]any{
			"type": "toolCall", "id": "c1", "name": "login",
			"arguments": map[string]any{"password": "hunter2hunter2", "nested": map[string]any{"password": "hunter2hunter2"}, "n": 1},
		}}}},
		{Message: map[string]any{"role": "bashExecution", "command": "PGPASSWORD=hunter2hunter2 psql", "output": "password=hunter2hunter2", "exitCode": 0}},
		prompt("password: hunter2hunter2"),
	}})
	rec, err := l.Reader.Record(l.Reader.Summaries()[0].File)
	if err != nil {
		t.Fatal(err)
	}
	file, err := Disk{}.Open(rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := entry.NewConversation(pi.New(), rec, file)
	c.Redact = true
	for i := range rec.Nodes {
		e, err := c.Read(i)
		if err != nil {
			t.Fatal(err)
		}
		checkMasked(t, "the JSON", string(e.Raw))
		for _, p := range e.Parts {
			checkMasked(t, "a part", string(p.Text))
		}
		for _, b := range e.View.Blocks {
			checkMasked(t, "a block", string(b.Text))
			if b.Shell != nil {
				checkMasked(t, "a shell", b.Shell.Command)
			}
			if b.Call != nil {
				checkMasked(t, "the arguments", string(b.Call.Raw))
				for _, a := range b.Call.Arguments {
					checkMasked(t, "an argument", string(a.Value))
				}
			}
		}
	}
}

// What the index keeps of a text is cut: a key at its end is a piece of one.
func TestRedactedBeginnings(t *testing.T) {
	t.Parallel()
	token := "gh" + "p_abcdefghijABCDEFGHIJ0123456789abcdef"
	for _, cut := range []int{12, 20, 30, 39} {
		filler := strings.Repeat("words ", 100)[:session.MaxFirstPrompt-cut-1] + " "
		l := newLibrary(t, story{Name: "s", Entries: []turn{prompt(filler + token + " needle")}})
		resp := l.search(Request{Text: "needle", Redact: true})
		if len(resp.Sessions) != 1 {
			t.Fatalf("%d sessions", len(resp.Sessions))
		}
		if got := resp.Sessions[0].FirstPrompt; strings.Contains(got, token[:cut]) || !strings.HasSuffix(got, "[redacted:github-token]") {
			t.Errorf("cut after %d bytes of a key: %q", cut, got[len(got)-60:])
		}
	}
}
