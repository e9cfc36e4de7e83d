package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/session"
	"pigrep/query/engine/filter"
)

// The grammar. Everything a person may type has a meaning: what fits no rule is
// literal text.
//
//	query   = { or }                         side by side
//	or      = and { "OR" and }
//	and     = unary { "AND" unary }
//	unary   = ( "+" | "!" | "NOT" | "-" before a field ) unary | primary
//	primary = "(" query ")" | phrase | field | word
//
// The operators are upper case and need something on their right, AND and OR on
// their left too. + and ! belong to what follows them at once. A parenthesis
// that has no partner is a word, and so is a quote. Inside a word parentheses
// are text, and a quote after punctuation reaches to its partner, white space
// included: fmt.Println("hello world") is one word.

// Parse parses the text of a query. The tree is nil for white space alone. The warnings
// are for people and say what was taken literally.
func Parse(text string) (Node, []string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	p := parser{text: text}
	p.lex(text)
	p.matchParens()
	root := p.list()
	p.warnParens()
	return root, p.warnings
}

type tokenKind uint8

const (
	wordToken tokenKind = iota
	phraseToken
	fieldToken
	plusToken
	bangToken
	openToken
	closeToken
	strayToken // a parenthesis without a partner
	endToken
)

type token struct {
	kind tokenKind
	text string // of words as written, of phrases without their quotes
	Pos
}

type parser struct {
	text     string
	tokens   []token
	next     int
	warnings []string
}

// lex cuts the text into tokens.
func (p *parser) lex(text string) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(r) {
			i += size
			continue
		}
		kind, end := wordToken, 0
		switch {
		case r == '(':
			kind, end = openToken, i+1
		case r == ')':
			kind, end = closeToken, i+1
		case r == '+' && startsOperand(text[i+1:]):
			kind, end = plusToken, i+1
		case r == '!' && startsOperand(text[i+1:]):
			kind, end = bangToken, i+1
		case r == '-' && startsField(text[i+1:]):
			kind, end = bangToken, i+1
		case r == '"':
			if c := filter.ClosingQuote(text, i); c > 0 && EndsToken(text[c+1:]) {
				p.add(phraseToken, filter.Unquote(text[i+1:c]), i, c+1)
				i = c + 1
				continue
			} else if c == 0 {
				p.warn("the quote before %q has no partner, so it is searched as text", Shorten(text[i+1:]))
			}
			fallthrough
		default:
			end = endOfWord(text, i)
			if startsField(text[i:end]) {
				kind = fieldToken
				field := text[i:end]
				if _, value, _ := strings.Cut(field, ":"); value[0] == '"' && filter.ClosingQuote(value, 0) == 0 {
					p.warn("the quote in %q has no partner, so the value ends at the next white space", Shorten(field))
				}
			} else {
				p.warnWord(text[i:end])
			}
		}
		p.add(kind, text[i:end], i, end)
		i = end
	}
}

func (p *parser) add(kind tokenKind, text string, start, end int) {
	p.tokens = append(p.tokens, token{kind, text, Pos{start, end}})
}

// startsOperand reports whether a + or ! before this text is an operator.
func startsOperand(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size > 0 && !unicode.IsSpace(r) && !strings.ContainsRune("+!=)", r)
}

func EndsToken(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size == 0 || r == ')' || unicode.IsSpace(r)
}

func endOfWord(text string, start int) int {
	depth := 0
	before := rune(0)
	for i := start; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsSpace(r):
			return i
		case r == '"' && !inWord(before):
			if c := filter.ClosingQuote(text, i); c > 0 {
				size = c + 1 - i
			}
		case r == '(':
			depth++
		case r == ')':
			if depth == 0 {
				return i
			}
			depth--
		}
		before = r
		i += size
	}
	return len(text)
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func isOperator(word string) bool { return word == "AND" || word == "OR" || word == "NOT" }

// matchParens finds the partner of each parenthesis; those without one become words.
func (p *parser) matchParens() {
	var open []int
	for i := range p.tokens {
		switch p.tokens[i].kind {
		case openToken:
			open = append(open, i)
		case closeToken:
			if len(open) == 0 {
				p.tokens[i].kind = strayToken
			} else {
				open = open[:len(open)-1]
			}
		}
	}
	for _, i := range open {
		p.tokens[i].kind = strayToken
	}
}

func (p *parser) peek(ahead int) token {
	if p.next+ahead < len(p.tokens) {
		return p.tokens[p.next+ahead]
	}
	return token{kind: endToken}
}

func (p *parser) operator(name string) bool {
	if t := p.peek(0); t.kind != wordToken || t.text != name {
		return false
	}
	switch p.peek(1).kind {
	case closeToken, strayToken, endToken:
		return false
	}
	return true
}

// warn adds a warning, without duplicates and up to a maximum.
func (p *parser) warn(format string, args ...any) {
	const most = 5
	w := fmt.Sprintf(format, args...)
	if len(p.warnings) < most && !slices.Contains(p.warnings, w) {
		p.warnings = append(p.warnings, w)
	}
}

// warnWord warns of a word that looks like a field, an operator or the end of a phrase
// but is not one.
func (p *parser) warnWord(word string) {
	// 5" is a length.
	if before, ok := strings.CutSuffix(word, `"`); ok && strings.Trim(before, "0123456789.") != "" && !strings.Contains(before, `"`) {
		p.warn("the quote after %q has no partner, so it is searched as text", Shorten(before))
	}
	if w := fieldWarning(word); w != "" {
		p.warn("%s", w)
	}
	if operand := strings.TrimLeft(word, "+!"); len(operand) < len(word)-1 && strings.Contains(word[:len(word)-len(operand)], "!") && startsOperand(operand) {
		p.warn("%q is searched as text: one mark is enough, as in !%s; two negations are +%[2]s", Shorten(word), Shorten(operand))
	}
	if strings.HasPrefix(word, "-(") || strings.HasPrefix(word, `-"`) {
		p.warn("%q is searched as text: - excludes fields only, ! anything, as in !%s", Shorten(word), Shorten(word[1:]))
	}
	if name, ok := foreignOperators[word]; ok {
		p.warn("%q is searched as text: did you mean %s?", word, name)
	}
	stem := strings.TrimRight(word, "*")
	if n := len(stem); 0 < n && n < len(word) && isPlain(stem[n-1:]) && !isPlain(stem) {
		p.warn("%q is searched as text: * works right after a plain word, as in conn*", Shorten(word))
	}
	if i := strings.LastIndexByte(word, '~'); i > 0 && isPlain(word[:i]) && i+1 < len(word) && strings.Trim(word[i+1:], "0123456789") == "" && word[i:] != "~1" && word[i:] != "~2" {
		p.warn("%q is searched as text: ~ stands for one edit and ~2 for two, no more", Shorten(word))
	}
}

// warnParens warns of parentheses without a partner, except those that close one
// inside of a word, as in f(a, b): nobody meant these as groups.
func (p *parser) warnParens() {
	open := 0
	for _, t := range p.tokens {
		switch t.kind {
		case wordToken:
			open += strings.Count(t.text, "(") - strings.Count(t.text, ")")
		case strayToken:
			if t.text == ")" && open > 0 {
				open--
				continue
			}
			p.warn("the parenthesis at character %d has no partner, so it groups nothing; group as in (a OR b)", 1+utf8.RuneCountInString(p.text[:t.Start]))
		}
	}
}

func (p *parser) list() Node {
	var items []Node
	for k := p.peek(0).kind; k != endToken && k != closeToken; k = p.peek(0).kind {
		items = append(items, p.or())
	}
	if len(items) == 0 {
		return nil
	}
	return grouped(List, items)
}

func (p *parser) or() Node { return p.joined("OR", Or, p.and) }

func (p *parser) and() Node { return p.joined("AND", And, p.unary) }

// joined parses operands with an operator between them.
func (p *parser) joined(name string, op Op, operand func() Node) Node {
	items := []Node{operand()}
	for p.operator(name) {
		p.next++
		items = append(items, operand())
	}
	return grouped(op, items)
}

func grouped(op Op, items []Node) Node {
	if len(items) == 1 {
		return items[0]
	}
	start, _ := items[0].Range()
	_, end := items[len(items)-1].Range()
	return &Group{op, items, Pos{start, end}}
}

func (p *parser) unary() Node {
	t := p.peek(0)
	if t.kind != plusToken && t.kind != bangToken && !p.operator("NOT") {
		return p.primary()
	}
	p.next++
	item := p.unary()
	_, end := item.Range()
	if t.kind == plusToken {
		return &Must{item, Pos{t.Start, end}}
	}
	return &Not{item, Pos{t.Start, end}}
}

func (p *parser) primary() Node {
	t := p.peek(0)
	p.next++
	switch t.kind {
	case openToken:
		item := p.list()
		end := p.peek(0)
		p.next++
		if item == nil {
			return &Term{Text: "()", Pos: Pos{t.Start, end.End}}
		}
		return item
	case phraseToken:
		return &Term{Text: t.text, Match: Phrase, Pos: t.Pos}
	case fieldToken:
		return newField(t)
	case wordToken:
		if isOperator(t.text) && len(p.tokens) > 1 {
			p.warn("%q is searched as text: as an operator it needs something %s", t.text, map[bool]string{true: "after it", false: "on both sides"}[t.text == "NOT"])
		}
		return newWord(t)
	}
	return &Term{Text: t.text, Pos: t.Pos}
}

// newWord recognises conn* and conn~, conn~1, conn~2.
func newWord(t token) *Term {
	if stem, ok := strings.CutSuffix(t.text, "*"); ok && isPlain(stem) {
		return &Term{Text: stem, Match: Prefix, Pos: t.Pos}
	}
	for _, s := range []struct {
		suffix string
		edits  int
	}{{"~", 1}, {"~1", 1}, {"~2", 2}} {
		if stem, ok := strings.CutSuffix(t.text, s.suffix); ok && isPlain(stem) {
			return &Term{Text: stem, Match: Fuzzy, Edits: s.edits, Pos: t.Pos}
		}
	}
	return &Term{Text: t.text, Pos: t.Pos}
}

// isPlain reports whether s is a word without punctuation.
func isPlain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !inWord(r) })
}

// Shorten returns s on one line, cut to about 60 bytes, for messages.
func Shorten(s string) string {
	return session.Beginning(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), 60)
}

// closing is the punctuation that ends clauses and sentences.
const closing = ".,;:!?…。、\uFF0C\uFF1A\uFF1B\uFF01\uFF1F"

// TrimProse removes the punctuation that a sentence puts around a word. A word that is
// nothing but punctuation stays as it is.
func TrimProse(s string) string {
	t := strings.TrimRight(s, closing)
	for _, pair := range []string{`""`, `''`, "``", "“”", "‘’", "«»", "„“"} {
		open, size := utf8.DecodeRuneInString(pair)
		shut := pair[size:]
		if rest, ok := strings.CutPrefix(t, string(open)); ok && !strings.Contains(rest, string(open)) {
			t = rest
		}
		if rest, ok := strings.CutSuffix(t, shut); ok && !strings.Contains(rest, shut) {
			t = rest
		}
	}
	t = strings.TrimRight(t, closing)
	if strings.ContainsFunc(t, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return t
	}
	return s
}
