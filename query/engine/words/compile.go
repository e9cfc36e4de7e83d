package words

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/engine/syntax"
)

// maxWords is how many different words a query can have: each has one bit of a mask.
const maxWords = 64

// maxParts is how many parts of a compound are looked up. Verification compares all of
// it.
const maxParts = 64

// maxExpressions is how many regular expressions a query can have: each may scan the
// dictionary of the index.
const maxExpressions = 3

// A Word is one unit of a query and has its own bit. Documents match it by
//
//	Term    one term: a plain word, or the joined spelling of an identifier
//	Parts   all of several terms: the parts of an identifier, a path or a phrase
//
// or by either of them. With Verify, the text of the document decides.
type Word struct {
	Text      string       // as typed
	Positions []syntax.Pos // in the query's text
	Match     syntax.Match
	Edits     int
	Scored    bool // adds to scores; false for a negated word

	Term          string
	Joined        bool       // Term is another spelling of the word: TierParts
	Parts         []string   // different terms, all required
	Spellings     []string   // Term in simplified or traditional characters
	PartSpellings [][]string // the same for each part; nil when no part has any
	Wholes        []string   // joined identifiers in a compound, which a document with the whole compound contains
	PartWholes    [][]string // for each part the Wholes that it is part of, each of which has it: github has the parts of GitHub; nil without Wholes
	Verify        bool
	Needle        match.Needle     // what Verify looks for
	SpellingOnly  bool             // Verify only distinguishes the typed spelling from others
	Cut           bool             // longer than a term: a document with its beginning has it
	Loose         bool             // forms, longer words and typos are tried
	Last          bool             // the last typed word: longer words are tried even when it is common
	Find          *filter.TextTest // set for a field that only the text can decide; then there are no terms
}

// A Query is a compiled query. It never changes after Compile.
type Query struct {
	Words    []*Word
	Fields   []*syntax.Field  // each with a bit: FieldBit
	Filters  []*filter.Filter // of the fields, in their order
	Root     *Expr            // nil when there is nothing to evaluate
	Warnings []string         // for people, one line each
}

// Expr is the boolean expression of a query, evaluated on the mask of a document.
type Expr struct {
	op   exprOp
	bit  uint64
	kids []*Expr
	word bool // a word can make it match; if not, it only restricts what words find
	Node syntax.Node
}

type exprOp uint8

const (
	opLeaf  exprOp = iota
	opList         // all required kids, and at least one kid with a word
	opAnd          // all kids
	opOr           // at least one kid
	opNot          // one kid, negated
	opMust         // one kid, which the surrounding list requires
	opField        // a leaf that the surrounding list requires
)

// Compile turns the text of a query into words and an expression. A text without anything
// matches every document if a filter beside it says what is wanted. It fails with a *TextError
// when there is nothing to search for.
func Compile(text string, env filter.Env) (*Query, error) {
	root, warnings := syntax.Parse(text)
	c := compiler{Query: &Query{Warnings: warnings}, env: env}
	switch {
	case root != nil:
		c.Root = c.expr(root, true)
	case env.Filtered:
		c.Root = &Expr{op: opAnd}
		return c.Query, nil
	}
	switch {
	case c.tooMany > 0:
		c.Warnings = append(c.Warnings, fmt.Sprintf("only the first %d different words count; %d more are left out", maxWords, c.tooMany))
	case root == nil:
		return nil, &TextError{Reason: "the query is empty", Hint: "type a word to search for"}
	case c.Root == nil:
		return nil, &TextError{
			Reason: fmt.Sprintf("the query %q has nothing but punctuation", syntax.Shorten(text)),
			Hint:   "search finds words; grep finds punctuation too", Grep: true,
		}
	}
	positive := slices.ContainsFunc(c.Words, func(w *Word) bool { return w.Scored })
	if !positive && len(c.Fields) == 0 && !env.Filtered {
		return nil, &TextError{
			Reason: fmt.Sprintf("the query %q only says what to leave out", syntax.Shorten(text)),
			Hint:   "add a word that the hits should have",
		}
	}
	for i := len(c.Words) - 1; i >= 0; i-- {
		if c.Words[i].Scored && c.Words[i].Find == nil {
			c.Words[i].Last = true
			break
		}
	}
	return c.Query, nil
}

type compiler struct {
	*Query
	env      filter.Env
	analyzer analysis.Analyzer
	tooMany  int

	expressions int
}

func (c *compiler) bits() int { return len(c.Words) + len(c.Fields) }

// expr compiles a node; nil when it has nothing to search for.
func (c *compiler) expr(n syntax.Node, positive bool) *Expr {
	switch n := n.(type) {
	case *syntax.Term:
		return c.term(n, positive)
	case *syntax.Field:
		return c.field(n, positive)
	case *syntax.Must:
		return c.one(opMust, n.Item, positive)
	case *syntax.Not:
		return c.one(opNot, n.Item, !positive)
	case *syntax.Group:
		op := [...]exprOp{syntax.List: opList, syntax.And: opAnd, syntax.Or: opOr}[n.Op]
		return c.many(op, n, positive)
	}
	return nil
}

func (c *compiler) one(op exprOp, item syntax.Node, positive bool) *Expr {
	kid := c.expr(item, positive)
	if kid == nil {
		return nil
	}
	if op == opNot && kid.op == opNot { // NOT NOT x is +x
		return &Expr{op: opMust, kids: kid.kids, word: kid.kids[0].word, Node: kid.Node}
	}
	return &Expr{op: op, kids: []*Expr{kid}, word: op == opMust && kid.word, Node: kid.Node}
}

func (c *compiler) many(op exprOp, n *syntax.Group, positive bool) *Expr {
	e := &Expr{op: op, Node: n}
	for _, item := range n.Items {
		if kid := c.expr(item, positive); kid != nil {
			e.kids = append(e.kids, kid)
			e.word = e.word || kid.word
		}
	}
	switch len(e.kids) {
	case 0:
		return nil
	case 1:
		if kid := e.kids[0]; op == opOr || op == opList && kid.op == opLeaf {
			return kid
		}
	}
	return e
}

// field compiles a field. If its value is invalid, it is searched as text.
func (c *compiler) field(n *syntax.Field, positive bool) *Expr {
	found, err := filter.NewTextTest(n.Name, n.Value, c.env, &c.analyzer)
	if err == nil && found != nil && found.Cost > 0 {
		if c.expressions++; c.expressions > maxExpressions {
			found, err = nil, fmt.Errorf("a query takes %d regular expressions, join them with |", maxExpressions)
		}
	}
	if found != nil && err == nil {
		return c.textField(n, found, positive)
	}
	var f *filter.Filter
	if err == nil {
		f, err = filter.Field(n.Name, n.Value, n.Quoted, c.env)
	}
	if err != nil {
		reason := err.Error()
		if strings.TrimSpace(n.Value) != "" {
			reason = strings.ReplaceAll(reason, n.Value, syntax.Shorten(n.Value))
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("%q is searched as text: %s", syntax.Shorten(n.String()), reason))
		start, end := n.Range()
		return c.term(&syntax.Term{Text: n.String(), Pos: syntax.Pos{Start: start, End: end}}, positive)
	}
	if c.bits() == maxWords {
		c.tooMany++
		return nil
	}
	// Fields get the bits from the top, words those from the bottom.
	c.Fields = append(c.Fields, n)
	c.Filters = append(c.Filters, f)
	return &Expr{op: opField, bit: FieldBit(len(c.Fields) - 1), Node: n}
}

// textField compiles a field that only the text of a document can decide.
func (c *compiler) textField(n *syntax.Field, f *filter.TextTest, positive bool) *Expr {
	w := &Word{Text: n.String(), Scored: positive, Find: f, Verify: true}
	for i, o := range c.Words {
		if o.Find != nil && o.Text == w.Text && o.Scored == w.Scored {
			return &Expr{op: opField, bit: 1 << i, Node: n}
		}
	}
	if c.bits() == maxWords {
		c.tooMany++
		return nil
	}
	c.Words = append(c.Words, w)
	return &Expr{op: opField, bit: 1 << (len(c.Words) - 1), Node: n}
}

func FieldBit(i int) uint64 { return 1 << (maxWords - 1 - i) }

func (c *compiler) term(n *syntax.Term, positive bool) *Expr {
	w := c.analyse(n)
	if w == nil {
		if n.Match == syntax.Phrase {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s is left out: search finds words, grep finds punctuation too", syntax.Shorten(n.String())))
		}
		return nil
	}
	w.addHanForms()
	w.Scored = positive
	w.Positions = []syntax.Pos{n.Pos}
	if !positive {
		w.tighten()
	}
	for i, o := range c.Words {
		if o.Scored == w.Scored && o.Match == w.Match && o.Edits == w.Edits && o.Find == nil && (o.Text == w.Text || sameLookup(o, w)) {
			o.Positions = append(o.Positions, n.Pos)
			return &Expr{bit: 1 << i, word: true, Node: n}
		}
	}
	if c.bits() == maxWords {
		c.tooMany++
		return nil
	}
	c.Words = append(c.Words, w)
	return &Expr{bit: 1 << (len(c.Words) - 1), word: true, Node: n}
}

// addHanForms adds the spellings of a word in simplified and traditional characters.
func (w *Word) addHanForms() {
	if !match.HasHanPair(w.Term) && !slices.ContainsFunc(w.Parts, match.HasHanPair) {
		return
	}
	if w.Term != "" && w.Match == syntax.Literal {
		w.Spellings = match.HanForms(w.Term)
	}
	w.PartSpellings = make([][]string, len(w.Parts))
	for i, p := range w.Parts {
		w.PartSpellings[i] = match.HanForms(p)
	}
	if w.Verify {
		w.Needle.Han = true
		match.SimplifyHan(w.Needle.Text)
	}
}

// tighten removes the looser ways to match from a negated word, except that a negated
// identifier excludes all its spellings.
func (w *Word) tighten() {
	w.Loose = false
	if w.Joined {
		w.Term, w.Joined = "", false
	}
	if w.SpellingOnly {
		w.Parts, w.Verify, w.SpellingOnly = nil, false, false
	}
}

func sameLookup(a, b *Word) bool {
	return a.Term == b.Term && a.Term != "" && a.Joined == b.Joined && len(a.Parts) == 0 && len(b.Parts) == 0 && !a.Verify && !b.Verify
}

// Analyse returns the word of a term that stands alone, as it is looked up; nil if it contains
// nothing that is indexed.
func Analyse(n *syntax.Term) *Word {
	w := new(compiler).analyse(n)
	if w != nil {
		w.addHanForms()
	}
	return w
}

// analyse decides how a term is looked up; nil when it contains nothing that is
// indexed.
func (c *compiler) analyse(n *syntax.Term) *Word {
	w := &Word{Text: n.Text, Match: n.Match, Edits: n.Edits}
	typed := n.Text
	if n.Match == syntax.Literal {
		typed = syntax.TrimProse(typed)
	} else {
		w.Text = n.String()
	}
	tokens := filter.Tokens(&c.analyzer, typed)
	if len(tokens) == 0 {
		return nil
	}
	last := tokens[len(tokens)-1]
	covers := last.Start == 0 && last.End == len(typed) && (last.Form == analysis.Whole || len(tokens) == 1)
	cut := len(last.Term) >= analysis.MaxTerm-utf8.UTFMax && last.End-last.Start > len(last.Term)

	if n.Match == syntax.Prefix || n.Match == syntax.Fuzzy {
		if covers {
			w.Term = string(last.Term)
			return w
		}
		w.Match = syntax.Literal // several scripts: searched as a compound
	}
	open := n.Match == syntax.Prefix && last.Start > 0 && (last.Form == analysis.Word || last.Form == analysis.Whole)
	if open { // the last word may be the beginning of any: only the text tells
		tokens = slices.DeleteFunc(tokens, func(t analysis.Token) bool { return t.Start >= last.Start })
	}

	if covers && len(tokens) == 1 {
		w.Term = string(last.Term)
		w.Verify, w.Cut = cut, cut
		w.Loose = w.Match == syntax.Literal && last.Form == analysis.Word && !cut
		if cut {
			w.Parts, w.Term = []string{w.Term}, ""
			w.Needle = match.NewNeedle(typed)
		}
		return w
	}
	w.addParts(tokens)
	if covers && w.Match == syntax.Literal && !cut {
		w.Term, w.Wholes, w.PartWholes = string(last.Term), nil, nil
		w.Loose = true
		w.Verify, w.SpellingOnly = true, true
		w.Needle = match.NewNeedle(typed)
		return w
	}
	if w.Match == syntax.Literal && len(w.Wholes) == 0 {
		w.Term, w.Joined = joinKebab(typed)
	}
	w.Verify = true
	if w.Needle = match.NewNeedle(typed); open {
		w.Needle = w.Needle.Prefix()
	}
	return w
}

// addParts adds the parts of a compound, and its identifiers: each comes after its parts.
func (w *Word) addParts(tokens []analysis.Token) {
	for _, t := range tokens {
		if t.Form == analysis.Whole {
			w.Wholes = appendNew(w.Wholes, string(t.Term))
		} else if len(w.Parts) < maxParts {
			w.Parts = appendNew(w.Parts, string(t.Term))
		}
	}
	if len(w.Wholes) == 0 {
		return
	}
	w.PartWholes = make([][]string, len(w.Parts))
	for i, t := range tokens {
		for _, part := range tokens[:i] {
			at := slices.Index(w.Parts, string(part.Term))
			if t.Form == analysis.Whole && part.Form == analysis.Part && part.Start >= t.Start && at >= 0 {
				w.PartWholes[at] = appendNew(w.PartWholes[at], string(t.Term))
			}
		}
	}
}

// joinKebab returns the joined spelling of get-user-name, so that it also finds
// getUserName.
func joinKebab(typed string) (string, bool) {
	parts := strings.Split(typed, "-")
	if len(parts) < 2 || len(typed) > analysis.MaxTerm {
		return "", false
	}
	for _, p := range parts {
		if len(p) < 2 || strings.ContainsFunc(p, func(r rune) bool { return r < 'a' || 'z' < r }) {
			return "", false
		}
	}
	return strings.Join(parts, ""), true
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// TextError reports that a query has nothing to search for.
type TextError struct {
	Reason string // what is wrong
	Hint   string // what to type instead
	Grep   bool   // an exact search of the text would find something
}

func (e *TextError) Error() string { return e.Reason }
