// Package shell quotes commands so that a shell reads them back unchanged, and a
// terminal shows them without interpreting control characters.
package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pigrep/internal/terminal"
)

// A Style is the language of a shell.
type Style struct {
	Quote func(string) string
	enter func(dir string) string // changes to a directory, or fails
}

// posixShell is for sh and compatible shells.
var posixShell = Style{
	Quote: quotePOSIX,
	enter: func(dir string) string {
		if strings.HasPrefix(dir, "-") {
			dir = "./" + dir
		}
		return "cd " + quotePOSIX(dir) + " && "
	},
}

// powerShell is for Windows.
var powerShell = Style{
	Quote: quotePowerShell,
	enter: func(dir string) string {
		return "Set-Location -LiteralPath " + quotePowerShell(dir) + " -ErrorAction Stop; "
	},
}

// Of returns the style of the default shell of an operating system.
func Of(goos string) Style {
	if goos == "windows" {
		return powerShell
	}
	return posixShell
}

// Command returns a command line that runs argv in a directory, "" for the current one.
func (s Style) Command(dir string, argv []string) string {
	var b strings.Builder
	if dir != "" {
		b.WriteString(s.enter(dir))
	}
	for i, arg := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.Quote(arg))
	}
	return b.String()
}

// isBare reports whether a character needs no quoting in any shell.
func isBare(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./:@%+,=", r)
}

func quotePOSIX(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isBare(r) }) && s[0] != '=' {
		return s
	}
	var b strings.Builder
	open := false
	set := func(want bool) {
		if open != want {
			b.WriteByte('\'')
			open = want
		}
	}
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		switch {
		case r == '\'':
			set(false)
			b.WriteString(`\'`)
		case r != '\n' && (r < 0 || terminal.Hidden(r)):
			// Control characters are written with printf: every sh has it, but not
			// every sh has $'…'.
			set(false)
			b.WriteString(`"$(printf '`)
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
			b.WriteString(`')"`)
		default:
			set(true)
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	set(false)
	if s == "" {
		return "''"
	}
	return b.String()
}

func quotePowerShell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isBare(r) && r != '\\' || r == '@' || r == ',' || r == '%' }) {
		return s
	}
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case strings.ContainsRune("'\u2018\u2019\u201a\u201b", r): // PowerShell accepts all of these as quotes
			b.WriteRune(r)
			b.WriteRune(r)
		case terminal.Hidden(r) && r != '\n':
			fmt.Fprintf(&b, "'+[char]0x%x+'", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	if quoted := b.String(); strings.Contains(quoted, "'+[char]") {
		return "(" + quoted + ")"
	}
	return b.String()
}

// decodeRune is utf8.DecodeRuneInString with -1 for invalid UTF-8.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return -1, 1
	}
	return r, n
}
