package show

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/ui/highlight"
	"pigrep/ui/printer"
)

var update = flag.Bool("update", false, "write the golden files")

// The looks of code do not depend on how busy the machine is.
func init() { highlight.MaxTime = time.Hour }

// golden compares the output with the file of that name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", path, diff)
	}
}

var now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func at(ago time.Duration) session.Time { return session.Time{Time: now.Add(-ago)} }

const day = 24 * time.Hour

// looks are the terminals that golden files are made for.
var looks = []struct {
	name   string
	layout printer.Layout
}{
	{"40", printer.Layout{Width: 40, Now: now, Home: "/home/u"}},
	{"40-colour", printer.Layout{Width: 40, Now: now, Home: "/home/u", Colour: true}},
	{"80", printer.Layout{Width: 80, Now: now, Home: "/home/u"}},
	{"80-colour", printer.Layout{Width: 80, Now: now, Home: "/home/u", Colour: true}},
	{"200", printer.Layout{Width: 200, Now: now, Home: "/home/u"}},
	{"200-colour", printer.Layout{Width: 200, Now: now, Home: "/home/u", Colour: true}},
}

// checkLines makes sure that no line is wider than the terminal and that nothing
// in them acts on it.
func checkLines(t *testing.T, out string, l printer.Layout) {
	t.Helper()
	if !l.Colour {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && terminal.Hidden(r) }); i >= 0 {
			t.Errorf("a control character gets out: %q", out[max(0, i-20):min(len(out), i+20)])
		}
	} else if strings.Contains(out, "\x1b]") || strings.Contains(out, "owned") {
		t.Errorf("a control sequence of the session gets out")
	}
	for line := range strings.Lines(out) {
		if n := terminal.Width(strings.TrimSuffix(line, "\n")); l.Width > 0 && n > l.Width {
			t.Errorf("%d cells in a line of %d: %q", n, l.Width, line)
		}
		if plain := ansi.Strip(strings.TrimSuffix(line, "\n")); plain != strings.TrimRight(plain, " ") {
			t.Errorf("spaces at the end: %q", line)
		}
	}
}
