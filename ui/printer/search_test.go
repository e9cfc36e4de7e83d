package printer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pigrep/internal/session"
	"pigrep/query/engine/match"
	"pigrep/query/search"
)

// A remark on all hits stands once above the answer, a remark on all hits of a session once
// above them; only other remarks stand at a hit. Ids of entries always stand in one place.
func TestRemarksOnce(t *testing.T) {
	hit := func(path string, n int, change func(*search.Hit)) search.Hit {
		h := search.Hit{
			EntryPlace: session.EntryPlace{SessionPath: path, SessionID: path, EntryName: session.EntryName{EntryID: fmt.Sprintf("e000000%d", n)}}, Kind: session.KindReply, InContext: true, Branch: "active",
			Fragment: match.Fragment{Text: strings.Repeat("a long text ", 1+9*(n%2))},
		}
		change(&h)
		return h
	}
	compactedAway := func(h *search.Hit) { h.InContext = false }
	lacking := func(h *search.Hit) { h.Missing, h.Elsewhere = []string{"broken"}, []string{"broken"} }
	both := func(h *search.Hit) { compactedAway(h); lacking(h) }
	for _, test := range []struct {
		name  string
		hits  []search.Hit
		times map[string]int
	}{
		{"one session", []search.Hit{hit("a", 1, both), hit("a", 2, both), hit("a", 3, both)},
			map[string]int{compacted: 1, "missing: broken": 1, "rest of the session": 1, "all hits": 0, "e0000001": 1, "e0000002": 1}},
		{"every session", []search.Hit{hit("a", 1, both), hit("a", 2, lacking), hit("b", 3, both), hit("b", 4, both)},
			map[string]int{"all hits · missing: broken": 1, "missing: broken": 1, compacted: 1, "  compacted\n": 1, "e0000003": 1}},
		{"some hits", []search.Hit{hit("a", 1, func(*search.Hit) {}), hit("a", 2, lacking), hit("a", 3, both)},
			map[string]int{compacted: 0, "missing: broken": 2, "rest of the session": 0, "compacted": 1}},
	} {
		sessions := []search.SessionHit{{SessionFacts: search.SessionFacts{SessionPath: "a"}}, {SessionFacts: search.SessionFacts{SessionPath: "b"}}}
		var out bytes.Buffer
		answer := &Search{Response: &search.Response{Hits: test.hits, Sessions: sessions, Total: 1, TotalAny: len(test.hits)}}
		if err := New(&out, FormatText, Layout{Width: 80, Now: now}).Print(answer); err != nil {
			t.Fatal(err)
		}
		for text, n := range test.times {
			if got := strings.Count(out.String(), text); got != n {
				t.Errorf("%s: %q stands there %d times, want %d:\n%s", test.name, text, got, n, out.String())
			}
		}
	}
}

// The last line of an answer has no control codes, whatever it names.
func TestFoldedIsClean(t *testing.T) {
	if got, want := (&Text{}).Folded("call of a\x1b[2Jb\r\nc\u202e · d", 80), "call of ab c · d\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
