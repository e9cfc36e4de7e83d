package indexer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// File is a session file as the disk has it.
type File struct {
	Path  string // as found below its root, absolute
	Size  int64
	Mtime int64 // nanoseconds
	Ctime int64 // nanoseconds, 0 where the system has none
	Dev   uint64
	Inode uint64 // 0 where the system has none
	Err   error  // the file is there and cannot be used
}

// RootState is what was found at a root.
type RootState struct {
	adapter.Root
	Files int   // found below it; a file below two roots counts in both
	Err   error // the root is missing, unreadable or not a directory
}

// Found is the outcome of looking for session files.
type Found struct {
	Files []File // each real file once, ordered by path
	Roots []RootState
	// Unreadable holds the directories that could not be listed; files that
	// lie in them are neither new nor gone.
	Unreadable []DirError
	// Dirs holds the directories that were looked into, each real one once, but
	// for the agent directories, of which little is looked at.
	Dirs   []string
	agents []string
}

// DirError is a directory that could not be listed.
type DirError struct {
	Dir string
	Err error
}

// The directories of an agent directory that hold session files.
var agentSubdirs = []string{"sessions", "subagent-sessions"}

// headerSearch bounds how far a file lying directly in an agent directory is
// read in search of a session header.
const headerSearch = 1 << 20

// Discover finds the session files below the roots: every regular *.jsonl,
// recursively, through hidden and symbolically linked directories, each real
// file once. Of an agent directory (one that has a sessions directory) only its
// session directories count, and top-level files that begin with a session
// header; nothing else in it is looked at.
func Discover(a adapter.Adapter, roots []adapter.Root) *Found {
	w := &walker{adapter: a, found: &Found{}, dirs: make(map[fileID]bool)}
	for _, root := range roots {
		before := len(w.files)
		err := w.root(root.Path)
		w.note(root.Path, err)
		w.found.Roots = append(w.found.Roots, RootState{Root: root, Files: len(w.files) - before, Err: err})
	}
	w.statAll()
	w.found.Files = unique(w.files)
	return w.found
}

type fileID struct{ dev, inode uint64 }

type candidate struct {
	File
	linked bool // reached through a symbolic link
}

type walker struct {
	adapter adapter.Adapter
	found   *Found
	files   []candidate
	dirs    map[fileID]bool // directories seen, against loops of links
}

func (w *walker) root(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "read", Path: path, Err: errors.New("not a directory")}
	}
	if sub, err := os.Stat(filepath.Join(path, agentSubdirs[0])); err == nil && sub.IsDir() {
		return w.agentDir(path)
	}
	return w.dir(path, info, false)
}

func (w *walker) agentDir(path string) error {
	w.found.agents = append(w.found.agents, path)
	for _, name := range agentSubdirs {
		dir := filepath.Join(path, name)
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.IsDir() {
			err = w.dir(dir, info, false)
		}
		w.note(dir, err)
	}
	// Names only: listing with types may stat files that are none of ours.
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		file := filepath.Join(path, name)
		if isSession(name) && w.beginsWithHeader(file) {
			w.file(file, false)
		}
	}
	return err
}

func (w *walker) dir(path string, info fs.FileInfo, linked bool) error {
	if id, ok := identity(info); ok {
		if w.dirs[id] {
			return nil
		}
		w.dirs[id] = true
	}
	w.found.Dirs = append(w.found.Dirs, path)
	entries, err := os.ReadDir(path)
	var links []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			links = append(links, name)
		case e.IsDir():
			w.subdir(name, linked)
		case isSession(name) && e.Type().IsRegular():
			w.file(name, linked)
		}
	}
	// Links last, so that a directory is entered by its own name if it has one
	// below this root.
	for _, name := range links {
		target, statErr := os.Stat(name)
		switch {
		case statErr != nil: // dangling
		case target.IsDir():
			w.subdir(name, true)
		case isSession(name) && target.Mode().IsRegular():
			w.file(name, true)
		}
	}
	return err
}

func (w *walker) subdir(path string, linked bool) {
	info, err := os.Stat(path)
	if err == nil {
		err = w.dir(path, info, linked)
	}
	w.note(path, err)
}

func (w *walker) note(dir string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.found.Unreadable = append(w.found.Unreadable, DirError{dir, err})
	}
}

func (w *walker) file(path string, linked bool) {
	w.files = append(w.files, candidate{File{Path: path}, linked})
}

// statAll looks at the files found, on all cores; those that have gone
// meanwhile are left out.
func (w *walker) statAll() {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				end := next.Add(statChunk)
				for i := end - statChunk; i < min(end, int64(len(w.files))); i++ {
					f := &w.files[i].File
					var info fs.FileInfo
					if info, f.Err = os.Stat(f.Path); f.Err == nil {
						f.setStat(info)
					}
				}
				if end >= int64(len(w.files)) {
					return
				}
			}
		})
	}
	wg.Wait()
	w.files = slices.DeleteFunc(w.files, func(c candidate) bool { return errors.Is(c.Err, fs.ErrNotExist) })
}

const statChunk = 64

// setStat takes the facts that tell whether a file has changed.
func (f *File) setStat(info fs.FileInfo) {
	f.Size, f.Mtime = info.Size(), info.ModTime().UnixNano()
	f.Ctime = changeTime(info)
	if id, ok := identity(info); ok {
		f.Dev, f.Inode = id.dev, id.inode
	}
}

// unique keeps one path of each real file: one without links before one with,
// then the first in order.
func unique(files []candidate) []File {
	slices.SortFunc(files, func(a, b candidate) int {
		if a.linked != b.linked {
			if b.linked {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	paths := make(map[string]bool, len(files))
	ids := make(map[fileID]bool, len(files))
	var list []File
	for _, c := range files {
		id := fileID{c.Dev, c.Inode}
		if paths[c.Path] || c.Inode != 0 && ids[id] {
			continue
		}
		paths[c.Path], ids[id] = true, true
		list = append(list, c.File)
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

func isSession(name string) bool { return strings.HasSuffix(name, ".jsonl") }

// beginsWithHeader reports whether the first line of the file that is not blank
// is a session header.
func (w *walker) beginsWithHeader(path string) bool {
	f, err := openSession(path)
	if err != nil {
		return false
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, headerSearch))
	parser := w.adapter.Parse(adapter.State{})
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			parser.Parse(adapter.Line{Data: text, Raw: line, Number: n, Ended: err == nil}, func(*session.Entry) {})
			return parser.State().Header.Version != 0
		}
		if err != nil {
			return false
		}
	}
}
