package literal

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
func (n *Required) meets(terms map[string]bool) bool {
	switch {
	case n == nil:
		return true
	case n.op == anyLiteral:
		for _, l := range n.literals {
			if literalIn(terms, l) {
				return true
			}
		}
		return false
	}
	for _, sub := range n.subs {
		if sub.meets(terms) != (n.op == allOf) {
			return n.op == anyOf
		}
	}
	return n.op == allOf
}

func literalIn(terms map[string]bool, l Literal) bool {
	var a analysis.Analyzer
	for _, n := range requiredTerms(&a, l) {
		found := false
		for term := range terms {
			switch n.form {
			case termWhole:
				found = found || term == n.key
			case termPrefix:
				found = found || strings.HasPrefix(term, n.key)
			case termSuffix:
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
		if got := Extract(re, false).String(); got != c.want {
			t.Errorf("needOf(%s) = %s, want %s", c.expr, got, c.want)
		}
	}
}

func (n *Required) String() string {
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
	for _, sub := range n.subs {
		list = append(list, sub.String())
		sep = " & "
	}
	if n.op == anyOf {
		sep = " or "
	}
	if n.op == anyLiteral {
		return strings.Join(list, sep)
	}
	return "(" + strings.Join(list, sep) + ")"
}

// Whatever the expression and the text: when it matches, the index says that it may.
func FuzzRequired(f *testing.F) {
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
		opt := Options{Case: CaseSensitive + CaseMode(mode&1), Word: mode&2 != 0, Multiline: mode&4 != 0, Fixed: mode&8 != 0}
		p, err := Compile([]string{expr}, opt)
		if err != nil || p.Program.Size() > 300 {
			return
		}
		matches := p.Program.Matcher(1<<20).Line([]byte(text), 0) >= 0 && !(opt.Multiline && strings.HasSuffix(text, "\n"))
		if matches && !p.Required.meets(termSet(text)) {
			t.Fatalf("%+q (%+v) matches %+q, and the index says it cannot", expr, opt, text)
		}
	})
}
