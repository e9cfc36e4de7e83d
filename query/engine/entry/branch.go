package entry

import (
	"fmt"
	"io"
	"time"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// ParseBranch returns BranchActive, BranchAbandoned or, for "any" and "", "".
func ParseBranch(name string) (string, error) {
	switch name {
	case "", "any":
		return "", nil
	case BranchActive, BranchAbandoned:
		return name, nil
	}
	return "", fmt.Errorf("unknown branch %q: use active, abandoned or any", name)
}

// HasBranch reports whether a session has an entry on the branch.
func HasBranch(rec *session.Record, branch string) bool {
	tree := rec.Tree()
	for i := range rec.Nodes {
		if BranchOf(tree, i) == branch {
			return true
		}
	}
	return false
}

// Branches says which entries of a file that is searched without the index are on the
// active branch.
type Branches struct {
	rec  *session.Record
	tree *session.Tree
}

// LoadBranches returns the Branches of a file, from its record if that covers the whole
// file, else by reading the file.
func LoadBranches(a adapter.Adapter, rec *session.Record, path string, file io.ReaderAt, size int64) (*Branches, error) {
	if rec == nil || rec.Checkpoint.Offset+rec.TailBytes < size {
		var err error
		if rec, err = ReadRecord(a, path, io.NewSectionReader(file, 0, size), time.Time{}); err != nil {
			return nil, err
		}
	}
	return &Branches{rec, rec.Tree()}, nil
}

// Contains reports whether the entry at the offset is on the branch.
func (b *Branches) Contains(offset int64, branch string) bool {
	n := b.rec.NodeAt(offset)
	return n >= 0 && BranchOf(b.tree, n) == branch
}
