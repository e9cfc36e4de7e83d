package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

type Kind int

// The kinds of outputs.
const (
	Missing   Kind = iota
	File           // a regular file
	Stream         // a device, a named pipe, or an open file of this process, such as /dev/stdout
	Disk           // a block device
	Directory      // never written
	Socket         // never written
)

// Output is the place that a path leads to, before something is written there. Links stay
// what they are: the file that they lead to is written.
type Output struct {
	Path      string // without links, of a file
	Kind      Kind
	Linked    bool // a link led there
	Foreign   bool // the file belongs to another user
	Overwrite bool // set by the caller: a file may be replaced

	info fs.FileInfo // of the file
}

// FindOutput follows a path as the shell's > does.
func FindOutput(path string) (*Output, error) {
	o := &Output{Path: path}
	var first fs.FileInfo
	const mostLinks = 255
	for range mostLinks {
		if namesStream(o.Path) {
			o.Kind = Stream
			return o, nil
		}
		info, err := os.Stat(o.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && !info.Mode().IsRegular() {
			o.Kind = kindOf(info.Mode())
			return o, nil
		}
		if first == nil {
			first = info
		}
		link, err := os.Readlink(o.Path)
		if err != nil { // no link
			return o, o.found(first, info)
		}
		if err := o.follow(link); err != nil {
			return nil, err
		}
	}
	return nil, changed(path)
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsDir():
		return Directory
	case m&fs.ModeSocket != 0:
		return Socket
	case m&fs.ModeDevice != 0 && m&fs.ModeCharDevice == 0:
		return Disk
	}
	return Stream
}

// follow goes on to the target of a link. Links may lead to its directory too, so .. cannot be
// resolved by its text.
func (o *Output) follow(link string) error {
	if !filepath.IsAbs(link) {
		link = filepath.Dir(o.Path) + string(filepath.Separator) + link
	}
	o.Linked, o.Path = true, filepath.Clean(link)
	if namesStream(o.Path) {
		return nil
	}
	dir, name := filepath.Split(link)
	dir, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	o.Path = filepath.Join(dir, name)
	return err
}

// found ends at a file or at nothing. What the system finds by following links must be the
// same: links in /proc lead to files that have no name.
func (o *Output) found(first, last fs.FileInfo) error {
	if last == nil && first == nil {
		return nil
	}
	if last == nil || !os.SameFile(first, last) {
		return changed(o.Path)
	}
	o.Kind, o.info, o.Foreign = File, last, isForeign(last)
	return nil
}

func changed(path string) error {
	return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is being changed or has no name")}
}

// Write writes the output of write: a file as Replace does, anything else by writing into
// it. A named pipe waits for its reader until the context ends.
func (o *Output) Write(ctx context.Context, mode fs.FileMode, write func(io.Writer) error) error {
	if o.Kind != Stream && o.Kind != Disk {
		return o.Replace(mode, write)
	}
	f, err := o.open(ctx)
	if err != nil {
		return err
	}
	// A reader that reads nothing blocks writing.
	stop := context.AfterFunc(ctx, func() { f.Close() })
	defer stop()
	err = errors.Join(write(f), f.Close())
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (o *Output) open(ctx context.Context) (*os.File, error) {
	var f *os.File
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		f, err = openStream(o.Path)
	}()
	select {
	case <-opened:
	case <-ctx.Done():
		go func() {
			<-opened
			f.Close() // fails if it is nil
		}()
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && !namesStream(o.Path) {
		return nil, errors.Join(changed(o.Path), f.Close())
	}
	return f, nil
}

// Replace creates or replaces a file atomically, and syncs it. A file that is replaced keeps
// its owner. It must be writable, although that would not be needed to replace it.
func (o *Output) Replace(mode fs.FileMode, write func(io.Writer) error) error {
	if err := o.writable(); err != nil {
		return err
	}
	return Replace(o.Path, mode, func(w io.Writer) error {
		if err := write(w); err != nil {
			return err
		}
		if err := o.unchanged(); err != nil || o.info == nil {
			return err
		}
		return keepOwner(w.(*os.File), o.info)
	})
}

// writable fails for what must not be replaced.
func (o *Output) writable() error {
	switch {
	case o.Kind == Missing:
		return nil
	case o.Kind != File:
		return &fs.PathError{Op: "replace", Path: o.Path, Err: errors.New("it is no regular file")}
	case !o.Overwrite:
		return &fs.PathError{Op: "replace", Path: o.Path, Err: fs.ErrExist}
	}
	f, err := os.OpenFile(o.Path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// unchanged fails if something has appeared that must not be replaced.
func (o *Output) unchanged() error {
	switch info, err := os.Lstat(o.Path); {
	case errors.Is(err, fs.ErrNotExist), err == nil && o.Overwrite && info.Mode().IsRegular():
		return nil
	case err != nil:
		return err
	case o.Overwrite:
		return changed(o.Path)
	}
	return &fs.PathError{Op: "write", Path: o.Path, Err: fs.ErrExist}
}
