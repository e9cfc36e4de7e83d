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
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// A packageFormat says where a package format has the files that others have elsewhere.
type packageFormat struct {
	name     string // as nfpm calls it
	systemd  bool
	zsh      string // directory of completions
	licences string
}

var packageFormats = []packageFormat{
	{"deb", true, "/usr/share/zsh/vendor-completions", "/usr/share/doc/pigrep"},
	{"rpm", true, "/usr/share/zsh/site-functions", "/usr/share/licenses/pigrep"},
	{"apk", false, "/usr/share/zsh/site-functions", "/usr/share/licenses/pigrep"},
}

const (
	summary     = "search past conversations with coding agents"
	description = `pigrep is a full-text index and query tool for the session files of coding
agents. It finds prompts, replies, tool calls and their output, shows the
conversation around them, resumes sessions, and audits what tools did.`
	maintainer = "The pigrep authors <pigrep@example.org>"
)

func (r *release) packages(work, arch string, program file, x *extras) {
	for _, format := range packageFormats {
		info := &nfpm.Info{
			Name: "pigrep", Arch: arch, Platform: "linux", Version: r.packageVersion(), Section: "utils", Priority: "optional",
			Maintainer: maintainer, Description: description, Vendor: "the pigrep authors", Homepage: r.url, License: "MIT",
			MTime: r.time, DisableGlobbing: true,
		}
		info.RPM.Summary, info.RPM.BuildHost = summary, "localhost"
		switch format.name {
		case "deb": // the first line is the summary
			info.Description = summary + "\n" + description
		case "apk": // there is one line
			info.Description = summary
		}
		for i, f := range r.packaged(format, program, x) {
			// nfpm reads its contents from files.
			source := filepath.Join(work, format.name+"-"+arch, strconv.Itoa(i))
			do(os.MkdirAll(filepath.Dir(source), 0o755))
			do(os.WriteFile(source, f.data, 0o644))
			info.Contents = append(info.Contents, &nfpmfiles.Content{
				Source: source, Destination: f.name,
				FileInfo: &nfpmfiles.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time},
			})
		}
		info = nfpm.WithDefaults(info)
		do(nfpm.PrepareForPackager(info, format.name))
		packager := get(nfpm.Get(format.name))
		var b bytes.Buffer
		do(packager.Package(info, &b), format.name)
		r.write(packager.ConventionalFileName(info), b.Bytes())
	}
}

// packaged returns the files of a package at their places in the system.
func (r *release) packaged(format packageFormat, program file, x *extras) []file {
	const doc = "/usr/share/doc/pigrep/"
	var files []file
	add := func(name string, data []byte) { files = append(files, file{name, 0o644, data}) }
	add("/usr/share/bash-completion/completions/pigrep", x.completions["bash"])
	add(format.zsh+"/_pigrep", x.completions["zsh"])
	add("/usr/share/fish/vendor_completions.d/pigrep.fish", x.completions["fish"])
	for _, page := range x.man {
		add("/usr/share/man/"+page.name+".gz", compressed(page.data))
	}
	for _, page := range x.pages {
		top, _, _ := strings.Cut(page.name, "/")
		switch {
		case page.name == "contrib/systemd/pigrep-watch.service" && format.systemd:
			add("/usr/lib/systemd/user/pigrep-watch.service", packagedUnit(page.data))
		case top == "contrib": // for other systems
		case top == "extensions":
			add("/usr/share/pigrep/"+page.name, page.data)
		case page.name == "LICENSE" && format.name == "deb":
			add(doc+"copyright", r.copyright(page.data))
		case page.name == "LICENSE":
			add(format.licences+"/LICENSE", page.data)
		case page.name == "CONTRIBUTING.md", page.name == "ARCHITECTURE.md": // about the source
		default:
			add(doc+page.name, page.data)
		}
	}
	if format.name == "deb" {
		add(doc+"changelog.gz", compressed(r.debianChangelog()))
		// Go programs are linked statically.
		add("/usr/share/lintian/overrides/pigrep", []byte("pigrep: statically-linked-binary\n"))
	}
	add(format.licences+"/"+x.notices.name+".gz", compressed(x.notices.data))
	return append(files, file{"/usr/bin/pigrep", 0o755, program.data})
}

// packagedUnit is the systemd unit for a program in /usr/bin, without the comment that
// says how to install it.
func packagedUnit(unit []byte) []byte {
	_, unit, _ = bytes.Cut(unit, []byte("\n\n"))
	return bytes.Replace(unit, []byte("%h/.local/bin/pigrep"), []byte("/usr/bin/pigrep"), 1)
}

// copyright is the file that Debian requires, in the form that programs read.
func (r *release) copyright(licence []byte) []byte {
	_, text, _ := strings.Cut(string(licence), "\n\n") // before that is the name of the licence
	holder, text, _ := strings.Cut(text, "\n\n")
	var b strings.Builder
	fmt.Fprintf(&b, "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: pigrep\nSource: %s\n", r.url)
	b.WriteString("Comment: The program contains modules of others. Their licences are in\n THIRD-PARTY-LICENSES.txt.gz, next to this file.\n")
	fmt.Fprintf(&b, "\nFiles: *\nCopyright: %s\nLicense: MIT\n", strings.TrimPrefix(holder, "Copyright (c) "))
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if line = strings.TrimSpace(line); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return []byte(b.String())
}

// debianChangelog names this version alone; CHANGELOG.md says what changed.
func (r *release) debianChangelog() []byte {
	version := strings.Replace(r.packageVersion(), "-", "~", 1)
	return fmt.Appendf(nil, "pigrep (%s) unstable; urgency=medium\n\n  * See /usr/share/doc/pigrep/CHANGELOG.md.\n\n -- %s  %s\n",
		version, maintainer, r.time.Format(time.RFC1123Z))
}

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
func (r *release) manifests(sums map[string]string) {
	for _, m := range manifests {
		missing := slices.IndexFunc(m.platforms, func(p [2]string) bool { return sums[r.archiveName(p[0], p[1])+archiveEnding(p[0])] == "" })
		if missing >= 0 {
			fmt.Printf("%s is left out: it names an archive for %s\n", m.name, strings.Join(m.platforms[missing][:], "/"))
			continue
		}
		t := get(template.New(m.name+".tmpl").Funcs(template.FuncMap{
			"dir": r.archiveName,
			"url": func(system, arch string) string {
				return r.url + "/releases/download/" + r.version + "/" + r.archiveName(system, arch) + archiveEnding(system)
			},
			"sum": func(system, arch string) string { return sums[r.archiveName(system, arch)+archiveEnding(system)] },
		}).ParseFS(templates, "templates/"+m.name+".tmpl"))
		var b bytes.Buffer
		do(t.Execute(&b, map[string]string{"Summary": summary, "Title": strings.ToUpper(summary[:1]) + summary[1:], "Home": r.url, "Version": r.packageVersion()}))
		r.write(m.name, b.Bytes())
	}
}

// materials writes the bill of materials of a binary, in CycloneDX: the modules that
// the linker recorded in it, and Go.
func (r *release) materials(program []byte, system, arch string) {
	info := get(buildinfo.Read(bytes.NewReader(program)))
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
			do(fmt.Errorf("%s is replaced: a release is built from published modules", m.Path))
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
	do(e.EncodeVersion(bom, cdx.SpecVersion1_6))
	r.write(r.archiveName(system, arch)+".cdx.json", b.Bytes())
}

// uuid makes a UUID of version 8, which leaves most bits to its maker, from a hash.
func uuid(sum []byte) string {
	b := bytes.Clone(sum[:16])
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
