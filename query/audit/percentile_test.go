package audit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPercentiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	numbers := map[string]func() int32{
		"any":     func() int32 { return rnd.Int32() },
		"small":   func() int32 { return rnd.Int32N(70) },
		"equal":   func() int32 { return 77 },
		"skewed":  func() int32 { return rnd.Int32() >> rnd.IntN(31) },
		"largest": func() int32 { return math.MaxInt32 - rnd.Int32N(2) },
	}
	for name, number := range numbers {
		for _, n := range []int{1, 2, 3, 20, 21, 999, 1000, 1001, 5000} {
			list := make([]int32, n)
			for i := range list {
				list[i] = number()
			}
			sorted := slices.Sorted(slices.Values(list))
			for _, percent := range [][2]int{{50, 95}, {0, 100}, {1, 99}} {
				low, high := percentiles(list, percent[0], percent[1])
				want := func(percent int) int32 { return sorted[max(int(math.Ceil(float64(percent*n)/100)), 1)-1] }
				if low != want(percent[0]) || high != want(percent[1]) {
					t.Errorf("%d %s numbers: %d %% is %d, want %d; %d %% is %d, want %d", n, name, percent[0], low, want(percent[0]), percent[1], high, want(percent[1]))
				}
			}
		}
	}
}

func BenchmarkPercentiles(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	list := make([]int32, 130000)
	for i := range list {
		list[i] = rnd.Int32N(30000)
	}
	for b.Loop() {
		rnd.Shuffle(100, func(i, j int) { list[i], list[j] = list[j], list[i] })
		percentiles(list, 50, 95)
	}
}
