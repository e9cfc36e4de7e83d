package analysis

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// Masks of eight bytes: the lowest and the highest bit of each.
const (
	eachByte  = 0x0101010101010101
	highBits8 = 0x8080808080808080
)

// A Folder folds texts and reuses its memory. It is used by one goroutine.
type Folder struct {
	analyzer Analyzer
	buf      []byte
}

// plainASCII maps ASCII letters to lower case, white space, NUL and all bytes outside of
// ASCII to 0, and the rest of ASCII to itself.
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

// Fold returns the Text of FoldText, faster: only characters outside of ASCII, and the
// one before them, which may carry a mark, go through FoldText. The result is valid
// until the next call.
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

// foldEight appends folded bytes of the text, eight at a time, as long as these are
// ASCII, have no white space but single spaces, and are followed by ASCII. space says
// that the text before ends with a space. It returns the number of bytes folded.
func foldEight(to *[]byte, text []byte, space bool) int {
	const blanks = ' ' * eachByte
	n := 0
	for ; n+9 <= len(text) && text[n+8] < utf8.RuneSelf; n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		// With its high bit set, an ASCII byte keeps it through a subtraction of
		// ' ' unless it is smaller.
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
