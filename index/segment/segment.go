// Package segment says which documents contain a term. Only this package reads and writes
// segment files. They are zap files, version 17, the format of the engine (Bleve), so the
// engine's own code opens and merges them. Its central types are Accumulator, which builds
// the bytes of a segment from documents, and Segment, which is an open file.
//
//	Accumulator ── Build ──> Image ── WriteTo ──> a file ── Open ──> Segment
//	  one goroutine each       checked                                 └── Merge of several
//
// Each structure in a segment has a file here, with its layout, the code that
// writes it and the code that reads it, in that order:
//
//	stored.go      document number to id and stored value
//	postings.go    term to documents, frequencies and lengths
//	dictionary.go  field to terms, and each term to its postings
//	docvalues.go   document number to the terms of a field
//	adjacency.go   document number to the pairs of words that may follow each other
//	fieldindex.go  field name to its dictionary and doc values
//	file.go        the checksums of blocks, the footer
//
// A segment has these parts, in this order. Fields are in the order of their names, except
// _id, which is first:
//
//	stored values, their index
//	for each field: postings of its terms, dictionary, doc values, header
//	adjacency filters, which the engine ignores
//	field index
//	table of checksums, which the engine ignores
//	footer
//
// Documents are numbered from 0. An address counts from the first byte of the
// segment. A varint is an unsigned LEB128; every other number is big endian unless
// its layout says otherwise. All segments have the same fields, so that the engine
// can copy bytes when it merges.
//
// Everything is read in place from the mapped file. Before any byte of a block of 4 KiB
// is used, body.check compares the block with its checksum, once for all references to
// a file. So whatever happened to the file, callers get what was written, or an error
// that wraps format.ErrDamaged: most methods return none and leave it to Segment.Fault, so
// that a question asks for it once, before it answers. Bounds are checked all the same, and
// panics and faults become errors, because a file can be cut while it is mapped. Merge reads
// in the same way, so damage is never copied.
//
// The package may import index/analysis, index/format, internal/files and
// internal/session.
package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/mmap-go"

	"pigrep/index/format"
)

// Ext is the extension of a segment's file.
const Ext = ".zap"

// Segment is an open segment file, or one in memory, and which of its documents are
// deleted. Its documents and the stored values among them are numbered from 0 to Len-1;
// deleted ones are found by nothing but their number. All methods may be called by
// several goroutines.
type Segment struct {
	*file
	length  int
	deleted *roaring.Bitmap // nil when there are none; never changes

	// Of the segments of a reader; see Share.
	duplicates func() Duplicates

	deletedOnce sync.Once
	deletedSet  []uint64 // of deletedBits
}

// Open opens a segment file without deleted documents.
func Open(path string) (*Segment, error) { return open(path, nil, nil) }

// OpenAs opens a segment file that must have the fingerprint, with these documents
// deleted. The bitmap must not change any more; nil is none.
func OpenAs(path string, want Fingerprint, deleted *roaring.Bitmap) (*Segment, error) {
	return open(path, &want, deleted)
}

func open(path string, want *Fingerprint, deleted *roaring.Bitmap) (*Segment, error) {
	c, err := openContent(path, mmap.MapRegion)
	if err != nil {
		return nil, err
	}
	return openAs(path, c, want, deleted)
}

// openAs opens a segment file with this content, which it closes if it fails. The fingerprint
// must be as wanted, unless want is nil.
func openAs(path string, c content, want *Fingerprint, deleted *roaring.Bitmap) (s *Segment, err error) {
	defer func() {
		if err != nil {
			s, err = nil, errors.Join(err, c.close())
		}
	}()
	name := filepath.Base(path)
	defer format.Contain(format.Guard(), "open "+name, &err)
	size, ok := bodySize(int64(len(c.all)))
	if !ok {
		return nil, format.Damaged("segment %s has an impossible size of %d bytes", name, len(c.all))
	}
	footer := c.all[len(c.all)-footerSize:]
	f := &file{content: c, path: path, fingerprint: fingerprintOf(c.all, size)}
	if want != nil && f.fingerprint != *want {
		return nil, format.Damaged("%s is not as it was written", name)
	}
	if f.parts, ok = readParts(footer); !ok || f.docs > int(size) {
		return nil, format.Damaged("footer of segment %s", name)
	}
	sums := c.all[size : len(c.all)-footerSize]
	f.body = body{data: c.all[:size], sums: sums, checked: make([]atomic.Uint64, size/blockSize/64+1), name: name}
	s = newSegment(f)
	s.deleted = deleted
	s.Trim()
	return s, nil
}

// newSegment returns the only reference to a file, and reads the field index, by which the
// rest is found.
func newSegment(f *file) *Segment {
	s := &Segment{file: f, length: f.docs}
	f.refs.Store(1)
	f.fields, f.files, f.infixes = f.readFieldIndex(f.fieldIndex), sync.OnceValue(s.readFiles), new(infixCache)
	return s
}

// Segment returns the segment in memory, without a file. It shares the image's bytes.
func (m *Image) Segment() (s *Segment, err error) {
	defer format.Contain(format.Guard(), "open a segment in memory", &err)
	return newSegment(&file{body: inMemory(m.bytes), parts: m.parts}), nil
}

// Reference returns a second reference to the segment with these documents deleted;
// close both.
func (s *Segment) Reference(deleted *roaring.Bitmap) *Segment {
	s.Retain()
	return &Segment{file: s.file, length: s.length, deleted: deleted}
}

// Retain makes one more Close necessary.
func (s *Segment) Retain() { s.refs.Add(1) }

// Close ends one reference; the last one unmaps the file, and nothing of it may be
// used afterwards.
func (s *Segment) Close() error {
	if s.refs.Add(-1) != 0 {
		return nil
	}
	return s.close()
}

// Fault returns the first damage that a method without an error met, through any reference to
// the file; nil if none did. After damage such methods may return anything, so callers ask
// for it before they answer.
func (s *Segment) Fault() error {
	if err := s.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// contain is format.Contain for methods that return no error.
func (s *Segment) contain(before bool, doing string) {
	debug.SetPanicOnFault(before)
	if p := recover(); p != nil {
		s.fail(doing, p)
	}
}

// visiting is true while a method calls back: a panic is the caller's own then.
type visiting bool

func (v *visiting) do(visit func()) {
	*v = true
	visit()
	*v = false
}

// containUnless is contain for methods that call back: while they do, a panic continues.
func (s *Segment) containUnless(before bool, calling *visiting, doing string) {
	debug.SetPanicOnFault(before)
	if *calling {
		return
	}
	if p := recover(); p != nil {
		s.fail(doing, p)
	}
}

func (s *Segment) fail(doing string, p any) {
	err := format.Recovered(doing, p)
	s.fault.CompareAndSwap(nil, &err)
}

// Path returns the path of the file when it was opened, "" in memory.
func (s *Segment) Path() string { return s.path }

func (s *Segment) Fingerprint() Fingerprint { return s.fingerprint }

// Size returns the bytes of the file.
func (s *Segment) Size() int64 { return int64(len(s.all)) }

// Len returns the number of documents and stored values, deleted ones included.
func (s *Segment) Len() int { return s.length }

// Deleted returns the deleted documents, nil when there are none. The bitmap must
// not be changed.
func (s *Segment) Deleted() *roaring.Bitmap { return s.deleted }

// spareMemory is how many bytes a process may have resident before Trim does anything.
const spareMemory = 40 << 20

// Trim unmaps the pages of the file that were read so far, unless the process is small; the
// next read maps them again. Call it when a phase of work ends. It is safe while others read.
//
// Pages that were read stay mapped in pieces as large as the page cache has them,
// up to 2 MB, and count as resident. In 1 GB of sessions, without Trim the peak of a search
// for 5 words is 56 MB, and 33 if it always unmaps them, for 7 % more CPU; a search for a
// rare word, which stays below spareMemory, then takes 20 % more. Without Trim the peak of a
// first index of 300 MB is 487 MB instead of 437.
func (s *Segment) Trim() {
	if !s.kept.Load() && !isSmall() {
		dropPages(s.mapped)
	}
}

// Keep makes Trim leave the pages mapped, or no longer; then it also unmaps them. Where
// questions follow each other, mapping the same pages again is a third of their CPU.
func (s *Segment) Keep(on bool) {
	s.kept.Store(on)
	if !on {
		dropPages(s.mapped)
	}
}

// Share gives the segments of one reader what they have in common, the possible
// duplicates. load returns those of each segment, or nil; it is called once, when a
// segment is first asked for them.
func Share(segments []*Segment, load func() []Duplicates) {
	all := sync.OnceValue(load)
	for i, s := range segments {
		s.duplicates = func() Duplicates {
			if list := all(); list != nil && len(list[i].Bits) == (s.length+63)/64 {
				return list[i]
			}
			return Duplicates{}
		}
	}
}

// Verify compares the file with the checksum of each block, and with that of the whole
// file at its end. It reads the mapping, so the file may have been deleted since.
func (s *Segment) Verify(ctx context.Context) (err error) {
	defer format.Contain(format.Guard(), "verify "+s.name, &err)
	defer s.Trim()
	if s.all == nil {
		return nil
	}
	sum := crc32.NewIEEE()
	for block := range uint64(len(s.sums) / crc32.Size) {
		if block%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("verify %s: %w", s.name, err)
			}
			s.Trim()
		}
		if err := s.compare(block); err != nil { // even if it has matched before
			return err
		}
		sum.Write(s.data[block*blockSize : min((block+1)*blockSize, uint64(len(s.data)))])
	}
	end := len(s.all) - crc32.Size
	sum.Write(s.all[len(s.data):end])
	if binary.BigEndian.Uint32(s.all[end:]) != sum.Sum32() {
		return format.Damaged("%s: checksum mismatch", s.name)
	}
	return nil
}
