package query

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/internal/lab/testkit"
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
