package query

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/internal/session"
)

// How many bytes of session files may be read to verify, in the order of the
// scores. What is quoted or left out decides whether a document is a hit at all,
// other compounds where it stands, and the spelling of an identifier does so only
// a little.
const (
	verifyStrict   = 32 << 20
	verifyRegexp   = 16 << 20 // divided by the cost of the expressions
	verifyLoose    = 6 << 20
	verifySpelling = 1 << 20
)

// verifyRound is how many candidates at most are read side by side, those of a
// file one after the other.
const verifyRound = 1 << 10

// verify reads the candidates that may have a phrase or compound and settles
// whether they do. Without a budget left, a compound counts as found by its
// parts, and a phrase as not found.
func (s *searcher) verify() error {
	var list []int32
	for i, c := range s.found.all() {
		if c.pending && !c.dropped {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(i, j int32) int { return s.compare(s.found.at(i), s.found.at(j)) })

	budget, strict := verifySpelling, false
	cost := 0
	for _, p := range s.plans {
		if f, ok := p.find.(*expressionTest); ok {
			cost += f.cost
		}
		switch {
		case p.verify && p.strict():
			budget, strict = verifyStrict, true
		case p.verify && !p.spell:
			budget = max(budget, verifyLoose)
		}
	}
	if cost > 0 {
		budget = min(budget, verifyRegexp/cost)
	}
	if err := s.readCopiesOf(list); err != nil {
		return err
	}
	for len(list) > 0 && budget > 0 {
		round := list[:min(verifyRound, len(list))]
		lengths, err := s.resolveAll(round)
		if err != nil {
			return err
		}
		round = round[:affordable(lengths, budget)]
		list = list[len(round):]
		looks, err := s.lookAt(round, budget)
		if err != nil {
			return err
		}
		for k, i := range round {
			if budget -= looks[k].size; budget < 0 {
				looks[k] = look{} // it is beyond the budget, wherever rounds end
			}
			s.settle(s.found.at(i), &looks[k], strict)
		}
	}
	for _, i := range list {
		s.settle(s.found.at(i), &look{}, strict)
	}
	return nil
}

// affordable returns for how many lines of these lengths, where they are known, a
// budget is about enough; it is one at least.
func affordable(lengths []int64, budget int) int {
	for n, length := range lengths {
		if budget -= int(cmp.Or(length, firstRead)); budget < 0 {
			return n + 1
		}
	}
	return len(lengths)
}

// A look is what reading a candidate again told.
type look struct {
	known bool   // false: it was not read
	gone  bool   // it is not in the session file any more
	whole uint64 // the words that are there
	size  int    // of the line
}

// settle takes back what a candidate has not, as far as that is known.
func (s *searcher) settle(c *candidate, l *look, strict bool) {
	if l.gone {
		c.dropped = true
		s.changed.Add(1)
		return
	}
	for _, p := range s.plans {
		if p.verify && c.mask&p.bit != 0 && l.whole&p.bit == 0 {
			s.fallBack(c, p, l.known)
		}
	}
	s.inexact = s.inexact || strict && !l.known
	c.dropped = c.dropped || !s.judge.of(c.mask, c.weak).hit
}

// fallBack takes back that a candidate has a compound whole. known is false when
// that was not looked at.
func (s *searcher) fallBack(c *candidate, p *plan, known bool) {
	worth, ok := s.segs[c.segment].pendingOf(p, c.doc)
	if !ok {
		return
	}
	switch {
	case !p.scored:
		if known {
			c.mask &^= p.bit
		}
	case p.strict():
		c.mask &^= p.bit
		c.base -= worth.whole
	default:
		c.base -= worth.whole - worth.parts
		c.tier = max(c.tier, tierParts)
	}
	s.rate(c)
}

// lookAt reads candidates again. Entries of more bytes than most are left out.
func (s *searcher) lookAt(round []int32, most int) ([]look, error) {
	looks := make([]look, len(round))
	order := make([]int, len(round)) // of the candidates, those of an entry side by side
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := s.found.at(round[x]), s.found.at(round[y])
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset), cmp.Compare(x, y))
	})
	var entries [][]int
	for len(order) > 0 {
		first := s.found.at(round[order[0]])
		n := 1
		for n < len(order) && s.found.at(round[order[n]]).file == first.file && s.found.at(round[order[n]]).offset == first.offset {
			n++
		}
		entries = append(entries, order[:n])
		order = order[n:]
	}
	return looks, s.eachReader(len(entries), func(r *entryReader, k int) error {
		some := entries[k]
		first := s.found.at(round[some[0]])
		r.of(&s.files[first.file])
		r.most = most
		data, number, err := r.read(first.offset, s.lengthOf(first))
		if err == nil && !s.ruledOut(r, round, some, data) {
			err = r.parse(first, data, number, func(e *session.Entry) {
				for _, k := range some {
					looks[k].gone = int(s.found.at(round[k]).part) >= len(e.Parts)
					if !looks[k].gone {
						looks[k].whole = s.wholeIn(r, s.found.at(round[k]), e)
					}
				}
			})
		}
		for _, k := range some {
			looks[k].size = r.size
			looks[k].known = !errors.Is(err, errTooLong)
			looks[k].gone = looks[k].gone || errors.Is(err, errChanged)
		}
		return nil
	})
}

// wholeIn returns the words to be verified that a candidate has in its entry.
func (s *searcher) wholeIn(r *entryReader, c *candidate, e *session.Entry) (whole uint64) {
	v := partView{file: r.file, entry: e, part: int(c.part), folder: &r.folder, commands: &r.commands}
	for _, p := range s.plans {
		if p.verify && c.mask&p.bit != 0 && p.holds(&v) {
			whole |= p.bit
		}
	}
	return whole
}

// ruledOut reports whether the JSON of an entry tells without parsing that none of
// its candidates has a word that is to be verified.
func (s *searcher) ruledOut(r *entryReader, round []int32, some []int, data []byte) bool {
	words := uint64(0)
	for _, k := range some {
		words |= s.found.at(round[k]).mask
	}
	for _, p := range s.plans {
		if p.verify && words&p.bit != 0 && p.raw == nil {
			return false
		}
	}
	folded, ok := r.raw.fold(data)
	if !ok {
		return false
	}
	for _, p := range s.plans {
		if p.verify && words&p.bit != 0 && p.raw.may(folded) {
			return false
		}
	}
	return true
}

// holds reports whether a part has a word that has to be verified.
func (p *plan) holds(v *partView) bool {
	if p.find != nil {
		return p.find.holds(v)
	}
	text := v.fold()
	if p.needle.han {
		text = bytes.Clone(text)
		simplify(text)
	}
	_, _, ok := p.needle.find(text, 0)
	return ok
}

// folder folds texts for needles to be found in.
type folder struct {
	analyzer analysis.Analyzer
	buf      []byte
}

// plainASCII maps the ASCII characters but for white space and NUL to themselves,
// letters to lower case, and everything else to 0.
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

// fold returns what FoldText has as its text, faster: only what is not ASCII, and
// the character before it, which a mark may belong to, goes through FoldText.
// The result is valid until the next call.
func (f *folder) fold(text []byte) []byte {
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

// foldEight appends bytes of the text, folded, eight at a time, as long as these
// are ASCII without other white space than single spaces, and no character that is
// not ASCII follows them. space says that one stands before. It returns how many
// bytes of the text those are.
func foldEight(to *[]byte, text []byte, space bool) int {
	const blanks = ' ' * lowBits
	n := 0
	for ; n+9 <= len(text) && text[n+8] < utf8.RuneSelf; n += 8 {
		w := binary.LittleEndian.Uint64(text[n:])
		// Of ASCII bytes, the highest bit is kept through a subtraction by those
		// that are not smaller.
		if w&highBits != 0 || ^((w|highBits)-blanks)&highBits != 0 {
			break
		}
		spaces := ^((w ^ blanks | highBits) - lowBits) & highBits
		if spaces&(spaces<<8) != 0 || space && spaces&0x80 != 0 {
			break
		}
		space = spaces>>63 != 0
		capitals := (w + ('\x80'-'A')*lowBits) &^ (w + ('\x80'-'Z'-1)*lowBits) & highBits
		*to = binary.LittleEndian.AppendUint64(*to, w|capitals>>2)
	}
	return n
}
