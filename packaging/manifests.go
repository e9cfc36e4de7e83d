package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// manifests lists the templates, and for each the systems whose archives it names.
var manifests = []struct {
	name      string
	platforms [][2]string
}{
	{"pigrep.rb", [][2]string{{"darwin", "arm64"}, {"darwin", "amd64"}, {"linux", "arm64"}, {"linux", "amd64"}}},
	{"pigrep.json", [][2]string{{"windows", "amd64"}, {"windows", "arm64"}}},
}

// manifests writes the Homebrew formula and the Scoop manifest, each if the release has
// all archives that it names.
func (r *release) manifests(sums map[string]string) error {
	for _, m := range manifests {
		complete := true
		for _, p := range m.platforms {
			if sums[r.archiveName(p[0], p[1])+archiveEnding(p[0])] == "" {
				fmt.Printf("%s is left out: it names an archive for %s/%s\n", m.name, p[0], p[1])
				complete = false
				break
			}
		}
		if !complete {
			continue
		}
		t, err := template.New(m.name+".tmpl").Funcs(template.FuncMap{
			"dir": r.archiveName,
			"url": func(system, arch string) string {
				return r.url + "/releases/download/" + r.version + "/" + r.archiveName(system, arch) + archiveEnding(system)
			},
			"sum": func(system, arch string) string { return sums[r.archiveName(system, arch)+archiveEnding(system)] },
		}).ParseFS(templates, "templates/"+m.name+".tmpl")
		if err != nil {
			return err
		}
		var b bytes.Buffer
		err = t.Execute(&b, map[string]string{"Summary": summary, "Title": strings.ToUpper(summary[:1]) + summary[1:], "Home": r.url, "Version": r.packageVersion()})
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, m.name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
