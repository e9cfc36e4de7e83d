package format

import (
	"encoding/binary"
	"math"
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

// Skip moves to the end without reading.
func (d *Decoder) Skip() { d.pos = len(d.s) }

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
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if d.pos >= len(d.s) {
			break
		}
		b := d.s[d.pos]
		d.pos++
		if b < 0x80 {
			if shift == 63 && b > 1 {
				break
			}
			return v | uint64(b)<<shift
		}
		v |= uint64(b&0x7f) << shift
	}
	d.Fail()
	return 0
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
	s := d.s[d.pos : d.pos+8]
	d.pos += 8
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
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
