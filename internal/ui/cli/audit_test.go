package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/query/audit"
)

// The docs name every field of the rows of audits.
func TestDocsOfAuditRows(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	dimensions := fieldNames(audit.Key{})
	for _, r := range auditRows {
		_, rest, ok := strings.Cut(string(data), "\n| `"+r.name+"` |")
		if !ok {
			t.Errorf("docs/audit.md has no row for %q", r.name)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		for _, name := range fieldNames(r.row) {
			if name != "-" && !slices.Contains(dimensions, name) && !strings.Contains(line, "`"+name+"`") {
				t.Errorf("docs/audit.md: the row of %q does not name %q", r.name, name)
			}
		}
	}
}

// Days begin in the zone of the machine, with its name where it has one, or with
// --utc in UTC.
func TestZoneOfAudits(t *testing.T) {
	berlin := time.FixedZone("Europe/Berlin", 3600)
	a := &App{Zone: func() *time.Location { return berlin }}
	if got := (&auditOptions{}).zone(a); got != berlin {
		t.Errorf("zone = %v, want %v", got, berlin)
	}
	if got := (&auditOptions{utc: true}).zone(a); got != time.UTC {
		t.Errorf("zone with --utc = %v, want UTC", got)
	}
}

// The table of the garbage collector names commands that there are.
func TestGarbageOfCommands(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	paths := map[string]bool{root.CommandPath(): true}
	for _, c := range everyCommand(root) {
		paths[c.CommandPath()] = true
	}
	for path := range garbage {
		if !paths[path] {
			t.Errorf("there is no command %q", path)
		}
	}
}
