//go:build !amd64

package bytescan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const highBits = 0x80 * lowBits

func indexPair(x, y *byte, n int, a, b, anyCase uint64) int {
	first, second := unsafe.Slice(x, n), unsafe.Slice(y, n)
	le := binary.LittleEndian
	for i := 0; i < n; i += step {
		x, y := first[i:i+step], second[i:i+step]
		// A zero byte, which is a match, sets its high bit. High bits above the
		// lowest one may be false.
		d := ((le.Uint64(x) ^ a) | (le.Uint64(y) ^ b)) &^ anyCase
		e := ((le.Uint64(x[8:]) ^ a) | (le.Uint64(y[8:]) ^ b)) &^ anyCase
		f := ((le.Uint64(x[16:]) ^ a) | (le.Uint64(y[16:]) ^ b)) &^ anyCase
		g := ((le.Uint64(x[24:]) ^ a) | (le.Uint64(y[24:]) ^ b)) &^ anyCase
		d, e, f, g = (d-lowBits)&^d, (e-lowBits)&^e, (f-lowBits)&^f, (g-lowBits)&^g
		if (d|e|f|g)&highBits == 0 {
			continue
		}
		switch d, e, f = d&highBits, e&highBits, f&highBits; {
		case d != 0:
			return i + bits.TrailingZeros64(d)>>3
		case e != 0:
			return i + 8 + bits.TrailingZeros64(e)>>3
		case f != 0:
			return i + 16 + bits.TrailingZeros64(f)>>3
		}
		return i + 24 + bits.TrailingZeros64(g&highBits)>>3
	}
	return n
}

func indexQuote(x *byte, n int) int {
	data := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(x), -2)), n+2)
	for i := 2; i < len(data); i++ {
		k := bytes.IndexByte(data[i:], '"')
		if k < 0 {
			break
		}
		if i += k; data[i-1] != '\\' || data[i-2] == '\\' {
			return i - 2
		}
	}
	return n
}
