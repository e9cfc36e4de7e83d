// Package keep is an archive of session files: copies that stay when an agent deletes,
// shortens or rewrites its own files.
//
//	DIR/catalogue                        what is kept, see below
//	DIR/lock                             held by the process that changes the archive
//	DIR/claude/home/u/x/ID.jsonl~1       a copy of /home/u/x/ID.jsonl, a file of Claude Code
//	DIR/claude/home/u/x/ID.jsonl~2.zst   what it had after it was rewritten; compressed
//
// A copy is part of the archive once its row is in the catalogue, which only ever says what
// is on disk already. A process that dies leaves nothing torn. Originals are only ever
// opened for reading. If the catalogue is lost, it is made again of the copies.
package keep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/lists"
)

// Stamp is how a session file looked.
type Stamp struct {
	Size, Mtime, Ctime int64 // as it is stored, and in nanoseconds
	Inode              uint64
	Packed             bool // its name has the suffix of a compression
}

// File is a session file of an agent.
type File struct {
	Path  string // without the suffix of a compression
	Agent string // as of session.ShortAgent
	Stamp
}

// Copy is a row of the catalogue: one version of a session file.
type Copy struct {
	File          // the original, when it was copied
	Version int   // from 1; a file that was rewritten has several
	Length  int64 // of the text; -1 if that is not known
	Stored  int64 // bytes on disk
	Zstd    bool  // the copy is compressed
	State   State
	Earlier bool // there is a later version; not in the row
	Tildes  int  // more than one in the name of an earlier version, because another file is called so; not in the row
}

// State is what became of a copy.
type State string

// The states. Unless its file changes, a copy that was forgotten is not made again, and one
// that was dropped only if there is room.
const (
	Kept      State = "kept"
	Dropped   State = "dropped" // there is no room for it
	Forgotten State = "forgotten"
	removed   State = "removed" // from the catalogue
)

// Name is what the copy is called: like its original, or for a version before that was
// rewritten, ID~1.jsonl for the first one of ID.jsonl; ID~~1.jsonl if another session is called ID~1.jsonl.
func (c *Copy) Name() string {
	if !c.Earlier {
		return c.File.Path
	}
	for more := c.Tildes; ; more++ {
		if name := c.nameWith(more); !exists(name) && !exists(name+content.Suffix) {
			return name
		}
	}
}

// nameWith returns the name of an earlier version, with so many tildes more than one.
func (c *Copy) nameWith(more int) string {
	ext := filepath.Ext(c.File.Path)
	return fmt.Sprintf("%s~%s%d%s", strings.TrimSuffix(c.File.Path, ext), strings.Repeat("~", more), c.Version, ext)
}

// Gone reports whether the copy is all that is left.
func (c *Copy) Gone() bool {
	return c.Earlier || !c.hasOriginal()
}

// Lost reports whether the original is shorter than when it was copied, and so has lost text.
func (c *Copy) Lost() bool {
	path := c.File.Path
	if c.Packed {
		path += content.Suffix
	}
	info, err := os.Stat(path)
	return err == nil && info.Size() < c.Size
}

func (c *Copy) hasOriginal() bool { return exists(c.File.Path) || exists(c.File.Path+content.Suffix) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	if errors.Is(err, syscall.ENOTDIR) { // it may be in a database
		_, err = content.StatVirtual(path)
	}
	return !content.IsMissing(err)
}

// place returns the path of the copy below the directory of the archive.
func (c *Copy) place() string {
	volume := filepath.VolumeName(c.File.Path)
	dir, base := filepath.Split(c.File.Path[len(volume):])
	if len(base) > longestName {
		end := fmt.Sprintf("%016x%s", xxhash.Sum64String(base), base[len(base)-len(".jsonl"):])
		base = strings.ToValidUTF8(base[:longestName-len(end)]+end, "")
	}
	name := filepath.Join(c.Agent, strings.ReplaceAll(volume, ":", ""), dir, base+"~"+strconv.Itoa(c.Version))
	if c.Zstd {
		name += content.Suffix
	}
	return name
}

// longestName is how much of the name of an original stands in the name of its copy, which is
// longer: file systems take 255 bytes. A longer name has its hash in place of its middle.
const longestName = 255 - len("~1234.zst") - len(unwritten)

// Archive is a directory with copies. Its methods may be called by several goroutines.
type Archive struct {
	Dir string // it may be missing

	mu   sync.Mutex
	read os.FileInfo // of the catalogue when it was read
	rows []Copy      // in it; never changed
}

const (
	catalogue = "catalogue"
	lock      = "lock"
	unwritten = ".new" // ends the name of a file that is being written
)

// Copies returns what is in the catalogue, by original and version. The result must not be
// changed.
func (a *Archive) Copies() ([]Copy, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path := filepath.Join(a.Dir, catalogue)
	info, err := os.Stat(path)
	if err == nil && a.read != nil && os.SameFile(a.read, info) && a.read.Size() == info.Size() && a.read.ModTime().Equal(info.ModTime()) {
		return a.rows, nil
	}
	data, err := files.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = nil; a.rows == nil { // only looked for once
			a.rows, err = a.found()
		}
		return a.rows, err
	}
	rows, parseErr := parse(string(data))
	if err = cmp.Or(err, parseErr); err != nil {
		return nil, fmt.Errorf("the kept copies: %s: %w", path, err)
	}
	a.read, a.rows = info, rows
	return rows, nil
}

// Find returns the copy that is called like this, nil if there is none.
func (a *Archive) Find(path string) *Copy {
	rows, _ := a.Copies() // an error is reported by discovery
	for i := range rows {
		if c := &rows[i]; c.State == Kept && c.Name() == path {
			return c
		}
	}
	return nil
}

// Where returns the logical path of the kept copy of a session file; "" if there is none.
func (a *Archive) Where(path string) string {
	if c := a.Find(path); c != nil {
		return a.Place(c)
	}
	return ""
}

// Place returns the logical path of a copy.
func (a *Archive) Place(c *Copy) string { return filepath.Join(a.Dir, content.Logical(c.place())) }

// The catalogue is a text of lines that end in a newline: the first says what it is, each
// other one is a row, whose fields are separated by tabs. A later row of a copy replaces an
// earlier one. What follows the last newline does not count.
const (
	heading   = "pigrep archive 1\n"
	rowLength = 128 // without the path, about
)

func (c *Copy) line() string {
	return fmt.Sprintf("%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%t\t%d\t%d\t%t\n", strconv.Quote(c.File.Path), c.Version, c.Agent, c.State,
		c.Size, c.Mtime, c.Ctime, int64(c.Inode), c.Packed, c.Length, c.Stored, c.Zstd)
}

var errCatalogue = errors.New("it is damaged, or another version of pigrep wrote it. Without it, it is made again of the copies")

func text(rows []Copy) string {
	out := bytes.NewBufferString(heading)
	for i := range rows {
		out.WriteString(rows[i].line())
	}
	return out.String()
}

func parse(text string) ([]Copy, error) {
	text, ok := strings.CutPrefix(text, heading)
	if !ok {
		return nil, errCatalogue
	}
	rows := make([]Copy, 0, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break
		}
		c, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errCatalogue, err)
		}
		rows = append(rows, c)
	}
	return inOrder(rows), nil
}

func parseRow(line string) (c Copy, err error) {
	next := func() (field string) {
		field, line, _ = strings.Cut(line, "\t")
		return field
	}
	number := func() int64 {
		n, numberErr := strconv.ParseInt(next(), 10, 64)
		if numberErr != nil {
			err = numberErr
		}
		return n
	}
	c.File.Path, err = strconv.Unquote(next())
	c.Version, c.Agent, c.State = int(number()), next(), State(next())
	c.Size, c.Mtime, c.Ctime, c.Inode = number(), number(), number(), uint64(number())
	c.Packed, c.Length, c.Stored, c.Zstd = next() == "true", number(), number(), next() == "true"
	return c, err
}

// inOrder returns the rows that count, by original and version.
func inOrder(rows []Copy) []Copy {
	order := func(a, b Copy) int {
		return cmp.Or(strings.Compare(a.File.Path, b.File.Path), cmp.Compare(a.Version, b.Version))
	}
	if !slices.IsSortedFunc(rows, order) {
		lists.SortStable(rows, order)
	}
	kept := rows[:0]
	for i, c := range rows {
		if c.State == removed || i+1 < len(rows) && order(c, rows[i+1]) == 0 {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].File.Path == c.File.Path {
			kept[n-1].Earlier = true
		}
		kept = append(kept, c)
	}
	names := make(map[string]bool, len(kept))
	for i := range kept {
		names[kept[i].Path] = true
	}
	for i := range kept {
		if c := &kept[i]; c.Earlier {
			for names[c.nameWith(c.Tildes)] {
				c.Tildes++
			}
			names[c.nameWith(c.Tildes)] = true
		}
	}
	return kept
}

// writer changes the archive, which it has locked.
type writer struct {
	*Archive
	root *os.Root
	lock *files.Lock

	created []string     // copies that are not in their places yet
	log     bytes.Buffer // rows that are not in the catalogue yet
	stale   []string     // copies that are of no use once these are there
}

// ErrBusy says that another process is changing the copies.
var ErrBusy = errors.New("another process is changing the kept copies")

// change locks the archive. The caller ends it.
func (a *Archive) change() (*writer, error) {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(a.Dir)
	if err != nil {
		return nil, err
	}
	l, err := files.TryLock(dir, lock)
	if err == nil && l == nil {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &writer{Archive: a, root: dir, lock: l}, nil
}

// end writes what is left to write, and unlocks the archive.
func (w *writer) end() error { return errors.Join(w.flush(), w.lock.Unlock(), w.root.Close()) }

// put adds or replaces a row.
func (w *writer) put(c Copy) { w.log.WriteString(c.line()) }

func (w *writer) drop(c Copy, why State) {
	if c.State == Kept {
		w.stale = append(w.stale, c.place())
	}
	if c.Earlier {
		why = removed // nothing asks for it
	}
	c.State, c.Stored, c.Length, c.Zstd = why, 0, 0, false
	w.put(c)
}

// flush puts what was created into its place and the log into the catalogue, and then removes
// what is of no use any more.
func (w *writer) flush() error {
	if w.log.Len() == 0 {
		return nil
	}
	err := w.settle()
	if err == nil {
		err = w.write()
	}
	if err == nil {
		for _, name := range w.stale {
			_ = w.root.Remove(name) // at worst it takes up room
			for dir := filepath.Dir(name); dir != "." && w.root.Remove(dir) == nil; dir = filepath.Dir(dir) {
			}
		}
	}
	w.log.Reset()
	w.created, w.stale = nil, nil
	return err
}

// settle puts copies that are whole, and on the disk, into their places. File systems sync
// many files at a time about as fast as one.
func (w *writer) settle() error {
	var group errgroup.Group
	group.SetLimit(syncs)
	dirs := make(map[string]bool)
	for _, name := range w.created {
		dirs[filepath.Dir(name)] = true
		group.Go(func() error {
			f, err := w.root.OpenFile(name+unwritten, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				return err
			}
			return w.root.Rename(name+unwritten, name)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for dir := range dirs {
		group.Go(func() error { return files.SyncDir(filepath.Join(w.Dir, dir)) })
	}
	return group.Wait()
}

// syncs is how many files are synced at a time.
const syncs = 64

// write appends the log to the catalogue, and replaces that if most of it is of no use. A
// torn row, which a process that died left at the end, is overwritten.
func (w *writer) write() error {
	path := filepath.Join(w.Dir, catalogue)
	data, err := files.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := int64(bytes.LastIndexByte(data, '\n') + 1)
	before := string(data[:end])
	if end == 0 {
		rows, err := w.found()
		if err != nil {
			return err
		}
		before = text(slices.DeleteFunc(rows, func(c Copy) bool { return slices.Contains(w.created, c.place()) }))
	}
	rows, err := parse(before + w.log.String())
	if err != nil {
		return err
	}
	useful := int64(1 << 20) // bytes
	for i := range rows {
		useful += int64(len(rows[i].File.Path) + rowLength)
	}
	if end > 0 && end < 2*useful {
		f, err := w.root.OpenFile(catalogue, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(w.log.Bytes(), end)
		return errors.Join(err, f.Truncate(end+int64(w.log.Len())), f.Sync(), f.Close())
	}
	return files.Replace(path, 0o600, func(f io.Writer) error {
		_, err := io.WriteString(f, text(rows))
		return err
	})
}

// Forget removes these copies for good, unless they have changed since they were listed. It waits for
// other processes to finish, and returns the number and the bytes of the removed copies.
func (a *Archive) Forget(ctx context.Context, copies []Copy) (n int, size int64, err error) {
	w, err := a.change()
	for errors.Is(err, ErrBusy) && ctx.Err() == nil {
		time.Sleep(waitEach)
		w, err = a.change()
	}
	if err != nil {
		return 0, 0, err
	}
	named := make(map[Copy]bool, len(copies))
	for _, c := range copies {
		named[c] = true
	}
	rows, err := a.Copies()
	for _, c := range rows {
		if c.State != Kept || !named[c] {
			continue
		}
		n++
		size += c.Stored
		why := Forgotten
		if c.Gone() {
			why = removed
		}
		w.drop(c, why)
	}
	return n, size, errors.Join(err, w.end())
}

// waitEach is the time between two attempts to lock the archive.
const waitEach = 20 * time.Millisecond

// Restore writes the text of a copy to where its original was, and returns the path. It
// overwrites nothing.
func (a *Archive) Restore(c *Copy) (string, error) {
	if c.hasOriginal() {
		return "", &fs.PathError{Op: "restore", Path: c.File.Path, Err: fs.ErrExist}
	}
	if content.IsVirtual(c.File.Path) {
		return "", &fs.PathError{Op: "restore", Path: c.File.Path, Err: errors.New("it was in a database, which only its agent writes; pigrep show and export read the copy")}
	}
	text, err := content.Open(a.Place(c), 0)
	if err != nil {
		return "", err
	}
	defer text.Close()
	if err := os.MkdirAll(filepath.Dir(c.File.Path), 0o700); err != nil {
		return "", err
	}
	out := &files.Output{Path: c.File.Path, Kind: files.Missing}
	err = out.Replace(0o600, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(text, 0, c.rest(0)))
		return err
	})
	if err != nil {
		return "", err
	}
	at := time.Unix(0, c.Mtime)
	return c.File.Path, errors.Join(os.Chtimes(c.File.Path, at, at), files.SyncDir(filepath.Dir(c.File.Path)))
}

// Check returns what is wrong with a copy; nil if nothing is. With deep, it reads all of it.
func (a *Archive) Check(c *Copy, deep bool) error {
	text, err := content.Open(a.Place(c), 0)
	if err != nil {
		return err
	}
	defer text.Close()
	size, want := text.Info.Size(), c.Stored
	if deep && c.Length >= 0 {
		size, err = text.Length()
		want = c.Length
	}
	if err == nil && size < want {
		err = fmt.Errorf("the copy has %d bytes, and should have %d", size, want)
	}
	return err
}

// Kind is what the archive has of an agent.
type Kind struct {
	Agent    string
	Sessions int   // files of which there are copies
	Gone     int   // of these, copies that are all that is left
	Left     int   // files of which there is no copy, because there is no room
	Bytes    int64 // on disk
	Oldest   int64 // when the file of the oldest copy was last changed, in nanoseconds
}

// Kinds counts what the archive has, by agent in the order of the given names. Others follow.
func (a *Archive) Kinds(agents []string) ([]Kind, error) {
	rows, err := a.Copies()
	list := lists.Map(agents, func(name string) Kind { return Kind{Agent: name} })
	for i := range rows {
		c := &rows[i]
		at := slices.IndexFunc(list, func(k Kind) bool { return k.Agent == c.Agent })
		if at < 0 {
			at, list = len(list), append(list, Kind{Agent: c.Agent})
		}
		k := &list[at]
		switch c.State {
		case Kept:
			k.Sessions++
			k.Bytes += c.Stored
			if k.Oldest == 0 || c.Mtime < k.Oldest {
				k.Oldest = c.Mtime
			}
			if c.Gone() {
				k.Gone++
			}
		case Dropped:
			k.Left++
		}
	}
	return list, err
}
