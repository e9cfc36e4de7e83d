package indexer

import (
	"io"
	"io/fs"
	"path/filepath"

	"pigrep/adapter"
)

// AgentOf returns the name of the agent whose session files lie below a directory,
// as the first of them that any agent knows begins; "" when there is none. It looks
// at a few files only.
func AgentOf(r *adapter.Registry, dir string) string {
	if names := r.Names(); len(names) == 1 {
		return names[0]
	}
	name, looks := "", 0
	// What cannot be read is told when it is indexed.
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

// maxHeads is how many files tell whose a directory is.
const maxHeads = 20

// headOf returns how a file begins, nil when it cannot be read.
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
