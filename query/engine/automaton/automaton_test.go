package automaton

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pigrep/lab/testkit"
)

// edge are the characters of words in these tests.
const edge = `\pL\pN_`

func parse(t testing.TB, expr string, flags syntax.Flags) *syntax.Regexp {
	t.Helper()
	re, err := syntax.Parse(expr, flags)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

func program(t testing.TB, re *syntax.Regexp, o Options) *Program {
	t.Helper()
	if o.Most == 0 {
		o.Most = 1 << 20
	}
	p, err := Compile(re, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leaves are what random expressions are made of. They have few characters, so that they
// match often.
var leaves = []string{
	"a", "b", "ab", "k", "s", "é", "語", ".", `\w`, `\d`, "[ab]", "[^a]", `\s`, `\pL`, "(?i:k)", "(?i:stra)", `\x{fffd}`,
	`\b`, `\B`, "^", "$", `\A`, `\z`, "(?m:^)", "(?m:$)", "(?s:.)", "", "aa*b", `\r`, "abab", "(?i:kask)",
}

func randomExpr(rng *rand.Rand, depth int) string {
	if depth == 0 || rng.IntN(4) == 0 {
		return leaves[rng.IntN(len(leaves))]
	}
	sub := func() string { return randomExpr(rng, depth-1) }
	switch rng.IntN(6) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "*?", "+?", "??"}[rng.IntN(6)]
	case 2:
		return fmt.Sprintf("(?:%s){%d,%d}", sub(), rng.IntN(3), 2+rng.IntN(5))
	case 3:
		return "(" + sub() + ")"
	}
	return sub() + sub()
}

func randomText(rng *rand.Rand) string {
	pieces := []string{
		"a", "b", "a", "b", "ab", "abab", "k", "K", "\u212a", "s", "\u017f", "é", "É", "語", "Stra", "kask", "0", " ", " ", "_", "\n", "\r\n",
		"\xff", "\xe8\xaa", "\ufffd", "\U0001F469", strings.Repeat("a", 40),
	}
	var b strings.Builder
	for range rng.IntN(30) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// A reference finds with package regexp what a Matcher has to find.
type reference struct {
	re, inside *regexp.Regexp // in whole words, group 1 is the match; inside is for the middle of a text
	multiline  bool
}

// newReference returns nil for an expression that package regexp does not take.
func newReference(expr, flags string, o Options) *reference {
	r := &reference{multiline: o.Multiline}
	body := flags + "(?:" + expr + ")"
	no, err := "[^"+edge+"]", error(nil)
	if len(o.Edge) > 0 {
		r.inside = regexp.MustCompile(no + "(?:(" + body + "))(?:" + no + `|\z)`)
		body = `(?:\A|` + no + ")(?:(" + body + "))(?:" + no + `|\z)`
	}
	if r.re, err = regexp.Compile(body); err != nil {
		return nil
	}
	return r
}

func (r *reference) spans(text string) (spans [][2]int) {
	if r.inside == nil {
		for _, m := range r.re.FindAllStringIndex(text, -1) {
			spans = append(spans, [2]int(m))
		}
		return spans
	}
	for at, re := 0, r.re; at <= len(text); re = r.inside {
		m := re.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		start, end := at+m[2], at+m[3]
		spans = append(spans, [2]int{start, end})
		at = end
		if end > start {
			_, size := utf8.DecodeLastRuneInString(text[:end])
			at -= size // the next match may need it on its left
		} else if end == len(text) {
			break
		}
	}
	return spans
}

// line returns where the first line begins and ends that matches, -1 if none does.
func (r *reference) line(text string) (from, to int) {
	if r.multiline {
		if r.re.MatchString(text) {
			return 0, len(text)
		}
		return -1, -1
	}
	at := 0
	for line := range strings.Lines(text) {
		if r.re.MatchString(strings.TrimSuffix(line, "\n")) {
			return at, at + len(line)
		}
		at += len(line)
	}
	return -1, -1
}

// Whatever the expression, the text and the room for states: the matches are those of
// package regexp.
func TestMatchesAreThoseOfRegexp(t *testing.T) {
	t.Parallel()
	testkit.Unraced(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range testkit.Rounds(300, 3000, 30_000) {
		expr, flags := randomExpr(rng, 4), syntax.Perl
		o, written := Options{Multiline: rng.IntN(2) == 0}, ""
		if o.Multiline {
			flags, written = flags&^syntax.OneLine, "(?m)"
		}
		if rng.IntN(3) == 0 {
			flags, written = flags|syntax.FoldCase, written+"(?i)"
		}
		if rng.IntN(3) == 0 {
			o.Edge = parse(t, "["+edge+"]", syntax.Perl).Rune
		}
		want := newReference(expr, written, o)
		if want == nil {
			continue
		}
		p := program(t, parse(t, expr, flags), o)
		for _, limit := range []int{0, 600, 2000, 1 << 20} {
			m := p.Matcher(limit)
			for range 5 {
				text := randomText(rng)
				from, to := want.line(text)
				if got := m.Line([]byte(text), 0); (got < 0) != (from < 0) || from >= 0 && (got < from || got > to) {
					t.Fatalf("%d bytes: %q %+v matches %q at %d, want %d to %d", limit, expr, o, text, got, from, to)
				}
				if !o.Multiline {
					text, _, _ = strings.Cut(text, "\n")
				}
				if got, spans := m.Spans([]byte(text), -1), want.spans(text); !slices.Equal(got, spans) {
					t.Fatalf("%d bytes: spans of %q %+v in %q = %v, want %v", limit, expr, o, text, got, spans)
				}
				if m.used > limit {
					t.Fatalf("the states of %q take %d bytes, want at most %d", expr, m.used, limit)
				}
			}
		}
	}
}

// The states of an expression that has one for every character stay within their bytes, in
// the heap too. They are forgotten, and most of the text is followed without them.
func TestStatesAreBounded(t *testing.T) {
	const limit = 256 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 50_000)
	for i := range text {
		text[i] = "ab"[rng.IntN(2)]
	}
	p := program(t, parse(t, `a.{100}c`, syntax.Perl), Options{})
	before := heap()
	m := p.Matcher(limit)
	m.Line(text, 0)
	if m.used > limit || int(m.forward.round) < len(text)*9/10 {
		t.Errorf("%d bytes of states are counted, want at most %d; %d characters were followed without a state", m.used, limit, m.forward.round)
	}
	if kept := int(heap() - before); kept > 2*limit {
		t.Errorf("%d bytes are kept, want about %d", kept, limit)
	}
	runtime.KeepAlive(m)
}

func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// States that are used again and again are made again when they are forgotten, and are not
// given up.
func TestStatesThatPayAreKept(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(strings.Repeat("a", 200)+strings.Repeat("b", 3000), 20))
	m := program(t, parse(t, `[^c]*a{190}b{50}c`, syntax.Perl), Options{}).Matcher(64 << 10)
	m.Line(text, 0)
	if got := int(m.forward.round); got > len(text)/5 {
		t.Errorf("%d of %d characters were followed without a state", got, len(text))
	}
}

// Repetitions take few bytes a state, however many of them are possible at a time.
func TestRepetitionsAreShort(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("x", 20_000))
	m := program(t, parse(t, strings.Repeat(".{1000}", 3)+"y", syntax.Perl), Options{}).Matcher(4 << 20)
	m.Line(text, 0)
	if n := len(m.forward.keys); n < 3000 || m.used/n > 200 {
		t.Errorf("%d states take %d bytes", n, m.used)
	}
}

// A literal of any length is found in time and memory that do not depend on the text.
func TestLiteralsNeedNoStates(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(strings.Repeat("x", 39_999)+"y", 20) + strings.Repeat("x", 40_000))
	for _, flags := range []syntax.Flags{0, syntax.FoldCase} {
		m := program(t, parse(t, strings.Repeat("x", 40_000), syntax.Perl|flags), Options{Most: 1}).Matcher(0)
		if got, want := m.Spans(text, -1), [][2]int{{len(text) - 40_000, len(text)}}; !slices.Equal(got, want) || m.forward != nil {
			t.Errorf("spans %v, want %v; states are made: %v", got, want, m.forward != nil)
		}
	}
}

// A search asks whether to end after a bounded number of steps, whatever finds the matches.
func TestSearchesEndEarly(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("ab c", 1<<20))
	for _, expr := range []string{`a.{300}\d$`, `[a-b]*x|b`, "zzz", string(text[:100_000]) + "d"} {
		for _, limit := range []int{0, 1 << 20} {
			m := program(t, parse(t, expr, syntax.Perl), Options{}).Matcher(limit)
			asked := 0
			m.Ended = func() bool { asked++; return asked >= 3 }
			if m.Line(text, 0); asked != 3 && expr != `[a-b]*x|b` {
				t.Errorf("%.10q, %d bytes: asked %d times while looking for a line, want 3", expr, limit, asked)
			}
			asked = 0
			if m.Spans(text, -1); asked < 3 || asked > 4 {
				t.Errorf("%.10q, %d bytes: asked %d times while looking for matches, want 3", expr, limit, asked)
			}
		}
	}
}

func TestLargeExpressionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"x{1000}x", `(?:aa|\w){501}`, strings.Repeat(".{1000}", 3000), "(?:(?:ab?){30}){30}"} {
		_, err := Compile(parse(t, expr, syntax.Perl), Options{Most: 1000})
		if _, ok := errors.AsType[TooLargeError](err); !ok {
			t.Errorf("%.20q: %v, want a TooLargeError", expr, err)
		}
	}
	program(t, parse(t, "x{900}", syntax.Perl), Options{Most: 1000})
}
