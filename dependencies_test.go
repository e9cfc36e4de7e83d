package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/dependencies.md lists the modules that packages, tests and tools of ours
// use, and no other; so does go.mod among its direct requirements.
func TestDependenciesAreListed(t *testing.T) {
	const form = "{{with .Module}}{{$.ImportPath}} {{.Path}}{{end}}"
	module := make(map[string]string) // of a package
	used := make(map[string]bool)
	tools := make(map[string]bool) // used alone to check the rest; go mod tidy calls them indirect
	for line := range strings.Lines(goCommand(t, "list", "-deps", "-test", "-f", form, "./...")) {
		f := strings.Fields(line)
		module[f[0]] = f[len(f)-1]
	}
	for line := range strings.Lines(goCommand(t, "list", "-f", form, "tool")) {
		m := strings.Fields(line)[1]
		tools[m], used[m] = true, true
	}
	out := goCommand(t, "list", "-json=Imports,TestImports,XTestImports", "./...")
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct{ Imports, TestImports, XTestImports []string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if m := module[path]; m != "" && m != "pigrep" {
				used[m] = true
			}
		}
	}
	page, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = true
	}
	if diff := cmp.Diff(used, listed); diff != "" {
		t.Errorf("docs/dependencies.md (-used +listed):\n%s", diff)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal([]byte(goCommand(t, "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	direct := make(map[string]bool)
	for _, r := range mod.Require {
		if !r.Indirect || tools[r.Path] {
			direct[r.Path] = true
		}
	}
	if diff := cmp.Diff(used, direct); diff != "" {
		t.Errorf("direct requirements of go.mod (-used +required):\n%s", diff)
	}
}

func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return string(out)
}

// `make try` uses what `go install .` compiled: it gives only the linker flags, and no environment.
func TestMakeTryCompilesNothingAgain(t *testing.T) {
	data, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^build:\n\tgo build -ldflags="[^"]*" -o pigrep \.\n\ntry: build$`).Match(data) {
		t.Error("the rules build and try have other flags than go install, or are others")
	}
}
