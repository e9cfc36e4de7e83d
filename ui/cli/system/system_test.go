package system

import (
	"strings"
	"testing"
)

func TestParseSocket(t *testing.T) {
	for _, c := range []struct {
		line string
		want socket
		ok   bool
	}{
		{"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0", socket{8080, true, 1000, "12345"}, true},
		{"   1: 00000000000000000000000001000000:0050 0000:0000 01 0:0 0:0 0  0 0 9 1", socket{80, false, 0, "9"}, true},
		{"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", socket{}, false},
		{"", socket{}, false},
		{"a b c d e f g h i j", socket{}, false},
	} {
		got, ok := parseSocket(c.line)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("parseSocket(%q) = %+v, %v, want %+v, %v", c.line, got, ok, c.want, c.ok)
		}
	}
}

func TestClipboard(t *testing.T) {
	for _, test := range []struct{ system, env, have, want string }{
		{"linux", "DISPLAY=:0", "xsel xclip", "xclip -selection clipboard"},
		{"linux", "DISPLAY=:0", "xsel", "xsel --clipboard --input"},
		{"linux", "WAYLAND_DISPLAY=w DISPLAY=:0", "wl-copy xclip", "wl-copy"},
		{"linux", "", "xclip", ""},
		{"linux", "DISPLAY=:0 SSH_TTY=/dev/pts/1", "xclip", ""},
		{"darwin", "", "pbcopy", "pbcopy"},
		{"windows", "", "clip.exe", ""},
	} {
		getenv := func(name string) string {
			for _, v := range strings.Fields(test.env) {
				if k, value, _ := strings.Cut(v, "="); k == name {
					return value
				}
			}
			return ""
		}
		have := func(name string) bool { return strings.Contains(" "+test.have+" ", " "+name+" ") }
		if got := strings.Join(Clipboard(test.system, getenv, have), " "); got != test.want {
			t.Errorf("on %s with %q: %q, want %q", test.system, test.env, got, test.want)
		}
	}
}

// What cmd.exe would run as another command is not given to a batch file.
func TestCheckBatch(t *testing.T) {
	for _, test := range []struct {
		program, arg string
		refused      bool
	}{
		{`C:\npm\codex.cmd`, `C:\a b\c(1)`, false},
		{`C:\npm\codex.CMD`, `C:\a&calc`, true},
		{`C:\npm\codex.bat`, `C:\%PATH%`, true},
		{`C:\npm\codex.cmd`, `C:\a" & calc "`, true},
		{`C:\npm\codex.exe`, `C:\a&calc`, false},
	} {
		if err := checkBatch(test.program, []string{"-C", test.arg}); (err != nil) != test.refused {
			t.Errorf("checkBatch(%s, %s): %v", test.program, test.arg, err)
		}
	}
}
