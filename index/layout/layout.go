// Package layout says what pigrep makes in an index directory, by path and kind. Nothing
// else there is ever replaced or removed, even if it was put there later.
package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"pigrep/internal/files"
)

// ErrInTheWay reports that a name of ours is taken by something that pigrep did not make.
var ErrInTheWay = errors.New("in the way of the index, and not made by pigrep")

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Former is a directory that early versions made. A rebuild removes it.
const Former = "live"

// made lists all that pigrep makes, as regular expressions of slash-separated paths.
var made = []struct {
	kind  fs.FileMode
	paths string
}{
	{0, `pigrep-index|lock|(current|roots|rebuild)(\.tmp)?`},
	{fs.ModeDir, `gen-\d{6,18}(\.tmp)?`},
	{0, `gen-\d{6,18}(\.tmp)?/(manifest|state|copies)`},
	{fs.ModeDir, `segments`},
	{0, `segments/([0-9a-f]{12,15}\.(zap|tri)|[0-9a-f]{12,15}\.tri\.tmp|\.[0-9a-f]{12,15}\.tri-\d+)`}, // the last one by earlier versions
	{fs.ModeDir, `store|store/store`},
	{0, `store/index_meta\.json(\.tmp|_temp)?`}, // the last one by Bleve
	{0, `store/store/(root\.bolt(\.tmp)?|[0-9a-f]{12,15}\.zap)`},
	{0, `watch\.lock|watch\.json(\.tmp)?`},
	{fs.ModeSocket, `watch\.sock`}, // by earlier versions, like what follows
	{fs.ModeDir, `asked`},
	{0, `asked/\d+`},
	{fs.ModeDir, Former},
	{0, Former + `/(root\.bolt|[0-9a-f]{12}\.zap)`},
}

// pattern matches the kind and the path of all that is made.
var pattern = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, m := range made {
		all = append(all, fmt.Sprintf("%d (%s)", m.kind, m.paths))
	}
	return regexp.MustCompile(`^(` + strings.Join(all, "|") + `)$`)
})

// Owns reports whether pigrep makes something of this kind at a path in an index directory.
func Owns(name string, mode fs.FileMode) bool {
	return pattern().MatchString(fmt.Sprintf("%d %s", mode.Type(), name))
}

// Remove removes what pigrep made at a path and below it. Anything else stays, and so do
// the directories above it. Removing nothing is not an error.
func Remove(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !Owns(name, info.Mode()) {
		return err
	}
	if info.IsDir() {
		if empty, err := clear(root, name); err != nil || !empty {
			return err
		}
	}
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// clear removes what pigrep made in a directory, in the order of the names: a generation
// loses its manifest before its state.
func clear(root *os.Root, dir string) (empty bool, err error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		err = errors.Join(err, Remove(root, path.Join(dir, e.Name())))
	}
	if err != nil {
		return false, err
	}
	entries, err = fs.ReadDir(root.FS(), dir)
	return len(entries) == 0, err
}

// Foreign lists what pigrep did not make, without what is below it.
func Foreign(root *os.Root) (names []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a writer has removed it
			return nil
		case err != nil || name == "." || Owns(name, e.Type()):
			return err
		}
		names = append(names, name)
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return names, err
}

// Free fails with ErrInTheWay if a name is taken by something of another kind.
func Free(root *os.Root, name string, kind fs.FileMode) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Type() != kind {
		err = fmt.Errorf("%s is %w", filepath.Join(root.Name(), filepath.FromSlash(name)), ErrInTheWay)
	}
	return err
}

// Exists reports whether a name is taken, by whatever it is.
func Exists(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return err == nil
}

// Create creates a file, in place of an older one. The mode is ours whatever the umask.
func Create(root *os.Root, name string) (*os.File, error) {
	if err := Free(root, name, 0); err != nil {
		return nil, err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err == nil {
		if err = f.Chmod(fileMode); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return f, err
}

// Mkdir makes a directory unless it is there.
func Mkdir(root *os.Root, name string) error {
	if err := Free(root, name, fs.ModeDir); err != nil {
		return err
	}
	err := root.Mkdir(name, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.Chmod(name, dirMode)
}

// TempExt is the extension of what is not complete yet.
const TempExt = ".tmp"

// Replace replaces or creates a file with the output of write, atomically.
func Replace(root *os.Root, name string, write func(*os.File) error) error {
	if err := Free(root, name, 0); err != nil {
		return err
	}
	f, err := Create(root, name+TempExt)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, root.Remove(name+TempExt))
	}
	return files.RenameIn(root, name+TempExt, name)
}
