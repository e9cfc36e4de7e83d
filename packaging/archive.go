package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pages are the files and directories of the source that every archive has.
var pages = []string{"README.md", "CHANGELOG.md", "LICENSE", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs", "contrib", "extensions/pi/package.json", "extensions/pi/README.md", "extensions/pi/src"}

// extras is what an archive or a package has besides the program.
type extras struct {
	pages       []file
	man         []file // man1/pigrep.1
	completions map[string][]byte
	notices     file
}

// extras collects what is the same on all systems. It builds the program for this one,
// which prints completions.
func (r *release) extras(work string) *extras {
	x := &extras{pages: tree(r.root, pages...), completions: make(map[string][]byte), notices: r.notices()}
	man := filepath.Join(work, "man")
	get(r.command(nil, "go", "run", ".", "help", "--man", man))
	x.man = tree(man, "man1", "man7")
	native := filepath.Join(work, "pigrep")
	get(r.command(nil, "go", "build", "-buildvcs=false", "-o", native, "."))
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		x.completions[shell] = get(r.command(nil, native, "completion", shell))
	}
	return x
}

// archived returns the extras as they lie in an archive.
func (x *extras) archived() []file {
	files := slices.Concat(x.pages, []file{x.notices})
	for _, page := range x.man {
		files = append(files, file{"man/" + page.name, page.mode, page.data})
	}
	for shell, script := range x.completions {
		files = append(files, file{"completions/pigrep." + shell, 0o644, script})
	}
	return files
}

// tree reads files and directories below a directory. Their modes in the checkout
// depend on the umask and are not kept.
func tree(root string, names ...string) (files []file) {
	for _, name := range names {
		do(filepath.WalkDir(filepath.Join(root, name), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, file{filepath.ToSlash(get(filepath.Rel(root, path))), 0o644, get(os.ReadFile(path))})
			}
			return err
		}))
	}
	return files
}

// archiveName is the name of the archive of a system, without its ending; everything in
// it is in a directory of that name.
func (r *release) archiveName(system, arch string) string {
	return fmt.Sprintf("pigrep-%s-%s-%s", r.version, system, arch)
}

func archiveEnding(system string) string {
	if system == "windows" {
		return ".zip"
	}
	return ".tar.gz"
}

func (r *release) archive(system, arch string, files []file) {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	name := r.archiveName(system, arch)
	pack := r.tarball
	if system == "windows" {
		pack = r.zip
	}
	r.write(name+archiveEnding(system), pack(name, files))
}

func (r *release) tarball(dir string, files []file) []byte {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		do(t.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: dir + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)),
			ModTime: r.time, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}))
		get(t.Write(f.data))
	}
	do(t.Close())
	return compressed(b.Bytes())
}

func compressed(data []byte) []byte {
	var b bytes.Buffer
	z := get(gzip.NewWriterLevel(&b, gzip.BestCompression))
	get(z.Write(data))
	do(z.Close())
	return b.Bytes()
}

func (r *release) zip(dir string, files []file) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: r.time.UTC()}
		h.SetMode(f.mode)
		get(get(z.CreateHeader(h)).Write(f.data))
	}
	do(z.Close())
	return b.Bytes()
}

// notices returns the licences of all that is linked into the program, on any system.
func (r *release) notices() file {
	modules := make(map[string]string) // name and version to directory
	for _, system := range []string{"linux", "darwin", "windows"} {
		out := get(r.command([]string{"GOOS=" + system}, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}", "."))
		for line := range strings.Lines(string(out)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && dir != r.root {
				modules[module] = dir
			}
		}
	}
	modules["Go"] = strings.TrimSpace(string(get(r.command(nil, "go", "env", "GOROOT"))))
	var text strings.Builder
	text.WriteString("pigrep contains Go's runtime and standard library, and the modules below. Their licences:\n")
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		licences := 0
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*"} {
			for _, path := range get(filepath.Glob(filepath.Join(modules[module], pattern))) {
				if info, err := os.Stat(path); err == nil && !info.IsDir() {
					fmt.Fprintf(&text, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), module, filepath.Base(path), bytes.TrimSpace(get(os.ReadFile(path))))
					licences++
				}
			}
		}
		if licences == 0 {
			do(fmt.Errorf("%s has no licence in %s", module, modules[module]))
		}
	}
	return file{"THIRD-PARTY-LICENSES.txt", 0o644, []byte(text.String())}
}
