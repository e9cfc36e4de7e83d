package literal

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// A run is what a prefilter looks for if an expression has no literal for it: every match
// of [0-9a-f]{40} has 40 bytes in a row that are digits or letters from a to f. Most places
// are ruled out by one byte in 40.
type run struct {
	in     [256]bool
	length int
}

// minRun is the least length of a run. Shorter ones are in most lines, and may be in what
// the adapter inserts into the text of a call: indexes of array elements.
const minRun = 12

// longestRun returns the longest run that every match of the expression has, nil if none
// is long enough. Like the pieces of jsonPiece it is in raw JSON byte by byte if it is in
// a decoded text.
func longestRun(re *syntax.Regexp) (best *run) {
	r := &run{}
	if n, ok := r.add(re); ok && n >= minRun {
		r.length, best = n, r
	}
	if re.Op == syntax.OpConcat || re.Op == syntax.OpCapture || re.Op == syntax.OpPlus {
		for _, sub := range re.Sub {
			if r := longestRun(sub); r != nil && (best == nil || r.length > best.length) {
				best = r
			}
		}
	}
	return best
}

// add adds the characters of all matches of an expression, and returns how many the
// shortest one has, or fewer. ok is false if some are not wanted in a run.
func (r *run) add(re *syntax.Regexp) (least int, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary,
		syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return 0, true
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			if !r.addRange(c, c) {
				return 0, false
			}
			for f := unicode.SimpleFold(c); re.Flags&syntax.FoldCase != 0 && f != c; f = unicode.SimpleFold(f) {
				r.addRange(f, f)
			}
		}
		return min(len(re.Rune), maxLiteral), true
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if !r.addRange(re.Rune[i], re.Rune[i+1]) {
				return 0, false
			}
		}
		return 1, true
	case syntax.OpConcat, syntax.OpAlternate:
		for i, sub := range re.Sub {
			n, ok := r.add(sub)
			switch {
			case !ok:
				return 0, false
			case i == 0:
				least = n
			case re.Op == syntax.OpConcat:
				least = min(least+n, maxLiteral)
			default:
				least = min(least, n)
			}
		}
		return least, true
	case syntax.OpCapture, syntax.OpPlus:
		return r.add(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		_, ok := r.add(re.Sub[0])
		return 0, ok
	case syntax.OpRepeat:
		n, ok := r.add(re.Sub[0])
		return min(n*re.Min, maxLiteral), ok
	}
	return 0, false // any character, and future operators
}

// addRange adds characters. It reports whether all of them are wanted.
func (r *run) addRange(first, last rune) bool {
	for c := first; c <= last; c++ {
		if c >= utf8.RuneSelf {
			for b := utf8.RuneSelf; b < len(r.in) && !r.in[len(r.in)-1]; b++ {
				r.in[b] = true
			}
			break
		}
		if c == ' ' || !isPlain(c) {
			return false
		}
		r.in[c] = true
	}
	return true
}

// nextRun returns the offset of the first run at or after from, len(text) if there is none.
func (r *run) nextRun(text []byte, from int) int {
	for from+r.length <= len(text) {
		i := from + r.length - 1
		for i >= from && r.in[text[i]] {
			i--
		}
		if i < from {
			return from
		}
		from = i + 1
	}
	return len(text)
}

func (r *run) prefilter(json bool) *Prefilter {
	return &Prefilter{
		Finders: []Finder{{run: r}}, Longest: max(r.length, len(`\u0000`)), nonASCII: r.in[utf8.RuneSelf], json: json,
	}
}
