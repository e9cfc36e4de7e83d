package index

import (
	"slices"
	"strings"

	"pigrep/internal/session"
)

// Summary returns the summary of the file at the path as of the last commit;
// nil when there is none.
func (w *Writer) Summary(path string) *session.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, ok := slices.BinarySearchFunc(w.live.table.rows, path, func(r row, path string) int {
		return strings.Compare(r.Path, path)
	})
	if !ok {
		return nil
	}
	s := w.live.table.rows[i].Summary
	return &s
}

// Empty reports whether the index holds no file as of the last commit.
func (w *Writer) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.live.table.rows) == 0
}

// Skipped returns the number of malformed pieces of lines in all files as of
// the last commit.
func (w *Writer) Skipped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for i := range w.live.table.rows {
		n += w.live.table.rows[i].Skipped
	}
	return n
}
