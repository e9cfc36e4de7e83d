package shellcmd

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

// A Shell quotes words and commands so that it reads them back unchanged, and a terminal shows
// them without interpreting control characters.
type Shell struct {
	Quote   func(word string) string
	Command func(dir string, argv []string) string // a line that runs argv in a directory, "" for the current one
	makeDir string                                 // makes %s before what follows
}

// ShellOf returns the default shell of an operating system.
func ShellOf(goos string) Shell {
	if goos == "windows" {
		return Shell{quotePowerShell, powerShellLine, "New-Item -ItemType Directory -Force -Path %s | Out-Null; "}
	}
	return Shell{Quote, Line, "mkdir -p %s && "}
}

// Remake returns a line that makes a directory and runs argv in it.
func (s Shell) Remake(dir string, argv []string) string {
	return fmt.Sprintf(s.makeDir, s.Quote(dir)) + s.Command(dir, argv)
}

// Operand quotes an argument so that pigrep does not take it for a flag.
func (s Shell) Operand(word string) string {
	if strings.HasPrefix(word, "-") {
		return "-- " + s.Quote(word)
	}
	return s.Quote(word)
}

// Here is the default shell of this system.
var Here = ShellOf(runtime.GOOS)

func powerShellLine(dir string, argv []string) string {
	line := strings.Join(lists.Map(argv, quotePowerShell), " ")
	if dir != "" {
		line = "Set-Location -LiteralPath " + quotePowerShell(dir) + " -ErrorAction Stop; " + line
	}
	return line
}

// barePowerShell matches words that PowerShell passes on unchanged. It splits a word that begins with a
// dash at a dot or a colon.
var barePowerShell = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(--?[A-Za-z][A-Za-z-]*|[A-Za-z0-9_./\\:][A-Za-z0-9_./\\:+=-]*)$`)
})

func quotePowerShell(s string) string {
	if barePowerShell().MatchString(s) {
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
			fmt.Fprintf(&b, "'+[char]::ConvertFromUtf32(0x%x)+'", r)
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
