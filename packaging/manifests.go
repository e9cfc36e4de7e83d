package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
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

// materials writes the bill of materials of a binary, in CycloneDX: the modules that
// the linker recorded in it, and Go.
func (r *release) materials(program []byte, system, arch string) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(program)
	self := cdx.Component{
		BOMRef: "pigrep", Type: cdx.ComponentTypeApplication, Name: "pigrep", Version: r.version,
		Hashes:             &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:           &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}},
		ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeWebsite, URL: r.url}},
		Properties:         &[]cdx.Property{{Name: "go:os", Value: system}, {Name: "go:arch", Value: arch}},
	}
	golang := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef: "pkg:golang/std@" + golang, Type: cdx.ComponentTypeLibrary, Name: "std", Version: golang, PackageURL: "pkg:golang/std@" + golang,
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return fmt.Errorf("%s is replaced: a release is built from published modules", m.Path)
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version}
		c.BOMRef = c.PackageURL
		// What go.sum has: a SHA-256 over the files of the module.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == sha256.Size {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components = append(components, c)
	}
	var needs []string
	for _, c := range components {
		needs = append(needs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = uuid(sum[:])
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &self}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}

	var b bytes.Buffer
	e := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON)
	e.SetPretty(true)
	if err := e.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, r.archiveName(system, arch)+".cdx.json"), b.Bytes(), 0o644)
}

// uuid makes a UUID of version 8, which leaves most bits to its maker, from a hash.
func uuid(sum []byte) string {
	b := bytes.Clone(sum[:16])
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
