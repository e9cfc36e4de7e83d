package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
	"pigrep/lab/testkit"
)

// reading is one way to read a segment.
type reading struct {
	name string
	read func(s *Segment) (any, error)
}

// faultOf returns the fault of a segment, and forgets it.
func faultOf(s *Segment) error {
	if err := s.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// readings returns every way to read a segment of damageSamples.
func readings() []reading {
	list := []reading{
		{"Files", func(s *Segment) (any, error) { return s.readFiles(), faultOf(s) }},
		{"ID", func(s *Segment) (any, error) {
			var ids []ID
			for doc := range uint32(s.Len()) {
				ids = append(ids, s.ID(doc))
			}
			return ids, faultOf(s)
		}},
		{"EntryHashes", func(s *Segment) (any, error) {
			var got [][2]uint64
			s.EntryHashes(allDocuments(s), func(doc uint32, hash uint64) { got = append(got, [2]uint64{uint64(doc), hash}) })
			return &got, faultOf(s)
		}},
		{"KeywordsOf", func(s *Segment) (any, error) {
			var got []string
			s.KeywordsOf(FieldTool, allDocuments(s), func(i int, term []byte) { got = append(got, fmt.Sprint(i, string(term))) })
			return &got, faultOf(s)
		}},
		{"EachStored", func(s *Segment) (any, error) {
			var got []string
			return &got, s.EachStored(IDRange{"r:", "r;"}, func(id []byte, doc uint32) error {
				value, err := s.StoredAt(doc, nil)
				got = append(got, string(id), string(value))
				return err
			})
		}},
		{"Stored", func(s *Segment) (any, error) { return s.Stored("r:000007") }},
		{"Stored of none", func(s *Segment) (any, error) { return s.Stored("r:000008") }},
		{"DocumentsIn", func(s *Segment) (any, error) {
			docs, err := s.DocumentsIn([]IDRange{DocumentIDs(2, 30), OneID("r:000007")})
			return arrayOf(docs), err
		}},
		{"Infix", func(s *Segment) (any, error) {
			docs, ok := s.Infix(FieldText, []byte("ord1"), false, 1000)
			return fmt.Sprint(arrayOf(docs), ok), faultOf(s)
		}},
		{"Infix at the end", func(s *Segment) (any, error) {
			docs, ok := s.Infix(FieldText, []byte("7"), true, 1000)
			return fmt.Sprint(arrayOf(docs), ok), faultOf(s)
		}},
		{"Fuzzy", func(s *Segment) (any, error) {
			var got []string
			s.Fuzzy(FieldText, []byte("w"), []byte("word12"), 2, func(term []byte) { got = append(got, string(term)) })
			return &got, faultOf(s)
		}},
		{"Typos", func(s *Segment) (any, error) {
			var got []string
			s.Typos(FieldText, []byte("word12"), func(term []byte) { got = append(got, string(term)) })
			return &got, faultOf(s)
		}},
		{"Walk", func(s *Segment) (any, error) {
			var got []string
			s.Walk(FieldText, func(term []byte, doc, freq, length uint32) {
				got = append(got, fmt.Sprint(string(term), doc, freq, length))
			})
			return &got, faultOf(s)
		}},
	}
	for _, f := range append(Fields(), fieldID) {
		list = append(list, reading{"Terms of " + string(f), func(s *Segment) (any, error) {
			var got []string
			s.Terms(f, nil, func(term []byte, count int) bool {
				got = append(got, fmt.Sprint(string(term), count))
				return true
			})
			return &got, faultOf(s)
		}})
	}
	for _, f := range []Field{FieldKind, FieldTool, FieldText} {
		for _, term := range []string{"prompt", "bash", "common", "word12", "absent"} {
			list = append(list, reading{fmt.Sprintf("%s %s", f, term), func(s *Segment) (any, error) {
				at := s.PostingsOffset(f, []byte(term))
				n := s.CountAt(at)
				set := make([]uint64, (s.Len()+63)/64)
				s.Mark(at, set)
				docs := s.Bitmap(f, []byte(term))
				return fmt.Sprint(n, set, arrayOf(docs)), faultOf(s)
			}})
		}
	}
	return list
}

// question asks a segment for one term or one document.
type question struct {
	what string
	in   []place // the dictionary and the postings of a term
	ask  func(s *Segment) (any, error)
	want any
}

// questions returns one question for each term and each document of a segment, answered.
func questions(t *testing.T, s *Segment) (list []question) {
	t.Helper()
	for _, f := range append(Fields(), fieldID) {
		fields, have := s.fields[f]
		if !have {
			continue
		}
		size, at := s.uvarint(fields.dictionary)
		dictionary := place{at, size}
		s.eachTerm(f, nil, nil, func(b []byte, at PostingsOffset) bool {
			term := bytes.Clone(b)
			q := question{what: fmt.Sprintf("%s %s", f, term), in: []place{dictionary}, ask: func(s *Segment) (any, error) {
				p := s.Postings(f, term)
				var got [][3]uint32
				for doc, freq, length, ok := p.Next(); ok; doc, freq, length, ok = p.Next() {
					got = append(got, [3]uint32{doc, freq, length})
				}
				return got, faultOf(s)
			}}
			if !at.isOneHit() {
				freqs, bitmap := s.listParts(at)
				if freqs == 0 {
					freqs = uint64(at)
				}
				q.in = append(q.in, place{freqs, bitmap.at + bitmap.size - freqs})
			}
			list = append(list, q)
			return true
		})
	}
	for doc := range uint32(s.Len()) {
		list = append(list, question{what: fmt.Sprint("document ", doc), ask: func(s *Segment) (any, error) {
			id := s.ID(doc)
			if err := faultOf(s); err != nil || id.File != NoFile {
				return id, err
			}
			return s.StoredAt(doc, nil)
		}})
	}
	for i := range list {
		var err error
		if list[i].want, err = list[i].ask(s); err != nil {
			t.Fatalf("%s: %v", list[i].what, err)
		}
	}
	return list
}

func allDocuments(s *Segment) []uint32 {
	docs := make([]uint32, s.Len())
	for i := range docs {
		docs[i] = uint32(i)
	}
	return docs
}

func arrayOf(docs *roaring.Bitmap) []uint32 {
	if docs == nil {
		return nil
	}
	return docs.ToArray()
}

// damageSamples returns n documents of five files, numbered from file on, and some
// records. With a few thousand documents, every structure of a segment takes several
// blocks somewhere.
func damageSamples(rnd *rand.Rand, file, n int) *Accumulator {
	a := NewAccumulator()
	for i := range n {
		a.Add(&Document{
			ID: ID{File: uint32(file + i*5/n), Offset: int64(i)}, Kind: "prompt", Tool: []string{"", "bash", "edit"}[rnd.IntN(3)], EntryID: fmt.Sprintf("%08x", rnd.Uint32()),
			Copy: rnd.Uint64(), Error: i%9 == 0, Text: fmt.Appendf([]byte(words(rnd, 4)), " common common word%d word%d", rnd.IntN(40), rnd.IntN(200)),
		})
		if i%1000 == 7 {
			a.AddStored(fmt.Appendf(nil, "r:%06d", file*100_000+i), []byte(words(rnd, 3000)))
		}
	}
	return a
}

// damagedFile is a segment file to damage, and what reading it returned before.
type damagedFile struct {
	path        string
	good        []byte
	fingerprint Fingerprint
	deleted     *roaring.Bitmap
	want        []any
	memory      uint64 // bytes that all readings allocate
	readings    []reading
	questions   []question
	changed     int    // questions whose bytes were damaged
	merged      []byte // what Merge makes of it
}

func newDamagedFile(t *testing.T, s *Segment, deleted *roaring.Bitmap) *damagedFile {
	t.Helper()
	good, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	d := &damagedFile{path: filepath.Join(t.TempDir(), "damaged"+Ext), good: good, fingerprint: s.Fingerprint(), deleted: deleted, readings: readings()}
	opened := s.Reference(deleted)
	defer opened.Close()
	d.questions = questions(t, opened)
	for range 2 { // the first time fills pools, the second measures
		d.memory = d.try(t, "nothing", good, func(i int, got any, err error) {
			if err != nil {
				t.Fatalf("%s: %v", d.readings[i].name, err)
			}
			d.want = append(d.want, got)
		})
	}
	return d
}

// try opens the file with the given bytes, and calls visit with what each reading
// returns. It returns how many bytes that allocated.
func (d *damagedFile) try(t *testing.T, what string, data []byte, visit func(i int, got any, err error)) uint64 {
	t.Helper()
	if err := os.WriteFile(d.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := OpenAs(d.path, d.fingerprint, d.deleted)
	if err != nil {
		if !errors.Is(err, format.ErrDamaged) {
			t.Errorf("%s: OpenAs: %v, want ErrDamaged", what, err)
		}
		return 0
	}
	defer s.Close()
	Share([]*Segment{s}, func() []Duplicates { return nil })
	for i, r := range d.readings {
		got, err := r.read(s)
		visit(i, got, err)
	}
	runtime.ReadMemStats(&after)
	same := bytes.Equal(data, d.good)
	if err := s.Verify(context.Background()); same != (err == nil) || err != nil && !errors.Is(err, format.ErrDamaged) {
		t.Errorf("%s: Verify: %v", what, err)
	}
	if got, err := d.merge(s); err == nil && d.merged == nil {
		d.merged = got
	} else if err != nil && !errors.Is(err, format.ErrDamaged) || err == nil && !bytes.Equal(got, d.merged) {
		t.Errorf("%s: Merge: %v, %d bytes, want %d others", what, err, len(got), len(d.merged))
	}
	return after.TotalAlloc - before.TotalAlloc
}

// ask fails unless each term whose dictionary or postings have any of the bytes [from, to),
// and one of forty others and of the documents, is as it was, or ErrDamaged.
func (d *damagedFile) ask(t *testing.T, rnd *rand.Rand, what string, from, to uint64) {
	t.Helper()
	s, err := OpenAs(d.path, d.fingerprint, d.deleted)
	if err != nil {
		return // as check has found
	}
	defer s.Close()
	for _, q := range d.questions {
		switch {
		case slices.ContainsFunc(q.in, func(p place) bool { return p.at < to && from < p.at+p.size }):
			d.changed++
		case rnd.IntN(40) > 0:
			continue
		}
		if got, err := q.ask(s); err != nil && !errors.Is(err, format.ErrDamaged) || err == nil && !reflect.DeepEqual(got, q.want) {
			t.Errorf("%s: %s: %v, %.300v\nwant %.300v", what, q.what, err, got, q.want)
		}
	}
}

// merge returns the file that Merge writes for the segment and itself.
func (d *damagedFile) merge(s *Segment) ([]byte, error) {
	path := d.path + "merged"
	m, err := mergeTo(context.Background(), []*Segment{s, s}, path)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	defer m.Close()
	return os.ReadFile(path)
}

// check fails unless each reading of the file with the given bytes returns the same as
// before, or ErrDamaged.
func (d *damagedFile) check(t *testing.T, what string, data []byte) {
	t.Helper()
	memory := d.try(t, what, data, func(i int, got any, err error) {
		if err != nil && !errors.Is(err, format.ErrDamaged) || err == nil && !reflect.DeepEqual(got, d.want[i]) {
			t.Errorf("%s: %s: %v, %.300v\nwant %.300v", what, d.readings[i].name, err, got, d.want[i])
		}
	})
	if memory > 2*d.memory+1<<20 {
		t.Errorf("%s: %d bytes allocated, usually %d", what, memory, d.memory)
	}
}

// Whatever changes in a segment file, each way to read it, and merging it, returns what
// was written, or ErrDamaged: never anything else.
func TestDamageIsNoticed(t *testing.T) {
	testkit.Unraced(t)
	seed := uint64(18)
	if testkit.Long() {
		seed = rand.Uint64()
		t.Logf("seed %d", seed)
	}
	rnd := rand.New(rand.NewPCG(seed, 4))
	deleted := roaring.BitmapOf(3, 4, 5, 100, 101)
	written := openAccumulated(t, damageSamples(rnd, 0, 5000))
	partly := written.Reference(deleted)
	defer partly.Close()
	merged, err := mergeTo(t.Context(), []*Segment{partly, openAccumulated(t, damageSamples(rnd, 10, 300))}, filepath.Join(t.TempDir(), "2"+Ext))
	if err != nil {
		t.Fatal(err)
	}
	defer merged.Close()
	for name, d := range map[string]*damagedFile{
		"written": newDamagedFile(t, written, nil), "partly deleted": newDamagedFile(t, written, deleted), "merged": newDamagedFile(t, merged, nil),
	} {
		size := len(d.good)
		change := func(what string, at, size int, to func(b byte) byte) {
			t.Helper()
			data := bytes.Clone(d.good)
			for i := at; i < min(at+size, len(data)); i++ {
				data[i] = to(data[i])
			}
			what = fmt.Sprintf("%s: %s from %d", name, what, at)
			d.check(t, what, data)
			d.ask(t, rnd, what, uint64(at), uint64(at+size))
		}
		// A missing check shows only in some blocks, so the long run damages every one.
		step := testkit.HowMany(80, 20, 1)
		for block := rnd.IntN(step); block*blockSize < size; block += step {
			at := block * blockSize
			bit := byte(1) << rnd.IntN(8)
			change("a bit flipped", min(at+rnd.IntN(blockSize), size-1), 1, func(b byte) byte { return b ^ bit })
			change("zeros", at+rnd.IntN(8)*512, 512, func(byte) byte { return 0 })
			change("inverted", at, blockSize, func(b byte) byte { return ^b })
		}
		for _, left := range []int{0, 1, footerSize, blockSize, size / 2, size - 1} {
			d.check(t, fmt.Sprintf("%s: cut to %d", name, left), d.good[:left])
		}
		d.check(t, name+": with a byte more", append(slices.Clip(d.good), 0))
		if d.changed == 0 {
			t.Errorf("%s: no damage changed a term", name)
		}
		t.Logf("%s: a term with damaged bytes was asked for %d times", name, d.changed)
	}
}

// The size of a body follows from that of its file, and some sizes no file has.
func TestBodySize(t *testing.T) {
	for _, want := range []int{1, 100, blockSize - 1, blockSize, blockSize + 1, 3 * blockSize, 1000*blockSize + 7} {
		var sums blockSums
		sums.add(make([]byte, want))
		size := want + len((&parts{}).tail(&sums))
		if got, ok := bodySize(int64(size)); !ok || got != int64(want) {
			t.Errorf("bodySize(%d) = %d, %t, want %d", size, got, ok, want)
		}
	}
	for _, size := range []int64{0, 1, footerSize, footerSize + 4, 2*(blockSize+4) - blockSize + footerSize} {
		if got, ok := bodySize(size); ok {
			t.Errorf("bodySize(%d) = %d, want none", size, got)
		}
	}
}
