package automaton

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// An alphabet divides all characters into classes that the code does not distinguish. The
// last class is the end of the text.
type alphabet struct {
	ascii   [utf8.RuneSelf]uint32
	bounds  []rune // first characters of intervals of one class
	classOf []uint32
	classes []class
	sets    []*syntax.Inst // which opChar names
	has     []bool         // for each set, whether it has each class; nil if that takes too much memory
}

// A class is a set of characters.
type class struct {
	sample  rune    // one of them; -1 for the end of the text
	newline bool    // it has only the newline
	after   context // of what follows one of them
}

// maxHas bounds the memory of alphabet.has, and the time to make it. In a larger alphabet
// each interval is a class of its own.
const maxHas = 1 << 20

// sets are the distinct sets of characters of a program.
type sets struct {
	list  []*syntax.Inst
	known map[string]uint32
	same  map[*rune]uint32 // sets of many repetitions share their memory
	key   []byte
}

func (s *sets) add(in *syntax.Inst) uint32 {
	if s.known == nil {
		s.known, s.same = map[string]uint32{}, map[*rune]uint32{}
	}
	many := len(in.Rune) > 2
	if many {
		if n, ok := s.same[&in.Rune[0]]; ok {
			return n
		}
	}
	s.key = binary.LittleEndian.AppendUint32(s.key[:0], uint32(in.Op)<<8|in.Arg)
	for _, r := range in.Rune {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(r))
	}
	n, ok := s.known[string(s.key)]
	if !ok {
		n = uint32(len(s.list))
		s.known[string(s.key)] = n
		s.list = append(s.list, &syntax.Inst{Op: in.Op, Arg: in.Arg, Rune: in.Rune})
	}
	if many {
		s.same[&in.Rune[0]] = n
	}
	return n
}

func (b *builder) alphabet() *alphabet {
	a := &alphabet{sets: b.sets.list}
	a.bounds = b.bounds()
	join := len(a.sets)*len(a.bounds) <= maxHas
	known := make(map[string]uint32)
	for i, r := range a.bounds {
		c := class{sample: r, newline: r == '\n', after: b.contextAfter(r)}
		key := []byte{byte(c.after), boolByte(c.newline)}
		if join {
			for _, set := range a.sets {
				key = append(key, boolByte(set.MatchRune(r)))
			}
		} else {
			key = binary.LittleEndian.AppendUint32(key, uint32(i))
		}
		n, ok := known[string(key)]
		if !ok {
			n = uint32(len(a.classes))
			known[string(key)] = n
			a.classes = append(a.classes, c)
		}
		a.classOf = append(a.classOf, n)
	}
	for r := range a.ascii {
		a.ascii[r] = a.search(rune(r))
	}
	a.classes = append(a.classes, class{sample: -1})
	if join {
		a.has = make([]bool, 0, len(a.sets)*len(a.classes))
		for _, set := range a.sets {
			for _, c := range a.classes {
				a.has = append(a.has, c.sample >= 0 && set.MatchRune(c.sample))
			}
		}
	}
	return a
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// bounds returns the first character of each interval that the program may distinguish.
func (b *builder) bounds() (list []rune) {
	list = []rune{0, '\n', '\n' + 1}
	if b.tested&afterWord != 0 {
		list = append(list, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1)
	}
	ranges := func(of []rune) {
		for k := 0; k+1 < len(of); k += 2 {
			list = append(list, of[k], of[k+1]+1)
		}
	}
	ranges(b.Edge)
	for _, in := range b.sets.list {
		if len(in.Rune) == 1 {
			r := in.Rune[0]
			list = append(list, r, r+1)
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				list = append(list, f, f+1)
			}
		}
		ranges(in.Rune)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:sort.Search(len(list), func(i int) bool { return list[i] > unicode.MaxRune })]
}

func (b *builder) contextAfter(r rune) (c context) {
	if r == '\n' {
		c |= atLine
	}
	if b.tested&afterWord != 0 && syntax.IsWordChar(r) {
		c |= afterWord
	}
	if inRanges(b.Edge, r) {
		c |= afterEdge
	}
	return c
}

// inRanges reports whether a character is in one of the ranges.
func inRanges(ranges []rune, r rune) bool {
	i := sort.Search(len(ranges)/2, func(i int) bool { return ranges[2*i+1] >= r })
	return 2*i < len(ranges) && ranges[2*i] <= r
}

// class returns the class of a character.
func (a *alphabet) class(r rune) uint32 {
	if r < utf8.RuneSelf {
		return a.ascii[r]
	}
	return a.search(r)
}

func (a *alphabet) search(r rune) uint32 {
	lo, hi := 0, len(a.bounds)
	for lo+1 < hi {
		if mid := int(uint(lo+hi) >> 1); a.bounds[mid] <= r {
			lo = mid
		} else {
			hi = mid
		}
	}
	return a.classOf[lo]
}

func (a *alphabet) end() uint32 { return uint32(len(a.classes) - 1) }

func (a *alphabet) contains(set, class uint32) bool {
	if a.has != nil {
		return a.has[int(set)*len(a.classes)+int(class)]
	}
	r := a.classes[class].sample
	return r >= 0 && a.sets[set].MatchRune(r)
}
