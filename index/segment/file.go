package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/blevesearch/mmap-go"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
	"pigrep/internal/files"
)

// A segment file consists of
//
//	body     the parts that segment.go lists
//	table    the CRC-32C (Castagnoli) of each block of the body, 4 bytes each; a block
//	         has 4 KiB, the last one may have less
//	footer
//
// The footer is the engine's:
//
//	4 bytes  0: the length of a writer callback's id, which would precede the footer
//	8 bytes  number of documents
//	8 bytes  address of the stored index
//	8 bytes  address of the field index
//	4 bytes  chunk mode
//	4 bytes  version
//	4 bytes  CRC-32 (IEEE) of everything before it
//
// The engine only follows addresses, so it never comes across the table. The number of
// blocks follows from the size of the file.
const (
	blockSize  = 4 << 10
	footerSize = zap.FooterSize
)

// The engine's name and version of the format.
const (
	FormatName    = zap.Type
	FormatVersion = zap.Version
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tail returns what follows the body in a file: the table, then the footer.
func (p *parts) tail(s *blockSums) []byte {
	s.end()
	be := binary.BigEndian
	b := be.AppendUint32(s.table, 0)
	b = be.AppendUint64(b, uint64(p.docs))
	b = be.AppendUint64(b, p.storedIndex)
	b = be.AppendUint64(b, p.fieldIndex)
	b = be.AppendUint32(b, chunkMode)
	b = be.AppendUint32(b, zap.Version)
	return be.AppendUint32(b, crc32.Update(s.all, crc32.IEEETable, b))
}

// blockSums computes the table of a body, and the CRC-32 (IEEE) of all of it.
type blockSums struct {
	table []byte // of the blocks that are complete
	all   uint32
	block uint32 // of the last block so far
	size  int    // bytes of it so far
}

// add takes the next bytes of the body.
func (s *blockSums) add(b []byte) {
	s.all = crc32.Update(s.all, crc32.IEEETable, b)
	for len(b) > 0 {
		n := min(len(b), blockSize-s.size)
		s.block = crc32.Update(s.block, castagnoli, b[:n])
		s.size += n
		if b = b[n:]; s.size == blockSize {
			s.end()
		}
	}
}

func (s *blockSums) end() {
	if s.size > 0 {
		s.table = binary.BigEndian.AppendUint32(s.table, s.block)
		s.block, s.size = 0, 0
	}
}

// parts is what the footer records about the body.
type parts struct {
	docs                    int
	storedIndex, fieldIndex uint64 // addresses
}

// readParts decodes a footer; ok is false if it is not of the form that the engine and
// tail write.
func readParts(footer []byte) (p parts, ok bool) {
	be := binary.BigEndian
	docs := be.Uint64(footer[4:])
	ok = be.Uint32(footer) == 0 && docs <= math.MaxInt32 && be.Uint32(footer[28:]) == chunkMode && be.Uint32(footer[32:]) == zap.Version
	return parts{int(docs), be.Uint64(footer[12:]), be.Uint64(footer[20:])}, ok
}

// bodySize returns the size of the body in a file of the given size; ok is false if no
// segment file has that size.
func bodySize(size int64) (body int64, ok bool) {
	body = size - footerSize
	blocks := (body + blockSize + 3) / (blockSize + 4)
	body -= 4 * blocks
	return body, body > blockSize*(blocks-1) && body > 0
}

// body is the bytes of a segment, and a record of the blocks that matched their
// checksums. No byte may be used before its block has matched. Checking bounds is not
// enough: a number changed by a flipped bit may still be in range.
type body struct {
	data    []byte
	sums    []byte          // the table
	checked []atomic.Uint64 // a bit for each block
	name    string
}

// inMemory returns a body that has no checksums; all its blocks count as checked.
func inMemory(data []byte) body {
	b := body{data: data, checked: make([]atomic.Uint64, len(data)/blockSize/64+1)}
	for i := range b.checked {
		b.checked[i].Store(math.MaxUint64)
	}
	return b
}

// check compares each block that overlaps [from, to) with its checksum, unless that
// block has matched before. If one differs, check panics with an error that wraps
// format.ErrDamaged; callers recover with format.Contain.
func (b *body) check(from, to uint64) {
	first := from / blockSize
	if (to-1)/blockSize != first || b.checked[first/64].Load()>>(first%64)&1 == 0 {
		b.checkEach(from, to)
	}
}

func (b *body) checkEach(from, to uint64) {
	if from >= to {
		return
	}
	if to > uint64(len(b.data)) {
		panic(format.Damaged("segment %s refers to byte %d, but its body has %d", b.name, to-1, len(b.data)))
	}
	for block := from / blockSize; block <= (to-1)/blockSize; block++ {
		if b.checked[block/64].Load()>>(block%64)&1 != 0 {
			continue
		}
		if err := b.compare(block); err != nil {
			panic(err)
		}
		b.checked[block/64].Or(1 << (block % 64))
	}
}

// compare returns an error if a block differs from its checksum. It neither consults
// nor updates the record of checked blocks.
func (b *body) compare(block uint64) error {
	at := block * blockSize
	sum := crc32.Checksum(b.data[at:min(at+blockSize, uint64(len(b.data)))], castagnoli)
	if binary.BigEndian.Uint32(b.sums[4*block:]) != sum {
		return format.Damaged("segment %s: checksum mismatch in the block at %d", b.name, at)
	}
	return nil
}

// bytes returns the bytes [at, at+size), whose blocks it checks first. Like all that reads a
// body, it panics as check does if there are no such bytes.
func (b *body) bytes(at, size uint64) []byte {
	if at > uint64(len(b.data)) || size > uint64(len(b.data))-at {
		panic(format.Damaged("segment %s refers to %d bytes at %d, but its body has %d", b.name, size, at, len(b.data)))
	}
	b.check(at, at+size)
	return b.data[at : at+size]
}

// uvarint checks and reads the varint at an address, and returns the address after it.
func (b *body) uvarint(at uint64) (v, end uint64) {
	if at < uint64(len(b.data)) {
		b.check(at, min(at+binary.MaxVarintLen64, uint64(len(b.data))))
	}
	return readUvarint(b.data, at)
}

// file is what all references to a segment share.
type file struct {
	body
	parts
	content                 // zero for a segment in memory
	path        string      // "" in memory
	fingerprint Fingerprint // zero in memory
	refs        atomic.Int64
	kept        atomic.Bool // Trim leaves the pages mapped
	fault       atomic.Pointer[error]

	fields  map[Field]fieldOffsets
	files   func() FileRuns
	infixes *infixCache
}

// Fingerprint identifies a segment file by its size and by the xxhash of what every
// lookup starts from: the footer, and the last 4 KiB of the body, which have the field
// index.
type Fingerprint struct {
	Size int64
	Hash uint64
}

const fingerprintTail = 4 << 10

// fingerprintOf returns the fingerprint of a file with a body of this size.
func fingerprintOf(all []byte, size int64) Fingerprint {
	h := xxhash.New()
	_, _ = h.Write(all[max(0, size-fingerprintTail):size])
	_, _ = h.Write(all[len(all)-footerSize:])
	return Fingerprint{int64(len(all)), h.Sum64()}
}

func (m *Image) WriteTo(w io.Writer) (int64, error) {
	var sums blockSums
	sums.add(m.bytes)
	n, err := w.Write(m.bytes)
	if err != nil {
		return int64(n), err
	}
	k, err := w.Write(m.tail(&sums))
	return int64(n + k), err
}

// content is the bytes of a file of an index, which never change.
type content struct {
	all    []byte
	mapped mmap.MMap // the same bytes; nil if they were read into memory
}

// mapper maps a part of a file, as mmap.MapRegion does.
type mapper func(f *os.File, length, prot, flags int, offset int64) (mmap.MMap, error)

// cannotMap lists the errors of file systems that do not map files in this way: FUSE with
// direct_io and 9p have private mappings at most.
var cannotMap = []error{syscall.ENODEV, syscall.EINVAL, syscall.EACCES, syscall.EPERM, syscall.ENOTSUP}

// openContent maps a file, or reads it if its file system does not map files.
func openContent(path string, mapRegion mapper) (c content, err error) {
	f, err := files.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return c, err
	}
	refused := func(err error) bool {
		return slices.ContainsFunc(cannotMap, func(e error) bool { return errors.Is(err, e) })
	}
	size := int(info.Size())
	c.mapped, err = mapRegion(f, size, mmap.RDONLY, 0, 0)
	if refused(err) {
		c.mapped, err = mapRegion(f, size, mmap.COPY, 0, 0)
	}
	c.all = c.mapped
	if refused(err) {
		c.all = make([]byte, size)
		_, err = io.ReadFull(f, c.all)
	}
	if err != nil {
		return content{}, fmt.Errorf("open %s: %w", path, err)
	}
	return c, nil
}

// close unmaps the bytes, which nothing may use afterwards.
func (c *content) close() error {
	if c.mapped == nil {
		return nil
	}
	return c.mapped.Unmap()
}

// Map maps a file of an index that never changes, or reads it where a file that is mapped
// cannot be removed. The caller must call unmap, even if it fails, when nothing uses the
// bytes any more.
func Map(path string) (b []byte, unmap func() error, err error) {
	if runtime.GOOS == "windows" {
		b, err = os.ReadFile(path)
		return b, func() error { return nil }, err
	}
	c, err := openContent(path, mmap.MapRegion)
	return c.all, c.close, err
}
