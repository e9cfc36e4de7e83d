package query

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pigrep/index/analysis"
	"pigrep/query/filter"
	"pigrep/query/match"
	"pigrep/query/syntax"
)

// maxWords is how many different words of a query count: one bit of a document's
// mask each.
const maxWords = 64

// maxParts bounds the terms that a compound is looked up by. Verification reads
// all of it.
const maxParts = 64

// maxExpressions bounds the regular expressions of a query: each may have to look
// through the dictionary of the index.
const maxExpressions = 3

// A word is one unit of a query, with a bit of its own. It is found by
//
//	term    one term of the index: a plain word, or the joined spelling of an identifier
//	parts   all of several terms: the parts of an identifier, of a path, of a phrase
//
// or both, and when verify is set, by what the text of the document says.
type word struct {
	text   string       // as typed
	places []syntax.Pos // in the query's text
	match  syntax.Match
	edits  int
	scored bool // not only negated

	term     string
	joined   bool       // term is another spelling of what was typed: tier parts
	parts    []string   // different terms; all must be there
	terms    []string   // other spellings of term in another script
	partsToo [][]string // of each part, other spellings of it; nil when there are none at all
	wholes   []string   // joined identifiers in a compound: without them it cannot be there whole
	verify   bool
	needle   match.Needle // of verify
	spell    bool         // verify only tells the spelling that was typed from others
	loose    bool         // looser ways are tried: forms, prefix, edits
	made     bool         // of parts that nobody typed: one of them alone is nothing
	last     bool         // the last typed word: prefixes are tried although it is common
	find     filter.Text  // of a field that the text decides about; then there are no terms
}

// compiled is a compiled query.
type compiled struct {
	words    []*word
	fields   []*syntax.Field  // each with a bit after those of the words
	root     *expr            // nil when nothing is left to evaluate
	filters  []*filter.Filter // of the fields
	warnings []string
}

// expr is the boolean side of the query, evaluated on the bits of a document.
type expr struct {
	op   exprOp
	bit  uint64
	kids []*expr
	node syntax.Node
}

type exprOp uint8

const (
	opLeaf  exprOp = iota
	opList         // at least one of the positive kids, all required ones
	opAnd          // all
	opOr           // one
	opNot          // not the only kid
	opMust         // the only kid, and the list around it requires it
	opField        // as opLeaf, and the list around it requires it
)

// compile turns the text of a request into words and an expression.
func compile(req *Request) (*compiled, error) { return compileText(req.Text, req.env()) }

func compileText(text string, env filter.Env) (*compiled, error) {
	root, warnings := syntax.Parse(text)
	c := compiler{compiled: &compiled{warnings: warnings}, env: env}
	if root != nil {
		c.root = c.expr(root, true)
	}
	switch {
	case c.tooMany > 0:
		c.warnings = append(c.warnings, fmt.Sprintf("only the first %d different words count; %d more are left out", maxWords, c.tooMany))
	case root == nil:
		return nil, &TextError{"the query is empty", "type a word to search for"}
	case c.root == nil:
		return nil, &TextError{
			fmt.Sprintf("the query %q has nothing but punctuation", syntax.Shorten(text)),
			"words are what search finds; for exact punctuation use: pigrep grep -F",
		}
	}
	positive := slices.ContainsFunc(c.words, func(w *word) bool { return w.scored })
	if !positive && len(c.fields) == 0 {
		return nil, &TextError{
			fmt.Sprintf("the query %q only says what to leave out", syntax.Shorten(text)),
			"add a word that the hits should have",
		}
	}
	for i := len(c.words) - 1; i >= 0; i-- {
		if c.words[i].scored && c.words[i].find == nil {
			c.words[i].last = true
			break
		}
	}
	return c.compiled, nil
}

type compiler struct {
	*compiled
	env      filter.Env
	analyzer analysis.Analyzer
	tooMany  int

	expressions int
}

func (c *compiler) bits() int { return len(c.words) + len(c.fields) }

// expr compiles a node; nil when nothing of it can be searched for.
func (c *compiler) expr(n syntax.Node, positive bool) *expr {
	switch n := n.(type) {
	case *syntax.Term:
		return c.term(n, positive)
	case *syntax.Field:
		return c.field(n, positive)
	case *syntax.Must:
		return c.one(opMust, n.Item, positive)
	case *syntax.Not:
		return c.one(opNot, n.Item, !positive)
	case *syntax.List:
		return c.many(opList, n.Items, positive, n)
	case *syntax.And:
		return c.many(opAnd, n.Items, positive, n)
	case *syntax.Or:
		return c.many(opOr, n.Items, positive, n)
	}
	return nil
}

func (c *compiler) one(op exprOp, item syntax.Node, positive bool) *expr {
	kid := c.expr(item, positive)
	if kid == nil {
		return nil
	}
	return &expr{op: op, kids: []*expr{kid}, node: kid.node}
}

func (c *compiler) many(op exprOp, items []syntax.Node, positive bool, n syntax.Node) *expr {
	e := &expr{op: op, node: n}
	for _, item := range items {
		if kid := c.expr(item, positive); kid != nil {
			e.kids = append(e.kids, kid)
		}
	}
	switch len(e.kids) {
	case 0:
		return nil
	case 1:
		if kid := e.kids[0]; op != opList || kid.op == opLeaf {
			return kid
		}
	}
	return e
}

// field compiles a filter. One whose value makes no sense is text.
func (c *compiler) field(n *syntax.Field, positive bool) *expr {
	found, err := filter.NewText(n, c.env, &c.analyzer)
	if err == nil && found != nil && found.Cost() > 0 {
		if c.expressions++; c.expressions > maxExpressions {
			found, err = nil, fmt.Errorf("a query takes %d regular expressions, join them with |", maxExpressions)
		}
	}
	if found != nil && err == nil {
		return c.found(n, found, positive)
	}
	var f *filter.Filter
	if err == nil {
		f, err = filter.Field(n, c.env)
	}
	if err != nil {
		reason := strings.ReplaceAll(err.Error(), n.Value, syntax.Shorten(n.Value))
		c.warnings = append(c.warnings, fmt.Sprintf("%q is searched as text: %s", syntax.Shorten(n.String()), reason))
		start, end := n.Range()
		return c.term(&syntax.Term{Text: n.String(), Pos: syntax.Pos{Start: start, End: end}}, positive)
	}
	if c.bits() == maxWords {
		c.tooMany++
		return nil
	}
	// The bits of fields are dealt out from the top, those of words from the bottom.
	c.fields = append(c.fields, n)
	c.filters = append(c.filters, f)
	return &expr{op: opField, bit: fieldBit(len(c.fields) - 1), node: n}
}

// found compiles a field that the text decides about.
func (c *compiler) found(n *syntax.Field, f filter.Text, positive bool) *expr {
	w := &word{text: n.String(), scored: positive, find: f, verify: true}
	for i, o := range c.words {
		if o.find != nil && o.text == w.text && o.scored == w.scored {
			return &expr{op: opField, bit: 1 << i, node: n}
		}
	}
	if c.bits() == maxWords {
		c.tooMany++
		return nil
	}
	c.words = append(c.words, w)
	return &expr{op: opField, bit: 1 << (len(c.words) - 1), node: n}
}

func fieldBit(i int) uint64 { return 1 << (maxWords - 1 - i) }

func (c *compiler) term(n *syntax.Term, positive bool) *expr {
	w := c.analyse(n)
	if w == nil {
		return nil
	}
	w.addHanForms()
	w.scored = positive
	w.places = []syntax.Pos{n.Pos}
	if !positive {
		w.tighten()
	}
	for i, o := range c.words {
		if o.scored == w.scored && o.match == w.match && o.edits == w.edits && o.find == nil && (o.text == w.text || sameLookup(o, w)) {
			o.places = append(o.places, n.Pos)
			return &expr{bit: 1 << i, node: n}
		}
	}
	if c.bits() == maxWords {
		c.tooMany++
		return nil
	}
	c.words = append(c.words, w)
	return &expr{bit: 1 << (len(c.words) - 1), node: n}
}

// addHanForms adds the spellings in simplified and traditional characters.
func (w *word) addHanForms() {
	if !match.HasHanPair(w.term) && !slices.ContainsFunc(w.parts, match.HasHanPair) {
		return
	}
	if w.term != "" && w.match == syntax.Literal {
		w.terms = match.HanForms(w.term)
	}
	w.partsToo = make([][]string, len(w.parts))
	for i, p := range w.parts {
		w.partsToo[i] = match.HanForms(p)
	}
	if w.verify {
		w.needle.Han = true
		match.Simplify(w.needle.Text)
	}
}

// tighten takes away the looser ways to match, for a word that is to be left
// out. An identifier is left out in every spelling.
func (w *word) tighten() {
	w.loose = false
	if w.joined {
		w.term, w.joined = "", false
	}
	if w.spell {
		w.parts, w.verify, w.spell = nil, false, false
	}
}

func sameLookup(a, b *word) bool {
	return a.term == b.term && a.term != "" && a.joined == b.joined && len(a.parts) == 0 && len(b.parts) == 0 && !a.verify && !b.verify
}

// analyse finds out how a term is looked up; nil when it has nothing that is
// in the index.
func (c *compiler) analyse(n *syntax.Term) *word {
	w := &word{text: n.Text, match: n.Match, edits: n.Edits}
	typed := n.Text
	switch n.Match {
	case syntax.Phrase:
		w.text = n.String()
	case syntax.Prefix:
		w.text = n.String()
	case syntax.Fuzzy:
		w.text = n.String()
	default:
		typed = syntax.TrimProse(typed)
	}
	var tokens []analysis.Token
	c.analyzer.Walk([]byte(typed), func(t analysis.Token) {
		t.Term = bytes.Clone(t.Term)
		tokens = append(tokens, t)
	})
	if len(tokens) == 0 {
		return nil
	}
	tokens = analysis.WithoutCoveredSingles(tokens)
	last := tokens[len(tokens)-1]
	covers := last.Start == 0 && last.End == len(typed) && (last.Form == analysis.Whole || len(tokens) == 1)
	cut := len(last.Term) >= analysis.MaxTerm-utf8.UTFMax && last.End-last.Start > len(last.Term)

	if n.Match == syntax.Prefix || n.Match == syntax.Fuzzy {
		if covers {
			w.term = string(last.Term)
			return w
		}
		w.match = syntax.Literal // a mix of scripts: found as a compound
	}

	if covers && len(tokens) == 1 {
		w.term = string(last.Term)
		w.verify = cut
		w.loose = w.match == syntax.Literal && last.Form == analysis.Word && !cut
		if cut {
			w.parts, w.term = []string{w.term}, ""
			w.needle = match.NewNeedle(typed)
		}
		return w
	}
	for _, t := range tokens {
		if t.Form == analysis.Whole {
			w.wholes = appendNew(w.wholes, string(t.Term))
		} else if len(w.parts) < maxParts {
			w.parts = appendNew(w.parts, string(t.Term))
		}
	}
	if covers && w.match == syntax.Literal && !cut {
		w.term, w.wholes = string(last.Term), nil
		w.loose = true
		w.verify, w.spell = true, true
		w.needle = match.NewNeedle(typed)
		return w
	}
	if w.match == syntax.Literal && len(w.wholes) == 0 {
		w.term, w.joined = joinKebab(typed)
	}
	w.verify = true
	w.needle = match.NewNeedle(typed)
	return w
}

// joinKebab returns the joined spelling of get-user-name, so that it finds
// getUserName too.
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
