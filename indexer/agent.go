package indexer

import (
	"io"
	"io/fs"
	"path/filepath"

	"pigrep/adapter"
)

// AgentOf returns the name of the agent whose session files are below a directory,
// judging by the first file that any agent recognizes; "" if none of the first
// maxHeads files is recognized.
func AgentOf(r *adapter.Registry, dir string) string {
	if names := r.Names(); len(names) == 1 {
		return names[0]
	}
	name, looks := "", 0
	// Errors are reported by indexing.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isSession(d.Name()) {
			return nil
		}
		if looks++; looks > maxHeads {
			return filepath.SkipAll
		}
		if a := r.Recognize(headOf(path)); a != nil {
			name = a.Name()
			return filepath.SkipAll
		}
		return nil
	})
	return name
}

// maxHeads is the number of files that AgentOf examines.
const maxHeads = 20

// headOf returns the start of a file, nil if it cannot be read.
func headOf(path string) []byte {
	f, err := openSession(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, adapter.HeadLength)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}
