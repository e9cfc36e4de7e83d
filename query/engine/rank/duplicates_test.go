package rank

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Of the candidates with one value and one part, the one in the oldest session
// must stand for the others.
func TestJoinDuplicates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 50, 3000} {
		s := &snapshot{files: make([]file, 5)}
		for i := range 5 {
			s.files[i].started = time.Unix(int64(100-i), 0)
		}
		var found candidates
		for i := range size {
			c := Candidate{offset: int64(i), part: int32(rnd.IntN(2)), file: int32(rnd.IntN(5)), resolved: true}
			if rnd.IntN(4) > 0 {
				c.copy = (1 + rnd.Uint64N(uint64(size))) * 0x9e3779b97f4a7c15
			}
			found.add(c)
		}
		type key struct {
			copy uint64
			part int32
		}
		groups := map[key][]*Candidate{}
		for c := range found.all() {
			if c.copy != 0 {
				groups[key{c.copy, c.part}] = append(groups[key{c.copy, c.part}], c)
			}
		}
		want := map[*Candidate][]*Candidate{}
		dropped := map[*Candidate]bool{}
		for _, list := range groups {
			slices.SortFunc(list, func(a, b *Candidate) int {
				if a.file != b.file {
					return int(b.file - a.file) // the last is the oldest
				}
				return int(a.offset - b.offset)
			})
			if len(list) > 1 {
				want[list[0]] = list[1:]
				for _, c := range list[1:] {
					dropped[c] = true
				}
			}
		}
		got := found.joinDuplicates(s, false)
		got.settle(func(*Candidate) Level { return 1 })
		for c := range found.all() {
			if c.dropped != dropped[c] {
				t.Fatalf("candidate %+v of %d: dropped %t", c, size, c.dropped)
			}
			if others := got.of(c); !c.dropped && !slices.Equal(others, want[c]) {
				t.Fatalf("%d candidates: %v stands for %d others, want %d", size, c, len(others), len(want[c]))
			}
		}
	}
}
