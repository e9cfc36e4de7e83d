package adapter

import (
	"bytes"
	"slices"
	"strconv"

	"pigrep/internal/jsonl"
)

// NotObject is the reason of a problem with JSON that is not an object.
const NotObject = "not an object"

// Objects passes each JSON object of a line to object, as Parser.Parse does for formats that
// write nothing else, and returns the problems. isToo reports whether another value counts as
// one; nil for none. With nil, a record behind a torn one counts too: other agents do not read it themselves.
func Objects(json *jsonl.Scanner, line Line, isToo func(jsonl.Value) bool, object func(jsonl.Value)) []ParseError {
	start := 0
	if line.Offset == 0 && bytes.HasPrefix(line.Data, jsonl.ByteOrderMark) {
		start = len(jsonl.ByteOrderMark)
	}
	problem := func(i int, reason string, torn bool) ParseError {
		return ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: reason, Torn: torn}
	}
	isObject := func(v jsonl.Value) bool { return line.Data[v.Start] == '{' || isToo != nil && isToo(v) }
	if !line.Ended {
		json.Reset(line.Data)
		for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
			v, err := json.Check(i)
			if err != nil && isToo == nil {
				if v, err = behindTorn(json, line.Data, i); err == nil {
					break
				}
			}
			if err != nil || !isObject(v) {
				return []ParseError{problem(i, "unfinished last line", true)}
			}
			i = v.End
		}
	}
	json.Reset(line.Data)
	var problems []ParseError
	wasObject := true
	for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
		v, err := json.Check(i)
		if err != nil {
			problems = append(problems, problem(i, err.Error(), false))
			if isToo != nil {
				return problems
			}
			if v, err = behindTorn(json, line.Data, i); err != nil {
				return problems
			}
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

// behindTorn returns the object that ends a line behind a torn one, which begins at an offset: a process that
// was killed leaves a record without its end, and the next one writes on. Only what looks like a record counts,
// as a torn one may end with an object within it.
func behindTorn(json *jsonl.Scanner, data []byte, i int) (jsonl.Value, error) {
	const begin = `{"`
	at := max(i+1, bytes.LastIndex(data[:min(json.Failed+len(begin), len(data))], []byte(begin)))
	if json.Failed >= len(data) {
		at = i + 1
	}
	for left := 8*len(data) + 1<<20; left > 0; {
		n := bytes.Index(data[min(at, len(data)):], []byte(begin))
		if n < 0 {
			break
		}
		at += n
		v, err := json.Check(at)
		if err != nil {
			left -= json.Failed - at + n
			at++
			continue
		}
		if jsonl.SkipPadding(data, v.End) >= len(data) && isRecord(json, v) {
			return v, nil
		}
		left -= v.End - at + n
		at = v.End // what is in it does not end the line either
	}
	return jsonl.Value{}, jsonl.ErrSyntax
}

// isRecord reports whether an object is one that an agent writes as a line.
func isRecord(json *jsonl.Scanner, v jsonl.Value) bool {
	all := json.Fields(v)
	return json.Kind(all.Find("type")) == '"' && !(all.Find("timestamp").Empty() && all.Find("sessionId").Empty())
}

// IsBehindTorn reports whether the object of a line at an offset stands behind a torn one.
func IsBehindTorn(line []byte, at int) bool {
	before := bytes.TrimRight(line[:at], " \t\r\x00")
	return len(before) > 0 && bytes.IndexByte([]byte("},["), before[len(before)-1]) < 0 && !bytes.Equal(before, jsonl.ByteOrderMark)
}

// SortOf says what a file is, by its head: what of says of the first line that is not Foreign to
// it. A last line that is cut is of a Transcript if it has all these parts. Inside of a string,
// the quotes in them would be escaped.
func SortOf(head []byte, of func(*jsonl.Scanner, jsonl.Fields) Sort, parts ...string) Sort {
	var json jsonl.Scanner
	for line := range jsonl.Lines(head) {
		i := jsonl.SkipPadding(line.Data, 0)
		json.Reset(line.Data)
		v, err := json.Check(i)
		switch {
		case err == nil:
			if sort := of(&json, json.Fields(v)); sort != Foreign {
				return sort
			}
		case line.Ended || !bytes.HasPrefix(line.Data[i:], []byte("{")):
		case len(parts) > 0 && !slices.ContainsFunc(parts, func(part string) bool { return !bytes.Contains(line.Data, []byte(part)) }):
			return Transcript
		}
	}
	return Foreign
}

// OffsetID is the id of an entry without one.
func OffsetID(offset int64) string {
	return string(strconv.AppendInt(append(make([]byte, 0, 12), '@'), offset, 10))
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
