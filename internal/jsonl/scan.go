package jsonl

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf8"

	"pigrep/internal/bytescan"
)

// The scanner checks a JSON value in one pass over its bytes, as strictly as
// JSON.parse does, and finds its end. It builds no tree. It only notes where long
// values near the top end, so that later reads can skip them. Depth costs one bit per
// level.
//
// Most long strings are read later. The same pass decodes those with escapes.

const (
	longValue  = 128 // bytes; shorter values are cheap to skip
	notedDepth = 8   // deeper values are not noted

	// mostValues is how many values beside others a line may have. What is made of one takes memory,
	// however short it is. The longest lines of real sessions have a long text, not many values.
	mostValues = 500_000
)

// ErrSyntax means that the bytes are not JSON.
var ErrSyntax = errors.New("not JSON")

// Further errors of the scanner.
var (
	errTruncated = errors.New("JSON ends early")
	errControl   = errors.New("control character in a JSON string")
	errEscape    = errors.New("bad escape in a JSON string")
	errNumber    = errors.New("bad number")
	errMany      = errors.New("more JSON values than are read of a line")
)

// Extent is a range of bytes of the line.
type Extent struct{ Start, End int }

// Value is a JSON value in the bytes of a line that the scanner has checked.
// The zero value means there is none.
type Value struct {
	Extent
	form form
}

func at(start, end int) Value { return Value{Extent: Extent{start, end}} }

// Empty reports whether there is no value.
func (v Value) Empty() bool { return v.End == 0 }

// form describes a string as far as it is known.
type form uint8

const (
	formKnown form = 1 << iota // the other bits are right
	escaped                    // has a backslash
	notASCII                   // has a byte over 0x7f
	decoded                    // the scanner has its text
)

// note is a long value that the scanner passed.
type note struct {
	Value
	text Extent // in texts, of a decoded string
}

// Scanner checks the JSON values of a line, one after the other, and reads them
// in place. Except for strings, what it returns points into the line or into reused
// memory, and is valid until the next Check. The zero value is ready to use. It is
// not safe for concurrent use.
type Scanner struct {
	// Trusting makes Check assume that strings are valid, as they are if the line was
	// checked before. Check then only finds their ends, which is much faster, and decodes
	// none. The text of a string that is invalid after all is meaningless.
	Trusting bool

	Failed int // offset where the last failed check failed

	data   []byte // the line
	values int    // of it that were checked

	// Results of the last check.
	objects []uint64 // one bit per level: 1 is an object
	long    []note   // by start
	texts   []byte
	open    [notedDepth]int

	memory  []byte            // of decoded text; the next begins after its end
	fields  []Field           // of objects read so far
	names   map[string]string // short strings that repeat
	scratch []byte            // the text that is being hashed
}

// Reset makes the scanner read another line.
func (s *Scanner) Reset(line []byte) { s.data, s.values = line, 0 }

// Check checks the value that starts at i, after white space.
func (s *Scanner) Check(i int) (Value, error) {
	s.memory = s.memory[:0]
	if cap(s.fields) > keptFields {
		s.fields = nil
	}
	s.fields = s.fields[:0]
	end, err := s.check(s.data, i)
	if err == nil && s.isMany() {
		err = errMany
	}
	if s.Failed = end; err != nil {
		return Value{}, err
	}
	for isSpace(s.data[i]) {
		i++
	}
	return at(i, end), nil
}

// isMany counts a value beside others, and reports whether there are too many.
func (s *Scanner) isMany() bool {
	s.values++
	return s.values > mostValues
}

// keptFields is how many fields are kept for the next check.
const keptFields = 64 << 10

// Memory for texts.
const (
	firstTexts = 16 << 10
	keptTexts  = 4 << 20 // more is not kept for the next check
)

// check checks the value that starts at i and returns where it ends, or where the
// error is.
func (s *Scanner) check(data []byte, i int) (int, error) {
	s.long, s.texts = s.long[:0], s.texts[:0]
	if cap(s.texts) > keptTexts {
		s.texts = nil
	}
	depth, inObject := 0, false
	var err error
next:
	for { // A member or an element starts at i, or the value itself.
		if inObject {
			if i, err = s.key(data, i); err != nil {
				return i, err
			}
		}
		if i = space(data, i); i == len(data) {
			return i, errTruncated
		}
		switch c := data[i]; c {
		case '{', '[':
			inObject = c == '{'
			s.enter(depth, i, inObject)
			depth++
			if i = space(data, i+1); i == len(data) {
				return i, errTruncated
			}
			if data[i] != c+2 { // '}' is '{'+2, ']' is '['+2
				continue next
			}
		case '"':
			i, err = s.text(data, i, depth)
		default:
			i, err = checkScalar(data, i)
		}
		if err != nil {
			return i, err
		}
		for { // A value ends before i, or an empty array or object is to be closed.
			if depth == 0 {
				return i, nil
			}
			if i = space(data, i); i == len(data) {
				return i, errTruncated
			}
			switch c := data[i]; {
			case c == ',':
				if i++; s.isMany() {
					return i, errMany
				}
				continue next
			case c == '}' && inObject, c == ']' && !inObject:
				i++
				depth--
				inObject = s.leave(depth, i)
			default:
				return i, ErrSyntax
			}
		}
	}
}

// key checks the key of the member at i and returns where its value starts, or where
// the error is.
func (s *Scanner) key(data []byte, i int) (int, error) {
	if i = space(data, i); i == len(data) {
		return i, errTruncated
	}
	if data[i] != '"' {
		return i, ErrSyntax
	}
	before := len(s.texts)
	i, _, err := s.string(data, i+1)
	if err != nil {
		return i, err
	}
	s.texts = s.texts[:before]
	if i = space(data, i); i == len(data) {
		return i, errTruncated
	}
	if data[i] != ':' {
		return i, ErrSyntax
	}
	return i + 1, nil
}

// enter records the array or object that starts at i.
func (s *Scanner) enter(depth, i int, isObject bool) {
	if depth>>6 == len(s.objects) {
		s.objects = append(s.objects, 0)
	}
	if isObject {
		s.objects[depth>>6] |= 1 << (depth & 63)
	} else {
		s.objects[depth>>6] &^= 1 << (depth & 63)
	}
	if depth < notedDepth {
		s.open[depth] = len(s.long)
		s.long = append(s.long, note{Value: Value{Extent: Extent{Start: i}}})
	}
}

// leave records that the array or object at this depth ends at i. It reports whether
// an object is around it.
func (s *Scanner) leave(depth, i int) (inObject bool) {
	if depth < notedDepth {
		// A short value cannot contain a long one, so its note is the last.
		if at := s.open[depth]; i-s.long[at].Start < longValue {
			s.long = s.long[:at]
		} else {
			s.long[at].End = i
		}
	}
	if depth == 0 {
		return false
	}
	return s.objects[(depth-1)>>6]>>((depth-1)&63)&1 == 1
}

// text checks the string at i, records it if it is long, and returns where it ends.
func (s *Scanner) text(data []byte, i, depth int) (int, error) {
	before := len(s.texts)
	end, form, err := 0, form(0), error(nil)
	if s.Trusting {
		if end = endOfString(data, i); end > len(data) {
			end, err = len(data), errTruncated
		}
	} else {
		end, form, err = s.string(data, i+1)
	}
	if err != nil {
		return end, err
	}
	if end-i >= longValue && depth <= notedDepth {
		s.long = append(s.long, note{Value{Extent{i, end}, form}, Extent{before, len(s.texts)}})
	} else {
		s.texts = s.texts[:before]
	}
	return end, nil
}

func checkScalar(data []byte, i int) (int, error) {
	for _, word := range [...]string{"true", "false", "null"} {
		if data[i] == word[0] {
			return checkWord(data, i, word)
		}
	}
	return checkNumber(data, i)
}

// space returns the first index from i on that is not white space.
func space(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Constants for testing eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// string checks the string whose first byte after the quote is at i. It returns the
// index after the closing quote, and the form of the string. If it has escapes, its
// text is appended to texts; the form says so only if the text is UTF-8.
func (s *Scanner) string(data []byte, i int) (int, form, error) {
	start := i
	seen := uint64(0) // its high bits: there are bytes over 0x7f
	for {
		if i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			m := specials(w)
			if m == 0 {
				seen |= w
				i += 8
				continue
			}
			seen |= w & (m&-m - 1)
			i += bits.TrailingZeros64(m) >> 3
		} else {
			for i < len(data) && !special(data[i]) {
				seen |= uint64(data[i])
				i++
			}
			if i == len(data) {
				return i, 0, errTruncated
			}
		}
		switch data[i] {
		case '"':
			return i + 1, formOfSeen(seen), nil
		case '\\':
			return s.escapedString(data, start, i, seen)
		}
		return i, 0, errControl
	}
}

// endOfString returns the index after the string whose opening quote is at i, or one
// beyond the data if the string does not end there.
func endOfString(data []byte, i int) int {
	if i == 0 && len(data) > 1 && data[1] == '"' {
		return 2
	}
	for i = max(i+1, 2); i < len(data); i++ {
		i = bytescan.Quote(data, i)
		if i < len(data) && !isEscaped(data, i) {
			return i + 1
		}
	}
	return len(data) + 1
}

// isEscaped reports whether the byte at i of a string follows a backslash that is not
// itself escaped.
func isEscaped(data []byte, i int) bool {
	n := 0
	for n < i && data[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// escapedString continues string at the first backslash, which is at i.
func (s *Scanner) escapedString(data []byte, start, i int, seen uint64) (int, form, error) {
	from := len(s.texts)
	out := s.room(from+i-start+textSlack, len(data)-i)
	n := from + copy(out[from:], data[start:i])
	for {
		if n+textSlack > len(out) {
			s.texts = out[:n]
			out = s.room(n+textSlack, len(data)-i)
		}
		if i+8 <= len(data) {
			// This also writes what follows a special byte; it is overwritten.
			w := binary.LittleEndian.Uint64(data[i:])
			binary.LittleEndian.PutUint64(out[n:], w)
			m := specials(w)
			if m == 0 {
				seen |= w
				i, n = i+8, n+8
				continue
			}
			seen |= w & (m&-m - 1)
			k := bits.TrailingZeros64(m) >> 3
			i, n = i+k, n+k
		} else {
			for i < len(data) && !special(data[i]) {
				seen |= uint64(data[i])
				out[n] = data[i]
				i, n = i+1, n+1
			}
			if i == len(data) {
				return i, 0, errTruncated
			}
		}
		switch data[i] {
		case '\\':
			if i+1 == len(data) {
				return i, 0, errTruncated
			}
			c := unescaped[data[i+1]]
			if c == 0 {
				if err := checkHex(data, i); err != nil {
					return i, 0, err
				}
				var r rune
				r, i = unescape(data, i)
				n += utf8.EncodeRune(out[n:], r)
				continue
			}
			out[n] = c
			i, n = unescapeRun(out, n+1, data, i+2)
		case '"':
			f := formOfSeen(seen) | escaped
			if f&notASCII == 0 || utf8.Valid(out[from:n]) {
				s.texts = out[:n]
				f |= decoded
			}
			return i + 1, f, nil
		default:
			return i, 0, errControl
		}
	}
}

// textSlack is the room that one step of decoding may need.
const textSlack = 16

// room returns texts with room for n bytes. The rest of the line may need up to more
// bytes. Memory for long lines is allocated at once, which avoids copies; pages that
// are not needed are mostly never touched.
func (s *Scanner) room(n, more int) []byte {
	if n > cap(s.texts) {
		size := n + more + textSlack
		if n < firstTexts {
			size = min(size, firstTexts)
		}
		grown := make([]byte, size)
		copy(grown, s.texts)
		s.texts = grown[:len(s.texts)]
	}
	return s.texts[:cap(s.texts)]
}

// specials returns a word whose lowest set bit marks the first quote, backslash or
// control character of w. Borrows make the bits above it meaningless.
func specials(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
}

func special(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

func formOfSeen(seen uint64) form {
	if seen&highs != 0 {
		return formKnown | notASCII
	}
	return formKnown
}

// checkHex checks the escape at i, which is not a two-character escape.
func checkHex(data []byte, i int) error {
	if data[i+1] != 'u' {
		return errEscape
	}
	for k := i + 2; k < i+6; k++ {
		if k >= len(data) {
			return errTruncated
		}
		if c := data[k]; !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return errEscape
		}
	}
	return nil
}

func checkWord(data []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k == len(data) {
			return i, errTruncated
		}
		if data[i+k] != word[k] {
			return i, ErrSyntax
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
			return start, ErrSyntax
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

// Sizes of the memory for decoded text, all of which is freed by the next check.
const (
	firstMemory = 8 << 10 // many parsers read one entry
	keptMemory  = 4 << 20
)

// Room returns an empty slice with space for n bytes of text. Call Keep before anything
// else is read.
func (s *Scanner) Room(n int) []byte {
	n += decodeSlack
	switch free := cap(s.memory) - len(s.memory); {
	case n <= free:
	case n > keptMemory:
		return make([]byte, 0, n)
	default: // texts in the memory so far keep it
		s.memory = make([]byte, 0, max(n, firstMemory, min(2*cap(s.memory), keptMemory)))
	}
	return s.memory[len(s.memory):]
}

// Keep claims a text that was appended to the last result of Room. The text is valid
// until the next Check. One that outgrew its room is in other memory.
func (s *Scanner) Keep(text []byte) []byte {
	used := len(s.memory)
	if end := used + len(text); len(text) > 0 && end <= cap(s.memory) && &s.memory[:end][used] == &text[0] {
		s.memory = s.memory[:end]
	}
	return text[:len(text):len(text)]
}
