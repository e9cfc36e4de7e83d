package content

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The limits of what is decompressed.
const (
	MaxWindow = 128 << 20       // of the distance to what is repeated, which a decoder must keep
	piece     = 1 << 20         // text that is decompressed at a time, in bytes
	most      = 64              // pieces that a process keeps
	idle      = 5 * time.Second // how long it keeps them after the last file was closed
	unknown   = math.MaxInt64
)

// text is the decompressed text of a file. All Files of the process that are that file share
// it: a search reads one in several places, from several goroutines, and some of them again.
type text struct {
	info fs.FileInfo

	mu      sync.Mutex    // held while decompressing, and before shared.mu
	decoder *zstd.Decoder // nil if none is at work
	lines   *rendering    // of a Virtual file, in its place
	next    int64         // number of the piece that comes next from it
	started int           // how often decompressing began

	// The rest is guarded by shared.mu.
	files  []*File // that are open
	length int64   // unknown before its end was read
	end    error   // why nothing follows it
}

// held is a piece of a text in memory.
type held struct {
	of     *text
	number int64
	data   []byte
	asked  uint64 // when it was read last, as a count of all reads; 0 if it was not
}

// shared has the texts of the process and the pieces of them that are in memory, in the order
// in which they were decompressed.
var shared struct {
	mu     sync.Mutex
	texts  []*text
	pieces []*held
	taken  int // pieces that are being decompressed
	reads  uint64
	open   int   // files
	left   *text // the last one whose files were all closed
	idle   bool  // forget will be called
}

// share returns the text of an open file.
func share(f *File) *text {
	s := &shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.texts = slices.DeleteFunc(s.texts, func(t *text) bool {
		return len(t.files) == 0 && t != s.left && !slices.ContainsFunc(s.pieces, func(p *held) bool { return p.of == t })
	})
	i := slices.IndexFunc(s.texts, func(t *text) bool {
		if v, ok := f.Info.(*Virtual); ok {
			return v.same(t.info)
		}
		return t.info.Size() == f.Info.Size() && t.info.ModTime().Equal(f.Info.ModTime()) && os.SameFile(t.info, f.Info)
	})
	if i < 0 {
		i = len(s.texts)
		s.texts = append(s.texts, &text{info: f.Info, length: unknown})
	}
	s.texts[i].files = append(s.texts[i].files, f)
	return s.texts[i]
}

// leave ends the use of the text by a file, which is about to be closed. The decoder of the
// text that was left last stays where it is.
func (t *text) leave(f *File) {
	if before := t.remove(f); before != nil && before != t {
		before.mu.Lock()
		defer before.mu.Unlock()
		if !before.isOpen() {
			before.stop()
		}
	}
}

// remove removes a file from those that are open. If none is left, it returns the text of
// which that was so before.
func (t *text) remove(f *File) (before *text) {
	t.mu.Lock() // nobody decompresses from the file now
	defer t.mu.Unlock()
	s := &shared
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(t.files, f)
	if i < 0 {
		return nil // it was closed before
	}
	if t.files = slices.Delete(t.files, i, i+1); len(t.files) == 0 {
		before, s.left = s.left, t
	}
	if s.open--; s.open == 0 && !s.idle {
		s.idle = true
		time.AfterFunc(idle, forget)
	}
	return before
}

func (t *text) isOpen() bool {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return len(t.files) > 0
}

// forget releases the memory if no file is open.
func forget() {
	s := &shared
	s.mu.Lock()
	var left *text
	if s.idle = false; s.open == 0 {
		left = s.left
		s.texts, s.pieces, s.left = nil, nil, nil
	}
	s.mu.Unlock()
	if left != nil {
		left.mu.Lock()
		defer left.mu.Unlock()
		left.stop()
	}
}

// known returns the length of the text and why nothing follows it, if its end was read.
func (t *text) known() (int64, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return t.length, t.end
}

// read copies text from an offset, at most to the end of a piece.
func (t *text) read(b []byte, offset int64) (int, error) {
	for {
		n, err := t.copy(b, offset)
		if n > 0 || err != nil {
			return n, err
		}
		if err := t.decompress(offset / piece); err != nil {
			return 0, err
		}
	}
}

// copy is read of what is in memory.
func (t *text) copy(b []byte, offset int64) (int, error) {
	s := &shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset >= t.length {
		return 0, t.end
	}
	p := t.find(offset / piece)
	if p == nil {
		return 0, nil
	}
	s.reads++
	p.asked = s.reads
	return copy(b, p.data[min(offset%piece, int64(len(p.data))):]), nil
}

// find returns a piece that is in memory, nil if it is not.
func (t *text) find(number int64) *held {
	for _, p := range shared.pieces {
		if p.of == t && p.number == number {
			return p
		}
	}
	return nil
}

// decompress puts a piece into memory, with those between it and where the decoder is, unless
// the text ends before it.
func (t *text) decompress(number int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.reached(number) {
		if t.decoder == nil && t.lines == nil || t.next > number {
			if err := t.start(); err != nil {
				return err
			}
		}
		p := take()
		var from io.Reader = t.decoder
		if t.lines != nil {
			from = t.lines
		}
		n, err := readAll(from, p.data[:piece])
		p.of, p.number, p.data, p.asked = t, t.next, p.data[:n], 0
		if t.next++; err != nil {
			t.stop()
			err = reason(err)
		}
		put(p, err)
		if isOfSystem(err) {
			return err
		}
	}
	return nil
}

// reached reports whether a piece is in memory, or the text ends before it.
func (t *text) reached(number int64) bool {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return number*piece >= t.length || t.find(number) != nil
}

// take returns memory for a piece. If enough is in use, it takes the memory of the oldest piece that
// was not read, so that what was read is at hand when it is shown; or of the one that was not
// read for the longest time, if those that were read are more than half.
func take() *held {
	s := &shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken++; len(s.pieces) == 0 || len(s.pieces)+s.taken <= most {
		return &held{data: make([]byte, piece)}
	}
	read := 0
	for _, p := range s.pieces {
		if p.asked > 0 {
			read++
		}
	}
	oldest := -1
	for i, p := range s.pieces {
		if (p.asked > 0) == (read > most/2) && (oldest < 0 || p.asked < s.pieces[oldest].asked) {
			oldest = i
		}
	}
	p := s.pieces[max(0, oldest)]
	s.pieces = slices.Delete(s.pieces, max(0, oldest), max(0, oldest)+1)
	return p
}

// put adds a piece to those in memory, unless it is there. A reason says why no other
// follows it.
func put(p *held, why error) {
	s := &shared
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if isOfSystem(why) {
		return
	}
	if why != nil {
		p.of.length, p.of.end = p.number*piece+int64(len(p.data)), why
	}
	if len(p.data) > 0 && p.of.find(p.number) == nil {
		s.pieces = append(s.pieces, p)
	}
}

// readAll fills a buffer as far as the text goes.
func readAll(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var read int
		read, err = r.Read(b[n:])
		n += read
	}
	return n, err
}

// reason returns what the error of a decoder means.
func reason(err error) error {
	if errors.Is(err, io.EOF) || isOfSystem(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// isOfSystem reports whether reading the stored file failed. It may succeed the next time.
func isOfSystem(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

// decoders are at the end of a text. A new one takes memory for its window.
var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxWindow))
	if err != nil {
		panic(err) // the options are wrong
	}
	return d
}}

// start goes back to the beginning of the text.
func (t *text) start() (err error) {
	if v, ok := t.info.(*Virtual); ok {
		t.stop()
		t.next, t.lines = 0, &rendering{path: v.Path, left: tries}
		t.lines.hash.Reset()
		if err = t.lines.begin(); err != nil {
			t.lines = nil
		}
		return err
	}
	if t.decoder == nil {
		t.decoder = decoders.Get().(*zstd.Decoder)
	}
	t.next = 0
	t.started++
	return t.decoder.Reset(io.NewSectionReader(stored{t}, 0, 1<<62))
}

// stop puts the decoder aside.
func (t *text) stop() {
	if t.lines != nil {
		t.lines.close()
		t.lines = nil
	}
	if t.decoder != nil {
		_ = t.decoder.Reset(nil)
		decoders.Put(t.decoder)
		t.decoder = nil
	}
}

// stored is the file of a text, as it is stored.
type stored struct{ of *text }

func (s stored) ReadAt(b []byte, offset int64) (int, error) {
	shared.mu.Lock()
	if len(s.of.files) == 0 {
		shared.mu.Unlock()
		return 0, &fs.PathError{Op: "read", Path: s.of.info.Name(), Err: fs.ErrClosed}
	}
	file := s.of.files[0].Stored // which is closed after decompressing
	shared.mu.Unlock()
	return file.ReadAt(b, offset)
}
