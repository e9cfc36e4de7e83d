package terminal

import (
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Links writes hyperlinks (OSC 8) to files and to addresses. Terminals that support them
// open the file on a click; others may show garbage, so When.Links decides whether to
// write them. A nil Links writes none.
type Links struct {
	Host string // of the files: a terminal on another machine does not open its own
}

// File returns a text that links to a file. The text must be clean. The path may have
// any characters: they are escaped. A relative path gives no link.
func (l *Links) File(text, path string) string {
	if l == nil || text == "" || !filepath.IsAbs(path) {
		return text
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/
		path = "/" + path
	}
	u := url.URL{Scheme: "file", Host: l.Host, Path: path}
	return ansi.SetHyperlink(u.String()) + text + ansi.ResetHyperlink()
}

// longestAddress is how many bytes of an address a terminal takes: VTE ignores longer ones.
const longestAddress = 2083

// Address returns a text that links to an address of the web or of mail. The text must be
// clean. The address may have any characters: they are escaped. An address of any other
// scheme gives no link, so that a session cannot make a terminal open what it likes.
func (l *Links) Address(text, address string) string {
	scheme, _, _ := strings.Cut(address, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
	default:
		return text
	}
	if l == nil || text == "" || scheme == address || len(address) > longestAddress {
		return text
	}
	var b strings.Builder
	for _, c := range []byte(address) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return ansi.SetHyperlink(b.String()) + text + ansi.ResetHyperlink()
}

func WithoutLinks(text []byte) []byte {
	begin, end := []byte("\x1b]8;"), []byte{ansi.BEL}
	var plain []byte
	for {
		before, link, found := bytes.Cut(text, begin)
		plain = append(plain, before...)
		if !found {
			return plain
		}
		_, text, _ = bytes.Cut(link, end)
	}
}

// Links decides whether hyperlinks are written to a stream. If --hyperlink is auto, they go
// to coloured terminals that are known to take them; FORCE_HYPERLINK with any value but 0
// says that this one does. Output without colours has none.
func (w When) Links(tty, colour bool, getenv func(string) string) bool {
	switch {
	case w == Never || !colour:
		return false
	case w == Always:
		return true
	case !tty:
		return false
	case getenv("FORCE_HYPERLINK") != "":
		return getenv("FORCE_HYPERLINK") != "0"
	}
	return takesLinks(getenv)
}

// takesLinks reports whether the terminal of this environment is known to take hyperlinks.
// Others are not asked: an answer takes time, and some never answer.
func takesLinks(getenv func(string) string) bool {
	term, program := getenv("TERM"), getenv("TERM_PROGRAM")
	version := strings.Split(getenv("TERM_PROGRAM_VERSION"), ".")
	atLeast := func(major, minor int) bool {
		n, _ := strconv.Atoi(version[0])
		m := 0
		if len(version) > 1 {
			m, _ = strconv.Atoi(strings.TrimRight(version[1], "abcdefghijklmnopqrstuvwxyz"))
		}
		return n > major || n == major && m >= minor
	}
	number := func(name string, least int) bool {
		n, err := strconv.Atoi(getenv(name))
		return err == nil && n >= least
	}
	switch {
	case term == "dumb":
		return false
	case program == "tmux": // it keeps them from terminals that do not take them
		return atLeast(3, 4)
	case getenv("TMUX") != "" || strings.HasPrefix(term, "screen"):
		return false
	case program == "iTerm.app":
		return atLeast(3, 1)
	case program == "vscode":
		return atLeast(1, 72)
	case program == "WezTerm", program == "ghostty", program == "Hyper", program == "rio", program == "zed", program == "WarpTerminal":
		return true
	case getenv("WT_SESSION") != "", getenv("KITTY_WINDOW_ID") != "", getenv("DOMTERM") != "":
		return true
	case number("VTE_VERSION", 5000) && !number("VTE_VERSION", 5001): // 0.50.0 crashes on them
		return false
	case number("VTE_VERSION", 5001), number("KONSOLE_VERSION", 201200):
		return true
	}
	names := []string{"xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio"}
	return slices.ContainsFunc(names, func(name string) bool { return term == name || strings.HasPrefix(term, name+"-") })
}
