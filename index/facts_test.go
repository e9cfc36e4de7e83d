package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/internal/session"
)

func anyFacts(rnd *rand.Rand, n int) *session.Facts {
	f := &session.Facts{}
	word := func() string { return fmt.Sprint("word", rnd.IntN(9)) }
	number := func(most int64) int64 { return rnd.Int64N(most) >> rnd.IntN(40) }
	words := func() (list []string) {
		for range rnd.IntN(4) {
			list = append(list, word())
		}
		return list
	}
	outcome := func() session.Outcome {
		o := session.Outcome{Failed: rnd.IntN(2) == 0, Bytes: number(1 << 40), Exit: session.Unknown, Duration: session.Unknown}
		if rnd.IntN(2) == 0 {
			o.Exit, o.Duration = rnd.Int32()-1<<30, int32(number(1<<31-1))
		}
		return o
	}
	for range n {
		at := number(1<<50) - 1<<30
		f.Usages = append(f.Usages, session.UsageFact{
			Offset: number(1 << 50), Time: at, Copy: rnd.Uint64(), Source: word(), Model: word(),
			Usage: session.Usage{
				Input: number(1 << 40), Output: number(1 << 40), CacheRead: number(1 << 40), CacheWrite: number(1 << 40),
				Cost: float64(rnd.IntN(3)) * rnd.Float64(), Unusable: rnd.IntN(2) == 0,
			},
		})
		c := session.CallFact{
			Offset: number(1 << 50), Time: at, Copy: rnd.Uint64(), Kind: session.CallKind(rnd.IntN(4)), Part: rnd.IntN(9) - 1,
			Tool: word(), Model: word(), Outcome: outcome(), Programs: words(), Rules: rnd.Uint32() * uint32(rnd.IntN(2)), Broken: rnd.IntN(2) == 0,
			Line: word(), Cut: rnd.IntN(2) == 0, Shell: rnd.IntN(2) == 0, Paths: words(),
		}
		switch rnd.IntN(3) {
		case 0:
			c.ID = word()
		case 1:
			c.HasResult, c.Result, c.ResultCopy = true, c.Offset, c.Copy
		case 2:
			c.HasResult, c.Result, c.ResultCopy = true, number(1<<50), rnd.Uint64()
		}
		f.Calls = append(f.Calls, c)
		if rnd.IntN(3) == 0 {
			c.Part++
			f.Calls = append(f.Calls, c) // of the same entry
		}
		f.Touches = append(f.Touches, session.TouchFact{Offset: number(1 << 50), Time: at, Copy: rnd.Uint64(), Path: word(), Write: rnd.IntN(2) == 0})
	}
	return f
}

var sameFacts = cmp.Options{cmpopts.IgnoreUnexported(session.Facts{}), cmpopts.EquateEmpty()}

func TestFactsRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var into session.Facts
	for n := range 60 {
		// What is read comes after what is there.
		first, second := anyFacts(rnd, n%7), anyFacts(rnd, n%5)
		into = session.Facts{Usages: into.Usages[:0], Calls: into.Calls[:0], Touches: into.Touches[:0]}
		want := &session.Facts{}
		for _, f := range []*session.Facts{first, second} {
			from := len(into.Calls)
			if err := decodeFacts(string(appendFacts(nil, f)), &into, FactUsages|FactCalls); err != nil {
				t.Fatal(err)
			}
			if err := decodeDetails(string(appendDetails(nil, f)), &into, from); err != nil {
				t.Fatal(err)
			}
			want.Usages = append(want.Usages, f.Usages...)
			want.Calls = append(want.Calls, f.Calls...)
			want.Touches = append(want.Touches, f.Touches...)
		}
		if diff := cmp.Diff(want, &into, sameFacts); diff != "" {
			t.Fatalf("facts (-want +got):\n%s", diff)
		}
	}
}

// Damaged bytes are an error and cost no memory.
func TestDamagedFacts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	f := anyFacts(rnd, 20)
	facts, details := appendFacts(nil, f), appendDetails(nil, f)
	if _, err := openFacts(append(seal(appendUint(nil, SchemaVersion)), 0)); err == nil {
		t.Error("a wrong checksum is not noticed")
	}
	for i := range len(facts) {
		if err := decodeFacts(string(facts[:i]), &session.Facts{}, FactUsages|FactCalls); err == nil {
			t.Fatalf("facts cut at byte %d of %d are read", i, len(facts))
		}
		damaged := append([]byte(nil), facts...)
		damaged[i] ^= byte(1 + rnd.IntN(255))
		_ = decodeFacts(string(damaged), &session.Facts{}, FactUsages|FactCalls)
	}
	for i := range len(details) {
		got := session.Facts{Calls: make([]session.CallFact, len(f.Calls))}
		if err := decodeDetails(string(details[:i]), &got, 0); err == nil {
			t.Fatalf("details cut at byte %d of %d are read", i, len(details))
		}
		damaged := append([]byte(nil), details...)
		damaged[i] ^= byte(1 + rnd.IntN(255))
		_ = decodeDetails(string(damaged), &session.Facts{Calls: make([]session.CallFact, len(f.Calls))}, 0)
	}
}

// Facts go with their file: replaced with its record, gone with it, and those of
// an unterminated last line are not read on from.
func TestFactsOfFiles(t *testing.T) {
	for _, stock := range []bool{false, true} {
		rnd := rand.New(rand.NewPCG(11, 12))
		dir := t.TempDir()
		w, err := OpenWriter(dir, WriterOptions{Stock: stock})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		want := make(map[uint32]*session.Facts)
		for round := range 6 {
			b := w.NewBatch()
			for file := range uint32(5) {
				rec := &session.Record{}
				rec.File, rec.Path = file+1, fmt.Sprint("/s/", file)
				switch {
				case round == 5 && file == 2:
					b.DeleteFile(rec.File)
					delete(want, rec.File)
					continue
				case rnd.IntN(3) == 0 && round > 0:
					continue
				case rnd.IntN(4) > 0:
					rec.Facts = anyFacts(rnd, 1+rnd.IntN(5))
				}
				b.DeleteDocuments(rec.File)
				full := rec
				if rnd.IntN(3) == 0 {
					full = rec.Clone()
					full.Facts = anyFacts(rnd, 2)
					full.TailBytes = 1
					b.Put(rec, full)
				} else {
					b.Put(rec, nil)
				}
				want[rec.File] = full.Facts
			}
			if err := w.Commit(b); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Publish(); err != nil {
				t.Fatal(err)
			}
			r, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			set, err := r.Facts(context.Background(), FactUsages|FactDetails)
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			var got session.Facts
			for file := range uint32(6) {
				if err := set.Of(file, &got); err != nil {
					t.Fatal(err)
				}
				f := want[file]
				if f == nil {
					f = &session.Facts{}
				}
				if diff := cmp.Diff(f, &got, sameFacts); diff != "" {
					t.Fatalf("round %d, file %d (-want +got):\n%s", round, file, diff)
				}
			}
		}
	}
}

// What is added to long facts, or changes in them, is all that is written again;
// what is read at any time is all of it.
func TestFactsThatGrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	dir := t.TempDir()
	w, err := OpenWriter(dir, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := &session.Facts{}
	for round := range 12 {
		rec, err := w.Record(1)
		if err != nil {
			t.Fatal(err)
		}
		if rec == nil {
			rec = &session.Record{Facts: &session.Facts{}}
			rec.File, rec.Path = 1, "/s/a"
		}
		if diff := cmp.Diff(want, rec.Facts, sameFacts); diff != "" {
			t.Fatalf("round %d: the facts read (-want +got):\n%s", round, diff)
		}
		more := anyFacts(rnd, 1+rnd.IntN(400))
		rec.Facts.Usages = append(rec.Facts.Usages, more.Usages...)
		for i, c := range more.Calls {
			c.ID = ""
			if i%50 == 0 {
				c.ID = fmt.Sprint("call", rnd.IntN(40))
			}
			rec.Facts.AddCall(c)
		}
		rec.Facts.Touches = append(rec.Facts.Touches, more.Touches...)
		for range 3 {
			if c := rec.Facts.Answer(fmt.Sprint("call", rnd.IntN(40))); c != nil {
				c.Result, c.ResultCopy, c.Failed = rnd.Int64N(1<<40), rnd.Uint64(), true
			}
		}
		want = rec.Facts.Clone()
		b := w.NewBatch()
		pieces := 0
		for i := range rec.Facts.Chunks() {
			if !rec.Facts.IsStored(i) {
				pieces++
			}
		}
		if round > 8 && pieces == rec.Facts.Chunks() {
			t.Errorf("round %d: all of %d pieces are written again", round, pieces)
		}
		full := rec
		if round%3 == 0 {
			full = rec.Clone()
			full.Facts.AddCall(anyFacts(rnd, 1).Calls[0])
			full.TailBytes = 1
			b.Put(rec, full)
		} else {
			b.Put(rec, nil)
		}
		if err := w.Commit(b); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Publish(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		set, err := r.Facts(context.Background(), FactUsages|FactDetails)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var got session.Facts
		if err := set.Of(1, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full.Facts, &got, sameFacts); diff != "" {
			t.Fatalf("round %d: the facts of all files (-want +got):\n%s", round, diff)
		}
	}
	if want.Chunks() < 5 {
		t.Errorf("%d pieces only", want.Chunks())
	}
}
