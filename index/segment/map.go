package segment

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"

	"github.com/blevesearch/mmap-go"

	"pigrep/internal/files"
)

// content is the bytes of a file of an index, which never change.
type content struct {
	all    []byte
	mapped mmap.MMap // the same bytes; nil if they were read into memory
}

// mapper maps a part of a file, as mmap.MapRegion does.
type mapper func(f *os.File, length, prot, flags int, offset int64) (mmap.MMap, error)

// cannotMap lists the errors of file systems that do not map files in this way: FUSE with
// direct_io and 9p have private mappings at most.
var cannotMap = []error{syscall.ENODEV, syscall.EINVAL, syscall.EACCES, syscall.EPERM, syscall.ENOTSUP}

// openContent maps a file, or reads it if its file system does not map files.
func openContent(path string, mapRegion mapper) (c content, err error) {
	f, err := files.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return c, err
	}
	refused := func(err error) bool {
		return slices.ContainsFunc(cannotMap, func(e error) bool { return errors.Is(err, e) })
	}
	size := int(info.Size())
	c.mapped, err = mapRegion(f, size, mmap.RDONLY, 0, 0)
	if refused(err) {
		c.mapped, err = mapRegion(f, size, mmap.COPY, 0, 0)
	}
	c.all = c.mapped
	if refused(err) {
		c.all = make([]byte, size)
		_, err = io.ReadFull(f, c.all)
	}
	if err != nil {
		return content{}, fmt.Errorf("open %s: %w", path, err)
	}
	return c, nil
}

// close unmaps the bytes, which nothing may use afterwards.
func (c *content) close() error {
	if c.mapped == nil {
		return nil
	}
	return c.mapped.Unmap()
}

// Map maps a file of an index that never changes, or reads it where a file that is mapped
// cannot be removed. The caller must call unmap, even if it fails, when nothing uses the
// bytes any more.
func Map(path string) (b []byte, unmap func() error, err error) {
	if runtime.GOOS == "windows" {
		b, err = os.ReadFile(path)
		return b, func() error { return nil }, err
	}
	c, err := openContent(path, mmap.MapRegion)
	return c.all, c.close, err
}
