package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// someFacts returns n uses of tokens, calls and touched files, each different.
func someFacts(rnd *rand.Rand, n int) *session.Facts {
	f := &session.Facts{}
	for range n {
		at := rnd.Int64N(1 << 50)
		f.Usages = append(f.Usages, session.UsageFact{Offset: at, Time: at, Copy: rnd.Uint64(), Model: fmt.Sprint("model", rnd.IntN(9))})
		f.Calls = append(f.Calls, session.CallFact{
			Offset: at, Time: at, Copy: rnd.Uint64(), Tool: fmt.Sprint("tool", rnd.IntN(9)), Line: fmt.Sprint("line", rnd.Int()),
			Outcome: session.Outcome{Bytes: rnd.Int64N(1 << 40), Exit: session.Unknown, Duration: session.Unknown},
		})
		f.Touches = append(f.Touches, session.TouchFact{Offset: at, Time: at, Copy: rnd.Uint64(), Path: fmt.Sprint("path", rnd.IntN(9))})
	}
	return f
}

var sameFacts = cmp.Options{cmpopts.IgnoreUnexported(session.Facts{}), cmpopts.EquateEmpty()}

// Facts go with their file: replaced with its record, gone with it, and those of
// an unterminated last line are not read on from.
func TestFactsOfFiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	dir := t.TempDir()
	w, err := OpenWriter(dir, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := make(map[uint32]*session.Facts)
	for round := range 6 {
		b := NewBatch()
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
				rec.Facts = someFacts(rnd, 1+rnd.IntN(5))
			}
			b.DeleteFile(rec.File)
			full := rec
			if rnd.IntN(3) == 0 {
				full = rec.Clone()
				full.Facts = someFacts(rnd, 2)
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
		set, err := r.Facts(context.Background(), record.FactKinds[:]...)
		if err != nil {
			t.Fatal(err)
		}
		for file := range uint32(6) {
			got, err := set.Facts(file)
			if err != nil {
				t.Fatal(err)
			}
			f := want[file]
			if f == nil {
				f = &session.Facts{}
			}
			if diff := testkit.Diff(f, got, sameFacts); diff != "" {
				t.Fatalf("round %d, file %d (-want +got):\n%s", round, file, diff)
			}
		}
		r.Close()
	}
}

// Of long facts, only what is added or changed is read and written again;
// every read returns all of them.
func TestFactsThatGrow(t *testing.T) {
	testkit.Unraced(t)
	rnd := rand.New(rand.NewPCG(13, 14))
	dir := t.TempDir()
	w, err := OpenWriter(dir, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := &session.Facts{}
	for round := range testkit.HowMany(9, 12, 12) {
		rec, err := w.RecordToContinue(1)
		if err != nil {
			t.Fatal(err)
		}
		if rec == nil {
			rec = &session.Record{Facts: &session.Facts{}}
			rec.File, rec.Path = 1, "/s/a"
		}
		if n := len(rec.Facts.Usages); n > session.FactsChunk {
			t.Errorf("round %d: %d uses of tokens are read, though one piece has at most %d", round, n, session.FactsChunk)
		}
		last := rec.Facts.Chunks()
		for range 1 + rnd.IntN(600) {
			more, id := someFacts(rnd, 1), ""
			if rnd.IntN(50) == 0 {
				id = fmt.Sprint("call", rnd.IntN(40))
			}
			for _, f := range []*session.Facts{want, rec.Facts} {
				c := more.Calls[0]
				c.ID = id
				f.Begin()
				f.Usages, f.Touches = append(f.Usages, more.Usages...), append(f.Touches, more.Touches...)
				f.AddCall(c)
			}
		}
		b := NewBatch()
		pieces := rec.Facts.Chunks()
		for i := range pieces {
			if stored := rec.Facts.IsStored(i); stored != (i < last-1) {
				t.Errorf("round %d: piece %d of %d is stored: %t", round, i, pieces, stored)
			}
		}
		for range rnd.IntN(4) {
			id := fmt.Sprint("call", rnd.IntN(40))
			result, outcome := rnd.Int64N(1<<40), session.Outcome{Failed: true}
			for _, f := range []*session.Facts{want, rec.Facts} {
				if c := f.Answer(id); c != nil {
					c.Result, c.Outcome = result, outcome
				}
			}
		}
		full := want
		if round%3 == 0 {
			full = want.Clone()
			call := someFacts(rnd, 1).Calls[0]
			full.AddCall(call)
			tail := rec.Clone()
			tail.Facts.AddCall(call)
			tail.TailBytes = 1
			if err := tail.Facts.Whole(); err != nil {
				t.Fatal(err)
			}
			b.Put(rec, tail)
		} else {
			b.Put(rec, nil)
		}
		if err := rec.Facts.Err(); err != nil {
			t.Fatal(err)
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
		set, err := r.Facts(context.Background(), record.FactKinds[:]...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.Facts(1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := testkit.Diff(full, got, sameFacts); diff != "" {
			t.Fatalf("round %d: the facts of all files (-want +got):\n%s", round, diff)
		}
		if fit, err := set.BareFit(1); err != nil || !fit {
			t.Fatalf("round %d: the list of bare entries fits: %t, %v", round, fit, err)
		}
		r.Close()
	}
	if want.Chunks() < 5 {
		t.Errorf("%d pieces only", want.Chunks())
	}
}
