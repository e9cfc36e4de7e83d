package analysis

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Folding makes spellings equal that people do not tell apart: compatibility forms (NFKC), case, and diacritics.
//
// Text is cut into segments: a code point and those after it that may combine with it. A segment is decomposed
// (NFKD), loses its diacritics, is composed again (so that kana keep their voicing marks and Hangul its syllables) and
// is lower-cased letter by letter. A segment folds the same wherever it stands, and folding a folded text changes nothing.

// class says how Walk treats a folded character. Classes are bits, so that those of a run can be collected. Every ASCII
// character that does not separate is part of a word run.
type class uint8

const (
	lower class = 1 << iota
	upper
	digit
	letter // has no case
	underscore
	mark     // combining mark that folding keeps
	unspaced // of a script written without spaces
	emoji
	separator class = 0
)

// piece is one character of folded text, and what it was before its case was folded.
type piece struct {
	class class
	fold  string // more than one letter for ß, æ, œ
}

var ascii = func() (table [utf8.RuneSelf]piece) {
	for r := range table {
		table[r] = newPiece(rune(r))
	}
	return
}()

// classes are those of the ASCII characters once more, close together for Walk.
var classes = func() (table [utf8.RuneSelf]class) {
	for c := range table {
		table[c] = ascii[c].class
	}
	return
}()

func newPiece(r rune) piece { return piece{classify(r), foldCase(r)} }

// classify takes a character without diacritics, before its case is folded.
func classify(r rune) class {
	switch {
	case r == '_':
		return underscore
	case r == utf8.RuneError:
		return separator
	case 0x2600 <= r && r <= 0x27BF, 0x1F000 <= r && r <= 0x1FAFF:
		return emoji
	case r >= 0x0E00 && isUnspaced(r):
		return unspaced
	case unicode.IsLower(r):
		return lower
	case unicode.IsUpper(r):
		return upper
	case unicode.IsNumber(r):
		return digit
	case unicode.IsLetter(r):
		return letter
	case unicode.IsMark(r):
		return mark
	}
	return separator
}

func isUnspaced(r rune) bool {
	// The signs that Unicode counts as common to several scripts: iteration, repeat and prolonged sound marks, 〆, 〼.
	if 0x3005 <= r && r <= 0x3007 || 0x3031 <= r && r <= 0x3035 || r == 0x303C || r == 0x30FC {
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r))
}

// isDiacritic reports whether folding drops r: the blocks of combining diacritical marks, and variation selectors.
func isDiacritic(r rune) bool {
	return 0x0300 <= r && r <= 0x036F || 0x1AB0 <= r && r <= 0x1AFF || 0x1DC0 <= r && r <= 0x1DFF ||
		0x20D0 <= r && r <= 0x20FF || 0xFE20 <= r && r <= 0xFE2F ||
		0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF
}

// plainLetters are those for letters that have no decomposition.
var plainLetters = map[rune]string{'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ı': "i"}

func foldCase(r rune) string {
	// By way of the upper case, so that letters with two lower case forms (σ, ς) end as one.
	r = unicode.ToLower(unicode.ToUpper(r))
	return cmp.Or(plainLetters[r], string(r))
}

// glyph is the folded form of a code point.
type glyph struct {
	pieces []piece // of the code point when nothing combines with it
	joins  bool    // may combine with what is before it, so it never begins a segment
}

const (
	maxGlyphs = 1 << 14 // remembered at a time; a text uses few different ones
	maxJoined = 30      // code points of a segment; Unicode's stream-safe limit, there against hostile text
)

type folder struct {
	glyphs map[rune]glyph
	joined []piece // of the last segment of several code points
}

func (f *folder) glyph(text []byte) (glyph, int) {
	r, size := utf8.DecodeRune(text)
	g, ok := f.glyphs[r]
	if !ok {
		s := string(r)
		g = glyph{appendPieces(nil, s), !norm.NFKC.PropertiesString(s).BoundaryBefore()}
		if f.glyphs == nil || len(f.glyphs) >= maxGlyphs {
			f.glyphs = map[rune]glyph{}
		}
		f.glyphs[r] = g
	}
	return g, size
}

// segment folds the segment that begins at text[i] and returns its end. The pieces are valid until the next call.
func (f *folder) segment(text []byte, i int) (pieces []piece, end int) {
	end = i + 1
	if c := text[i]; c < utf8.RuneSelf {
		pieces = ascii[c : c+1]
	} else {
		g, size := f.glyph(text[i:])
		pieces, end = g.pieces, i+size
	}
	joined := 1
	for end < len(text) && text[end] >= utf8.RuneSelf && joined < maxJoined {
		g, size := f.glyph(text[end:])
		if !g.joins {
			break
		}
		end += size
		joined++
	}
	if joined > 1 {
		f.joined = appendPieces(f.joined[:0], string(text[i:end]))
		pieces = f.joined
	}
	return pieces, end
}

func appendPieces(to []piece, segment string) []piece {
	kept := strings.Map(func(r rune) rune {
		if isDiacritic(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(segment))
	for _, r := range norm.NFC.String(kept) {
		to = append(to, newPiece(r))
	}
	return to
}

// Fold folds s as Walk does and keeps punctuation and white space as they are.
func Fold(s string) string { return new(folder).fold(s) }

func (f *folder) fold(s string) string {
	text, to := []byte(s), make([]byte, 0, len(s))
	for i := 0; i < len(text); {
		pieces, end := f.segment(text, i)
		for _, p := range pieces {
			to = append(to, p.fold...)
		}
		i = end
	}
	return string(to)
}

// Folded is a folded text in which every run of white space is one space, and where its bytes came from.
type Folded struct {
	Text  []byte
	spans []span // by at, without gaps
}

// span maps Text[at:] up to the next span to the source bytes [start, end): byte by byte when even, else only as a whole.
type span struct {
	at, start, end int
	even           bool
}

// FoldText folds text for comparing it with a folded phrase.
func (a *Analyzer) FoldText(text []byte) *Folded {
	f := &Folded{Text: make([]byte, 0, len(text))}
	space := false // Text ends with a space
	for i := 0; i < len(text); {
		start, at := i, len(f.Text)
		for i < len(text) && text[i] < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
			c := text[i]
			if c == ' ' || '\t' <= c && c <= '\r' {
				if space {
					break
				}
				space, c = true, ' '
			} else {
				if space = false; 'A' <= c && c <= 'Z' {
					c += 'a' - 'A'
				}
			}
			f.Text = append(f.Text, c)
			i++
		}
		if i > start {
			f.span(at, start, i, true)
			continue
		}
		pieces, end := a.segment(text, i)
		for _, p := range pieces {
			isSpace := isSpace(p.fold)
			switch {
			case isSpace && space:
				f.widenSpace(end)
			case isSpace:
				f.add(" ", i, end, end-i == 1)
			default:
				_, size := utf8.DecodeRuneInString(p.fold)
				f.add(p.fold, i, end, len(pieces) == 1 && len(p.fold) == end-i && size == end-i)
			}
			space = isSpace
		}
		i = end
	}
	return f
}

// widenSpace makes the space that Text ends with stand for the source up to end.
func (f *Folded) widenSpace(end int) {
	last := &f.spans[len(f.spans)-1]
	at := len(f.Text) - 1
	if last.at == at {
		last.end, last.even = end, false
		return
	}
	last.end--
	f.spans = append(f.spans, span{at, last.end, end, false})
}

func isSpace(fold string) bool {
	r, size := utf8.DecodeRuneInString(fold)
	return size == len(fold) && unicode.IsSpace(r)
}

func (f *Folded) add(fold string, start, end int, even bool) {
	f.span(len(f.Text), start, end, even)
	f.Text = append(f.Text, fold...)
}

// span says where Text comes from from at on.
func (f *Folded) span(at, start, end int, even bool) {
	if n := len(f.spans); even && n > 0 && f.spans[n-1].even && f.spans[n-1].end == start {
		f.spans[n-1].end = end
		return
	}
	f.spans = append(f.spans, span{at, start, end, even})
}

// Source returns the bytes of the original text that Text[start:end] came from, widened to whole characters. An empty
// range gives an empty range.
func (f *Folded) Source(start, end int) (int, int) {
	for start > 0 && start < len(f.Text) && !utf8.RuneStart(f.Text[start]) {
		start--
	}
	for end < len(f.Text) && !utf8.RuneStart(f.Text[end]) {
		end++
	}
	if len(f.spans) == 0 {
		return 0, 0
	}
	first := f.spanOf(start)
	from := first.start
	if start >= len(f.Text) {
		from = first.end
	} else if first.even {
		from += start - first.at
	}
	if end <= start {
		return from, from
	}
	last := f.spanOf(end - 1)
	to := last.end
	if last.even {
		to = last.start + end - last.at
	}
	return from, to
}

func (f *Folded) spanOf(at int) span {
	i := sort.Search(len(f.spans), func(i int) bool { return f.spans[i].at > at })
	return f.spans[max(i-1, 0)]
}

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
