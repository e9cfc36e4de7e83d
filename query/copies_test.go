package query

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

// In however many shares copies are joined, of those with one value and one part
// the one in the oldest session must stand for the others.
func TestJoinCopies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 50, 3000} {
		s := &searcher{}
		for i := range 5 {
			s.files = append(s.files, file{Summary: &session.Summary{Header: session.Header{Timestamp: time.Unix(int64(100-i), 0)}}})
		}
		var chunk []candidate
		for i := range size {
			if len(chunk) > 0 && (len(chunk) == chunkLen || rnd.IntN(100) == 0) {
				s.found, chunk = append(s.found, chunk), nil
			}
			c := candidate{offset: int64(i), part: int32(rnd.IntN(2)), file: int32(rnd.IntN(5)), resolved: true}
			if rnd.IntN(4) > 0 {
				c.copy = (1 + rnd.Uint64N(uint64(size))) * 0x9e3779b97f4a7c15
			}
			chunk = append(chunk, c)
		}
		s.found = append(s.found, chunk)

		type key struct {
			copy uint64
			part int32
		}
		groups := map[key][]int32{}
		var list []int32
		for i, c := range s.found.all() {
			if c.copy != 0 {
				list = append(list, i)
				groups[key{c.copy, c.part}] = append(groups[key{c.copy, c.part}], i)
			}
		}
		want := map[int32][]int32{}
		for _, list := range groups {
			slices.SortFunc(list, func(i, j int32) int {
				a, b := s.found.at(i), s.found.at(j)
				if a.file != b.file {
					return int(b.file - a.file) // the last is the oldest
				}
				return int(a.offset - b.offset)
			})
			if len(list) > 1 {
				want[list[0]] = list[1:]
			}
		}
		for _, n := range []uint64{1, 2, 3} {
			next := make([]int32, len(list))
			got := map[int32][]int32{}
			for k := range n {
				maps.Copy(got, s.joinShare(k, n, list, next))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d candidates in %d shares: %s", size, n, diff)
			}
			dropped := map[int32]bool{}
			for _, list := range want {
				for _, i := range list {
					dropped[i] = true
				}
			}
			for i, c := range s.found.all() {
				if c.dropped != dropped[i] {
					t.Fatalf("candidate %d of %d: dropped %t", i, size, c.dropped)
				}
				c.dropped = false
			}
		}
	}
}
