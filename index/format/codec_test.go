package format

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestColumn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		list := make([]int64, n)
		for i := range list {
			list[i] = rnd.Int64N(math.MaxInt64)>>rnd.IntN(63) - rnd.Int64N(1<<40)>>(n%41)
		}
		if n > 4 && n%5 == 0 {
			list[1], list[2] = math.MinInt64, math.MaxInt64
		}
		b := AppendColumn([]byte{7}, n, func(i int) int64 { return list[i] })
		b = AppendColumnEnd(append(b, 9))
		d := NewDecoder(string(b))
		d.Uint()
		c := d.Column(n)
		if d.Uint() != 9 {
			t.Fatalf("%d integers: the decoder is not behind the column", n)
		}
		if d.ColumnEnd(); !d.Done() {
			t.Fatalf("%d integers: the decoder is not at the end", n)
		}
		for i, want := range list {
			if got := c.At(i); got != want {
				t.Fatalf("integer %d of %d is %d, want %d", i, n, got, want)
			}
		}
	}
}

func TestColumnBelow(t *testing.T) {
	for _, list := range [][]int64{{}, {0}, {3, 1, 2}, {-1, 3}, {255}, {256, 0}, {300, 299}, {1 << 40, 1}, {math.MinInt64}} {
		b := AppendColumnEnd(AppendColumn(nil, len(list), func(i int) int64 { return list[i] }))
		d := NewDecoder(string(b))
		c := d.Column(len(list))
		for _, limit := range []int{0, 1, 3, 4, 255, 256, 257, 301, math.MaxInt32} {
			want := true
			for _, v := range list {
				want = want && v >= 0 && v < int64(limit)
			}
			if got := c.Below(len(list), limit); got != want {
				t.Errorf("%v below %d: %t", list, limit, got)
			}
		}
	}
}

// A column does not have more integers than bytes.
func TestDamagedColumn(t *testing.T) {
	b := AppendColumnEnd(AppendColumn(nil, 3, func(i int) int64 { return int64(i) << 20 }))
	for _, n := range []int{4, 100, math.MaxInt32} {
		d := NewDecoder(string(b))
		d.Column(n)
		if !d.Failed() {
			t.Errorf("%d integers are read where there are 3", n)
		}
	}
	for _, width := range []byte{0, 9, 255} {
		damaged := append([]byte{0, width}, b[2:]...)
		d := NewDecoder(string(damaged))
		d.Column(0)
		if !d.Failed() {
			t.Errorf("integers of %d bytes are read", width)
		}
	}
}
