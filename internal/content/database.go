package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/lite"
)

// A Database reads the databases of an agent. Each session in one is a virtual file of lines, at
// DATABASE/ID.jsonl, where no other file can be. Its text may only grow at its end as long as
// the agent only adds to the session. DATABASE/names.jsonl has the names of the sessions.
type Database interface {
	// Name is that of the agent: see adapter.Agent.
	Name() string
	// Owns reports, by its tables, whether a database is of the agent.
	Owns(db *lite.DB) bool
	// Sessions lists the sessions.
	Sessions(db *lite.DB) iter.Seq2[Session, error]
	// Lines returns the lines of a session. Each ends with a newline, but the last one has none if it may
	// still change.
	Lines(db *lite.DB, id string) iter.Seq2[[]byte, error]
}

// Session is what a database says of a session beside its lines.
type Session struct {
	ID     string
	Parent string // the session that it works for, as a subagent
	Title  string // as a person or the agent named it
	Begun  int64  // when it was begun, in Unix milliseconds
	Time   int64  // when it was changed
	Size   int64  // about as many bytes of text
	Mark   string // of all that its lines may depend on
}

const (
	names     = "names" // the file with the names of sessions; its id is ""
	extension = ".jsonl"
)

var agents sync.Map // name → Database

// Reads makes Open read the databases of an agent.
func Reads(d Database) { agents.LoadOrStore(d.Name(), d) }

// virtualPath returns the path of a session in a database.
func virtualPath(database, id string) string {
	name := strings.ReplaceAll(url.PathEscape(id), "%", "=")
	switch {
	case id == "":
		name = names
	case id == names, id[0] == '.':
		name = fmt.Sprintf("=%02X%s", id[0], name[1:])
	}
	return filepath.Join(database, name+extension)
}

// database is an open database of an agent at one moment.
type database struct {
	Database
	db       *lite.DB
	path     string
	sessions map[string]*Session
	names    []byte

	// Guarded by databases.mu.
	users int
	stale bool
}

// databases are those that are open, by path. Those without users are closed after a while.
var databases struct {
	mu     sync.Mutex
	open   map[string]*database
	ending bool // end will be called
}

// tries is how often a database is read before a writer counts as too busy.
const tries = 5

// use returns a database as it is now. release ends the use.
func use(path string) (*database, error) {
	s := &databases
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[path]; d != nil {
		if d.db.IsCurrent() {
			d.users++
			return d, nil
		}
		d.leave()
	}
	var err error
	for range tries {
		d := &database{path: path, users: 1}
		if err = d.read(); err == nil {
			if s.open == nil {
				s.open = make(map[string]*database)
			}
			s.open[path] = d
			return d, nil
		}
		if !errors.Is(err, lite.ErrBusy) && !errors.Is(err, lite.ErrDamaged) {
			break
		}
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: err}
}

// read opens the database and lists its sessions.
func (d *database) read() (err error) {
	if d.db, err = lite.Open(d.path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.db.Close()
		}
	}()
	for _, a := range agents.Range {
		if a := a.(Database); a.Owns(d.db) {
			d.Database = a
		}
	}
	d.sessions = make(map[string]*Session)
	if d.Database == nil {
		return d.db.Check()
	}
	for s, err := range d.Sessions(d.db) {
		if err != nil {
			return err
		}
		if s.ID != "" {
			d.sessions[s.ID] = &s
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.sessions)) {
		if s := d.sessions[id]; s.Title != "" {
			line, err := json.Marshal(struct {
				ID    string `json:"id"`
				Name  string `json:"name"`
				Begun int64  `json:"begun"`
			}{id, s.Title, s.Begun})
			if err != nil {
				return err
			}
			d.names = append(append(d.names, line...), '\n')
		}
	}
	return d.db.Check()
}

// leave takes the database out of those that are open.
func (d *database) leave() {
	if databases.open[d.path] == d {
		delete(databases.open, d.path)
	}
	if d.stale = true; d.users == 0 {
		d.db.Close()
	}
}

func (d *database) release() {
	s := &databases
	s.mu.Lock()
	defer s.mu.Unlock()
	switch d.users--; {
	case d.users > 0:
	case d.stale:
		d.db.Close()
	case runtime.GOOS == "windows": // its agent could not remove the log
		d.leave()
	case !s.ending:
		s.ending = true
		time.AfterFunc(idle, end)
	}
}

// end closes the databases that nobody uses.
func end() {
	s := &databases
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = false
	for _, d := range s.open {
		if d.users == 0 {
			d.leave()
		} else if !s.ending {
			s.ending = true
			time.AfterFunc(idle, end)
		}
	}
}

// A Virtual is a file of a session in a database, or of the names of all.
type Virtual struct {
	Path   string
	Agent  string // as of Database.Name
	Notes  bool   // it has the names
	Parent string
	size   int64
	time   time.Time
	mark   int64
}

// Virtuals lists the files in a database. There are none if it is of no agent.
func Virtuals(path string) ([]Virtual, error) {
	d, err := use(path)
	if err != nil {
		return nil, err
	}
	defer d.release()
	list := make([]Virtual, 0, len(d.sessions)+1)
	for id := range d.sessions {
		list = append(list, d.virtual(id))
	}
	if d.names != nil {
		list = append(list, d.virtual(""))
	}
	return list, nil
}

// virtual returns the file of a session, or with "" that of the names.
func (d *database) virtual(id string) Virtual {
	v := Virtual{Path: virtualPath(d.path, id), Agent: d.Name(), Notes: id == "", size: int64(len(d.names)), time: time.UnixMilli(0)}
	hash := xxhash.Sum64(d.names)
	if s := d.sessions[id]; s != nil {
		v.Parent, v.size, v.time, hash = s.Parent, s.Size, time.UnixMilli(s.Time), xxhash.Sum64String(s.Mark)
	}
	v.mark = int64(hash&(1<<40-1)) + 1
	return v
}

// A Virtual is the fs.FileInfo of itself. What tells its versions apart is a mark: see Mark.
func (v *Virtual) Name() string       { return filepath.Base(v.Path) }
func (v *Virtual) Size() int64        { return v.size } // about
func (v *Virtual) Mode() fs.FileMode  { return 0o400 }
func (v *Virtual) ModTime() time.Time { return v.time }
func (v *Virtual) IsDir() bool        { return false }
func (v *Virtual) Sys() any           { return v }

// Mark returns a small positive number that is another one if the text may be.
func (v *Virtual) Mark() int64 { return v.mark }

// StatVirtual returns the virtual file at a path; the error is fs.ErrNotExist if there is none.
func StatVirtual(path string) (*Virtual, error) {
	missing := &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	dir := filepath.Dir(path)
	if !strings.HasSuffix(path, extension) {
		return nil, missing
	}
	if info, err := os.Stat(dir); err != nil || !info.Mode().IsRegular() {
		return nil, missing
	}
	d, err := use(dir)
	if err != nil {
		return nil, err
	}
	defer d.release()
	id, ok := d.id(path)
	if !ok {
		return nil, missing
	}
	v := d.virtual(id)
	return &v, nil
}

// IsVirtual reports whether a path is that of a file in a database, which may be gone.
func IsVirtual(path string) bool {
	return slices.Contains([]string{".sqlite", ".db"}, filepath.Ext(filepath.Dir(path)))
}

// id returns the id of the session at a path.
func (d *database) id(path string) (id string, ok bool) {
	name := strings.TrimSuffix(filepath.Base(path), extension)
	if name == names {
		return "", d.names != nil
	}
	id, err := url.PathUnescape(strings.ReplaceAll(name, "=", "%"))
	return id, err == nil && d.sessions[id] != nil
}

// rendering is the text of a virtual file from its beginning on. Bytes that were not of one moment
// are read again, from the database as it is then: if the text before them is still the same, nobody
// notices.
type rendering struct {
	path string
	of   *database
	next func() ([]byte, error, bool)
	stop func()
	rest []byte
	read int64         // bytes
	hash xxhash.Digest // of them
	left int           // tries
}

func (r *rendering) begin() (err error) {
	r.close()
	if r.of, err = use(filepath.Dir(r.path)); err != nil {
		return err
	}
	id, ok := r.of.id(r.path)
	lines := r.of.Lines
	switch {
	case !ok:
		return &fs.PathError{Op: "read", Path: r.path, Err: fs.ErrNotExist}
	case id == "":
		lines = func(*lite.DB, string) iter.Seq2[[]byte, error] {
			return func(yield func([]byte, error) bool) { yield(r.of.names, nil) }
		}
	}
	r.next, r.stop = iter.Pull2(lines(r.of.db, id))
	r.rest = nil
	return nil
}

func (r *rendering) close() {
	if r.of != nil {
		if r.stop != nil {
			r.stop()
		}
		r.of.release()
	}
	r.of, r.stop = nil, nil
}

// Read implements io.Reader.
func (r *rendering) Read(b []byte) (n int, err error) {
	for len(r.rest) == 0 {
		line, err, ok := r.next()
		if err == nil && ok {
			r.rest = line
			continue
		}
		if err == nil {
			err = r.of.db.Check()
		}
		switch {
		case err == nil:
			return 0, io.EOF
		case r.left == 0 || !errors.Is(err, lite.ErrBusy) && !errors.Is(err, lite.ErrDamaged):
			return 0, &fs.PathError{Op: "read", Path: r.path, Err: err}
		}
		if err := r.again(); err != nil {
			return 0, err
		}
	}
	n = copy(b, r.rest)
	r.hash.Write(b[:n])
	r.rest, r.read = r.rest[n:], r.read+int64(n)
	return n, nil
}

// again begins anew, and goes on where it was if the text before is the same.
func (r *rendering) again() error {
	want, at := r.hash.Sum64(), r.read
	if d := r.of; d.db.IsCurrent() { // it may have been read while pages moved
		databases.mu.Lock()
		d.leave()
		databases.mu.Unlock()
	}
	if err := r.begin(); err != nil {
		return err
	}
	r.left--
	r.hash.Reset()
	r.read = 0
	if _, err := io.CopyN(io.Discard, r, at); err != nil || r.hash.Sum64() != want {
		return &fs.PathError{Op: "read", Path: r.path, Err: errors.Join(lite.ErrBusy, err)}
	}
	return nil
}

// same reports whether a text is of the same virtual file.
func (v *Virtual) same(info fs.FileInfo) bool {
	o, ok := info.(*Virtual)
	return ok && o.Path == v.Path && o.mark == v.mark && o.time.Equal(v.time)
}
