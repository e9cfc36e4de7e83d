package shellcmd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
)

func TestQuote(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"pi", "pi"},
		{"--session-dir", "--session-dir"},
		{"/home/u/a-b_c.d/x.jsonl", "/home/u/a-b_c.d/x.jsonl"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", `'it'\''s'`},
		{`C:\it's`, `'C:'\\'it'\''s'`},
		{`\`, `\\`},
		{"a\n", "'a\n'"},
		{"a\nbc\n", `"$(printf 'a\012bc')"` + "'\n'"},
		{"$HOME `x` \"y\"", "'$HOME `x` \"y\"'"},
		{"~", "'~'"},
		{"=x", "'=x'"},
		{"%self", "'%self'"},
		{"日本", "'日本'"},
		{"-a\x1b[2J/2 b", `"$(printf '\055a\033\133\062J/2\040b')"`},
		{"a\xff\u202eb", `"$(printf 'a\377\342\200\256b')"`},
	} {
		if got := Quote(test.in); got != test.want {
			t.Errorf("Quote(%q) = %s, want %s", test.in, got, test.want)
		}
	}
	if got, want := Line("-p q", []string{"pi", "it's"}), `cd './-p q' && pi 'it'\''s'`; got != want {
		t.Errorf("Line = %s, want %s", got, want)
	}
}

// pieces are what random words are made of.
var pieces = []string{
	"/tmp/", "a", "word", " ", "'", "''", `\`, `\\`, `\'`, `'\`, `"`, "\n", "\n\n", "$", "$HOME", "${x}", "$(id)", "`id`", "!", "!!", "!$", "~", "~root", "{a,b}", "{", "}", "*", "?", "[a]", "(", ")", "#", ";", "&", "&&",
	"|", "<", ">", "^", "=", "==", "%", "%self", "%1", "@", "+", "-", "--", ",", ":", "\t", "\r", "\x01", "\x07", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\u0085", "\u00a0", "\u200f", "\u202e", "\u2028", "\ufeff", "\xff", "\xc3", "\xed\xa0\x80",
	"\uf600", "\uf6ff", "\ue000", "\U000e0041", "é", "日本", "\U0001f600", "%s", "printf", "; touch /tmp/x #", `\x41`, `\u0041`, `\101`, "-e", "0", "9", "A",
}

func randomWord(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		if r.IntN(4) == 0 {
			b.WriteByte(byte(1 + r.IntN(255)))
			continue
		}
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// What is quoted, each shell reads back byte for byte, also after eval of what a command printed;
// a terminal shows it without doing anything. One process of a shell reads all words.
func TestQuoteInShells(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := append([]string{"", "-n", "--", "ends\n", "\n", "a\n\nb", `/nonexist/\'; touch /tmp/x #`}, pieces...)
	for len(words) < testkit.HowMany(2_000, 10_000, 100_000) {
		words = append(words, randomWord(r))
	}
	var script, want bytes.Buffer
	for _, w := range words {
		quoted := Quote(w)
		if strings.ContainsFunc(quoted, func(r rune) bool { return r != '\n' && terminal.Hidden(r) }) {
			t.Fatalf("Quote(%q) = %q lets a control character through", w, quoted)
		}
		fmt.Fprintf(&script, "printf '%%s\\000' %s\n", quoted)
		want.WriteString(w + "\x00")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	testkit.Check(t, os.WriteFile(file, script.Bytes(), 0o600))
	for _, shell := range []string{"dash", "bash", "zsh", "fish"} {
		cmd := exec.Command(testkit.Program(t, shell), file)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", shell, err)
		}
		got := strings.Split(string(out), "\x00")
		for i, w := range words {
			if i >= len(got) || got[i] != w {
				t.Errorf("%s reads %s otherwise than %q: %q", shell, Quote(w), w, got[min(i, len(got)-1)])
				break
			}
		}
		if !bytes.Equal(out, want.Bytes()) {
			t.Errorf("%s printed %d bytes, want %d", shell, len(out), want.Len())
		}
	}
}

// In fish, `eval (pigrep resume ID)` joins lines of a command with spaces: there are none but at the
// end of a word.
func TestQuoteIsOneLine(t *testing.T) {
	for _, w := range []string{"a\nb", "\n\n'x", "/p/\n/q"} {
		if quoted := Quote(w); strings.Contains(quoted, "\n") {
			t.Errorf("Quote(%q) = %q has several lines", w, quoted)
		}
	}
}
