//go:build unix

package program

import (
	"testing"

	"pigrep/lab/testkit"
)

// Everything that the list can do fits in a terminal. The tests of other sizes, and of all
// else that needs a terminal, are in the package terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	testkit.Terminal(t, binary(t), "sizes.sh", "80", "24")
}
