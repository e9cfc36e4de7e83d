package match

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
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
	memory := lines.Get().(*LineBuffer)
	defer lines.Put(memory)
	clean, at := memory.Flatten(text[from:to])
	lo, hi := fragmentBounds(clean, at[start-from], at[end-from])
	before := lo > 0 || hasText(text[:from])
	after := hi < len(clean) || hasText(text[to:])
	for lo < hi && clean[lo] == ' ' {
		lo++
	}
	for lo < hi && clean[hi-1] == ' ' {
		hi--
	}

	var b strings.Builder
	if before {
		b.WriteString(Ellipsis + " ")
	}
	shift := b.Len() - lo
	b.Write(clean[lo:hi])
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
		x, y := max(at[m.Start-from], lo), min(at[m.End-from], hi)
		for x < y && clean[x] == ' ' {
			x++
		}
		for x < y && clean[y-1] == ' ' {
			y--
		}
		if x < y {
			f.Spans = append(f.Spans, [2]int{x + shift, y + shift})
		}
	}
	return f
}

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
func fragmentBounds(line []byte, start, end int) (lo, hi int) {
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
		if i := indexSpace(line, lo-1, near); i >= 0 {
			lo = i + 1
		} else if i := lastIndexSpace(line, max(0, lo-WordSlack), lo); i >= 0 {
			lo = i + 1
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
		if i := lastIndexSpace(line, near, hi+1); i >= 0 {
			hi = i
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

func indexSpace(line []byte, from, to int) int {
	for i := from; i < to; i++ {
		if line[i] == ' ' {
			return i
		}
	}
	return -1
}

func lastIndexSpace(line []byte, from, to int) int {
	for i := min(to, len(line)) - 1; i >= from; i-- {
		if line[i] == ' ' {
			return i
		}
	}
	return -1
}

// A Fragment is the piece of a text that is shown: one line without control
// characters, with "… " and " …" where it was cut.
type Fragment struct {
	Text  string   `json:"text" redact:"-"`
	Spans [][2]int `json:"spans,omitempty"` // matches [start, end) in Text, ascending and disjoint
}
