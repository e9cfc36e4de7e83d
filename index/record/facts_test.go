package record

import (
	"fmt"
	"math/rand/v2"
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
			Tool: word(), Model: word(), Outcome: outcome(), Programs: words(), Broken: rnd.IntN(2) == 0,
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
	if _, err := openPiece(append(format.Seal(format.AppendUint(nil, format.SchemaVersion)), 0)); err == nil {
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
