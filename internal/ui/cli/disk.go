package cli

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"pigrep/query/entry"
)

// disk opens session files for package query.
type disk struct{}

// Open opens a session file for a grep.
func (disk) Open(path string) (entry.File, error) {
	f, info, err := openSession(path)
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

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// openSession opens a session file for reading; nothing else than a regular file
// is one.
func openSession(path string) (*os.File, fs.FileInfo, error) {
	// Opening what has become a pipe meanwhile would wait for a writer.
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("read %s: not a regular file", path)
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
