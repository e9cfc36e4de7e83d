package indexer

import (
	"sync"
	"time"

	"pigrep/internal/session"
)

// A watcher does not hash all indexed bytes of a long file that grows for each appended line,
// but at most provenBytes a second on average. Until the bytes are hashed, the checkpoint
// claims no times, so that every command hashes them itself, and the watcher confirms
// nothing. So a command notices an edit of old bytes as always, and the watcher when the proof
// is due, whether the file still grows or not.
const (
	provenBytes = 150 << 20
	longFile    = 8 << 20 // bytes from which it is noted when a file was hashed
)

// growing says when long files were hashed. It is nil in processes that are no watchers; then
// its methods do nothing.
type growing struct {
	mu     sync.Mutex
	proofs map[string]proof // by path
}

// proof says when all indexed bytes of a file were hashed.
type proof struct {
	at         time.Time
	file       uint32
	checkpoint session.Checkpoint // which this process has written since
	unproved   bool               // what was added since then is not hashed
}

// due is when all indexed bytes are to be hashed again.
func (p proof) due() time.Time {
	return p.at.Add(time.Duration(float64(p.checkpoint.Offset) / provenBytes * float64(time.Second)))
}

// proved returns when the indexed bytes of a file were hashed, if they need not be hashed again
// by now. Another process may have written its checkpoint since; then they must be.
func (g *growing) proved(s *session.Summary, now time.Time) (at time.Time, ok bool) {
	if g == nil {
		return at, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.proofs[s.Path]
	return p.at, p.file == s.File && p.checkpoint == s.Checkpoint && !now.Before(p.at) && now.Before(p.due())
}

// note notes that a file was read to its end, and when the bytes before that were hashed.
// unproved says that this was earlier.
func (g *growing) note(s *session.Summary, proved time.Time, unproved bool) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if delete(g.proofs, s.Path); s.Checkpoint.Offset >= longFile {
		g.proofs[s.Path] = proof{proved, s.File, s.Checkpoint, unproved}
	}
}

// prove returns the paths of the files that are still to be hashed, and forgets when they were.
func (g *growing) prove() (paths []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, p := range g.proofs {
		if p.unproved {
			paths = append(paths, path)
			delete(g.proofs, path)
		}
	}
	return paths
}

// next returns when the first proof is due; false if all files are proved.
func (g *growing) next() (at time.Time, ok bool) {
	if g == nil {
		return at, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.proofs {
		if p.unproved && (!ok || p.due().Before(at)) {
			at, ok = p.due(), true
		}
	}
	return at, ok
}
