package blame

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pigrep/internal/session"
)

// What is matched is the same line, in the same order; equal texts match whole; and one line that
// was added or removed leaves all others matched.
func TestMatch(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "d", "", "return nil, err"})
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(line, 0, 30).Draw(t, "a"), rapid.SliceOfN(line, 0, 30).Draw(t, "b")
		last := -1
		for i, at := range match(a, b) {
			if at >= 0 && (at <= last || a[at] != b[i]) {
				t.Fatalf("line %d is matched with %d after %d", i, at, last)
			}
			last = max(last, at)
		}
		at := rapid.IntRange(0, len(a)).Draw(t, "at")
		longer := append(append(append([]string{}, a[:at]...), "new"), a[at:]...)
		n := 0
		for _, k := range match(a, longer) {
			if k >= 0 {
				n++
			}
		}
		if n != len(a) {
			t.Fatalf("%d of %d lines are matched beside a new one", n, len(a))
		}
	})
}

// Texts without a unique line are compared only up to a size, and nothing takes long.
func TestMatchOfManyEqualLines(t *testing.T) {
	a, b := strings.Split(strings.Repeat("x\ny\n", 50_000), "\n"), strings.Split(strings.Repeat("y\nx\nx\n", 40_000), "\n")
	if got := match(a, b); len(got) != len(b) {
		t.Errorf("%d of %d lines", len(got), len(b))
	}
}

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
