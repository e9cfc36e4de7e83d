package keep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/lists"
)

// Rules say what is kept, and how.
type Rules struct {
	Agents []string      // whose files are kept, as of session.ShortAgent
	Limit  int64         // bytes of all copies together; 0: no limit
	Pack   time.Duration // how long a file must be unchanged before its copy is compressed; 0: never
	Now    func() time.Time

	// Volatile returns how many bytes at the start of a file its agent overwrites in place; see
	// adapter.Overwriter.
	Volatile func(agent string, head []byte) int64
}

// Report is what an update of the archive did.
type Report struct {
	Copied  int   // files
	Bytes   int64 // that were copied or compressed
	Left    int64 // bytes that were not copied, because they were too many
	Dropped int   // files that are not kept any more, because there is no room
	Earlier int   // copies that are now sessions of their own, because their files were rewritten
}

// What is copied at most before the catalogue is written.
const (
	flushBytes = 64 << 20
	flushFiles = 512
)

// Update copies what is new in the files, which are all that the agents have, ordered by
// path. What is missing among them is gone, and its copies stay. It copies at most so many
// bytes, and a file; 0 for no limit. If nothing has changed, no file is looked at. Errors
// of one file are left to the next update.
func (a *Archive) Update(ctx context.Context, list []File, r Rules, most int64) (report Report, err error) {
	rows, err := a.Copies()
	if err != nil || len(r.plan(rows, list)) == 0 {
		return report, err
	}
	w, err := a.change()
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	if rows, err = a.Copies(); err != nil { // another process may have changed it
		return report, err
	}
	u := &update{writer: w, Rules: &r, report: &report}
	todo := r.plan(rows, list)
	for _, it := range todo {
		if it.out {
			u.leave(it)
		}
	}
	for _, c := range rows {
		u.used += c.Stored
	}
	err = u.flush()
	flushed := int64(0)
	for i := 0; i < len(todo) && err == nil; i++ {
		it := todo[i]
		switch {
		case ctx.Err() != nil:
			return report, ctx.Err()
		case it.out:
		case most > 0 && report.Bytes >= most:
			report.Left += it.size()
		default:
			err = serious(u.keep(it))
		}
		if err == nil && (report.Bytes-flushed > flushBytes || len(u.created) > flushFiles) {
			flushed, err = report.Bytes, u.flush()
		}
	}
	return report, err
}

// serious returns an error unless it concerns one file only.
func serious(err error) error {
	if err == nil || errors.Is(err, errOriginal) || !files.NoSpace(err) && !files.ReadOnly(err) && !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// item is a file, a copy, or both.
type item struct {
	row  *Copy // nil for a file that is new
	file *File // nil for a copy that is all that is left
	out  bool  // there is no room for the file
}

// changed reports whether the file is to be copied.
func (it *item) changed() bool {
	switch {
	case it.file == nil:
		return false
	case it.row == nil || it.row.State != Kept && it.file.Size == 0:
		return it.file.Size > 0
	}
	return it.row.Stamp != it.file.Stamp || it.row.State == Dropped
}

// size is what the copy takes up, or will, at most.
func (it *item) size() int64 {
	if it.changed() {
		return it.file.Size
	}
	if it.row == nil {
		return 0
	}
	return it.row.Stored
}

// mtime returns when the file was last changed; the oldest time for a copy whose file is gone.
func (it *item) mtime() int64 {
	if it.file == nil {
		return math.MinInt64
	}
	return it.file.Mtime
}

// tiny files take up as much room on a disk if they are compressed.
const tiny = 4 << 10

func (it *item) idle(r *Rules) bool {
	c := it.row
	return r.Pack > 0 && c != nil && c.State == Kept && !c.Zstd && c.Stored > tiny && r.Now().UnixNano()-c.Mtime > int64(r.Pack)
}

func (r *Rules) plan(rows []Copy, list []File) []item {
	all := make([]item, 0, len(rows)+len(list))
	for i := range rows {
		c := &rows[i]
		for ; len(list) > 0 && list[0].Path < c.Path; list = list[1:] {
			all = append(all, item{file: &list[0]})
		}
		it := item{row: c}
		if len(list) > 0 && list[0].Path == c.Path && !c.Earlier {
			it.file, list = &list[0], list[1:]
		}
		all = append(all, it)
	}
	for i := range list {
		all = append(all, item{file: &list[i]})
	}
	r.fit(all)
	return slices.DeleteFunc(all, func(it item) bool {
		if it.out {
			return it.row != nil && it.row.State != Kept && it.row.Stamp == it.file.Stamp
		}
		return !it.changed() && !it.idle(r)
	})
}

// fit decides which files to leave out when space runs short. Copies whose files are gone always
// stay. The other files get room in the order that agents delete them.
func (r *Rules) fit(all []item) {
	var size int64
	for i := range all {
		size += all[i].size()
	}
	if r.Limit == 0 || size <= r.Limit {
		return
	}
	lists.SortStable(all, func(a, b item) int { return cmp.Compare(a.mtime(), b.mtime()) })
	size = 0
	for i := range all {
		it := &all[i]
		if it.out = it.file != nil && size+it.size() > r.Limit; !it.out {
			size += it.size()
		}
	}
}

// update is one run over the files that changed.
type update struct {
	*writer
	*Rules
	report *Report
	used   int64 // bytes of all copies
}

// leave removes the copy of a file that has no room left, if there is one. If the file
// has vanished since it was listed, the copy stays.
func (u *update) leave(it item) {
	c := Copy{Version: 1}
	if it.row != nil {
		c = *it.row
	}
	if c.State == Kept && !it.row.hasOriginal() {
		return
	}
	if c.State != Dropped {
		u.report.Dropped++
	}
	u.used -= c.Stored
	c.File, c.Agent = *it.file, cmp.Or(c.Agent, it.file.Agent)
	u.drop(c, Dropped)
}

// keep makes the copy of a file like it, or compresses it.
func (u *update) keep(it item) error {
	f, changed := it.file, it.changed()
	if f == nil {
		return u.pack(*it.row)
	}
	text, err := content.Open(f.Path, 0)
	if err != nil {
		return errors.Join(errOriginal, err)
	}
	text.Verbatim()
	defer text.Close()
	packed, size := text.Packed(), f.Size
	if text.Virtual() != nil { // a copy has its lines
		packed = false
		if size, err = text.Length(); err != nil {
			return errors.Join(errOriginal, err)
		}
	}
	next := Copy{File: *f, Version: 1, State: Kept, Zstd: packed, Length: size}
	var c Copy
	if it.row != nil {
		c = *it.row
		next.Agent, next.Version = c.Agent, c.Version
	}
	if c.State != Kept {
		return u.replace(Copy{}, next, text)
	}
	at, is, err := u.compare(&c, f, text, changed && c.grownTo(f))
	switch {
	case errors.Is(err, errOriginal):
		return err
	case errors.Is(err, fs.ErrNotExist): // somebody removed the copy
	case err != nil, is == other: // what can be read of the copy stays
		next.Version++
		u.report.Earlier++
		return u.replace(Copy{}, next, text)
	case is == same && !changed:
		return u.pack(c)
	case is == same && at == size && !packed:
		c.Stamp, c.Length = f.Stamp, at
		u.put(c)
		return nil
	case is == same && !c.Zstd && !packed:
		return u.grow(next, text, at)
	}
	return u.replace(c, next, text)
}

// grownTo reports whether a file looks like the original of the copy with more at its end.
func (c *Copy) grownTo(f *File) bool {
	return c.Inode == f.Inode && f.Inode != 0 && !c.Zstd && !f.Packed && c.Length >= 0 && c.Length == c.Size && f.Size > c.Size
}

// grow appends to a copy what its original has after an offset. All bytes of a copy are
// those of its original at every moment, so it is not torn if the process dies.
func (u *update) grow(next Copy, text *content.File, at int64) error {
	if !u.takes(next.Length - at) {
		return nil
	}
	f, err := u.root.OpenFile(next.place(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(at); err != nil { // what a process that died has appended is not proved to be right
		return err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	if err := errors.Join(copyBytes(f, text, at, next.Length), f.Sync(), u.date(next, next.place())); err != nil {
		return err
	}
	next.Stored = next.Length
	u.done(next, next.Length-at)
	return nil
}

// replace writes a copy anew, in place of the last one if there is one.
func (u *update) replace(last, next Copy, text *content.File) (err error) {
	size := next.Length
	if !u.takes(size - last.Stored) {
		if last.State != Kept {
			next.State = Dropped
			u.drop(next, Dropped)
		}
		return nil
	}
	if next.Zstd {
		next.Length = -1
	}
	next.Stored, err = u.create(next, func(f *os.File) error { return copyBytes(f, text, 0, size) })
	if err != nil {
		return err
	}
	u.used -= last.Stored
	if last.State == Kept && last.Zstd != next.Zstd {
		u.stale = append(u.stale, last.place())
	}
	u.done(next, next.Stored)
	return nil
}

// takes reports whether there is room for so many bytes. What was planned fits, unless files
// turned out to be rewritten, and so have two copies: then the next update plans again.
func (u *update) takes(bytes int64) bool { return u.Limit == 0 || u.used+bytes <= u.Limit }

// done records a copy.
func (u *update) done(c Copy, bytes int64) {
	u.put(c)
	u.report.Copied++
	u.report.Bytes += bytes
	u.used += bytes
}

// create writes the file of a copy beside its place, where flush puts it. It returns how long
// it is.
func (w *writer) create(c Copy, write func(*os.File) error) (size int64, err error) {
	temp := c.place() + unwritten
	if err := w.root.MkdirAll(filepath.Dir(temp), 0o700); err != nil {
		return 0, err
	}
	f, err := w.root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	err = write(f)
	size, seekErr := f.Seek(0, io.SeekEnd)
	if err = errors.Join(err, seekErr, f.Close(), w.date(c, temp)); err != nil {
		return 0, errors.Join(err, w.root.Remove(temp))
	}
	w.created = append(w.created, c.place())
	return size, nil
}

// date gives a copy the time of its original, which the catalogue may lose.
func (w *writer) date(c Copy, name string) error {
	at := time.Unix(0, c.Mtime)
	return w.root.Chtimes(name, at, at)
}

var errOriginal = errors.New("cannot read the original")

// copyBytes appends the bytes of an original from one offset to another. Where the file
// system can, both files then share them on the disk (copy_file_range). That is safe:
// whoever writes to one of the files gets bytes of its own. A hard link would not be safe,
// because agents append to their files and shorten them in place.
func copyBytes(to *os.File, text *content.File, at, end int64) error {
	from := text.Stored
	if from == nil {
		n, err := io.Copy(to, io.NewSectionReader(text, at, end-at))
		if err == nil && n < end-at {
			err = errOriginal
		}
		return err
	}
	if _, err := from.Seek(at, io.SeekStart); err != nil {
		return errors.Join(errOriginal, err)
	}
	n, err := io.Copy(to, io.LimitReader(from, end-at))
	if err != nil {
		return err
	}
	// A file that was shortened meanwhile may have been rewritten, and be copied in part.
	if info, err := from.Stat(); err != nil || at+n < end || info.Size() < end {
		return errors.Join(errOriginal, err)
	}
	return nil
}

// likeness is what the start of a file is to its copy.
type likeness int

const (
	other    likeness = iota
	retitled          // the same but for what its agent overwrites in place
	same
)

// compare compares the text of a copy with the start of its original's. It returns how
// long the text of the copy is. Of a file that only seems to have grown, it reads the beginning
// and the end of that text: whatever rewrites a file changes one of them, or makes another file.
// Before the copy is compressed, all of it is compared.
func (u *update) compare(c *Copy, f *File, text *content.File, grown bool) (at int64, is likeness, err error) {
	kept, err := content.Open(u.Place(c), 0)
	if err != nil {
		return 0, other, err
	}
	defer kept.Close()
	var to int64 // what is overwritten
	a, b := make([]byte, 256<<10), make([]byte, 256<<10)
	for is = same; ; {
		n, err := io.ReadFull(io.NewSectionReader(kept, at, c.rest(at)), a)
		if n == 0 && (errors.Is(err, io.EOF)) {
			return at, is, nil
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return at, other, err
		}
		m, err := text.ReadAt(b[:n], at)
		if m < n && !errors.Is(err, io.EOF) {
			return at, other, errors.Join(errOriginal, err)
		}
		if at == 0 {
			to = u.Volatile(f.Agent, b[:m])
		}
		if m < n || !bytes.Equal(a[:n], b[:n]) {
			if m < n || at > 0 || to > int64(n) || !bytes.Equal(a[to:n], b[to:n]) {
				return at, other, nil
			}
			is = retitled
		}
		if at += int64(n); grown {
			at, grown = max(at, c.Length-int64(len(a))), false
		}
	}
}

// rest is how much text may follow an offset.
func (c *Copy) rest(at int64) int64 {
	if c.Length < 0 {
		return 1 << 62
	}
	return c.Length - at
}

// frame is how much text is in a frame of a copy that is compressed: each can be read alone.
const frame = 1 << 20

func (u *update) pack(c Copy) error {
	f, err := content.Open(u.Place(&c), 0)
	if err != nil {
		return errors.Join(errOriginal, err)
	}
	defer f.Close()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	next := c
	next.Zstd = true
	text := io.NewSectionReader(f, 0, c.rest(0))
	next.Stored, err = u.create(next, func(to *os.File) error {
		piece, packed := make([]byte, frame), []byte(nil)
		for {
			n, err := io.ReadFull(text, piece)
			if n == 0 {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return errors.Join(errOriginal, err)
			}
			packed = encoder.EncodeAll(piece[:n], packed[:0])
			if _, err := to.Write(packed); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	u.stale = append(u.stale, c.place())
	u.put(next)
	u.report.Bytes += c.Stored
	return nil
}

// found returns the copies in an archive without a catalogue, by their places. What was
// forgotten or dropped is not known any more.
func (a *Archive) found() (rows []Copy, err error) {
	err = filepath.WalkDir(a.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		place, err := filepath.Rel(a.Dir, path)
		if c, ok := copyAt(place); ok && err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				c.Size, c.Stored, c.Mtime = info.Size(), info.Size(), info.ModTime().UnixNano()
				rows = append(rows, c)
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	// A process that died may have left a copy both compressed and not: the last one counts.
	lists.Sort(rows, func(a, b Copy) int {
		return cmp.Or(cmp.Compare(a.Mtime, b.Mtime), strings.Compare(b.place(), a.place()))
	})
	return inOrder(rows), err
}

// copyAt returns the copy that is at a place below the directory of the archive.
func copyAt(place string) (c Copy, ok bool) {
	const separator = string(filepath.Separator)
	agent, path, ok := strings.Cut(content.Logical(place), separator)
	tilde := strings.LastIndexByte(path, '~')
	if !ok || tilde < 0 {
		return c, false
	}
	version, err := strconv.Atoi(path[tilde+1:])
	path = separator + path[:tilde]
	if runtime.GOOS == "windows" {
		if drive, rest, _ := strings.Cut(path[1:], separator); len(drive) == 1 {
			path = drive + ":" + separator + rest
		} else {
			path = separator + path
		}
	}
	return Copy{File: File{Path: path, Agent: agent}, Version: version, Length: -1, Zstd: place != content.Logical(place), State: Kept}, err == nil
}
