package shellcmd

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of rules in the docs")

// docs/audit.md has the table of rules.
func TestDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "audit.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, r := range Rules() {
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", r.ID, r.Severity, r.What, r.Why)
	}
	const head = "| rule | severity | it finds a call that | why look |\n|---|---|---|---|\n"
	before, rest, ok := strings.Cut(string(data), head)
	_, after, ok2 := strings.Cut(rest, "\n\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no table of rules", path)
	}
	want := before + head + rows.String() + "\n" + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Errorf("the table of rules in %s is not that of the rules; write it with -update", path)
	}
}
