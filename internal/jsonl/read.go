package jsonl

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind returns the first byte of the value, which determines its type: one of
// { [ " t f n - 0…9. It is 0 when there is no value.
func (s *Scanner) Kind(v Value) byte {
	if v.Empty() {
		return 0
	}
	return s.data[v.Start]
}

// Raw returns the bytes of a value in the line.
func (s *Scanner) Raw(v Value) []byte { return s.data[v.Start:v.End] }

// Members visits v's members. If v is not an object, it has none. A key is valid until the next
// one.
func (s *Scanner) Members(v Value) iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if s.Kind(v) != '{' {
			return
		}
		for i, more := nextItem(s.data, v.Start+1); more; i, more = nextItem(s.data, i) {
			key, at := keyAt(s.data, i)
			member := s.valueAt(at)
			if i = member.End; !yield(key, member) {
				return
			}
		}
	}
}

// Elements visits v's elements. An object or a string counts as a list of one, so a content may
// be a single block. Other values have no elements.
func (s *Scanner) Elements(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		switch s.Kind(v) {
		case '{', '"':
			yield(v)
		case '[':
			for i, more := nextItem(s.data, v.Start+1); more; i, more = nextItem(s.data, i) {
				element := s.valueAt(i)
				if i = element.End; !yield(element) {
					return
				}
			}
		}
	}
}

// nextItem returns where the next member or element starts, given the index after the
// bracket or the item before it. If there is none, it returns the index after the
// closing bracket, and false.
func nextItem(data []byte, i int) (int, bool) {
	i = space(data, i)
	switch data[i] {
	case ',':
		return space(data, i+1), true
	case '}', ']':
		return i + 1, false
	}
	return i, true
}

// keyAt returns the key of the member at i, and where its value starts.
func keyAt(data []byte, i int) (key []byte, value int) {
	end := i + 1 // of the key: most are too short for endOfString to be faster
	for data[end] != '"' && data[end] != '\\' {
		end++
	}
	key = data[i+1 : end]
	if data[end] == '\\' {
		end = endOfString(data, i) - 1
		key = AppendText(nil, data[i+1:end])
	}
	return key, space(data, space(data, end+1)+1)
}

func (s *Scanner) valueAt(i int) Value {
	data := s.data
	switch data[i] {
	case '"':
		near := data[:min(len(data), i+longValue)]
		if end := endOfString(near, i); end <= len(near) {
			return at(i, end)
		}
		if n := s.noted(i); n != nil {
			return n.Value
		}
		return at(i, endOfString(data, i))
	case '{', '[':
		if n := s.noted(i); n != nil {
			return n.Value
		}
		return at(i, skipContainer(data, i))
	}
	return at(i, skipScalar(data, i))
}

// noted returns the note of the value at i, nil when there is none.
func (s *Scanner) noted(i int) *note {
	lo, hi := 0, len(s.long)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.long[mid].Start < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(s.long) && s.long[lo].Start == i {
		return &s.long[lo]
	}
	return nil
}

// SkipPadding skips white space and zero bytes, which a crash can leave between the
// objects of a line.
func SkipPadding(data []byte, i int) int {
	for i < len(data) && (isSpace(data[i]) || data[i] == 0) {
		i++
	}
	return i
}

// skipContainer returns the index after the array or object at i.
func skipContainer(data []byte, i int) int {
	depth := 0
	for {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// skipScalar returns the index after the number, true, false or null at i.
func skipScalar(data []byte, i int) int {
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// Text decodes a string value. The result is nil if v is not a string.
func (s *Scanner) Text(v Value) []byte {
	if s.Kind(v) != '"' {
		return nil
	}
	text, ok := s.known(v)
	if !ok {
		text = s.Keep(AppendText(s.Room(len(text)), text))
	}
	return text
}

// known returns the text of a string if the line has it, or the check has decoded it; else its
// JSON.
func (s *Scanner) known(v Value) (text []byte, ok bool) {
	if v.form&decoded != 0 {
		at := s.noted(v.Start).text
		return s.texts[at.Start:at.End:at.End], true
	}
	json := s.JSON(v)
	isPlain := v.form&formKnown != 0 && v.form&(escaped|notASCII) == 0 || bytes.IndexByte(json, '\\') < 0 && utf8.Valid(json)
	return json[:len(json):len(json)], isPlain
}

// JSON returns a string value as it is in the line, without its quotes, or nil if v is
// not a string.
func (s *Scanner) JSON(v Value) []byte {
	if s.Kind(v) != '"' {
		return nil
	}
	return s.data[v.Start+1 : v.End-1]
}

// decodeSlack is extra room that makes decoding fast.
const decodeSlack = 8

// LineAround returns the line of a text that has the byte at pos, or the line after if
// that byte is of a newline, and where the next line begins. The text is a JSON string
// without its quotes, and from is the start of a line at or before pos.
func LineAround(json []byte, from, pos int) (start, end, next int) {
	start = from
	for i := pos; i > from; {
		if i = from + bytes.LastIndexByte(json[from:i], '\\'); i >= from {
			if n := newlineAt(json, i); n > 0 {
				start = i + n
				break
			}
		}
	}
	end, next = LineEnd(json, max(pos, start))
	return start, end, next
}

// LineEnd returns where the line with the byte at pos ends, and where the next one begins. The
// text is a JSON string without its quotes.
func LineEnd(json []byte, pos int) (end, next int) {
	for end = pos; end < len(json); end++ {
		i := bytes.IndexByte(json[end:], '\\')
		if i < 0 {
			break
		}
		end += i
		if n := newlineAt(json, end); n > 0 {
			return end, end + n
		}
	}
	return len(json), len(json)
}

// newlineAt returns the length of the newline whose escape begins with the backslash at
// i, or 0 if that is another escape or the second half of one.
func newlineAt(json []byte, i int) (n int) {
	switch rest := json[i+1:]; {
	case len(rest) > 0 && rest[0] == 'n':
		n = len(`\n`)
	case len(rest) >= 5 && (string(rest[:5]) == "u000a" || string(rest[:5]) == "u000A"):
		n = len(`\u000a`)
	}
	if n > 0 && isEscaped(json, i) {
		return 0
	}
	return n
}

// InEscape reports whether the byte at i of a JSON string is of an escape.
func InEscape(json []byte, i int) bool {
	if json[i] == '\\' || isEscaped(json, i) {
		return true
	}
	for n := 2; n < len(`\u0000`) && n <= i; n++ {
		if json[i-n] == '\\' {
			return json[i-n+1] == 'u' && !isEscaped(json, i-n)
		}
	}
	return false
}

// AppendText appends the text of a JSON string, given without its quotes. Bytes that
// are not UTF-8, lone surrogates, and bad escapes of an unchecked line become U+FFFD.
func AppendText(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		// Plain ASCII is copied eight bytes at a time. That may copy too much, which
		// is then overwritten.
		n, room := len(dst), dst[:cap(dst)]
		for i+8 <= len(raw) && n+8 <= len(room) {
			w := binary.LittleEndian.Uint64(raw[i:])
			binary.LittleEndian.PutUint64(room[n:], w)
			slash := w ^ ones*'\\'
			m := ((slash-ones)&^slash | w) & highs
			if m == 0 {
				i, n = i+8, n+8
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			i, n = i+k, n+k
			if raw[i] != '\\' {
				break
			}
			c := unescaped[raw[i+1]]
			if c == 0 {
				break
			}
			room[n] = c
			i, n = unescapeRun(room, n+1, raw, i+2)
		}
		dst = room[:n]
		if i == len(raw) {
			break
		}
		switch c := raw[i]; {
		case c == '\\' && raw[i+1] != 'u':
			dst = append(dst, unescaped[raw[i+1]])
			i += 2
		case c == '\\' && checkHex(raw, i) != nil:
			dst = utf8.AppendRune(dst, utf8.RuneError)
			i += 2
		case c == '\\':
			var r rune
			r, i = unescape(raw, i)
			dst = utf8.AppendRune(dst, r)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return dst
}

// unescapeRun decodes the two-character escapes at i of raw to n of out. They often follow
// one another, as in the indentation of code. It returns the positions after both.
func unescapeRun(out []byte, n int, raw []byte, i int) (int, int) {
	for i+1 < len(raw) && n < len(out) && raw[i] == '\\' && unescaped[raw[i+1]] != 0 {
		out[n] = unescaped[raw[i+1]]
		i, n = i+2, n+1
	}
	return i, n
}

// unescape reads the character that starts with \u at i, and returns the index after
// it. The escape is known to be valid; one that follows need not be.
func unescape(raw []byte, i int) (rune, int) {
	r := hex4(raw[i+2:])
	i += 6
	if !utf16.IsSurrogate(r) {
		return r, i
	}
	if i+6 <= len(raw) && raw[i] == '\\' && checkHex(raw, i) == nil {
		if pair := utf16.DecodeRune(r, hex4(raw[i+2:])); pair != utf8.RuneError {
			return pair, i + 6
		}
	}
	return utf8.RuneError, i
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for _, r := range string(b) {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// Field is a member of an object.
type Field struct {
	Key []byte
	Val Value
}

// Fields are the members of an object. If a key occurs several times, the last value
// counts, at the position of the first.
type Fields []Field

// Find returns the value of the member with this key.
func (f Fields) Find(key string) Value {
	for k := range f {
		if string(f[k].Key) == key {
			return f[k].Val
		}
	}
	return Value{}
}

// Fields returns the members of an object, or none if v is not an object. They are
// valid until the next Check.
func (s *Scanner) Fields(v Value) Fields {
	if s.Kind(v) != '{' {
		return nil
	}
	fields, _ := s.fieldsAt(v.Start)
	return fields
}

// fieldsAt returns the members of the object at i, and where it ends.
func (s *Scanner) fieldsAt(i int) (fields Fields, end int) {
	base := len(s.fields)
	var places map[string]int
	end, more := nextItem(s.data, i+1)
	for ; more; end, more = nextItem(s.data, end) {
		key, at := keyAt(s.data, end)
		val := s.valueAt(at)
		end = val.End
		if k := place(s.fields[base:], key, &places); k >= 0 {
			s.fields[base+k].Val = val
			continue
		}
		s.fields = append(s.fields, Field{key, val})
	}
	return Fields(s.fields[base:len(s.fields):len(s.fields)]), end
}

const manyKeys = 32 // more keys than this are looked up in a map

// place returns the index of the field with this key, or -1. It fills the map
// once there are many.
func place(all []Field, key []byte, places *map[string]int) int {
	if len(all) < manyKeys {
		for k := range all {
			if bytes.Equal(all[k].Key, key) {
				return k
			}
		}
		return -1
	}
	if *places == nil {
		*places = make(map[string]int, 2*manyKeys)
		for k := range all {
			(*places)[string(all[k].Key)] = k
		}
	}
	if k, ok := (*places)[string(key)]; ok {
		return k
	}
	(*places)[string(key)] = len(all)
	return -1
}

// String returns the text of a string value as a copy.
func (s *Scanner) String(v Value) string { return string(s.Text(v)) }

// Limits of the strings that Name keeps.
const (
	longestName = 64
	mostNames   = 1000
)

// Name is String for texts that repeat, such as types and roles. It allocates each text
// once.
func (s *Scanner) Name(v Value) string {
	text := s.Text(v)
	if len(text) == 0 {
		return ""
	}
	if name, ok := s.names[string(text)]; ok {
		return name
	}
	name := string(text)
	if len(name) > longestName {
		return name
	}
	if s.names == nil || len(s.names) >= mostNames {
		s.names = make(map[string]string)
	}
	s.names[name] = name
	return name
}

// IsTrue reports whether the value is true.
func (s *Scanner) IsTrue(v Value) bool { return s.Kind(v) == 't' }

// Int returns a number, without its fraction.
func (s *Scanner) Int(v Value) (int64, bool) {
	switch s.Kind(v) {
	case 0, 't', 'f', 'n', '{', '[', '"':
		return 0, false
	}
	raw := string(s.Raw(v))
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f > 1<<62 || f < -1<<62 {
		return 0, false
	}
	return int64(f), true
}

// The last instant of a JavaScript Date.
const maxTime = 8_640_000_000_000_000

// Programs in Go write their zero time, the beginning of the year 1, where they have none.
var noTime = time.Time{}.UnixMilli()

// Time reads a timestamp, ISO 8601 text or a number of milliseconds since 1970,
// and returns those milliseconds; 0 when it is absent, unreadable or Go's zero time.
func (s *Scanner) Time(v Value) int64 {
	ms, _ := s.Int(v)
	if s.Kind(v) == '"' {
		t, err := time.Parse(time.RFC3339Nano, string(s.Text(v)))
		if err != nil {
			return 0
		}
		ms = t.UnixMilli()
	}
	if ms > maxTime || ms < -maxTime || ms == noTime {
		return 0
	}
	return ms
}
