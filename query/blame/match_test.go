package blame

import (
	"strings"
	"testing"

	"pigrep/internal/session"
)

func TestLikeness(t *testing.T) {
	for _, c := range []struct {
		a, b string
		low  float64
		high float64
	}{
		{"maxSize := 10", "maxSize  :=  10", 1, 1},
		{"maxSize := 10 // bytes", "maxSize := 20 // bytes", 0.7, 0.99},
		{"maxSize := 10", "return nil, err", 0, 0.3},
		{"", "x", 0, 0},
		{"short", strings.Repeat("short", 9), 0, 0},
	} {
		if got := likeness(c.a, c.b); got < c.low || got > c.high {
			t.Errorf("likeness(%q, %q) = %.2f, want %.2f to %.2f", c.a, c.b, got, c.low, c.high)
		}
	}
}

// A blank line belongs to a call that wrote the lines on both sides.
func TestBlank(t *testing.T) {
	a, b := &origin{session: &session.Summary{}, path: "a"}, &origin{session: &session.Summary{}, path: "b"}
	for _, c := range []struct{ lines, want string }{
		{"a.a", "aaa"}, {"a..a", "aaaa"}, {"a.b", "a b"}, {"a. ", "a  "}, {".a.", " a "}, {"..", "  "}, {"a.a.b.b", "aaa bbb"},
	} {
		x := &attribution{lines: make([]string, len(c.lines)), keys: make([]string, len(c.lines)), found: make([]found, len(c.lines))}
		for i := range c.lines {
			x.found[i] = found{by: map[byte]*origin{'a': a, 'b': b, '.': a}[c.lines[i]], how: Exact}
			x.keys[i] = strings.TrimPrefix(c.lines[i:i+1], ".")
		}
		x.blank()
		have := ""
		for i := range x.found {
			switch x.found[i].by {
			case nil:
				have += " "
			default:
				have += x.found[i].by.path
			}
		}
		if have != c.want {
			t.Errorf("%q is of %q, want %q", c.lines, have, c.want)
		}
	}
}
