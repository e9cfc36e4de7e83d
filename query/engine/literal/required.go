package literal

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/lists"
)

// A Literal is a string that a text contains. The character edge in it marks the
// start or end of a text or line, or any character outside of words next to a match
// of whole words: a word ends there, whatever the text has in this place.
type Literal struct {
	text string
	fold bool // in any case, by unicode.SimpleFold
}

const edge = '\n'

// A Required is a condition on every text that an expression matches: the text
// contains some literal of a list, or meets all, or any, of other conditions. A nil
// Required is always met.
type Required struct {
	op       operator
	literals []Literal   // of anyLiteral
	subs     []*Required // of allOf and anyOf
	size     int         // number of lists of literals in the tree
}

// IsSeveral reports whether several literals are required. A text may have some of them without the
// others.
func (n *Required) IsSeveral() bool { return n != nil && n.op == allOf }

// Fold builds from a condition what another engine needs for it: any from the strings of
// which a text contains one, in whatever case; all and either from what it made of
// conditions. A nil condition gives the zero T.
func Fold[T any](n *Required, any func(texts []string) T, all, either func([]T) T) (made T) {
	if n == nil {
		return made
	}
	if n.op == anyLiteral {
		texts := make([]string, len(n.literals))
		for i, l := range n.literals {
			texts[i] = l.text
		}
		return any(texts)
	}
	parts := make([]T, len(n.subs))
	for i, sub := range n.subs {
		parts[i] = Fold(sub, any, all, either)
	}
	if n.op == allOf {
		return all(parts)
	}
	return either(parts)
}

type operator uint8

const (
	anyLiteral operator = iota
	allOf
	anyOf
)

// Limits on the literals of an expression. Beyond them information is dropped, which
// is always safe.
const (
	maxLiterals     = 24  // in a list
	maxLiteral      = 240 // bytes
	maxClassRunes   = 6   // of a character class that is expanded to literals
	maxUnrolled     = 8   // repetitions x{n} that are written out
	maxRequiredSize = 64  // lists of literals in a Required
	maxDepth        = 200 // of the syntax tree
)

// info describes the strings that an expression matches. Each begins with one of prefix and
// ends with one of suffix. It is one of exact; or, if exact is nil, it meets required.
type info struct {
	exact, prefix, suffix []Literal
	required              *Required
}

var (
	anything   = info{prefix: []Literal{{}}, suffix: []Literal{{}}}
	emptyMatch = exactly(Literal{})
	atEdge     = exactly(Literal{text: string(edge)})
)

func exactly(list ...Literal) info { return info{exact: list, prefix: list, suffix: list} }

// Extract returns the condition that every text with a match of the expression
// meets. With word set only matches of whole words count.
func Extract(re *syntax.Regexp, word bool) *Required {
	s := infoOf(re, 0)
	if word {
		s = concat(concat(atEdge, s), atEdge)
	}
	return s.requirement()
}

// requirement returns the condition that follows from all of s.
func (s info) requirement() *Required {
	if s.exact != nil {
		return requireAny(s.exact)
	}
	return s.required
}

func requireAny(list []Literal) *Required {
	for _, l := range list {
		if strings.Trim(l.text, string(edge)) == "" {
			return nil
		}
	}
	var least []Literal
	for _, l := range list {
		if !slices.ContainsFunc(list, func(o Literal) bool { return o != l && l.implies(o) && !o.implies(l) }) {
			least = append(least, l)
		}
	}
	return &Required{op: anyLiteral, literals: least, size: 1}
}

func requireBoth(a, b *Required) *Required {
	switch {
	case a == nil:
		return b
	case b == nil || a.implies(b):
		return a
	case b.implies(a):
		return b
	case a.size+b.size > maxRequiredSize:
		return a
	}
	return &Required{op: allOf, subs: []*Required{a, b}, size: a.size + b.size}
}

// implies reports whether b is met whenever n is. It may miss that it is.
func (n *Required) implies(b *Required) bool {
	covers := func(sub *Required) bool { return n.implies(sub) }
	switch {
	case b.op == allOf:
		return !slices.ContainsFunc(b.subs, func(sub *Required) bool { return !covers(sub) })
	case n.op == allOf:
		return slices.ContainsFunc(n.subs, func(sub *Required) bool { return sub.implies(b) })
	case b.op == anyOf:
		return slices.ContainsFunc(b.subs, covers)
	case n.op == anyOf:
		return false
	}
	return !slices.ContainsFunc(n.literals, func(l Literal) bool { return !slices.ContainsFunc(b.literals, l.implies) })
}

func (l Literal) implies(o Literal) bool {
	return strings.Contains(l.text, o.text) && (o.fold || !l.fold)
}

func requireEither(a, b *Required) *Required {
	if a == nil || b == nil || a.size+b.size > maxRequiredSize {
		return nil
	}
	return &Required{op: anyOf, subs: []*Required{a, b}, size: a.size + b.size}
}

func infoOf(re *syntax.Regexp, depth int) info {
	if depth > maxDepth {
		return anything
	}
	depth++
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return emptyMatch
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return atEdge
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0
		s := emptyMatch
		// A long literal is split into pieces of at most maxLiteral bytes.
		for runes := re.Rune; len(runes) > 0; {
			n := min(len(runes), maxLiteral/utf8.UTFMax)
			s = concat(s, exactly(Literal{string(runes[:n]), fold}))
			runes = runes[n:]
		}
		return s
	case syntax.OpCharClass:
		return infoOfClass(re)
	case syntax.OpCapture:
		return infoOf(re.Sub[0], depth)
	case syntax.OpConcat:
		s := emptyMatch
		for _, sub := range re.Sub {
			s = concat(s, infoOf(sub, depth))
		}
		return s
	case syntax.OpAlternate:
		s := infoOf(re.Sub[0], depth)
		for _, sub := range re.Sub[1:] {
			s = alternate(s, infoOf(sub, depth))
		}
		return s
	case syntax.OpQuest:
		return alternate(infoOf(re.Sub[0], depth), emptyMatch)
	case syntax.OpPlus:
		return repeat(infoOf(re.Sub[0], depth))
	case syntax.OpRepeat:
		if re.Min == 0 {
			return anything
		}
		s := infoOf(re.Sub[0], depth)
		if re.Min != re.Max || re.Min > maxUnrolled {
			return repeat(s)
		}
		all := s
		for range re.Min - 1 {
			all = concat(all, s)
		}
		return all
	}
	return anything // OpStar, OpAnyChar, OpNoMatch and future operators
}

func infoOfClass(re *syntax.Regexp) info {
	var runes []rune
	for i := 0; i+1 < len(re.Rune); i += 2 {
		if re.Rune[i+1]-re.Rune[i] >= maxClassRunes {
			return anything
		}
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if runes = append(runes, r); len(runes) > maxClassRunes {
				return anything
			}
		}
	}
	if len(runes) == 0 {
		return anything
	}
	if isOneLetter(runes) {
		return exactly(Literal{string(runes[0]), true})
	}
	return exactly(lists.Map(runes, func(r rune) Literal { return Literal{text: string(r)} })...)
}

func isOneLetter(runes []rune) bool {
	for _, r := range runes[1:] {
		f := unicode.SimpleFold(runes[0])
		for f != r && f != runes[0] {
			f = unicode.SimpleFold(f)
		}
		if f != r {
			return false
		}
	}
	return len(runes) > 1
}

// repeat returns the info of one or more s in a row.
func repeat(s info) info {
	s.required = s.requirement()
	s.exact = nil
	return s
}

func alternate(a, b info) info {
	if a.exact != nil && b.exact != nil && len(a.exact)+len(b.exact) <= maxLiterals {
		return exactly(union(a.exact, b.exact)...)
	}
	return info{
		prefix:   capList(union(a.prefix, b.prefix)),
		suffix:   capList(union(a.suffix, b.suffix)),
		required: requireEither(a.requirement(), b.requirement()),
	}
}

// capList replaces a list that is too long by the empty literal.
func capList(list []Literal) []Literal {
	if len(list) > maxLiterals {
		return []Literal{{}}
	}
	return list
}

func union(a, b []Literal) []Literal {
	list := slices.Clone(a)
	for _, l := range b {
		list = appendLiteral(list, l)
	}
	return list
}

func appendLiteral(list []Literal, l Literal) []Literal {
	if slices.Contains(list, l) {
		return list
	}
	return append(list, l)
}

func concat(a, b info) info {
	if a.exact != nil && b.exact != nil {
		if list := cross(a.exact, b.exact); list != nil {
			return exactly(list...)
		}
	}
	s := info{prefix: a.prefix, suffix: b.suffix}
	if list := cross(a.exact, b.prefix); list != nil {
		s.prefix = list
	}
	if list := cross(a.suffix, b.exact); list != nil {
		s.suffix = list
	}
	// The end of a and the beginning of b are adjacent: the joined literals imply
	// the literals of each side.
	if list := cross(a.suffix, b.prefix); list != nil {
		s.required = requireAny(list)
	}
	s.required = requireBoth(s.required, requireBoth(a.requirement(), b.requirement()))
	return s
}

// cross returns every literal of a followed by every literal of b, nil if these are
// too many or too long.
func cross(a, b []Literal) []Literal {
	if len(a)*len(b) > maxLiterals {
		return nil
	}
	var list []Literal
	for _, x := range a {
		for _, y := range b {
			if len(x.text)+len(y.text) > maxLiteral {
				return nil
			}
			list = appendLiteral(list, Literal{x.text + y.text, x.fold || y.fold})
		}
	}
	return list
}
