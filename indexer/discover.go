package indexer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index/record"
	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/session"
	"pigrep/keep"
)

// File is a session file on disk.
type File struct {
	Path   string // as found below its root, absolute, without the suffix of a compression
	Size   int64  // as it is stored
	Mtime  int64  // nanoseconds
	Ctime  int64  // nanoseconds, 0 if the system has none
	Dev    uint64
	Inode  uint64 // 0 if the system has none
	Packed bool   // its name has the suffix
	Kept   bool   // it is gone; the rest is what it was when it was copied to the archive
	Err    error  // why the file exists but cannot be used
}

// RootState is what was found at a root.
type RootState struct {
	adapter.Root
	Files int   // below it; a file below two roots counts in both
	Err   error // the root is missing, unreadable or not a directory
}

// Found is the result of discovery.
type Found struct {
	Limits adapter.Limits

	Files []File // each real file once, ordered by path
	Roots []RootState
	// Unreadable lists the directories that could not be read; files in them
	// are neither new nor gone.
	Unreadable []FileError
	// Outside lists the symbolic links to directories and session files that were not
	// followed, because they lead out of the session directories of all roots.
	Outside []string
	// Dirs lists the directories that were read, each real one once, without the roots
	// that have a layout.
	Dirs    []string
	layouts []rootLayout // of these roots
	Unkept  error        // why what is kept could not be listed
	// Revisions are those of the agents' parsers: see adapter.Agent.
	Revisions map[string]int
}

// rootLayout says what is below a root; with a nil Layout, every *.jsonl is a session.
type rootLayout struct {
	path string
	adapter.Layout
}

// sort says what the file with a logical path is: by the layout of the root above it, else by its name.
func (f *Found) sort(path string) adapter.Sort {
	if f == nil {
		return sortOf(path)
	}
	for _, l := range f.layouts {
		if strings.HasPrefix(path, l.path+string(filepath.Separator)) {
			return l.sort(path)
		}
	}
	return sortOf(path)
}

// isOfDatabase reports whether a path is that of a database with sessions, or of its log.
func (f *Found) isOfDatabase(path string) bool {
	return f.sort(strings.TrimSuffix(strings.TrimSuffix(path, "-wal"), "-journal")) == adapter.Database
}

// sort says what the file with a logical path below the root is.
func (l rootLayout) sort(path string) adapter.Sort {
	if l.Layout == nil {
		return sortOf(path)
	}
	sort := l.File(slashed(path[len(l.path)+1:]))
	if dir := filepath.Dir(path); sort == adapter.Foreign && len(dir) > len(l.path) && l.File(slashed(dir[len(l.path)+1:])) == adapter.Database {
		return sortOf(path) // it is in the database
	}
	return sort
}

func sortOf(path string) adapter.Sort {
	if strings.HasSuffix(path, extension) {
		return adapter.Transcript
	}
	return adapter.Foreign
}

// concerns reports whether a name in the root of a layout may be a place of sessions.
func (l rootLayout) concerns(name string) bool {
	return l.mayEnter(name) || l.File([]byte(content.Logical(name))) != adapter.Foreign
}

// mayEnter reports whether sessions may be below a name in the root.
func (l rootLayout) mayEnter(name string) bool {
	if h, ok := l.Layout.(homeAndMore); ok && !h.home.Enter([]byte(name)) && h.Enter([]byte(name)) {
		info, err := os.Lstat(filepath.Join(l.path, name)) // a link would lead out
		return err == nil && info.IsDir()
	}
	return l.Enter([]byte(name))
}

func slashed(path string) []byte { return []byte(filepath.ToSlash(path)) }

func newFound(a adapter.Adapter) *Found {
	f := &Found{Limits: adapter.LimitsOf(a), Revisions: make(map[string]int)}
	for _, agent := range adapter.Agents(a) {
		f.Revisions[agent.Name()] = agent.Revision()
	}
	return f
}

// isCurrent reports whether files are still read as by this reader.
func (f *Found) isCurrent(r record.Reader) bool {
	revision, ok := f.Revisions[r.Agent]
	return len(f.Revisions) == 0 || ok && revision == r.Revision
}

// fits reports whether the same text would be left out of a file.
func (f *Found) fits(c *session.Checkpoint) bool { return c.Fits(f.Limits.Line, f.Limits.Text) }

// find returns the place of a file in the list.
func (f *Found) find(path string) (at int, ok bool) {
	return slices.BinarySearchFunc(f.Files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
}

// Errors lists the files and directories that cannot be read.
func (f *Found) Errors() []FileError {
	list := slices.Clone(f.Unreadable)
	if f.Unkept != nil {
		list = append(list, FileError{Path: "kept sessions", Err: f.Unkept})
	}
	for _, file := range f.Files {
		if file.Err != nil {
			list = append(list, FileError{Path: file.Path, Err: file.Err})
		}
	}
	return list
}

// Discover finds the session files below the roots: every regular file that the layout of
// the root says, or *.jsonl, recursively, including hidden and symbolically linked
// directories, each real file once. Links that lead out of the session directories count
// only if their root says so. Files that are gone come from the archive, nil for none.
func Discover(a adapter.Adapter, roots []adapter.Root, archive *keep.Archive) *Found {
	w := &walker{adapter: a, roots: roots, found: newFound(a), dirs: make(map[fileID]bool)}
	w.statting.SetLimit(maxListings)
	for _, root := range roots {
		w.layouts = append(w.layouts, layoutOf(a, root))
	}
	for i, root := range roots {
		before := w.count
		w.follow, w.layout = root.Follow, rootLayout{filepath.Clean(root.Path), w.layouts[i]}
		err := w.root()
		w.note(root.Path, err)
		w.found.Roots = append(w.found.Roots, RootState{Root: root, Files: w.count - before, Err: err})
	}
	_ = w.statting.Wait() // the errors are those of the files
	w.found.Files = w.unique()
	w.found.addKept(archive)
	return w.found
}

// fileID identifies a file or directory, by whatever name.
type fileID struct{ Dev, Inode uint64 }

// maxListings is the number of directories that are open while their files are statted.
const maxListings = 16

type walker struct {
	adapter  adapter.Adapter
	roots    []adapter.Root
	layouts  []adapter.Layout // of the roots; nil for those without one
	layout   rootLayout       // of the current root
	follow   bool             // of the current root: follow links that lead out
	inside   []string         // real paths of the session directories of all roots; nil until the first link
	found    *Found
	count    int             // of session files, counting every name of a file
	dirs     map[fileID]bool // directories seen; breaks loops of links
	statting errgroup.Group
	listed   []*listing
}

// listing is the session files in a directory, or one file that was found by itself.
type listing struct {
	dir     *os.File // closed by stat
	prefix  string   // of the paths of its files
	paths   []string
	linked  bool   // reached through a symbolic link
	files   []File // the files that still exist, by path
	aliased bool   // one of them may have another name
}

func (w *walker) root() error {
	path := w.layout.path
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "read", Path: path, Err: errors.New("not a directory")}
	}
	if w.layout.Layout != nil {
		return w.home()
	}
	return w.dir(path, false)
}

// layoutOf returns the layout of a root: its own, or the layout of an agent's home directory if
// it is one.
func layoutOf(a adapter.Adapter, root adapter.Root) adapter.Layout {
	if root.Layout != nil {
		return root.Layout
	}
	l := homeOf(a, root)
	if l != nil && root.Agent == "" && isCollection(root.Path, l) {
		return homeAndMore{l}
	}
	return l
}

// isCollection reports whether a directory that looks like the home of an agent has none of
// the files that agents keep beside their sessions: settings, credentials, databases. They are
// at its top, or in the directories there that hold sessions.
func isCollection(dir string, home adapter.Layout) bool {
	entries, err := os.ReadDir(dir)
	tops := []string{dir}
	for _, e := range entries {
		if e.IsDir() && home.Enter([]byte(e.Name())) {
			tops = append(tops, filepath.Join(dir, e.Name()))
		}
	}
	return err == nil && !slices.ContainsFunc(tops, func(dir string) bool {
		entries, err := os.ReadDir(dir)
		return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Type().IsRegular() && sortOf(content.Logical(e.Name())) == adapter.Foreign // it cannot be a session
		})
	})
}

// homeAndMore is the layout of a collection of sessions of which some lie as in the home
// directory of an agent. In its other directories, every *.jsonl that an agent recognizes is one.
type homeAndMore struct{ home adapter.Layout }

func (l homeAndMore) Enter(dir []byte) bool {
	return l.home.Enter(dir) || dir[0] != '.' && !bytes.Contains(dir, []byte("/.")) && !l.ofHome(dir)
}

func (l homeAndMore) File(path []byte) adapter.Sort {
	sort := l.home.File(path)
	if sort == adapter.Foreign && bytes.HasSuffix(path, []byte(extension)) && bytes.IndexByte(path, '/') > 0 && !l.ofHome(path) {
		return adapter.Loose
	}
	return sort
}

// ofHome reports whether a path is in a directory with sessions of the agent.
func (l homeAndMore) ofHome(path []byte) bool {
	first, _, _ := bytes.Cut(path, []byte("/"))
	return l.home.Enter(first)
}

// homeOf returns the layout of the home directory of an agent if a root is one.
func homeOf(a adapter.Adapter, root adapter.Root) adapter.Layout {
	has := func(name string) bool {
		if strings.Contains(name, "*") {
			found, _ := fs.Glob(os.DirFS(root.Path), strings.TrimSuffix(name, "/")) // the patterns are well formed
			return len(found) > 0
		}
		info, err := os.Stat(filepath.Join(root.Path, filepath.FromSlash(name)))
		return err == nil && info.IsDir() == strings.HasSuffix(name, "/")
	}
	agents := adapter.Agents(a)
	var empty adapter.Layout // of the first agent that may keep sessions there, while none has any
	looked := false
	for _, agent := range agents {
		h, ok := agent.(adapter.Homed)
		if !ok || root.Agent != "" && root.Agent != agent.Name() {
			continue
		}
		l := h.Home(has)
		if l == nil {
			continue
		}
		if len(agents) == 1 || root.Agent != "" {
			return l
		}
		found, looks := keeps(agent, rootLayout{filepath.Clean(root.Path), l})
		if found {
			return l
		}
		looked = looked || looks > 0
		if empty == nil {
			empty = l
		}
	}
	if looked {
		return nil
	}
	return empty
}

// maxHeads is the number of files that keeps examines.
const maxHeads = 20

// keeps reports whether an agent recognizes one of the first files in what may be its home
// directory, and how many others are before it.
func keeps(agent adapter.Agent, l rootLayout) (found bool, looks int) {
	// Errors are reported by indexing.
	_ = filepath.WalkDir(l.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == l.path {
			return nil
		}
		path = content.Logical(path)
		rel := slashed(path[len(l.path)+1:])
		switch {
		case d.IsDir() && !l.Enter(rel):
			return filepath.SkipDir
		case !d.Type().IsRegular():
		case l.File(rel) == adapter.Database:
			list, _ := content.Virtuals(path)
			if found = slices.ContainsFunc(list, func(v content.Virtual) bool { return v.Agent == agent.Name() }); found {
				return filepath.SkipAll
			}
		case l.File(rel) != adapter.Transcript:
		case agent.Recognize(headOf(path)) != adapter.Foreign:
			found = true
			return filepath.SkipAll
		default:
			if looks++; looks == maxHeads {
				return filepath.SkipAll
			}
		}
		return nil
	})
	return found, looks
}

// headOf returns the start of a session file, nil if it cannot be read.
func headOf(path string) []byte {
	f, err := content.Open(path, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, adapter.HeadLength)
	n, _ := f.ReadAt(head, 0)
	return head[:n]
}

// leadsOut reports whether a link to a file or directory leads out of the session
// directories and must not be followed. beside is the directory whose files are sessions
// as well; "" for none.
func (w *walker) leadsOut(link, beside string) bool {
	real, err := filepath.EvalSymlinks(link)
	if w.follow || err != nil {
		return false
	}
	if w.inside == nil {
		for i, root := range w.roots {
			dirs := []string{"."}
			l := w.layouts[i]
			if h, ok := l.(homeAndMore); ok {
				l = h.home
			}
			if l != nil {
				names, _ := namesIn(root.Path) // an error is reported by home
				dirs = slices.DeleteFunc(names, func(name string) bool { return !l.Enter([]byte(name)) })
			}
			for _, name := range dirs {
				if real, err := filepath.EvalSymlinks(filepath.Join(root.Path, name)); err == nil {
					w.inside = append(w.inside, real)
				}
			}
		}
	}
	if slices.ContainsFunc(w.inside, func(dir string) bool { return within(real, dir) }) {
		return false
	}
	if beside, err = filepath.EvalSymlinks(beside); err == nil && filepath.Dir(real) == beside {
		return false
	}
	w.found.Outside = append(w.found.Outside, link)
	return true
}

// namesIn returns the names in a directory, in order. Listing it with types may stat files.
func namesIn(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// home finds what the layout of a root names. Nothing else is touched.
func (w *walker) home() error {
	w.found.layouts = append(w.found.layouts, w.layout)
	names, err := namesIn(w.layout.path)
	for _, name := range names {
		path := filepath.Join(w.layout.path, name)
		if w.layout.mayEnter(name) {
			info, err := os.Stat(path)
			if err == nil && info.IsDir() {
				w.note(path, w.dir(path, false))
				continue
			}
			w.note(path, err)
		}
		if sort := w.layout.File([]byte(content.Logical(name))); sort != adapter.Foreign {
			w.top(path, sort)
		}
	}
	return err
}

// top adds a file directly in a root with a layout.
func (w *walker) top(path string, sort adapter.Sort) {
	own, err := os.Lstat(path)
	linked := err == nil && own.Mode()&fs.ModeSymlink != 0
	if linked && w.leadsOut(path, w.layout.path) || sort == adapter.Loose && !w.isRecognized(path) {
		return
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return
	}
	if sort == adapter.Database {
		w.database(path, linked)
		return
	}
	w.file(path, info, err, linked)
}

// database adds the sessions in a database.
func (w *walker) database(path string, linked bool) {
	list, err := content.Virtuals(path)
	w.note(path, err)
	l := &listing{linked: linked, files: make([]File, 0, len(list))}
	for i := range list {
		f := File{Path: list[i].Path}
		f.setStat(&list[i])
		l.files = append(l.files, f)
	}
	slices.SortFunc(l.files, byPath)
	w.count += len(list)
	w.listed = append(w.listed, l)
}

func (w *walker) isDatabase(path string) bool { return w.layout.sort(path) == adapter.Database }

// isSession reports whether a regular file below the current root is one of sessions.
func (w *walker) isSession(path string) bool {
	sort := w.layout.sort(content.Logical(path))
	return sort != adapter.Foreign && (sort != adapter.Loose || w.isRecognized(path))
}

func (w *walker) isRecognized(path string) bool {
	head := headOf(content.Logical(path))
	return slices.ContainsFunc(adapter.Agents(w.adapter), func(a adapter.Agent) bool { return a.Recognize(head) != adapter.Foreign })
}

// enters reports whether sessions may be in a directory below the current root.
func (w *walker) enters(path string) bool {
	return w.layout.Layout == nil || w.layout.Enter(slashed(path[len(w.layout.path)+1:]))
}

// dir finds the session files in a directory and below it. Other goroutines stat
// them.
func (w *walker) dir(path string, linked bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if id, ok := identity(info); ok {
		if w.dirs[id] {
			return nil
		}
		w.dirs[id] = true
	}
	w.found.Dirs = append(w.found.Dirs, path)
	d, err := files.OpenNow(path)
	if err != nil {
		return err
	}
	l := &listing{dir: d, prefix: filepath.Join(path, "x"), linked: linked}
	l.prefix = l.prefix[:len(l.prefix)-1]
	var dirs, links, databases []string
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		path := l.prefix + e.Name()
		switch typ := e.Type(); {
		case typ&fs.ModeSymlink != 0:
			links = append(links, path)
		case typ.IsDir():
			if w.enters(path) {
				dirs = append(dirs, path)
			}
		case !typ.IsRegular():
		case w.isDatabase(path):
			databases = append(databases, path)
		case w.isSession(path):
			l.paths = append(l.paths, path)
		}
	}
	l.preferPlain()
	w.count += len(l.paths)
	w.listed = append(w.listed, l)
	w.statting.Go(l.stat)
	for _, path := range databases {
		w.database(path, linked)
	}
	// If a directory has several names, the first one in this order counts.
	slices.Sort(dirs)
	for _, name := range dirs {
		w.note(name, w.dir(name, linked))
	}
	// Links last, so that a directory is entered by its own name if it has one
	// below this root.
	slices.Sort(links)
	w.enter(links)
	return err
}

// enter adds what symbolic links lead to.
func (w *walker) enter(links []string) {
	for _, name := range links {
		target, statErr := os.Stat(name)
		switch {
		case statErr != nil: // dangling
		case target.IsDir():
			if w.enters(name) && !w.leadsOut(name, "") {
				w.note(name, w.dir(name, true))
			}
		case !target.Mode().IsRegular() || !w.isSession(name) || w.leadsOut(name, ""):
		case w.isDatabase(name):
			w.database(name, true)
		default:
			w.file(name, target, nil, true)
		}
	}
}

func (w *walker) note(dir string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.found.Unreadable = append(w.found.Unreadable, FileError{dir, err})
	}
}

// file adds a file whose stat is known.
func (w *walker) file(path string, info fs.FileInfo, err error, linked bool) {
	w.count++
	f := newFile(path)
	if f.Err = err; err == nil {
		f.setStat(info)
	}
	w.listed = append(w.listed, &listing{files: []File{f}, linked: linked, aliased: true})
}

func newFile(stored string) File {
	path := content.Logical(stored)
	return File{Path: path, Packed: path != stored}
}

func (f *File) stored() string {
	if f.Packed {
		return f.Path + content.Suffix
	}
	return f.Path
}

// text estimates the length of the text.
func (f *File) text() int64 {
	if f.Packed {
		return f.Size * usualRatio
	}
	return f.Size
}

// usualRatio is how many times longer the text of a compressed session is than the file.
const usualRatio = 8

// preferPlain drops compressed files beside their plain ones.
func (l *listing) preferPlain() {
	isPacked := func(path string) bool { return content.Logical(path) != path }
	if !slices.ContainsFunc(l.paths, isPacked) {
		return
	}
	plain := set(l.paths)
	l.paths = slices.DeleteFunc(l.paths, func(path string) bool { return isPacked(path) && plain[content.Logical(path)] })
}

// stat stats the files of the listing, and drops those that are gone by now.
func (l *listing) stat() error {
	start := len(l.prefix)
	slices.SortFunc(l.paths, func(a, b string) int { return strings.Compare(a[start:], b[start:]) })
	l.files = make([]File, 0, len(l.paths))
	dir := l.dir.Fd() // Fd makes a system call
	for _, path := range l.paths {
		f := newFile(path)
		var names uint64
		if names, f.Err = f.statIn(dir, path[start:]); !errors.Is(f.Err, fs.ErrNotExist) {
			l.files = append(l.files, f)
		}
		l.aliased = l.aliased || names > 1
	}
	return l.dir.Close()
}

func (f *File) setStat(info fs.FileInfo) {
	f.Size, f.Mtime = info.Size(), info.ModTime().UnixNano()
	f.Ctime = changeTime(info)
	if v, ok := info.(*content.Virtual); ok {
		f.Ctime = v.Mark()
	}
	if id, ok := identity(info); ok {
		f.Dev, f.Inode = id.Dev, id.Inode
	}
}

// unique returns one path of each real file: preferably one without links, and of
// several the first in order.
func (w *walker) unique() []File {
	files, linked := make([]File, 0, w.count), []File(nil)
	aliased := false
	for _, l := range w.listed {
		aliased = aliased || l.aliased || l.linked
		if l.linked {
			linked = append(linked, l.files...)
		} else {
			files = append(files, l.files...)
		}
	}
	slices.SortFunc(files, byPath)
	if aliased {
		slices.SortFunc(linked, byPath)
		ids := make(map[fileID]bool, w.count)
		seen := func(f File) bool {
			id := fileID{f.Dev, f.Inode}
			was := ids[id]
			ids[id] = true
			return was && f.Inode != 0
		}
		files = slices.DeleteFunc(append(files, linked...), seen)
		slices.SortFunc(files, byPath)
	}
	return slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path })
}

// byPath orders files. Of several with a path, the plain one is the first.
func byPath(a, b File) int {
	if a.Packed != b.Packed && a.Path == b.Path {
		if a.Packed {
			return 1
		}
		return -1
	}
	return strings.Compare(a.Path, b.Path)
}

const extension = ".jsonl"
