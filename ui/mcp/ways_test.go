package mcp

import (
	"strings"
	"testing"

	"pigrep/query/search"
)

// An answer says why hits are looser, and which argument lists them.
func TestLooserWaysAreSaid(t *testing.T) {
	for want, res := range map[string]search.Response{
		"696 with similar spelling not listed (any true lists them).":         {Total: 1, TotalIn: 1, TotalAny: 697, Similar: 696, Folded: 696, TotalIsExact: true},
		"8 only as the name of an argument not listed (any true lists them).": {Total: 1, TotalIn: 1, TotalAny: 9, Named: 8, Folded: 8, TotalIsExact: true},
		"And 8 looser ones.": {Total: 1, TotalIn: 1, TotalAny: 9, TotalIsExact: true},
	} {
		a := &searchAnswer{Total: res.Total, Looser: res.Looser(), Folded: res.Folded}
		if got := a.head(&res); !strings.HasPrefix(got, "1 hit in 1 session.\n"+want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
