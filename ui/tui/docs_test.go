package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The docs have the table of keys that the program has.
func TestDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "tui.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const open, end = "<!-- keys -->\n", "<!-- /keys -->\n"
	before, rest, ok := strings.Cut(string(data), open)
	had, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the keys", path)
	}
	var b strings.Builder
	for _, g := range keyGroups(bindings) {
		fmt.Fprintf(&b, "\n### %s\n\n| keys | what they do | setting |\n|---|---|---|\n", g.Title)
		for _, r := range g.Rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Keys, r.Help, r.Name)
		}
	}
	b.WriteString("\n")
	if updating() {
		had = b.String()
		if err := os.WriteFile(path, []byte(before+open+had+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(had, b.String()); diff != "" {
		t.Errorf("keys in %s (-want +got), regenerate them with -update:\n%s", path, diff)
	}
}

// No key has two meanings in one place.
func TestKeys(t *testing.T) {
	for p := inList; p <= inHelp; p <<= 1 {
		seen := make(map[string]bool)
		for _, b := range bindings {
			for _, k := range b.keys {
				if b.in&p == 0 || b.when != nil {
					continue
				}
				if seen[k] {
					t.Errorf("%s means two things in place %d", k, p)
				}
				seen[k] = true
			}
		}
	}
}
