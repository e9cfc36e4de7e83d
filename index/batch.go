package index

import (
	"maps"
	"math"
	"slices"
	"sync"

	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// A Batch collects what is to change in one commit. It is used by one goroutine;
// several goroutines fill a batch each. What a batch takes out are documents of
// commits before it: what it adds itself stays, in whatever order its methods are
// called.
type Batch struct {
	documents *segment.Accumulator // nil before the first document
	stored    map[string][]byte    // records and facts by id; the last one of an id counts
	files     map[uint32]*change
	size      int
	closed    bool
}

// accumulators keeps the memory of finished batches for the next ones.
var accumulators = sync.Pool{New: func() any { return segment.NewAccumulator() }}

// change is what a batch does to one file.
type change struct {
	drop    bool             // all documents, the record and the summary go
	from    int64            // the smallest offset of an added document
	added   int              // documents
	summary *session.Summary // of the record that was put
	stored  []string         // ids of the facts that were put
	put     bool
}

// NewBatch returns an empty batch.
func (w *Writer) NewBatch() *Batch {
	return &Batch{stored: make(map[string][]byte), files: make(map[uint32]*change)}
}

func (b *Batch) change(file uint32) *change {
	c := b.files[file]
	if c == nil {
		c = &change{from: math.MaxInt64}
		b.files[file] = c
	}
	return c
}

// Add adds a document and returns the number of tokens of its text. It takes
// the place of every older document of its file at the same or a later offset,
// so that a file can be read on from its checkpoint. The file's record must be
// put in the same batch.
func (b *Batch) Add(d *segment.Document) (tokens int) {
	c := b.change(d.File)
	c.added++
	c.from = min(c.from, d.Offset)
	b.size += len(d.Text)
	return b.accumulator().Add(d)
}

// DeleteFile takes out all that older commits hold of the file.
func (b *Batch) DeleteFile(file uint32) { b.change(file).drop = true }

// DeleteDocuments takes out all documents of the file in older commits. Its
// record must be put in the same batch.
func (b *Batch) DeleteDocuments(file uint32) { b.change(file).drop = true }

// Put sets the record of a file, and its summary. base is the record as of the
// checkpoint, from which the file is read on; full has an unterminated last line
// too, and is nil when there is none. The summary of the file is full's. Of base's
// facts the pieces are stored that are not stored as they are: they must be those
// that were read with the record and added to, unless the file's documents go.
func (b *Batch) Put(base, full *session.Record) {
	last := full
	if last == nil {
		last = base
	}
	s := last.Summary
	c := b.change(s.File)
	c.put, c.summary = true, &s
	b.stored[recordID(s.File)] = record.Encode(base, full)
	b.putFacts(base, full)
}

func (b *Batch) accumulator() *segment.Accumulator {
	if b.documents == nil {
		b.documents = accumulators.Get().(*segment.Accumulator)
	}
	return b.documents
}

// build returns a segment of everything that was added, nil when that is nothing.
func (b *Batch) build() (*segment.Image, error) {
	if b.documents == nil && len(b.stored) == 0 {
		return nil, nil
	}
	acc := b.accumulator()
	b.documents = nil
	defer func() {
		acc.Reset()
		accumulators.Put(acc)
	}()
	for _, id := range slices.Sorted(maps.Keys(b.stored)) {
		acc.AddStored([]byte(id), b.stored[id])
	}
	return acc.Build()
}

// Size returns the bytes of text taken in.
func (b *Batch) Size() int { return b.size }
