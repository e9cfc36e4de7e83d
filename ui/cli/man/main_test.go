package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/ui/cli"
)

// page reads a rendered page, with plain dashes.
func page(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	roff := strings.ReplaceAll(string(data), `\-`, "-")
	for _, want := range []string{".TH ", ".SH NAME", ".SH DESCRIPTION", ".SH SEE ALSO"} {
		if !strings.Contains(roff, want) {
			t.Errorf("%s: no %s in\n%.400s", path, want, roff)
		}
	}
	if strings.Contains(roff, "**") || strings.Contains(roff, "\n: ") {
		t.Errorf("%s: Markdown is left in it", path)
	}
	return roff
}

// There is a page for every command, with all its flags and the exit codes, and for
// every topic.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	root, topics := cli.Manual()
	pages := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Name() == "help" {
			return // "pigrep help" is on the page of pigrep
		}
		pages++
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		roff := page(t, filepath.Join(dir, "man1", name+".1"))
		if c.HasParent() && !strings.Contains(roff, ".SH EXIT STATUS") {
			t.Errorf("%s lacks the exit codes", name)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if listed := strings.Contains(c.Long, "--"+f.Name); listed && !strings.Contains(roff, "--"+f.Name) {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
		})
		for _, below := range c.Commands() {
			check(below)
		}
	}
	check(root)
	if pages < 20 {
		t.Errorf("only %d pages of commands", pages)
	}
	search := page(t, filepath.Join(dir, "man1", "pigrep-search.1"))
	for _, want := range []string{"-n, --limit N", "--session-dir DIR", ".SH FILTERS", "pigrep-query", "pigrep connection timeout"} {
		if !strings.Contains(strings.NewReplacer(`\fB`, "", `\fP`, "", `\fR`, "").Replace(search), want) {
			t.Errorf("pigrep-search lacks %q", want)
		}
	}
	if strings.Contains(page(t, filepath.Join(dir, "man1", "pigrep-version.1")), "--session-dir") {
		t.Error("pigrep-version lists a flag that means nothing to it")
	}
	for _, topic := range topics {
		page(t, filepath.Join(dir, "man7", topic.Name+".7"))
	}
}
