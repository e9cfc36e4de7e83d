package query

import (
	"fmt"
	"io"
	"time"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// ParseBranch returns the branch of this name, "" for any.
func ParseBranch(name string) (string, error) {
	switch name {
	case "", "any":
		return "", nil
	case BranchActive, BranchAbandoned:
		return name, nil
	}
	return "", fmt.Errorf("unknown branch %q: use active, abandoned or any", name)
}

// hasBranch reports whether a session has an entry on the branch.
func hasBranch(rec *session.Record, branch string) bool {
	tree := rec.Tree()
	for i := range rec.Nodes {
		if BranchOf(tree, i) == branch {
			return true
		}
	}
	return false
}

// branches knows the branches of one file that is searched without the index.
type branches struct {
	rec  *session.Record
	tree *session.Tree
}

// loadBranches works out the branches of a file: from its record when that knows
// all of it, else from the file.
func loadBranches(a adapter.Adapter, rec *session.Record, path string, file io.ReaderAt, size int64) (*branches, error) {
	if rec == nil || rec.Checkpoint.Offset+rec.TailBytes < size {
		var err error
		if rec, err = ReadRecord(a, path, io.NewSectionReader(file, 0, size), time.Time{}); err != nil {
			return nil, err
		}
	}
	return &branches{rec, rec.Tree()}, nil
}

// holds reports whether the entry at the offset is on the branch.
func (b *branches) holds(offset int64, branch string) bool {
	n := b.rec.NodeAt(offset)
	return n >= 0 && BranchOf(b.tree, n) == branch
}
