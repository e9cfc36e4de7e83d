// Package content reads session files that may be compressed, at offsets of their text.
package content

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"pigrep/internal/files"
)

// Suffix is what compression adds to the name of a session file. Whether a file is
// compressed, its first bytes say.
const Suffix = ".zst"

// Logical returns the path of a session file without the suffix of a compression: the path of
// the file before it was compressed, and after.
func Logical(path string) string { return strings.TrimSuffix(path, Suffix) }

// ErrDamaged says that the text of a compressed file ends too early, is not what was
// compressed, or needs a dictionary or too much memory. What was read before it is right.
var ErrDamaged = errors.New("the rest of the compressed file cannot be decompressed")

// Ends reports whether an error says that the text ends before its time, not that reading
// failed.
func Ends(err error) bool {
	_, tooLong := errors.AsType[*TooLongError](err)
	return tooLong || errors.Is(err, ErrDamaged)
}

// A TooLongError says that the text of a compressed file is longer than the limit, in bytes.
type TooLongError struct{ Limit int64 }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the decompressed text is longer than %g GB", float64(e.Limit)/1e9)
}

// magic begins each frame of a compressed file: RFC 8878, section 3.1.1. A frame that is to
// be skipped begins with skipped, whose low four bits are free: section 3.1.2.
const (
	magic   = 0xFD2FB528
	skipped = 0x184D2A50
)

// Packed reports whether a file begins like a compressed one.
func Packed(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	first := binary.LittleEndian.Uint32(head)
	return first == magic || first&^0xF == skipped
}

// File is the text of a session file. Its methods may be called by several goroutines.
type File struct {
	// Stored is the file as it is stored, nil for a Virtual one. Its bytes are the text unless the file is Packed.
	Stored *os.File
	// Info is what the system said of it when it was opened.
	Info  fs.FileInfo
	limit int64 // of the text that is decompressed; 0 for none
	text  *text // nil unless the file is packed
	lines bool  // line feeds are no text: the file is one document
}

// Open opens the session file with a logical path for reading: the plain file, or if there
// is none, the compressed one. Anything but a regular file is an error. Of compressed text, at
// most limit bytes are read; 0 means no limit.
func Open(path string, limit int64) (*File, error) {
	var v *Virtual
	stored, err := either(path, func(path string) (f *os.File, err error) {
		if f, err = files.OpenNow(path); cannotBe(err) {
			v, err = StatVirtual(path)
		}
		return f, err
	})
	if err != nil {
		return nil, err
	}
	if v != nil {
		f := &File{Info: v, limit: limit}
		f.text = share(f)
		return f, nil
	}
	f, err := New(stored, limit)
	if err != nil {
		stored.Close()
		return nil, err
	}
	f.lines = strings.HasSuffix(path, document)
	return f, nil
}

// document ends the name of a file that is one JSON document. Its text is one line: line feeds between its values
// are spaces.
const document = ".json"

// Stat returns what the system says of the file that Open would open.
func Stat(path string) (fs.FileInfo, error) {
	return either(path, func(path string) (fs.FileInfo, error) {
		info, err := os.Stat(path)
		if cannotBe(err) {
			return StatVirtual(path)
		}
		return info, err
	})
}

// cannotBe reports whether an error says that there is no such file, or that what should be its directory is a file.
func cannotBe(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// either calls a function with where a file may be, until one is there.
func either[T any](path string, try func(path string) (T, error)) (found T, err error) {
	if found, err = try(path); !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	more := []string{path + Suffix}
	if kept := keptAt.Load(); kept != nil {
		if copied := (*kept)(path); copied != "" {
			more = append(more, copied, copied+Suffix)
		}
	}
	for _, path := range more {
		if other, otherErr := try(path); !IsMissing(otherErr) {
			return other, otherErr
		}
	}
	return found, err
}

// IsMissing reports whether an error says that there is no file, or that its name, with the
// suffix, is longer than any.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG)
}

// KeptAt says where this process finds the copies of files that are gone: where returns the
// logical path of one, "" if there is none.
func KeptAt(where func(path string) string) { keptAt.Store(&where) }

var keptAt atomic.Pointer[func(path string) string]

var errNotRegular = errors.New("not a regular file")

// New is Open for a file that is open, which Close closes.
func New(stored *os.File, limit int64) (*File, error) {
	f := &File{Stored: stored, limit: limit}
	var err error
	if f.Info, err = stored.Stat(); err != nil {
		return nil, err
	}
	if !f.Info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", stored.Name(), errNotRegular)
	}
	var head [4]byte
	n, err := stored.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if Packed(head[:n]) {
		f.text = share(f)
	}
	return f, nil
}

// Verbatim makes line feeds of a document part of its text.
func (f *File) Verbatim() { f.lines = false }

// Packed reports whether the text is not what is stored: the file is compressed, or Virtual.
func (f *File) Packed() bool { return f.text != nil }

// Virtual returns what a database says of the file; nil if it is not in one.
func (f *File) Virtual() *Virtual {
	v, _ := f.Info.(*Virtual)
	return v
}

// IsCut reports whether a file is too short for the four bytes that every compressed file begins with.
func (f *File) IsCut() bool {
	if f.Stored == nil {
		return false
	}
	var head [4]byte
	n, _ := f.Stored.ReadAt(head[:], 0)
	return n < len(head) && strings.HasSuffix(f.Stored.Name(), Suffix) && bytes.HasPrefix(binary.LittleEndian.AppendUint32(nil, magic), head[:n])
}

// Close closes the file.
func (f *File) Close() error {
	if f.text != nil {
		f.text.leave(f)
	}
	if f.Stored == nil {
		return nil
	}
	return f.Stored.Close()
}

// ReadAt reads text. Of a compressed file, the text before the offset is decompressed too
// unless it still is at hand.
func (f *File) ReadAt(b []byte, offset int64) (n int, err error) {
	if f.lines {
		defer func() {
			for i := range b[:n] {
				if b[i] == '\n' {
					b[i] = ' '
				}
			}
		}()
	}
	if f.text == nil {
		return f.Stored.ReadAt(b, offset)
	}
	most := len(b)
	if f.limit > 0 {
		most = int(min(int64(most), max(0, f.limit-offset)))
	}
	for n < most && err == nil {
		var read int
		read, err = f.text.read(b[n:most], offset+int64(n))
		n += read
	}
	if err == nil && n < len(b) {
		if _, err = f.Length(); err == nil {
			err = io.EOF
		}
	}
	return n, err
}

// Text returns a reader of all text, from its beginning.
func (f *File) Text() *io.SectionReader { return io.NewSectionReader(f, 0, f.Size()) }

// Size is the length of the text when the file was opened. For a compressed file, it is a
// bound until the end of the text was read, or if that is missing.
func (f *File) Size() int64 {
	if f.text == nil {
		return f.Info.Size()
	}
	if length, end := f.text.known(); end == io.EOF && (f.limit == 0 || length <= f.limit) {
		return length
	}
	return unknown
}

// ModTime is when the file was changed, as of when it was opened.
func (f *File) ModTime() time.Time { return f.Info.ModTime() }

// Length returns the length of the text, for which it decompresses all of a compressed file.
// With ErrDamaged or a *TooLongError, it is the length of the text before that.
func (f *File) Length() (int64, error) {
	if f.text == nil {
		return f.Info.Size(), nil
	}
	var next [1]byte
	at := cmp.Or(f.limit, unknown-1)
	n, err := f.text.read(next[:], at)
	if n > 0 {
		return f.limit, &TooLongError{f.limit}
	}
	length, _ := f.text.known()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return length, err
}
