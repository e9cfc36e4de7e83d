// Package lite reads tables of SQLite databases while other programs write them. It opens the
// database and its log for reading only, takes no lock and creates no file, and so works in
// directories that nobody may write to, and with a log that was left behind. SQLite cannot be
// told to do that.
//
// A DB is a database at one moment: the pages of the file, with the newest committed ones of the
// log in their place. A writer may move pages from the log to the file meanwhile. Whoever
// has read something asks Check whether it was of one moment, and otherwise opens the
// database again. A torn page looks like damage, so every length is checked, and damage may be
// gone the next time, too.
//
// The package opens no table that it is not asked for by name.
package lite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"

	"pigrep/internal/files"
)

// Errors of reading.
var (
	// ErrDamaged says that the bytes are none that SQLite writes: for good, or because a page
	// was being written.
	ErrDamaged = errors.New("the database is damaged")
	// ErrBusy says that the bytes were not of one moment.
	ErrBusy = errors.New("the database was being written")
	// ErrUnsupported says that the database has what this package does not read.
	ErrUnsupported = errors.New("the database is of a form that cannot be read")
	// ErrNoTable says that there is no table of a name.
	ErrNoTable = errors.New("no such table")
)

const (
	headerSize   = 100
	magic        = "SQLite format 3\x00"
	journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
	cachedBytes  = 4 << 20
	longestValue = 1 << 30
)

// DB is a database at one moment. Its methods may be called by several goroutines.
type DB struct {
	path     string
	file     *os.File
	log      *os.File // nil without one that counts
	journals bool     // it has no log: pages are changed in place
	stamp    Stamp
	pageSize int
	usable   int    // bytes of a page
	pages    uint32 // in the database
	frames   map[uint32]int64
	last     uint32 // number of the last committed frame
	schema   []object

	mu     sync.Mutex
	cached map[uint32][]byte
}

// Stamp is what the system says of a database and its log. If it is the same, nobody has written.
type Stamp struct {
	File, Log fileStamp
	Head      [logHeader]byte // of the log
	Counter   [4]byte         // of changes to a database without a log
}

type fileStamp struct{ size, mtime int64 }

func stampOf(f *os.File) (s fileStamp, err error) {
	if f == nil {
		return s, nil
	}
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	return fileStamp{info.Size(), info.ModTime().UnixNano()}, nil
}

// Open opens a database for reading.
func Open(path string) (*DB, error) {
	file, err := files.OpenNow(path)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, file: file, cached: make(map[uint32][]byte)}
	if err := db.open(); err != nil {
		db.Close()
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return db, nil
}

func (db *DB) open() (err error) {
	info, err := db.file.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	}
	if db.stamp.File, err = stampOf(db.file); err != nil || db.stamp.File.size == 0 { // it has no tables yet
		return err
	}
	var head [headerSize]byte
	if _, err := db.file.ReadAt(head[:], 0); err != nil {
		return damage(err)
	}
	if db.pageSize = int(binary.BigEndian.Uint16(head[16:])); db.pageSize == 1 {
		db.pageSize = 1 << 16
	}
	if db.usable = db.pageSize - int(head[20]); string(head[:16]) != magic || db.pageSize < 512 || db.pageSize&(db.pageSize-1) != 0 || db.usable < 480 {
		return ErrDamaged
	}
	db.pages = uint32(min(db.stamp.File.size/int64(db.pageSize), math.MaxUint32))
	switch head[19] {
	case 1:
		db.journals = true
		copy(db.stamp.Counter[:], head[24:])
		if beingWritten(db.path) {
			return ErrBusy
		}
	case 2:
		if err := db.openLog(); err != nil {
			return err
		}
	default:
		return ErrUnsupported
	}
	first, err := db.page(1)
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(first[56:]) > 1 {
		return fmt.Errorf("%w: its texts are UTF-16", ErrUnsupported)
	}
	return db.readSchema()
}

// beingWritten reports whether there is a journal with pages that may have to go back.
func beingWritten(path string) bool {
	f, err := files.OpenNow(path + "-journal")
	if err != nil {
		return false
	}
	defer f.Close()
	var head [len(journalMagic)]byte
	n, _ := f.ReadAt(head[:], 0)
	return string(head[:n]) == journalMagic
}

// Close closes the files. What was read stays valid.
func (db *DB) Close() error {
	err := db.file.Close()
	if db.log != nil {
		err = errors.Join(err, db.log.Close())
	}
	return err
}

// Stamp returns what the system said of the files when they were opened.
func (db *DB) Stamp() Stamp { return db.stamp }

// Check returns ErrBusy unless all that was read is of the moment when the database was opened.
func (db *DB) Check() error {
	now, err := stampOf(db.file)
	if err != nil {
		return err
	}
	if db.log != nil {
		var head [logHeader]byte
		if n, _ := db.log.ReadAt(head[:], 0); n < len(head) && db.last > 0 || n == len(head) && head != db.stamp.Head {
			return ErrBusy
		}
		if attempted, ok := db.attempted(); ok {
			if attempted > db.last {
				return ErrBusy
			}
			return nil
		}
	} else if db.journals {
		var counter [4]byte
		if _, err := db.file.ReadAt(counter[:], 24); err != nil || counter != db.stamp.Counter || beingWritten(db.path) {
			return ErrBusy
		}
	}
	if now != db.stamp.File {
		return ErrBusy
	}
	return nil
}

// IsCurrent reports whether nobody has written to the database since it was opened, as far as the
// system tells.
func (db *DB) IsCurrent() bool {
	now, err := StampOf(db.path)
	return err == nil && now == db.stamp
}

// StampOf returns what the system says of a database and its log.
func StampOf(path string) (s Stamp, err error) {
	for _, f := range []struct {
		name string
		to   *fileStamp
	}{{path, &s.File}, {path + logSuffix, &s.Log}} {
		info, err := os.Stat(f.name)
		switch {
		case err == nil:
			*f.to = fileStamp{info.Size(), info.ModTime().UnixNano()}
		case f.name == path || !errors.Is(err, fs.ErrNotExist):
			return s, err
		}
	}
	f, err := files.OpenNow(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	var head [headerSize]byte
	n, _ := f.ReadAt(head[:], 0)
	if n == len(head) && head[19] != 2 {
		copy(s.Counter[:], head[24:])
		s.Log = fileStamp{}
	} else if s.Log.size > 0 {
		log, err := files.OpenNow(path + logSuffix)
		if err != nil {
			return s, err
		}
		defer log.Close()
		_, _ = log.ReadAt(s.Head[:], 0)
	}
	return s, nil
}

// page returns a page, which is not to be changed.
func (db *DB) page(number uint32) ([]byte, error) {
	db.mu.Lock()
	p := db.cached[number]
	db.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p = make([]byte, db.pageSize)
	if err := db.read(number, p); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if (len(db.cached)+1)*db.pageSize > cachedBytes {
		clear(db.cached)
	}
	db.cached[number] = p
	return p, nil
}

func (db *DB) read(number uint32, into []byte) error {
	if number == 0 || number > db.pages {
		return ErrDamaged
	}
	from, at := db.file, int64(number-1)*int64(db.pageSize)
	if frame, ok := db.frames[number]; ok {
		from, at = db.log, frame
	}
	_, err := from.ReadAt(into, at)
	return damage(err)
}

// damage says what an error of reading means: a file that ends too early is damaged.
func damage(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrDamaged
	}
	return err
}

// The log begins with a header. Each frame is a page behind a header of its own.
const (
	logSuffix   = "-wal"
	indexSuffix = "-shm"
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // its last bit says that checksums are big-endian
)

// openLog finds the committed pages in the log.
func (db *DB) openLog() error {
	log, err := files.OpenNow(db.path + logSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	db.log = log
	if db.stamp.Log, err = stampOf(log); err != nil {
		return err
	}
	head := db.stamp.Head[:]
	if n, err := log.ReadAt(head, 0); n < len(head) {
		clear(head)
		return ignoreEnd(err)
	}
	u32 := binary.BigEndian.Uint32
	sum := checksum{order: binary.LittleEndian}
	if u32(head)&1 != 0 {
		sum.order = binary.BigEndian
	}
	sum.add(head[:24])
	if u32(head)&^1 != logMagic || u32(head[24:]) != sum.a || u32(head[28:]) != sum.b {
		return nil // it does not count for SQLite either
	}
	if int(u32(head[8:])) != db.pageSize {
		return ErrDamaged
	}
	db.frames = make(map[uint32]int64)
	pending := make(map[uint32]int64) // of a transaction that is not committed yet
	size := frameHeader + db.pageSize
	buf := make([]byte, max(1, (1<<20)/size)*size)
	for at := int64(logHeader); ; at += int64(len(buf)) {
		n, err := log.ReadAt(buf, at)
		for i := 0; i+size <= n; i += size {
			frame := buf[i : i+size]
			if !bytes.Equal(frame[8:16], head[16:24]) {
				return nil // it is of before the log began anew
			}
			sum.add(frame[:8])
			sum.add(frame[frameHeader:])
			if u32(frame[16:]) != sum.a || u32(frame[20:]) != sum.b {
				return nil
			}
			pending[u32(frame)] = at + int64(i) + frameHeader
			if pages := u32(frame[4:]); pages > 0 {
				for number, offset := range pending {
					db.frames[number] = offset
				}
				clear(pending)
				db.pages, db.last = pages, uint32((at+int64(i)-logHeader)/int64(size))+1
			}
		}
		if n < len(buf) {
			return ignoreEnd(err)
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// checksum is that of a log.
type checksum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *checksum) add(data []byte) {
	a, b := s.a, s.b
	if s.order == binary.LittleEndian { // the usual one, without calls
		for ; len(data) >= 8; data = data[8:] {
			a += binary.LittleEndian.Uint32(data) + b
			b += binary.LittleEndian.Uint32(data[4:]) + a
		}
	}
	for ; len(data) >= 8; data = data[8:] {
		a += s.order.Uint32(data) + b
		b += s.order.Uint32(data[4:]) + a
	}
	s.a, s.b = a, b
}

// attempted returns how many frames of the log a writer began to move to the database, as the
// memory that writers share says. ok is false if there is none of this log.
func (db *DB) attempted() (frames uint32, ok bool) {
	const salts, attempted, end = 32, 128, 132
	f, err := files.OpenNow(db.path + indexSuffix)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var b [end]byte
	if _, err := f.ReadAt(b[:], 0); err != nil || !bytes.Equal(b[salts:salts+8], db.stamp.Head[16:24]) {
		return 0, false
	}
	return binary.NativeEndian.Uint32(b[attempted:]), true
}
