package match

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"pigrep/internal/terminal"
)

const (
	FragmentBytes = 200  // length of a fragment, without the ellipses
	ContextBytes  = 600  // read on each side of the matches; white space in it shrinks
	maxMatches    = 5000 // of one text
	WordSlack     = 24   // bytes that a fragment may be shorter or longer to end between words
)

// Ellipsis marks where a fragment was cut.
const Ellipsis = "…"

func NewFragment(text []byte, matches []Span) Fragment {
	first, last := BestCluster(matches)
	start, end := 0, 0
	if first <= last {
		start, end = matches[first].Start, matches[first].End
		for _, m := range matches[first : last+1] {
			end = max(end, m.End)
		}
	}
	from, to := max(0, start-ContextBytes), min(len(text), end+ContextBytes)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	memory := offsets.Get().(*[]int)
	defer offsets.Put(memory)
	*memory = slices.Grow((*memory)[:0], to-from+1)
	at := (*memory)[:to-from+1]
	line := terminal.Flatten(string(text[from:to]), at)
	lo, hi := fragmentBounds(line, at[start-from], at[end-from])
	before := lo > 0 || hasText(text[:from])
	after := hi < len(line) || hasText(text[to:])
	lo, hi = trimmed(line, lo, hi)

	var b strings.Builder
	if before {
		b.WriteString(Ellipsis + " ")
	}
	shift := b.Len() - lo
	b.WriteString(line[lo:hi])
	if after {
		b.WriteString(" " + Ellipsis)
	}
	f := Fragment{Text: b.String()}
	var shown []Span
	for _, m := range matches {
		// A match that is cut is marked only if it is one of the best.
		if from <= m.Start && m.End <= to && (start <= m.Start && m.End <= end || lo <= at[m.Start-from] && at[m.End-from] <= hi) {
			shown = append(shown, m)
		}
	}
	for _, m := range disjoint(shown) {
		x, y := trimmed(line, max(at[m.Start-from], lo), min(at[m.End-from], hi))
		if x < y {
			f.Spans = append(f.Spans, [2]int{x + shift, y + shift})
		}
	}
	return f
}

// offsets is the memory for the places of a text in a line.
var offsets = sync.Pool{New: func() any { return new([]int) }}

// trimmed returns the bounds of line[lo:hi] without spaces at its ends.
func trimmed(line string, lo, hi int) (int, int) {
	for lo < hi && line[lo] == ' ' {
		lo++
	}
	for lo < hi && line[hi-1] == ' ' {
		hi--
	}
	return lo, hi
}

// hasText reports whether the first 4096 bytes have anything but white space.
func hasText(b []byte) bool { return len(bytes.TrimSpace(b[:min(len(b), 4096)])) > 0 }

// BestCluster returns the indexes of the first and last of the matches that fit into
// one fragment and have the highest total weight. A word that comes again counts
// 1/50.
func BestCluster(matches []Span) (first, last int) {
	type key struct {
		word int
		term string
	}
	first, last = 0, -1
	best := 0.0
	seen := map[key]bool{}
	for i := range matches {
		clear(seen)
		sum := 0.0
		for j := i; j < len(matches) && (j == i || matches[j].End-matches[i].Start <= FragmentBytes); j++ {
			m := &matches[j]
			if k := (key{m.Word, m.term}); seen[k] {
				sum += m.weight / 50
			} else {
				seen[k] = true
				sum += m.weight
			}
			if sum > best*1.0001 {
				best, first, last = sum, i, j
			}
		}
	}
	return first, last
}

// disjoint drops the matches that overlap a longer one or, of the same length, an
// earlier one.
func disjoint(in []Span) []Span {
	slices.SortStableFunc(in, func(a, b Span) int {
		return cmp.Or(cmp.Compare(b.End-b.Start, a.End-a.Start), cmp.Compare(a.Start, b.Start))
	})
	var kept []Span // in order
	for _, m := range in {
		i, _ := slices.BinarySearchFunc(kept, m.Start, func(k Span, start int) int { return cmp.Compare(k.Start, start) })
		if (i > 0 && kept[i-1].End > m.Start) || (i < len(kept) && kept[i].Start < m.End) {
			continue
		}
		kept = slices.Insert(kept, i, m)
	}
	return kept
}

// fragmentBounds returns the bytes [lo, hi) of a line to show: the matches [start,
// end) in the middle, cut between words if WordSlack allows it, and never inside of
// a grapheme cluster.
func fragmentBounds(line string, start, end int) (lo, hi int) {
	margin := max(0, FragmentBytes-(end-start)) / 2
	lo, hi = start-margin, start-margin+max(FragmentBytes, 2*margin+min(end-start, FragmentBytes))
	if over := hi - len(line); over > 0 {
		lo, hi = lo-over, len(line)
	}
	if lo < 0 {
		lo, hi = 0, min(len(line), hi-lo)
	}
	if lo > 0 {
		near := min(lo+WordSlack, start)
		least := max(0, lo-WordSlack)
		if i := strings.IndexByte(line[lo-1:near], ' '); i >= 0 {
			lo += i
		} else if i := strings.LastIndexByte(line[least:lo], ' '); i >= 0 {
			lo = least + i + 1
		} else {
			for lo < near && !IsBoundary(line, lo) {
				lo++
			}
			for lo > 0 && !IsBoundary(line, lo) {
				lo--
			}
		}
	}
	if hi < len(line) {
		near := max(hi-WordSlack, min(end, hi), lo)
		if i := strings.LastIndexByte(line[near:hi+1], ' '); i >= 0 {
			hi = near + i
		} else {
			for hi > near && !IsBoundary(line, hi) {
				hi--
			}
			for hi < len(line) && !IsBoundary(line, hi) {
				hi++
			}
		}
	}
	return lo, hi
}

// IsBoundary reports whether a line may be cut before offset i: no grapheme cluster,
// which is what people see as one character, reaches across it.
func IsBoundary(line string, i int) bool {
	if i <= 0 || i >= len(line) {
		return true
	}
	clusters := graphemes.FromString(line)
	for clusters.Next() {
		if end := clusters.End(); end >= i {
			return end == i
		}
	}
	return true
}

// A Fragment is the piece of a text that is shown: one line without control
// characters, with "… " and " …" where it was cut.
type Fragment struct {
	Text  string   `json:"text" redact:"-"`
	Spans [][2]int `json:"spans,omitempty"` // matches [start, end) in Text, ascending and disjoint
}
