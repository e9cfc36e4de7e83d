package index_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// Every document whose entry has a copy somewhere is marked, and most others are
// not, whether the generation was made at once or from the one before.
func TestPossibleDuplicates(t *testing.T) {
	testkit.Unraced(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	dir := tempDir(t)
	w := openWriter(t, dir)
	number := 0
	add := func(entries int) uint64 {
		b := index.NewBatch()
		number++
		r := &session.Record{Summary: session.Summary{File: w.NextFile(), Path: fmt.Sprintf("/%d.jsonl", number)}}
		for i := range entries {
			copied := rnd.Uint64N(1 << 40)
			if rnd.IntN(10) == 0 {
				copied = 1 + rnd.Uint64N(40) // of few, or none
			}
			for part := range 1 + rnd.IntN(3) {
				r.Tokens += uint64(b.Add(&segment.Document{
					ID:   segment.ID{File: r.File, Offset: int64(i), Part: part},
					Kind: session.KindReply, Text: []byte("text"), Copy: copied * 0x9e3779b97f4a7c15,
				}))
				r.Documents++
			}
		}
		b.Put(r, nil)
		commit(t, w, b)
		return publish(t, w)
	}
	check := func(known bool) {
		t.Helper()
		type place struct {
			file   uint32
			offset int64
		}
		entries := map[uint64]map[place]bool{}
		marked, documents := 0, 0
		r := openReader(t, dir)
		visit := func(do func(s *segment.Segment, doc uint32, hash uint64, at place)) {
			for _, s := range r.Segments() {
				var docs []uint32
				for doc := range uint32(s.Len()) {
					docs = append(docs, doc)
				}
				s.EntryHashes(docs, func(doc uint32, hash uint64) {
					id := s.ID(doc)
					do(s, doc, hash, place{id.File, id.Offset})
				})
				if err := s.Fault(); err != nil {
					t.Fatal(err)
				}
			}
		}
		visit(func(_ *segment.Segment, _ uint32, hash uint64, at place) {
			if entries[hash] == nil {
				entries[hash] = map[place]bool{}
			}
			entries[hash][at] = true
		})
		visit(func(s *segment.Segment, doc uint32, hash uint64, at place) {
			bits := s.PossibleDuplicates()
			if (bits != nil) != known {
				t.Fatalf("known: %t, want %t", bits != nil, known)
			}
			if bits == nil {
				return
			}
			documents++
			switch may := bits[doc/64]>>(doc%64)&1 != 0; {
			case may:
				marked++
			case len(entries[hash]) > 1:
				t.Errorf("document %d of %v has copies and is not marked", doc, at)
			}
		})
		for _, s := range r.Segments() {
			all := map[uint32]uint64{} // as the segment has them
			var docs, may []uint32
			for doc := range uint32(s.Len()) {
				docs = append(docs, doc)
				if known && s.PossibleDuplicates()[doc/64]>>(doc%64)&1 != 0 {
					may = append(may, doc)
				}
			}
			s.EntryHashes(docs, func(doc uint32, hash uint64) { all[doc] = hash })
			visited := 0
			s.EntryHashes(may, func(doc uint32, hash uint64) {
				if visited++; all[doc] != hash {
					t.Errorf("document %d has %x among those that may be copies, %x among all", doc, hash, all[doc])
				}
			})
			s.KnownDuplicates(may, func(doc uint32, _ uint64, part int) {
				if id := s.ID(doc); id.Part != part {
					t.Errorf("document %d is known as part %d, want %d", doc, part, id.Part)
				}
			})
			if err := s.Fault(); err != nil || visited != len(may) {
				t.Errorf("%d of %d documents that may be copies visited: %v", visited, len(may), err)
			}
		}
		if known && marked > documents/5 {
			t.Errorf("%d of %d documents are marked", marked, documents)
		}
	}
	for _, entries := range []int{3000, 5, 1, 40, 3000, 2} {
		add(entries)
		check(true)
	}

	path := filepath.Join(dir, fmt.Sprintf("gen-%06d", add(1)), "copies")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range [][]byte{nil, data[:len(data)-1], append([]byte("pgcopie3"), make([]byte, len(data)-8)...), flip(data, len(data)/2), flip(data, 25)} {
		if err := os.WriteFile(path, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		check(false)
	}
	add(1)
	check(true)
}

// A generation in which no more documents are marked has the file of the one before.
func TestDuplicatesCarriedOver(t *testing.T) {
	dir := tempDir(t)
	w := openWriter(t, dir)
	add := func(name string, hashes ...uint64) (copies string) {
		b := index.NewBatch()
		r := &session.Record{Summary: session.Summary{File: w.NextFile(), Path: name}}
		for i, hash := range hashes {
			b.Add(&segment.Document{ID: segment.ID{File: r.File, Offset: int64(i)}, Kind: session.KindReply, Text: []byte("text"), Copy: hash})
			r.Documents++
		}
		b.Put(r, nil)
		commit(t, w, b)
		return filepath.Join(dir, fmt.Sprintf("gen-%06d", publish(t, w)), "copies")
	}
	marked := func() (hashes []uint64) {
		for _, s := range openReader(t, dir).Segments() {
			for doc := range uint32(s.Len()) {
				s.KnownDuplicates([]uint32{doc}, func(_ uint32, hash uint64, _ int) { hashes = append(hashes, hash) })
			}
			if s.PossibleDuplicates() == nil {
				t.Error("the duplicates of a segment are not known")
			}
		}
		slices.Sort(hashes)
		return hashes
	}
	many := make([]uint64, 2000)
	for i := range many {
		many[i] = uint64(i+1) * 0x9e3779b97f4a7c15
	}
	last, hashes := add("/many.jsonl", append(many, many[0])...), []uint64{many[0], many[0]}
	for i, c := range []struct {
		hashes  []uint64
		carried bool
	}{
		{[]uint64{5}, true},
		{[]uint64{6, 7}, true},
		{nil, true},
		{[]uint64{many[1]}, false},
		{[]uint64{8}, true},
		{[]uint64{9, 9}, false}, // of each other
	} {
		copies := add(fmt.Sprintf("/%d.jsonl", i), c.hashes...)
		before, err1 := os.Stat(last)
		now, err2 := os.Stat(copies)
		if err1 != nil || err2 != nil || os.SameFile(before, now) != c.carried {
			t.Errorf("after %d: the same file: %t, want %t; %v, %v", c.hashes, !c.carried, c.carried, err1, err2)
		}
		if last = copies; !c.carried {
			hashes = append(hashes, c.hashes[0], c.hashes[0])
			slices.Sort(hashes)
		}
		if got := marked(); !slices.Equal(got, hashes) {
			t.Errorf("after %d: marked %x, want %x", c.hashes, got, hashes)
		}
	}
}

func flip(data []byte, at int) []byte {
	data = append([]byte(nil), data...)
	data[at] ^= 4
	return data
}
