package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"pigrep/index/layout"
	"pigrep/internal/files"
)

// An index directory is marked by a file with this content, so that pigrep never takes
// another directory for an index. It is the first file to be written, in place: all
// processes write the same bytes, so it does not matter who comes first.
const (
	markerName = "pigrep-index"
	marker     = "This directory is an index of pigrep, made from session files. It can be deleted.\n"
)

const watchLockName = "watch.lock" // of package indexer, whose earlier versions made it first

// Check fails with ErrForeign if a directory exists, is not empty, and is not an index.
func Check(dir string) error {
	return ifThere(dir, func(root *os.Root) error {
		_, err := marked(root)
		return err
	})
}

// ifThere calls do with a directory, unless it is missing.
func ifThere(dir string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root)
}

// Claim makes a directory an index, unless it is one, and opens it. Like Check, it fails
// with ErrForeign. All writing must go through the root, which the caller closes: the path
// may lead to another directory by then.
func Claim(dir string) (*os.Root, error) {
	if err := makeDirs(dir); err != nil {
		return nil, fmt.Errorf("make the index directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the index directory: %w", err)
	}
	is, err := marked(root)
	if err == nil && !is {
		err = mark(root)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// Foreign lists what is in an index directory and was not made by pigrep, without what is
// below it. It stays there.
func Foreign(dir string) (names []string, err error) {
	err = ifThere(dir, func(root *os.Root) (err error) {
		names, err = layout.Foreign(root)
		return err
	})
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names, err
}

// marked reports whether a directory is marked as an index. It fails with ErrForeign if it
// must not become one.
func marked(root *os.Root) (bool, error) {
	if is, err := hasMarker(root); is || err != nil {
		return is, err
	}
	if hasGeneration(root) {
		return false, nil
	}
	if fresh, err := begun(root); fresh || err != nil {
		return false, err
	}
	// What is there may be an index that another process has begun since. It wrote the marker
	// before anything else, or is of an earlier version, which wrote none and holds the lock
	// until there is a generation.
	if made, err := isBeingMade(root); made || err != nil {
		return false, err
	}
	if is, err := hasMarker(root); is || err != nil {
		return is, err
	}
	if hasGeneration(root) {
		return false, nil
	}
	return false, fmt.Errorf("%s %w", root.Name(), ErrForeign)
}

// isBeingMade reports whether a process holds the lock of a directory that has only files of pigrep.
func isBeingMade(root *os.Root) (bool, error) {
	pid, err := WriterPID(root.Name())
	if pid == 0 || err != nil {
		return false, err
	}
	names, err := layout.Foreign(root)
	return len(names) == 0, err
}

func hasMarker(root *os.Root) (bool, error) {
	content, err := readIn(root, markerName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.HasPrefix(content, []byte(marker)), err
}

// hasGeneration reports whether a directory has an index of any version: current names a
// generation, which has a manifest.
func hasGeneration(root *os.Root) bool {
	content, _ := readIn(root, currentName)
	number, err := decodeCurrent(content)
	if err != nil {
		return false
	}
	manifest, err := readIn(root, path.Join((&generation{ID: ID{Number: number}}).name(), manifestName))
	if err != nil {
		return false
	}
	version, ok := versionOf(string(manifest))
	return ok && (version != SchemaVersion || (&generation{}).decode(string(manifest)) == nil)
}

// begun reports whether a directory is empty, but for what is there when a process is
// killed while it begins an index: a part of the marker, or a lock of an earlier version.
func begun(root *os.Root) (bool, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if !slices.Contains([]string{markerName, lockName, watchLockName}, e.Name()) {
			return true
		}
		content, err := readIn(root, e.Name())
		if e.Name() == lockName && bytes.HasPrefix(content, []byte{0}) { // and a pid
			return err != nil
		}
		content = bytes.TrimRight(content, "\x00") // which were never written
		return err != nil || len(content) > 0 && (e.Name() != markerName || !bytes.HasPrefix([]byte(marker), content))
	}), err
}

// mark writes the marker and waits until it is on disk.
func mark(root *os.Root) error {
	if err := layout.Free(root, markerName, 0); err != nil {
		return err
	}
	f, err := root.OpenFile(markerName, os.O_CREATE|os.O_WRONLY, fileMode)
	if err != nil {
		return fmt.Errorf("mark the index directory: %w", err)
	}
	if _, err = f.WriteString(marker); err == nil {
		err = errors.Join(f.Truncate(int64(len(marker))), f.Chmod(fileMode), f.Sync(), files.SyncDir(root.Name()))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("mark the index directory: %w", err)
	}
	return nil
}

// mostRead is more than any file has that readIn reads.
const mostRead = 1 << 20

// readIn reads a small regular file in a directory. Anything else counts as missing.
func readIn(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > mostRead) {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return root.ReadFile(name)
}

// makeDirs makes a directory and its missing parents, with dirMode whatever the
// umask. Directories that exist are left as they are.
func makeDirs(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	} else if err == nil {
		return fmt.Errorf("%s is a file, not a directory", path)
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%s is a link to %s, which cannot be reached", path, target)
	}
	if parent := filepath.Dir(path); parent != path {
		if err := makeDirs(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(path, dirMode)
}
