package keep

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"pigrep/internal/content"
	"pigrep/internal/lists"
)

// found returns the copies in an archive without a catalogue, by their places. What was
// forgotten or dropped is not known any more.
func (a *Archive) found() (rows []Copy, err error) {
	err = filepath.WalkDir(a.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		place, err := filepath.Rel(a.Dir, path)
		if c, ok := copyAt(place); ok && err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				c.Size, c.Stored, c.Mtime = info.Size(), info.Size(), info.ModTime().UnixNano()
				rows = append(rows, c)
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	// A process that died may have left a copy both compressed and not: the last one counts.
	lists.Sort(rows, func(a, b Copy) int {
		return cmp.Or(cmp.Compare(a.Mtime, b.Mtime), strings.Compare(b.place(), a.place()))
	})
	return inOrder(rows), err
}

// copyAt returns the copy that is at a place below the directory of the archive.
func copyAt(place string) (c Copy, ok bool) {
	const separator = string(filepath.Separator)
	agent, path, ok := strings.Cut(content.Logical(place), separator)
	tilde := strings.LastIndexByte(path, '~')
	if !ok || tilde < 0 {
		return c, false
	}
	version, err := strconv.Atoi(path[tilde+1:])
	path = separator + path[:tilde]
	if runtime.GOOS == "windows" {
		if drive, rest, _ := strings.Cut(path[1:], separator); len(drive) == 1 {
			path = drive + ":" + separator + rest
		} else {
			path = separator + path
		}
	}
	return Copy{File: File{Path: path, Agent: agent}, Version: version, Length: -1, Zstd: place != content.Logical(place), State: Kept}, err == nil
}
