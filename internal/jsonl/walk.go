package jsonl

import "bytes"

// A Walk reads a value that was checked before, once, from its first byte to its last. It is for
// values of a known shape: whatever it cannot read makes it fail, and may be read by the Scanner.
type Walk struct {
	*Scanner
	At     int // where the next thing is
	Failed bool
}

// peek returns the next byte that is no space, 0 at the end.
func (w *Walk) peek() byte {
	if w.At = space(w.data, w.At); w.At < len(w.data) && !w.Failed {
		return w.data[w.At]
	}
	return 0
}

// Enter enters an object or an array, whose opening bracket is given. It reports whether there is one.
func (w *Walk) Enter(bracket byte) bool {
	is := w.peek() == bracket
	if is {
		w.At++
	}
	return is
}

// Next goes to the next member or element, or leaves the object or array if there is none.
func (w *Walk) Next() bool {
	switch w.peek() {
	case '}', ']':
		w.At++
		return false
	case ',':
		w.At++
		return w.peek() != 0
	case 0:
		w.Failed = true
		return false
	}
	return true
}

// Key returns the key of a member, and goes to its value. It fails at a key with escapes.
func (w *Walk) Key() []byte {
	key := w.String()
	if bytes.IndexByte(key, '\\') >= 0 || w.peek() != ':' {
		w.Failed = true
		return nil
	}
	w.At++
	return key
}

// String returns a string as it is in the JSON, without its quotes.
func (w *Walk) String() []byte {
	if w.peek() == '"' {
		if end, err := endOfString(w.data, w.At); err == nil {
			json := w.data[w.At+1 : end-1]
			w.At = end
			return json
		}
	}
	w.Failed = true
	return nil
}

// Value returns a value of any shape.
func (w *Walk) Value() Value {
	if w.peek() == 0 {
		w.Failed = true
		return Value{}
	}
	v, err := w.Check(w.At)
	w.At, w.Failed = v.End, w.Failed || err != nil
	return v
}
