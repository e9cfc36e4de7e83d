package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pigrep/internal/ui/cli"
)

// Every page of the manual is rendered: none of its Markdown is left, and the
// flags it lists are there.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`(?m)^\*\*.*?--([a-z0-9-]+)`)
	pages := cli.ManPages()
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("man%d", page.Section), fmt.Sprintf("%s.%d", page.Name, page.Section)))
		if err != nil {
			t.Fatal(err)
		}
		roff := strings.ReplaceAll(string(data), `\-`, "-")
		for _, want := range []string{".TH ", ".SH NAME", ".SH DESCRIPTION", ".SH SEE ALSO"} {
			if !strings.Contains(roff, want) {
				t.Errorf("%s: no %s in\n%.400s", page.Name, want, roff)
			}
		}
		if strings.Contains(roff, "**") || strings.Contains(roff, "\n: ") {
			t.Errorf("%s: Markdown is left in it", page.Name)
		}
		for _, m := range flag.FindAllStringSubmatch(page.Text, -1) {
			if !strings.Contains(roff, "--"+m[1]) {
				t.Errorf("%s lacks --%s", page.Name, m[1])
			}
		}
	}
	if len(pages) < 20 {
		t.Errorf("only %d pages", len(pages))
	}
}
