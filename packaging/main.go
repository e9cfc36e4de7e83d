// Command packaging builds the files of a release: an archive for each system,
// packages for Debian, Fedora and Alpine, a Homebrew formula, a Scoop manifest, a bill
// of materials for each binary, and checksums.
//
//	go -C packaging run . -version v1.2.3 -url https://example.org/pigrep -out ../dist
//
// It is a module of its own, so that what it needs is neither a dependency of pigrep
// nor downloaded by those who build pigrep. The same commit, version and Go must give
// the same bytes on every machine: entries are sorted and belong to root, their time is
// that of the commit, and nothing of the environment gets into a file.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	r := &release{}
	platforms := flag.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64", "systems to build for")
	flag.StringVar(&r.root, "root", "..", "directory of the source")
	flag.StringVar(&r.out, "out", "../dist", "directory to write")
	flag.StringVar(&r.version, "version", "dev", "version, as its tag")
	flag.StringVar(&r.url, "url", "", "page of the project; the files of a release are below it")
	flag.Parse()
	if err := r.run(strings.Fields(*platforms)); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// failure is an error that ends the release: nothing of it is of use without the rest.
type failure struct{ error }

// do ends the release if there is an error, which then says what was being done.
func do(err error, doing ...string) {
	if err != nil {
		panic(failure{fmt.Errorf("%s%w", strings.Join(append(doing, ""), ": "), err)})
	}
}

// get returns the value, unless there is an error.
func get[T any](value T, err error) T {
	do(err)
	return value
}

// catch, deferred, stores the error that ended the function, with what was being done.
func catch(err *error, doing ...string) {
	switch v := recover().(type) {
	case nil:
	case failure:
		*err = fmt.Errorf("%s%w", strings.Join(append(doing, ""), ": "), v.error)
	default:
		panic(v)
	}
}

// release is what all files of a release have in common.
type release struct {
	root, out string
	version   string
	url       string
	time      time.Time // of every file
}

// file is a file that goes into an archive or a package.
type file struct {
	name string // slash-separated
	mode fs.FileMode
	data []byte
}

// maxBinary bounds the size of the program, so that it does not grow unnoticed. The server
// of net/http, which web needs, is 0.9 MB of it.
const maxBinary = 34_000_000

// placeholder stands for the page of the project if there is none. A formula or a manifest
// with it does not work.
const placeholder = "https://example.org/pigrep"

func (r *release) run(platforms []string) (err error) {
	defer catch(&err)
	r.root = get(filepath.Abs(r.root))
	r.time = get(r.sourceTime())
	if r.url == "" {
		r.url = placeholder
		fmt.Fprintln(os.Stderr, "packaging: no -url: the formula and the manifest name", placeholder)
	}
	do(os.RemoveAll(r.out))
	do(os.MkdirAll(r.out, 0o755))
	work := get(os.MkdirTemp("", "pigrep-packaging-"))
	defer os.RemoveAll(work)
	extras := r.extras(work)
	for _, platform := range platforms {
		do(r.platform(work, platform, extras))
	}
	r.manifests(r.checksums())
	var list strings.Builder
	sums := r.checksums()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
	}
	r.write("SHA256SUMS", []byte(list.String()))
	return nil
}

func (r *release) write(name string, data []byte) {
	do(os.WriteFile(filepath.Join(r.out, name), data, 0o644))
}

// platform writes the archive of a system, its bill of materials and its packages.
func (r *release) platform(work, platform string, extras *extras) (err error) {
	defer catch(&err, platform)
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return fmt.Errorf("%s: not a system and an architecture, as in linux/amd64", platform)
	}
	program := file{"pigrep", 0o755, nil}
	if system == "windows" {
		program.name += ".exe"
	}
	path := filepath.Join(work, system+"-"+arch, program.name)
	r.build(path, system, arch)
	program.data = get(os.ReadFile(path))
	fmt.Printf("%s %d bytes\n", platform, len(program.data))
	if len(program.data) > maxBinary {
		return fmt.Errorf("%s: the program is larger than %d bytes", platform, maxBinary)
	}
	r.archive(system, arch, append(extras.archived(), program))
	r.materials(program.data, system, arch)
	if system == "linux" {
		r.packages(work, arch, program, extras)
	}
	return nil
}

// build builds the program. It sets every variable that could otherwise come from the
// environment, and the commit: in a worktree of git, the go command finds none.
func (r *release) build(path, system, arch string) {
	const variables = "pigrep/ui/cli."
	flags := "-s -w -X " + variables + "release=" + r.version
	if head, err := r.git("rev-parse", "--short=12", "HEAD"); err == nil {
		commit := strings.TrimSpace(string(head))
		if changes, err := r.git("status", "--porcelain"); err != nil || len(changes) > 0 {
			commit += "+changes"
		}
		flags += " -X " + variables + "commit=" + commit
	}
	get(r.command([]string{"GOOS=" + system, "GOARCH=" + arch}, "go", "build", "-buildvcs=false", "-ldflags="+flags, "-o", path, "."))
}

// sourceTime returns SOURCE_DATE_EPOCH, or the time of the commit.
func (r *release) sourceTime() (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		out, err := r.git("log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("time of the commit: %w\nOutside a clone, set SOURCE_DATE_EPOCH to seconds since 1970", err)
		}
		epoch = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func (r *release) git(args ...string) ([]byte, error) { return r.command(nil, "git", args...) }

// command runs a program in the directory of the source and returns what it printed.
func (r *release) command(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "GOEXPERIMENT=", "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0",
		"SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10), "PWD="+r.root)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// checksums returns the SHA-256 of every file of the release by its name.
func (r *release) checksums() map[string]string {
	sums := make(map[string]string)
	for _, e := range get(os.ReadDir(r.out)) {
		sums[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(get(os.ReadFile(filepath.Join(r.out, e.Name())))))
	}
	return sums
}

var released = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.?\d*)?)$`)

// packageVersion returns the version in a form that every package manager takes and
// orders. What is not tagged comes before every release.
func (r *release) packageVersion() string {
	if m := released.FindStringSubmatch(r.version); m != nil {
		return m[1]
	}
	return "0.0.0-git" + r.time.Format("20060102")
}

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
