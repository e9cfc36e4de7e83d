package segment

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What is written into the index must be read again as the same number, and
// nothing else be taken for one.
func TestEntryHashTerms(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		hash := rnd.Uint64() >> rnd.IntN(64)
		if hash == 0 {
			continue
		}
		term := []byte(EntryHashTerm(hash))
		if got, ok := parseEntryHash(term); !ok || got != hash {
			t.Fatalf("parseEntryHash(%q) = %x, %t, want %x", term, got, ok, hash)
		}
		at := rnd.IntN(len(term))
		term[at] ^= byte(1 + rnd.IntN(255))
		if got, ok := parseEntryHash(term); ok && EntryHashTerm(got) != string(term) {
			t.Fatalf("parseEntryHash(%q) = %x, which is %q", term, got, EntryHashTerm(got))
		}
	}
	for _, bad := range []string{"", "AAAAAAAAAA", "AAAAAAAAAAA", "AAAAAAAAAAAA", "AAAAAAAAAAB", "AAAA AAAAAA"} {
		if got, ok := parseEntryHash([]byte(bad)); ok {
			t.Errorf("parseEntryHash(%q) = %x, want none", bad, got)
		}
	}
}

func TestIDs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		id := ID{File: rnd.Uint32() >> rnd.IntN(32), Offset: rnd.Int64() >> rnd.IntN(63), Part: int(rnd.Int32() >> rnd.IntN(31))}
		if got, ok := parseID([]byte(id.String())); !ok || got != id {
			t.Fatalf("parseID(%q) = %v, %t", id, got, ok)
		}
	}
	largest := ID{File: math.MaxUint32, Offset: math.MaxInt64, Part: math.MaxInt32}
	if got, ok := parseID([]byte(largest.String())); !ok || got != largest {
		t.Errorf("parseID(%q) = %v, %t", largest, got, ok)
	}
	for _, bad := range []string{
		"", ":", "::", "1:2", "1:2:", "1::3", ":2:3", "1:2:3:", "1:2:3:4", "r:000001", "1:2:g", "1:2: 3", "1:2:-3",
		"100000000:2:3", "1:8000000000000000:3", "1:10000000000000000:3", "1:2:80000000",
	} {
		if got, ok := parseID([]byte(bad)); ok {
			t.Errorf("parseID(%q) = %v, want none", bad, got)
		}
	}
}
