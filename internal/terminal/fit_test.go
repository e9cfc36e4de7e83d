package terminal

import "testing"

func TestFit(t *testing.T) {
	for _, test := range []struct {
		s                    string
		width                int
		clip, clipLeft, fits string
	}{
		{"abc", 5, "abc", "abc", "abc  "},
		{"abcdef", 4, "abc…", "…def", "abc…"},
		{"abcdef", 1, "…", "…", "…"},
		{"日本語", 6, "日本語", "日本語", "日本語"},
		{"日本語", 4, "日…", "…語", "日… "},
		{"\x1b[1mabcdef\x1b[m", 4, "\x1b[1mabc…\x1b[m", "\x1b[1m…def\x1b[m", "\x1b[1mabc…\x1b[m"},
		{"", 2, "", "", "  "},
	} {
		if got := Clip(test.s, test.width); got != test.clip {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.s, test.width, got, test.clip)
		}
		if got := ClipLeft(test.s, test.width); got != test.clipLeft {
			t.Errorf("ClipLeft(%q, %d) = %q, want %q", test.s, test.width, got, test.clipLeft)
		}
		if got := Fit(test.s, test.width); got != test.fits {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.s, test.width, got, test.fits)
		}
	}
	if got := Clip("abc", 0); got != "" {
		t.Errorf("nothing fits into no cells, but Clip gives %q", got)
	}
}
