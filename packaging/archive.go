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
func (r *release) extras(work string) (*extras, error) {
	x := &extras{completions: make(map[string][]byte)}
	var err error
	if x.pages, err = tree(r.root, pages...); err != nil {
		return nil, err
	}
	man := filepath.Join(work, "man")
	if _, err := r.command(nil, "go", "run", ".", "help", "--man", man); err != nil {
		return nil, err
	}
	if x.man, err = tree(man, "man1", "man7"); err != nil {
		return nil, err
	}
	native := filepath.Join(work, "pigrep")
	if _, err := r.command(nil, "go", "build", "-buildvcs=false", "-o", native, "."); err != nil {
		return nil, err
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if x.completions[shell], err = r.command(nil, native, "completion", shell); err != nil {
			return nil, err
		}
	}
	x.notices, err = r.notices()
	return x, err
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
func tree(root string, names ...string) ([]file, error) {
	var files []file
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			below, err := filepath.Rel(root, path)
			files = append(files, file{filepath.ToSlash(below), 0o644, data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
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

func (r *release) archive(system, arch string, files []file) error {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	name := r.archiveName(system, arch)
	pack := r.tarball
	if system == "windows" {
		pack = r.zip
	}
	data, err := pack(name, files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+archiveEnding(system)), data, 0o644)
}

func (r *release) tarball(dir string, files []file) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		err := t.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: dir + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)),
			ModTime: r.time, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		})
		if err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return compressed(b.Bytes())
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

func (r *release) zip(dir string, files []file) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: r.time.UTC()}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// notices returns the licences of all that is linked into the program, on any system.
func (r *release) notices() (file, error) {
	modules := make(map[string]string) // name and version to directory
	for _, system := range []string{"linux", "darwin", "windows"} {
		out, err := r.command([]string{"GOOS=" + system}, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}", ".")
		if err != nil {
			return file{}, err
		}
		for line := range strings.Lines(string(out)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && dir != r.root {
				modules[module] = dir
			}
		}
	}
	out, err := r.command(nil, "go", "env", "GOROOT")
	if err != nil {
		return file{}, err
	}
	modules["Go"] = strings.TrimSpace(string(out))

	var text strings.Builder
	text.WriteString("pigrep contains Go's runtime and standard library, and the modules below. Their licences:\n")
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		licences := 0
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*"} {
			paths, err := filepath.Glob(filepath.Join(modules[module], pattern))
			if err != nil {
				return file{}, err
			}
			for _, path := range paths {
				if info, err := os.Stat(path); err != nil || info.IsDir() {
					continue
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return file{}, err
				}
				fmt.Fprintf(&text, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), module, filepath.Base(path), bytes.TrimSpace(data))
				licences++
			}
		}
		if licences == 0 {
			return file{}, fmt.Errorf("%s has no licence in %s", module, modules[module])
		}
	}
	return file{"THIRD-PARTY-LICENSES.txt", 0o644, []byte(text.String())}, nil
}
