// Package analysis turns text into the terms of the index, the same way for documents and for queries.
//
// Text is read as a sequence of folded characters (see fold.go), and those form runs:
//
//   - a word run: letters, digits, combining marks and underscores of scripts that are written with spaces. Its parts
//     end at an underscore and where the case shows a new word (aB, ABc, and a digit before Bc; a digit alone never
//     splits). Each part is a term, and when there are several, the parts joined without underscores are one more:
//     getUserName and get_user_name both give get, user, name and getusername.
//   - an unspaced run: characters of scripts written without spaces. Every character and every two neighbours are
//     terms, so that any substring can be found.
//   - an emoji or dingbat: a separate term.
//
// A word directly after a terminal's colour code (\x1b[31mtoken) is also a separate word: its terms are emitted in
// addition to those of the run that includes the last characters of the code.
//
// Everything else separates runs. Nothing is dropped: there are no stop words and no stemming, and a term longer than
// MaxTerm is cut, not omitted. The terms of a run never depend on the text around it.
package analysis

import (
	"slices"
	"unicode/utf8"
)

// MaxTerm is the longest term in bytes; a longer one is cut at the last rune boundary before.
const MaxTerm = 64

// Form says what a term is in its run.
type Form uint8

const (
	Word   Form = iota // a word that is one part
	Part               // one part of an identifier
	Whole              // all parts of an identifier joined
	Gram               // two neighbours of a script written without spaces
	Single             // one character of such a script, or an emoji
)

// Token is one term of a text. Term is folded and valid only during the call it is passed to. Start and End are byte
// offsets in the text given.
type Token struct {
	Term       []byte
	Start, End int
	Form       Form
}

// Analyzer walks texts. It only holds scratch memory, so the zero value is ready; one goroutine uses it at a time.
type Analyzer struct {
	folder
	cut         bool   // a term of this walk was longer than MaxTerm
	part, whole []byte // folded text of the current part and word, a little over MaxTerm at most
	gram        []byte
}

// Walk emits the terms of text in text order, the whole of an identifier after its parts, and returns how many there were.
// Bytes that are not UTF-8 separate runs.
func (a *Analyzer) Walk(text []byte, emit func(Token)) int {
	tokens := 0
	a.cut = false
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf && classes[text[i]] == separator {
			if text[i] == escape {
				if end := controlEnd(text, i); 0 < end && end < len(text) && (text[end] >= utf8.RuneSelf || classes[text[end]] != separator) {
					n, _ := a.run(text, end, emit)
					tokens += n
				}
			}
			i++
			continue
		}
		var n int
		n, i = a.run(text, i, emit)
		tokens += n
	}
	return tokens
}

// Cut reports whether some term of the last walk was cut.
func (a *Analyzer) Cut() bool { return a.cut }

const escape = 0x1b

// controlEnd returns the end of the control sequence that begins at an escape character, or 0 if there is none. It knows
// the form that colours have: ESC [, parameters and a final character (ECMA-48, section 5.4).
func controlEnd(text []byte, i int) int {
	if i+2 >= len(text) || text[i+1] != '[' {
		return 0
	}
	i += 2
	for i < len(text) && 0x30 <= text[i] && text[i] <= 0x3f {
		i++
	}
	if i < len(text) && 0x40 <= text[i] && text[i] <= 0x7e {
		return i + 1
	}
	return 0
}

// BeforeControl returns what is before the bracket of a control sequence that a text, folded
// or not, ends with: the escape character, as the text writes it, is the end of that. A word
// that stands right after such a sequence is a word of its own. It is nil if there is none.
func BeforeControl(text []byte) []byte {
	i := len(text) - 1
	if i < 1 || text[i] < 0x40 || 0x7e < text[i] {
		return nil
	}
	for i--; i > 0 && 0x30 <= text[i] && text[i] <= 0x3f; {
		i--
	}
	if text[i] != '[' {
		return nil
	}
	return text[:i]
}

// run walks the run that begins at start and returns the number of tokens and where it stopped.
func (a *Analyzer) run(text []byte, start int, emit func(Token)) (tokens, end int) {
	var seen class
	i := start
	for i < len(text) && text[i] < utf8.RuneSelf {
		c := classes[text[i]]
		if c == separator {
			break
		}
		seen |= c
		i++
	}
	switch {
	case i < len(text) && text[i] >= utf8.RuneSelf:
		return a.walkMixed(text, start, emit)
	case seen&(upper|underscore) == 0:
		a.cut = a.cut || i-start > MaxTerm
		emit(Token{Term: text[start:min(i, start+MaxTerm)], Start: start, End: i, Form: Word})
		return 1, i
	}
	return a.walkASCII(text, start, i, emit), i
}

// walkASCII is the fast path for a word run text[start:end] that is all ASCII; walkMixed gives the same.
func (a *Analyzer) walkASCII(text []byte, start, end int, emit func(Token)) int {
	for text[start] == '_' {
		if start++; start == end {
			return 0
		}
	}
	a.whole = a.whole[:0]
	parts := 0
	for i := start; ; {
		// One part: text[from:i], lower case in a.part.
		from := i
		a.part = a.part[:0]
		before := separator
		for i < end {
			c := text[i]
			class := classes[c]
			if class == upper {
				if i > from && splits(before, asciiClass(text[:end], i+1)) {
					break
				}
				c += 'a' - 'A'
			} else if class == underscore {
				break
			}
			if len(a.part) < MaxTerm {
				a.part = append(a.part, c)
			} else {
				a.cut = true
			}
			before = class
			i++
		}
		to := i
		for i < end && text[i] == '_' {
			i++
		}
		if i == end && parts == 0 {
			emit(Token{Term: a.part, Start: from, End: to, Form: Word})
			return 1
		}
		fits := min(len(a.part), MaxTerm-len(a.whole))
		a.cut = a.cut || fits < len(a.part)
		a.whole = append(a.whole, a.part[:fits]...)
		emit(Token{Term: a.part, Start: from, End: to, Form: Part})
		parts++
		if i == end {
			emit(Token{Term: a.whole, Start: start, End: to, Form: Whole})
			return parts + 1
		}
	}
}

// asciiClass returns the class of text[i], which is ASCII, or separator past the end.
func asciiClass(text []byte, i int) class {
	if i >= len(text) {
		return separator
	}
	return classes[text[i]]
}

// splits reports whether a new part begins at an upper case letter, from the characters before and after it.
func splits(before, after class) bool {
	return before == lower || before&(upper|digit) != 0 && after == lower
}

// walkMixed walks text from start, where a run begins, up to an ASCII character that separates, and returns the number
// of tokens and where it stopped. It takes any text, holds no more than one term of it, and knows one character ahead.
func (a *Analyzer) walkMixed(text []byte, start int, emit func(Token)) (tokens, end int) {
	w := mixed{Analyzer: a, emit: emit}
	a.part, a.whole = a.part[:0], a.whole[:0]
	var held placed
	i := start
	for i < len(text) {
		if text[i] < utf8.RuneSelf && classes[text[i]] == separator {
			break
		}
		pieces, end := a.segment(text, i)
		for _, p := range pieces {
			w.put(held, p.class)
			held = placed{p, i, end}
		}
		i = end
	}
	w.put(held, separator)
	w.endWord()
	return w.tokens, i
}

// placed is a folded character and the bytes of the text it comes from.
type placed struct {
	piece
	start, end int
}

// mixed is the state of walkMixed: at most one of a word run and an unspaced run is open.
type mixed struct {
	*Analyzer
	emit   func(Token)
	tokens int

	parts              int  // parts of the word already emitted
	closed             bool // the part in a.part has ended
	before             class
	wordStart          int
	partStart, partEnd int

	neighbour placed // the character before in an unspaced run, or a separator
}

func (w *mixed) put(c placed, next class) {
	switch c.class {
	case unspaced:
		w.endWord()
		w.send(append(w.gram[:0], c.fold...), c.start, c.end, Single)
		if w.neighbour.class == unspaced {
			w.gram = append(append(w.gram[:0], w.neighbour.fold...), c.fold...)
			w.send(w.gram, w.neighbour.start, c.end, Gram)
		}
		w.neighbour = c
	case mark: // belongs to the word before it if there is one, and never ends a run
		if len(w.part) > 0 && !w.closed {
			w.grow(c)
		}
	case underscore:
		w.neighbour = placed{}
		w.closed = true
	case separator, emoji:
		w.endWord()
		w.neighbour = placed{}
		if c.class == emoji {
			w.send(append(w.gram[:0], c.fold...), c.start, c.end, Single)
		}
	default:
		w.neighbour = placed{}
		if len(w.part) > 0 && (w.closed || c.class == upper && splits(w.before, next)) {
			w.send(w.part, w.partStart, w.partEnd, Part)
			w.parts++
			w.part = w.part[:0]
		}
		w.closed = false
		if len(w.part) == 0 {
			w.partStart = c.start
		}
		if len(w.whole) == 0 {
			w.wordStart = c.start
		}
		w.grow(c)
		w.before = c.class
	}
}

// grow adds c to the part and the whole, as long as that can matter for a term.
func (w *mixed) grow(c placed) {
	if len(w.part) <= MaxTerm {
		w.part = append(w.part, c.fold...)
	}
	if len(w.whole) <= MaxTerm {
		w.whole = append(w.whole, c.fold...)
	}
	w.partEnd = c.end
}

func (w *mixed) endWord() {
	switch {
	case len(w.part) == 0:
	case w.parts == 0:
		w.send(w.part, w.partStart, w.partEnd, Word)
	default:
		w.send(w.part, w.partStart, w.partEnd, Part)
		w.send(w.whole, w.wordStart, w.partEnd, Whole)
	}
	w.part, w.whole, w.parts, w.closed, w.before = w.part[:0], w.whole[:0], 0, false, separator
}

func (w *mixed) send(term []byte, start, end int, form Form) {
	if len(term) > MaxTerm {
		w.cut = true
		cut := MaxTerm
		for !utf8.RuneStart(term[cut]) {
			cut--
		}
		term = term[:cut]
	}
	w.tokens++
	w.emit(Token{Term: term, Start: start, End: end, Form: form})
}

// WithoutCoveredSingles drops the single characters of a script without spaces that
// a gram covers too: a query looks up what is more telling.
func WithoutCoveredSingles(tokens []Token) []Token {
	var kept []Token
	for i, t := range tokens {
		covers := func(o Token) bool { return o.Form == Gram && o.Start <= t.Start && t.End <= o.End }
		if t.Form != Single || !slices.ContainsFunc(tokens[max(0, i-2):min(len(tokens), i+4)], covers) {
			kept = append(kept, t)
		}
	}
	return kept
}
