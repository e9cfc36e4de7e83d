package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// The history may be a link to a file that is kept elsewhere. The link stays.
func TestHistoryBehindLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, target := filepath.Join(dir, "history"), filepath.Join(dir, "kept", "elsewhere")
	var lines strings.Builder
	for i := range 2*maxHistory + 5 {
		fmt.Fprintln(&lines, "query", i)
	}
	if err := os.Mkdir(filepath.Dir(target), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Symlink(t, target, link)
	if err := appendHistory(link, "latest"); err != nil {
		t.Fatal(err)
	}
	list, err := readHistory(link) // rewrites it
	if err != nil || len(list) != maxHistory || list[0] != "latest" {
		t.Errorf("%d queries, %v", len(list), err)
	}
	if to, err := os.Readlink(link); to != target || err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if data, err := os.ReadFile(target); err != nil || strings.Count(string(data), "\n") != maxHistory {
		t.Errorf("the target has %d lines, %v", strings.Count(string(data), "\n"), err)
	}
}
