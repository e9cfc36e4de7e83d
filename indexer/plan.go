package indexer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/blevesearch/mmap-go"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/internal/content"
	"pigrep/internal/lists"
	"pigrep/internal/session"
)

// Change is what happened to a session file since it was indexed.
type Change uint8

// The changes, and the action for each.
const (
	Unchanged  Change = iota // nothing
	Touched                  // same bytes, other times: update the times in the checkpoint
	New                      // index it
	Grown                    // index the bytes after the checkpoint, and those that were overwritten in place
	Rewritten                // replace its documents
	Truncated                // replace its documents
	Gone                     // delete its documents
	Unreadable               // keep its documents, and report it
)

var changeNames = [...]string{"unchanged", "touched", "new", "grown", "rewritten", "truncated", "gone", "unreadable"}

func (c Change) String() string { return changeNames[c] }

// Changes lists all changes.
func Changes() []Change {
	return []Change{Unchanged, Touched, New, Grown, Rewritten, Truncated, Gone, Unreadable}
}

// Step is the action for one file.
type Step struct {
	Change  Change
	Reason  string // why, for people; empty if unchanged
	File    File   // only Path if gone
	Known   *session.Summary
	Pending int64 // bytes to read
	Err     error // of an unreadable file, or why only the beginning of a file can be read
}

// Index is the part of an index that planning needs.
type Index interface {
	Table() *record.Table
	Summaries() []session.Summary // of all files in the table
	RecordToContinue(file uint32) (*session.Record, error)
}

// Plan compares the files on disk with the index. A file whose size, times and inode are
// as indexed is unchanged, and is not opened. Of every other file, all indexed bytes are
// hashed; it counts as grown only if none of them changed. The newest file comes first.
func Plan(found *Found, ix Index) []Step {
	return plan(found, ix, planOptions{proof: true, unchanged: true})
}

// planOptions are what plan may leave out.
type planOptions struct {
	// Without proof, a file that is larger than indexed counts as grown, and worker.begin
	// must verify that before it continues.
	proof     bool
	unchanged bool // list unchanged files too
}

// plan is Plan with options. Files and summaries are ordered by path.
func plan(found *Found, ix Index, o planOptions) []Step {
	var table *record.Table
	summary := func(i int) *session.Summary { s := table.Summary(i); return &s }
	if ix != nil {
		table = ix.Table()
		if o.unchanged {
			list := ix.Summaries()
			summary = func(i int) *session.Summary { return &list[i] }
		}
	}
	current := table.ReadBy(found.isCurrent)
	var steps []Step
	found.compared(table, func(f *File, at int) {
		if f == nil {
			steps = append(steps, found.gone(summary(at)))
			return
		}
		s := Step{File: *f}
		if at >= 0 {
			if k := table.Checkpoint(at); !o.unchanged && f.Err == nil && found.fits(&k) && sameStat(*f, k) && current(at) {
				return
			}
			s.Known = summary(at)
		}
		s.decide(ix, found, o.proof)
		if s.Change != Unchanged || o.unchanged {
			steps = append(steps, s)
		}
	})
	lists.Sort(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(b.File.Mtime, a.File.Mtime), strings.Compare(a.File.Path, b.File.Path))
	})
	return steps
}

// compared visits the files together with the rows of the table, ordered by path. A file that
// is not in the table has the row -1, and a row whose file was not found has no file.
func (f *Found) compared(table *record.Table, visit func(file *File, row int)) {
	row := 0
	for i := range f.Files {
		file := &f.Files[i]
		for ; row < table.Len() && table.Path(row) < file.Path; row++ {
			visit(nil, row)
		}
		if row < table.Len() && table.Path(row) == file.Path {
			visit(file, row)
			row++
		} else {
			visit(file, -1)
		}
	}
	for ; row < table.Len(); row++ {
		visit(nil, row)
	}
}

// gone returns the step for a file that is indexed, but was not found.
func (f *Found) gone(known *session.Summary) Step {
	s := Step{Known: known, Change: Gone, Reason: "no longer there", File: File{Path: known.Path}}
	if err := f.unreadable(known.Path); err != nil {
		s.Change, s.Reason, s.Err = Unreadable, "its directory cannot be read", err
	}
	if known.Kept && f.Unkept != nil {
		s.Change, s.Reason, s.Err = Unreadable, "the kept copies cannot be read", f.Unkept
	}
	return s
}

// unreadable returns why the directory of a file could not be read, nil if it could.
func (f *Found) unreadable(path string) (err error) {
	for _, d := range f.Unreadable {
		if within(path, d.Path) {
			err = d.Err
		}
	}
	return err
}

// Lag is how far an index appears to be behind the files.
type Lag struct {
	Files int   // files that differ from the index
	Bytes int64 // bytes that may have to be read
	Young int   // files that look unchanged but were written too recently to be sure
	Since int64 // the earliest change among the existing files, in nanoseconds; 0 if there is none
}

// add counts a file; nil is one that is gone.
func (l *Lag) add(f *File, bytes int64) {
	l.Files++
	l.Bytes += bytes
	if f == nil {
		return
	}
	if at := max(f.Mtime, f.Ctime); l.Since == 0 || at < l.Since {
		l.Since = at
	}
}

// Behind compares the stat results of the files with the table of an index, nil for none.
func Behind(found *Found, table *record.Table) (lag Lag) {
	lag.Young = differing(found, table, func(_ string, f *File, _ session.Checkpoint, bytes int64) { lag.add(f, bytes) })
	return lag
}

// BehindBoth is Behind for an index that was opened between two lists of the files. A file
// counts only if the index has neither of its states, nor one between them.
func BehindBoth(before, after *Found, table *record.Table) (lag Lag) {
	differed := make(map[string]*File)
	differing(before, table, func(path string, f *File, _ session.Checkpoint, _ int64) { differed[path] = f })
	lag.Young = differing(after, table, func(path string, f *File, k session.Checkpoint, bytes int64) {
		was, ok := differed[path]
		between := was != nil && f != nil && was.Inode == k.Inode && f.Inode == k.Inode &&
			was.Size < k.Size && k.Size <= f.Size && was.Mtime <= k.Mtime
		if ok && !between {
			lag.add(f, bytes)
		}
	})
	return lag
}

// differing calls visit for each file that differs from the table, with the checkpoint and
// the number of bytes that may have to be read. The file is nil if it is indexed, but was
// not found. It returns the number of young files; see Lag.
func differing(found *Found, table *record.Table, visit func(path string, f *File, k session.Checkpoint, bytes int64)) (young int) {
	current := table.ReadBy(found.isCurrent)
	found.compared(table, func(f *File, row int) {
		if f == nil {
			path := table.Path(row)
			if k := table.Checkpoint(row); (!k.Kept || found.Unkept == nil) && found.unreadable(path) == nil {
				visit(path, nil, session.Checkpoint{}, 0)
			}
			return
		}
		var k session.Checkpoint
		if row >= 0 {
			k = table.Checkpoint(row)
		}
		switch {
		case f.Err != nil:
		case row < 0, !found.fits(&k), !current(row):
			visit(f.Path, f, k, f.text())
		case sameStat(*f, k):
		case k.Ctime == unsettled && f.Size == k.Size && f.Mtime == k.Mtime && f.Inode == k.Inode && f.Packed == k.Packed:
			young++
		case f.Size < k.Length && !f.Packed:
			visit(f.Path, f, k, f.Size)
		default:
			visit(f.Path, f, k, max(0, f.text()-k.Offset))
		}
	})
	return young
}

// decide sets the change of one file on disk. It is the only place that does, except
// worker.begin if the proof is left to it.
func (s *Step) decide(ix Index, found *Found, proof bool) {
	f, k := &s.File, s.Known
	switch {
	case f.Err != nil:
		s.Change, s.Reason, s.Err = Unreadable, "it cannot be read", f.Err
		return
	case k == nil:
		s.Change, s.Reason, s.Pending = New, "not indexed yet", f.text()
		return
	case !found.fits(&k.Checkpoint):
		s.replaced("its text is read with other limits")
		return
	case !found.isCurrent(record.Reader{Agent: k.Agent, Revision: k.Revision}):
		s.replaced("this version reads it differently")
		return
	case sameStat(*f, k.Checkpoint):
		return
	case k.Damaged || k.LeftOut:
		s.replaced("its text was not read to the end")
		return
	case f.Size > k.Size && !proof && !f.Packed && k.Length == k.Size:
		s.grown(f.Size)
		return
	}
	file, err := content.Open(f.Path, found.Limits.Text)
	if err != nil {
		s.Change, s.Reason, s.Err = Unreadable, "it cannot be opened", err
		return
	}
	defer file.Close()
	s.compare(ix, file)
}

// compare is decide for a file whose stat has changed.
func (s *Step) compare(ix Index, file *content.File) {
	f, k := &s.File, s.Known
	if k.Length > 0 && file.IsCut() {
		s.replaced(otherBytes)
		s.Err = content.ErrDamaged
		return
	}
	if !file.Packed() && f.Size < k.Length {
		s.Change, s.Pending = Truncated, f.Size
		s.Reason = fmt.Sprintf("%d bytes shorter than indexed", k.Length-f.Size)
		return
	}
	rec, err := ix.RecordToContinue(k.File)
	if err != nil || rec == nil {
		s.replaced(noRecord)
		return
	}
	_, head := volatileOf(file, rec)
	same, err := sameBlocks(file, rec)
	length := f.Size
	if err == nil && same && file.Packed() {
		length, err = file.Length()
	}
	if content.Ends(err) { // reading it will tell
		if errors.Is(err, content.ErrDamaged) {
			s.Err = content.ErrDamaged
		}
		same, err = false, nil
	}
	switch {
	case err != nil:
		s.Change, s.Reason, s.Err = Unreadable, "it cannot be read", err
	case !same:
		s.replaced(otherBytes)
	case length < k.Length:
		s.replaced(fmt.Sprintf("%d bytes shorter than indexed", k.Length-length))
	case length > k.Checkpoint.Offset:
		s.grown(length) // no hash covers the bytes after the checkpoint
	case head != rec.Volatile:
		s.grown(length)
		s.Reason = "its beginning was overwritten in place"
	default:
		s.Change, s.Reason = Touched, "the same bytes, other times"
		if f.Kept {
			s.Reason = "its file is gone, and the copy has the same bytes"
		}
	}
}

// grown turns the step into one that indexes the bytes after the checkpoint. The text has a
// length.
func (s *Step) grown(length int64) {
	s.Change, s.Pending = Grown, length-s.Known.Checkpoint.Offset
	s.Reason = fmt.Sprintf("%d bytes after the checkpoint", s.Pending)
}

func (s *Step) replaced(why string) {
	s.Change, s.Reason, s.Pending = Rewritten, why, s.File.text()
}

// otherBytes is the reason to replace a file whose indexed bytes have changed.
const otherBytes = "indexed bytes changed"

// otherAgent is the reason to read a file again that nobody recognized before.
const otherAgent = "it is of another agent than it seemed"

// noRecord is the reason to read a file again if its record is missing or damaged.
const noRecord = "its session record cannot be read"

// again turns the step into one that replaces the documents of the file, if its path
// is among the given ones.
func (s *Step) again(paths map[string]bool) {
	switch s.Change {
	case Unchanged, Touched, Grown:
		if paths[s.File.Path] {
			s.replaced("it is to be read again")
		}
	}
}

func sameStat(f File, c session.Checkpoint) bool {
	return f.Size == c.Size && f.Mtime == c.Mtime && f.Ctime == c.Ctime && f.Inode == c.Inode && f.Packed == c.Packed && f.Kept == c.Kept
}

// settle is how old the times of a file must be to prove that it is unchanged. The
// clock that stamps files ticks at about this interval, so a newer file may change
// without a change of its times.
const settle = 10 * time.Millisecond

// unsettled is the Ctime recorded for a file that was just written. It equals no
// real time, so the next run compares the bytes.
const unsettled = -1

// stamp records the stat result of the file, whose text has a length, in the checkpoint.
func stamp(c *session.Checkpoint, f File, length int64, now time.Time) {
	c.Size, c.Mtime, c.Ctime, c.Inode, c.Length, c.Packed, c.Kept = f.Size, f.Mtime, f.Ctime, f.Inode, length, f.Packed, f.Kept
	c.Spoilt = false
	if newest := max(f.Mtime, f.Ctime); now.UnixNano()-newest < int64(settle) {
		c.Ctime = unsettled
	}
}

// sameBlocks reports whether every byte before the checkpoint is as indexed, without the
// volatile ones. It takes about 0.15 ms of CPU per MB, and decompressing takes about 2 ms.
func sameBlocks(file *content.File, rec *session.Record) (bool, error) {
	rest := xxhash.New()
	if rest.UnmarshalBinary(rec.Partial) != nil {
		return false, nil
	}
	blocks := append(slices.Clip(rec.Blocks), rest.Sum64()) // the last one is shorter
	var differs atomic.Bool
	var group errgroup.Group
	if group.SetLimit(runtime.GOMAXPROCS(0)); file.Packed() {
		group.SetLimit(1) // in order
	}
	var from int64
	for some := range slices.Chunk(blocks, blocksEach) {
		if differs.Load() {
			break
		}
		start := from
		group.Go(func() error {
			same, err := sameRange(file, start, rec.Checkpoint.Offset, rec.Volatile.Length, some)
			if !same {
				differs.Store(true)
			}
			return err
		})
		from += blocksEach * session.HashedBlock
	}
	err := group.Wait()
	return err == nil && !differs.Load(), err
}

const (
	blocksEach  = 4        // blocks that a goroutine compares, and maps, at a time
	scratchSize = 64 << 10 // bytes
)

// sameRange compares blocks that begin at from and end before end. Bytes before volatile do
// not count.
func sameRange(file *content.File, from, end, volatile int64, blocks []uint64) (same bool, err error) {
	if len(blocks) == blocksEach && !file.Packed() { // else reading costs no more
		if same, err := sameMapped(file.Stored, from, end, volatile, blocks); err == nil {
			return same, nil
		}
	}
	buf := make([]byte, scratchSize)
	for _, want := range blocks {
		at, h := max(from, volatile), xxhash.New()
		from += session.HashedBlock
		// At the end of the file it stops without an error.
		if _, err := io.CopyBuffer(h, io.NewSectionReader(file, at, min(from, end)-at), buf); err != nil || h.Sum64() != want {
			return false, err
		}
	}
	return true, nil
}

// sameMapped is sameRange through mapped memory: without copying the bytes it takes two
// thirds of the CPU. It fails if the file cannot be mapped, or became shorter meanwhile.
func sameMapped(file *os.File, from, end, volatile int64, blocks []uint64) (same bool, err error) {
	if runtime.GOOS == "windows" { // nobody could change a file that is mapped
		return false, errors.ErrUnsupported
	}
	b, err := mmap.MapRegion(file, int(min(int64(len(blocks))*session.HashedBlock, end-from)), mmap.RDONLY, 0, from)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.Unmap()) }()
	defer format.Contain(format.Guard(), "read a session file", &err)
	for i, want := range blocks {
		at := i * session.HashedBlock
		if xxhash.Sum64(b[max(at, int(volatile-from)):min(at+session.HashedBlock, len(b))]) != want {
			return false, nil
		}
	}
	return true, nil
}

// volatileOf returns the volatile bytes of a file as they are now. If they cannot be read,
// they differ from those that are indexed.
func volatileOf(file io.ReaderAt, rec *session.Record) ([]byte, session.Volatile) {
	if rec.Volatile.Length == 0 {
		return nil, rec.Volatile
	}
	head := make([]byte, rec.Volatile.Length)
	n, _ := file.ReadAt(head, 0)
	return head, session.Volatile{Length: int64(n), Hash: xxhash.Sum64(head)}
}

// within reports whether the path is the directory or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
