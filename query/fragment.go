package query

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pigrep/index/analysis"
)

const (
	fragmentBytes = 200  // of a fragment, without the dots
	aroundBytes   = 600  // read on each side of the matches, enough for white space that goes
	maxMatches    = 5000 // looked at in one text
	wordBytes     = 24   // given up to cut between words
)

const dots = "…"

// A match is a place in a text where a word of the query was found.
type match struct {
	start, end int
	plan       int
	part       int    // of a compound of which it is a part; -1 for the whole word
	term       string // "" for a compound found whole
	weight     float64
}

// use is one way in which a term of the index serves a word.
type use struct {
	plan   int
	part   int // -1: it stands for all of the word
	weight float64
}

// highlighter finds the words of a query in texts.
type highlighter struct {
	analyzer analysis.Analyzer
	plans    []*plan
	uses     map[string][]use
	lengths  [256]uint64 // of the terms of uses by their first byte, a bit each: most words are told apart by that
	typed    []string    // of each plan, folded
	gate     gate        // of the terms of uses
}

func newHighlighter(plans []*plan) *highlighter {
	h := &highlighter{plans: plans, uses: map[string][]use{}, typed: make([]string, len(plans)), gate: newGate()}
	for i, p := range plans {
		if !p.scored {
			continue
		}
		h.typed[i] = analysis.Fold(trimProse(p.text))
		for _, x := range p.terms {
			h.uses[x.term] = append(h.uses[x.term], use{i, -1, x.weight * x.idf})
		}
		if p.match == Phrase && p.verify {
			continue
		}
		for k, part := range p.parts {
			u := use{i, k, weightSome * p.allIDF * p.partIDF[k] / p.partSum}
			h.uses[part] = append(h.uses[part], u)
			if p.partsToo != nil {
				for _, o := range p.partsToo[k] {
					h.uses[o] = append(h.uses[o], u)
				}
			}
		}
	}
	for term := range h.uses {
		h.lengths[term[0]] |= lengthBit(len(term))
		h.gate.add(term)
	}
	return h
}

// lengthBit has a bit for each length, and one for all that are longer.
func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// matches returns where the words of the query are in the text, in order. exact
// has the words that are there as typed.
func (h *highlighter) matches(text []byte) (list []match, exact uint64) {
	whole := uint64(0)
	var folded *analysis.Folded
	var simple []byte // the folded text in simplified characters
	for i, p := range h.plans {
		if !p.verify || p.spell || !p.scored {
			continue
		}
		if p.find != nil {
			for _, s := range p.find.spans(&h.analyzer, text) {
				list = append(list, match{start: s[0], end: s[1], plan: i, part: -1, weight: max(1, p.wholeIDF)})
			}
			whole |= p.bit
			continue
		}
		if folded == nil {
			folded = h.analyzer.FoldText(text)
		}
		for from := 0; len(list) < maxMatches; {
			start, end, ok := p.needle.find(folded.Text, from)
			if !ok && p.needle.han && len(simple) == 0 {
				simple = bytes.Clone(folded.Text)
				simplify(simple)
			}
			if !ok && p.needle.han {
				start, end, ok = p.needle.find(simple, from)
			}
			if !ok {
				break
			}
			from = end
			whole |= p.bit
			m := match{plan: i, part: -1, weight: max(1, p.wholeIDF)}
			m.start, m.end = folded.Source(start, end)
			list = append(list, m)
		}
	}
	exact = whole
	from := 0
	token := func(t analysis.Token) {
		if h.lengths[t.Term[0]]&lengthBit(len(t.Term)) == 0 {
			return
		}
		uses := h.uses[string(t.Term)]
		if len(uses) == 0 || len(list) >= maxMatches {
			return
		}
		start, end := from+t.Start, from+t.End
		for _, u := range uses {
			p := h.plans[u.plan]
			if whole&p.bit != 0 {
				continue // parts of a compound that is there whole are no matches
			}
			if exact&p.bit == 0 && analysis.Fold(string(text[start:end])) == h.typed[u.plan] {
				exact |= p.bit
			}
			list = append(list, match{start, end, u.plan, u.part, string(t.Term), u.weight})
		}
	}
	h.gate.pieces(text, func(start, end int) {
		from = start
		h.analyzer.Walk(text[start:end], token)
	})
	slices.SortStableFunc(list, func(a, b match) int { return cmp.Compare(a.start, b.start) })
	return list, exact
}

// fragment returns the piece of the text around the best matches.
func fragment(text []byte, matches []match) Fragment {
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
	var shown []match
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
func cluster(matches []match) (first, last int) {
	type key struct {
		plan int
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
			if k := (key{m.plan, m.term}); seen[k] {
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
func disjoint(in []match) []match {
	slices.SortStableFunc(in, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), cmp.Compare(a.start, b.start))
	})
	var kept []match // in order
	for _, m := range in {
		i, _ := slices.BinarySearchFunc(kept, m.start, func(k match, start int) int { return cmp.Compare(k.start, start) })
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

// hasText reports whether there is anything but white space; it looks at a
// little of it only.
func hasText(b []byte) bool {
	b = b[:min(len(b), 4096)]
	return len(strings.TrimSpace(string(b))) > 0
}

// A line is the memory of a text on one line.
type line struct {
	text []byte
	at   []int
}

var lines = sync.Pool{New: func() any { return new(line) }}

// of writes a text on one line: every run of white space is a space, control
// characters and terminal sequences go, and so do marks that turn the direction of
// writing. at maps each offset of the text, its end included, to one of the line.
// Both are valid until the next call.
func (l *line) of(text []byte) (line []byte, at []int) {
	line = slices.Grow(l.text[:0], len(text))
	at = slices.Grow(l.at[:0], len(text)+1)[:len(text)+1]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == 0x1b {
			size = escapeLength(text[i:])
		}
		for k := range size {
			at[i+k] = len(line)
		}
		i += size
		switch {
		case unicode.IsSpace(r):
			if n := len(line); n > 0 && line[n-1] != ' ' {
				line = append(line, ' ')
			}
		case unicode.IsControl(r) || isDirection(r):
		default:
			line = utf8.AppendRune(line, r)
		}
	}
	at[len(text)] = len(line)
	l.text, l.at = line, at
	return line, at
}

// escapeLength returns the length of the terminal sequence that begins a text.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 1
	}
	switch text[1] {
	case '[': // parameters, then a letter
		for i := 2; i < len(text) && i < 64; i++ {
			if c := text[i]; 0x40 <= c && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x3f {
				break
			}
		}
	case ']': // up to a bell or ESC \
		for i := 2; i < len(text) && i < 512; i++ {
			if text[i] == 7 {
				return i + 1
			}
			if text[i] == 0x1b {
				return min(i+2, len(text))
			}
			if text[i] < 0x20 {
				break
			}
		}
	}
	return 1
}

func isDirection(r rune) bool {
	return 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C || r == 0xFEFF
}

// isBoundary reports whether a text may be cut before offset i without parting
// what is shown as one character. It knows marks, joined and coloured emoji,
// flags and Hangul letters, and is careful with the rest.
func isBoundary(text []byte, i int) bool {
	if i <= 0 || i >= len(text) {
		return true
	}
	if !utf8.RuneStart(text[i]) {
		return false
	}
	r, _ := utf8.DecodeRune(text[i:])
	before, _ := utf8.DecodeLastRune(text[:i])
	switch {
	case r < utf8.RuneSelf:
		return true
	case unicode.IsMark(r), r == 0x200D, before == 0x200D, 0x1F3FB <= r && r <= 0x1F3FF, 0xE0020 <= r && r <= 0xE007F:
		return false
	case 0x1160 <= r && r <= 0x11FF:
		return false
	case isFlag(r) && isFlag(before):
		n := 0
		for at := i; at > 0; n++ {
			b, size := utf8.DecodeLastRune(text[:at])
			if !isFlag(b) {
				break
			}
			at -= size
		}
		return n%2 == 0
	}
	return true
}

func isFlag(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }
