package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/lab/testkit"
)

// zstdOf compresses text, in frames of at most the given length.
func zstdOf(t testing.TB, text []byte, frame int) (packed []byte) {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for piece := range slices.Chunk(text, frame) {
		packed = enc.EncodeAll(piece, packed)
	}
	return packed
}

// unzstd returns the text of a compressed file up to where it is damaged.
func unzstd(packed []byte) (text []byte, damaged bool) {
	dec, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, true
	}
	defer dec.Close()
	text, err = io.ReadAll(dec)
	return text, err != nil
}

// pack compresses a session file as agents do: it has another name then, and keeps its time.
func pack(t testing.TB, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file+content.Suffix, zstdOf(t, text, max(1, len(text))), 0o600)
	}
	if err = errors.Join(err, os.Chtimes(file+content.Suffix, info.ModTime(), info.ModTime()), os.Remove(file)); err != nil {
		t.Fatal(err)
	}
}

// unpack reverses pack.
func unpack(t testing.TB, file string) {
	t.Helper()
	packed, err := os.ReadFile(file + content.Suffix)
	text, _ := unzstd(packed)
	if err = errors.Join(err, os.WriteFile(file, text, 0o600), os.Remove(file+content.Suffix)); err != nil {
		t.Fatal(err)
	}
}

// A session that is compressed and decompressed while it grows is the same session: the
// index equals one built at once, and no document is made again.
func TestCompressedMidway(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	steps, once := newAttic(t, home), newAttic(t, home)
	same := func(what string) *index.Reader {
		t.Helper()
		r := steps.update(t)
		fresh := newAttic(t, home)
		if diff := testkit.Diff(state(t, fresh.update(t)), state(t, r)); diff != "" {
			t.Fatalf("%s (-at once +in steps):\n%s", what, diff)
		}
		return r
	}
	lines := strings.SplitAfter(surprises, "\n")
	appendTo(t, steps.file, strings.Join(lines[:10], "")+lines[10][:20])
	before := same("the beginning").Summaries()[0]
	for i := 10; i < len(lines)-1; i += 5 {
		pack(t, steps.file)
		res, err := indexer.Update(t.Context(), steps.opt)
		if err != nil {
			t.Fatal(err)
		}
		if s := res.Reader.Summaries()[0]; s.Path != steps.file || s.File != before.File {
			t.Errorf("compressed, file %d %s has become file %d %s", before.File, before.Path, s.File, s.Path)
		}
		res.Reader.Close()
		same("compressed")
		unpack(t, steps.file)
		next := strings.Join(lines[i:min(i+5, len(lines))], "")
		appendTo(t, steps.file, strings.TrimPrefix(next, lines[10][:20]))
		same("decompressed and grown")
	}
	pack(t, steps.file)
	res, err := indexer.Update(t.Context(), steps.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Reader.Close()
	if res.Entries != 0 || res.Changes[indexer.Touched] != 1 {
		t.Errorf("compressing the whole session: %d entries are read again, changes %v", res.Entries, res.Changes)
	}
	r := same("the end")
	for word, want := range surprisingWords {
		if got := documents(t, r, word); got != want {
			t.Errorf("%d documents with %q, want %d", got, word, want)
		}
	}
	if diff := cmp.Diff(state(t, once.update(t)), state(t, r)); diff != "" {
		t.Errorf("compressed (-at once +in steps):\n%s", diff)
	}
}

// packing is a session file that is written, compressed, damaged and restored at random, and
// what an index must have of it.
type packing struct {
	name    string
	text    []byte // all that was written
	lines   int
	read    []byte // complete lines that can be read of the file
	damaged bool
	indexed []byte // the text that the index must have
	whole   bool   // it is all that the file had once
}

func (p *packing) step(t *testing.T, rnd *rand.Rand, dir string) (what string) {
	file := filepath.Join(dir, p.name+".jsonl")
	grow := func() {
		for range 1 + rnd.IntN(3) {
			p.lines++
			p.text = fmt.Appendf(p.text, `{"at":%d,"who":"it","says":"%s%s %s"}`+"\n", 1000*p.lines, p.name, letters(p.lines), strings.Repeat("filler ", rnd.IntN(500)))
		}
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(path string) {
		t.Helper()
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if p.text == nil {
		p.text = []byte(`{"room":"` + p.name + `","dir":"/home/u"}` + "\n")
	}
	p.damaged = false
	packed := zstdOf(t, p.text, 1+rnd.IntN(2*len(p.text)))
	switch what := rnd.IntN(8); what {
	case 0, 1:
		grow()
		write(file, p.text)
		p.read = p.text
		return "grows"
	case 2, 3:
		write(file+content.Suffix, packed)
		remove(file)
		p.read = p.text
		return "is compressed"
	case 4:
		write(file+content.Suffix, packed)
		grow()
		write(file, p.text)
		p.read = p.text
		return "grows beside its compressed file"
	case 5:
		write(file, packed)
		p.read = p.text
		return "is compressed without a suffix"
	case 6:
		write(file+content.Suffix, p.text)
		remove(file)
		p.read = p.text
		return "is plain with the suffix"
	default:
		half := packed[:rnd.IntN(len(packed))]
		if rnd.IntN(4) == 0 { // nothing, or not even what all begin with
			half = half[:min(len(half), rnd.IntN(4))]
		}
		write(file+content.Suffix, half)
		remove(file)
		read, damaged := unzstd(half) // not damaged if it is cut between two frames
		p.read, p.damaged = read[:bytes.LastIndexByte(read, '\n')+1], damaged || len(half) < 4
		return fmt.Sprintf("is damaged after %d of %d bytes", len(read), len(p.text))
	}
}

// update is what an update does to the index.
func (p *packing) update() {
	if !p.damaged || !p.whole {
		p.indexed, p.whole = p.read, !p.damaged && p.text != nil
	}
}

// letters writes a number as a word.
func letters(n int) (word string) {
	for ; n > 0; n /= 26 {
		word += string(rune('a' + n%26))
	}
	return word + "x"
}

// Whatever happens to session files, the index has the whole text that each had last, or
// without one what can be read of it.
func TestCompressedAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testkit.Rounds(1, 20, 200)) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		home := t.TempDir()
		a := newAttic(t, home)
		dir := filepath.Dir(a.file)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		list := []*packing{{name: "a"}, {name: "b"}, {name: "ab"}}
		var log []string
		for range 25 {
			for range 1 + rnd.IntN(2) {
				p := list[rnd.IntN(len(list))]
				log = append(log, p.name+" "+p.step(t, rnd, dir))
			}
			if rnd.IntN(2) == 0 { // what is indexed in memory is gone afterwards
				a.opt.Memory = true
				res, err := indexer.Update(t.Context(), a.opt)
				if err = errors.Join(err, res.Reader.Close()); err != nil {
					t.Fatal(err)
				}
				a.opt.Memory = false
			}
			res, err := indexer.Update(t.Context(), a.opt)
			if err != nil {
				t.Fatal(err)
			}
			log = append(log, fmt.Sprintf("update: %v, errors %v", res.Changes, res.Errors))
			for _, p := range list {
				p.update()
				for n := 1; n <= p.lines; n++ {
					want := bytes.Count(p.indexed, []byte(`"says":"`+p.name+letters(n)+" "))
					if got := documents(t, res.Reader, p.name+letters(n)); got != want {
						t.Fatalf("seed %d: line %d of %s is in the index %d times, want %d\n%s", seed, n, p.name, got, want, strings.Join(log, "\n"))
					}
				}
			}
			res.Reader.Close()
			if report, err := indexer.Check(t.Context(), a.opt, true); err != nil || len(report.Findings) > 0 {
				t.Fatalf("seed %d: the index is not what the files say: %v %+v\n%s", seed, err, report, strings.Join(log, "\n"))
			}
		}
	}
}

// Of each compressed file, what can be read is indexed, and an error says that there is more.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	text := []byte(`{"room":"r","dir":"/home/u"}` + "\n" + `{"at":1000,"who":"it","says":"zebra"}` + "\n")
	frame := zstdOf(t, text, len(text))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	skipped := []byte{0x52, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}
	empty := []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0}
	for name, c := range map[string]struct {
		data []byte
		hits int
		err  error
	}{
		"no bytes":          {nil, 0, nil},
		"an empty frame":    {empty, 0, nil},
		"a skipped frame":   {skipped, 0, nil},
		"several frames":    {join(skipped, zstdOf(t, text, 20), empty, skipped), 1, nil},
		"text after frames": {join(frame, []byte("and this\n")), 1, content.ErrDamaged},
		"a torn frame":      {frame[:len(frame)-2], 0, content.ErrDamaged},
		"half a magic":      {frame[:3], 0, nil}, // it is plain text
		"a dictionary":      {[]byte{0x28, 0xB5, 0x2F, 0xFD, 0x01, 0, 7, 1, 0, 0}, 0, content.ErrDamaged},
		"a window of 2 TB":  {[]byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0xF8, 1, 0, 0}, 0, content.ErrDamaged},
		"a segment of 1 TB": {[]byte{0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}, 0, content.ErrDamaged},
	} {
		a := newAttic(t, t.TempDir())
		a.opt.Now = func() time.Time { return time.Now().Add(time.Hour) }
		if err := errors.Join(os.MkdirAll(filepath.Dir(a.file), 0o700), os.WriteFile(a.file+content.Suffix, c.data, 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, change := range []indexer.Change{indexer.New, indexer.Unchanged} {
			res, err := indexer.Update(t.Context(), a.opt)
			if err != nil {
				t.Fatal(err)
			}
			if n := documents(t, res.Reader, "zebra"); n != c.hits || res.Changes[change] != 1 {
				t.Errorf("%s: %d documents, changes %v, want %d, one %v", name, n, res.Changes, c.hits, change)
			}
			if len(res.Errors) > 1 || (len(res.Errors) > 0) != (c.err != nil) || c.err != nil && !errors.Is(res.Errors[0].Err, c.err) {
				t.Errorf("%s: errors %v, want %v", name, res.Errors, c.err)
			}
			res.Reader.Close()
		}
		if report, err := indexer.Check(t.Context(), a.opt, true); err != nil || len(report.Findings) > 0 {
			t.Errorf("%s: %v %+v", name, err, report)
		}
	}
}

// A file that is damaged after all of it was indexed keeps its documents. It is read once to
// find that out; each update says so, until the file is repaired.
func TestDamagedLater(t *testing.T) {
	t.Parallel()
	a := newAttic(t, t.TempDir())
	a.opt.Now = func() time.Time { return time.Now().Add(time.Hour) } // its times are no longer young
	appendTo(t, a.file, surprises)
	pack(t, a.file)
	indexed := func(r *index.Reader) []string {
		return slices.DeleteFunc(state(t, r), func(s string) bool { return strings.Contains(s, "Checkpoint:") })
	}
	before := indexed(a.update(t))
	whole, err := os.ReadFile(a.file + content.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what    string
		data    []byte // that the file has from now on; nil for the same
		want    indexer.Change
		damaged int
	}{
		{"damaged", whole[:len(whole)/2], indexer.Unreadable, 1},
		{"unchanged", nil, indexer.Unchanged, 1},
		{"damaged more", whole[:len(whole)/3], indexer.Unreadable, 1},
		{"unchanged again", nil, indexer.Unchanged, 1},
		{"repaired", whole, indexer.Touched, 0},
		{"damaged again", whole[:len(whole)/2], indexer.Unreadable, 1},
		{"another text", zstdOf(t, []byte(surprises[:strings.Index(surprises, "\n")+1]), 1000), indexer.Rewritten, 0},
	} {
		if step.data != nil {
			if err := os.WriteFile(a.file+content.Suffix, step.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		res, err := indexer.Update(t.Context(), a.opt)
		if err != nil {
			t.Fatal(err)
		}
		if res.Changes[step.want] != 1 || len(res.Errors) != step.damaged || step.damaged > 0 && !errors.Is(res.Errors[0].Err, content.ErrDamaged) {
			t.Errorf("%s: changes %v, want one %v; errors %v, want %d", step.what, res.Changes, step.want, res.Errors, step.damaged)
		}
		if step.want != indexer.Rewritten {
			if diff := cmp.Diff(before, indexed(res.Reader)); diff != "" {
				t.Errorf("%s (-before +after):\n%s", step.what, diff)
			}
		}
		res.Reader.Close()
		if report, err := indexer.Check(t.Context(), a.opt, true); err != nil || len(report.Findings) > 0 {
			t.Errorf("%s: %v %+v", step.what, err, report)
		}
	}
}
