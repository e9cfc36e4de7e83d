package jsonl

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Arrays and objects nested deeper than this are hashed as they are written.
const hashedDepth = 32

// Values of different types start from different numbers.
const (
	hashOfText   = 0x9e3779b97f4a7c15
	hashOfArray  = 0x165667b19e3779f9
	hashOfObject = 0x27d4eb2f165667c5
)

// Hash returns a hash of what a value says. White space, escapes, the order of members
// and the notation of numbers do not change it.
func (s *Scanner) Hash(v Value) uint64 {
	h, _ := s.hash(v.Start, 0)
	return h
}

// HashMember returns a hash of a member of an object. The sum of such hashes does not
// depend on the order of the members.
func (s *Scanner) HashMember(f Field) uint64 { return hashMember(f.Key, s.Hash(f.Val)) }

func hashMember(key []byte, value uint64) uint64 {
	return scramble(xxhash.Sum64(key) + bits.RotateLeft64(value, 32))
}

// hash returns the hash of the value at i, and where the value ends.
func (s *Scanner) hash(i, depth int) (h uint64, end int) {
	data := s.data
	switch c := data[i]; {
	case c == '"':
		if end = endOfPlain(data, i); end > 0 {
			return hashText(data[i+1 : end-1]), end
		}
		v := s.valueAt(i)
		return hashText(s.utf8Text(v)), v.End
	case (c == '{' || c == '[') && depth < hashedDepth:
		return s.hashItems(i+1, depth+1, c == '{')
	case c == '{' || c == '[':
		end = s.valueAt(i).End
		return xxhash.Sum64(data[i:end]), end
	}
	end = skipScalar(data, i)
	return hashScalar(data[i:end]), end
}

// hashItems returns the hash of the object or array whose items are at i and nested this deep.
func (s *Scanner) hashItems(i, depth int, object bool) (h uint64, end int) {
	h = hashOfArray
	if object {
		h = hashOfObject
	}
	var more bool
	for i, more = nextItem(s.data, i); more; i, more = nextItem(s.data, i) {
		var item uint64
		if object {
			key, value := keyAt(s.data, i)
			item, i = s.hash(value, depth)
			h += hashMember(key, item)
			continue
		}
		item, i = s.hash(i, depth)
		h = scramble(bits.RotateLeft64(h, 32) + item) // not the sum: [1,[]] is not [[1]]
	}
	if object {
		h = scramble(h)
	}
	return h, i
}

func hashText(text []byte) uint64 { return scramble(hashOfText + xxhash.Sum64(text)) }

// endOfPlain returns the index after the string at i if it is short, ASCII and without
// escapes, as most are; otherwise 0.
func endOfPlain(data []byte, i int) int {
	end := min(len(data), i+longValue)
	for i++; i+8 <= end; i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if m := specials(w) | w&highs; m != 0 {
			if i += bits.TrailingZeros64(m) >> 3; data[i] == '"' {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// utf8Text is Text in memory that is reused by the next call.
func (s *Scanner) utf8Text(v Value) []byte {
	text, ok := s.known(v)
	if !ok {
		s.scratch = AppendText(s.scratch[:0], text)
		text = s.scratch
	}
	return text
}

// hashScalar returns the hash of a number, true, false or null. Programs write the
// shortest digits that say a number, but some write 1.0 for 1, or 1e-05 for 0.00001.
func hashScalar(raw []byte) uint64 {
	if !isShortest(raw) {
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
			raw = strconv.AppendFloat(nil, f+0, 'f', -1, 64) // JavaScript writes -0 as 0
		}
	}
	return xxhash.Sum64(raw)
}

func isShortest(number []byte) bool {
	point := false
	for _, c := range number {
		switch c {
		case '-', 'e', 'E':
			return false
		case '.':
			point = true
		}
	}
	return !point || number[len(number)-1] != '0'
}

// scramble makes each bit of the result depend on each bit of h.
func scramble(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
