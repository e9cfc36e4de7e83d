package format

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Records, facts and tables are sequences of values without padding:
//
//	uint     unsigned varint (LEB128)
//	int      zigzag varint
//	string   uint length, bytes
//	strings  uint number of strings, that many strings
//	fixed    8 bytes, little endian
//	time     uint 0 for the zero time, else uint 1+nanoseconds and fixed seconds since 1970
//
// and end with the xxhash of everything before as a fixed. A decoder checks every
// length against the bytes that are left before it allocates anything, so damaged
// bytes cost neither memory nor a panic.

const checksumLen = 8

// A Decoder reads values from a string; decoded strings are slices of it. After a
// value that cannot be read the decoder has failed: every further value is zero.
type Decoder struct {
	s   string
	pos int
	bad bool
}

// NewDecoder returns a decoder of s. Decoders are not for use by several goroutines.
func NewDecoder(s string) Decoder { return Decoder{s: s} }

// Fail makes the decoder fail, for a value that makes no sense.
func (d *Decoder) Fail() { d.bad, d.pos = true, len(d.s) }

// Failed reports whether a value could not be read.
func (d *Decoder) Failed() bool { return d.bad }

// Done reports whether all bytes were read without a failure.
func (d *Decoder) Done() bool { return !d.bad && d.pos == len(d.s) }

// Offset returns how many bytes were read.
func (d *Decoder) Offset() int { return d.pos }

// Left returns how many bytes are left.
func (d *Decoder) Left() int { return len(d.s) - d.pos }

// Bytes reads n bytes; n must not exceed Left.
func (d *Decoder) Bytes(n int) string {
	s := d.s[d.pos : d.pos+n]
	d.pos += n
	return s
}

// Uint reads a uint.
func (d *Decoder) Uint() uint64 {
	if d.pos < len(d.s) && d.s[d.pos] < 0x80 {
		d.pos++
		return uint64(d.s[d.pos-1])
	}
	v, n := binary.Uvarint([]byte(d.s[d.pos:])) // which copies nothing
	if n <= 0 {
		d.Fail()
		return 0
	}
	d.pos += n
	return v
}

// Int reads an int.
func (d *Decoder) Int() int64 {
	u := d.Uint()
	return int64(u>>1) ^ -int64(u&1)
}

// Count reads a uint that fits into 31 bits.
func (d *Decoder) Count() int {
	v := d.Uint()
	if v > math.MaxInt32 {
		d.Fail()
		return 0
	}
	return int(v)
}

// Items reads the number of items that follow. Each takes at least size bytes.
func (d *Decoder) Items(size int) int {
	v := d.Uint()
	if v > uint64(len(d.s)-d.pos)/uint64(size) {
		d.Fail()
		return 0
	}
	return int(v)
}

func (d *Decoder) String() string { return d.Bytes(d.Items(1)) }

// Strings reads strings, nil for none.
func (d *Decoder) Strings() []string { return d.AppendStrings(nil) }

func (d *Decoder) AppendStrings(list []string) []string {
	n := d.Items(1)
	list = slices.Grow(list, n)
	for range n {
		list = append(list, d.String())
	}
	return list
}

// Fixed reads a fixed.
func (d *Decoder) Fixed() uint64 {
	if len(d.s)-d.pos < 8 {
		d.Fail()
		return 0
	}
	return binary.LittleEndian.Uint64([]byte(d.Bytes(8)))
}

// Time reads a time, in UTC.
func (d *Decoder) Time() time.Time {
	nano := d.Uint()
	if nano == 0 {
		return time.Time{}
	}
	sec := int64(d.Fixed())
	if nano > 1e9 || d.bad {
		d.Fail()
		return time.Time{}
	}
	return time.Unix(sec, int64(nano-1)).UTC()
}

func AppendInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func AppendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func AppendStrings(b []byte, list []string) []byte {
	b = AppendUint(b, uint64(len(list)))
	for _, s := range list {
		b = AppendString(b, s)
	}
	return b
}

func AppendFixed(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// AppendTime appends a time, without its location.
func AppendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(t.Nanosecond())+1)
	return AppendFixed(b, uint64(t.Unix()))
}

func Seal(b []byte) []byte { return AppendFixed(b, xxhash.Sum64(b)) }

// Unseal checks and removes the checksum; false when it is wrong. The string
// shares the memory of b, which must not change any more.
func Unseal(b []byte) (string, bool) {
	if len(b) < checksumLen {
		return "", false
	}
	body := b[:len(b)-checksumLen]
	if xxhash.Sum64(body) != binary.LittleEndian.Uint64(b[len(body):]) {
		return "", false
	}
	return unsafe.String(unsafe.SliceData(body), len(body)), true
}

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
