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

func TestClipPath(t *testing.T) {
	for _, test := range []struct {
		path  string
		width int
		want  string
	}{
		{"~/app", 5, "~/app"},
		{"/home/runner/work/gitclaw", 20, "…/work/gitclaw"},
		{"/home/runner/work/gitclaw", 9, "…/gitclaw"},
		{"/home/runner/work/gitclaw", 8, "…gitclaw"},
		{"/home/runner/work/gitclaw", 5, "…claw"},
		{`C:\Users\日本\app`, 9, `…\app`},
		{`C:\Users\日本\app`, 10, `…\日本\app`},
	} {
		if got := ClipPath(test.path, test.width); got != test.want {
			t.Errorf("ClipPath(%q, %d) = %q, want %q", test.path, test.width, got, test.want)
		}
	}
}
