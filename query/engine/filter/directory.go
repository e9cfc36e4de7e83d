package filter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pigrep/internal/files"
	"pigrep/internal/session"
)

// A Directory is a directory that paths are compared with. A shell names a directory by the symbolic links
// that the user followed, an agent by their targets; so both names of both paths are compared.
type Directory struct {
	Names []string // absolute, with slashes but none at the end: as written, and with links resolved
	known sync.Map // by path: the same with links resolved
}

// NewDirectory returns a directory by an absolute path. On macOS, /tmp, /var and /etc are links to
// directories in /private; a session may have been recorded there and be read elsewhere.
func NewDirectory(dir string) *Directory {
	d := &Directory{}
	for _, name := range []string{dir, files.RealPath(filepath.Clean(dir))} {
		name = strings.TrimRight(session.Slashed(name), "/")
		without := strings.TrimPrefix(name, "/private")
		names := []string{name}
		if _, rest, _ := strings.Cut(without, "/"); slices.Contains([]string{"tmp", "var", "etc"}, strings.Split(rest, "/")[0]) {
			names = append(names, without, "/private"+without)
		}
		for _, name := range names {
			if !slices.Contains(d.Names, name) && (name != "" || dir == "/") {
				d.Names = append(d.Names, name)
			}
		}
	}
	return d
}

// Is reports whether a path is the directory.
func (d *Directory) Is(path string) bool {
	return d.passes(path, func(rest string) bool { return rest == "" })
}

// Has reports whether a path is the directory or below it.
func (d *Directory) Has(path string) bool { return d.passes(path, func(string) bool { return true }) }

func (d *Directory) passes(path string, want func(rest string) bool) bool {
	if path == "" {
		return false
	}
	isIn := func(name string) bool {
		for _, dir := range d.Names {
			if rest, ok := strings.CutPrefix(name, dir); ok && (rest == "" || rest[0] == '/') && want(rest) {
				return true
			}
		}
		return false
	}
	if isIn(strings.TrimRight(session.Slashed(path), "/")) {
		return true
	}
	return filepath.IsAbs(path) && isIn(session.Slashed(d.real(filepath.Clean(path))))
}

// real returns a path with its links resolved. It asks the system about each directory once.
func (d *Directory) real(path string) string {
	if known, ok := d.known.Load(path); ok {
		return known.(string)
	}
	real := path
	if above := filepath.Dir(path); above != path {
		if info, err := os.Lstat(path); err == nil && info.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 {
			real = files.RealPath(path)
		} else {
			real = filepath.Join(d.real(above), filepath.Base(path))
		}
	}
	d.known.Store(path, real)
	return real
}
