package human

import (
	"strings"
	"testing"
)

// A headline ends after a word, unless there is none where it must end.
func TestHeadline(t *testing.T) {
	for title, want := range map[string]string{
		"":                          "(no prompt)",
		"Fix the\nlogin":            "Fix the login",
		strings.Repeat("word ", 40): strings.Repeat("word ", 15) + "word…",
		strings.Repeat("x", 200):    strings.Repeat("x", 79) + "…",
	} {
		if got := Headline(title); got != want {
			t.Errorf("Headline(%q) = %q, want %q", title, got, want)
		}
	}
}

// What is not there is not said, nor are its separators.
func TestWhatIsNotSaid(t *testing.T) {
	for got, want := range map[string]string{
		Joined(" · ", "", "a", "", Some(0, "file", "files"), Some(2, "file", "files"), When(false, "x"), When(true, "y"), ""): "a · 2 files · y",
		Joined(", "):         "",
		Joined(", ", "", ""): "",
		Some(1200, "x", "y"): "1,200 y",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
