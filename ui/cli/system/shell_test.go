package system

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pigrep/internal/terminal"
)

func TestQuotePOSIX(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"pi", "pi"},
		{"/home/u/a-b_c.d/x.jsonl", "/home/u/a-b_c.d/x.jsonl"},
		{"", "''"},
		{"a b", "'a b'"},
		{"it's", `'it'\''s'`},
		{"a\nb", "'a\nb'"},
		{"$HOME `x` \"y\"", "'$HOME `x` \"y\"'"},
		{"~", "'~'"},
		{"=x", "'=x'"},
		{"日本", "'日本'"},
		{"a\x1b[2Jb", `'a'"$(printf '\033')"'[2Jb'`},
	} {
		if got := quotePOSIX(test.in); got != test.want {
			t.Errorf("quotePOSIX(%q) = %s, want %s", test.in, got, test.want)
		}
	}
}

// hostile are names that a directory may have and a shell may fall over.
var hostile = []string{
	"plain", "two words", "it's", `say "hi"`, "new\nline", "ends with newline\n", "tab\there", "$HOME", "`id`", "$(id)", "back\\slash", `\`, "'", "''", "*", "?", "[a]",
	"{a,b}", "~", "~root", "#", "!", "!!", "&", ";", "|", "<", ">", "-n", "--", "=ls", "%s", "é日本", "\x1b[31m", "\u202e", "\u2028", "\u0085", "\xff\xfe", "a\xffb", "\x01\x7f", "\r\n",
	"mixed 'quotes\" and\n$(rm -rf x) \x1b]0;owned\x07",
}

// What is quoted, a shell reads back byte for byte, and a terminal shows without
// doing anything.
func TestQuotePOSIXInShells(t *testing.T) {
	tried := 0
	for _, shell := range []string{"sh", "dash", "bash", "zsh", "ksh", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		tried++
		for _, s := range hostile {
			quoted := quotePOSIX(s)
			if strings.ContainsFunc(quoted, func(r rune) bool { return r != '\n' && terminal.Hidden(r) }) {
				t.Errorf("quotePOSIX(%q) = %q lets a control character through", s, quoted)
			}
			args := []string{"-c", "printf '%s|' " + quoted}
			if shell == "busybox" {
				args = append([]string{"sh"}, args...)
			}
			out, err := exec.Command(path, args...).Output()
			if err != nil {
				t.Errorf("%s: %q: %v", shell, quoted, err)
				continue
			}
			if got := strings.TrimSuffix(string(out), "|"); got != s {
				t.Errorf("%s reads %q as %q, want %q", shell, quoted, got, s)
			}
		}
	}
	if tried == 0 && runtime.GOOS != "windows" {
		t.Error("no shell to try")
	}
}

func TestShellCommand(t *testing.T) {
	argv := []string{"pi", "--session", "/s/it's.jsonl"}
	for _, test := range []struct {
		goos, dir, want string
	}{
		{"linux", "/p q", `cd '/p q' && pi --session '/s/it'\''s.jsonl'`},
		{"darwin", "", `pi --session '/s/it'\''s.jsonl'`},
		{"windows", `C:\p q`, `Set-Location -LiteralPath 'C:\p q' -ErrorAction Stop; pi --session '/s/it''s.jsonl'`},
	} {
		if got := ShellOf(test.goos).Command(test.dir, argv); got != test.want {
			t.Errorf("command for %s in %q = %s, want %s", test.goos, test.dir, got, test.want)
		}
	}
	if got, want := quotePowerShell("a\x1bb\u2019c"), "('a'+[char]0x1b+'b\u2019\u2019c')"; got != want {
		t.Errorf("quotePowerShell = %s, want %s", got, want)
	}
	if got, want := quotePowerShell(filepath.ToSlash(`C:/Users/x`)), "C:/Users/x"; got != want {
		t.Errorf("quotePowerShell = %s, want %s", got, want)
	}
}
