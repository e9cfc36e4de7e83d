package words

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pigrep/query/engine/docset"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
)

// A paper is a document as the definition of a hit sees it: the words and fields that it has.
type paper []string

// isHit is the definition of a hit in docs/query.md.
func (p paper) isHit(n syntax.Node) bool {
	hit := p.isHit
	switch n := n.(type) {
	case *syntax.Must:
		return hit(n.Item)
	case *syntax.Not:
		return !hit(n.Item)
	case *syntax.Group:
		switch n.Op {
		case syntax.And:
			return !slices.ContainsFunc(n.Items, func(x syntax.Node) bool { return !hit(x) })
		case syntax.Or:
			return slices.ContainsFunc(n.Items, hit)
		}
		for _, x := range n.Items {
			if (isRequired(x) || !isWanted(x)) && !hit(x) {
				return false
			}
		}
		return !slices.ContainsFunc(n.Items, isWanted) || slices.ContainsFunc(n.Items, func(x syntax.Node) bool { return isWanted(x) && hit(x) })
	}
	return slices.Contains(p, n.String())
}

// lacksNothing is the definition of a hit that lacks nothing.
func (p paper) lacksNothing(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Must:
		return p.lacksNothing(n.Item)
	case *syntax.Group:
		if n.Op == syntax.Or {
			return slices.ContainsFunc(n.Items, p.lacksNothing)
		}
		return !slices.ContainsFunc(n.Items, func(x syntax.Node) bool { return !p.lacksNothing(x) })
	case *syntax.Not:
		if inner, ok := n.Item.(*syntax.Not); ok {
			return p.lacksNothing(inner.Item)
		}
	}
	return p.isHit(n)
}

// isWanted reports whether a part of a query has a word that documents should have.
func isWanted(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Term:
		return true
	case *syntax.Must:
		return isWanted(n.Item)
	case *syntax.Group:
		return slices.ContainsFunc(n.Items, isWanted)
	case *syntax.Not:
		inner, ok := n.Item.(*syntax.Not)
		return ok && isWanted(inner.Item)
	}
	return false
}

func isRequired(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Must:
		return true
	case *syntax.Group:
		return n.Op == syntax.And
	case *syntax.Not:
		_, ok := n.Item.(*syntax.Not)
		return ok
	}
	return false
}

var (
	paperWords  = []string{"alpha", "beta", "gamma"}
	paperFields = []string{"kind:call", "is:error", "re:zeta"}
)

// drawExpression draws a query of words, fields and operators.
func drawExpression(t *rapid.T, depth int) string {
	unit := func() string {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			return rapid.SampledFrom(slices.Concat(paperWords, paperFields)).Draw(t, "unit")
		}
		return "(" + drawExpression(t, depth-1) + ")"
	}
	sign := rapid.SampledFrom([]string{"", "", "", "+", "NOT ", "NOT NOT "})
	between := rapid.SampledFrom([]string{" ", " OR ", " AND "})
	text := sign.Draw(t, "sign") + unit()
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		text += between.Draw(t, "between") + sign.Draw(t, "sign") + unit()
	}
	return text
}

// papers are all documents there can be.
func papers() (list []paper) {
	all := slices.Concat(paperWords, paperFields)
	for n := range 1 << len(all) {
		var p paper
		for i, s := range all {
			if n>>i&1 != 0 {
				p = append(p, s)
			}
		}
		list = append(list, p)
	}
	return list
}

// mask returns the bits of a query that a document has.
func (p paper) mask(q *Query) (mask uint64) {
	for i, w := range q.Words {
		if slices.Contains(p, w.Text) {
			mask |= 1 << i
		}
	}
	for i, f := range q.Fields {
		if slices.Contains(p, f.String()) {
			mask |= FieldBit(i)
		}
	}
	return mask
}

// An expression of a query has the hits that the definition gives, whatever its operators,
// and lacks nothing for the same documents.
func TestExpressionAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawExpression(t, 2)
		q, err := Compile(text, filter.Env{})
		if err != nil || len(q.Warnings) > 0 {
			return // only negated words, or too many expressions
		}
		root, _ := syntax.Parse(text)
		for _, p := range papers() {
			mask := p.mask(q)
			hit, whole := q.Root.Hit(mask, 0), false
			if hit {
				whole = len(q.Root.Missing(mask, nil)) == 0
			}
			if want := p.isHit(root); hit != want || want && whole != p.lacksNothing(root) {
				t.Fatalf("%s: with %s hit %v, lacks nothing %v; want %v, %v", text, strings.Join(p, ", "), hit, whole, want, p.lacksNothing(root))
			}
		}
	})
}

// A document that is a hit and has no word of the query is among those that are visited
// without words.
func TestWordlessHasEveryHit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawExpression(t, 2)
		q, err := Compile(text, filter.Env{})
		if err != nil || len(q.Warnings) > 0 {
			return
		}
		list := papers()
		all := docset.Set{1<<len(list) - 1} // 64 of them
		visited := q.Root.Wordless(all, func(bit uint64) docset.Set {
			set := make(docset.Set, 1)
			for i, p := range list {
				if bit >= FieldBit(len(q.Fields)-1) && p.mask(q)&bit != 0 {
					set.Add(uint32(i))
				}
			}
			return set
		})
		for i, p := range list {
			mask := p.mask(q)
			words := mask & (1<<len(q.Words) - 1)
			if words == 0 && q.Root.Hit(mask, 0) && (!visited.Has(uint32(i)) || !q.Wordless()) {
				t.Fatalf("%s: the hit with %s is not visited", text, strings.Join(p, ", "))
			}
		}
	})
}
