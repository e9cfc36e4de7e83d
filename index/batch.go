package index

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// A Batch collects the changes of one commit. Only one goroutine may use a batch; several
// goroutines fill one each. A batch deletes only documents of earlier commits. Documents
// that it adds itself stay, whatever the order of calls.
type Batch struct {
	documents *segment.Accumulator // nil before the first document
	stored    map[string][]byte    // records and facts by id; the last one of an id counts
	files     map[uint32]*change
	size      int
	image     *segment.Image // of a finished batch; nil when nothing was added
	finished  bool
	committed bool
}

// accumulators keeps the memory of finished batches for the next ones.
var accumulators = sync.Pool{New: func() any { return segment.NewAccumulator() }}

// change is what a batch does to one file.
type change struct {
	drop    bool             // delete all documents, the record and the summary
	entries []int64          // offsets of entries whose documents are deleted
	from    int64            // the smallest offset of an added document
	added   int              // documents
	summary *session.Summary // of the record that was put; nil if none was
	facts   []string         // ids of the facts that were put
}

// NewBatch returns an empty batch.
func NewBatch() *Batch {
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

// Add adds a document and returns the number of tokens of its text. It replaces all
// older documents of its file at the same or a later offset, so that reading can continue
// from the checkpoint. The file's record must be put in the same batch. The batch keeps
// no reference to the document.
func (b *Batch) Add(d *segment.Document) (tokens int) {
	c := b.change(d.File)
	c.from = min(c.from, d.Offset)
	return b.Overwrite(d)
}

// Overwrite is Add, but replaces nothing: the document is of an entry that DeleteEntry was
// called for.
func (b *Batch) Overwrite(d *segment.Document) (tokens int) {
	b.change(d.File).added++
	b.size += len(d.Text)
	if b.documents == nil {
		b.documents = accumulators.Get().(*segment.Accumulator)
	}
	return b.documents.Add(d)
}

// DeleteFile deletes everything that older commits stored for the file. A record that is
// put in the same batch stays.
func (b *Batch) DeleteFile(file uint32) { b.change(file).drop = true }

// DeleteEntry deletes the documents of the entry at an offset that are in older commits. The
// file's record must be put in the same batch.
func (b *Batch) DeleteEntry(file uint32, offset int64) {
	c := b.change(file)
	c.entries = append(c.entries, offset)
}

// Put sets the record of a file, and its summary. base is the record as of the
// checkpoint, from which reading continues. full includes an unterminated last line; it is
// nil if there is none, and otherwise has the summary of the file. Put stores only those
// pieces of base's entries and facts that are not stored yet. So base must have those that
// were read with the record and then new ones, unless the file's documents are deleted.
func (b *Batch) Put(base, full *session.Record) {
	s := cmp.Or(full, base).Summary
	c := b.change(s.File)
	c.summary = &s
	e := record.Encode(base, full)
	b.stored[recordID(s.File)] = e.Record
	for i, piece := range e.Pieces {
		b.stored[factsID(entries, s.File, record.PieceName(e.First+i))] = piece
	}
	base.Known = e.Known
	b.putFacts(base, full)
}

// putFacts stores the pieces of the facts that are not stored yet, and all facts
// again as the tail if there is an unterminated last line.
func (b *Batch) putFacts(base, full *session.Record) {
	c := b.change(base.File)
	put := func(piece string, f *session.Facts) {
		for _, kind := range record.FactKinds {
			if encoded := record.EncodeFacts(kind, f); encoded != nil {
				id := factsID(kind, base.File, piece)
				b.stored[id] = encoded
				c.facts = append(c.facts, id)
			}
		}
	}
	if full != nil && full.Facts.Chunks() > 0 {
		put(record.Tail, full.Facts)
	}
	for i := range base.Facts.Chunks() {
		if !base.Facts.IsStored(i) {
			put(record.PieceName(i), base.Facts.Chunk(i))
		}
	}
	if base.Facts != nil {
		base.Facts.Stored()
	}
}

// Size returns the bytes of text that were added.
func (b *Batch) Size() int { return b.size }

// table returns a table with the changes of the batch. New files are numbered from next on.
func (b *Batch) table(t *record.Table, next uint32) *record.Table {
	var put []*session.Summary
	for file, c := range b.files {
		next = max(next, file+1)
		if c.summary != nil {
			put = append(put, c.summary)
		}
	}
	drops := func(file uint32) bool { c := b.files[file]; return c != nil && c.drop }
	return t.With(put, drops, next)
}

// finish ends the batch and returns a segment with everything that was added, or nil if
// nothing was added. Further calls return the same segment.
func (b *Batch) finish() (*segment.Image, error) {
	if b.finished {
		return b.image, nil
	}
	for file, c := range b.files {
		if c.added > 0 && c.summary == nil {
			return nil, fmt.Errorf("documents of file %d without its record", file)
		}
	}
	image, err := b.build()
	if err == nil {
		b.image, b.finished = image, true
	}
	return image, err
}

// build returns a segment with everything that was added, or nil if nothing was added.
func (b *Batch) build() (*segment.Image, error) {
	if b.documents == nil && len(b.stored) == 0 {
		return nil, nil
	}
	acc := b.documents
	if b.documents = nil; acc == nil {
		acc = accumulators.Get().(*segment.Accumulator)
	}
	defer func() {
		acc.Reset()
		accumulators.Put(acc)
	}()
	for _, id := range slices.Sorted(maps.Keys(b.stored)) {
		acc.AddStored([]byte(id), b.stored[id])
	}
	return acc.Build()
}

// superseded returns the ids of the older documents and stored values that a batch
// deletes or replaces.
func superseded(t *record.Table, b *Batch) (ids []segment.IDRange) {
	for i := range t.Len() {
		c := b.files[t.File(i)]
		if c == nil {
			continue
		}
		old := t.Summary(i)
		from := c.from
		if c.summary != nil && old.TailBytes > 0 &&
			(c.summary.Checkpoint.Offset != old.Checkpoint.Offset || c.summary.TailBytes != old.TailBytes) {
			// The unterminated last line has changed.
			from = min(from, old.Checkpoint.Offset)
		}
		if c.drop {
			from = 0
		}
		if from < math.MaxInt64 {
			ids = append(ids, segment.DocumentIDs(old.File, from))
		}
		for _, offset := range c.entries {
			if offset < from {
				ids = append(ids, segment.EntryIDs(old.File, offset))
			}
		}
		ids = append(ids, segment.OneID(recordID(old.File)))
		if c.drop {
			ids = append(ids, factIDs(entries, old.File))
		}
		for _, id := range c.facts {
			ids = append(ids, segment.OneID(id))
		}
		for _, kind := range record.FactKinds {
			ids = append(ids, segment.OneID(factsID(kind, old.File, record.Tail)))
			if c.drop {
				ids = append(ids, factIDs(kind, old.File))
			}
		}
	}
	return ids
}
