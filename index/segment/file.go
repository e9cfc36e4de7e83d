package segment

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/blevesearch/mmap-go"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
)

// A segment file is
//
//	the body: the parts that doc.go lists
//	the table: 4 bytes for each block of 4 KiB of the body, the last one shorter:
//	         its CRC-32C (Castagnoli)
//	the footer
//
// and the footer, which is the engine's:
//
//	4 bytes  length of the id of a writer callback, which would precede the footer: 0
//	8 bytes  number of documents
//	8 bytes  address of the stored index
//	8 bytes  address of the field index
//	4 bytes  chunk mode
//	4 bytes  version
//	4 bytes  CRC-32 (IEEE) of everything before it
//
// The engine follows addresses only, so it does not notice the table. The number of
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

// tail returns the table and the footer of a file with a body of these checksums.
func (p *parts) tail(table []byte, sum uint32) []byte {
	be := binary.BigEndian
	b := be.AppendUint32(table, 0)
	b = be.AppendUint64(b, uint64(p.docs))
	b = be.AppendUint64(b, p.storedIndex)
	b = be.AppendUint64(b, p.fieldIndex)
	b = be.AppendUint32(b, chunkMode)
	b = be.AppendUint32(b, zap.Version)
	return be.AppendUint32(b, crc32.Update(sum, crc32.IEEETable, b))
}

// sumBlocks returns the table of a body, and the CRC-32 (IEEE) of all of it.
func sumBlocks(body io.Reader) (table []byte, sum uint32, err error) {
	block := make([]byte, blockSize)
	for {
		n, err := io.ReadFull(body, block)
		if n > 0 {
			table = binary.BigEndian.AppendUint32(table, crc32.Checksum(block[:n], castagnoli))
			sum = crc32.Update(sum, crc32.IEEETable, block[:n])
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return table, sum, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// parts is what the footer says.
type parts struct {
	docs                    int
	storedIndex, fieldIndex uint64 // addresses
}

// readParts is the inverse of tail, as far as the footer goes.
func readParts(footer []byte) (p parts, ok bool) {
	be := binary.BigEndian
	docs := be.Uint64(footer[4:])
	ok = be.Uint32(footer) == 0 && docs <= math.MaxInt32 && be.Uint32(footer[28:]) == chunkMode && be.Uint32(footer[32:]) == zap.Version
	return parts{int(docs), be.Uint64(footer[12:]), be.Uint64(footer[20:])}, ok
}

// bodySize returns the size of the body of a file of the given size; false if no body
// gives that size.
func bodySize(size int64) (body int64, ok bool) {
	body = size - footerSize
	blocks := (body + blockSize + 3) / (blockSize + 4)
	body -= 4 * blocks
	return body, body > blockSize*(blocks-1) && body > 0
}

// body is the bytes of a segment, and which blocks of them were compared with their
// checksums. Every byte is checked before it is used. Checking bounds is not enough: a
// number that a flipped bit has changed may still be in range.
type body struct {
	data    []byte
	sums    []byte          // the table
	checked []atomic.Uint64 // a bit for each block
	name    string
}

// inMemory returns a body that needs no checks.
func inMemory(data []byte) body {
	b := body{data: data, checked: make([]atomic.Uint64, len(data)/blockSize/64+1)}
	for i := range b.checked {
		b.checked[i].Store(math.MaxUint64)
	}
	return b
}

// check compares the blocks that have the bytes [from, to) with their checksums, each
// once, and panics with an error if one differs. Callers recover with format.Contain.
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
		panic(format.Damaged("segment %s: bytes up to %d of %d", b.name, to, len(b.data)))
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

// compare compares a block with its checksum.
func (b *body) compare(block uint64) error {
	at := block * blockSize
	sum := crc32.Checksum(b.data[at:min(at+blockSize, uint64(len(b.data)))], castagnoli)
	if binary.BigEndian.Uint32(b.sums[4*block:]) != sum {
		return format.Damaged("segment %s: the block at %d does not have the checksum it was written with", b.name, at)
	}
	return nil
}

// bytes returns checked bytes; false when the body does not have so many.
func (b *body) bytes(at, size uint64) ([]byte, bool) {
	if at > uint64(len(b.data)) || size > uint64(len(b.data))-at {
		return nil, false
	}
	b.check(at, at+size)
	return b.data[at : at+size], true
}

// uvarint reads a varint at an address and returns the address after it.
func (b *body) uvarint(at uint64) (v, end uint64, ok bool) {
	if at >= uint64(len(b.data)) {
		return 0, 0, false
	}
	b.check(at, min(at+binary.MaxVarintLen64, uint64(len(b.data))))
	return readUvarint(b.data, at)
}

// file is what the references to a segment share: its body, and the mapped file, if
// it is not in memory.
type file struct {
	body
	parts
	mapped mmap.MMap // nil in memory
	refs   atomic.Int64
}

// mapFile maps a segment file.
func mapFile(path string) (f *file, err error) {
	name := filepath.Base(path)
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	size, ok := bodySize(info.Size())
	if !ok {
		return nil, format.Damaged("segment %s cannot have %d bytes", name, info.Size())
	}
	mapped, err := mmap.MapRegion(opened, int(info.Size()), mmap.RDONLY, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f = &file{mapped: mapped}
	f.refs.Store(1)
	f.body = body{data: mapped[:size], sums: mapped[size : len(mapped)-footerSize], checked: make([]atomic.Uint64, size/blockSize/64+1), name: name}
	return f, nil
}

// readFooter reads where the parts of a mapped file are.
func (f *file) readFooter() error {
	p, ok := readParts(f.mapped[len(f.mapped)-footerSize:])
	if !ok || p.docs > len(f.data) {
		return format.Damaged("footer of segment %s", f.name)
	}
	f.parts = p
	return nil
}

// release ends one reference; the last one unmaps the file.
func (f *file) release() error {
	if f.refs.Add(-1) != 0 || f.mapped == nil {
		return nil
	}
	return f.mapped.Unmap()
}

// Fingerprint identifies a segment file: its size, and the xxhash of the last 4 KiB
// of its body and of the footer, without which nothing in it can be found.
type Fingerprint struct {
	Size int64
	Hash uint64
}

const fingerprintTail = 4 << 10

func (f *file) fingerprint() Fingerprint {
	h := xxhash.New()
	_, _ = h.Write(f.data[max(0, len(f.data)-fingerprintTail):])
	_, _ = h.Write(f.mapped[len(f.mapped)-footerSize:])
	return Fingerprint{int64(len(f.mapped)), h.Sum64()}
}

// addTable turns a file as the engine writes it, without a table, into one of ours.
func addTable(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - footerSize
	footer := make([]byte, footerSize)
	if _, err := f.ReadAt(footer, size); err != nil {
		return err
	}
	p, ok := readParts(footer)
	if !ok {
		return fmt.Errorf("segment %s has a footer of an unknown form", filepath.Base(path))
	}
	table, sum, err := sumBlocks(bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 1<<20))
	if err != nil {
		return err
	}
	rest, want := footer[:footerSize-crc32.Size], footer[footerSize-crc32.Size:]
	if crc32.Update(sum, crc32.IEEETable, rest) != binary.BigEndian.Uint32(want) {
		return format.Damaged("segment %s does not have the checksum it was written with", filepath.Base(path))
	}
	if _, err := f.WriteAt(p.tail(table, sum), size); err != nil {
		return err
	}
	return f.Sync()
}

// WriteTo writes the bytes of a segment file.
func (m *Image) WriteTo(w io.Writer) (int64, error) {
	table, sum, err := sumBlocks(bytes.NewReader(m.bytes))
	if err != nil {
		return 0, err
	}
	n, err := w.Write(m.bytes)
	if err != nil {
		return int64(n), err
	}
	k, err := w.Write(m.tail(table, sum))
	return int64(n + k), err
}

// fileMode is that of all files of an index: they hold what people said.
const fileMode fs.FileMode = 0o600
