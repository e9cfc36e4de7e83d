package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Continuous integration installs the programs that tests drive.
func TestProgramsAreInstalled(t *testing.T) {
	path := filepath.Join("..", "..", ".ci", "run")
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "for tool in " + strings.Join(Programs, " ") + ";"; !strings.Contains(string(script), want) {
		t.Errorf("%s does not say %q", path, want)
	}
	for _, name := range Programs {
		t.Run(name, func(t *testing.T) { Program(t, name) })
	}
}
