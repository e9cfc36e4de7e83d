package flags

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each word by which the options of a command name shared flags is a group or a flag: one that
// is misspelt would take, or leave out, nothing.
func TestTagsNameFlags(t *testing.T) {
	known := map[string]bool{"no-searches": true, Format: true}
	known["own"] = true // commands that leave out what asks them
	for _, row := range Table {
		known[strings.ToLower(string(row.Group))], known[row.Name], known["-"+row.Name] = true, true, true
	}
	tag := regexp.MustCompile(`(?:takes|ignores):"([^"]*)"`)
	tags := 0
	for _, pattern := range []string{"../*.go", "../upkeep/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tag.FindAllStringSubmatch(string(source), -1) {
				tags++
				for word := range strings.FieldsSeq(m[1]) {
					if !known[word] {
						t.Errorf("%s: %s is no group and no flag", file, word)
					}
				}
			}
		}
	}
	if tags < 20 {
		t.Errorf("%d tags, want 20 or more", tags)
	}
}
