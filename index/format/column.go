package format

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// A Column is a list of integers that are read where they are, without decoding:
//
//	int     the smallest integer, to which the others are relative
//	uint    width in bytes, 1 to 8, so that damaged bytes cannot make a list long
//	that many bytes for each integer, little endian
//
// It reads 8 bytes at once, so columnEnd bytes must follow the last column.
type Column struct {
	base  int64
	width int
	mask  uint64
	bytes []byte
}

const columnEnd = 8

// At returns the integer with that number, which must be less than the length that was
// read.
func (c *Column) At(i int) int64 {
	return c.base + int64(binary.LittleEndian.Uint64(c.bytes[i*c.width:])&c.mask)
}

// AppendInt32 appends the integers from one number to another, without the last, all of
// which must fit.
func (c *Column) AppendInt32(list []int32, from, to int) []int32 {
	if c.width == 2 { // as most durations
		b := c.bytes[2*from : 2*to]
		for ; len(b) >= 2; b = b[2:] {
			list = append(list, int32(c.base)+int32(binary.LittleEndian.Uint16(b)))
		}
		return list
	}
	for ; from < to; from++ {
		list = append(list, int32(c.At(from)))
	}
	return list
}

// Below reports whether the first n integers are in [0, limit).
func (c *Column) Below(n, limit int) bool {
	if c.width == 1 { // as in most columns of small integers, and three times as fast
		most := byte(0)
		for _, b := range c.bytes[:n] {
			most = max(most, b)
		}
		return n == 0 || c.base >= 0 && c.base < int64(limit) && c.base+int64(most) < int64(limit)
	}
	for i := range n {
		if uint64(c.At(i)) >= uint64(limit) {
			return false
		}
	}
	return true
}

func AppendColumn(b []byte, n int, at func(int) int64) []byte {
	var least, most int64
	for i := range n {
		v := at(i)
		if i == 0 || v < least {
			least = v
		}
		if i == 0 || v > most {
			most = v
		}
	}
	width := max(1, (bits.Len64(uint64(most)-uint64(least))+7)/8)
	b = AppendUint(AppendInt(b, least), uint64(width))
	for i := range n {
		v := uint64(at(i)) - uint64(least)
		for range width {
			b = append(b, byte(v))
			v >>= 8
		}
	}
	return b
}

// AppendColumnEnd appends what must follow the last column.
func AppendColumnEnd(b []byte) []byte { return append(b, make([]byte, columnEnd)...) }

// Column reads a column of n integers.
func (d *Decoder) Column(n int) Column {
	c := Column{base: d.Int(), width: d.Count()}
	if c.width < 1 || c.width > 8 || d.Left() < columnEnd || n > (d.Left()-columnEnd)/c.width {
		d.Fail()
		return Column{}
	}
	c.mask = 1<<(8*c.width) - 1 // all ones for 8
	bytes := d.s[d.pos : d.pos+n*c.width+columnEnd]
	c.bytes = unsafe.Slice(unsafe.StringData(bytes), len(bytes)) // only read
	d.pos += n * c.width
	return c
}

// ColumnEnd reads what follows the last column.
func (d *Decoder) ColumnEnd() {
	if d.Left() < columnEnd {
		d.Fail()
		return
	}
	d.pos += columnEnd
}
