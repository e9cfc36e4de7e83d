package adapter

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"pigrep/internal/jsonl"
)

// NotObject is the reason of a problem with JSON that is not an object.
const NotObject = "not an object"

// Objects passes each JSON object of a line to object, as Parser.Parse does for formats that
// write nothing else, and returns the problems. isToo reports whether another value counts as
// one; nil for none.
func Objects(json *jsonl.Scanner, line Line, isToo func(jsonl.Value) bool, object func(jsonl.Value)) []ParseError {
	json.Reset(line.Data)
	start := 0
	if line.Offset == 0 && bytes.HasPrefix(line.Data, jsonl.ByteOrderMark) {
		start = len(jsonl.ByteOrderMark)
	}
	problem := func(i int, reason string, torn bool) ParseError {
		return ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: reason, Torn: torn}
	}
	isObject := func(v jsonl.Value) bool { return line.Data[v.Start] == '{' || isToo != nil && isToo(v) }
	if !line.Ended {
		for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
			v, err := json.Check(i)
			if err != nil || !isObject(v) {
				return []ParseError{problem(i, "unfinished last line", true)}
			}
			i = v.End
		}
	}
	var problems []ParseError
	wasObject := true
	for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
		v, err := json.Check(i)
		if err != nil {
			return append(problems, problem(i, err.Error(), false))
		}
		is := isObject(v)
		switch {
		case is:
			object(v)
		case wasObject: // several others in a row are one problem
			problems = append(problems, problem(i, NotObject, false))
		}
		wasObject = is
		i = v.End
	}
	return problems
}

// IsObjectWith reports whether a text begins an object and has all these parts.
func IsObjectWith(text []byte, parts ...string) bool {
	return bytes.HasPrefix(text, []byte("{")) && !slices.ContainsFunc(parts, func(part string) bool { return !bytes.Contains(text, []byte(part)) })
}

// OffsetID is the id of an entry without one.
func OffsetID(offset int64) string {
	return string(strconv.AppendInt(append(make([]byte, 0, 12), '@'), offset, 10))
}

// A Coder writes the values of a Memo, or reads them if it has data, so that a memo says once
// what it has. After the end, or where the data is damaged, values are zero.
type Coder struct {
	Data    []byte
	reading bool
}

// NewDecoder returns a coder that reads a Memo.
func NewDecoder(memo []byte) *Coder { return &Coder{Data: memo, reading: true} }

// Hash codes a number of which all bits are used.
func (c *Coder) Hash(h *uint64) {
	switch {
	case !c.reading:
		c.Data = binary.LittleEndian.AppendUint64(c.Data, *h)
	case len(c.Data) < 8:
		*h, c.Data = 0, nil
	default:
		*h, c.Data = binary.LittleEndian.Uint64(c.Data), c.Data[8:]
	}
}

// Text codes a string.
func (c *Coder) Text(s *string) {
	n := int64(len(*s))
	Number(c, &n)
	if !c.reading {
		c.Data = append(c.Data, *s...)
		return
	}
	n = min(max(n, 0), int64(len(c.Data)))
	*s, c.Data = string(c.Data[:n]), c.Data[n:]
}

// Flag codes a bool.
func (c *Coder) Flag(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	Number(c, &n)
	*b = n == 1
}

// Number codes a number.
func Number[T ~int | ~int32 | ~int64 | ~uint8](c *Coder, n *T) {
	if !c.reading {
		c.Data = binary.AppendVarint(c.Data, int64(*n))
		return
	}
	v, size := binary.Varint(c.Data)
	if size <= 0 {
		v, size = 0, len(c.Data)
	}
	*n, c.Data = T(v), c.Data[size:]
}

// List codes a list, whose items item codes.
func List[T any](c *Coder, list *[]T, item func(*T)) {
	n := len(*list)
	Number(c, &n)
	if !c.reading {
		for i := range *list {
			item(&(*list)[i])
		}
		return
	}
	*list = (*list)[:0]
	for ; n > 0 && len(c.Data) > 0; n-- {
		var v T
		item(&v)
		*list = append(*list, v)
	}
}

// Remember appends a value to a list of a Memo that keeps the last n.
func Remember[T any](list []T, v T, n int) []T {
	if len(list) >= n {
		list = slices.Delete(list, 0, len(list)-n+1)
	}
	return append(list, v)
}

// Short returns a string if it is short enough for a Memo, else "".
func Short(s string, limit int) string {
	if len(s) > limit {
		return ""
	}
	return s
}
