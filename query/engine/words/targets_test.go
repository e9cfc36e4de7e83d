package words

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/index/analysis"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
)

// planFor makes the plan of a query for texts alone: every word is in the index.
func planFor(t testing.TB, text string) *ResolvedQuery {
	t.Helper()
	q, err := Compile(text, filter.Env{})
	if err != nil {
		t.Fatal(err)
	}
	p := &ResolvedQuery{Query: q}
	for i, w := range q.Words {
		x := newResolvedWord(w, i, 0)
		x.Emphasis, x.PartSum, x.AllIDF, x.WholeIDF = 1, 1, 1, 2
		if w.Term != "" {
			x.Terms = []Expansion{{Term: w.Term, Weight: 1, IDF: 2}}
		}
		for range w.Parts {
			x.PartIDF = append(x.PartIDF, 1/float64(len(w.Parts)))
		}
		p.Words = append(p.Words, x)
	}
	return p
}

// marked writes a fragment with brackets around its spans.
func marked(f match.Fragment) string {
	var b strings.Builder
	last := 0
	for _, s := range f.Spans {
		b.WriteString(f.Text[last:s[0]] + "[" + f.Text[s[0]:s[1]] + "]")
		last = s[1]
	}
	return b.String() + f.Text[last:]
}

func TestFragment(t *testing.T) {
	long := strings.Repeat("lorem ipsum dolor ", 60)
	for _, c := range []struct{ query, text, want string }{
		{"token", "a Token\n\n  in\ttwo lines", "a [Token] in two lines"},
		{"token", "the \x1b[31m token\x1b[0m is \x07red", "the [token] is red"},
		{"token", "\x1b]8;;http://x\x07token\x1b]8;;\x07 linked", "[token] linked"},
		{"token", "a\u202etoken\u202c", "a[token]"},
		{"cafe", "Un CAFE\u0301 noir", "Un [CAFE\u0301] noir"},
		{"getUserName", "x.get_user_name(y) or getUserName", "x.[get_user_name](y) or [getUserName]"},
		{"user", "getUserName", "get[User]Name"},
		{`"exit code"`, "no exit\n   code; exit", "no [exit code]; exit"},
		{"src/auth/login.ts", "in src/auth/login.ts, not in src/other", "in [src/auth/login.ts], not in src/other"},
		{"src/login.ts", "in src/auth/login.ts", "in [src]/auth/[login].[ts]"},
		{"用户登录", "如何实现用户登录功能", "如何实现[用户登录]功能"},
		{"用户登", "实现用户, 户登", "实现[用户], [户登]"},
		{"C++", "in C and C++, C", "in C and [C++], C"},
		{"a NOT b", "a b", "[a] b"},
		{"missing", "nothing of it", "nothing of it"},
		{"token", long + "token" + strings.Repeat(" dolor", 60), ""},
		{"auth token", "auth " + long + "auth token " + long, ""},
		{"x", "", ""},
	} {
		h := match.NewFinder(planFor(t, c.query).Targets())
		matches, _ := h.Find([]byte(c.text))
		got := match.NewFragment([]byte(c.text), match.Choose(matches, match.FragmentBytes), matches)
		if c.want != "" {
			if diff := cmp.Diff(c.want, marked(got)); diff != "" {
				t.Errorf("fragment of %q for %q (-want +got):\n%s", c.text, c.query, diff)
			}
			continue
		}
		if c.text == "" {
			continue
		}
		// The best place of a long text, with dots on both sides.
		s := marked(got)
		if !strings.HasPrefix(s, "… ") || !strings.HasSuffix(s, " …") || !strings.Contains(s, "[token]") || strings.Contains(c.query, "auth") && !strings.Contains(s, "[auth] [token]") {
			t.Errorf("fragment for %q = %q", c.query, s)
		}
		if n := len(got.Text); n < match.FragmentBytes-48 || n > match.FragmentBytes+48 {
			t.Errorf("fragment for %q has %d bytes", c.query, n)
		}
	}
}

// isBoundary reports whether no grapheme cluster reaches across offset i of a text.
func isBoundary(text string, i int) bool {
	clusters := graphemes.FromString(text)
	for clusters.Next() {
		if end := clusters.End(); end >= i {
			return i == 0 || end == i
		}
	}
	return true
}

func TestFragmentProperties(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"token", "Token", "auth", "getUserName", "user_name", "exit code", "exit\ncode", "café", "cafe\u0301", "登录", "登", "ß", "\U0001F469\u200d\U0001F4BB", "\U0001F1E9\U0001F1EA",
		"\x1b[1;31m", "\x1b", "\x00", "\u202e", "\u2028", "\r\n", "\t", "    ", "한국어", "\u1112\u1161\u11ab", "a", ",", "--", "…", "\ufffd", strings.Repeat("z", 90), strings.Repeat("é", 40),
	})
	queries := rapid.SampledFrom([]string{"token", "auth token", `"exit code"`, "getUserName", "cafe", "登录", "ss", "user", "\U0001F469", "한국", "zzz*", strings.Repeat("z", 90)})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(rt, "text"), rapid.SampledFrom([]string{" ", "", "\n"}).Draw(rt, "between"))
		query := queries.Draw(rt, "query")
		h := match.NewFinder(planFor(t, query).Targets())
		matches, _ := h.Find([]byte(text))
		f := match.NewFragment([]byte(text), match.Choose(matches, match.FragmentBytes), matches)
		if !utf8.ValidString(f.Text) || strings.ContainsFunc(f.Text, terminal.Hidden) {
			rt.Fatalf("fragment %q has characters that it must not have", f.Text)
		}
		if n := len(strings.ReplaceAll(f.Text, " … ", "")); n > match.FragmentBytes+48+len("…  …") {
			rt.Fatalf("fragment of %d bytes: %q", len(f.Text), f.Text)
		}
		last := 0
		for _, s := range f.Spans {
			if s[0] < last || s[0] >= s[1] || s[1] > len(f.Text) {
				rt.Fatalf("spans %v of %d bytes", f.Spans, len(f.Text))
			}
			last = s[1]
			if !isBoundary(f.Text, s[0]) && !strings.Contains("登录한국", f.Text[s[0]:s[1]][:3]) {
				rt.Fatalf("span %v of %q begins inside a character", s, f.Text)
			}
			span := strings.Join(strings.Fields(analysis.Fold(f.Text[s[0]:s[1]])), " ")
			same := false
			for _, m := range matches {
				whole := strings.Join(strings.Fields(analysis.Fold(terminal.Clean(text[m.Start:m.End]))), " ")
				same = same || whole == span || m.End-m.Start > match.FragmentBytes-24 && strings.Contains(whole, span)
			}
			if !same {
				rt.Fatalf("span %q of %q is none of the matches", span, f.Text)
			}
		}
		if len(matches) > 0 && len(f.Spans) == 0 {
			rt.Fatalf("nothing is marked in %q for %q", f.Text, query)
		}
	})
}
