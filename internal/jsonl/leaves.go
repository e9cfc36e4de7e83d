package jsonl

import (
	"bytes"
	"slices"
	"strconv"
)

const (
	// Leaves of objects nested deeper than this share the name of the last
	// object that has one.
	namedDepth = 100
	// Names may take this many bytes more than the value itself. Further
	// names are omitted, which bounds the text of a huge flat value.
	nameSlack = 64 << 10
	// Bytes of held text that are searched for the leaves of one value. All
	// further leaves count as not held.
	heldBudget = 256 << 20
)

// Leaves writes the leaves of a value of any shape as text, in file order, each on its
// own line.
//
// A named text has "name: value" for every leaf. The name joins the keys and element
// numbers on the way to the leaf with dots. Strings are decoded, other values are
// copied. A text without names has only the strings. Neither has image data.
type Leaves struct {
	Omit  []string // keys whose strings only a named text includes
	Names [][2]int // of the named text that was written last: where each name begins and ends

	s     *Scanner
	named bool
	held  [][]byte // texts that already hold some of the strings

	out    []byte
	name   []byte
	names  int // bytes of names that may still be written
	budget int // bytes of held that may still be searched
}

// Begin starts a text in the given room, which may already contain the first line of
// a named text. Strings that one of the held texts contains are omitted.
func (w *Leaves) Begin(s *Scanner, room []byte, named bool, held [][]byte) {
	w.s, w.out, w.named, w.held, w.Names = s, room, named, held, nil
	w.budget = heldBudget
}

// End returns the text.
func (w *Leaves) End() []byte {
	out := w.out
	w.s, w.out, w.held = nil, nil, nil
	return out
}

// Add writes the leaves of v. The type and id of a block are not written.
func (w *Leaves) Add(v Value, block bool) {
	w.name = w.name[:0]
	w.names = v.End - v.Start + nameSlack
	w.value(v.Start, 0, block)
}

// value writes the leaves of the value at i, which is in depth objects and arrays. It
// returns where the value ends.
func (w *Leaves) value(i, depth int, block bool) (end int) {
	data := w.s.data
	switch c := data[i]; c {
	case '"':
		v := w.s.valueAt(i)
		w.text(v)
		return v.End
	case '{', '[':
		inside := space(data, i+1)
		switch {
		case data[inside] == c+2: // '}' is '{'+2, ']' is '['+2
			if depth > 0 {
				w.literal(data[i:i+1], data[inside:inside+1])
			}
			return inside + 1
		case depth == namedDepth:
			return w.flat(i)
		case c == '{':
			return w.object(i, depth, block)
		}
		return w.array(inside, depth)
	}
	end = skipScalar(data, i)
	w.literal(data[i:end])
	return end
}

// array writes the leaves of the array whose elements are at i.
func (w *Leaves) array(i, depth int) (end int) {
	outside := len(w.name)
	end = i
	for index := 0; ; index++ {
		i, more := nextItem(w.s.data, end)
		if !more {
			return i
		}
		if w.named {
			w.dot()
			w.name = strconv.AppendInt(w.name, int64(index), 10)
		}
		end = w.value(i, depth+1, false)
		w.name = w.name[:outside]
	}
}

// object writes the leaves of the object at i.
func (w *Leaves) object(i, depth int, block bool) (end int) {
	before, outside := len(w.s.fields), len(w.name)
	fields, end := w.s.fieldsAt(i)
	slices.SortFunc(fields, func(a, b Field) int { return a.Val.Start - b.Val.Start }) // where a key last occurs
	image := slices.ContainsFunc(fields, w.isOfImage)
	for _, f := range fields {
		if w.named {
			w.dot()
			w.name = append(w.name, f.Key...)
		}
		if w.s.Kind(f.Val) != '"' || !w.omits(f.Key, block, image) {
			w.value(f.Val.Start, depth+1, false)
		}
		w.name = w.name[:outside]
	}
	w.s.fields = w.s.fields[:before]
	return end
}

// isOfImage reports whether a member says that its object is an image.
func (w *Leaves) isOfImage(f Field) bool {
	switch string(f.Key) {
	case "type":
		return string(w.s.Raw(f.Val)) == `"image"`
	case "mimeType", "media_type", "mediaType":
		return bytes.HasPrefix(w.s.Raw(f.Val), []byte(`"image/`))
	}
	return false
}

// omits reports whether the text leaves out the string under a key of a block or an image.
func (w *Leaves) omits(key []byte, block, image bool) bool {
	switch string(key) {
	case "type", "id":
		if block {
			return true
		}
	case "data":
		if image {
			return true
		}
	}
	return !w.named && slices.ContainsFunc(w.Omit, func(omitted string) bool { return string(key) == omitted })
}

func (w *Leaves) dot() {
	if len(w.name) > 0 {
		w.name = append(w.name, '.')
	}
}

// flat writes the leaves of the array or object at i under one name, and returns
// where it ends.
func (w *Leaves) flat(i int) int {
	data := w.s.data
	depth := 0
	for {
		switch data[i] {
		case '"':
			end := endOfString(data, i)
			if next := space(data, end); data[next] == ':' {
				i = next + 1
				continue
			}
			w.text(at(i, end))
			i = end
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
			if depth == 0 {
				return i
			}
		case ',', ' ', '\t', '\n', '\r':
			i++
		default:
			end := skipScalar(data, i)
			w.literal(data[i:end])
			i = end
		}
	}
}

func (w *Leaves) newLine() {
	if len(w.out) > 0 {
		w.out = append(w.out, '\n')
	}
	if !w.named || len(w.name) == 0 {
		return
	}
	if w.names -= len(w.name) + len(": "); w.names < 0 {
		return
	}
	start := len(w.out)
	w.out = appendValid(w.out, w.name)
	w.Names = append(w.Names, [2]int{start, len(w.out)})
	w.out = append(w.out, ": "...)
}

// literal copies a leaf that is not a string.
func (w *Leaves) literal(raw ...[]byte) {
	if !w.named {
		return
	}
	w.newLine()
	for _, r := range raw {
		w.out = append(w.out, r...)
	}
}

func (w *Leaves) text(v Value) {
	if v.End-v.Start == len(`""`) && !w.named {
		return
	}
	start := len(w.out)
	w.newLine()
	text := len(w.out)
	if known, ok := w.s.known(v); ok {
		w.out = append(w.out, known...)
	} else {
		w.out = AppendText(w.out, known)
	}
	if w.isHeld(w.out[text:]) {
		w.out = w.out[:start]
	}
}

func (w *Leaves) isHeld(text []byte) bool {
	for i := range w.held {
		if w.budget <= 0 {
			return false
		}
		w.budget -= len(w.held[i])
		if bytes.Contains(w.held[i], text) {
			return true
		}
	}
	return false
}
