package search

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/internal/lists"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/scope"
)

// A phrase that occurs once is found, however many better texts, of more bytes than the
// budget, only seem to have it.
func TestPhraseIsFoundBeyondTheBudget(t *testing.T) {
	testkit.Unraced(t) // 40 MB of session files
	almost := strings.Repeat("amber-lantern. ", 17<<10)
	var turns []turn
	for n := range 160 {
		turns = append(turns, prompt(fmt.Sprint(almost, n)))
	}
	l := newLibrary(t,
		story{Name: "almost", Entries: turns},
		story{Name: "rare", Entries: []turn{prompt(strings.Repeat("something else, ", 20<<10) + "the amber lantern")}},
	)
	resp := l.search(Request{Text: `"amber lantern"`})
	if got := ids(resp); len(got) != 1 || got[0] != "rare-0000" || !resp.TotalIsExact {
		t.Errorf("hits %q, exact %v, want the one of the rare session", got, resp.TotalIsExact)
	}
}

// A budget for phrases limits what is counted, not which sessions are shown.
func TestPhraseBudgetFillsThePage(t *testing.T) {
	t.Parallel()
	var often []turn
	for n := range 30 {
		often = append(often, prompt(fmt.Sprint("the amber lantern ", n)))
	}
	l := newLibrary(t,
		story{Name: "often", Start: day, Entries: often},
		story{Name: "once", Start: day.AddDate(0, 0, 1), Entries: []turn{prompt(strings.Repeat("something else, ", 100) + "the amber lantern")}},
	)
	search := func(req Request) *Response {
		req.Text, req.PhraseBytes = `"amber lantern"`, 1 // so that texts are read one by one
		return l.search(req)
	}
	for _, test := range []struct {
		limit, sessions int
		exact           bool
	}{{1, 1, false}, {2, 2, true}, {3, 2, true}} {
		resp := search(Request{Limit: test.limit, PerSession: 1})
		if len(resp.Sessions) != test.sessions || resp.TotalIsExact != test.exact {
			t.Errorf("limit %d: %d sessions, exact %v; want %d, %v", test.limit, len(resp.Sessions), resp.TotalIsExact, test.sessions, test.exact)
		}
	}
	for _, test := range []struct {
		sort rank.Sort
		want string
	}{{rank.Newest, "id-of-once"}, {rank.Oldest, "id-of-often"}} {
		resp := search(Request{Limit: 1, PerSession: 1, Sort: test.sort})
		if len(resp.Sessions) != 1 || resp.Sessions[0].SessionID != test.want {
			t.Errorf("sort %d: %d sessions, want only %s", test.sort, len(resp.Sessions), test.want)
		}
	}
	resp := search(Request{Flat: true, Limit: 5})
	if len(resp.Hits) != 5 || resp.Total != 5 || resp.TotalIsExact {
		t.Errorf("flat: %d hits of %d, exact %v; want 5 of 5, and more not counted", len(resp.Hits), resp.Total, resp.TotalIsExact)
	}
}

// countingDisk counts how often it opens a session file.
type countingDisk struct {
	Disk
	opened atomic.Int64
}

func (d *countingDisk) Open(path string) (entry.File, error) {
	d.opened.Add(1)
	return d.Disk.Open(path)
}

// What a phrase has without a filter is counted without reading those texts again that
// the search has read.
func TestTextsWithoutThePhraseAreReadOnce(t *testing.T) {
	t.Parallel()
	l := newLibrary(t,
		story{Name: "asked", Entries: []turn{prompt("an amber-lantern")}},
		story{Name: "said", Entries: []turn{reply("the amber lantern")}},
	)
	disk := &countingDisk{}
	req := Request{Text: `"amber lantern"`, Spec: filter.Spec{Scope: scope.Prompts}}
	resp, err := Run(context.Background(), l.Reader, pi.New(), disk, req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Total != 0 || len(resp.Removed) != 1 || resp.Removed[0] != (Removed{"scope", 1}) {
		t.Errorf("%d hits, removed %v, want none and one without the scope", resp.Total, resp.Removed)
	}
	// What the JSON of an entry says is known before it is parsed, so that each is read once.
	if got := disk.opened.Load(); got != 2 {
		t.Errorf("session files were opened %d times, want once for each text", got)
	}
}

// A phrase and an identifier are found right after the code of a colour, as a word is, and
// are left out when they are negated.
func TestPhraseAfterColourCode(t *testing.T) {
	coloured := "\x1b[1m\x1b[31mfatal error\x1b[0m in \x1b[36mgetUserName\x1b[0m, \x1b[4msrc/login.ts\x1b[24m:5"
	l := newLibrary(t, story{Name: "a", Entries: []turn{prompt(coloured), prompt("a fatal blow, no error, get the user name in src, login ts")}})
	for _, query := range []string{`"fatal error"`, "src/login.ts", "getUserName"} {
		hits := l.search(Request{Text: query}).Hits
		if len(hits) == 0 || hits[0].EntryID != "a-0000" || hits[0].Tier != TierExact || len(hits[0].Missing) > 0 {
			t.Errorf("%s: %+v, want the coloured text", query, hits)
		}
	}
	if got := ids(l.search(Request{Text: `fatal !"fatal error"`})); len(got) != 1 || got[0] != "a-0001" {
		t.Errorf("hits without the phrase: %q", got)
	}
}

// A word with a star finds what the word alone finds, whatever its characters are folded to.
func TestAPrefixFindsItsWord(t *testing.T) {
	words := []string{"x²", "m³", "½cup", "ﬁle", "chapterⅣ", "①st", "h₂o", "Straße", "２０２６"}
	l := newLibrary(t, story{Name: "a", Start: day, Entries: lists.Map(words, func(w string) turn { return prompt("this is " + w + " and no more") })})
	for _, w := range words {
		alone, star := l.search(Request{Text: w, Flat: true}), l.search(Request{Text: w + "*", Flat: true})
		if alone.Total != 1 || star.Total != 1 || star.Hits[0].EntryID != alone.Hits[0].EntryID {
			t.Errorf("%s finds %d, %s* finds %d, want the same one", w, alone.Total, w, star.Total)
		}
	}
}
