package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// aboutPi are the texts outside of adapter/pi that are about pi itself, by a piece of each.
var aboutPi = []string{
	"pi-pigrep",             // the package for pi
	"mcp --print-config pi", // a client of the MCP server
	"~/.pi/agent/mcp.json", "pi reads it from version 0.99.0 on", `"pi"`,
	"--agent pi", ".pi/skills/pigrep/SKILL.md", "It is not written for pi with",
	`\.pi/agent`,           // a place of credentials
	`"-pi"`,                // flags of perl
	"PI_CODING_AGENT_DIR=", // an example of a variable
	"ed gli ho",            // an Italian word
	"openssl,pi,",          // a program
	"codex|pi|omp",         // directories of agents
}

// Texts say "agent" where they mean any agent: pi is one of several. Texts are strings of the
// program, and the files that are embedded in it or installed with it.
func TestTextsSayAgent(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`(?i)\bpi\b`)
	check := func(place, text string) {
		for line := range strings.Lines(text) {
			if named.MatchString(line) && !slices.ContainsFunc(aboutPi, func(known string) bool { return strings.Contains(line, known) }) {
				t.Errorf("%s says pi where it may mean any agent: %s", place, strings.TrimSpace(line))
			}
		}
	}
	files := 0
	for _, root := range []string{"main.go", "query", "index", "indexer", "scope", "internal", "ui", "contrib"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || strings.HasSuffix(path, "_test.go"):
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "lexers"):
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			if filepath.Ext(path) != ".go" {
				check(path, string(data))
				return nil
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, data, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
					check(set.Position(s.Pos()).String(), s.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 200 {
		t.Errorf("%d files were read, which cannot be all", files)
	}
}
