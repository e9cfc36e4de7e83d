package segment

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/golang/snappy"

	"pigrep/index/format"
	"pigrep/lab/testkit"
)

// encodeList writes a list as the engine does, and returns the file it is in and
// its offset. The first byte is only there because offset 0 means none.
func encodeList(docs, freqs, lengths []uint32) (data []byte, at PostingsOffset) {
	data = []byte{0}
	var stream []byte
	for i := range docs {
		stream = binary.AppendUvarint(stream, uint64(freqs[i])<<1)
		if freqs[i] != 0 {
			stream = binary.AppendUvarint(stream, uint64(lengths[i]))
		}
	}
	data = append(data, 2) // two chunks, the first one empty
	data = binary.AppendUvarint(data, 0)
	data = binary.AppendUvarint(data, uint64(len(stream)))
	data = append(data, stream...)
	bitmap, _ := roaring.BitmapOf(docs...).ToBytes()
	at = PostingsOffset(len(data))
	data = append(data, 1, 0)
	data = binary.AppendUvarint(data, uint64(len(bitmap)))
	return append(data, bitmap...), at
}

// bodyOf returns bytes as the body of a segment.
func bodyOf(data []byte) *body {
	b := inMemory(data)
	return &b
}

func TestPostingsOfList(t *testing.T) {
	var docs, freqs, lengths []uint32
	for i := range uint32(70_000) {
		docs = append(docs, i*3)
		freqs = append(freqs, 1+i%300)
		lengths = append(lengths, 1+i*17%100_000)
	}
	for _, n := range []int{1, 2, 255, 256, 257, 5000, 70_000} {
		data, at := encodeList(docs[:n], freqs[:n], lengths[:n])
		if got := bodyOf(data).countPostings(at); got != n {
			t.Errorf("countPostings of %d = %d", n, got)
		}
		for _, every := range []int{0, 1, 2, 5} { // which are deleted
			s := &Segment{file: &file{body: inMemory(data)}, length: 3*n + 1}
			if every > 0 {
				s.deleted = roaring.New()
				for i := 0; i < n; i += every {
					s.deleted.Add(docs[i])
				}
			}
			want := s.CountAt(at)
			p, got := s.postingsAt(at), 0
			for i := range n {
				if every > 0 && i%every == 0 {
					continue
				}
				doc, freq, length, ok := p.Next()
				if !ok || doc != docs[i] || freq != freqs[i] || length != lengths[i] {
					t.Fatalf("posting %d of %d: %d %d/%d %t, want %d %d/%d", i, n, doc, freq, length, ok, docs[i], freqs[i], lengths[i])
				}
				got++
			}
			if _, _, _, ok := p.Next(); ok || s.Fault() != nil || got != want {
				t.Errorf("%d postings, count = %d, then %t, %v", got, want, ok, s.Fault())
			}
			checkBlocks(t, at, s)
		}
		// A document number that the segment cannot have.
		s := &Segment{file: &file{body: inMemory(data)}, length: int(docs[n-1])}
		p := s.postingsAt(at)
		for ok := true; ok; _, _, _, ok = p.Next() {
		}
		if s.Fault() == nil {
			t.Errorf("postings of %d with a number out of range: no error", n)
		}
	}
}

// checkBlocks compares NextBlock with Next, also after some calls of Next.
func checkBlocks(t *testing.T, at PostingsOffset, s *Segment) {
	t.Helper()
	one, many := s.postingsAt(at), s.postingsAt(at)
	one.Next()
	many.Next()
	for {
		docs, freqs, lengths := many.NextBlock()
		if len(docs) == 0 {
			break
		}
		for i := range docs {
			if doc, freq, length, ok := one.Next(); !ok || doc != docs[i] || freq != freqs[i] || length != lengths[i] {
				t.Fatalf("NextBlock: %d %d/%d, Next: %d %d/%d %t", docs[i], freqs[i], lengths[i], doc, freq, length, ok)
			}
		}
	}
	if doc, _, _, ok := one.Next(); ok || s.Fault() != nil {
		t.Errorf("NextBlock ends before %d: %v", doc, s.Fault())
	}
}

// Documents side by side, in one container or in several, must be read as they were written,
// by the engine's bitmaps too.
func TestRuns(t *testing.T) {
	for _, c := range []struct{ first, count uint32 }{
		{0, 1}, {7, minRun - 1}, {7, minRun}, {5, 5000}, {65530, 6}, {65530, 8}, {65532, 8}, {65530, 100_000}, {1, 3 << 16}, {1, 4 << 16}, {70_000, 9 << 16},
	} {
		var hits []hit
		for i := range c.count {
			hits = append(hits, hit{c.first + i, 0})
		}
		w := writer{docs: int(c.first + c.count)}
		w.out = []byte{0}
		at := w.postings(hits, nil)
		b := bodyOf(w.out)
		var docs roaring.Bitmap
		b.readDocuments(at, &docs)
		var want roaring.Bitmap
		want.AddRange(uint64(c.first), uint64(c.first+c.count))
		if !docs.Equals(&want) {
			t.Errorf("%d documents from %d on: read %d from %d on", c.count, c.first, docs.GetCardinality(), docs.Minimum())
		}
		if n := b.countPostings(at); n != int(c.count) {
			t.Errorf("%d documents from %d on: counted %d", c.count, c.first, n)
		}
		if err := docs.Validate(); err != nil {
			t.Errorf("%d documents from %d on: %v", c.count, c.first, err)
		}
	}
}

// Mark sets the bits of the documents that Next returns, and of no others.
func TestMark(t *testing.T) {
	testkit.Unraced(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		docs := roaring.New()
		length := 1 + rnd.IntN(200_000)
		for range 1 + rnd.IntN(4) {
			switch from := rnd.IntN(length); rnd.IntN(3) {
			case 0: // few
				for range 1 + rnd.IntN(100) {
					docs.AddInt(rnd.IntN(length))
				}
			case 1: // side by side
				docs.AddRange(uint64(from), uint64(min(length, from+rnd.IntN(70_000)+1)))
			case 2: // many
				for doc := from; doc < length; doc += 1 + rnd.IntN(10) {
					docs.AddInt(doc)
				}
			}
		}
		if rnd.IntN(2) == 0 {
			docs.RunOptimize()
		}
		data := []byte{0, 0, 0}
		bitmap, _ := docs.ToBytes()
		data = append(binary.AppendUvarint(data, uint64(len(bitmap))), bitmap...)
		s := &Segment{file: &file{body: inMemory(data)}, length: length}
		if rnd.IntN(2) == 0 {
			s.deleted = roaring.New()
			for range rnd.IntN(1000) {
				s.deleted.AddInt(rnd.IntN(length))
			}
		}
		want := make([]uint64, (length+63)/64)
		if s.deleted == nil || !s.deleted.Contains(0) {
			want[0] = 1 // stays
		}
		got := slices.Clone(want)
		p := s.PostingsAt(1)
		for doc, _, _, ok := p.Next(); ok; doc, _, _, ok = p.Next() {
			want[doc/64] |= 1 << (doc % 64)
		}
		s.Mark(1, got)
		if err := s.Fault(); err != nil || !slices.Equal(got, want) {
			t.Fatalf("Mark of %v in %d documents, %v: bits differ from Next", docs, length, err)
		}
		if n := bodyOf(data).countPostings(1); n != int(docs.GetCardinality()) {
			t.Fatalf("countPostings of %v = %d", docs, n)
		}
		runs := make([]uint64, len(want))
		next := uint32(0)
		var read roaring.Bitmap
		bodyOf(data).readDocuments(1, &read)
		eachRun(&read, func(first, last uint32) {
			if first < next || last < first {
				t.Fatalf("eachRun of %v: %d to %d after %d", docs, first, last, next)
			}
			for doc := first; doc <= last; doc++ {
				runs[doc/64] |= 1 << (doc % 64)
			}
			next = last + 2
		})
		all := make([]uint64, len(want))
		s.deleted, s.deletedOnce, s.deletedSet = nil, sync.Once{}, nil
		s.Mark(1, all)
		if err := s.Fault(); err != nil || !slices.Equal(runs, all) {
			t.Fatalf("eachRun of %v, %v: others than Mark", docs, err)
		}
		s.length = int(docs.Maximum())
		if s.Mark(1, make([]uint64, (s.length+63)/64)); s.length > 0 && s.Fault() == nil {
			t.Fatalf("Mark of %v in %d documents: no error", docs, s.length)
		}
	}
}

func TestBlockOfOne(t *testing.T) {
	p := (&Segment{length: 4}).postingsAt(oneHit(3, 7))
	docs, freqs, lengths := p.NextBlock()
	if len(docs) != 1 || docs[0] != 3 || freqs[0] != 1 || lengths[0] != 7 {
		t.Errorf("NextBlock: %v %v %v", docs, freqs, lengths)
	}
	if docs, _, _ := p.NextBlock(); len(docs) != 0 {
		t.Errorf("NextBlock again: %v", docs)
	}
}

// Damaged bytes give an error or wrong postings, and no panic that gets out.
func FuzzPostings(f *testing.F) {
	data, at := encodeList([]uint32{1, 5, 70_000}, []uint32{1, 2, 300}, []uint32{9, 8, 1000})
	f.Add(data, uint64(at))
	f.Add(data, uint64(oneHitBit|5|7<<31))
	f.Fuzz(func(t *testing.T, data []byte, offset uint64) {
		at := PostingsOffset(offset)
		contained := func(read func()) (err error) {
			defer format.Contain(format.Guard(), "read", &err)
			read()
			return nil
		}
		_ = contained(func() { bodyOf(data).countPostings(at) })
		s := &Segment{file: &file{body: inMemory(data)}, length: 1000, deleted: roaring.BitmapOf(5)}
		set := make([]uint64, (s.length+63)/64)
		if s.Mark(at, set); s.Fault() == nil && (set[0]>>5&1 != 0 || set[len(set)-1]>>(s.length%64) != 0) {
			t.Fatalf("marked %x", set)
		}
		var docs roaring.Bitmap
		_ = contained(func() {
			bodyOf(data).readDocuments(at, &docs)
			eachRun(&docs, func(uint32, uint32) {})
		})
		p := s.PostingsAt(at)
		for {
			doc, _, _, ok := p.Next()
			if !ok {
				break
			}
			if doc >= 1000 || doc == 5 {
				t.Fatalf("document %d", doc)
			}
		}
	})
}

func FuzzValues(f *testing.F) {
	text := []byte("AAAAAAAAAAA\xffBBBBBBBBBBB\xff")
	f.Add(append([]byte{2, 3, 12, 7, 24}, snappy.Encode(nil, text)...))
	f.Fuzz(func(t *testing.T, chunk []byte) {
		contained := func(read func()) {
			var err error
			defer format.Contain(format.Guard(), "read", &err)
			read()
		}
		contained(func() {
			valuesOfChunk(chunk, nil, []uint32{0, 3, 7, 1000}, func(doc uint32, value []byte) {
				if doc != 0 && doc != 3 && doc != 7 && doc != 1000 {
					t.Errorf("document %d", doc)
				}
			})
		})
		contained(func() { bodyOf(chunk).readField(0) })
	})
}

// Documents that do not ascend, as no writer leaves them, are damage: whoever reads
// them by ranges would be led astray.
func TestPostingsOutOfOrder(t *testing.T) {
	docs := roaring.BitmapOf(3, 5, 900)
	bitmap, err := docs.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]uint16{{3, 900, 5}, {3, 3, 5}} {
		for i, doc := range order {
			binary.LittleEndian.PutUint16(bitmap[len(bitmap)-2*len(order)+2*i:], doc)
		}
		data := append(binary.AppendUvarint([]byte{0, 0, 0}, uint64(len(bitmap))), bitmap...)
		s := &Segment{file: &file{body: inMemory(data)}, length: 1000}
		p := s.PostingsAt(1)
		for docs, _, _ := p.NextBlock(); len(docs) > 0; docs, _, _ = p.NextBlock() {
			t.Errorf("%v: read as %v", order, docs)
		}
		if !errors.Is(s.Fault(), format.ErrDamaged) {
			t.Errorf("%v: %v, want ErrDamaged", order, s.Fault())
		}
	}
}
