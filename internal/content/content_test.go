package content

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// compressed returns the text as frames of at most the given length, and with one that is to
// be skipped.
func compressed(t testing.TB, text []byte, frame int, options ...zstd.EOption) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	out := []byte{0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}
	for len(text) > 0 {
		n := min(frame, len(text))
		out = enc.EncodeAll(text[:n], out)
		text = text[n:]
	}
	return out
}

func words(rnd *rand.Rand, length int) []byte {
	var b bytes.Buffer
	for b.Len() < length {
		for range 1 + rnd.IntN(8) {
			b.WriteByte('a' + byte(rnd.IntN(26)))
		}
		b.WriteByte(" \n"[rnd.IntN(2)])
	}
	return b.Bytes()[:length]
}

func open(t testing.TB, data []byte, limit int64) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// What is read at any place, in any order, is the text there, however it is stored. The
// bytes decide about that.
func TestReadAt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := words(rnd, 3<<20)
	for name, data := range map[string][]byte{
		"plain": text, "one frame": compressed(t, text, len(text)), "many frames": compressed(t, text, 100_000),
		"stored blocks": compressed(t, text, len(text), zstd.WithEncoderLevel(zstd.SpeedFastest)),
	} {
		f := open(t, data, 0)
		if f.Packed() != (name != "plain") {
			t.Errorf("%s: packed %v", name, f.Packed())
		}
		for range 200 {
			from := rnd.Int64N(int64(len(text)) + 10)
			b := make([]byte, rnd.IntN(100_000))
			n, err := f.ReadAt(b, from)
			want := text[min(from, int64(len(text))):]
			want = want[:min(len(want), len(b))]
			if !bytes.Equal(b[:n], want) || (n < len(b)) != (err != nil) || err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%s: %d bytes at %d: %d, %v", name, len(b), from, n, err)
			}
		}
		if size, err := f.Length(); size != int64(len(text)) || err != nil {
			t.Errorf("%s: size %d, %v", name, size, err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62)); !bytes.Equal(got, text) || err != nil {
			t.Errorf("%s: read as a stream: %d bytes, %v", name, len(got), err)
		}
	}
}

// Of a file that ends too early or is damaged, the text before that is read, and an error
// says so: half a text never looks like all of it.
func TestDamaged(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	text := words(rnd, 1<<20)
	whole := compressed(t, text, 300_000)
	for range 60 {
		data := bytes.Clone(whole)
		cut := 12 + rnd.IntN(len(data)-12)
		if what := rnd.IntN(3); what == 0 {
			data = data[:cut]
		} else if what == 1 {
			data[cut] ^= 1 << rnd.IntN(8)
		} else {
			data = append(data, "\nand this"...)
		}
		f := open(t, data, 0)
		got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
		size, sizeErr := f.Length()
		if errors.Is(err, ErrDamaged) {
			// A block of a damaged frame may be read before its checksum is.
			n := min(len(got), len(text)) / 300_000 * 300_000
			if !bytes.Equal(got[:n], text[:n]) || !errors.Is(sizeErr, ErrDamaged) || size != int64(len(got)) {
				t.Fatalf("cut at %d: %d bytes read, size %d, %v", cut, len(got), size, sizeErr)
			}
			continue
		}
		// Cut between two frames, or changed in what is skipped.
		if err != nil || len(got)%300_000 != 0 && len(got) != len(text) || !bytes.Equal(got, text[:len(got)]) {
			t.Fatalf("cut at %d: %d bytes, %v", cut, len(got), err)
		}
	}
}

// Text beyond the limit is not read, and the memory for going back stays bounded.
func TestBounds(t *testing.T) {
	zeros := compressed(t, make([]byte, 1<<20), 1<<20)
	f := open(t, bytes.Repeat(zeros, 300), 200<<20)
	var long *TooLongError
	if size, err := f.Length(); size != 200<<20 || !errors.As(err, &long) {
		t.Errorf("size %d, %v", size, err)
	}
	if n, err := f.ReadAt(make([]byte, 10), 200<<20-4); n != 4 || !errors.As(err, &long) {
		t.Errorf("%d bytes before the limit, %v", n, err)
	}
	if n := len(shared.pieces); n != most {
		t.Errorf("%d pieces are kept", n)
	}
	if b := make([]byte, 3); f.text.find(0) != nil {
		t.Error("nothing was dropped")
	} else if n, err := f.ReadAt(b, 0); n != 3 || err != nil || !bytes.Equal(b, make([]byte, 3)) {
		t.Errorf("the beginning, read again: %q, %v", b[:n], err)
	}
}

// Files that are the same file share its text, also after each other and from several
// goroutines: it is decompressed once.
func TestShared(t *testing.T) {
	forget() // the texts of other tests
	rnd := rand.New(rand.NewPCG(5, 6))
	text := words(rnd, 5*piece+100)
	first := open(t, compressed(t, text, len(text)), 0)
	if n, err := first.ReadAt(make([]byte, 10), 3*piece); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	first.Close()
	var group sync.WaitGroup
	for range 4 {
		offsets := []int64{4 * piece, 0, 5*piece + 90, 2*piece - 5}
		group.Go(func() {
			f, err := Open(first.Stored.Name(), 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if f.text != first.text {
				t.Error("the same file has another text")
			}
			for _, at := range offsets {
				b := make([]byte, 10)
				if n, err := f.ReadAt(b, at); n != 10 || err != nil || !bytes.Equal(b, text[at:at+10]) {
					t.Errorf("at %d: %d, %v", at, n, err)
				}
			}
		})
	}
	group.Wait()
	if n := first.text.started; n != 1 {
		t.Errorf("decompressed %d times", n)
	}
}

// A frame that needs too much memory is refused before it takes any.
func TestWindow(t *testing.T) {
	f := open(t, []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8, 0x01, 0x00, 0x00}, 0) // a window of 2^41 bytes
	if n, err := f.ReadAt(make([]byte, 1), 0); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestLogical(t *testing.T) {
	for path, want := range map[string]string{"/a/x.jsonl.zst": "/a/x.jsonl", "/a/x.jsonl": "/a/x.jsonl", "/a.zst/x": "/a.zst/x"} {
		if got := Logical(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add(compressed(f, []byte("one\ntwo\n"), 4))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := open(t, data, 1<<20)
		got, _ := io.ReadAll(io.NewSectionReader(file, 0, 1<<62))
		if len(got) > 1<<20 && file.Packed() {
			t.Errorf("%d bytes are read", len(got))
		}
		if size, _ := file.Length(); size != int64(len(got)) {
			t.Errorf("size %d, %d bytes are read", size, len(got))
		}
	})
}
