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
// own line. It needs one pass and no recursion.
//
// A named text has "name: value" for every leaf. The name joins the keys and element
// numbers on the way to the leaf with dots. Strings are decoded, other values are
// copied. A text without names has only the strings. Neither has image data.
type Leaves struct {
	Omit []string // keys whose strings only a named text includes

	s     *Scanner
	named bool
	held  [][]byte // texts that already hold some of the strings

	out     []byte
	name    []byte
	names   int // bytes of names that may still be written
	budget  int // bytes of held that may still be searched
	frames  []frame
	keys    []written // of the open objects
	dropped []Extent  // of out
}

// frame is an open array or object.
type frame struct {
	array bool
	image bool           // an object that is an image
	block bool           // a block, whose type and id are no text
	index int            // of the next element
	name  int            // length of the name outside
	keys  int            // number of keys outside
	found map[string]int // the keys, once there are many
}

// written is the position in out of the text of a member.
type written struct {
	key  []byte
	text Extent
	data bool // a string under the key "data"
}

// Begin starts a text in the given room, which may already contain the first line of
// a named text. Strings that one of the held texts contains are omitted.
func (w *Leaves) Begin(s *Scanner, room []byte, named bool, held [][]byte) {
	w.s, w.out, w.named, w.held = s, room, named, held
	w.budget = heldBudget
	w.dropped = w.dropped[:0]
}

// End returns the text.
func (w *Leaves) End() []byte {
	out := w.out
	if len(w.dropped) > 0 {
		out = w.without()
		if len(out) > 0 && out[0] == '\n' {
			out = out[:copy(out, out[1:])]
		}
	}
	w.s, w.out, w.held = nil, nil, nil
	return out
}

// without returns out without the dropped ranges, which may be nested.
func (w *Leaves) without() []byte {
	slices.SortFunc(w.dropped, func(a, b Extent) int { return a.Start - b.Start })
	n, from := 0, 0
	for _, d := range w.dropped {
		if d.Start > from {
			n += copy(w.out[n:], w.out[from:d.Start])
		}
		from = max(from, d.End)
	}
	n += copy(w.out[n:], w.out[from:])
	return w.out[:n]
}

// Add writes the leaves of v. The type and id of a block are not written.
func (w *Leaves) Add(v Value, block bool) {
	data := w.s.data
	w.name, w.frames, w.keys = w.name[:0], w.frames[:0], w.keys[:0]
	w.names = v.End - v.Start + nameSlack
	i, wanted := v.Start, true
	for {
		switch c := data[i]; c {
		case '{', '[':
			inside := skipSpace(data, i+1)
			switch {
			case data[inside] == c+2:
				if len(w.frames) > 0 {
					w.literal(data[i:i+1], data[inside:inside+1])
				}
				i = inside + 1
				wanted = false
			case len(w.frames) == namedDepth:
				i = w.flat(i)
				wanted = false
			default:
				w.frames = append(w.frames, frame{
					array: c == '[',
					block: block && c == '{' && len(w.frames) == 0,
					name:  len(w.name),
					keys:  len(w.keys),
				})
				i, wanted = w.member(inside)
			}
		case '"':
			s := w.s.valueAt(i)
			w.text(s)
			i, wanted = s.End, false
		default:
			end := skipScalar(data, i)
			w.literal(data[i:end])
			i, wanted = end, false
		}
		// Now either a wanted value starts at i, or a value has just ended.
		for !wanted {
			if len(w.frames) == 0 {
				return
			}
			w.endMember()
			i = skipSpace(data, i)
			if data[i] == ',' {
				i, wanted = w.member(skipSpace(data, i+1))
				continue
			}
			w.close()
			i++
		}
	}
}

// member begins the member or element at i. If its value is wanted, it returns where
// the value starts and true, else where it ends and false.
func (w *Leaves) member(i int) (int, bool) {
	data := w.s.data
	f := &w.frames[len(w.frames)-1]
	w.name = w.name[:f.name]
	if f.array {
		if w.named {
			w.dot()
			w.name = strconv.AppendInt(w.name, int64(f.index), 10)
		}
		f.index++
		return i, true
	}
	end := skipString(data, i)
	key := data[i+1 : end-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		key = appendDecoded(nil, key)
	}
	i = skipSpace(data, skipSpace(data, end)+1)
	w.forget(f, key)
	w.keys = append(w.keys, written{key: key, text: Extent{len(w.out), len(w.out)}})
	if w.named {
		w.dot()
		w.name = append(w.name, key...)
	}
	if data[i] != '"' {
		return i, true
	}
	switch string(key) {
	case "type", "data", "id", "mimeType", "media_type", "mediaType":
	default:
		if w.named || !w.omits(key) {
			return i, true
		}
		return w.s.valueAt(i).End, false
	}
	end = w.s.valueAt(i).End
	switch string(key) {
	case "type":
		f.image = f.image || string(data[i+1:end-1]) == "image"
		return pick(i, end, !f.block)
	case "mimeType", "media_type", "mediaType":
		f.image = f.image || bytes.HasPrefix(data[i+1:end-1], []byte("image/"))
	case "data":
		w.keys[len(w.keys)-1].data = true
		return pick(i, end, !f.image)
	case "id":
		return pick(i, end, !f.block)
	}
	return i, true
}

func (w *Leaves) omits(key []byte) bool {
	for _, o := range w.Omit {
		if string(key) == o {
			return true
		}
	}
	return false
}

// pick returns where a wanted value starts, or where an unwanted one ends.
func pick(start, end int, wanted bool) (int, bool) {
	if wanted {
		return start, true
	}
	return end, false
}

// dot separates the elements of a name.
func (w *Leaves) dot() {
	if len(w.name) > 0 {
		w.name = append(w.name, '.')
	}
}

// forget drops the text of an earlier member with the same key: the last one counts.
func (w *Leaves) forget(f *frame, key []byte) {
	same := w.keys[f.keys:]
	if len(same) < manyKeys {
		for k := range same {
			if bytes.Equal(same[k].key, key) {
				w.dropped = append(w.dropped, same[k].text)
				same[k].key = nil
			}
		}
		return
	}
	if f.found == nil {
		f.found = make(map[string]int, 2*manyKeys)
		for k := range same {
			f.found[string(same[k].key)] = k
		}
	}
	if k, ok := f.found[string(key)]; ok {
		w.dropped = append(w.dropped, same[k].text)
	}
	f.found[string(key)] = len(same)
}

// endMember records the end of the current member's text.
func (w *Leaves) endMember() {
	if f := &w.frames[len(w.frames)-1]; !f.array {
		w.keys[len(w.keys)-1].text.End = len(w.out)
	}
}

// close leaves the innermost array or object.
func (w *Leaves) close() {
	f := &w.frames[len(w.frames)-1]
	if f.image {
		// The data was written before it was clear that this is an image.
		for _, k := range w.keys[f.keys:] {
			if k.data {
				w.dropped = append(w.dropped, k.text)
			}
		}
	}
	w.keys = w.keys[:f.keys]
	w.name = w.name[:f.name]
	w.frames = w.frames[:len(w.frames)-1]
}

// flat writes the leaves of the array or object at i under one name, and returns
// where it ends.
func (w *Leaves) flat(i int) int {
	data := w.s.data
	depth := 0
	for {
		switch data[i] {
		case '"':
			end := skipString(data, i)
			if next := skipSpace(data, end); data[next] == ':' {
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

// line begins the line of a leaf.
func (w *Leaves) line() {
	if len(w.out) > 0 {
		w.out = append(w.out, '\n')
	}
	if !w.named || len(w.name) == 0 {
		return
	}
	if w.names -= len(w.name) + len(": "); w.names < 0 {
		return
	}
	w.out = appendValid(w.out, w.name)
	w.out = append(w.out, ": "...)
}

// literal copies a leaf that is not a string.
func (w *Leaves) literal(raw ...[]byte) {
	if !w.named {
		return
	}
	w.line()
	for _, r := range raw {
		w.out = append(w.out, r...)
	}
}

// text writes a string.
func (w *Leaves) text(v Value) {
	if v.End-v.Start == len(`""`) && !w.named {
		return
	}
	start := len(w.out)
	w.line()
	text := len(w.out)
	w.out = w.s.appendText(w.out, v)
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
