package query

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pigrep/index/analysis"
)

// terms is the terms of a text's document, and "" when some of them are cut.
func termSet(text string) map[string]bool {
	set := map[string]bool{}
	var a analysis.Analyzer
	a.Walk([]byte(text), func(t analysis.Token) { set[string(t.Term)] = true })
	if a.Cut() {
		set[""] = true
	}
	return set
}

// meets reports whether a document with these terms meets the need, as the index
// would say.
func (n *need) meets(terms map[string]bool) bool {
	switch {
	case n == nil:
		return true
	case n.op == needOne:
		for _, l := range n.literals {
			if literalIn(terms, l) {
				return true
			}
		}
		return false
	}
	for _, sub := range n.of {
		if sub.meets(terms) != (n.op == needAll) {
			return n.op == needAny
		}
	}
	return n.op == needAll
}

func literalIn(terms map[string]bool, l literal) bool {
	var a analysis.Analyzer
	for _, n := range termsOf(&a, l) {
		found := false
		for term := range terms {
			switch n.form {
			case termIs:
				found = found || term == n.key
			case termBegins:
				found = found || strings.HasPrefix(term, n.key)
			case termEnds:
				found = found || strings.HasSuffix(term, n.key) || term == ""
			default:
				found = found || strings.Contains(term, n.key) || term == ""
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// Whatever the expression and the text: when it matches, the index says that it
// may, the needles are there, and the automaton and the finder say so too.
func FuzzGrep(f *testing.F) {
	for _, seed := range []struct{ expr, text string }{
		{`time(d)?out \d+`, "a timedout 42 b"},
		{`(?i)stra\x{17f}e|KISS`, "Straße ki\u017fs \u212aiss"},
		{`getUser_?Name`, "xgetUser_Namey"},
		{`^\s*func\b`, "\tfunc x\n\nfuncs"},
		{`日本(語|人)`, "これは日本語\n"},
		{`か`, "か\u3099 か"},
		{`e\x{301}`, "cafe\u0301"},
		{`[tT]oken[s]{2,3}$`, "Tokensss"},
		{`a{3}|b+c?`, "aaa\nbb"},
		{`\b\w{4}\B.`, "words words"},
		{`(q{60,70})z`, strings.Repeat("q", 65) + "z"},
		{`(?i)αι`, "α\u0345"},
		{`(?s).`, "\n"},
		{`\z|\A`, "x"},
		{`__init__`, "x__init__y"},
		{`foo™`, "foo™ bar"},
	} {
		for mode := range uint8(8) {
			f.Add(seed.expr, seed.text, mode)
		}
	}
	f.Fuzz(func(t *testing.T, expr, text string, mode uint8) {
		if len(expr) > 200 || len(text) > 2000 {
			return
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		req := GrepRequest{Patterns: []string{expr}, Case: CaseSensitive + CaseMode(mode&1), Word: mode&2 != 0, Multiline: mode&4 != 0, Fixed: mode&8 != 0}
		p, err := req.compile()
		if err != nil || len(p.prog.Inst) > 300 { // package regexp takes long with them
			return
		}
		// A line matches when the expression does, and for words when one of its
		// matches stands between what is no part of a word.
		flags := "(?"
		if req.Case == IgnoreCase {
			flags += "i"
		}
		if req.Multiline {
			flags += "m"
		}
		flags = strings.Replace(flags+")", "(?)", "", 1)
		if req.Fixed {
			expr = regexp.QuoteMeta(expr)
		}
		re := regexp.MustCompile(flags + "(?:" + expr + ")")
		word := func(s string) bool { return re.MatchString(s) }
		if req.Word {
			word = regexp.MustCompile(`(?:\A|[^` + wordCharacter + `])(?:` + flags + "(?:" + expr + `))(?:[^` + wordCharacter + `]|\z)`).MatchString
		}
		var want, got []string
		if req.Multiline {
			if text != "" && word(text) {
				want = []string{"found"}
			}
		} else {
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); word(line) {
					want = append(want, line)
				}
			}
		}
		finder := newFinder(p, req.Brief)
		for _, b := range finder.find([]byte(text), -1) {
			got = append(got, text[b.start:b.end])
		}
		if req.Multiline && len(got) > 0 {
			got = []string{"found"}
		} else if req.Multiline && len(want) > 0 && strings.HasSuffix(text, "\n") {
			want = nil // an empty match after the last line is in no line
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Fatalf("grep %+q in %+q (word %v, multiline %v) = %+q, want %+q", expr, text, req.Word, req.Multiline, got, want)
		}
		if len(want) == 0 {
			return
		}
		if !p.need.meets(termSet(text)) {
			t.Fatalf("grep %+q (word %v) matches %+q, and the index says it cannot", expr, req.Word, text)
		}
	})
}

func TestGrepNeeds(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{`foo`, `"foo"`},
		{`(?i)foo`, `"FOO"i`},
		{`foo|bar`, `"foo"|"bar"`},
		{`time(d)?out`, `"timedout"|"timeout"`},
		{`foo.*bar`, `("foo" & "bar")`},
		{`foo\d+bar`, `("foo" & "bar")`},
		{`[fF]oo`, `"Foo"i`},
		{`fo[ox]\b`, `"foo"|"fox"`},
		{`^foo$`, `"\nfoo\n"`},
		{`(foo|.*)bar`, `"bar"`},
		{`(foo.|bar)`, `("foo" or "bar")`},
		{`foo{3}`, `"foooo"`},
		{`(ab)+c`, `"abc"`},
		{`x*`, `anything`},
		{`foo|`, `anything`},
		{`.`, `anything`},
		{`[a-z]+`, `anything`},
		{`\d{3}-\d{4}`, `"-"`},
	} {
		re, err := syntax.Parse(c.expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := needOf(re, false).String(); got != c.want {
			t.Errorf("needOf(%s) = %s, want %s", c.expr, got, c.want)
		}
	}
}

func (n *need) String() string {
	if n == nil {
		return "anything"
	}
	var list []string
	sep := "|"
	for _, l := range n.literals {
		s := regexp.QuoteMeta(l.text)
		s = `"` + strings.ReplaceAll(s, "\n", `\n`) + `"`
		if l.fold {
			s += "i"
		}
		list = append(list, s)
	}
	for _, sub := range n.of {
		list = append(list, sub.String())
		sep = " & "
	}
	if n.op == needAny {
		sep = " or "
	}
	if n.op == needOne {
		return strings.Join(list, sep)
	}
	return "(" + strings.Join(list, sep) + ")"
}
