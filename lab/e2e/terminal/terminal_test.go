//go:build unix

package terminal

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pigrep-terminal-")
	if err == nil {
		program, err = testkit.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func driven(t *testing.T, script string, args ...string) {
	t.Helper()
	testkit.Terminal(t, program, script, args...)
}

// The terminal interface does in a terminal what a person expects of it, and
// leaves the terminal as it was.
func TestTerminalInterface(t *testing.T) {
	t.Parallel()
	driven(t, "drive.sh")
}

// Everything that the list can do fits in small and large terminals. The tests of the program have
// the usual size.
func TestTerminalSizes(t *testing.T) {
	for _, size := range [][]string{{"40", "20"}, {"120", "40"}, {"200", "60"}} {
		t.Run(strings.Join(size, "x"), func(t *testing.T) {
			t.Parallel()
			driven(t, "sizes.sh", size...)
		})
	}
}

// drivenInShells runs a script once in each shell.
func drivenInShells(t *testing.T, script string) {
	t.Helper()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			testkit.Program(t, shell)
			driven(t, script, shell)
		})
	}
}

// The key bindings of `pigrep init` work in the shells they are for.
func TestKeyBindings(t *testing.T) { drivenInShells(t, "shell.sh") }

// Completion works in shells that have loaded nothing else, such as bash without the package
// bash-completion.
func TestCompletion(t *testing.T) { drivenInShells(t, "complete.sh") }

// The session to resume is chosen in the terminal interface.
func TestChooseToResume(t *testing.T) {
	t.Parallel()
	driven(t, "resume.sh")
}

// Long output goes through any pager without loss, and Ctrl-C there does no harm.
func TestPager(t *testing.T) {
	t.Parallel()
	testkit.Program(t, "less")
	driven(t, "pager.sh")
}
