package match

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/query/engine/literal"
)

// A JSONPrefilter rules out, without parsing it, that the JSON of an entry has a text
// with a needle. It looks for the pivot, the longest run of letters and digits of the
// needle, and compares the other letters and digits of the needle with those around each
// pivot. Whatever is between them may be anything.
//
// The adapter may join a text from several strings of the JSON, from names, numbers
// and indexes of array elements, or leave out tags. So everything beyond the end of the
// string or the element with the pivot is taken as a match.
//
// The prefilters of package literal cannot replace it. They look for single required
// literals, and the index already knows that every word of the phrase is in the
// document. Without a JSONPrefilter a search for a phrase takes two to four times as much CPU.
type JSONPrefilter struct {
	*Needle
	pivot      literal.Finder
	start, end int  // of the pivot in Needle.Text
	bare       bool // the pivot may be in a value that is not a string: a number, true, false or null
}

// maxJSONNeedle is the longest needle, in bytes, that gets a prefilter.
const maxJSONNeedle = 256

// NewJSONPrefilter returns nil if the needle has no pivot. All its runs may be indexes
// of array elements, which the JSON does not contain.
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
		// An index is between separators.
		isIndex := isNumber(n.Text[start:i]) && (start == 0 || isSeparator(n.Text[start-1])) && (i == len(n.Text) || isSeparator(n.Text[i]))
		if !isIndex && i-start > r.end-r.start {
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

// isSeparator reports whether a folded character may come from the adapter: white
// space between strings, colons after names, dots in names, and the slash between a
// provider and a model.
func isSeparator(c byte) bool { return c == ' ' || c == ':' || c == '.' || c == '/' }

func isNumber(run []byte) bool {
	return !slices.ContainsFunc(run, func(c byte) bool { return c < '0' || '9' < c })
}

// mayBeBare reports whether a run may be part of a value that is not a string.
func mayBeBare(run []byte) bool {
	switch string(run) {
	case "true", "false", "null":
		return true
	}
	return '0' <= run[0] && run[0] <= '9'
}

// MayContain reports whether some text of the JSON, which JSONFolder has folded, may
// contain the needle. It is true if the letters around a pivot do not rule that out, and
// if there is no pivot at all: the index says that there is one, so the file must have
// changed.
func (r *JSONPrefilter) MayContain(data []byte) bool {
	found, may := r.find(data, true)
	return may || !found
}

// MayBeIn reports whether a text, whose letters JSONFolder has folded, may contain the
// needle. That takes a tenth of the time of folding all of the text.
func (r *JSONPrefilter) MayBeIn(text []byte) bool {
	_, may := r.find(text, false)
	return may
}

// find reports whether a text has a pivot, and whether it may have the needle around one.
func (r *JSONPrefilter) find(text []byte, json bool) (found, may bool) {
	for i := r.pivot.Find(text, 0); i < len(text); i = r.pivot.Find(text, i+1) {
		found = true
		if r.matchesAfter(text[i+r.end-r.start:], json) && r.matchesBefore(text[:i], json) {
			return true, true
		}
	}
	return found, false
}

// matchesAfter reports whether the needle after its pivot may match the beginning of a text.
func (r *JSONPrefilter) matchesAfter(text []byte, json bool) bool {
	needle, from := r.Text[r.end:], 0
	for i, letter := range needle {
		if letter >= utf8.RuneSelf {
			return true
		}
		if !isRunByte(letter) {
			continue
		}
		gap, before := needle[from:i], len(text)
		from = i + 1
		for len(text) > 0 && !isRunByte(literal.LowerByte(text[0])) {
			c, size := text[0], 1
			if json && c == '\\' {
				if c, size = ' ', len(`\n`); bytes.HasPrefix(text, []byte(`\u`)) {
					size = len(`\u0000`)
				}
			}
			if c == anyText || json && isJoint(gap) && r.endsValue(c) {
				return true
			}
			if !mayBeIn(gap, c) {
				return false
			}
			text = text[min(size, len(text)):]
		}
		if len(text) == 0 || literal.LowerByte(text[0]) != letter || len(gap) > 0 && len(text) == before {
			return false
		}
		text = text[1:]
	}
	return !r.endsInWord || len(text) == 0 || !isRunByte(literal.LowerByte(text[0]))
}

// isJoint reports whether two strings of the JSON may meet in what a needle has between letters.
func isJoint(gap []byte) bool { return slices.ContainsFunc(gap, isSeparator) }

// mayBeIn reports whether a character that is not a letter may be in what a needle has between
// letters.
func mayBeIn(gap []byte, c byte) bool { return len(gap) > 0 && (c <= ' ' || string(gap) != " ") }

// endsValue reports whether a character that is not escaped ends the value with the
// pivot, or may begin a tag.
func (r *JSONPrefilter) endsValue(c byte) bool {
	return c == '"' || c == '<' || r.bare && (c == ',' || c == ']' || c == '}')
}

// matchesBefore reports whether the needle before its pivot may match the end of a text.
func (r *JSONPrefilter) matchesBefore(text []byte, json bool) bool {
	until := r.start
	for i := r.start - 1; i >= 0; i-- {
		letter := r.Text[i]
		if letter >= utf8.RuneSelf {
			return true
		}
		if !isRunByte(letter) {
			continue
		}
		gap, before := r.Text[i+1:until], len(text)
		until = i
		for len(text) > 0 {
			c, size := text[len(text)-1], 1
			if json {
				c, size = lastOfJSON(text)
			}
			if isRunByte(literal.LowerByte(c)) {
				break
			}
			if c == anyText || json && isJoint(gap) && r.beginsValue(c) {
				return true
			}
			if !mayBeIn(gap, c) {
				return false
			}
			text = text[:len(text)-size]
		}
		if len(text) == 0 || literal.LowerByte(text[len(text)-1]) != letter || len(gap) > 0 && len(text) == before {
			return false
		}
		text = text[:len(text)-1]
	}
	if !r.startsInWord || len(text) == 0 || analysis.BeforeControl(text) != nil { // as Needle.atWordEdges
		return true
	}
	c := text[len(text)-1]
	if json {
		c, _ = lastOfJSON(text)
	}
	return !isRunByte(literal.LowerByte(c))
}

// beginsValue reports whether the value with the pivot may begin after a character that is not
// escaped, or a tag may end there.
func (r *JSONPrefilter) beginsValue(c byte) bool {
	return c == '"' || c == '>' || r.bare && (c == ':' || c == ',' || c == '[')
}

// lastOfJSON returns the last byte of a string of JSON, and its length: an escape counts as a
// space.
func lastOfJSON(data []byte) (c byte, size int) {
	n := len(data)
	switch {
	case n >= 2 && data[n-2] == '\\' && !literal.IsEscaped(data, n-2):
		return ' ', 2
	case n >= 6 && data[n-6] == '\\' && data[n-5] == 'u' && !literal.IsEscaped(data, n-6):
		return ' ', 6
	}
	return data[n-1], 1
}

// A JSONFolder folds JSON for JSONPrefilter. It is used by one goroutine.
type JSONFolder struct {
	analyzer analysis.Analyzer
	folds    map[rune][]byte
	buf      []byte
}

// Fold returns JSON with its letters folded, except that ASCII letters keep their case.
// Characters that do not fold to ASCII letters and digits become anyText, except frequent
// ones that do not fold to white space either: these stay unchanged. The result is the
// data itself if there is nothing to fold. It is valid until the next call. ok is false if
// letters may be escaped; the JSON must then be parsed.
func (f *JSONFolder) Fold(data []byte) (folded []byte, ok bool) {
	if escapesLetters(data) {
		return nil, false
	}
	return f.FoldLetters(data), true
}

// FoldLetters is like Fold for a text that is not JSON.
func (f *JSONFolder) FoldLetters(data []byte) []byte {
	var folded []byte
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
		return data
	}
	f.buf = append(folded, data[done:]...)
	return f.buf
}

const anyText = 0xff

const highBits = 0x8080808080808080

// nextHigh returns the offset of the first byte outside of ASCII at or after i,
// len(data) if there is none.
func nextHigh(data []byte, i int) int {
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

// foldRune folds one character.
func (f *JSONFolder) foldRune(r rune) []byte {
	folded, ok := f.folds[r]
	if !ok {
		folded = f.analyzer.FoldText([]byte(string(r))).Text
		for i, c := range folded {
			if !isRunByte(c) {
				folded[i] = anyText
			}
		}
		if f.folds == nil {
			f.folds = make(map[rune][]byte)
		}
		f.folds[r] = folded
	}
	return folded
}

// escapesLetters reports whether JSON has \u escapes of other characters than control
// characters.
func escapesLetters(data []byte) bool {
	for i := literal.NextUnicodeEscape(data, 0); i < len(data); i = literal.NextUnicodeEscape(data, i+1) {
		if code := data[i+2:]; len(code) < 3 || code[0] != '0' || code[1] != '0' || code[2] > '1' {
			return true
		}
	}
	return false
}

// foldsOutsideASCII reports whether a character folds to something without ASCII
// letters and digits and without white space, and is not dropped. It knows frequent
// characters only.
func foldsOutsideASCII(r rune) bool {
	switch {
	case r < 0x100:
		return r == 0xA9 || r == 0xAB || r == 0xAE || r == 0xB0 || r == 0xB1 || r == 0xB7 || r == 0xBB || r == 0xD7 || r == 0xF7
	case 0x391 <= r && r <= 0x3C9, 0x410 <= r && r <= 0x44F: // Greek, Cyrillic
		return true
	case 0x2010 <= r && r <= 0x2016, 0x2018 <= r && r <= 0x2027, 0x2190 <= r && r <= 0x22FF, 0x2300 <= r && r <= 0x23FF, 0x2500 <= r && r <= 0x27BF:
		return true
	case 0x3001 <= r && r <= 0x3029, 0x3041 <= r && r <= 0x3096, 0x30A1 <= r && r <= 0x30FE, 0x3400 <= r && r <= 0x9FFF, 0xAC00 <= r && r <= 0xD7A3:
		return true
	}
	return 0x1F300 <= r && r <= 0x1FAFF
}
