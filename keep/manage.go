package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/lists"
)

// Forget removes copies for good, and returns how many, and their bytes. It waits for
// another process to finish.
func (a *Archive) Forget(ctx context.Context, which func(*Copy) bool) (n int, size int64, err error) {
	w, err := a.change()
	for errors.Is(err, ErrBusy) && ctx.Err() == nil {
		time.Sleep(waitEach)
		w, err = a.change()
	}
	if err != nil {
		return 0, 0, err
	}
	rows, err := a.Copies()
	for _, c := range rows {
		if c.State != Kept || !which(&c) {
			continue
		}
		n++
		size += c.Stored
		why := Forgotten
		if c.Gone() {
			why = removed
		}
		w.drop(c, why)
	}
	return n, size, errors.Join(err, w.end())
}

// waitEach is the time between two attempts to lock the archive.
const waitEach = 20 * time.Millisecond

// Restore writes the text of a copy to where its original was, and returns the path. It
// overwrites nothing.
func (a *Archive) Restore(c *Copy) (string, error) {
	if exists(c.File.Path) || exists(c.File.Path+content.Suffix) {
		return "", &fs.PathError{Op: "restore", Path: c.File.Path, Err: fs.ErrExist}
	}
	text, err := content.Open(a.Place(c), 0)
	if err != nil {
		return "", err
	}
	defer text.Close()
	if err := os.MkdirAll(filepath.Dir(c.File.Path), 0o700); err != nil {
		return "", err
	}
	out := &files.Output{Path: c.File.Path, Kind: files.Missing}
	err = out.Replace(0o600, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(text, 0, c.rest(0)))
		return err
	})
	if err != nil {
		return "", err
	}
	at := time.Unix(0, c.Mtime)
	return c.File.Path, errors.Join(os.Chtimes(c.File.Path, at, at), files.SyncDir(filepath.Dir(c.File.Path)))
}

// Check returns what is wrong with a copy; nil if nothing is. With deep, it reads all of it.
func (a *Archive) Check(c *Copy, deep bool) error {
	text, err := content.Open(a.Place(c), 0)
	if err != nil {
		return err
	}
	defer text.Close()
	size, want := text.Info.Size(), c.Stored
	if deep && c.Length >= 0 {
		size, err = text.Length()
		want = c.Length
	}
	if err == nil && size < want {
		err = fmt.Errorf("the copy has %d bytes, and should have %d", size, want)
	}
	return err
}

// Kind is what the archive has of an agent.
type Kind struct {
	Agent    string
	Sessions int   // files of which there are copies
	Gone     int   // of these, copies that are all that is left
	Left     int   // files of which there is no copy, because there is no room
	Bytes    int64 // on disk
	Oldest   int64 // when the file of the oldest copy was last changed, in nanoseconds
}

// Kinds counts what the archive has, by agent in the order of the given names. Others follow.
func (a *Archive) Kinds(agents []string) ([]Kind, error) {
	rows, err := a.Copies()
	list := lists.Map(agents, func(name string) Kind { return Kind{Agent: name} })
	for i := range rows {
		c := &rows[i]
		at := -1
		for j := range list {
			if list[j].Agent == c.Agent {
				at = j
			}
		}
		if at < 0 {
			at, list = len(list), append(list, Kind{Agent: c.Agent})
		}
		k := &list[at]
		switch c.State {
		case Kept:
			k.Sessions++
			k.Bytes += c.Stored
			if k.Oldest == 0 || c.Mtime < k.Oldest {
				k.Oldest = c.Mtime
			}
			if c.Gone() {
				k.Gone++
			}
		case Dropped:
			k.Left++
		}
	}
	return list, err
}
