package location

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"pigrep/query/engine/entry"
)

// Disk opens session files for package query.
type Disk struct{}

// Open implements entry.Source.
func (Disk) Open(path string) (entry.File, error) {
	f, info, err := OpenSession(path)
	if err != nil {
		return nil, err
	}
	return sessionFile{f, info}, nil
}

type sessionFile struct {
	*os.File
	info fs.FileInfo
}

func (f sessionFile) Size() int64 { return f.info.Size() }

func (f sessionFile) ModTime() time.Time { return f.info.ModTime() }

func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// OpenSession opens a session file, which must be a regular file, for reading.
func OpenSession(path string) (*os.File, fs.FileInfo, error) {
	// Opening a named pipe would block until it has a writer.
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("cannot read %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
