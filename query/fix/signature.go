package fix

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pigrep/index/analysis"
)

// A line is a line of text without its values.
type line struct {
	words  []word
	values []value
}

// A value is a part of a text that may differ between two occurrences of an error, with
// its place.
type value struct {
	text  string // folded
	start int
	name  bool // of a thing, not a number or an id
}

// A word is a term of a line, and where it is in the text.
type word struct {
	term       string
	start, end int
}

// A normalizer takes lines apart. It is used by one goroutine.
type normalizer struct {
	analyzer analysis.Analyzer
	blanked  []byte
}

// line takes apart a line of text that begins at an offset.
func (n *normalizer) line(text []byte, offset int) line {
	n.blanked = append(n.blanked[:0], text...)
	var l line
	codes := make(map[int]bool) // where numbers begin that say which error it is
	blank := func(start, end int, piece []byte, name bool) {
		if number := bytes.TrimLeft(piece, "-"); !name && isNumber(number) && isCode(text[:start]) {
			codes[end-len(number)] = true
			return
		}
		for i := start; i < end; i++ {
			n.blanked[i] = ' '
		}
		if v := analysis.Fold(string(piece)); v != "" {
			l.values = append(l.values, value{v, offset + start, name})
		}
	}
	for i := 0; i < len(text); {
		if text[i] == '\x1b' {
			if code := colour().Find(text[i:]); code != nil {
				copy(n.blanked[i:], bytes.Repeat([]byte{' '}, len(code)))
				i += len(code)
				continue
			}
		}
		if end := quoteEnd(text, i); end > 0 {
			if inner := text[i+1 : end]; isName(inner) {
				blank(i, end+1, lastElement(inner), !isVolatile(inner))
				i = end + 1
				continue
			}
		}
		if isSeparator(text[i]) || text[i] == '\'' {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && !isSeparator(text[end]) {
			end++
		}
		eachVolatile(text, i, end, blank)
		i = end
	}
	n.walk(n.blanked, func(t analysis.Token) {
		if !isNumber(t.Term) || codes[t.Start] {
			l.words = append(l.words, word{string(t.Term), offset + t.Start, offset + t.End})
		}
	})
	return l
}

// isCode reports whether a number after a text says which error it is: "exit code 137".
func isCode(before []byte) bool {
	before = bytes.TrimRight(before, " :=[('\"#/")
	start := len(before)
	for start > 0 && len(before)-start < 8 && isAlnum(before[start-1]) {
		start--
	}
	return slices.Contains(codeWords, strings.ToLower(string(before[start:])))
}

var codeWords = []string{"code", "status", "errno", "exit", "http"}

// wholeLine is like line with the values among the words.
func (n *normalizer) wholeLine(text []byte, offset int) (l line) {
	n.walk(text, func(t analysis.Token) {
		l.words = append(l.words, word{string(t.Term), offset + t.Start, offset + t.End})
	})
	return l
}

// walk visits the words of a text; identifiers as a whole.
func (n *normalizer) walk(text []byte, visit func(analysis.Token)) {
	n.analyzer.Walk(text, func(t analysis.Token) {
		if t.Form != analysis.Part && t.Form != analysis.Single {
			visit(t)
		}
	})
}

// colour matches the colour code of a terminal.
var colour = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\x1b\[[\d;]*[^\d;]`) })

func isSeparator(c byte) bool {
	return c <= ' ' || strings.IndexByte("\"`()[]{}<>,;=|", c) >= 0
}

// maxName is the longest text in quotes that is a value: longer ones are sentences.
const maxName = 3 // words

func isName(text []byte) bool {
	return len(bytes.Fields(text)) <= maxName || bytes.HasPrefix(text, []byte("/")) && len(bytes.Fields(text)) <= 2*maxName
}

// maxQuote is the longest text in quotes that is looked at, in bytes.
const maxQuote = 300

// quoteEnd returns where the quotation that begins at i ends, 0 when none begins there.
// An apostrophe in a word begins none. Only the next quote may end it: any other rule
// takes quadratic time on text that is full of quotes.
func quoteEnd(text []byte, i int) int {
	q := text[i]
	if q != '"' && q != '\'' && q != '`' || q == '\'' && i > 0 && isAlnum(text[i-1]) {
		return 0
	}
	length := bytes.IndexByte(text[i+1:min(len(text), i+1+maxQuote)], q)
	if length < 0 {
		return 0
	}
	end := i + 1 + length
	if end+1 < len(text) && isAlnum(text[end+1]) && !isPath(text[i+1:end]) {
		return 0
	}
	return end
}

// eachVolatile blanks the values in text[start:end], which has no separators.
func eachVolatile(text []byte, start, end int, blank func(start, end int, piece []byte, name bool)) {
	for start < end && strings.IndexByte("'*!?", text[start]) >= 0 {
		start++
	}
	for start < end && strings.IndexByte(":.!?'*", text[end-1]) >= 0 {
		end--
	}
	piece := text[start:end]
	if isPath(piece) {
		blank(start, end, lastElement(piece), true)
		return
	}
	for start < end { // what colons separate
		to := end
		if i := bytes.IndexByte(text[start:end], ':'); i >= 0 {
			to = start + i
		}
		if p := text[start:to]; isPath(p) {
			blank(start, to, lastElement(p), true)
		} else if isVolatile(p) {
			blank(start, to, p, false)
		}
		start = to + 1
	}
}

// pathLike matches a URL, a path, or a name with an extension and possibly a position.
var pathLike = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)://|^[/~][/._\-@[:alnum:]\x80-\x{10ffff}]|^\.\.?/|^[[:alnum:]]:[\\/]` +
		`|^.*[^\x00-9].*\.[[:alpha:]\x80-\x{10ffff}][[:alnum:]\x80-\x{10ffff}]{0,4}(?::\d+)*$`)
})

// isPath reports whether a piece of text is a path, a URL or the name of a file, with
// or without a position.
func isPath(p []byte) bool {
	return len(p) > 1 && bytes.ContainsAny(p, "/~.\\") && pathLike().Match(p) // most words have none of these
}

// position matches :LINE and :LINE:COLUMN after a path.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^(.+?)(?::\d+)*$`) })

// lastElement returns the last element of a path, without a position; other text as it is.
func lastElement(p []byte) []byte {
	p = bytes.TrimRight(position().ReplaceAll(p, []byte("$1")), "/\\")
	if i := bytes.LastIndexAny(p, "/\\"); i >= 0 && !bytes.ContainsAny(p, " ") {
		return p[i+1:]
	}
	return p
}

// isVolatile reports whether a piece of text is a number, a version, a time, a size, a
// hash or an id.
func isVolatile(p []byte) bool {
	digits, hex, letters := 0, 0, 0
	for _, c := range p {
		switch {
		case isDigit(c):
			digits++
			hex++
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			hex++
			letters++
		case isAlnum(c):
			letters++
		case c != '-' && c != '_' && c != '.' && c != '+' && c != '#' && c != '%' && c != '/':
			return false
		}
	}
	switch {
	case digits == 0:
		return false
	case letters == 0, isDigit(p[0]):
		return true
	case p[0]|0x20 == 'v' && letters == 1:
		return true
	case hex == digits+letters && hex >= minHash:
		return true
	}
	return digits >= 3 && digits+letters >= minID
}

const (
	minHash = 7  // an abbreviated commit
	minID   = 16 // toolu_019tYDrbzifrra2K
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlnum(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80 }

func isNumber(p []byte) bool {
	return len(p) > 0 && !bytes.ContainsFunc(p, func(r rune) bool { return r < '0' || r > '9' })
}

// A signature is what identifies an error.
type signature struct {
	lines   []signatureLine
	weights map[string]float64
	whole   bool // it is nothing but values, which are its words then
}

// A signatureLine is a line of an error with the sum of the weights of its words.
type signatureLine struct {
	line
	raw            string
	at             int  // its number
	looksLikeError bool // it has a word that errors have
	weight         float64
}

// MaxText is how much of the end of a pasted text is looked at, in bytes: errors are at
// the end.
const MaxText = 64 << 10

// Limits of a pasted text.
const (
	maxLines = 200 // lines with words, the last ones
	maxWords = 60  // of a line
	maxCore  = 6   // lines that identify the error, the weightiest
)

// maxWeight is the most that a word weighs, so that one name does not make an error.
const maxWeight = 6

// read takes a pasted text apart. It has no lines if the text has no words at all.
func read(text string) *signature {
	data := []byte(strings.ReplaceAll(text[max(0, len(text)-MaxText):], "\r", "\n"))
	var n normalizer
	lines := func(take func([]byte) line) (list []signatureLine) {
		raws := bytes.Split(data, []byte("\n"))
		for at := len(raws) - 1; at >= 0 && len(list) < maxLines; at-- {
			raw := bytes.TrimSpace(raws[at])
			l := take(raw)
			l.words = l.words[:min(len(l.words), maxWords)]
			again := func(o signatureLine) bool {
				return slices.EqualFunc(o.words, l.words, func(a, b word) bool { return a.term == b.term })
			}
			if len(l.words) == 0 || slices.ContainsFunc(list, again) {
				continue
			}
			list = append(list, signatureLine{line: l, raw: string(raw), at: at, looksLikeError: looksLikeError(raw, l.words)})
		}
		slices.Reverse(list)
		return list
	}
	list := lines(func(raw []byte) line {
		if isChatter(raw) {
			return line{}
		}
		return n.line(raw, 0)
	})
	if len(list) == 0 {
		list = lines(func(raw []byte) line { return n.line(raw, 0) })
	}
	whole := len(list) == 0
	if whole {
		list = lines(func(raw []byte) line { return n.wholeLine(raw, 0) })
	}
	return &signature{lines: list, whole: whole}
}

// Identity returns the words of a line that prints an error, and the names that may differ between
// two occurrences of it. There are no words if the line does not say which error it is.
func Identity(text string) (words, names string) {
	raw := []byte(text)
	var n normalizer
	l := n.line(raw, 0)
	if len(l.words) < 2 || isChatter(raw) || !looksLikeError(raw, l.words) {
		return "", ""
	}
	for _, w := range l.words {
		words += " " + w.term
	}
	for _, v := range l.values {
		if v.name {
			names += " " + v.text
		}
	}
	return words, names
}

func (s *signature) terms() (list []string) {
	for i := range s.lines {
		for _, w := range s.lines[i].words {
			list = append(list, w.term)
		}
	}
	return list
}

// weigh sets the weights of the words, and keeps the lines that identify the error:
// those with the rarest words among the lines that look like an error, if there are any.
func (s *signature) weigh(rarity map[string]float64) {
	s.weights = make(map[string]float64)
	sum, present := 0.0, 0
	for _, t := range s.terms() {
		if w, ok := rarity[t]; ok {
			sum += min(w, maxWeight)
			present++
		}
	}
	for _, t := range s.terms() {
		w, ok := rarity[t]
		if !ok { // probably a name that lost its quotes: it counts as much as the others
			w = sum / float64(max(present, 1))
		}
		s.weights[t] = min(w, maxWeight)
	}
	if slices.ContainsFunc(s.lines, func(l signatureLine) bool { return l.looksLikeError }) {
		s.lines = slices.DeleteFunc(s.lines, func(l signatureLine) bool { return !l.looksLikeError })
	}
	best := 0.0
	for i := range s.lines {
		l := &s.lines[i]
		for _, t := range distinct(l.words) {
			l.weight += s.weights[t]
		}
		best = max(best, l.weight)
	}
	s.lines = slices.DeleteFunc(s.lines, func(l signatureLine) bool { return l.weight < best/2 })
	slices.SortFunc(s.lines, func(a, b signatureLine) int {
		return cmp.Or(cmp.Compare(math.Round(b.weight), math.Round(a.weight)), cmp.Compare(b.at, a.at)) // errors are at the end
	})
	s.lines = s.lines[:min(len(s.lines), maxCore)]
	slices.SortFunc(s.lines, func(a, b signatureLine) int { return cmp.Compare(a.at, b.at) })
}

func distinct(words []word) (terms []string) {
	for _, w := range words {
		if !slices.Contains(terms, w.term) {
			terms = append(terms, w.term)
		}
	}
	return terms
}

// errorTerms are words of errors. Words that end in error or exception count too.
var errorTerms = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for _, t := range strings.Fields(`
		abort aborted abrt broken cannot cant conflict corrupt corrupted crash crashed denied deprecated disallowed duplicate exceeded
		expected fail failed fails failing failure fatal forbidden illegal incompatible invalid killed mismatch missing overflow panic
		panicked refused rejected segfault segmentation stopped timeout unable unauthorized undefined unexpected unhandled
		unknown unreachable unrecognized unresolved unsupported`) {
		set[t] = true
	}
	return set
})

// errorPhrases are pieces of folded text that errors have.
var errorPhrases = []string{
	"not found", "not exist", "not match", "not support", "not permitted", "not allowed", "not a ", "not assignable", "not available", "not recognized",
	"no such", "no module", "no longer", "could not", "can't", "couldn't", "doesn't", "timed out", "out of memory", "out of range", "has no ", "is not ", "too many", "too large",
}

func looksLikeError(raw []byte, words []word) bool {
	for _, w := range words {
		if errorTerms()[w.term] || strings.HasSuffix(w.term, "error") || strings.HasSuffix(w.term, "exception") {
			return true
		}
	}
	if errno(raw) {
		return true
	}
	folded := strings.ToLower(string(raw))
	return slices.ContainsFunc(errorPhrases, func(p string) bool { return strings.Contains(folded, p) })
}

// errno reports whether a line begins with the name of a system error: ENOENT.
func errno(raw []byte) bool {
	word := raw[:max(0, bytes.IndexByte(raw, ':'))]
	return len(word) > 3 && word[0] == 'E' && !bytes.ContainsFunc(word, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

// chatter is how lines begin that surround errors of any kind.
var chatter = []string{
	"at ", "file \"", "goroutine ", "traceback (most recent call last)", "command exited with", "exit status", "exit code", "process exited",
	"npm error a complete log", "npm error command", "npm error path", "npm err! a complete log", "npm error lifecycle", "npm error errno", "> ", "$ ", "note: run with ", "node.js v", "created by ",
}

// isChatter reports whether a line is a stack frame, an echoed command or another line
// that says nothing about the error.
func isChatter(raw []byte) bool {
	start := strings.ToLower(string(raw[:min(len(raw), 64)]))
	return slices.ContainsFunc(chatter, func(c string) bool { return strings.HasPrefix(start, c) })
}
