package shellcmd

import "testing"

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
}

// By the rules of PowerShell (about_Quoting_Rules, about_Parsing): a word in single quotes is taken as
// it is, with each of its five quotes doubled; a character that does not show is computed; a bare word
// begins with no sign that it knows, and has no space, comma, semicolon, brace or dollar.
func TestQuotePowerShell(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", "''"},
		{"C:/Users/x", "C:/Users/x"},
		{`C:\Users\x.jsonl`, `C:\Users\x.jsonl`},
		{"--session-dir", "--session-dir"},
		{"-C", "-C"},
		{"-a.b", "'-a.b'"}, // or it is two words
		{"-a:b", "'-a:b'"},
		{"--%", "'--%'"}, // or what follows is not read
		{"-", "'-'"},
		{"it's", "'it''s'"},
		{"a\u2019\u2018\u201a\u201bc", "'a\u2019\u2019\u2018\u2018\u201a\u201a\u201b\u201bc'"},
		{"$(calc)", "'$(calc)'"},
		{"`n", "'`n'"},
		{"a;b", "'a;b'"},
		{"@x", "'@x'"},
		{"a,b", "'a,b'"},
		{"{x}", "'{x}'"},
		{"~", "'~'"},
		{"a b\\", "'a b\\'"},
		{"a\nb", "'a\nb'"},
		{"a\x1bb", "('a'+[char]::ConvertFromUtf32(0x1b)+'b')"},
		{"\U000e0041", "(''+[char]::ConvertFromUtf32(0xe0041)+'')"},
	} {
		if got := quotePowerShell(test.in); got != test.want {
			t.Errorf("quotePowerShell(%q) = %s, want %s", test.in, got, test.want)
		}
	}
}
