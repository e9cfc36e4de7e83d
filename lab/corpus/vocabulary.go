package corpus

import (
	_ "embed"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// wordList is the words and identifiers that at least two of this project's sources
// and pages have, the most frequent first, without what tests made up to find it
// again. It is not renewed when they change: the bytes of every corpus depend on it.
//
//go:embed words.txt
var wordList string

// vocabulary is the words that texts are made of: those of the list, and names and
// figures that are invented while a corpus grows. An invented one is known by its
// number alone, so that a text can be written again from the numbers.
type vocabulary struct {
	words  []string
	plain  []string // words without capitals, which compounds are made of
	table  [1 << 16]uint16
	grown  int64 // bytes of session files so far
	latest span  // the names and figures that the latest text brought
}

// span is the names and figures that a text may use.
type span struct{ names, figures numbers }

// numbers are the first that no text had before, and the first that this one does not know.
type numbers struct{ next, end int }

// draw returns a number: one that is new, as long as the text brings some, or one that is known.
func (n *numbers) draw(rng *rand.Rand) int {
	if n.next < n.end && rng.IntN(2) == 0 {
		n.next++
		return n.next - 1
	}
	return known(rng, max(1, n.end))
}

// Real sessions have about HeapsK·n^HeapsBeta distinct terms in n megabytes, by
// Heaps' law; docs/BENCHMARKS.md says of which files that is.
const (
	HeapsK    = 4370
	HeapsBeta = 0.58
)

func newVocabulary() *vocabulary {
	v := &vocabulary{words: strings.Fields(wordList)}
	for _, w := range v.words {
		if len(w) > 2 && len(w) < 10 && strings.ToLower(w) == w {
			v.plain = append(v.plain, w)
		}
	}
	// Zipf's law, with a head as flat as that of real sessions.
	weights, sum := make([]float64, len(v.words)), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+12), -1.1)
		sum += weights[i]
	}
	at, until := 0, 0.0
	for i, w := range weights {
		until += w / sum * float64(len(v.table))
		for ; at < len(v.table) && float64(at) < until; at++ {
			v.table[at] = uint16(i)
		}
	}
	return v
}

// frequent draws a word of the list, each as often as texts have it.
func (v *vocabulary) frequent(rng *rand.Rand) string { return v.words[v.table[rng.Uint64()&0xffff]] }

// about returns the word that a text about the topic has in place of one of the list:
// beyond the most frequent ones, a topic has one of eight.
func (v *vocabulary) about(word int, topic uint64) int {
	const common, group = 256, 8
	if word < common {
		return word
	}
	return min(word-word%group+int(mix(word/group, topic)%group), len(v.words)-1)
}

// invented is how many names and figures there are in so many bytes of session
// files: what Heaps' law leaves beside the list and small numbers, and a little more,
// because some are never drawn.
func invented(size int64) float64 {
	mb := float64(size) / 1e6
	return max(0, 1.16*(HeapsK*math.Pow(mb, HeapsBeta)-13500*mb/(mb+2.2)))
}

// invent returns the span of a new text of this size.
func (v *vocabulary) invent(size int) span {
	s := span{numbers{v.latest.names.end, v.latest.names.end}, numbers{v.latest.figures.end, v.latest.figures.end}}
	if size >= 100 {
		const nameShare = 0.68
		n := invented(v.grown + int64(size))
		s.names.end = max(s.names.end, int(n*nameShare))
		s.figures.end = max(s.figures.end, int(n*(1-nameShare)))
		v.latest = s
	}
	return s
}

// mix makes a number random.
func mix(i int, salt uint64) uint64 {
	z := uint64(i)*0x9e3779b97f4a7c15 + salt
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// name appends the name of this number: an identifier, a new word, or one of a
// script written without spaces.
func (v *vocabulary) name(buf []byte, i int) []byte {
	h := mix(i, 1)
	pick := func() string {
		h = mix(int(h>>1), 2)
		return v.plain[h%uint64(len(v.plain))]
	}
	switch k := h % 100; {
	case k < 34: // the head of a word and the tail of another
		a, b := pick(), pick()
		buf = append(buf, a[:min(len(a), 2+int(h>>20%4))]...)
		return append(buf, b[max(0, len(b)-2-int(h>>24%5)):]...)
	case k < 44:
		buf = append(buf, pick()...)
		return strconv.AppendUint(buf, h>>20%200, 10)
	case k < 80:
		buf = append(buf, pick()...)
		for range 1 + h>>20%2 {
			buf = title(buf, pick())
		}
		return buf
	case k < 97:
		buf = append(buf, pick()...)
		for range 1 + h>>20%2 {
			buf = append(append(buf, '_'), pick()...)
		}
		return buf
	default:
		buf = utf8.AppendRune(buf, rune(0x4e00+h>>8%0x1200))
		return utf8.AppendRune(buf, rune(0x4e00+h>>32%0x400))
	}
}

// figure appends the figure of this number: a hash, or a number with many digits.
func (v *vocabulary) figure(buf []byte, i int) []byte {
	h := mix(i, 3)
	switch h % 5 {
	case 0, 1:
		n := [...]int{7, 8, 12, 40}[h>>8%4]
		for j := range n {
			buf = append(buf, hexDigits[mix(j, h)&15])
		}
		return buf
	default:
		return strconv.AppendUint(buf, h>>16%[...]uint64{1e4, 1e5, 1e6, 1e7}[h>>8%4], 10)
	}
}

// title appends a word with a capital.
func title(buf []byte, w string) []byte {
	buf = append(buf, w...)
	if c := &buf[len(buf)-len(w)]; 'a' <= *c && *c <= 'z' {
		*c -= 'a' - 'A'
	}
	return buf
}

// known draws one of the first n. Most draws fall on the earliest, which everybody
// uses; of the others few are used again, and that soon.
func known(rng *rand.Rand, n int) int {
	const settled, near = 1500, 60
	r := rng.Uint64()
	switch k := r & 31; {
	case k == 0 && n > near:
		return n - 1 - int(r>>8%near)
	case k > 4:
		n = min(n, settled)
	}
	// By Zipf's law, but for the first ones.
	const head = 6
	shift := r >> 5 & 31 % uint64(max(1, bits.Len(uint(n))-head))
	return int(r >> 10 % uint64(max(1, n>>shift)))
}
