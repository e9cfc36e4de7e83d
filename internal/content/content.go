// Package content reads session files that may be compressed, at offsets of their text.
package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"pigrep/internal/files"
)

// Suffix is what compression adds to the name of a session file. Whether a file is
// compressed, its first bytes say.
const Suffix = ".zst"

// Logical returns the path of a session file without the suffix of a compression: that of
// the file before it was compressed, and after.
func Logical(path string) string { return strings.TrimSuffix(path, Suffix) }

// The limits of what is decompressed.
const (
	MaxWindow = 128 << 20 // of the distance to what is repeated, which a decoder must keep
	kept      = 64 << 20  // text that is kept for going back to, in bytes
	piece     = 256 << 10 // text that is decompressed at a time, in bytes
	unknown   = math.MaxInt64
)

// ErrDamaged says that the text of a compressed file ends too early, or is not what was
// compressed. What was read before it is right.
var ErrDamaged = errors.New("the compressed file is damaged")

// Ends reports whether an error says that the text ends before its time, not that reading
// failed.
func Ends(err error) bool {
	_, tooLong := errors.AsType[*TooLongError](err)
	return tooLong || errors.Is(err, ErrDamaged)
}

// A TooLongError says that the text of a compressed file is longer than the limit, in bytes.
type TooLongError struct{ Limit int64 }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the decompressed text is longer than %d bytes", e.Limit)
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
	first := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16 | uint32(head[3])<<24
	return first == magic || first&^0xF == skipped
}

// File is the text of a session file. Its methods may be called by several goroutines.
type File struct {
	// Stored is the file as it is stored. Its bytes are the text unless the file is Packed.
	Stored *os.File
	// Info is what the system said of it when it was opened.
	Info   fs.FileInfo
	packed *packed
}

// Open opens the session file with a logical path for reading: the plain file, or if there
// is none, the compressed one. Anything but a regular file is an error. Of compressed text, at
// most limit bytes are read; 0 means no limit.
func Open(path string, limit int64) (*File, error) {
	stored, err := either(path, files.OpenNow)
	if err != nil {
		return nil, err
	}
	f, err := New(stored, limit)
	if err != nil {
		stored.Close()
	}
	return f, err
}

// Stat returns what the system says of the file that Open would open.
func Stat(path string) (fs.FileInfo, error) { return either(path, os.Stat) }

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
	f := &File{Stored: stored}
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
		f.packed = &packed{stored: stored, limit: limit, length: unknown}
	}
	return f, nil
}

// Packed reports whether the file is compressed.
func (f *File) Packed() bool { return f.packed != nil }

// Close closes the file.
func (f *File) Close() error {
	if f.packed != nil {
		f.packed.close()
	}
	return f.Stored.Close()
}

// ReadAt reads text. Of a compressed file, going back by more than 64 MB decompresses it
// from its beginning.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if f.packed == nil {
		return f.Stored.ReadAt(p, offset)
	}
	return f.packed.readAt(p, offset)
}

// Text returns a reader of all text, from its beginning.
func (f *File) Text() *io.SectionReader { return io.NewSectionReader(f, 0, f.Size()) }

// Size is the length of the text when the file was opened. For a compressed file, it is a
// bound until the end of the text was read, or if that is missing.
func (f *File) Size() int64 {
	if f.packed == nil {
		return f.Info.Size()
	}
	return f.packed.bound()
}

// ModTime is when the file was changed, as of when it was opened.
func (f *File) ModTime() time.Time { return f.Info.ModTime() }

// Length returns the length of the text, for which it decompresses all of a compressed file.
// With ErrDamaged or a *TooLongError, it is the length of the text before that.
func (f *File) Length() (int64, error) {
	if f.packed == nil {
		return f.Info.Size(), nil
	}
	return f.packed.size()
}

// packed decompresses a file forward and keeps the last of its text.
type packed struct {
	stored *os.File
	limit  int64

	mu      sync.Mutex
	decoder *zstd.Decoder // nil before the first read
	text    []byte        // what is kept
	from    int64         // offset of the text that is kept
	end     error         // why no text follows it: io.EOF at the end of the file; nil if more may follow
	length  int64         // of the text; unknown before its end was read
}

func (p *packed) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.decoder != nil {
		p.decoder.Close()
	}
	p.text, p.end = nil, os.ErrClosed
}

func (p *packed) readAt(b []byte, offset int64) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if offset < p.from {
		if err := p.restart(); err != nil {
			return 0, err
		}
	}
	for n < len(b) {
		at := offset + int64(n) - p.from
		if at < int64(len(p.text)) {
			n += copy(b[n:], p.text[at:])
			continue
		}
		if err := p.more(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// bound returns the length of the text if it is known, else more than that.
func (p *packed) bound() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.length
}

func (p *packed) size() (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if err := p.more(); errors.Is(err, io.EOF) {
			return p.from + int64(len(p.text)), nil
		} else if err != nil {
			return p.from + int64(len(p.text)), err
		}
	}
}

// restart goes back to the beginning of the text.
func (p *packed) restart() error {
	if errors.Is(p.end, os.ErrClosed) {
		return p.end
	}
	p.text, p.from, p.end = p.text[:0], 0, nil
	source := io.NewSectionReader(p.stored, 0, 1<<62)
	if p.decoder != nil {
		return p.decoder.Reset(source)
	}
	var err error
	p.decoder, err = zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxWindow))
	return err
}

// more decompresses the next piece of the text, and drops what is too far before it.
func (p *packed) more() error {
	if p.end != nil {
		return p.end
	}
	if p.decoder == nil {
		if err := p.restart(); err != nil {
			return err
		}
	}
	if len(p.text)+piece > kept {
		half := len(p.text) - kept/2
		p.from += int64(half)
		p.text = p.text[:copy(p.text, p.text[half:])]
	}
	if have := cap(p.text); have < len(p.text)+piece {
		grown := make([]byte, len(p.text), min(max(2*have, 4*piece), kept))
		copy(grown, p.text)
		p.text = grown
	}
	at := len(p.text)
	p.text = p.text[:at+piece]
	n := 0
	var err error
	for n < piece && err == nil {
		var read int
		read, err = p.decoder.Read(p.text[at+n:])
		n += read
	}
	p.text = p.text[:at+n]
	var stored *os.PathError
	switch {
	case err == nil || errors.Is(err, io.EOF) || errors.As(err, &stored):
		p.end = err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		p.end = fmt.Errorf("the compressed file needs more than %d MB to decompress", MaxWindow>>20)
	default:
		p.end = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if length := p.from + int64(len(p.text)); p.limit > 0 && length > p.limit {
		p.text = p.text[:max(0, p.limit-p.from)]
		p.end = &TooLongError{p.limit}
	}
	if errors.Is(p.end, io.EOF) {
		p.length = p.from + int64(len(p.text))
	}
	if n > 0 {
		return nil
	}
	return p.end
}
