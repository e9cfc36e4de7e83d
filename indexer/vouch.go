package indexer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/layout"
)

// A watcher can vouch that nothing has changed since its last pass. Then a command need
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
// every write that ended before the question. It vouches only if none of them is still to
// be indexed, and if the system reports all changes: see watcher.sure. If anything goes
// wrong, a command compares the files as if there were no watcher. docs/watch.md lists the
// changes that cause no event.
const (
	vouchSocket   = "watch.sock"
	vouchDir      = "asked" // of the files that the watcher creates
	vouchProtocol = 1       // changes with the meaning of a question or an answer, and with what counts as a session file
	vouchWait     = 20 * time.Millisecond
)

// question is what a command asks. A watcher answers only if its own is the same.
type question struct {
	Protocol int
	Schema   int
	MaxLine  int64
	Roots    []adapter.Root
}

func (o Options) question() question {
	q := question{Protocol: vouchProtocol, Schema: index.SchemaVersion, MaxLine: adapter.MaxLine(o.Adapter)}
	for _, r := range o.Roots {
		q.Roots = append(q.Roots, adapter.Root{Path: r.Path, Agent: r.Agent, Follow: r.Follow})
	}
	return q
}

func (q question) equal(p question) bool {
	return q.Protocol == p.Protocol && q.Schema == p.Schema && q.MaxLine == p.MaxLine && slices.Equal(q.Roots, p.Roots)
}

// answer says that a generation has every line of all files, unless Generation is 0.
type answer struct {
	Generation uint64
	Files      int
	Roots      []rootID // of the directories that are watched, in the order of the roots
}

// rootID identifies the directory at the path of a root.
type rootID struct{ Dev, Inode uint64 }

// rootIDs returns the directories at the roots; ok is false if one is missing, or if the
// system may not report all changes below it.
func rootIDs(roots []adapter.Root) (ids []rootID, ok bool) {
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
		if err != nil || !reportsChanges(real) {
			return nil, false
		}
		if slices.ContainsFunc(mounts, func(m string) bool { return m != real && within(m, real) }) {
			return nil, false
		}
		id, ok := identity(info)
		if !ok {
			return nil, false
		}
		ids = append(ids, rootID{id.dev, id.inode})
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

// vouched asks the watcher of the index, if there is one, whether a generation has all
// files; nil if it does not say so at once.
func (o Options) vouched() *answer {
	socket := filepath.Join(o.Dir, vouchSocket)
	if _, err := os.Lstat(socket); err != nil {
		return nil
	}
	c, err := net.DialTimeout("unix", socket, vouchWait)
	if err != nil {
		return nil // the watcher has died
	}
	defer c.Close()
	defer time.AfterFunc(vouchWait, func() { c.Close() }).Stop()
	var a answer
	if json.NewEncoder(c).Encode(o.question()) != nil || json.NewDecoder(c).Decode(&a) != nil {
		return nil
	}
	// A directory above the roots may have been renamed, which the watcher cannot see.
	if ids, ok := rootIDs(o.Roots); !ok || a.Generation == 0 || !slices.Equal(ids, a.Roots) {
		return nil
	}
	return &a
}

// asked is a question that waits for the watcher.
type asked struct {
	question
	answer chan<- answer
}

// voucher accepts questions to a watcher. Its zero value accepts none.
type voucher struct {
	listener *net.UnixListener
	root     *os.Root // of the index
	dir      string
	asked    chan asked
	count    int
	waiting  map[string]asked // by the file that was created for it
}

// open accepts questions for the index in a directory, whose watcher this process is.
func (v *voucher) open(root *os.Root) error {
	v.root, v.dir = root, filepath.Join(root.Name(), vouchDir)
	v.asked, v.waiting = make(chan asked), make(map[string]asked)
	err := errors.Join(layout.Remove(root, vouchDir), layout.Mkdir(root, vouchDir), layout.Remove(root, vouchSocket))
	if err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(root.Name(), vouchSocket), Net: "unix"})
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
	return root.Chmod(vouchSocket, 0o600)
}

// serve answers one question.
func (v *voucher) serve(c net.Conn) {
	defer c.Close()
	deadline := time.NewTimer(vouchWait)
	defer deadline.Stop()
	defer time.AfterFunc(vouchWait, func() { c.Close() }).Stop()
	var q question
	if json.NewDecoder(c).Decode(&q) != nil {
		return
	}
	answers := make(chan answer, 1)
	select {
	case v.asked <- asked{q, answers}:
	case <-deadline.C:
		return // the watcher is busy
	}
	select {
	case a := <-answers:
		_ = json.NewEncoder(c).Encode(a)
	case <-deadline.C:
	}
}

func (v *voucher) close() {
	if v.listener != nil {
		v.listener.Close()
	}
	if v.root != nil {
		_ = errors.Join(layout.Remove(v.root, vouchSocket), layout.Remove(v.root, vouchDir))
	}
}

// vouchStart accepts questions, where the events of the system are in one order.
func (w *watcher) vouchStart() {
	if runtime.GOOS != "linux" {
		return
	}
	if err := w.voucher.open(w.presence.root); err != nil {
		w.logger().Debug("accept questions", "error", err)
	}
}

// ask creates the file whose event shows that all events before it were seen.
func (w *watcher) ask(q asked, h *hints) {
	v := &w.voucher
	if !w.sure(h) || !q.equal(w.question()) {
		q.answer <- answer{}
		return
	}
	v.count++
	name := path.Join(vouchDir, fmt.Sprint(v.count))
	path := filepath.Join(v.root.Name(), name)
	f, err := v.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		v.waiting[path] = q
		err = errors.Join(f.Close(), v.root.Remove(name))
	}
	if err != nil {
		delete(v.waiting, path)
		q.answer <- answer{}
	}
}

// vouch answers a question when the event of its file arrives. It reports whether the
// event was one.
func (w *watcher) vouch(e fsnotify.Event, h *hints) bool {
	q, ok := w.voucher.waiting[e.Name]
	if !ok {
		return false
	}
	delete(w.voucher.waiting, e.Name)
	if !w.sure(h) {
		q.answer <- answer{}
		return true
	}
	q.answer <- answer{Generation: w.keeper.generation, Files: len(w.found.Files), Roots: w.roots}
	return true
}

// sure reports whether the index has everything that the events seen so far report, and
// every change causes an event.
func (w *watcher) sure(h *hints) bool {
	return w.ready && !w.polling && w.failing == "" && w.fails == 0 && w.waiting.IsZero() && // it works
		!h.all && !h.verify && len(h.files) == 0 && len(h.moved) == 0 && // nothing is to be indexed
		len(w.told) == 0 && len(w.untold) == 0 && !w.blind && w.roots != nil
}

// see records, after a look at all files, whether changes may come without an event.
// before is what the roots were before that.
func (w *watcher) see(before []rootID, complete bool) {
	ids, ok := rootIDs(w.Roots)
	if !ok || !complete || !slices.Equal(ids, before) {
		ids = nil
	}
	w.roots = ids
	watched := set(w.notifier.WatchList())
	w.blind = w.found.Aliased || len(w.found.Unreadable) > 0 || !watched[w.voucher.dir] ||
		slices.ContainsFunc(w.found.Dirs, func(d string) bool { return !watched[d] }) ||
		slices.ContainsFunc(w.found.Roots, func(r RootState) bool { return r.Err != nil })
}
