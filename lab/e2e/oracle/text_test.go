package oracle

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"pigrep/internal/near"
)

// A text is a text as words and phrases see it.
type text struct {
	folded string       // white space as one space
	edges  map[int]edge // offsets in folded where a word begins or ends
	runs   [][]string   // the parts of each identifier or word, folded
}

// An edge is where a word begins or ends, or a part of an identifier.
type edge int

const (
	within edge = iota // no edge
	part
	outer
)

type sort int

const (
	other sort = iota
	small
	capital
	letter // or digit
	underscore
	unspaced // each character is a word: of a script without spaces, or an emoji
)

func sortOf(r rune) sort {
	switch {
	case r == '_':
		return underscore
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) || r == 'ー' || r == '々', 0x2600 <= r && r <= 0x27bf, 0x1f000 <= r && r <= 0x1faff:
		return unspaced
	case unicode.IsUpper(r):
		return capital
	case unicode.IsLower(r):
		return small
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
		return letter
	}
	return other
}

var caser = cases.Fold()

// plain are letters whose diacritic Unicode does not separate.
var plain = strings.NewReplacer("æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ı", "i")

// normal takes compatibility forms and diacritics away from a text.
func normal(s string) []rune {
	s = strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36f || 0xfe00 <= r && r <= 0xfe0f {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToValidUTF8(s, "\uFFFD")))
	return []rune(norm.NFKC.String(s))
}

// fold makes spellings equal that differ in case and diacritics.
func fold(s string) string { return plain.Replace(caser.String(string(normal(s)))) }

// colour is the code of a terminal's colour, after which a word may begin.
var colour = regexp.MustCompile(`\x1b\[[0-?]*[@-~]`)

// newText finds the words of a text.
func newText(s string) *text {
	t := &text{edges: map[int]edge{}}
	var b strings.Builder
	runes := normal(s)
	coloured := map[int]bool{} // where a colour ends
	for _, at := range colour.FindAllStringIndex(string(runes), -1) {
		coloured[utf8.RuneCountInString(string(runes)[:at[1]])] = true
	}
	open := false // whether the last run goes on
	for i, r := range runes {
		before, kind := at(runes, i-1), sortOf(r)
		if unicode.IsSpace(r) {
			if !strings.HasSuffix(b.String(), " ") {
				b.WriteByte(' ')
			}
			open = false
			continue
		}
		start := b.Len()
		switch {
		case kind == other || kind == unspaced || before == other || before == unspaced || i == 0 || coloured[i]:
			t.edges[start] = outer
		case kind == underscore || before == underscore || splits(before, kind, at(runes, i+1)):
			t.edges[start] = part
		}
		folded := fold(string(r))
		b.WriteString(folded)
		switch kind {
		case other:
			open = false
		case unspaced:
			t.runs, open = append(t.runs, []string{folded}), false
		default:
			if !open || coloured[i] {
				t.runs, open = append(t.runs, []string{""}), true
			}
			run := &t.runs[len(t.runs)-1]
			if t.edges[start] == part && (*run)[len(*run)-1] != "" {
				*run = append(*run, "")
			}
			if kind != underscore {
				(*run)[len(*run)-1] += folded
			}
		}
		t.edges[b.Len()] = within
		if next := at(runes, i+1); next == other || next == unspaced || kind == other || kind == unspaced {
			t.edges[b.Len()] = outer
		}
	}
	for i, run := range t.runs {
		t.runs[i] = slices.DeleteFunc(run, func(s string) bool { return s == "" })
	}
	t.folded = b.String()
	return t
}

func at(runes []rune, i int) sort {
	if i < 0 || i >= len(runes) {
		return other
	}
	return sortOf(runes[i])
}

// splits reports whether a capital begins a part of an identifier: aB, ABc, 1Bc.
func splits(before, kind, after sort) bool {
	return kind == capital && (before == small || after == small)
}

// parsed is newText for texts of queries, which meet many parts.
var parsed = memo(newText)

func memo[V any](f func(string) V) func(string) V {
	var known sync.Map
	return func(s string) V {
		v, ok := known.Load(s)
		if !ok {
			v, _ = known.LoadOrStore(s, f(s))
		}
		return v.(V)
	}
}

// phrase says whether the text contains a phrase: surely if it begins and ends where words do.
func (t *text) phrase(needle string) Verdict {
	needle = strings.TrimSpace(parsed(needle).folded)
	found := Not
	for from := 0; needle != ""; {
		i := strings.Index(t.folded[from:], needle)
		if i < 0 {
			break
		}
		start := from + i
		if t.edges[start] == outer && t.edges[start+len(needle)] == outer {
			return Must
		}
		found, from = May, start+1
	}
	return found
}

// word says whether the text contains a word of letters, digits and underscores: as a word, as
// a part of an identifier, or as an identifier in any spelling.
func (t *text) word(w string) Verdict {
	runs := parsed(w).runs
	if len(runs) != 1 || len(runs[0]) == 0 {
		return t.phrase(w)
	}
	parts, squeezed := runs[0], strings.Join(runs[0], "")
	found := Not
	for _, run := range t.runs {
		whole := strings.Join(run, "")
		switch {
		case whole == squeezed, len(parts) == 1 && slices.Contains(run, squeezed):
			found = Must
		case found == Not && (strings.Contains(whole, squeezed) || slices.ContainsFunc(append(run, whole), func(term string) bool { return similar(squeezed, term) })):
			found = May
		}
	}
	switch {
	case strings.Trim(w, "_") != w || strings.Contains(w, "__"):
		return max(t.phrase(w), min(May, found)) // odd spellings may be compared as they are
	case found == Not && (len(parts) == 1 || strings.Contains(t.folded, "\x1b")) && strings.Contains(squeeze(t.folded), squeezed):
		return May // it is split in two, or follows the code of a colour
	}
	return found
}

// begins says whether a word of the text, or a part of an identifier, begins with a stem.
func (t *text) begins(stem string) Verdict {
	stem = squeeze(fold(stem))
	for _, run := range t.runs {
		if strings.HasPrefix(strings.Join(run, ""), stem) || slices.ContainsFunc(run, func(p string) bool { return strings.HasPrefix(p, stem) }) {
			return Must
		}
	}
	if strings.Contains(squeeze(t.folded), stem) {
		return May
	}
	return Not
}

// near says whether a word of the text is a number of edits away from w.
func (t *text) near(w string, edits int) Verdict {
	w = squeeze(fold(w))
	found := Not
	for _, run := range t.runs {
		for _, term := range append([]string{strings.Join(run, "")}, run...) {
			switch d := distance(w, term); {
			case d == 0:
				return Must
			case d <= edits+1:
				found = May
			}
		}
	}
	return max(found, t.word(w))
}

// squeeze leaves letters and digits.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return r
		}
		return -1
	}, s)
}

// similar reports whether looser rules might take one word for another: it is a form of the
// word, longer, or misspelled.
func similar(a, b string) bool {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return same >= 2 && len(a)-same <= 4 && len(b)-same <= 4 || distance(a, b) <= 2
}

// distance is the number of edits between two words, up to 4; exchanging neighbours is one.
func distance(a, b string) int { return near.Distance(a, b, 3) }
