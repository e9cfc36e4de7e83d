package jsonl

import (
	"bytes"
	"strconv"
	"time"
)

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
	base := len(s.fields)
	var places map[string]int
	for m := s.Members(v); m.Next(); {
		if k := place(s.fields[base:], m.Key, &places); k >= 0 {
			s.fields[base+k].Val = m.Val
			continue
		}
		s.fields = append(s.fields, Field{m.Key, m.Val})
	}
	return Fields(s.fields[base:len(s.fields):len(s.fields)])
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
