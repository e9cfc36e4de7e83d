package segment

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/blevesearch/mmap-go"

	"pigrep/internal/files"
)

// Map maps a file of an index that never changes, or reads it where a file that is mapped
// cannot be removed. The caller must call unmap, even if it fails, when nothing uses the
// bytes any more.
func Map(path string) (b []byte, unmap func() error, err error) {
	unmap = func() error { return nil }
	if runtime.GOOS == "windows" {
		b, err = os.ReadFile(path)
		return b, unmap, err
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, unmap, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, unmap, err
	}
	m, err := mmap.MapRegion(f, int(info.Size()), mmap.RDONLY, 0, 0)
	if err != nil {
		return nil, unmap, fmt.Errorf("open %s: %w", path, err)
	}
	return m, m.Unmap, nil
}
