package adapter

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The scanner checks one JSON value in one pass over its bytes, as strictly as
// JSON.parse does, and finds its end. It makes no tree: it only notes where the
// long values near the top end, so that the code which then looks for the wanted
// members can jump over the others. Depth costs one bit a level.

const (
	longValue  = 128 // bytes; a shorter one is cheap to cross again
	notedDepth = 8   // what lies deeper is not noted
)

// Errors of the scanner, reasons of a ParseError.
var (
	errTruncated = errors.New("JSON ends early")
	errSyntax    = errors.New("not JSON")
	errControl   = errors.New("control character in a JSON string")
	errEscape    = errors.New("bad escape in a JSON string")
	errNumber    = errors.New("bad number")
)

// extent is a range of bytes of the line.
type extent struct{ start, end int }

// value is a JSON value in the bytes of a line that the scanner has checked.
// The zero value means there is none.
type value struct {
	extent
	form form
}

func (v value) empty() bool { return v.end == 0 }

// form says what a string holds, where that is known.
type form uint8

const (
	formKnown form = 1 << iota // the other bits are right
	escaped                    // has a backslash
	notASCII                   // has a byte over 0x7f
)

// scanner holds what the last check noted. The zero value is ready.
type scanner struct {
	objects []uint64 // one bit a level: 1 is an object
	long    []value  // noted values, by start
	open    [notedDepth]int
	spaced  bool // white space stands outside strings
}

// check checks the value that starts at i and returns where it ends. On an
// error, it returns where that is.
func (s *scanner) check(data []byte, i int) (int, error) {
	s.long = s.long[:0]
	s.spaced = false
	depth := 0
	var inObject bool
	var err error

value:
	i = s.space(data, i)
	if i == len(data) {
		return i, errTruncated
	}
	switch c := data[i]; c {
	case '{', '[':
		inObject = c == '{'
		if depth>>6 == len(s.objects) {
			s.objects = append(s.objects, 0)
		}
		if inObject {
			s.objects[depth>>6] |= 1 << (depth & 63)
		} else {
			s.objects[depth>>6] &^= 1 << (depth & 63)
		}
		if depth < notedDepth {
			s.open[depth] = len(s.long)
			s.long = append(s.long, value{extent: extent{start: i}})
		}
		depth++
		i = s.space(data, i+1)
		if i == len(data) {
			return i, errTruncated
		}
		if data[i] == c+2 { // '}' is '{'+2, ']' is '['+2
			goto closed
		}
		if inObject {
			goto key
		}
		goto value
	case '"':
		end, form, err := checkString(data, i+1)
		if err != nil {
			return end, err
		}
		if end-i >= longValue && depth <= notedDepth {
			s.long = append(s.long, value{extent{i, end}, form})
		}
		i = end
	case 't':
		if i, err = checkWord(data, i, "true"); err != nil {
			return i, err
		}
	case 'f':
		if i, err = checkWord(data, i, "false"); err != nil {
			return i, err
		}
	case 'n':
		if i, err = checkWord(data, i, "null"); err != nil {
			return i, err
		}
	default:
		if i, err = checkNumber(data, i); err != nil {
			return i, err
		}
	}

after:
	if depth == 0 {
		return i, nil
	}
	i = s.space(data, i)
	if i == len(data) {
		return i, errTruncated
	}
	switch c := data[i]; {
	case c == ',':
		i++
		if inObject {
			goto key
		}
		goto value
	case c == '}' && inObject, c == ']' && !inObject:
		goto closed
	}
	return i, errSyntax

key:
	i = s.space(data, i)
	if i == len(data) {
		return i, errTruncated
	}
	if data[i] != '"' {
		return i, errSyntax
	}
	if i, _, err = checkString(data, i+1); err != nil {
		return i, err
	}
	i = s.space(data, i)
	if i == len(data) {
		return i, errTruncated
	}
	if data[i] != ':' {
		return i, errSyntax
	}
	i++
	goto value

closed:
	i++
	depth--
	if depth < notedDepth {
		// A short one cannot hold a long one, so it is the last that was noted.
		if at := s.open[depth]; i-s.long[at].start < longValue {
			s.long = s.long[:at]
		} else {
			s.long[at].end = i
		}
	}
	if depth > 0 {
		d := depth - 1
		inObject = s.objects[d>>6]>>(d&63)&1 == 1
	}
	goto after
}

// space returns the first place from i on that is no white space.
func (s *scanner) space(data []byte, i int) int {
	if i < len(data) && data[i] > ' ' {
		return i
	}
	for i < len(data) && isSpace(data[i]) {
		s.spaced = true
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Constants for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// checkString checks the string whose first byte after the quote is at i and
// returns the place after its closing quote, and what the string holds.
func checkString(data []byte, i int) (int, form, error) {
	seen := uint64(0) // its high bits tell of bytes over 0x7f
	form := formKnown
	for {
		if i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			quote := w ^ ones*'"'
			slash := w ^ ones*'\\'
			// The lowest bit set belongs to the first quote, backslash or
			// control character; borrows only disturb what is above it.
			m := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
			if m == 0 {
				seen |= w
				i += 8
				continue
			}
			seen |= w & (m&-m - 1)
			i += bits.TrailingZeros64(m) >> 3
		} else {
			for i < len(data) && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' {
				seen |= uint64(data[i])
				i++
			}
			if i == len(data) {
				return i, form, errTruncated
			}
		}
		switch c := data[i]; {
		case c == '\\':
			form |= escaped
			if i+1 == len(data) {
				return i, form, errTruncated
			}
			if unescaped[data[i+1]] != 0 {
				i += 2
				continue
			}
			if data[i+1] != 'u' {
				return i, form, errEscape
			}
			for k := i + 2; k < i+6; k++ {
				if k >= len(data) {
					return i, form, errTruncated
				}
				if !isHex(data[k]) {
					return i, form, errEscape
				}
			}
			i += 6
		case c == '"':
			if seen&highs != 0 {
				form |= notASCII
			}
			return i + 1, form, nil
		default:
			return i, form, errControl
		}
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func checkWord(data []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k == len(data) {
			return i, errTruncated
		}
		if data[i+k] != word[k] {
			return i, errSyntax
		}
	}
	return i + len(word), nil
}

func checkNumber(data []byte, i int) (int, error) {
	start := i
	if data[i] == '-' {
		i++
	}
	first := i
	if i = digits(data, i); i == first {
		switch {
		case i == len(data):
			return start, errTruncated
		case first == start:
			return start, errSyntax
		}
		return start, errNumber
	}
	if data[first] == '0' && i > first+1 {
		return start, errNumber
	}
	if i < len(data) && data[i] == '.' {
		point := i + 1
		if i = digits(data, point); i == point {
			return start, numberError(data, i)
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(data, exponent); i == exponent {
			return start, numberError(data, i)
		}
	}
	return i, nil
}

func numberError(data []byte, i int) error {
	if i == len(data) {
		return errTruncated
	}
	return errNumber
}

func digits(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}
