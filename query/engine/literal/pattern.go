package literal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pigrep/query/engine/automaton"
)

// CaseMode says whether matching ignores case.
type CaseMode uint8

// The modes. Smart case ignores case unless a pattern has an upper case letter.
const (
	SmartCase CaseMode = iota
	CaseSensitive
	IgnoreCase
)

// Try is an option that would make a refused pattern acceptable.
type Try int

// The options to try.
const (
	TryNothing   Try = iota
	TryFixed         // take the pattern as it stands, not as an expression
	TryMultiline     // match across lines
	TrySmaller       // fewer repetitions and alternatives
	TryReplaced      // the character U+FFFD, which texts have in place of bytes that are not UTF-8
)

// PatternError says why and where a pattern is not a valid regular expression.
type PatternError struct {
	Pattern string
	Offset  int // byte offset of the mistake; -1 for the whole pattern
	Reason  string
	Try     Try // what would take the pattern
}

func (e *PatternError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("pattern %s: %s", quoted(e.Pattern), e.Reason)
	}
	return fmt.Sprintf("pattern %s, at character %d: %s", quoted(e.Pattern), 1+utf8.RuneCountInString(e.Pattern[:e.Offset]), e.Reason)
}

// longPattern is how many bytes of a pattern an error shows.
const longPattern = 400

// quoted puts quotes around a pattern, or around the first bytes of a long one. It escapes
// nothing if all characters are printable: doubled backslashes would hide a mistake with
// backslashes.
func quoted(pattern string) string {
	if len(pattern) > longPattern {
		pattern = strings.ToValidUTF8(pattern[:longPattern], "") + "…"
	}
	if strings.ContainsFunc(pattern, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(pattern)
	}
	return `"` + pattern + `"`
}

// A Pattern is a compiled expression with its required literals and prefilters. It
// is immutable and safe for concurrent use.
type Pattern struct {
	Multiline bool

	Program *automaton.Program

	Required      *Required
	TextPrefilter *Prefilter // nil when no literal is needed
	JSONPrefilter *Prefilter
	JSONRest      []*Prefilter // which raw JSON with a matching line must pass too
	IsLiteral     bool         // a needle in a text is a match
	JSONIsLiteral bool         // so is one in raw JSON, unless it is part of an escape
}

// WordCharacter is the inside of a character class with the word characters of -w:
// letters, marks, numbers, connecting punctuation, and the signs that are indexed as
// letters or numbers.
const WordCharacter = `\p{L}\p{M}\p{N}\p{Pc}\x{200c}\x{200d}` + signClass

// wordRanges are the ranges of these characters.
var wordRanges = sync.OnceValue(func() []rune {
	re, err := syntax.Parse("["+WordCharacter+"]", syntax.Perl)
	if err != nil {
		panic(err)
	}
	return re.Rune
})

// signClass are the characters that are neither letters nor numbers and are
// indexed as letters or numbers: ™, ℃, ⓐ, ㍿ and their like.
const signClass = `\x{20a8}\x{2100}-\x{2101}\x{2103}\x{2105}-\x{2106}\x{2109}\x{2116}\x{2120}-\x{2122}\x{213b}` +
	`\x{249c}-\x{24e9}\x{2e9f}\x{2ef3}\x{2f00}-\x{2fd5}\x{3196}-\x{319f}\x{3200}-\x{321e}\x{322a}-\x{3247}\x{3250}` +
	`\x{3260}-\x{327e}\x{328a}-\x{32b0}\x{32c0}-\x{33ff}\x{fdfc}\x{1f110}-\x{1f12e}\x{1f130}-\x{1f14f}` +
	`\x{1f16a}-\x{1f16c}\x{1f190}\x{1f200}-\x{1f202}\x{1f210}-\x{1f23b}\x{1f240}-\x{1f248}\x{1f250}-\x{1f251}`

// Options say how patterns are compiled.
type Options struct {
	Fixed     bool // patterns are plain strings, not expressions
	Case      CaseMode
	Word      bool // only whole words match
	Multiline bool // a match may span lines
	MaxStates int  // of an expression that is not a literal; 0 for as many as memory is meant for
}

// maxStates bounds the memory of an expression: each state takes about 200 bytes while it is
// compiled.
const maxStates = 1 << 18

// Compile compiles regular expressions into one Pattern: a match of any of them is a
// match.
func Compile(patterns []string, req Options) (*Pattern, error) {
	if len(patterns) == 0 {
		return nil, &PatternError{Offset: -1, Reason: "there is no pattern"}
	}
	p := &Pattern{Multiline: req.Multiline}
	flags := syntax.Perl
	if req.Case == IgnoreCase || req.Case == SmartCase && !HasUpper(patterns, req.Fixed) {
		flags |= syntax.FoldCase
	}
	if req.Multiline {
		flags &^= syntax.OneLine
	}
	var tree *syntax.Regexp
	parts := make([]string, len(patterns))
	for i, text := range patterns {
		if !utf8.ValidString(text) {
			return nil, &PatternError{Pattern: strings.ToValidUTF8(text, "\ufffd"), Offset: -1, Reason: "it is not UTF-8", Try: TryReplaced}
		}
		if req.Fixed {
			text = regexp.QuoteMeta(text)
		}
		var err error
		if tree, err = syntax.Parse(text, flags); err != nil {
			return nil, patternError(patterns[i], err)
		}
		if !req.Multiline && hasNewline(tree) {
			return nil, &PatternError{Pattern: patterns[i], Offset: max(strings.Index(patterns[i], `\n`), strings.IndexByte(patterns[i], '\n')),
				Reason: "it has a newline, and lines are matched one by one", Try: TryMultiline}
		}
		parts[i] = text
	}
	if len(parts) > 1 {
		whole := "(?:" + strings.Join(parts, ")|(?:") + ")"
		var err error
		if tree, err = syntax.Parse(whole, flags); err != nil {
			return nil, patternError(whole, err)
		}
	}
	o := automaton.Options{Multiline: req.Multiline, Most: cmp.Or(req.MaxStates, maxStates)}
	if req.Word {
		o.Edge = wordRanges()
	}
	var err error
	if p.Program, err = automaton.Compile(tree, o); err != nil {
		return nil, &PatternError{Pattern: strings.Join(patterns, "|"), Offset: -1, Reason: err.Error(), Try: TrySmaller}
	}
	p.Required = Extract(tree, req.Word)
	if all := prefilters(p.Required, false); len(all) > 0 {
		p.TextPrefilter = all[0]
	}
	if all := prefilters(p.Required, true); len(all) > 0 {
		p.JSONPrefilter, p.JSONRest = all[0], all[1:]
	}
	if p.Multiline { // they may be in several strings
		p.JSONRest = nil
	}
	if r := longestRun(tree); r != nil {
		p.TextPrefilter, p.JSONPrefilter = cmp.Or(p.TextPrefilter, r.prefilter(false)), cmp.Or(p.JSONPrefilter, r.prefilter(true))
	}
	p.IsLiteral = !req.Word && p.TextPrefilter != nil && !p.TextPrefilter.specialFold && tree.Op == syntax.OpLiteral && len(p.TextPrefilter.Finders) == 1 &&
		len(p.TextPrefilter.Finders[0].Text) == len(string(tree.Rune))
	p.JSONIsLiteral = p.IsLiteral && p.JSONPrefilter != nil && len(p.JSONPrefilter.Finders) == 1 &&
		bytes.Equal(p.JSONPrefilter.Finders[0].Text, p.TextPrefilter.Finders[0].Text)
	return p, nil
}

// patternError explains an error of the regular expression parser.
func patternError(pattern string, err error) error {
	e := &PatternError{Pattern: pattern, Offset: -1, Reason: err.Error(), Try: TryFixed}
	se, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return e
	}
	e.Reason = se.Code.String()
	if se.Expr != "" && se.Expr != pattern {
		e.Reason += " " + quoted(se.Expr)
	}
	switch se.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		e.Offset = unbalanced(pattern)
	case syntax.ErrTrailingBackslash:
		e.Offset = len(pattern) - 1
	case syntax.ErrLarge, syntax.ErrNestingDepth, syntax.ErrInternalError:
	default:
		e.Offset = strings.Index(pattern, se.Expr)
	}
	return e
}

// brackets finds parentheses and whatever may have one that groups nothing: escapes and classes. A
// bracket right after the one that opens a class, or after ^, is in the class.
var brackets = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\\.|\[\^?.(?:\\.|[^\]\\])*|[()]`) })

// unbalanced returns the offset of the first parenthesis without a partner, -1 if
// there is none.
func unbalanced(pattern string) int {
	var opened []int
	for _, at := range brackets().FindAllStringIndex(pattern, -1) {
		switch pattern[at[0]] {
		case '(':
			opened = append(opened, at[0])
		case ')':
			if len(opened) == 0 {
				return at[0]
			}
			opened = opened[:len(opened)-1]
		}
	}
	if len(opened) > 0 {
		return opened[0]
	}
	return -1
}

// hasNewline reports whether the expression names a newline as a character.
func hasNewline(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, hasNewline)
}

// HasUpper reports whether a pattern has an upper case letter as a literal, rather
// than in an escape or the name of a class.
func HasUpper(patterns []string, fixed bool) bool {
	if fixed {
		return strings.ContainsFunc(strings.Join(patterns, " "), unicode.IsUpper)
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		return strings.ContainsFunc(marks().ReplaceAllString(p, "$1"), unicode.IsUpper)
	})
}

// marks finds what is not a literal: escapes, flags and names of groups, and names of classes. What is
// quoted by \Q is group 1.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\\Q(.*?)(?:\\E|$)|\\[pPx]\{[^}]*\}?|\\[pP].?|\\x.{0,2}|\\.|\(\?(?:P?<[^>]*|[a-zA-Z-]*)|\[:\]|\[:.*?:\]|\[:`)
})
