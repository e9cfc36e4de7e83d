package analysis

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// Words of eight bytes: 1 in each, and the highest bit of each.
const (
	eachByte  = 0x0101010101010101
	highBits8 = 0x8080808080808080
)

// Folder folds texts for needles to be found in.
type Folder struct {
	analyzer Analyzer
	buf      []byte
}

// plainASCII maps the ASCII characters but for white space and NUL to themselves,
// letters to lower case, and everything else to 0.
var plainASCII = func() (table [256]byte) {
	for c := byte(1); c < utf8.RuneSelf; c++ {
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
		case 'A' <= c && c <= 'Z':
			table[c] = c + 'a' - 'A'
		default:
			table[c] = c
		}
	}
	return table
}()

// Fold returns what FoldText has as its text, faster: only what is not ASCII, and
// the character before it, which a mark may belong to, goes through FoldText.
// The result is valid until the next call.
func (f *Folder) Fold(text []byte) []byte {
	to := slices.Grow(f.buf[:0], len(text))
	space := false
	for i := 0; i < len(text); i++ {
		if n := foldEight(&to, text[i:], space); n > 0 {
			space = to[len(to)-1] == ' '
			i += n - 1
			continue
		}
		if plainASCII[text[i]] != 0 {
			n := len(to)
			end := i
			for end < len(text) && plainASCII[text[end]] != 0 {
				to = append(to, plainASCII[text[end]])
				end++
			}
			if end < len(text) && text[end] >= utf8.RuneSelf {
				to = to[:len(to)-1] // the last one may have a mark
				end--
			}
			if space = space && len(to) == n; end > i {
				i = end - 1
				continue
			}
		}
		c := text[i]
		if i+1 < len(text) && text[i+1] >= utf8.RuneSelf || c >= utf8.RuneSelf {
			start := i
			for i+1 < len(text) && text[i+1] >= utf8.RuneSelf {
				i++
			}
			some := f.analyzer.FoldText(text[start : i+1]).Text
			if space && len(some) > 0 && some[0] == ' ' {
				some = some[1:]
			}
			to = append(to, some...)
			space = len(to) > 0 && to[len(to)-1] == ' '
			continue
		}
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			if space {
				continue
			}
			c, space = ' ', true
		default:
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			space = false
		}
		to = append(to, c)
	}
	f.buf = to
	return to
}

// foldEight appends bytes of the text, folded, eight at a time, as long as these
// are ASCII without other white space than single spaces, and no character that is
// not ASCII follows them. space says that one stands before. It returns how many
// bytes of the text those are.
func foldEight(to *[]byte, text []byte, space bool) int {
	const blanks = ' ' * eachByte
	n := 0
	for ; n+9 <= len(text) && text[n+8] < utf8.RuneSelf; n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		// Of ASCII bytes, the highest bit is kept through a subtraction by those
		// that are not smaller.
		if w&highBits8 != 0 || ^((w|highBits8)-blanks)&highBits8 != 0 {
			break
		}
		spaces := ^((w ^ blanks | highBits8) - eachByte) & highBits8
		if spaces&(spaces<<8) != 0 || space && spaces&0x80 != 0 {
			break
		}
		space = spaces>>63 != 0
		capitals := (w + ('\x80'-'A')*eachByte) &^ (w + ('\x80'-'Z'-1)*eachByte) & highBits8
		*to = binary.LittleEndian.AppendUint64(*to, w|capitals>>2)
	}
	return n
}
