package index

import (
	"pigrep/internal/session"
)

// Summary returns the summary of the file at the path as of the last commit;
// nil when there is none.
func (w *Writer) Summary(path string) *session.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live.table.Find(path)
}

// Empty reports whether the index holds no file as of the last commit.
func (w *Writer) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.live.table.Rows) == 0
}

// Skipped returns the number of malformed pieces of lines in all files as of
// the last commit.
func (w *Writer) Skipped() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for i := range w.live.table.Rows {
		n += w.live.table.Rows[i].Skipped
	}
	return n
}
