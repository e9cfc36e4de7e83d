package adapter

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"pigrep/internal/jsonl"
)

// reasonNotObject is the reason of a problem with JSON that is not an object.
const reasonNotObject = "not an object"

// Objects passes each JSON object of a line to object, as Parser.Parse does for formats that
// write nothing else, and returns the problems.
func Objects(json *jsonl.Scanner, line Line, object func(jsonl.Value)) []ParseError {
	json.Reset(line.Data)
	start := 0
	if line.Offset == 0 && bytes.HasPrefix(line.Data, jsonl.ByteOrderMark) {
		start = len(jsonl.ByteOrderMark)
	}
	problem := func(i int, reason string, torn bool) ParseError {
		return ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: reason, Torn: torn}
	}
	if !line.Ended {
		for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
			v, err := json.Check(i)
			if err != nil || line.Data[i] != '{' {
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
		isObject := line.Data[i] == '{'
		switch {
		case isObject:
			object(v)
		case wasObject: // several others in a row are one problem
			problems = append(problems, problem(i, reasonNotObject, false))
		}
		wasObject = isObject
		i = v.End
	}
	return problems
}

// OffsetID is the id of an entry without one.
func OffsetID(offset int64) string {
	return string(strconv.AppendInt(append(make([]byte, 0, 12), '@'), offset, 10))
}

// A Packer writes the values of a Memo.
type Packer []byte

// Number writes a number.
func (p *Packer) Number(n int64) { *p = binary.AppendVarint(*p, n) }

// Hash writes a number of which all bits are used.
func (p *Packer) Hash(h uint64) { *p = binary.LittleEndian.AppendUint64(*p, h) }

// Text writes a string.
func (p *Packer) Text(s string) {
	p.Number(int64(len(s)))
	*p = append(*p, s...)
}

// An Unpacker reads the values of a Memo. After the end, or where it is damaged, they are
// zero.
type Unpacker []byte

// Number reads a number.
func (u *Unpacker) Number() int64 {
	n, size := binary.Varint(*u)
	if size <= 0 {
		*u = nil
		return 0
	}
	*u = (*u)[size:]
	return n
}

// Hash reads a number of which all bits are used.
func (u *Unpacker) Hash() uint64 {
	if len(*u) < 8 {
		*u = nil
		return 0
	}
	h := binary.LittleEndian.Uint64(*u)
	*u = (*u)[8:]
	return h
}

// Text reads a string.
func (u *Unpacker) Text() string {
	n := min(max(u.Number(), 0), int64(len(*u)))
	s := string((*u)[:n])
	*u = (*u)[n:]
	return s
}

// List reads the length of a list, and calls item for each of its items.
func (u *Unpacker) List(item func()) {
	for n := u.Number(); n > 0 && len(*u) > 0; n-- {
		item()
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
