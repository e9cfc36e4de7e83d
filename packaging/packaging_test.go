package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Package managers take these versions, and order what is between releases before them.
func TestPackageVersion(t *testing.T) {
	when := time.Date(2026, 11, 22, 23, 59, 0, 0, time.UTC)
	for tag, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v1.2.3-beta2": "1.2.3-beta2",
		"v1.2.3-4-g0123abc": "0.0.0-git20261122", "v1.2.3-dirty": "0.0.0-git20261122", "0123abc": "0.0.0-git20261122", "dev": "0.0.0-git20261122",
	} {
		if got := (&release{version: tag, time: when}).packageVersion(); got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
}

// A zip has the same bytes in every time zone.
func TestZip(t *testing.T) {
	files := []file{{"pigrep.exe", 0o755, []byte("MZ")}, {"README.md", 0o644, []byte("text")}}
	when := time.Unix(1_700_000_000, 0)
	a := (&release{time: when.UTC()}).zip("pigrep-v1", files)
	b := (&release{time: when.In(time.FixedZone("", 20700))}).zip("pigrep-v1", files)
	if !bytes.Equal(a, b) {
		t.Error("two zips differ")
	}
}

// Formula and manifest name each archive with its checksum; without all archives they
// are left out.
func TestManifests(t *testing.T) {
	r := &release{out: t.TempDir(), version: "v1.2.3", url: "https://example.org/p", time: time.Unix(1_700_000_000, 0)}
	sums := make(map[string]string)
	for i, name := range []string{"linux-amd64.tar.gz", "linux-arm64.tar.gz", "darwin-amd64.tar.gz", "darwin-arm64.tar.gz", "windows-amd64.zip"} {
		sums["pigrep-v1.2.3-"+name] = strings.Repeat(string(rune('a'+i)), 64)
	}
	r.manifests(sums)
	if _, err := os.Stat(filepath.Join(r.out, "pigrep.json")); err == nil {
		t.Error("a manifest without an archive for arm64")
	}
	sums["pigrep-v1.2.3-windows-arm64.zip"] = strings.Repeat("f", 64)
	r.manifests(sums)
	formula, err := os.ReadFile(filepath.Join(r.out, "pigrep.rb"))
	if err != nil {
		t.Fatal(err)
	}
	archives := regexp.MustCompile(`url "https://example.org/p/releases/download/v1.2.3/(\S+)"\n\s+sha256 "(\S+)"`).FindAllStringSubmatch(string(formula), -1)
	for _, m := range archives {
		if sums[m[1]] != m[2] {
			t.Errorf("%s has the checksum %s", m[1], m[2])
		}
	}
	if len(archives) != 4 || !strings.Contains(string(formula), "\n  version \"1.2.3\"\n") {
		t.Errorf("formula:\n%s", formula)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command(ruby, "-c", filepath.Join(r.out, "pigrep.rb")).CombinedOutput(); err != nil {
			t.Errorf("ruby -c: %s", out)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(r.out, "pigrep.json"))
	if err != nil {
		t.Fatal(err)
	}
	var scoop struct {
		Version, Bin string
		Architecture map[string]struct{ URL, Hash, Extract_Dir string }
	}
	if err := json.Unmarshal(manifest, &scoop); err != nil {
		t.Fatal(err)
	}
	for arch, of := range scoop.Architecture {
		if name := filepath.Base(of.URL); sums[name] != of.Hash || of.Extract_Dir+".zip" != name {
			t.Errorf("%s: %+v", arch, of)
		}
	}
	if len(scoop.Architecture) != 2 || scoop.Version != "1.2.3" || scoop.Bin != "pigrep.exe" {
		t.Errorf("manifest:\n%s", manifest)
	}
}

// A release has every file that its pages link to or name in a command.
func TestReleaseHasPages(t *testing.T) {
	named := regexp.MustCompile(`(?m)\]\(([^)#:]+)(?:#[^)]*)?\)|^cp (contrib/\S+)`)
	shipped := tree("..", pages...)
	names := []string{}
	for _, f := range shipped {
		names = append(names, f.name)
	}
	for _, f := range shipped {
		if filepath.Ext(f.name) != ".md" || f.name == "CONTRIBUTING.md" { // which is about the source
			continue
		}
		for _, m := range named.FindAllStringSubmatch(string(f.data), -1) {
			path := m[2]
			if path == "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(f.name), m[1]))
			}
			if !slices.ContainsFunc(names, func(name string) bool { return name == path || strings.HasPrefix(name, path+"/") }) {
				t.Errorf("%s names %s, which a release does not have", f.name, path)
			}
		}
	}
}
