package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime/debug"
	"slices"

	"pigrep/index"
	"pigrep/internal/audit"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

// Limits of what is indexed in memory before an answer: parsing takes about 25 ms for each
// MB.
const (
	memoryBytes = 8 << 20
	memoryFiles = 2000
)

// From here on committing what is in memory pays off, because every later answer would
// have to index it again. An update of the index takes about 10 ms.
const (
	commitBytes = 256 << 10
	commitFiles = 32
)

// fitsMemory reports whether what the result lacks may be indexed in memory.
func (o Options) fitsMemory(r *Result) bool {
	return o.Memory && !o.asked() && r.Lag.Bytes <= memoryBytes && r.Lag.Files <= memoryFiles
}

// unwritable reports whether an error keeps an update from writing, but not from reading.
func unwritable(err error) bool {
	return err != nil && (errors.Is(err, index.ErrLocked) || errors.Is(err, index.ErrFull) || errors.Is(err, fs.ErrPermission) ||
		files.ReadOnly(err) || files.NoSpace(err))
}

// memoryRecords are the records of a reader to which files are added in memory.
type memoryRecords struct {
	*index.Reader
	next  uint32 // file number
	ahead map[uint32]*session.Record
}

func (m *memoryRecords) NextFile() uint32 {
	m.next++
	return m.next - 1
}

// aheadSteps is the number of steps whose records are in memory at the same time.
const aheadSteps = 64

// readAhead reads the records that the steps continue from. For 20 files this takes a third
// of the CPU of reading one after the other, because it goes through the segments once.
func (m *memoryRecords) readAhead(steps []*Step) (err error) {
	var files []uint32
	for _, s := range steps {
		if s.Change == Grown || s.Change == Touched {
			files = append(files, s.Known.File)
		}
	}
	m.ahead, err = m.Reader.RecordsToContinue(files)
	return err
}

func (m *memoryRecords) RecordToContinue(file uint32) (*session.Record, error) {
	return m.ahead[file], nil
}

// uncommitted is what a result has in memory, and the generation that it is added to.
type uncommitted struct {
	batch *index.Batch
	base  uint64 // 0: there is no index
	pays  bool   // to commit it
}

// indexInMemory replaces the reader by one that also has what is pending, as an update
// would have indexed it. Nothing is written. It calls stopped before it closes the reader.
func (r *Result) indexInMemory(ctx context.Context, o Options, stopped func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			o.logger().Debug("panic", "value", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("index in memory: internal error: %v", v)
		}
	}()
	base := r.Reader
	if base == nil {
		base = index.Empty()
	}
	o.Progress = nil
	m := &memoryRecords{Reader: base, next: base.NextFile()}
	u := &update{Options: o, records: m, steps: plan(r.Found, base, false), res: r}
	w := &worker{update: u, batch: index.NewBatch(), folder: audit.NewFolder(), limit: math.MaxInt}
	for steps := range slices.Chunk(u.todo(), aheadSteps) {
		if err := m.readAhead(steps); err != nil {
			return err
		}
		for _, s := range steps {
			if err := w.step(ctx, s); err != nil {
				return err
			}
		}
	}
	r.Entries += w.entries
	r.noteRead(u.steps)
	with, err := base.With(w.batch)
	if err != nil {
		return err
	}
	r.InMemory = r.Lag
	r.memory = &uncommitted{w.batch, base.Generation(), r.pays()}
	stopped()
	r.setReader(with)
	if o.Opened != nil {
		o.Opened(with)
	}
	return nil
}

// pays reports whether committing what is in memory pays off. Text that is gone should
// leave the disk, and a touched file need not be hashed again; both are rare.
func (r *Result) pays() bool {
	changed := 0
	for _, c := range []Change{Gone, Truncated, Rewritten, Touched} {
		changed += r.Changes[c]
	}
	return changed > 0 || r.InMemory.Bytes >= commitBytes || r.InMemory.Files >= commitFiles
}

// Commit writes what the result has in memory, if that pays off. Call it after the answer
// is out, with the options of the update. If another process is writing, or a watcher
// is about to, it does nothing.
func (r *Result) Commit(ctx context.Context, o Options) error {
	m := r.memory
	if m == nil || !m.pays && m.base > 0 || r.Watcher != nil || r.Unwritten != nil {
		return nil
	}
	r.memory = nil
	o.Memory, o.Opened, o.Progress = false, nil, nil
	k := keeper{Options: o}
	err := k.commit(m)
	if errors.Is(err, errOutdated) || rebuildable(err) {
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

// errOutdated says that the index is not what the files in memory were added to.
var errOutdated = errors.New("the index has changed")

// commit commits and publishes what is in memory.
func (k *keeper) commit(m *uncommitted) (err error) {
	if k.writer, err = index.OpenWriter(k.Dir, index.WriterOptions{Logger: k.Logger, PID: k.PID}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.release()) }()
	if k.writer.Generation() != m.base {
		return errOutdated
	}
	if err := k.writer.Commit(m.batch); err != nil {
		return err
	}
	_, err = k.writer.Publish()
	return err
}
