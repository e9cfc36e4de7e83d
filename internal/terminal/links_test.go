package terminal

import (
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestLinksDecision(t *testing.T) {
	for _, test := range []struct {
		when        When
		tty, colour bool
		env         string
		want        bool
	}{
		{Auto, true, true, "TERM=xterm-256color", false},
		{Auto, true, true, "TERM=xterm-kitty", true},
		{Auto, false, true, "TERM=xterm-kitty", false}, // in a pipe
		{Auto, true, false, "TERM=xterm-kitty", false}, // without colours
		{Always, true, false, "TERM=xterm-kitty", false},
		{Never, true, true, "TERM=xterm-kitty", false},
		{Always, false, true, "", true},
		{Auto, true, true, "TERM=dumb TERM_PROGRAM=WezTerm", false},
		{Auto, true, true, "TERM=xterm-256color VTE_VERSION=7600", true},
		{Auto, true, true, "TERM=xterm-256color VTE_VERSION=4999", false},
		{Auto, true, true, "TERM=xterm-256color VTE_VERSION=5000", false},
		{Auto, true, true, "TERM=xterm-256color WT_SESSION=1", true},
		{Auto, true, true, "TERM=xterm-256color TERM_PROGRAM=Apple_Terminal TERM_PROGRAM_VERSION=453", false},
		{Auto, true, true, "TERM=xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.5.2", true},
		{Auto, true, true, "TERM=xterm-256color TERM_PROGRAM=iTerm.app TERM_PROGRAM_VERSION=3.0.15", false},
		{Auto, true, true, "TERM=xterm-256color TERM_PROGRAM=vscode TERM_PROGRAM_VERSION=1.9.0", false},
		{Auto, true, true, "TERM=xterm-256color TERM_PROGRAM=vscode TERM_PROGRAM_VERSION=1.95.0", true},
		{Auto, true, true, "TERM=tmux-256color TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.4 TMUX=x VTE_VERSION=7600", true},
		{Auto, true, true, "TERM=screen-256color TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.3a TMUX=x VTE_VERSION=7600", false},
		{Auto, true, true, "TERM=screen-256color VTE_VERSION=7600", false},
		{Auto, true, true, "TERM=xterm FORCE_HYPERLINK=1", true},
		{Auto, true, true, "TERM=xterm-kitty FORCE_HYPERLINK=0", false},
		{Auto, true, true, "TERM=footsie", false},
		{Auto, true, true, "TERM=foot-extra", true},
	} {
		getenv := func(name string) string {
			for _, v := range strings.Fields(test.env) {
				if k, value, _ := strings.Cut(v, "="); k == name {
					return value
				}
			}
			return ""
		}
		if got := test.when.Links(test.tty, test.colour, getenv); got != test.want {
			t.Errorf("%s, terminal %t, colour %t, %s: %t, want %t", test.when, test.tty, test.colour, test.env, got, test.want)
		}
	}
}

// What is written with hyperlinks is the same text without them, colours included.
func TestWithoutLinks(t *testing.T) {
	l := &Links{Host: "box"}
	text := "\x1b[1mx" + l.Address("a", "https://a.example/é") + " \x1b[m" + l.Address("日", "mailto:b") + "\n"
	if got := string(WithoutLinks([]byte(text))); got != "\x1b[1mxa \x1b[m日\n" || !strings.Contains(text, "https") {
		t.Errorf("%q without links is %q", text, got)
	}
}

// Whatever a session names as a path, the target has no character that could end it, and what
// is shown is the text.
func TestLinkTargets(t *testing.T) {
	root := "/"
	if runtime.GOOS == "windows" {
		root = `C:\`
	}
	rapid.Check(t, func(rt *rapid.T) {
		path := root + rapid.String().Draw(rt, "path")
		got := (&Links{Host: "box"}).File("text", path)
		target, ok := strings.CutPrefix(got, "\x1b]8;;file://box/")
		if !ok {
			rt.Fatalf("the link to %q is %q", path, got)
		}
		target, _, _ = strings.Cut(target, "\x07")
		if i := strings.IndexFunc(target, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || unicode.IsControl(r) }); i >= 0 {
			rt.Errorf("the target of the link to %q is %q", path, target)
		}
		if ansi.Strip(got) != "text" || Width(got) != len("text") {
			rt.Errorf("the link to %q shows %q", path, ansi.Strip(got))
		}
	})
	for _, got := range []string{(*Links)(nil).File("x", "/a"), (&Links{}).File("x", "a/b"), (&Links{}).File("x", "")} {
		if got != "x" {
			t.Errorf("a link where there should be none: %q", got)
		}
	}
	if got := Clip((&Links{}).File("abcdef", root+"a b;c"), 4); ansi.Strip(got) != "abc…" || strings.Count(got, "\x1b]8;;") != 2 {
		t.Errorf("clipped: %q", got)
	}
}

// An address that a session has cannot end its target either, and only the web and mail are led
// to.
func TestLinksToAddresses(t *testing.T) {
	l := &Links{Host: "box"}
	for address, want := range map[string]string{
		"https://x.y/a?b=c#d":         "https://x.y/a?b=c#d",
		"HTTP://x.y/%20":              "HTTP://x.y/%20",
		"mailto:a@b.c":                "mailto:a@b.c",
		"http://x/\x1b\\\x07\u009c a": "http://x/%1B\\%07%C2%9C%20a",
		"https://日/":                  "https://%E6%97%A5/",
		"file:///etc/passwd":          "",
		"javascript:alert(1)":         "",
		"docs/a.md":                   "",
		"#http://x":                   "",
		"http":                        "",
		"":                            "",
		"http://" + strings.Repeat("x", longestAddress): "",
	} {
		if want != "" {
			want = "\x1b]8;;" + want + "\x07text\x1b]8;;\x07"
		} else {
			want = "text"
		}
		if got := l.Address("text", address); got != want {
			t.Errorf("the link to %q is %q, want %q", address, got, want)
		}
	}
	if got := (*Links)(nil).Address("x", "http://a"); got != "x" {
		t.Errorf("a link where there should be none: %q", got)
	}
}
