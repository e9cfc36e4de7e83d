package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestGuard(t *testing.T) {
	link := (&Links{Host: "box"}).Address("text", "https://x.y/a?b=c")
	style := ansi.NewStyle().Bold().ForegroundColor(ansi.Red).Styled("red")
	for _, test := range []struct {
		in, want      string
		styles, links bool
	}{
		{"plain\n\ttext\n", "plain\n\ttext\n", false, false},
		{"日本語 é 😀 👨‍👩‍👧\n", "日本語 é 😀 👨‍👩‍👧\n", false, false},
		{style + link, "redtext", false, false},
		{style + link, style + "text", true, false},
		{style + link, "red" + link, false, true},
		{style + link, style + link, true, true},
		{"a\x1b[2Jb\x1b[10;1Hc\x1b]0;title\x07d\x1b]52;c;eA==\x07e\x1bPq\x1b\\f\x1bcg", "abcdefg", true, true},
		{"a\u009b31mb\u0085c\x07d\re\x00f\x7fg\u202eh\u2028i\ufeffj", "abcdefghij", true, true},
		{"\x1b]8;;javascript:x\x07y\x1b]8;;\x07", "y\x1b]8;;\x07", true, true},
		{"bad \xff bytes", "bad \ufffd bytes", true, true},
		{"\x1b[31", "", true, true},
	} {
		var whole bytes.Buffer
		g := &Guard{Out: &whole, Styles: test.styles, Links: test.links}
		if n, err := g.Write([]byte(test.in)); n != len(test.in) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if whole.String() != test.want {
			t.Errorf("%q is %q, want %q", test.in, whole.String(), test.want)
		}
		for at := range test.in { // in two pieces
			var b bytes.Buffer
			g := &Guard{Out: &b, Styles: test.styles, Links: test.links}
			_, _ = g.Write([]byte(test.in[:at]))
			_, _ = g.Write([]byte(test.in[at:]))
			got := b.String()
			if test.styles && test.links && !strings.ContainsAny(test.in, "\x07\u009b") && got != test.want || strings.ContainsAny(strings.NewReplacer(style, "", link, "", "\x1b]8;;\x07", "").Replace(got), "\x1b\x07\r\x00") {
				t.Errorf("%q in pieces at %d is %q, want %q", test.in, at, got, test.want)
			}
		}
	}
}
