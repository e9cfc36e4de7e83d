package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pigrep/query/audit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/help"
)

// The docs name every field of the rows of audits.
func TestDocsOfAuditRows(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	dimensions := help.FieldNames(audit.Key{})
	for _, r := range help.AuditRows {
		_, rest, ok := strings.Cut(string(data), "\n| `"+r.Name+"` |")
		if !ok {
			t.Errorf("docs/audit.md has no row for %q", r.Name)
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		for _, name := range help.FieldNames(r.Row) {
			if name != "-" && !slices.Contains(dimensions, name) && !strings.Contains(line, "`"+name+"`") {
				t.Errorf("docs/audit.md: the row of %q does not name %q", r.Name, name)
			}
		}
	}
}

// Days begin in the zone of the machine, with its name where it has one, or with
// --utc in UTC.
func TestZoneOfAudits(t *testing.T) {
	berlin := time.FixedZone("Europe/Berlin", 3600)
	a := &app.App{User: app.User{Zone: func() *time.Location { return berlin }}}
	if got := (&auditOptions{}).zone(a); got != berlin {
		t.Errorf("zone = %v, want %v", got, berlin)
	}
	if got := (&auditOptions{UTC: true}).zone(a); got != time.UTC {
		t.Errorf("zone with --utc = %v, want UTC", got)
	}
}

// The list of large heaps names commands and flags that there are.
func TestGarbageOfCommands(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	commands := map[string]*cobra.Command{root.CommandPath(): root}
	for _, c := range everyCommand(root) {
		commands[c.CommandPath()] = c
	}
	for _, name := range largeHeaps {
		path, flag, hasFlag := strings.Cut(name, " --")
		switch c := commands[path]; {
		case c == nil:
			t.Errorf("there is no command %q", path)
		case hasFlag && c.Flags().Lookup(flag) == nil:
			t.Errorf("%q has no flag %q", path, flag)
		}
	}
}
