package query

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"pigrep/index/analysis"
)

// A rawNeedle tells of the JSON of an entry, without parsing it, that a needle
// cannot be in a string of it. It looks for the longest run of letters and digits
// of the needle, and for the rest of it around each place, as JSON writes that.
type rawNeedle struct {
	*needle
	runs   []extent // of ASCII letters, digits and _, in the needle's text
	pivot  extent   // the longest of them
	pieces bool     // a text may have it across strings of the JSON
}

// extent is a range of bytes.
type extent struct{ start, end int }

// maxRuns is how many runs are looked for: with more, parsing takes less time.
const maxRuns = 12

// newRawNeedle returns nil when the needle has nothing to look for, or too much.
func newRawNeedle(n *needle) *rawNeedle {
	if n.han {
		return nil
	}
	r := &rawNeedle{needle: n}
	for i := 0; i < len(n.text); i++ {
		start := i
		for i < len(n.text) && isRunByte(n.text[i]) {
			i++
		}
		if i > start {
			r.runs = append(r.runs, extent{start, i})
			if i-start > r.pivot.end-r.pivot.start {
				r.pivot = extent{start, i}
			}
		}
		r.pieces = r.pieces || i < len(n.text) && isJoint(n.text[i])
	}
	if len(r.runs) == 0 || len(r.runs) > maxRuns || r.isPlace() {
		return nil
	}
	return r
}

// isPlace reports whether the needle may be the place of an element in arrays,
// which stands nowhere in the JSON.
func (r *rawNeedle) isPlace() bool {
	for k := range r.runs {
		if !isNumber(r.run(k)) || k > 0 && !hasJoint(r.text[r.runs[k-1].end:r.runs[k].start]) {
			return false
		}
	}
	return true
}

func isRunByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' }

// isJoint reports whether a folded character is among those that texts are put
// together with from several strings: white space between them, colons behind
// names, dots inside of names, and a slash between a provider and a model.
func isJoint(c byte) bool { return c == ' ' || c == ':' || c == '.' || c == '/' }

// may reports whether some text of the JSON may have the needle. lower is the
// JSON in lower case.
func (r *rawNeedle) may(lower []byte) bool {
	return r.inString(lower) || r.pieces && r.across(lower)
}

// hasRuns reports whether all runs are there, wherever.
func (r *rawNeedle) hasRuns(lower []byte) bool {
	for _, run := range r.runs {
		if !bytes.Contains(lower, r.text[run.start:run.end]) {
			return false
		}
	}
	return true
}

// inString reports whether some string of the JSON may have the needle. Where
// that cannot be told from the bytes around the pivot, it may.
func (r *rawNeedle) inString(lower []byte) bool {
	pivot := r.text[r.pivot.start:r.pivot.end]
	for from := 0; ; {
		i := bytes.Index(lower[from:], pivot)
		if i < 0 {
			return false
		}
		at := from + i
		if r.ahead(lower, at+len(pivot)) && r.behind(lower, at) {
			return true
		}
		from = at + 1
	}
}

// ahead reports whether what follows the pivot may follow at a place.
func (r *rawNeedle) ahead(lower []byte, at int) bool {
	for _, c := range r.text[r.pivot.end:] {
		switch {
		case at == len(lower):
			return false
		case lower[at] >= utf8.RuneSelf || c >= utf8.RuneSelf || c < ' ':
			return true
		case c == ' ':
			start := at
			for at < len(lower) && lower[at] < utf8.RuneSelf {
				n := spaceLength(lower[at:])
				if n == 0 {
					break
				}
				at += n
			}
			if at == start {
				return false
			}
		case c == '"' || c == '\\' || c == '/' && lower[at] == '\\':
			if lower[at] != '\\' || at+1 == len(lower) || lower[at+1] != c {
				return false
			}
			at += 2
		case lower[at] != c:
			return false
		default:
			at++
		}
	}
	return !r.right || at == len(lower) || !isRunByte(lower[at])
}

// behind reports whether what is before the pivot may be before a place. It does
// not tell an escape from what only looks like one.
func (r *rawNeedle) behind(lower []byte, at int) bool {
	for i := r.pivot.start - 1; i >= 0; i-- {
		c := r.text[i]
		switch {
		case at == 0:
			return false
		case lower[at-1] >= utf8.RuneSelf || c >= utf8.RuneSelf || c < ' ':
			return true
		case c == ' ':
			start := at
			for at > 0 && lower[at-1] == ' ' {
				at--
			}
			if at > 0 && (lower[at-1] >= utf8.RuneSelf || endsEscape(lower[:at])) {
				return true
			}
			if at == start {
				return false
			}
		case lower[at-1] != c:
			return false
		default:
			at--
			if c == '"' || c == '\\' || c == '/' {
				if at > 0 && lower[at-1] == '\\' {
					return true
				}
				if c != '/' {
					return false // it would be escaped
				}
			}
		}
	}
	return !r.left || at == 0 || !isRunByte(lower[at-1]) || endsEscape(lower[:at])
}

// endsEscape reports whether the last byte may belong to an escape that stands
// for white space or for a control character.
func endsEscape(b []byte) bool {
	n := len(b)
	return n > 1 && b[n-2] == '\\' || n > 5 && b[n-6] == '\\' && b[n-5] == 'u'
}

// across reports whether the needle may be in a text that is made of several
// strings of the JSON, of names, numbers and the places of elements in arrays. At
// the first joint of these that it has, the run before it ends a string or a
// number of the JSON, and the one behind it begins one; but a place stands nowhere
// in the JSON.
func (r *rawNeedle) across(lower []byte) bool {
	first := r.run(0)
	if head := r.text[:r.runs[0].start]; hasJoint(head) && (isNumber(first) || somewhere(lower, first, func(at int) bool {
		return beginsPiece(lower[:at], first, len(head))
	})) {
		return true
	}
	for k := range r.runs {
		gap, next := r.text[r.runs[k].end:], []byte(nil)
		if k+1 < len(r.runs) {
			gap, next = r.text[r.runs[k].end:r.runs[k+1].start], r.run(k+1)
		}
		run := r.run(k)
		ends := func(at int) bool { return endsPiece(lower[at+len(run):], run, len(gap)) }
		begins := func(at int) bool { return beginsPiece(lower[:at], next, len(gap)) }
		if hasJoint(gap) && (k == 0 && isNumber(run) || somewhere(lower, run, ends)) &&
			(len(next) == 0 || isNumber(next) || somewhere(lower, next, begins)) {
			return true
		}
	}
	return false
}

func (r *rawNeedle) run(k int) []byte { return r.text[r.runs[k].start:r.runs[k].end] }

func hasJoint(gap []byte) bool { return slices.ContainsFunc(gap, isJoint) }

// isNumber reports whether a run may be the place of an element.
func isNumber(run []byte) bool {
	return !slices.ContainsFunc(run, func(c byte) bool { return c < '0' || '9' < c })
}

// isLiteral reports whether a run may begin, or belong to, a value that is no string.
func isLiteral(run []byte) bool {
	switch string(run) {
	case "true", "false", "null":
		return true
	}
	return '0' <= run[0] && run[0] <= '9'
}

// somewhere reports whether a run is at some place where holds is true.
func somewhere(lower, run []byte, holds func(at int) bool) bool {
	for from := 0; ; {
		i := bytes.Index(lower[from:], run)
		if i < 0 {
			return false
		}
		if holds(from + i) {
			return true
		}
		from += i + 1
	}
}

// beginsPiece reports whether a value of the JSON, or a name, may begin at the end
// of b, or before so many characters, white space aside. run follows them.
func beginsPiece(b, run []byte, others int) bool {
	literal := isLiteral(run)
	for n := len(b); n > 0; n = len(b) {
		switch c := b[n-1]; {
		case c == '"' && (n == 1 || b[n-2] != '\\' || n > 2 && b[n-3] == '\\'):
			return true
		case literal && (c == ':' || c == ',' || c == '['):
			return true
		case c == ' ' || c >= utf8.RuneSelf:
			b = b[:n-1]
		case n > 5 && b[n-6] == '\\' && b[n-5] == 'u':
			b = b[:n-6]
		case isRunByte(c) && n > 1 && b[n-2] == '\\':
			b = b[:n-2]
		case isRunByte(c) || others == 0:
			return false
		default:
			others--
			b = b[:n-1]
			if n > 1 && b[n-2] == '\\' {
				b = b[:n-2]
			}
		}
	}
	return true
}

// endsPiece is beginsPiece the other way round: b follows the run.
func endsPiece(b, run []byte, others int) bool {
	literal := isLiteral(run)
	for len(b) > 0 {
		switch c := b[0]; {
		case c == '"' || literal && (c == ',' || c == ']' || c == '}'):
			return true
		case spaceLength(b) > 0:
			b = b[spaceLength(b):]
		case isRunByte(c) || others == 0:
			return false
		default:
			others--
			b = b[1:]
			if c == '\\' && len(b) > 0 {
				b = b[1:]
			}
		}
	}
	return true
}

// spaceLength returns the length of what may be white space at the beginning:
// a space, an escape that is no quote, slash or backslash, or anything that is
// not ASCII.
func spaceLength(b []byte) int {
	switch {
	case b[0] == ' ':
		return 1
	case b[0] >= utf8.RuneSelf:
		return 1
	case b[0] != '\\' || len(b) < 2:
		return 0
	case b[1] == 'u':
		return min(6, len(b))
	case b[1] == '"' || b[1] == '\\' || b[1] == '/':
		return 0
	}
	return 2
}

// rawFolder folds JSON for rawNeedles.
type rawFolder struct {
	analyzer analysis.Analyzer
	folds    map[rune][]byte
	buf      []byte
}

// fold returns JSON with its letters folded and everything else as it stands; it
// is valid until the next call. Of other characters that folding makes something
// of, what are no letters or digits become bytes that stand for anything. ok is
// false when letters may be escaped: then nothing can be told without parsing.
func (f *rawFolder) fold(data []byte) (lower []byte, ok bool) {
	lower = slices.Grow(f.buf[:0], len(data)+8)
	for i := 0; i < len(data); {
		if i+8 <= len(data) {
			if w := binary.LittleEndian.Uint64(data[i:]); w&nonASCII == 0 {
				// A byte's highest bit says that it is a capital letter.
				capitals := (w + 0x3f*eachByte) &^ (w + 0x25*eachByte) & nonASCII
				lower = binary.LittleEndian.AppendUint64(lower, w|capitals>>2)
				i += 8
				continue
			}
		}
		c := data[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower = append(lower, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if foldsApart(r) {
			lower = append(lower, data[i:i+size]...)
		} else {
			lower = append(lower, f.rune(r)...)
		}
		i += size
	}
	f.buf = lower
	return lower, !escapesLetters(lower)
}

// rune returns what folding makes of a character.
func (f *rawFolder) rune(r rune) []byte {
	folded, ok := f.folds[r]
	if !ok {
		folded = f.analyzer.FoldText([]byte(string(r))).Text
		for i, c := range folded {
			if !isRunByte(c) {
				folded[i] = 0xff
			}
		}
		if f.folds == nil {
			f.folds = make(map[rune][]byte)
		}
		f.folds[r] = folded
	}
	return folded
}

// escapesLetters reports whether JSON may have escapes with a number of other
// characters than the control characters.
func escapesLetters(lower []byte) bool {
	for from := 0; ; {
		i := bytes.Index(lower[from:], unicodeEscape)
		if i < 0 {
			return false
		}
		from += i + len(unicodeEscape)
		if code := lower[from:]; len(code) > 2 && code[0] == '0' && code[1] == '0' && code[2] <= '1' {
			continue
		}
		start := from - len(unicodeEscape)
		for start > 0 && lower[start-1] == '\\' {
			start--
		}
		if (from-start)%2 == 0 { // the last backslash is not escaped itself
			return true
		}
	}
}

var unicodeEscape = []byte(`\u`)

const (
	eachByte = 0x0101_0101_0101_0101
	nonASCII = 0x80 * eachByte
)

// foldsApart reports whether folding makes no ASCII letter or digit of the
// character and does not drop it. It knows the frequent ones only.
func foldsApart(r rune) bool {
	switch {
	case r < 0x100:
		return r == 0xA0 || r == 0xA9 || r == 0xAB || r == 0xAE || r == 0xB0 || r == 0xB1 || r == 0xB7 || r == 0xBB || r == 0xD7 || r == 0xF7
	case 0x391 <= r && r <= 0x3C9, 0x410 <= r && r <= 0x44F: // Greek, Cyrillic
		return true
	case 0x2010 <= r && r <= 0x2027, 0x2190 <= r && r <= 0x22FF, 0x2300 <= r && r <= 0x23FF, 0x2500 <= r && r <= 0x27BF:
		return true
	case 0x3001 <= r && r <= 0x3029, 0x3041 <= r && r <= 0x3096, 0x30A1 <= r && r <= 0x30FE, 0x3400 <= r && r <= 0x9FFF, 0xAC00 <= r && r <= 0xD7A3:
		return true
	}
	return 0x1F300 <= r && r <= 0x1FAFF
}
