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
			if !slices.Contains(dimensions, name) && !strings.Contains(line, "`"+name+"`") {
				t.Errorf("docs/audit.md: the row of %q does not name %q", r.name, name)
			}
		}
	}
}

// Days begin in a zone with a name, or where there is none in that of the clock.
func TestZoneOfAudits(t *testing.T) {
	berlin := time.FixedZone("Europe/Berlin", 3600)
	system := time.FixedZone(unnamedZone, 3600)
	for _, test := range []struct {
		clock *time.Location
		utc   bool
		want  func(*time.Location) bool
	}{
		{berlin, false, func(z *time.Location) bool { return z == berlin }},
		{berlin, true, func(z *time.Location) bool { return z == time.UTC }},
		{system, false, func(z *time.Location) bool { return z == system || z.String() != unnamedZone }},
	} {
		o := &auditOptions{utc: test.utc}
		a := &App{Now: func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, test.clock) }}
		if got := o.zone(a); !test.want(got) {
			t.Errorf("zone of a clock in %v, utc %t = %v", test.clock, test.utc, got)
		}
	}
}
