package match

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/query/literal"
)

// A JSONPrefilter tells of the JSON of an entry, without parsing it, that a needle is in
// no text of it. It looks for one run of letters and digits of the needle, and at
// each place for the rest of the needle around it, as JSON writes that.
//
// A text may be put together from several strings of the JSON, from names, numbers
// and places of elements. What the run stands in then ends where the needle has one
// of the characters that they are joined with.
type JSONPrefilter struct {
	*Needle
	pivot      literal.Finder
	start, end int  // of the pivot in the needle's text
	bare       bool // the pivot may be in a value that is no string
}

// maxJSONNeedle is how many bytes of a needle are worth a look.
const maxJSONNeedle = 256

// NewJSONPrefilter returns nil when the needle has nothing to look for: it may be all
// numbers of elements, which stand nowhere in the JSON.
func NewJSONPrefilter(n *Needle) *JSONPrefilter {
	if n.Han || len(n.Text) > maxJSONNeedle {
		return nil
	}
	r := &JSONPrefilter{Needle: n}
	for i := 0; i < len(n.Text); i++ {
		start := i
		for i < len(n.Text) && isRunByte(n.Text[i]) {
			i++
		}
		// A number is a place only between joints.
		place := isNumber(n.Text[start:i]) && (start == 0 || isSeparator(n.Text[start-1])) && (i == len(n.Text) || isSeparator(n.Text[i]))
		if !place && i-start > r.end-r.start {
			r.start, r.end = start, i
		}
	}
	if r.end == 0 {
		return nil
	}
	pivot := n.Text[r.start:r.end]
	r.bare = mayBeBare(pivot)
	r.pivot = literal.NewFinder(pivot, true)
	return r
}

func isRunByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' }

// isSeparator reports whether a folded character is among those that texts are put
// together with: white space between strings, colons behind names, dots inside of
// names, and a slash between a provider and a model.
func isSeparator(c byte) bool { return c == ' ' || c == ':' || c == '.' || c == '/' }

func isNumber(run []byte) bool {
	return !slices.ContainsFunc(run, func(c byte) bool { return c < '0' || '9' < c })
}

// mayBeBare reports whether a run may belong to a value that is no string.
func mayBeBare(run []byte) bool {
	switch string(run) {
	case "true", "false", "null":
		return true
	}
	return '0' <= run[0] && run[0] <= '9'
}

// MayContain reports whether some text of the JSON, which rawFolder has been at, may have
// the needle. It may when that cannot be told from the bytes around the pivot; and
// when there is no pivot: the index says that it is there, so the file may have
// changed.
func (r *JSONPrefilter) MayContain(data []byte) bool {
	found := false
	at := literal.AtStart
	for from := 0; ; {
		i := r.pivot.Find(data, from, &at)
		if i == len(data) {
			return !found
		}
		if r.matchesAfter(data, i+r.end-r.start) && r.matchesBefore(data, i) {
			return true
		}
		found = true
		from = i + 1
	}
}

// matchesAfter reports whether what follows the pivot may follow at a place.
func (r *JSONPrefilter) matchesAfter(data []byte, at int) bool {
	for _, c := range r.Text[r.end:] {
		switch {
		case at == len(data):
			return false
		case data[at] >= utf8.RuneSelf || c >= utf8.RuneSelf || c < ' ' || isSeparator(c) && r.endsValue(data[at]):
			return true
		case c == ' ':
			start := at
			for at < len(data) && data[at] < utf8.RuneSelf {
				n := spaceLength(data[at:])
				if n == 0 {
					break
				}
				at += n
			}
			if at < len(data) && r.endsValue(data[at]) {
				return true
			}
			if at == start {
				return false
			}
		case c == '"' || c == '\\' || c == '/' && data[at] == '\\':
			if data[at] != '\\' || at+1 == len(data) || data[at+1] != c {
				return false
			}
			at += 2
		case literal.LowerByte(data[at]) != c:
			return false
		default:
			at++
		}
	}
	return !r.endsInWord || at == len(data) || !isRunByte(literal.LowerByte(data[at]))
}

// endsValue reports whether a character, which is not escaped, ends what the pivot
// stands in.
func (r *JSONPrefilter) endsValue(c byte) bool {
	return c == '"' || r.bare && (c == ',' || c == ']' || c == '}')
}

// matchesBefore reports whether what is before the pivot may be before a place. It does
// not tell an escape from what only looks like one.
func (r *JSONPrefilter) matchesBefore(data []byte, at int) bool {
	for i := r.start - 1; i >= 0; i-- {
		c := r.Text[i]
		switch {
		case at == 0:
			return false
		case data[at-1] >= utf8.RuneSelf || c >= utf8.RuneSelf || c < ' ' || isSeparator(c) && r.beginsValue(data[:at]):
			return true
		case c == ' ':
			start := at
			for at > 0 && data[at-1] == ' ' {
				at--
			}
			if at > 0 && (data[at-1] >= utf8.RuneSelf || endsEscape(data[:at]) || r.beginsValue(data[:at])) {
				return true
			}
			if at == start {
				return false
			}
		case literal.LowerByte(data[at-1]) != c:
			return false
		default:
			at--
			if c == '"' || c == '\\' || c == '/' {
				if at > 0 && data[at-1] == '\\' {
					return true
				}
				if c != '/' {
					return false // it would be escaped
				}
			}
		}
	}
	return !r.startsInWord || at == 0 || !isRunByte(literal.LowerByte(data[at-1])) || endsEscape(data[:at])
}

// beginsValue reports whether the last character may begin what the pivot stands in.
func (r *JSONPrefilter) beginsValue(b []byte) bool {
	n := len(b)
	switch c := b[n-1]; {
	case c == '"':
		return n == 1 || b[n-2] != '\\'
	case r.bare:
		return c == ':' || c == ',' || c == '['
	}
	return false
}

// endsEscape reports whether the last byte may belong to an escape that stands
// for white space or for a control character.
func endsEscape(b []byte) bool {
	n := len(b)
	return n > 1 && b[n-2] == '\\' || n > 5 && b[n-6] == '\\' && b[n-5] == 'u'
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

// JSONFolder makes the characters of JSON comparable with those of rawNeedles.
type JSONFolder struct {
	analyzer analysis.Analyzer
	folds    map[rune][]byte
	buf      []byte
}

// Fold returns JSON with its letters folded, but for the case of the ASCII ones,
// and everything else as it stands; the data itself when nothing has to be folded.
// It is valid until the next call. Of characters that folding makes something of,
// what are no letters or digits become bytes that stand for anything. ok is false
// when letters may be escaped: then nothing can be told without parsing.
func (f *JSONFolder) Fold(data []byte) (folded []byte, ok bool) {
	if escapesLetters(data) {
		return nil, false
	}
	done := 0 // bytes of data that are in folded
	for i := nextHigh(data, 0); i < len(data); i = nextHigh(data, i) {
		r, size := utf8.DecodeRune(data[i:])
		if !foldsOutsideASCII(r) {
			if done == 0 {
				folded = slices.Grow(f.buf[:0], len(data))
			}
			folded = append(append(folded, data[done:i]...), f.foldRune(r)...)
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return data, true
	}
	f.buf = append(folded, data[done:]...)
	return f.buf, true
}

const highBits = 0x8080808080808080

// nextHigh returns the first place of a byte that is not ASCII from from on,
// len(data) when there is none.
func nextHigh(data []byte, from int) int {
	i := from
	for ; i+16 <= len(data); i += 16 {
		if (binary.LittleEndian.Uint64(data[i:])|binary.LittleEndian.Uint64(data[i+8:]))&highBits != 0 {
			break
		}
	}
	for i < len(data) && data[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// foldRune returns what folding makes of a character.
func (f *JSONFolder) foldRune(r rune) []byte {
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
func escapesLetters(data []byte) bool {
	for i := literal.NextUnicodeEscape(data, 0); i < len(data); i = literal.NextUnicodeEscape(data, i+1) {
		if code := data[i+2:]; len(code) < 3 || code[0] != '0' || code[1] != '0' || code[2] > '1' {
			return true
		}
	}
	return false
}

// foldsOutsideASCII reports whether folding makes no ASCII letter or digit of the
// character and does not drop it. It knows the frequent ones only.
func foldsOutsideASCII(r rune) bool {
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
