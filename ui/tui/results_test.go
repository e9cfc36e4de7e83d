package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pigrep/query/search"
)

// A fragment that does not fit is cut between words, with its match in sight.
func TestFragmentsAreCutBetweenWords(t *testing.T) {
	v := view{styles: new(newStyles(true, nil))}
	tests := []struct {
		text  string
		width int
		want  string
	}{
		{"the token", 20, "the token"},
		{"the token is checked against the wrong clock", 26, "the token is checked…"},
		{"all work and no play makes jack a dull boy without a token today", 30, "…boy without a token today"},
		{strings.Repeat("x", 50) + "token", 20, "…" + strings.Repeat("x", 14) + "token"},
		{"token" + strings.Repeat("x", 50), 20, "token" + strings.Repeat("x", 14) + "…"},
		{"I look at the token. It is", 20, "I look at the token…"},
		{"token", 3, "to…"},
	}
	for _, test := range tests {
		got := ansi.Strip(fragmentLine(v, painter{}, fragment(test.text), test.width))
		if got != test.want {
			t.Errorf("%q in %d cells: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// A hit of a similar word says so.
func TestSimilarSpellingIsMarked(t *testing.T) {
	v := view{styles: new(newStyles(true, nil))}
	h := &search.Hit{Kind: "prompt", Tier: search.TierFuzzy, Fragment: fragment("the token")}
	if line := ansi.Strip(hitLine(v, painter{}, h, 60)); !strings.Contains(line, "similar spelling") {
		t.Errorf("the hit does not say that its word is only similar: %q", line)
	}
}
