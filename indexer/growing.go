package indexer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/internal/session"
)

// A watcher keeps the records of long files that grow. It does not hash all indexed bytes
// of such a file for each appended line, but at most provenBytes a second on average. Until
// the bytes are hashed, the checkpoint claims no times, so that every command hashes them
// itself, and the watcher confirms nothing. So a command notices an edit of old bytes as
// always, and the watcher when the proof is due, whether the file still grows or not.
const (
	provenBytes = 150 << 20
	longFile    = 8 << 20 // bytes from which a record is kept
	mostGrowing = 4       // records that are kept
	fewEntries  = 4096    // in a record that is kept; more are in the index by then
)

// growing has the files that grow. It is nil in processes that are no watchers; then its
// methods do nothing.
type growing struct {
	mu       sync.Mutex
	files    []*growingFile       // the one that was read last is the last
	unproved map[string]time.Time // when the proof is due, by path
}

type growingFile struct {
	record *session.Record
	proved time.Time // when all indexed bytes were hashed
}

// take removes and returns the file whose record has this summary; nil if there is none.
func (g *growing) take(s *session.Summary) *growingFile {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.files, func(f *growingFile) bool {
		r := f.record
		return r.File == s.File && r.Path == s.Path && r.Checkpoint == s.Checkpoint
	})
	if i < 0 {
		return nil
	}
	f := g.files[i]
	g.files = slices.Delete(g.files, i, i+1)
	return f
}

// keep keeps the record of a file that was read to its end. unproved says that the bytes
// that were already indexed were not hashed.
func (g *growing) keep(f *growingFile, unproved bool) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := f.record
	delete(g.unproved, r.Path)
	if unproved {
		g.unproved[r.Path] = f.due()
	}
	if r.Checkpoint.Offset < longFile || len(r.Nodes) > fewEntries || len(r.Facts.Usages)+len(r.Facts.Calls) > fewEntries {
		return
	}
	if g.files = append(g.files, f); len(g.files) > mostGrowing {
		g.files = slices.Delete(g.files, 0, 1)
	}
}

// resume makes the records continue with another writer of the index. It forgets them if
// another process has written since the writer before: last is what that one left.
func (g *growing) resume(w *index.Writer, last index.ID) {
	if g == nil {
		return
	}
	if w.Head() != last {
		g.forget()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.files {
		file := f.record.File
		f.record.Facts.ReadFrom(func(piece int) (*session.Facts, error) { return w.EarlierFacts(file, piece) })
	}
}

// forget forgets the records: the index may have others. The proofs stay due.
func (g *growing) forget() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.files = nil
}

// due is when all indexed bytes of the file are to be hashed again.
func (f *growingFile) due() time.Time {
	return f.proved.Add(time.Duration(float64(f.record.Checkpoint.Offset) / provenBytes * float64(time.Second)))
}

// prove removes and returns the paths of the files that are still to be hashed.
func (g *growing) prove() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	paths := slices.Collect(maps.Keys(g.unproved))
	clear(g.unproved)
	return paths
}

// next returns when the first proof is due; false if all files are proved.
func (g *growing) next() (at time.Time, ok bool) {
	if g == nil {
		return at, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, due := range g.unproved {
		if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}
