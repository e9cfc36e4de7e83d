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
	ContextBytes  = 600  // read on each side of a match that is shown; white space in it shrinks
	maxMatches    = 5000 // of one text
	longToken     = 24   // bytes from which on a word may be cut
	slight        = .1   // share of the weight of the heaviest match: a word with less gets no place of its own
)

// Ellipsis marks where a fragment was cut.
const Ellipsis = "…"

// NewFragment returns the fragment of a text that shows the chosen matches, which Choose
// returns, and marks every match in it.
func NewFragment(text []byte, chosen, matches []Span) Fragment {
	memory := offsets.Get().(*[]int)
	defer offsets.Put(memory)
	x := newExtract(text, chosen, (*memory)[:0])
	*memory = x.offsets

	musts := make([][2]int, 0, len(chosen))
	for _, m := range chosen {
		start, end := x.place(m)
		musts = append(musts, x.tokensOf(start, end))
	}
	f := Fragment{}
	var b strings.Builder
	pieces := Excerpt(x.tokens, musts, FragmentBytes, 0)
	for i, piece := range pieces {
		lo, hi := trimmed(x.line, x.starts[piece[0]], x.starts[piece[1]])
		switch {
		case i > 0:
			b.WriteString(" " + Ellipsis + " ")
		case piece[0] > 0 || x.before:
			b.WriteString(Ellipsis + " ")
		}
		shift := b.Len() - lo
		b.WriteString(x.line[lo:hi])
		var shown []Span
		for _, m := range matches {
			start, end := x.place(m)
			// A match that is cut is marked only if it was chosen.
			if start < end && (lo <= start && end <= hi || start < hi && lo < end && slices.Contains(chosen, m)) {
				shown = append(shown, m)
			}
		}
		for _, m := range disjoint(shown) {
			start, end := x.place(m)
			if start, end = trimmed(x.line, max(start, lo), min(end, hi)); start < end {
				f.Spans = append(f.Spans, [2]int{start + shift, end + shift})
			}
		}
	}
	if n := len(pieces); n > 0 && pieces[n-1][1] < len(x.tokens) || x.after {
		b.WriteString(" " + Ellipsis)
	}
	f.Text = b.String()
	return f
}

// An extract is the surroundings of the chosen matches of a text, as one line.
type extract struct {
	line          string
	tokens        []int // their lengths
	starts        []int // where each token begins in line, and where the last one ends
	parts         []extractPart
	offsets       []int // where each byte of the parts is in line
	before, after bool  // the text has more on that side
}

// An extractPart is text[from:to]; at is where its offsets begin in extract.offsets.
type extractPart struct{ from, to, at int }

func newExtract(text []byte, chosen []Span, memory []int) *extract {
	x := &extract{offsets: memory}
	for _, m := range chosen {
		x.parts = append(x.parts, extractPart{from: max(0, m.Start-ContextBytes), to: min(len(text), m.End+ContextBytes)})
	}
	if len(chosen) == 0 {
		x.parts = append(x.parts, extractPart{to: min(len(text), ContextBytes)})
	}
	slices.SortFunc(x.parts, func(a, b extractPart) int { return cmp.Compare(a.from, b.from) })
	joined := x.parts[:1]
	for _, p := range x.parts[1:] {
		if last := &joined[len(joined)-1]; p.from <= last.to {
			last.to = max(last.to, p.to)
		} else {
			joined = append(joined, p)
		}
	}
	x.parts = joined
	for i := range x.parts {
		p := &x.parts[i]
		for p.from > 0 && !utf8.RuneStart(text[p.from]) {
			p.from--
		}
		for p.to < len(text) && !utf8.RuneStart(text[p.to]) {
			p.to++
		}
		p.at = len(x.offsets)
		x.offsets = slices.Grow(x.offsets, p.to-p.from+1)[:p.at+p.to-p.from+1]
		if i > 0 {
			x.line += " "
		}
		line := terminal.Flatten(string(text[p.from:p.to]), x.offsets[p.at:])
		for k := range x.offsets[p.at:] {
			x.offsets[p.at+k] += len(x.line)
		}
		x.addTokens(line)
	}
	x.starts = append(x.starts, len(x.line))
	x.before = hasText(text[:x.parts[0].from])
	x.after = hasText(text[x.parts[len(x.parts)-1].to:])
	return x
}

// addTokens appends the tokens of a line behind a token that is never shown: words, and pieces of long
// words. It never cuts a grapheme cluster, which is what people see as one character.
func (x *extract) addTokens(line string) {
	if len(x.tokens) > 0 {
		x.starts = append(x.starts, len(x.line)-1)
		x.tokens = append(x.tokens, FragmentBytes+1)
	}
	for at := 0; at < len(line); {
		end := len(line)
		if space := strings.IndexByte(line[at:], ' '); space >= 0 {
			end = at + space
		}
		if end-at > longToken {
			clusters, cut := graphemes.FromString(line[at:end]), 0
			for cut < longToken && clusters.Next() {
				cut = clusters.End()
			}
			end = at + cut
		}
		for end < len(line) && line[end] == ' ' {
			end++
		}
		x.starts = append(x.starts, len(x.line)+at)
		x.tokens = append(x.tokens, end-at)
		at = end
	}
	x.line += line
}

// place returns where a match is in the line; 0, 0 if the line does not have all of it.
func (x *extract) place(m Span) (start, end int) {
	for _, p := range x.parts {
		if p.from <= m.Start && m.End <= p.to {
			return x.offsets[p.at+m.Start-p.from], x.offsets[p.at+m.End-p.from]
		}
	}
	return 0, 0
}

// tokensOf returns the tokens that have line[start:end].
func (x *extract) tokensOf(start, end int) [2]int {
	from, found := slices.BinarySearch(x.starts, start)
	if !found {
		from--
	}
	to, _ := slices.BinarySearch(x.starts, end)
	return [2]int{min(from, len(x.tokens)), min(max(to, from+1), len(x.tokens))}
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

// Choose returns the matches that a fragment must show, the heaviest first: one for each
// word, and for each part of a compound. It takes those of the best cluster that fits into
// the room; for words outside of it, the matches nearest to the cluster.
func Choose(matches []Span, room int) (chosen []Span) {
	first, last := bestCluster(matches, room)
	if first > last {
		return nil
	}
	heaviest := slices.MaxFunc(matches[first:last+1], func(a, b Span) int { return cmp.Compare(a.Weight, b.Weight) })
	type key struct{ word, part int }
	places := map[key]int{} // in chosen
	for i, within := range [][]Span{matches[first : last+1], matches} {
		near := len(chosen)
		for _, m := range within {
			k := key{m.Word, m.Part}
			at, ok := places[k]
			switch {
			case ok && (at < near || distance(m, heaviest) >= distance(chosen[at], heaviest)):
			case ok:
				chosen[at] = m
			case i == 0 || m.Weight >= slight*heaviest.Weight:
				places[k] = len(chosen)
				chosen = append(chosen, m)
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b Span) int { return cmp.Compare(b.Weight, a.Weight) })
	return chosen
}

func distance(a, b Span) int { return max(a.Start-b.End, b.Start-a.End) }

// bestCluster returns the indexes of the first and last of the matches that fit into a
// room and have the highest total weight. A repeated word counts 1/50.
func bestCluster(matches []Span, room int) (first, last int) {
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
		for j := i; j < len(matches) && (j == i || matches[j].End-matches[i].Start <= room); j++ {
			m := &matches[j]
			if k := (key{m.Word, m.term}); seen[k] {
				sum += m.Weight / 50
			} else {
				seen[k] = true
				sum += m.Weight
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

// A Fragment is what is shown of a text: one line without control characters, with "…"
// where it was cut, and between its pieces.
type Fragment struct {
	Text  string   `json:"text" redact:"-" wire:"exact"`
	Spans [][2]int `json:"spans,omitempty"` // matches [start, end) in Text, ascending and disjoint
}
