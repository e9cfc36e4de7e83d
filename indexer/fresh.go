package indexer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/layout"
	"pigrep/internal/lists"
)

// A watcher can confirm that nothing has changed since its last pass. Then a command need
// not compare the files itself. It asks over a socket in the index directory:
//
//	command                         watcher
//	question: which files       ──► creates a file in its own directory, which it watches
//	                                reads events until it sees that one
//	compares the roots and      ◄── answer: a generation, and the roots it watches
//	the generation it opened
//
// The system queues the event of a write before the write returns, and one queue has the
// events of all directories in order. So when the watcher sees its own file, it has seen
// every write that ended before the question. It confirms only if none of them is still to
// be indexed, and if the system reports all changes: see watcher.isFresh. If anything goes
// wrong, a command compares the files as if there were no watcher. docs/watch.md lists the
// changes that cause no event.
const (
	freshSocket   = "watch.sock"
	probeDir      = "asked" // of the files that the watcher creates
	freshProtocol = 4       // changes with the meaning of a question or an answer, and with what counts as a session file
	freshWait     = 20 * time.Millisecond
)

// question is what a command asks. A watcher answers only if its own is the same.
type question struct {
	Protocol int
	Schema   int
	Limits   adapter.Limits
	Readers  map[string]int // revisions of the agents' parsers
	Roots    []adapter.Root
	Keep     []string // agents
}

func (o Options) question() question {
	q := question{Protocol: freshProtocol, Schema: index.SchemaVersion, Limits: adapter.LimitsOf(o.Adapter), Readers: newFound(o.Adapter).Revisions, Keep: o.Rules.Agents}
	q.Roots = lists.Map(o.Roots, func(r adapter.Root) adapter.Root { return adapter.Root{Path: r.Path, Agent: r.Agent, Follow: r.Follow} })
	return q
}

func (q question) equal(p question) bool {
	return q.Protocol == p.Protocol && q.Schema == p.Schema && q.Limits == p.Limits && maps.Equal(q.Readers, p.Readers) && slices.Equal(q.Roots, p.Roots) && slices.Equal(q.Keep, p.Keep)
}

// freshAnswer says that a generation has every line of all files, unless Generation is zero.
type freshAnswer struct {
	Generation index.ID
	Files      int
	Roots      []fileID // of the directories that are watched, in the order of the roots
}

// rootIDs returns the directories at the roots; ok is false if one is missing, or if the
// system may not report all changes below it.
func rootIDs(roots []adapter.Root) (ids []fileID, ok bool) {
	mounts, err := mountPoints()
	if err != nil {
		return nil, false
	}
	for _, r := range roots {
		real, err := filepath.EvalSymlinks(r.Path)
		if err != nil {
			return nil, false
		}
		info, err := os.Stat(real)
		if err != nil || !reportsChanges(real) || slices.ContainsFunc(mounts, func(m string) bool { return m != real && within(m, real) }) {
			return nil, false
		}
		id, ok := identity(info)
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// mountPoints returns the directories at which file systems are mounted. It fails where the
// system does not tell.
func mountPoints() (list []string, err error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, mountEscapes.Replace(fields[4]))
		}
	}
	return list, err
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// askWatcher asks the watcher of the index, if there is one, whether a generation has all
// files; nil if it does not say so at once.
func (o Options) askWatcher() *freshAnswer {
	socket := filepath.Join(o.Dir, freshSocket)
	if _, err := os.Lstat(socket); err != nil {
		return nil
	}
	c, err := net.DialTimeout("unix", socket, freshWait)
	if err != nil {
		return nil // the watcher has died
	}
	defer c.Close()
	defer time.AfterFunc(freshWait, func() { c.Close() }).Stop()
	var a freshAnswer
	if json.NewEncoder(c).Encode(o.question()) != nil || json.NewDecoder(c).Decode(&a) != nil {
		return nil
	}
	// A directory above the roots may have been renamed, which the watcher cannot see.
	if ids, ok := rootIDs(o.Roots); !ok || a.Generation == (index.ID{}) || !slices.Equal(ids, a.Roots) {
		return nil
	}
	return &a
}

// asked is a question that waits for the watcher.
type asked struct {
	question
	answer chan<- freshAnswer
}

// prober accepts questions to a watcher. Its zero value accepts none.
type prober struct {
	listener  *net.UnixListener
	root      *os.Root // of the index
	dir       string
	questions chan asked
	count     int
	waiting   map[string]asked // by the file that was created for it
}

// open accepts questions for the index in a directory, whose watcher this process is.
func (v *prober) open(root *os.Root) error {
	v.root, v.dir = root, filepath.Join(root.Name(), probeDir)
	v.questions, v.waiting = make(chan asked), make(map[string]asked)
	err := errors.Join(layout.Remove(root, probeDir), layout.Mkdir(root, probeDir), layout.Remove(root, freshSocket))
	if err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(root.Name(), freshSocket), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false) // it would remove what is at the path by then
	v.listener = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go v.serve(c)
		}
	}()
	return root.Chmod(freshSocket, 0o600)
}

// serve answers one question.
func (v *prober) serve(c net.Conn) {
	defer c.Close()
	deadline := time.NewTimer(freshWait)
	defer deadline.Stop()
	defer time.AfterFunc(freshWait, func() { c.Close() }).Stop()
	var q question
	if json.NewDecoder(c).Decode(&q) != nil {
		return
	}
	answers := make(chan freshAnswer, 1)
	select {
	case v.questions <- asked{q, answers}:
	case <-deadline.C:
		return // the watcher is busy
	}
	select {
	case a := <-answers:
		_ = json.NewEncoder(c).Encode(a)
	case <-deadline.C:
	}
}

func (v *prober) close() {
	if v.listener != nil {
		v.listener.Close()
	}
	if v.root != nil {
		_ = errors.Join(layout.Remove(v.root, freshSocket), layout.Remove(v.root, probeDir))
	}
}

// probe creates the file whose event shows that all events before it were seen.
func (w *watcher) probe(q asked) {
	v := &w.prober
	if !w.isFresh() || !q.equal(w.question()) {
		q.answer <- freshAnswer{}
		return
	}
	v.count++
	name := path.Join(probeDir, fmt.Sprint(v.count))
	path := filepath.Join(v.root.Name(), name)
	f, err := v.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		v.waiting[path] = q
		err = errors.Join(f.Close(), v.root.Remove(name))
	}
	if err != nil {
		delete(v.waiting, path)
		q.answer <- freshAnswer{}
	}
}

// probed answers a question when the event of its file arrives. It reports whether the
// event was one.
func (w *watcher) probed(e fsnotify.Event) bool {
	q, ok := w.prober.waiting[e.Name]
	if ok {
		delete(w.prober.waiting, e.Name)
		var a freshAnswer
		if w.isFresh() {
			a = freshAnswer{Generation: w.keeper.generation, Files: len(w.found.Files), Roots: w.trust.roots}
		}
		q.answer <- a
	}
	return ok
}

// isFresh reports whether the index has everything that the events seen so far report, and
// every change causes an event.
func (w *watcher) isFresh() bool {
	h, t := &w.schedule.hints, &w.trust
	return w.ready && w.trouble == trouble{} && // it works
		!h.all && !h.verify && len(h.files) == 0 && len(h.moved) == 0 && !w.schedule.prove.on && // nothing is to be indexed, or compared
		len(w.reported) == 0 && !t.polling && len(t.missed) == 0 && !t.mayMiss && t.roots != nil
}

// noteRoots records, after a look at all files, whether changes may come without an event.
// before is what the roots were before that.
func (w *watcher) noteRoots(before []fileID, complete bool) {
	ids, ok := rootIDs(w.Roots)
	if !ok || !complete || !slices.Equal(ids, before) {
		ids = nil
	}
	w.trust.roots = ids
	watched := set(w.notifier.WatchList())
	w.trust.mayMiss = w.found.Aliased || len(w.found.Unreadable) > 0 || !watched[w.prober.dir] ||
		slices.ContainsFunc(w.found.Dirs, func(d string) bool { return !watched[d] }) ||
		slices.ContainsFunc(w.found.Roots, func(r RootState) bool { return r.Err != nil })
}
