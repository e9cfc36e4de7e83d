package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	fragmentBytes = 200  // of a fragment, without the dots
	aroundBytes   = 600  // read on each side of the matches, enough for white space that goes
	maxMatches    = 5000 // looked at in one text
	wordBytes     = 24   // given up to cut between words
)

const dots = "…"

// fragment returns the piece of the text around the best matches.
func fragment(text []byte, matches []span) Fragment {
	first, last := cluster(matches)
	start, end := 0, 0
	if first <= last {
		start, end = matches[first].start, matches[first].end
		for _, m := range matches[first : last+1] {
			end = max(end, m.end)
		}
	}
	from, to := max(0, start-aroundBytes), min(len(text), end+aroundBytes)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	memory := lines.Get().(*line)
	defer lines.Put(memory)
	clean, at := memory.of(text[from:to])
	lo, hi := cutAround(clean, at[start-from], at[end-from])
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
		b.WriteString(dots + " ")
	}
	shift := b.Len() - lo
	b.Write(clean[lo:hi])
	if after {
		b.WriteString(" " + dots)
	}
	f := Fragment{Text: b.String()}
	var shown []span
	for _, m := range matches {
		// One that is cut is shown only if the fragment is made for it.
		if from <= m.start && m.end <= to && (start <= m.start && m.end <= end || lo <= at[m.start-from] && at[m.end-from] <= hi) {
			shown = append(shown, m)
		}
	}
	for _, m := range disjoint(shown) {
		x, y := max(at[m.start-from], lo), min(at[m.end-from], hi)
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

// cluster returns the run of matches that fits into a fragment and holds the
// most weight, a word that comes again counted little.
func cluster(matches []span) (first, last int) {
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
		for j := i; j < len(matches) && (j == i || matches[j].end-matches[i].start <= fragmentBytes); j++ {
			m := &matches[j]
			if k := (key{m.word, m.term}); seen[k] {
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

// disjoint returns the matches without those that overlap a longer one, or one
// before it.
func disjoint(in []span) []span {
	slices.SortStableFunc(in, func(a, b span) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), cmp.Compare(a.start, b.start))
	})
	var kept []span // in order
	for _, m := range in {
		i, _ := slices.BinarySearchFunc(kept, m.start, func(k span, start int) int { return cmp.Compare(k.start, start) })
		if (i > 0 && kept[i-1].end > m.start) || (i < len(kept) && kept[i].start < m.end) {
			continue
		}
		kept = slices.Insert(kept, i, m)
	}
	return kept
}

// cutAround chooses what is shown of a line: the matches [start, end) in the
// middle, cut between words where there is one near, and never inside a
// character as people see it.
func cutAround(line []byte, start, end int) (lo, hi int) {
	margin := max(0, fragmentBytes-(end-start)) / 2
	lo, hi = start-margin, start-margin+max(fragmentBytes, 2*margin+min(end-start, fragmentBytes))
	if over := hi - len(line); over > 0 {
		lo, hi = lo-over, len(line)
	}
	if lo < 0 {
		lo, hi = 0, min(len(line), hi-lo)
	}
	if lo > 0 {
		near := min(lo+wordBytes, start)
		if i := indexSpace(line, lo-1, near); i >= 0 {
			lo = i + 1
		} else if i := lastIndexSpace(line, max(0, lo-wordBytes), lo); i >= 0 {
			lo = i + 1
		} else {
			for lo < near && !isBoundary(line, lo) {
				lo++
			}
			for lo > 0 && !isBoundary(line, lo) {
				lo--
			}
		}
	}
	if hi < len(line) {
		near := max(hi-wordBytes, min(end, hi), lo)
		if i := lastIndexSpace(line, near, hi+1); i >= 0 {
			hi = i
		} else {
			for hi > near && !isBoundary(line, hi) {
				hi--
			}
			for hi < len(line) && !isBoundary(line, hi) {
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

// Fragment is the piece of a document's text that is shown: one line, without
// control characters, with "… " and " …" where it was cut.
type Fragment struct {
	Text  string   `json:"text"`
	Spans [][2]int `json:"spans,omitempty"` // matched bytes of Text, [start, end), in order, not overlapping
}
