package index_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// tool is Bleve's command line tool without the storage engines that no index of ours
// needs, and that are not among our dependencies.
const tool = `package main

import (
	"github.com/blevesearch/bleve/v2/cmd/bleve/cmd"
	_ "github.com/blevesearch/bleve/v2/search/highlight/highlighter/ansi"
)

func main() { cmd.Execute() }
`

// The program and the commands that docs/index-format.md shows for the store work.
func TestOpenItWithBleve(t *testing.T) {
	testkit.Slow(t) // it builds programs
	page, err := os.ReadFile(filepath.Join("..", "docs", "index-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Open it with Bleve\n")
	section, _, _ = strings.Cut(section, "\n## ")
	block := func(language string) string {
		_, text, _ := strings.Cut(section, "```"+language+"\n")
		text, _, found := strings.Cut(text, "```\n")
		if !found {
			t.Fatalf("no block of %s in the section", language)
		}
		return text
	}
	build := func(name, source string) string {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".go", []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "build", "-o", path, path+".go").CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		return path
	}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	dir, w := storedIndex(t)
	addFile(t, w, "a timeout, and another timeout")
	store := filepath.Join(dir, "store")

	if out := run(build("program", block("go")), store); !strings.Contains(out, "1 matches") {
		t.Errorf("the program prints %q", out)
	}
	bleve := build("bleve", tool)
	want := map[string]string{"count": "5\n", "fields": "text\n", "dictionary": "reply - 5\n", "query": "1 matches"}
	for line := range strings.Lines(block("sh")) {
		words := strings.Fields(line)
		if words[0] != "bleve" {
			continue
		}
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "INDEX/store", store)
		}
		if out := run(bleve, words[1:]...); !strings.Contains(out, want[words[1]]) || want[words[1]] == "" {
			t.Errorf("%s prints %q", strings.TrimSpace(line), out)
		}
	}
}
