package segment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
)

// Ext is the extension of a segment's file.
const Ext = ".zap"

// fileMode is that of all files of an index: they hold what people said.
const fileMode fs.FileMode = 0o600

// Segment is an open segment file, or one in memory, and which of its documents are
// deleted. Its documents and the stored values among them are numbered from 0 to Len-1;
// deleted ones are found by nothing but their number. All methods may be called by
// several goroutines.
type Segment struct {
	zap         *zap.Segment // counts the references; nil in memory
	data        []byte       // the whole file, mapped; in memory without the footer
	path        string       // "" in memory
	fingerprint Fingerprint  // zero in memory
	length      int
	storedIndex uint64 // address of the stored values
	fields      map[Field]fieldOffsets
	deleted     *roaring.Bitmap // nil when there are none; never changes

	// Of the segments of a reader; see Share.
	automata   *levenshteinCache
	duplicates func() Duplicates

	mu           sync.Mutex
	dictionaries map[Field]*vellum.FST // those that were asked for

	deletedOnce sync.Once
	deletedSet  []uint64 // of deletedBits

	filesOnce sync.Once
	files     FileRuns
	filesErr  error
}

// Fingerprint identifies a segment file: its size, and the xxhash of its last 4 KiB,
// where the footer and the field index are, which the engine follows without a check
// when it opens the file.
type Fingerprint struct {
	Size int64
	Hash uint64
}

const fingerprintTail = 4 << 10

// readFingerprint reads the fingerprint of a file.
func readFingerprint(path string) (Fingerprint, error) {
	f, err := os.Open(path)
	if err != nil {
		return Fingerprint{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Fingerprint{}, err
	}
	size := info.Size()
	tail := make([]byte, min(size, fingerprintTail))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return Fingerprint{}, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return Fingerprint{size, xxhash.Sum64(tail)}, nil
}

// Open opens a segment file without deleted documents.
func Open(path string) (*Segment, error) {
	s, err := open(path, nil)
	if err == nil {
		s.fingerprint = Fingerprint{int64(len(s.data)), xxhash.Sum64(s.data[max(0, len(s.data)-fingerprintTail):])}
	}
	return s, err
}

// OpenAs opens a segment file that must have the fingerprint, with these documents
// deleted. The bitmap must not change any more; nil is none.
func OpenAs(path string, want Fingerprint, deleted *roaring.Bitmap) (*Segment, error) {
	switch got, err := readFingerprint(path); {
	case err != nil:
		return nil, err
	case got != want:
		return nil, format.Damaged("%s is not as it was written", filepath.Base(path))
	}
	s, err := open(path, deleted)
	if err == nil {
		s.fingerprint = want
	}
	return s, err
}

func open(path string, deleted *roaring.Bitmap) (*Segment, error) {
	opened, err := (&zap.ZapPlugin{}).Open(path)
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return nil, fmt.Errorf("open %s: %w", path, err)
	case err != nil:
		return nil, format.Damaged("open %s: %v", path, err)
	}
	z, ok := opened.(*zap.Segment)
	if !ok {
		err := fmt.Errorf("open %s: unknown kind of segment %T", path, opened)
		return nil, errors.Join(err, opened.Close())
	}
	s, err := newSegment(z, deleted)
	if err != nil {
		return nil, errors.Join(err, z.Close())
	}
	s.Trim()
	return s, nil
}

func newSegment(z *zap.Segment, deleted *roaring.Bitmap) (*Segment, error) {
	if z.NumDocs() > math.MaxInt32 || z.NumDocs() > uint64(len(z.Data())) {
		return nil, format.Damaged("segment with %d documents", z.NumDocs())
	}
	fields, err := readFieldIndex(z.Data(), z.SectionsIndexOffset())
	if err != nil {
		return nil, err
	}
	return &Segment{
		zap: z, data: z.Data(), path: z.Path(), length: int(z.NumDocs()), storedIndex: z.StoredIndexOffset(), fields: fields, deleted: deleted,
		dictionaries: make(map[Field]*vellum.FST),
	}, nil
}

// Segment returns the segment in memory, without a file. It shares the image's bytes.
func (m *Image) Segment() (*Segment, error) {
	fields, err := readFieldIndex(m.bytes, m.fieldIndex)
	if err != nil {
		return nil, err
	}
	return &Segment{data: m.bytes, length: m.docs, storedIndex: m.storedIndex, fields: fields, dictionaries: make(map[Field]*vellum.FST)}, nil
}

// Reference returns a second reference to the segment with these documents deleted;
// close both.
func (s *Segment) Reference(deleted *roaring.Bitmap) *Segment {
	s.Retain()
	return &Segment{
		zap: s.zap, data: s.data, path: s.path, fingerprint: s.fingerprint, length: s.length, storedIndex: s.storedIndex, fields: s.fields, deleted: deleted,
		dictionaries: make(map[Field]*vellum.FST),
	}
}

// Retain makes one more Close necessary.
func (s *Segment) Retain() {
	if s.zap != nil {
		s.zap.AddRef()
	}
}

// Close ends one reference; the last one unmaps the file, and nothing of it may be
// used afterwards.
func (s *Segment) Close() error {
	if s.zap == nil {
		return nil
	}
	return s.zap.Close()
}

// Path returns the path of the file when it was opened, "" in memory.
func (s *Segment) Path() string { return s.path }

// Fingerprint returns the fingerprint of the file.
func (s *Segment) Fingerprint() Fingerprint { return s.fingerprint }

// Size returns the bytes of the file.
func (s *Segment) Size() int64 { return int64(len(s.data)) }

// Len returns the number of documents and stored values, deleted ones included.
func (s *Segment) Len() int { return s.length }

// Deleted returns the deleted documents, nil when there are none. The bitmap must
// not be changed.
func (s *Segment) Deleted() *roaring.Bitmap { return s.deleted }

// Trim unmaps the pages of the file that were read so far; the next read maps them
// again. Call it when a phase of work ends. It is safe while others read.
//
// Pages that were read stay mapped in pieces as large as the page cache has them,
// up to 2 MB, and count as resident. Without Trim the peak of a search for 3 words
// is 61 MB in 1 GB of sessions instead of 25, and 31 instead of 21 in 300 MB, for
// 4 % to 10 % less CPU; that of a first index of 300 MB is 487 MB instead of 437.
func (s *Segment) Trim() {
	if s.zap != nil {
		dropPages(s.data)
	}
}

// Share gives the segments of one reader what they have in common: the automata of
// Fuzzy, and the possible duplicates of each. load returns the latter, one for each
// segment or nil; it is called once, when a segment is first asked for them.
func Share(segments []*Segment, load func() []Duplicates) {
	a := &levenshteinCache{made: make(map[levenshteinKey]*levenshtein.DFA)}
	all := sync.OnceValue(load)
	for i, s := range segments {
		s.automata = a
		s.duplicates = func() Duplicates {
			if list := all(); list != nil && len(list[i].Bits) == (s.length+63)/64 {
				return list[i]
			}
			return Duplicates{}
		}
	}
}

// Verify compares every byte of the file with the checksum that it ends with:
// CRC-32 (IEEE), big endian, of all before it. It reads the mapped file, which may
// have no name any more.
func (s *Segment) Verify(ctx context.Context) (err error) {
	name := filepath.Base(s.path)
	defer format.Contain("verify "+name, &err)()
	defer s.Trim()
	if len(s.data) < crc32.Size {
		return format.Damaged("%s is too short", name)
	}
	body, want := s.data[:len(s.data)-crc32.Size], s.data[len(s.data)-crc32.Size:]
	sum := crc32.NewIEEE()
	for piece := range slices.Chunk(body, 1<<20) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify %s: %w", name, err)
		}
		sum.Write(piece)
	}
	if binary.BigEndian.Uint32(want) != sum.Sum32() {
		return format.Damaged("%s does not have the checksum it was written with", name)
	}
	return nil
}
