package audit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

func TestReadPrices(t *testing.T) {
	got, err := ReadPrices(strings.NewReader("\ufeff# dollars per million tokens\r\n\r\n p/m \t1.25 10 0.125 0\r\nfree 0 0 0 0\nc 1 1 1 2 3"))
	want := Prices{"p/m": {1.25, 10, 0.125, 0, 0}, "free": {}, "c": {1, 1, 1, 2, 3}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, prices (-want +got):\n%s", err, diff)
	}
	use := session.Usage{Input: 1_000_000, Output: 200_000, CacheRead: 8_000_000, CacheWrite: 5}
	if got := want["p/m"].cost(&use); got != 1.25+2+1 {
		t.Errorf("cost = %v, want 4.25", got)
	}
}

// A file with anything that is not a price fails with the line.
func TestReadPricesRefuses(t *testing.T) {
	for _, test := range []struct {
		line int
		text string
	}{
		{1, "p/m 1 2 3"}, {1, "p/m 1 2 3 4 5 6"}, {1, "model input output cache-read cache-write"}, {2, "# x\np/m 1 -2 3 4"}, {2, "\np/m 1 $2 3 4"},
		{3, "a 1 1 1 1\nb 1 1 1 1\na 1 1 1 1"}, {1, "p/m NaN 1 1 1"}, {1, "p/m Inf 1 1 1"}, {1, "p/m 1e9 1 1 1"}, {1, "p/m -0 1 1 1"}, {1, `{"p/m": 1}`}, {1, "p/m 1,5 1 1 1"}, {2, "\n" + strings.Repeat("x", 1<<17)},
	} {
		_, err := ReadPrices(strings.NewReader(test.text))
		if e, ok := errors.AsType[*PriceError](err); !ok || e.Line != test.line {
			t.Errorf("ReadPrices(%q) = %v, want an error on line %d", test.text, err, test.line)
		}
	}
}
