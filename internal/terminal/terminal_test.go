package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "plain text", "plain text"},
		{"white space", " a\t b\r\n\n c ", "a b c"},
		{"colour", "\x1b[1;31mred\x1b[0m text", "red text"},
		{"title of the window", "\x1b]0;evil title\x07after", "after"},
		{"title, other end", "\x1b]0;evil\x1b\\after", "after"},
		{"hyperlink", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"title without an end", "\x1b]0;the rest stays", "0;the rest stays"},
		{"sequence cut off", "text\x1b[12", "text12"},
		{"escape of two characters, lone escape", "a\x1bbc\x1b", "ac"},
		{"escape before other script", "\x1b日本", "日本"},
		{"character set", "\x1b(0lqk", "lqk"},
		{"single characters", "a\x00b\x07c\x08d\x7fe", "abcde"},
		{"C1 as runes", "a\u009b31mb\u0085c", "ab c"},
		{"direction", "a\u202eb\u2066c", "abc"},
		{"direction of single characters", "a\u200fb\u200ec\u061cd", "abcd"},
		{"tags, which no one sees", "a\U000e0041\U000e007fb\U000e0001", "ab"},
		{"line separators", "a\u2028b", "a b"},
		{"invalid bytes", "a\xffb\x9bc", "a\ufffdb\ufffdc"},
		{"other scripts", "日本語 😀 é", "日本語 😀 é"},
		{"family emoji stays whole", "👨‍👩‍👧", "👨‍👩‍👧"},
	}
	for _, test := range tests {
		if got := Clean(test.in); got != test.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", test.name, test.in, got, test.want)
		}
	}
}

func TestCleanSpans(t *testing.T) {
	tests := []struct {
		name, in string
		spans    [][2]int
		want     []string // the marked texts
	}{
		{"untouched", "one two three", [][2]int{{4, 7}}, []string{"two"}},
		{"after an escape", "\x1b[1mone\x1b[0m two", [][2]int{{4, 7}, {12, 15}}, []string{"one", "two"}},
		{"around an escape", "o\x1b[1mne two", [][2]int{{0, 7}}, []string{"one"}},
		{"white space inside", "exit\n\t code", [][2]int{{0, 11}}, []string{"exit code"}},
		{"at the ends", "ab", [][2]int{{0, 1}, {1, 2}}, []string{"a", "b"}},
		{"inside an escape", "\x1b]0;title\x07x", [][2]int{{4, 9}}, nil},
		{"beyond the end", "ab", [][2]int{{1, 9}}, nil},
		{"other scripts", "日本語", [][2]int{{3, 6}}, []string{"本"}},
	}
	for _, test := range tests {
		text, spans := CleanSpans(test.in, test.spans)
		var got []string
		for _, s := range spans {
			got = append(got, text[s[0]:s[1]])
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: CleanSpans(%q, %v) marks (-want +got):\n%s", test.name, test.in, test.spans, diff)
		}
	}
}

func TestCleanLines(t *testing.T) {
	if got, want := CleanLines("a\tb\r\n\x1b[2Jc\n"), "a\tb\nc\n"; got != want {
		t.Errorf("CleanLines = %q, want %q", got, want)
	}
}

// Whatever comes in, nothing that a terminal acts on comes out, and the spans
// lie in the text.
func FuzzCleanSpans(f *testing.F) {
	f.Add("\x1b]0;a\x1b[1mb\x9b\u009b\u202e\xff\xc2", 2, 5)
	f.Fuzz(func(t *testing.T, s string, from, to int) {
		text, spans := CleanSpans(s, [][2]int{{from, to}})
		if !utf8.ValidString(text) {
			t.Errorf("CleanSpans(%q) = %q, not UTF-8", s, text)
		}
		if i := strings.IndexFunc(text, Hidden); i >= 0 {
			t.Errorf("CleanSpans(%q) = %q keeps %q", s, text, text[i:])
		}
		for _, sp := range spans {
			if sp[0] < 0 || sp[0] >= sp[1] || sp[1] > len(text) {
				t.Errorf("CleanSpans(%q, %d, %d) marks %v of %d bytes", s, from, to, sp, len(text))
			}
		}
	})
}

func TestColour(t *testing.T) {
	tests := []struct {
		name string
		when When
		tty  bool
		env  map[string]string
		want bool
	}{
		{"terminal", Auto, true, map[string]string{"TERM": "xterm"}, true},
		{"pipe", Auto, false, map[string]string{"TERM": "xterm"}, false},
		{"dumb terminal", Auto, true, map[string]string{"TERM": "dumb"}, false},
		{"NO_COLOR", Auto, true, map[string]string{"NO_COLOR": "yes"}, false},
		{"empty NO_COLOR", Auto, true, map[string]string{"NO_COLOR": ""}, true},
		{"FORCE_COLOR", Auto, false, map[string]string{"FORCE_COLOR": "1"}, true},
		{"FORCE_COLOR=0", Auto, true, map[string]string{"FORCE_COLOR": "0"}, false},
		{"NO_COLOR beats FORCE_COLOR", Auto, true, map[string]string{"NO_COLOR": "1", "FORCE_COLOR": "1"}, false},
		{"always beats NO_COLOR", Always, false, map[string]string{"NO_COLOR": "1"}, true},
		{"never beats FORCE_COLOR", Never, true, map[string]string{"FORCE_COLOR": "1"}, false},
	}
	for _, test := range tests {
		getenv := func(name string) string { return test.env[name] }
		if got := test.when.Colour(test.tty, getenv); got != test.want {
			t.Errorf("%s: %s.Colour(%t) = %t, want %t", test.name, test.when, test.tty, got, test.want)
		}
	}
}

func TestParseWhen(t *testing.T) {
	if _, err := ParseWhen("sometimes"); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("ParseWhen(sometimes): %v, want an error that lists the values", err)
	}
}

func TestNew(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for columns, want := range map[string]int{"": DefaultWidth, "200": 200, "3": minWidth, "wide": DefaultWidth} {
		s := New(f, f, f, func(name string) string {
			if name == "COLUMNS" {
				return columns
			}
			return ""
		})
		if s.OutTTY || s.Width != want {
			t.Errorf("New with COLUMNS=%q: terminal %t, width %d; want false, %d", columns, s.OutTTY, s.Width, want)
		}
	}
}
