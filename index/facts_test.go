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
			b.DeleteDocuments(rec.File)
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
			if diff := cmp.Diff(f, got, sameFacts); diff != "" {
				t.Fatalf("round %d, file %d (-want +got):\n%s", round, file, diff)
			}
		}
		r.Close()
	}
}

// What is added to long facts, or changes in them, is all that is written again;
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
	for round := range 12 {
		rec, err := w.RecordToContinue(1)
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
		more := someFacts(rnd, 1+rnd.IntN(600))
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
		b := NewBatch()
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
			full.Facts.AddCall(someFacts(rnd, 1).Calls[0])
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
		set, err := r.Facts(context.Background(), record.FactKinds[:]...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.Facts(1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full.Facts, got, sameFacts); diff != "" {
			t.Fatalf("round %d: the facts of all files (-want +got):\n%s", round, diff)
		}
		r.Close()
	}
	if want.Chunks() < 5 {
		t.Errorf("%d pieces only", want.Chunks())
	}
}
