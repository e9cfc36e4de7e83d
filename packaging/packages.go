package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	fish     string
	licences string
}

var packageFormats = []packageFormat{
	{"deb", true, "/usr/share/zsh/vendor-completions", "/usr/share/fish/vendor_completions.d", "/usr/share/doc/pigrep"},
	{"rpm", true, "/usr/share/zsh/site-functions", "/usr/share/fish/vendor_completions.d", "/usr/share/licenses/pigrep"},
	{"apk", false, "/usr/share/zsh/site-functions", "/usr/share/fish/vendor_completions.d", "/usr/share/licenses/pigrep"},
}

const (
	summary     = "search past conversations with coding agents"
	description = `pigrep is a full-text index and query tool for the session files of coding
agents. It finds prompts, replies, tool calls and their output, shows the
conversation around them, resumes sessions, and audits what tools did.`
	maintainer = "The pigrep authors <pigrep@example.org>"
)

// packages writes the packages of an architecture.
func (r *release) packages(work, arch string, program file, x *extras) error {
	for _, format := range packageFormats {
		files, err := r.packaged(format, program, x)
		if err != nil {
			return err
		}
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
		for i, f := range files {
			// nfpm reads its contents from files.
			source := filepath.Join(work, format.name+"-"+arch, strconv.Itoa(i))
			if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(source, f.data, 0o644); err != nil {
				return err
			}
			info.Contents = append(info.Contents, &nfpmfiles.Content{
				Source: source, Destination: f.name,
				FileInfo: &nfpmfiles.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time},
			})
		}
		info = nfpm.WithDefaults(info)
		if err := nfpm.PrepareForPackager(info, format.name); err != nil {
			return err
		}
		packager, err := nfpm.Get(format.name)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return fmt.Errorf("%s: %w", format.name, err)
		}
		if err := os.WriteFile(filepath.Join(r.out, packager.ConventionalFileName(info)), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packaged returns the files of a package at their places in the system.
func (r *release) packaged(format packageFormat, program file, x *extras) ([]file, error) {
	files := []file{
		{"/usr/bin/pigrep", 0o755, program.data},
		{"/usr/share/bash-completion/completions/pigrep", 0o644, x.completions["bash"]},
		{format.zsh + "/_pigrep", 0o644, x.completions["zsh"]},
		{format.fish + "/pigrep.fish", 0o644, x.completions["fish"]},
	}
	for _, page := range x.man {
		data, err := compressed(page.data)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"/usr/share/man/" + page.name + ".gz", 0o644, data})
	}
	for _, page := range x.pages {
		top, _, _ := strings.Cut(page.name, "/")
		switch {
		case page.name == "contrib/systemd/pigrep-watch.service":
			if format.systemd {
				files = append(files, file{"/usr/lib/systemd/user/pigrep-watch.service", 0o644, packagedUnit(page.data)})
			}
		case top == "contrib": // for other systems
		case top == "extensions":
			files = append(files, file{"/usr/share/pigrep/" + page.name, 0o644, page.data})
		case page.name == "LICENSE" && format.name == "deb":
			files = append(files, file{"/usr/share/doc/pigrep/copyright", 0o644, r.copyright(page.data)})
		case page.name == "LICENSE":
			files = append(files, file{format.licences + "/LICENSE", 0o644, page.data})
		case page.name == "CONTRIBUTING.md", page.name == "ARCHITECTURE.md": // about the source
		case page.name == "CHANGELOG.md" && format.name == "deb":
			changes, err := compressed(r.debianChangelog())
			if err != nil {
				return nil, err
			}
			files = append(files, file{"/usr/share/doc/pigrep/changelog.gz", 0o644, changes})
			fallthrough
		default:
			files = append(files, file{"/usr/share/doc/pigrep/" + page.name, 0o644, page.data})
		}
	}
	if format.name == "deb" {
		// Go programs are linked statically.
		files = append(files, file{"/usr/share/lintian/overrides/pigrep", 0o644, []byte("pigrep: statically-linked-binary\n")})
	}
	notices, err := compressed(x.notices.data)
	if err != nil {
		return nil, err
	}
	return append(files, file{format.licences + "/" + x.notices.name + ".gz", 0o644, notices}), nil
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
