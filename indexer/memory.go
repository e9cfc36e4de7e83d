package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime/debug"

	"pigrep/index"
	"pigrep/internal/audit"
	"pigrep/internal/files"
)

// Limits of what is indexed in memory before an answer: parsing takes about 25 ms for each
// MB.
const (
	memoryBytes = 8 << 20
	memoryFiles = 2000
)

// fitsMemory reports whether what the result lacks may be indexed in memory.
func (o Options) fitsMemory(r *Result) bool {
	return o.Memory && (r.Reader == nil || r.Lag != (Lag{})) && r.Lag.Bytes <= memoryBytes && r.Lag.Files <= memoryFiles
}

// unwritable reports whether an error keeps an update from writing, but not from reading.
func unwritable(err error) bool {
	return err != nil && (errors.Is(err, index.ErrLocked) || errors.Is(err, index.ErrFull) || errors.Is(err, fs.ErrPermission) ||
		files.ReadOnly(err) || files.NoSpace(err))
}

// memoryRecords are the records of a reader to which files are added in memory.
type memoryRecords struct {
	*index.Reader
	last uint32 // file number
}

func (m *memoryRecords) NextFile() uint32 {
	m.last++
	return m.last
}

// indexInMemory replaces the reader by one that also has what is pending, as an update
// would have indexed it. Nothing is written.
func (r *Result) indexInMemory(ctx context.Context, o Options) (err error) {
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
	m := &memoryRecords{Reader: base}
	for i := range base.Summaries() {
		m.last = max(m.last, base.Summaries()[i].File)
	}
	o.Progress = nil
	u := &update{Options: o, records: m, steps: plan(r.Found, base, false), res: r}
	w := &worker{update: u, batch: index.NewBatch(), folder: audit.NewFolder(), limit: math.MaxInt}
	for _, s := range u.todo() {
		if err := w.step(ctx, s); err != nil {
			return err
		}
	}
	r.Entries += w.entries
	r.noteRead(u.steps)
	with, err := base.With(w.batch)
	if err != nil {
		return err
	}
	r.InMemory = r.Lag
	r.setReader(with)
	if o.Opened != nil {
		o.Opened(with)
	}
	return nil
}
