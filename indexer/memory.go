package indexer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"pigrep/index"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

// memoryLimit bounds what is indexed in memory before an answer.
type memoryLimit struct {
	bytes int64 // and twice as much text of one worker
	files int
}

var (
	// Parsing takes about 25 ms per MB.
	usualMemory = memoryLimit{8 << 20, 2000}
	// aloneMemory is the limit where nobody else will index it. It takes about twice as
	// much memory.
	aloneMemory = memoryLimit{128 << 20, 32000}
)

// Amounts from which a commit pays off. An update of the index takes about 10 ms. Without
// it, every answer indexes the same lines again.
const (
	commitBytes = 256 << 10
	commitFiles = 32
)

// fitsMemory reports whether what the result lacks may be indexed in memory.
func (o Options) fitsMemory(r *Result) bool {
	limit := cmp.Or(o.memory, usualMemory)
	return o.Memory && !o.asked() && r.Lag.Bytes <= limit.bytes && r.Lag.Files <= limit.files
}

// errTooMuch means that the update has to read more than may be indexed in memory. The lag
// does not show this: it counts only appended bytes, even if indexed ones have changed.
var errTooMuch = errors.New("too much to index in memory")

// unwritable reports whether an error keeps an update from writing, but not from reading.
func unwritable(err error) bool {
	return err != nil && (errors.Is(err, index.ErrLocked) || errors.Is(err, index.ErrFull) || errors.Is(err, fs.ErrPermission) ||
		files.ReadOnly(err) || files.NoSpace(err))
}

// memoryTarget collects what is indexed in memory beside a reader.
type memoryTarget struct {
	reader *index.Reader
	batch  int // text of one worker

	mu      sync.Mutex // guards the fields below
	next    uint32     // file number
	files   []uint32   // to be continued, in the order of the steps
	records map[uint32]*session.Record
	batches []*index.Batch
}

// recordsAhead is the number of records that are read at once: for 20 files this takes a
// third of the CPU of reading one after the other, because it goes through the segments
// once.
const recordsAhead = 64

func (m *memoryTarget) RecordToContinue(file uint32) (*session.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := slices.Index(m.files, file); at >= 0 {
		ahead := m.files[at:min(at+recordsAhead, len(m.files))]
		records, err := m.reader.RecordsToContinue(ahead)
		if err != nil {
			return nil, err
		}
		maps.Copy(m.records, records)
		m.files = slices.Delete(m.files, at, at+len(ahead))
	}
	record := m.records[file]
	delete(m.records, file)
	return record, nil
}

func (m *memoryTarget) NextFile() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	return m.next - 1
}

func (m *memoryTarget) Commit(b *index.Batch) error {
	if b.Size() >= m.batch {
		return errTooMuch
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batches = append(m.batches, b)
	return nil
}

func (m *memoryTarget) Publish() (index.ID, error) { return index.ID{}, nil }
func (m *memoryTarget) Empty() bool                { return false }

// uncommitted is what a result has in memory, and the generation that it is added to.
type uncommitted struct {
	batches []*index.Batch
	reader  *index.Reader // only to compare its generation; it may be closed
	pays    bool          // whether committing it pays off
}

// indexInMemory replaces the reader by one that also has what is pending, as an update
// would have indexed it. Nothing is written.
// After errTooMuch the reader is as before, and the lag has all bytes of files whose indexed
// bytes have changed.
func (r *Result) indexInMemory(ctx context.Context, o Options) error {
	base := r.Reader
	if base == nil {
		base = index.Empty()
	}
	limit := cmp.Or(o.memory, usualMemory).bytes
	o.BatchBytes = int(2 * limit)
	if o.memory == (memoryLimit{}) {
		o.Progress = nil
	}
	m := &memoryTarget{reader: base, batch: o.BatchBytes, next: base.NextFile(), records: make(map[uint32]*session.Record)}
	u := &update{Options: o, target: m, steps: plan(r.Found, base, planOptions{}), res: r}
	for i := range u.steps {
		if c := u.steps[i].Change; c == Grown || c == Touched {
			m.files = append(m.files, u.steps[i].Known.File)
		}
	}
	if lag := lagOf(u.steps); lag.Bytes > limit {
		r.Lag = lag
		return errTooMuch
	}
	u.prepare()
	if err := u.run(ctx); err != nil {
		if errors.Is(err, errTooMuch) {
			r.Lag = lagOf(u.steps)
		}
		return err
	}
	r.noteRead(u.steps)
	with, err := base.With(m.batches...)
	if err != nil {
		return err
	}
	r.InMemory = r.Lag
	r.memory = &uncommitted{m.batches, with, r.pays()}
	r.setReader(with)
	return nil
}

func lagOf(steps []Step) (lag Lag) {
	for i := range steps {
		switch s := &steps[i]; s.Change {
		case Unchanged, Touched, Unreadable:
		case Gone:
			lag.add(nil, 0)
		default:
			lag.add(&s.File, s.Pending)
		}
	}
	return lag
}

// pays reports whether committing what is in memory pays off. It does whenever text is
// gone, which should leave the disk, or a file was touched, which every later command would
// have to hash again. Both are rare.
func (r *Result) pays() bool {
	changed := 0
	for _, c := range []Change{Gone, Truncated, Rewritten, Touched} {
		changed += r.Changes[c]
	}
	return changed > 0 || r.InMemory.Bytes >= commitBytes || r.InMemory.Files >= commitFiles
}

// Commit writes what the result has in memory, if that pays off or there is no index yet.
// It also keeps sessions. Call it after the answer is out, with the options of the update. If another process is
// writing, or a watcher is about to, it does nothing.
func (r *Result) Commit(ctx context.Context, o Options) error {
	if o.Memory {
		r.Keeping = o.keep(ctx, r.Found, keepAtOnce)
	}
	m := r.memory
	if m == nil || !m.pays && m.reader.Generation() > 0 || r.Watcher != nil || r.Unwritten != nil {
		return nil
	}
	r.memory = nil
	o.Memory, o.Progress = false, nil
	k := keeper{Options: o}
	err := k.commit(m)
	if errors.Is(err, errOutdated) || o.rebuildable(err) {
		var updated *Result
		if updated, err = updateNow(ctx, o); updated.Reader != nil {
			updated.Reader.Close()
		}
	}
	if errors.Is(err, index.ErrLocked) {
		return nil
	}
	return err
}

// keepAtOnce is how many bytes are copied to the archive after an answer.
const keepAtOnce = 64 << 20

// errOutdated says that the index is not what the files in memory were added to.
var errOutdated = errors.New("the index has changed")

func (k *keeper) commit(m *uncommitted) (err error) {
	if k.writer, err = k.openWriter(index.WriterOptions{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.release()) }()
	if !k.writer.Continues(m.reader) {
		return errOutdated
	}
	for _, b := range m.batches {
		if err := k.writer.Commit(b); err != nil {
			return err
		}
	}
	if _, err = k.writer.Publish(); err == nil && index.Announcement(k.Dir) != "" {
		return k.writer.Announce("")
	}
	return err
}
