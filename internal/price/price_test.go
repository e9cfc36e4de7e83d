package price

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

func TestRead(t *testing.T) {
	got, err := Read(strings.NewReader("\ufeff# dollars per million tokens\r\n\r\n p/m \t1.25 10 0.125 0\r\nfree 0 0 0 0\nc 1 1 1 2 3"))
	want := List{"p/m": {1.25, 10, 0.125, 0, 0}, "free": {}, "c": {1, 1, 1, 2, 3}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, prices (-want +got):\n%s", err, diff)
	}
	use := session.Usage{Input: 1_000_000, Output: 200_000, CacheRead: 8_000_000, CacheWrite: 5}
	if got := want["p/m"].Cost(&use); got != 1.25+2+1 {
		t.Errorf("cost = %v, want 4.25", got)
	}
}

// A file with anything that is not a price fails with the line.
func TestReadRefuses(t *testing.T) {
	for _, test := range []struct {
		line int
		text string
	}{
		{1, "p/m 1 2 3"}, {1, "p/m 1 2 3 4 5 6"}, {1, "model input output cache-read cache-write"}, {2, "# x\np/m 1 -2 3 4"}, {2, "\np/m 1 $2 3 4"},
		{3, "a 1 1 1 1\nb 1 1 1 1\na 1 1 1 1"}, {1, "p/m NaN 1 1 1"}, {1, "p/m Inf 1 1 1"}, {1, "p/m 1e9 1 1 1"}, {1, "p/m -0 1 1 1"}, {1, `{"p/m": 1}`}, {1, "p/m 1,5 1 1 1"}, {2, "\n" + strings.Repeat("x", 1<<17)},
	} {
		_, err := Read(strings.NewReader(test.text))
		if e, ok := errors.AsType[*Error](err); !ok || e.Line != test.line {
			t.Errorf("Read(%q) = %v, want an error on line %d", test.text, err, test.line)
		}
	}
}

// Models are found in the list with and without a provider, a date or a variant, and unknown
// ones are not guessed.
func TestOf(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, Date()); err != nil {
		t.Error(err)
	}
	for name, p := range listPrices() {
		if p.Input <= 0 || p.Output < p.Input || p.CacheRead <= 0 || p.CacheRead >= p.Input || p.CacheWrite < p.Input || p.LongWrite < p.CacheWrite {
			t.Errorf("%s: %+v", name, p)
		}
		if got, ok := Of(name, ""); !ok || got != p {
			t.Errorf("Of(%s) = %+v, %t", name, got, ok)
		}
	}
	for model, want := range map[string]float64{
		"anthropic/claude-opus-4-5-20251101": 5, "claude-opus-4-5": 5, "us.anthropic.claude-sonnet-4-20250514-v1:0": 3, "claude-haiku-4-5@20251001": 1,
		"claude-sonnet-4-5[1m]": 3, "openrouter/anthropic/claude-opus-4-1": 15, "openai/gpt-5-codex": 1.25, "gpt-5-2025-08-07": 1.25, "azure/gpt-5.3-codex": 1.75,
		"claude-opus-9": 0, "gpt-5-turbo": 0, "": 0, "fake/model": 0, "claude": 0, "my-gpt-5": 0, "gpt-5/x": 0,
	} {
		if got, ok := Of(model, ""); got.Input != want || ok != (want != 0) {
			t.Errorf("Of(%q) = %+v, %t, want %v for input", model, got, ok, want)
		}
	}
	if p, ok := Of("openai/gpt-5.4", Faster); !ok || p.Output != 30 {
		t.Errorf("at a faster tier: %+v, %t", p, ok)
	}
	// Reading from the cache and both ways of writing to it have their own prices.
	p, _ := Of("claude-opus-4-5", "")
	use := session.Usage{Input: 1e6, Output: 2e6, CacheRead: 4e6, CacheWrite: 3e6, LongWrite: 1e6}
	if got := p.Cost(&use); got != 5+50+2+2*6.25+10 {
		t.Errorf("cost = %v", got)
	}
}
