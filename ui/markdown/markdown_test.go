package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
)

func TestRender(t *testing.T) {
	for _, test := range []struct {
		name, source string
		width        int
		want         string
	}{
		{"plain", "one two\nthree  four", 80, "one two\nthree  four"},
		{"words", "one two three", 9, "one two\nthree"},
		{"a long word", "a loooooooong word", 6, "a\nlooooo\nooong\nword"},
		{"wide characters", "日本語のテキスト ab", 7, "日本語\nのテキ\nスト ab"},
		{"a cluster stays whole", "ab👨‍👩‍👧c", 3, "ab\n👨‍👩‍👧c"},
		{"blank lines", "\n\none\n\n\n\ntwo\n\n", 80, "one\n\ntwo"},
		{"headings", "# One *x*\n###### Six ##\n#no\n####### seven", 80, "One x\nSix\n#no\n####### seven"},
		{"emphasis", "*a* **b** ***c*** _d_ __e__ ~~f~~ **g *h* i**", 80, "a b c d e f g h i"},
		{"no emphasis", "a_b_c 2*3*4 * a * **a ~b~ \\*c\\* snake_case_", 80, "a_b_c 2*3*4 * a * **a ~b~ *c* snake_case_"},
		{"code", "`a*b*` ``c`d`` ` e` `f", 80, "a*b* c`d  e `f"},
		{"links", "[a *b*](http://x/y) [c](u \"title\") [http://d](http://d) <http://e> http://f/g_h_i. ![p](q.png)", 90,
			"a b (http://x/y) c (u \"title\") http://d http://e http://f/g_h_i. p (q.png)"},
		{"no links", "a[0](x y) [ref][1] [x]\n[1]: http://z", 80, "a[0](x y) [ref][1] [x]\n[1]: http://z"},
		{"entities", "&lt;b&gt; &amp;amp; &nope; &#27;[31m &#x202e;", 80, "<b> &amp; &nope; &#27;[31m &#x202e;"},
		{"HTML", "<div class=\"x\">\n  <b>y</b>\n</div>", 80, "<div class=\"x\">\n  <b>y</b>\n</div>"},
		{"lists", "- one two\n  - three\n+ x\n* y\n10. ten eleven\n1) z", 10, "• one two\n  • three\n• x\n• y\n10. ten\n    eleven\n1) z"},
		{"tasks", "- [ ] to do it\n- [x] done it", 12, "• [ ] to do\n      it\n• [x] done\n      it"},
		{"text of a list", "- one\n  two\n\n  three\n\n      four", 80, "• one\n  two\n\n  three\n\n      four"},
		{"quotes", "> one two\n> > three\n>\n> - four", 9, "│ one two\n│ │ three\n│\n│ • four"},
		{"margins on a narrow screen", "- [x] one two\n        - three", 8, "• [x]\none two\n• three"},
		{"a margin and a wide character", " 日\n- 日\n> 日", 2, "日\n•\n日\n│\n日"},
		{"rules", "---\n* * *\n--\n===", 5, "─────\n─────\n--\n==="},
		{"fence", "a\n```go\nfunc f() {\n    x\n\n\n}\n```\nb", 80, "a\n  func f() {\n      x\n\n\n  }\nb"},
		{"fence without an end", "~~~\n# a", 80, "  # a"},
		{"fence in a list", "1. one\n   ```sh\n   ls\n     -l\n   ```\n2. two", 80, "1. one\n     ls\n       -l\n2. two"},
		{"fence in a quotation", "> ```\n> a *b*\n> ```\n> c\n> ```\nd", 80, "│   a *b*\n│ c\nd"},
		{"inner fence", "````md\n```\na\n```\n````", 80, "  ```\n  a\n  ```"},
		{"code that fits", "```\nabcdefghij\n```", 12, "  abcdefghij"},
		{"long code", "```\nabcdefghijkl\n```", 12, "  abcdefghij\n  kl"},
		{"indented code", "a:\n\n    *b*\n      c\n\nd", 80, "a:\n\n  *b*\n    c\n\nd"},
		{"pasted code", "f() {\n        *a*\n}", 80, "f() {\n        *a*\n}"},
		{"table", "| a | b |\n|:-:|--:|\n| `x|y` | **z** |\n| 日本 | \\| |\n| only |\nend", 80,
			" a   │ b\n─────┼──\nx|y  │ z\n日本 │ |\nonly │\nend"},
		{"narrow table", "| aa aa | b |\n|---|---|\n| cc cc cc | dd |", 12, "aa aa   │ b\n────────┼───\ncc cc   │ dd\ncc      │"},
		{"table without bars at the ends", "a | b\n--|--\nc | d", 80, "a │ b\n──┼──\nc │ d"},
		{"table that does not fit", "| a | b | c |\n|---|---|---|\n| d | e | f |", 12, "| a | b | c\n|\n|---|---|---\n|\n| d | e | f\n|"},
		{"no table", "a | b\nc | d", 80, "a | b\nc | d"},
	} {
		var got []string
		for _, l := range Render(test.source, test.width) {
			got = append(got, strings.TrimRight(l.String(), " "))
			if n := terminal.Width(l.String()); n > test.width {
				t.Errorf("%s: %q is %d cells wide", test.name, l.String(), n)
			}
		}
		if diff := cmp.Diff(strings.Split(test.want, "\n"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestStyles(t *testing.T) {
	type styled = struct {
		Text  string
		Style Style
		URL   string
	}
	for _, test := range []struct {
		source string
		want   []styled
	}{
		{"# a *b*", []styled{{"a ", Heading, ""}, {"b", Heading | Italic, ""}}},
		{"**a `b`** ~~c~~", []styled{{"a ", Bold, ""}, {"b", Bold | Code, ""}, {" ", 0, ""}, {"c", Strike, ""}}},
		{"x [a](u)", []styled{{"x ", 0, ""}, {"a", Link, "u"}, {" (u)", Faint, ""}}},
		{"http://a, b", []styled{{"http://a", Link, "http://a"}, {", b", 0, ""}}},
		{"> - [x] a", []styled{{"│ ", Faint, ""}, {"• ", 0, ""}, {"[x] ", Faint, ""}, {"a", 0, ""}}},
	} {
		var got []styled
		for _, r := range Render(test.source, 80)[0] {
			got = append(got, styled{r.Text, r.Style, r.URL})
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.source, diff)
		}
	}
}

// However deeply text is nested, and whatever begins without an end: it takes some 10 ms,
// where trying each beginning with each end would take longer than a test may run.
func TestRenderOfEndlessNesting(t *testing.T) {
	n := testkit.HowMany(60_000, 200_000, 200_000)
	for _, piece := range []string{
		"*a ", "**a *b ", "a** ", "_a*", "*a_ ", "[", "](", "[a](", "![[]()", "[a](b", "`", "`a``b```c", "<http://", "http://", "&", "\\", "~~", "~~a",
		">", "> ", "- ", "1. ", "- - > ", "|", "| a ", "|-", "`|", "#", "```", "```\n", "> ```\n", "|a|b|\n|-|-|\n", "|a|\n|-|\n|b|\n", "   ", "\n", " \n", "a\n", "日", "e\u0301", "- a\n", "  - a\n", "[]()",
	} {
		for _, source := range []string{strings.Repeat(piece, n/len(piece)), strings.Repeat(strings.Repeat(piece, 1+5000/len(piece))+"\n", n/5000)} {
			if len(Render(source, 80)) == 0 && strings.Contains(piece, "a") {
				t.Errorf("nothing is left of %q", piece)
			}
		}
	}
}

// The end of a line of code is looked for once, not for each row of the screen: that would take
// minutes here.
func TestRenderOfALongLineOfCode(t *testing.T) {
	const n = 2 << 20
	lines := Render("```\n"+strings.Repeat("x", n)+"\ny\n```", 1)
	if len(lines) != n+1 || lines[n].String() != "y" {
		t.Errorf("%d rows, want one for each of %d characters", len(lines), n+1)
	}
}

// A table that is too wide is left before its rows are read, which begin such tables themselves:
// this would take minutes.
func TestRenderOfTablesThatDoNotFit(t *testing.T) {
	const n = 100_000
	if lines := Render(strings.Repeat("a|\n-|\n", n), 3); len(lines) != 2*n {
		t.Errorf("%d lines, want %d", len(lines), 2*n)
	}
}

// A line is read once, whatever it is made of: to go back for each piece would take minutes
// here.
func TestReadOfLongLines(t *testing.T) {
	const n = 1 << 20
	for _, test := range []struct{ name, source, want string }{
		{"escapes", strings.Repeat(`\*`, n), strings.Repeat("*", n)},
		{"parentheses after an address", "http://a" + strings.Repeat(")", n), "http://a" + strings.Repeat(")", n)},
		{"closers that also open", strings.Repeat("*a ", n/2) + strings.Repeat("~~b", n), strings.Repeat("*a ", n/2) + strings.Repeat("b", n)},
	} {
		if got := Line(read(test.source, 0)).String(); got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, len(got), len(test.want))
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("# a **b `c` [d](e)** ~~f~~\n- g\n  1. h\n> i\n\n| a | b |\n|:-:|--:|\n| c | 日本 |\n```go\nfunc\n```\n&#27;", 20)
	f.Add(" 日", 1)
	f.Fuzz(checkRender)
}

func TestRandomMarkdown(t *testing.T) {
	pieces := []string{
		"a", "b c", "word ", "日本", "\n", "\n\n", "  ", "    ", "* ", "- ", "> ", "1. ", "# ", "*", "**", "_", "~~", "`", "```", "\n```go\n", "[", "](", ")", "[x] ", "!", "<", "http://x.y/", "|", "\n|-|-|\n", "---", "\\", "&lt;", "e\u0301",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range testkit.HowMany(1000, 5000, 50_000) {
		var b strings.Builder
		for range 1 + rnd.IntN(30) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		checkRender(t, b.String(), rnd.IntN(60))
	}
}

// checkRender renders a text, which must fit, be harmless and have every letter.
func checkRender(t *testing.T, source string, width int) {
	source = strings.ReplaceAll(terminal.CleanLines(source), "\t", " ")
	width = 1 + max(0, width)%200
	var shown strings.Builder
	for _, l := range Render(source, width) {
		text := l.String()
		if strings.ContainsFunc(text, terminal.Hidden) {
			t.Errorf("%q shows control characters: %q", source, text)
		}
		if n := terminal.Width(text); n > max(width, 2) {
			t.Errorf("%q at width %d has a line of %d cells: %q", source, width, n, text)
		}
		shown.WriteString(text)
	}
	if strings.ContainsAny(source, "`~&") { // a fence may name a language, an entity is another letter
		source = strings.NewReplacer("```go", "", "&lt;", "").Replace(source)
		if strings.ContainsAny(source, "~&") || strings.Contains(source, "```") {
			return
		}
	}
	for _, r := range source {
		if unicode.IsLetter(r) && strings.Count(shown.String(), string(r)) < strings.Count(source, string(r)) {
			t.Errorf("%q is shown without %q: %q", source, r, shown.String())
		}
	}
}
