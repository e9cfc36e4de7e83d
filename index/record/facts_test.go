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
	"pigrep/lab/testkit"
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
	deed := func() session.Deed { return session.Deed(rnd.IntN(len(session.Deeds))) }
	outcome := func() session.Outcome {
		o := session.Outcome{Failed: rnd.IntN(2) == 0, NoMatch: rnd.IntN(2) == 0, Rejected: rnd.IntN(2) == 0, Bytes: number(1 << 40), Exit: session.Unknown, Duration: session.Unknown}
		if rnd.IntN(2) == 0 {
			o.Exit, o.Duration = rnd.Int32()-1<<30, int32(number(1<<31-1))
		}
		return o
	}
	for range n {
		at := number(1<<50) - 1<<30
		if rnd.IntN(90) == 0 {
			at = 0
		}
		f.Usages = append(f.Usages, session.UsageFact{
			Offset: number(1 << 50), Time: at, Copy: rnd.Uint64(), Bare: rnd.IntN(9) == 0, Source: word(), Model: word(),
			Usage: session.Usage{
				Input: number(1 << 40), Output: number(1 << 40), CacheRead: number(1 << 40), CacheWrite: number(1 << 40), LongWrite: number(1 << 40), NoCost: rnd.IntN(2) == 0,
				Cost: float64(rnd.IntN(3)) * rnd.Float64(), Unusable: rnd.IntN(2) == 0,
			},
		})
		c := session.CallFact{
			Offset: number(1 << 50), Time: at, Copy: rnd.Uint64(), Bare: rnd.IntN(9) == 0, Kind: session.CallKind(rnd.IntN(4)), Part: rnd.IntN(9) - 1,
			Tool: word(), Deed: deed(), Model: word(), Outcome: outcome(), Programs: words(), Blamed: rnd.Uint64() >> 60, Rules: rnd.Uint32(), Broken: rnd.IntN(2) == 0, Search: rnd.IntN(2) == 0,
			Line: word(), Cut: rnd.IntN(2) == 0, Shell: rnd.IntN(2) == 0, Escapes: rnd.IntN(2) == 0, Dialect: session.Dialect(rnd.IntN(3)), Dir: word(),
		}
		for _, path := range words() {
			c.Files = append(c.Files, session.FileUse{Path: path, Deed: deed()})
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
		set := stored(t, pieces...)
		got, err := set.Facts(1)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for p := range set.All([]uint32{1}) {
			calls := want.Calls[number:][:p.Calls.Len]
			number += p.Calls.Len
			if piece, err := set.PieceFacts(1, p.Index); err != nil || !cmp.Equal(calls, piece.Calls, sameFacts) {
				t.Fatalf("facts of piece %d: %v (-want +got):\n%s", p.Index, err, cmp.Diff(calls, piece.Calls, sameFacts))
			}
		}
		if diff := testkit.Diff(want, got, sameFacts); diff != "" {
			t.Fatalf("facts (-want +got):\n%s", diff)
		}
	}
}

// Pieces come in the order of the files.
func TestAllFacts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	set, want := NewFactSet(CallFacts), []string{}
	for file := range uint32(60) {
		for piece := range rnd.IntN(4) {
			f := anyFacts(rnd, 1+rnd.IntN(20))
			set.Add(CallFacts, 60-file, PieceName(piece), inMemory(EncodeFacts(CallFacts, f)))
			want = append(want, fmt.Sprint(file, piece, len(f.Calls), f.Calls[0].Tool))
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
			got = append(got, fmt.Sprint(p.File, p.Index, p.Calls.Len, p.Calls.Tool.At(0)))
		}
		if diff := cmp.Diff(want[:some], got); diff != "" {
			t.Fatalf("%d pieces (-want +got):\n%s", some, diff)
		}
	}
}

// WithoutDetails has the uses and calls of All.
func TestUsesAndCallsWithoutDetails(t *testing.T) {
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
	if diff := cmp.Diff(read(set.All([]uint32{1})), read(set.WithoutDetails([]uint32{1}))); diff != "" {
		t.Errorf("facts (-all +without details):\n%s", diff)
	}
}

// The entries without documents of a piece are those that its facts say.
func TestBare(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 14))
	for range 30 {
		f := anyFacts(rnd, 1+rnd.IntN(40))
		set := stored(t, f)
		var want, got []uint64
		orphan := false
		seen := make(map[int64]bool)
		for _, u := range f.Usages {
			if u.Bare && !seen[u.Offset] {
				seen[u.Offset] = true
				want = append(want, u.Copy)
			}
		}
		for _, c := range f.Calls {
			if c.Bare {
				orphan = orphan || c.Kind == session.CallMissing
				if !seen[c.Offset] {
					seen[c.Offset] = true
					want = append(want, c.Copy)
				}
			}
		}
		for p, err := range set.Bare([]uint32{1}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Bare.Len {
				got = append(got, uint64(p.Bare.Copy.At(i)))
			}
			if p.Bare.Orphan != orphan {
				t.Errorf("a result without a call: %v, want %v", p.Bare.Orphan, orphan)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("entries without documents %x, want %x", got, want)
		}
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
	f.Usages[0].Bare, f.Calls[0].Bare = true, true
	read := func(kind FactKind, b []byte) error {
		var p Piece
		if err := p.decode(kind, format.Seal(b)); err != nil {
			return err
		}
		if n := max(p.Usages.Len, p.Calls.Len, p.Details.Len, p.Touches.Len, p.Bare.Len); n > len(b) {
			t.Fatalf("%d facts in %d bytes", n, len(b))
		}
		p.Usages.appendTo(nil)
		if p.Details.Len == 0 {
			p.Calls.appendTo(nil, &p.Details)
		}
		for i := range p.Details.Len {
			_, _, _, _ = p.Details.line.at(i), p.Details.id.at(i), p.Details.Files(i), p.Details.Shell(i)
		}
		p.Touches.appendTo(nil)
		for i := range p.Bare.Len {
			_ = p.Bare.Copy.At(i)
		}
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

// The list of entries without documents fits only the facts that it was made from. It does not fit
// other facts, or a piece without facts. That of a piece beside a tail is compared too.
func TestBareFit(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(31, 32))
	facts, others := anyFacts(rnd, 40), anyFacts(rnd, 41)
	facts.Calls[0].Bare, others.Calls[0].Bare = true, true
	fit := func(wrong FactKind, wrongPiece string, in *session.Facts) bool {
		set := NewFactSet(FactKinds[:]...)
		for _, piece := range []string{PieceName(0), Tail} {
			for _, kind := range FactKinds {
				f := facts
				if kind == wrong && piece == wrongPiece {
					f = in
				}
				if b := EncodeFacts(kind, f); b != nil {
					set.Add(kind, 1, piece, inMemory(b))
				}
			}
		}
		ok, err := set.BareFit(1)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !fit(0, "", nil) {
		t.Error("the list of the facts does not fit")
	}
	for _, piece := range []string{PieceName(0), Tail} {
		for _, in := range []*session.Facts{others, {}} {
			if fit(BareFacts, piece, in) {
				t.Errorf("a wrong list of piece %s with %d calls fits", piece, len(in.Calls))
			}
		}
	}
}
