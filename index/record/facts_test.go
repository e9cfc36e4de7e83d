package record

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/index/format"
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
			Tool: word(), Model: word(), Outcome: outcome(), Programs: words(), Broken: rnd.IntN(2) == 0, Search: rnd.IntN(2) == 0,
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

func inMemory(b []byte) Stored { return func([]byte) ([]byte, error) { return b, nil } }

// stored returns a set with these facts of a file in pieces.
func stored(t *testing.T, pieces ...*session.Facts) *FactSet {
	t.Helper()
	set := NewFactSet(FactKinds[:]...)
	for i, f := range pieces {
		for _, kind := range FactKinds {
			if b := EncodeFacts(kind, f); b != nil {
				set.Add(kind, 1, PieceName(i), inMemory(b))
			}
		}
	}
	return set
}

func TestFactsRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for n := range 60 {
		pieces := []*session.Facts{anyFacts(rnd, n%7), anyFacts(rnd, n%5)}
		if n%3 == 0 {
			pieces[0].Calls = nil // as in a session that only talks
		}
		want := &session.Facts{}
		for _, f := range pieces {
			want.Usages = append(want.Usages, f.Usages...)
			want.Calls = append(want.Calls, f.Calls...)
			want.Touches = append(want.Touches, f.Touches...)
		}
		got, err := stored(t, pieces...).Facts(1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameFacts); diff != "" {
			t.Fatalf("facts (-want +got):\n%s", diff)
		}
	}
}

// Pieces come in the order of the files, with the number of their first call.
func TestAllFacts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	set, want := NewFactSet(CallFacts), []string{}
	for file := range uint32(60) {
		number := 0
		for piece := range rnd.IntN(4) {
			f := anyFacts(rnd, 1+rnd.IntN(20))
			set.Add(CallFacts, 60-file, PieceName(piece), inMemory(EncodeFacts(CallFacts, f)))
			want = append(want, fmt.Sprint(file, number, len(f.Calls), f.Calls[0].Tool))
			number += len(f.Calls)
		}
	}
	var files []uint32
	for file := range uint32(60) {
		files = append(files, 60-file)
	}
	for _, some := range []int{0, 1, 7, len(want)} {
		got := []string{}
		for p, err := range set.All(files) {
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == some {
				break
			}
			got = append(got, fmt.Sprint(p.File, p.Number, p.Calls.Len, p.Calls.Tool.At(0)))
		}
		if diff := cmp.Diff(want[:some], got); diff != "" {
			t.Fatalf("%d pieces (-want +got):\n%s", some, diff)
		}
	}
}

// Entries has the entries of All.
func TestEntriesOfFacts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	set := stored(t, anyFacts(rnd, 9), anyFacts(rnd, 30))
	read := func(pieces iter.Seq2[*Piece, error]) (list []string) {
		for p, err := range pieces {
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Usages.Len {
				list = append(list, fmt.Sprint(p.Usages.Offset.At(i), p.Usages.Time.At(i), p.Usages.Copy.At(i)))
			}
			for i := range p.Calls.Len {
				list = append(list, fmt.Sprint(p.Calls.Offset.At(i), p.Calls.Time.At(i), p.Calls.Copy.At(i), p.Calls.Flags(i)))
			}
		}
		return list
	}
	if diff := cmp.Diff(read(set.All([]uint32{1})), read(set.Entries([]uint32{1}))); diff != "" {
		t.Errorf("entries (-all +entries):\n%s", diff)
	}
}

// Details that are missing, or are those of other calls, are damage.
func TestFactsWithoutDetails(t *testing.T) {
	f := anyFacts(rand.New(rand.NewPCG(9, 9)), 3)
	for _, details := range [][]byte{nil, EncodeFacts(DetailFacts, &session.Facts{Calls: f.Calls[:1]})} {
		set := NewFactSet(CallFacts, DetailFacts)
		set.Add(CallFacts, 1, Tail, inMemory(EncodeFacts(CallFacts, f)))
		if details != nil {
			set.Add(DetailFacts, 1, Tail, inMemory(details))
		}
		if _, err := set.Facts(1); !errors.Is(err, format.ErrDamaged) {
			t.Errorf("error %v, want one of damage", err)
		}
	}
}

// Damaged bytes are an error, or other facts: nothing panics, and no list is longer than
// the bytes account for.
func TestDamagedFacts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	f := anyFacts(rnd, 20)
	read := func(kind FactKind, b []byte) error {
		var p Piece
		if err := p.decode(kind, format.Seal(b)); err != nil {
			return err
		}
		if n := max(p.Usages.Len, p.Calls.Len, p.Details.Len, p.Touches.Len); n > len(b) {
			t.Fatalf("%d facts in %d bytes", n, len(b))
		}
		p.Usages.appendTo(nil)
		if p.Details.Len == 0 {
			p.Calls.appendTo(nil, &p.Details)
		}
		for i := range p.Details.Len {
			_, _, _, _ = p.Details.line.at(i), p.Details.id.at(i), p.Details.Paths.At(i), p.Details.Shell(i)
		}
		p.Touches.appendTo(nil)
		return nil
	}
	for _, kind := range FactKinds {
		sealed := EncodeFacts(kind, f)
		if err := new(Piece).decode(kind, append(sealed, 0)); err == nil {
			t.Error("a wrong checksum is not noticed")
		}
		body := sealed[:len(sealed)-8]
		for i := range body {
			if err := read(kind, slices.Clone(body[:i])); err == nil {
				t.Fatalf("facts of kind %c cut at byte %d of %d are read", kind, i, len(body))
			}
			for range 4 {
				damaged := slices.Clone(body)
				damaged[i] ^= byte(1 + rnd.IntN(255))
				_ = read(kind, damaged)
			}
		}
	}
}
