package analysis

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// shown is a Token that can be kept and printed.
type shown struct {
	Term, Source string
	Form         Form
}

func walk(t testing.TB, text string) []shown {
	t.Helper()
	var a Analyzer
	var got []shown
	n := a.Walk([]byte(text), func(k Token) {
		if k.Start < 0 || k.End > len(text) || k.Start >= k.End {
			t.Fatalf("Walk(%q): token %q at [%d,%d)", text, k.Term, k.Start, k.End)
		}
		got = append(got, shown{string(k.Term), text[k.Start:k.End], k.Form})
	})
	if n != len(got) {
		t.Fatalf("Walk(%q) = %d, emitted %d", text, n, len(got))
	}
	return got
}

func terms(t testing.TB, text string) string {
	var s []string
	for _, k := range walk(t, text) {
		s = append(s, k.Term)
	}
	return strings.Join(s, " ")
}

func TestWalkTerms(t *testing.T) {
	long := strings.Repeat("abcdefgh", 20)
	tests := []struct{ text, want string }{
		{"", ""},
		{" .,!\t\n", ""},
		{"hello World", "hello world"},
		{"don't", "don t"},
		{"the a of", "the a of"},
		{"renaming", "renaming"},
		// Identifiers.
		{"getUserName", "get user name getusername"},
		{"get_user_name", "get user name getusername"},
		{"GET_USER_NAME", "get user name getusername"},
		{"parseHTMLResponse", "parse html response parsehtmlresponse"},
		{"HTMLParser", "html parser htmlparser"},
		{"HTML", "html"},
		{"aB", "a b ab"},
		{"ABc", "a bc abc"},
		{"Ab", "ab"},
		{"AB", "ab"},
		{"__init__", "init"},
		{"_private", "private"},
		{"trailing_", "trailing"},
		{"a__b", "a b ab"},
		{"_", ""},
		{"____", ""},
		{"_ _a_ __", "a"},
		{"sha256", "sha256"},
		{"v1", "v1"},
		{"e0425", "e0425"},
		{"E0425", "e0425"},
		{"0xDEAD", "0x dead 0xdead"},
		{"x86_64", "x86 64 x8664"},
		{"utf8name", "utf8name"},
		{"base64Encode", "base64 encode base64encode"},
		{"x86ABI", "x86abi"},
		{"ipV6", "ip v6 ipv6"},
		{"12345", "12345"},
		// Joined by punctuation: the parts only.
		{"foo-bar", "foo bar"},
		{"--no-cache", "no cache"},
		{"src/auth/login.ts", "src auth login ts"},
		{"foo.bar.baz()", "foo bar baz"},
		{"file.go:520", "file go 520"},
		{"C++", "c"},
		{"v1.2.3", "v1 2 3"},
		{"01a1f7de-9fa3-4f62", "01a1f7de 9fa3 4f62"},
		// Folding.
		{"café", "cafe"},
		{"cafe\u0301s", "cafes"},
		{"naïve Straße", "naive strasse"},
		{"STRASSE", "strasse"},
		{"Ærø Œuvre Łódź Đà ıi", "aero oeuvre lodz da ii"},
		{"ﬁle", "file"},
		{"Ａｂｃ１", "abc1"},
		{"ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"},
		{"МОСКВА ёж", "москва еж"},
		{"ĞetÜser", "get user getuser"},
		{"x²", "x2"},
		{"½", "1 2"},
		{"㎏", "kg"},
		{"हिन्दी", "हिन्दी"},
		{"مُحَمَّد", "مُحَمَّد"},
		{"שלום", "שלום"},
		// Scripts written without spaces.
		{"中", "中"},
		{"中文", "中 文 中文"},
		{"中文支", "中 文 中文 支 文支"},
		{"中,文", "中 文"},
		{"日本語", "日 本 日本 語 本語"},
		{"スーパー", "ス ー スー パ ーパ ー パー"},
		{"ｶﾞ", "ガ"},
		{"か\u3099", "が"},
		{"한국", "한 국 한국"},
		{"\u1112\u1161\u11ab", "한"},
		{"人々", "人 々 人々"},
		{"ไทย", "ไ ท ไท ย ทย"},
		{"𠀀𠀁", "𠀀 𠀁 𠀀𠀁"},
		{"使用golang写代码", "使 用 使用 golang 写 代 写代 码 代码"},
		{"getUser中Name", "get user getuser 中 name"},
		{"葛\U000E0100城", "葛 城 葛城"},
		// Emoji and other signs.
		{"🎉", "🎉"},
		{"go🎉go", "go 🎉 go"},
		{"❤\uFE0F", "❤"},
		{"✓ done", "✓ done"},
		{"1\uFE0F\u20E3", "1"},
		{"│ ─ ⠿ █", ""},
		{"foo—bar…baz", "foo bar baz"},
		{"a\u200bb", "a b"},
		{"a\u2028b", "a b"},
		{"\u0301x", "x"},
		{"\u0901", ""},
		// Bytes that are not UTF-8, NUL.
		{"foo\xffbar", "foo bar"},
		{"é\xffé", "e e"},
		{"a\x00b", "a b"},
		{"a\ufffdb", "a b"},
		// Cutting.
		{long, long[:64]},
		{long + "_x", long[:64] + " x " + long[:64]},
		{strings.Repeat("é", 100), strings.Repeat("e", 64)},
		{"a" + strings.Repeat("я", 100) + "b", "a" + strings.Repeat("я", 31)},
	}
	for _, tt := range tests {
		if got := terms(t, tt.text); got != tt.want {
			t.Errorf("Walk(%q)\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestWalkTokens(t *testing.T) {
	tests := []struct {
		text string
		want []shown
	}{
		{"a Foo", []shown{{"a", "a", Word}, {"foo", "Foo", Word}}},
		{"_getX_", []shown{{"get", "get", Part}, {"x", "X", Part}, {"getx", "getX", Whole}}},
		{"__éaB_", []shown{{"ea", "éa", Part}, {"b", "B", Part}, {"eab", "éaB", Whole}}},
		{"Cafe\u0301!", []shown{{"cafe", "Cafe\u0301", Word}}},
		{"x中文", []shown{{"x", "x", Word}, {"中", "中", Single}, {"文", "文", Single}, {"中文", "中文", Gram}}},
		{"🎉", []shown{{"🎉", "🎉", Single}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, walk(t, tt.text)); diff != "" {
			t.Errorf("Walk(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestFold(t *testing.T) {
	tests := []struct{ s, want string }{
		{"", ""},
		{"Hello,  World\n", "hello,  world\n"},
		{"café CAFÉ cafe\u0301", "cafe cafe cafe"},
		{"\u00a0…", " ..."},
		{"get_UserName()", "get_username()"},
		{"ẞß", "ssss"},
		{"が か\u3099", "が が"},
		{"한", "한"},
		{"a\xffb", "a\ufffdb"},
	}
	for _, tt := range tests {
		if got := Fold(tt.s); got != tt.want {
			t.Errorf("Fold(%q) = %q, want %q", tt.s, got, tt.want)
		}
	}
}

// Letters that differ only in case must fold alike, and a folded code point must stay as it is.
func TestFoldEveryRune(t *testing.T) {
	var f folder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if (r >= 0x40000 && r < 0xe0000 || r >= 0xe1000) && r%256 != 0 {
			continue // unassigned, or for private use: all alike
		}
		s := f.fold(string(r))
		if again := f.fold(s); again != s {
			t.Errorf("Fold(%q) = %q, folded again %q", r, s, again)
		}
		other := unicode.SimpleFold(r)
		if other == r || isDiacritic(r) || isDiacritic(other) {
			continue
		}
		if o := f.fold(string(other)); o != s {
			t.Errorf("Fold(%q) = %q, but %q gives %q", r, s, other, o)
		}
	}
}

func TestFoldText(t *testing.T) {
	type source struct{ folded, from string }
	tests := []struct {
		text, want string
		sources    []source // where the first occurrence in the folded text comes from
	}{
		{"", "", nil},
		{"One  Two\n\tThree", "one two three", []source{{"two", "Two"}, {" ", "  "}, {"two three", "Two\n\tThree"}, {"e t", "e  T"}}},
		{"a b  c", "a b c", []source{{" ", " "}, {"b c", "b  c"}, {" c", "  c"}, {"b ", "b  "}}},
		{"Die Straße!", "die strasse!", []source{{"strasse", "Straße"}, {"s", "S"}, {"sse", "ße"}, {"!", "!"}}},
		{"cafe\u0301 x", "cafe x", []source{{"e", "e\u0301"}, {"x", "x"}}},
		{"ﬁ", "fi", []source{{"f", "ﬁ"}, {"i", "ﬁ"}}},
		{"中文 Go", "中文 go", []source{{"文", "文"}, {"go", "Go"}}},
		{"a\xffb", "a\ufffdb", []source{{"b", "b"}, {"\ufffd", "\xff"}}},
	}
	for _, tt := range tests {
		var a Analyzer
		f := a.FoldText([]byte(tt.text))
		if string(f.Text) != tt.want {
			t.Errorf("FoldText(%q) = %q, want %q", tt.text, f.Text, tt.want)
			continue
		}
		for _, s := range tt.sources {
			at := bytes.Index(f.Text, []byte(s.folded))
			start, end := f.Source(at, at+len(s.folded))
			if got := tt.text[start:end]; got != s.from {
				t.Errorf("FoldText(%q): %q comes from %q, want %q", tt.text, s.folded, got, s.from)
			}
		}
	}
}

// anyText generates texts that are rich in what the rules are about.
func anyText() *rapid.Generator[string] {
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "_", "__", "-", ".", "\n", "a", "B", "c", "Foo", "HTTP", "x9", "7", "é", "e\u0301", "É", "ß", "ﬁ",
			"\u0301", "\u3099", "か", "ガ", "ー", "中", "文", "한", "\u1112", "\u1161", "ไ", "\u0e49", "İ", "ı", "Σ", "ς", "\xff", "\xe4\xb8", "🎉",
			"\uFE0F", "\u200d", "\u093c", "\u0915", "\u0901", "ǅ", "㎅", "\u00a0", "—", "²", "ﾞ"}),
		rapid.StringN(0, 5, -1),
		rapid.StringMatching(`[A-Za-z0-9_]{1,90}`),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
	})
}

func TestFoldIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "text")
		once := Fold(s)
		if twice := Fold(once); twice != once {
			t.Fatalf("Fold(%q) = %q, folded again %q", s, once, twice)
		}
		var a Analyzer
		a.Walk([]byte(s), func(k Token) {
			if f := Fold(string(k.Term)); f != string(k.Term) {
				t.Fatalf("Walk(%q): term %q folds to %q", s, k.Term, f)
			}
			if len(k.Term) == 0 || len(k.Term) > MaxTerm || !utf8.Valid(k.Term) {
				t.Fatalf("Walk(%q): term %q", s, k.Term)
			}
		})
	})
}

// collect leaves out the sources: a mark without a letter counts to the character before it, even a separating one.
func collect(a *Analyzer, text string) []shown {
	var got []shown
	a.Walk([]byte(text), func(k Token) { got = append(got, shown{Term: string(k.Term), Form: k.Form}) })
	return got
}

// A text gives the same tokens in any surroundings that are separate from it.
func TestWalkIsContextFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, before, after := anyText().Draw(t, "text"), anyText().Draw(t, "before"), anyText().Draw(t, "after")
		var a Analyzer
		want := append(append(collect(&a, before), collect(&a, s)...), collect(&a, after)...)
		for _, sep := range []string{" ", "\n", "—", "\x00", "(", "\xff"} {
			got := collect(&a, before+sep+s+sep+after)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("Walk(%q) (-parts +whole):\n%s", before+sep+s+sep+after, diff)
			}
		}
	})
}

func TestFoldTextSources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "text")
		var a Analyzer
		f := a.FoldText([]byte(s))
		boundary := map[int]bool{len(s): true}
		for i := range s { // every byte that is not UTF-8 counts as a rune
			boundary[i] = true
		}
		last := 0
		for i := 0; i <= len(f.Text); i++ {
			start, _ := f.Source(i, i)
			if start < last || !boundary[start] {
				t.Fatalf("FoldText(%q).Source(%d, %d) starts at %d", s, i, i, start)
			}
			last = start
			for j := i + 1; j <= len(f.Text); j++ {
				from, to := f.Source(i, j)
				if from >= to || to > len(s) || !boundary[from] || !boundary[to] {
					t.Fatalf("FoldText(%q).Source(%d, %d) = %d, %d", s, i, j, from, to)
				}
				// What it came from holds all that was asked for.
				if got := a.FoldText([]byte(s[from:to])); !bytes.Contains(got.Text, f.Text[i:j]) && utf8.RuneStart(f.Text[i]) && (j == len(f.Text) || utf8.RuneStart(f.Text[j])) {
					t.Fatalf("FoldText(%q): [%d:%d] = %q comes from %q, which folds to %q", s, i, j, f.Text[i:j], s[from:to], got.Text)
				}
			}
		}
		if want := strings.Join(strings.FieldsFunc(Fold(s), unicode.IsSpace), " "); want != strings.Trim(string(f.Text), " ") {
			t.Fatalf("FoldText(%q) = %q, want %q", s, f.Text, want)
		}
	})
}

// reference is the rules once more, slow and plain: fold the whole text, then look at runs of classes.
func reference(s string) []string {
	type char struct {
		class class
		fold  string
	}
	var decomposed []rune
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(string([]rune(s)), "\ufffd")) {
		if !isDiacritic(r) {
			decomposed = append(decomposed, r)
		}
	}
	var runs [][]char
	kind := func(c class) int {
		switch c {
		case separator:
			return 0
		case unspaced:
			return 2
		case emoji:
			return 3
		}
		return 1
	}
	last := 0
	for _, r := range norm.NFC.String(string(decomposed)) {
		c := char{classify(r), foldCase(r)}
		k := kind(c.class)
		switch {
		case c.class == mark && last != 1:
			continue // no word to belong to, and no end of a run either
		case k == 0:
		case k == last && k != 3:
			runs[len(runs)-1] = append(runs[len(runs)-1], c)
		default:
			runs = append(runs, []char{c})
		}
		last = k
	}
	cut := func(s string) string {
		for len(s) > MaxTerm {
			_, size := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-size]
		}
		return s
	}
	var terms []string
	for _, run := range runs {
		if kind(run[0].class) != 1 {
			for i, c := range run {
				terms = append(terms, c.fold)
				if i > 0 {
					terms = append(terms, run[i-1].fold+c.fold)
				}
			}
			continue
		}
		var parts []string
		open := false
		before := separator
		for i, c := range run {
			after := separator
			if i+1 < len(run) {
				after = run[i+1].class
			}
			switch {
			case c.class == underscore:
				open = false
				before = separator
				continue
			case c.class == mark:
				if open {
					parts[len(parts)-1] += c.fold
				}
				continue
			case !open || c.class == upper && splits(before, after):
				parts = append(parts, "")
			}
			open, before = true, c.class
			parts[len(parts)-1] += c.fold
		}
		for _, p := range parts {
			terms = append(terms, cut(p))
		}
		if len(parts) > 1 {
			terms = append(terms, cut(strings.Join(parts, "")))
		}
	}
	return terms
}

func checkAgainstReference(t interface {
	Fatalf(string, ...any)
}, s string) {
	var a Analyzer
	var got []string
	a.Walk([]byte(s), func(k Token) { got = append(got, string(k.Term)) })
	want := reference(s)
	for _, at := range colourCodes.FindAllStringIndex(s, -1) {
		// The run after a colour code is walked once more on its own.
		run := s[at[1]:]
		if end := strings.IndexFunc(run, func(r rune) bool { return r < utf8.RuneSelf && classify(r) == separator }); end >= 0 {
			run = run[:end]
		}
		want = append(want, reference(run)...)
	}
	if strings.Contains(s, "\x1b[") {
		slices.Sort(want)
		slices.Sort(got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Walk(%q) (-reference +got):\n%s", s, diff)
	}
}

var colourCodes = regexp.MustCompile(`\x1b\[[\x30-\x3f]*[\x40-\x7e]`)

func TestWalkColourCodes(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"\x1b[31mtoken\x1b[0m x", "token 31mtoken 0m x"},
		{"\x1b[1m\x1b[31mgetUser", "1m get user getuser 31mget user 31mgetuser"},
		{"\x1b[31m中文", "中 文 中文 31m 中 文 中文"},
		{"\x1b[ token", "token"},
		{"\x1b[31", "31"},
		{"\x1b[", ""},
	} {
		var a Analyzer
		var got []string
		n := a.Walk([]byte(test.text), func(k Token) { got = append(got, string(k.Term)) })
		if strings.Join(got, " ") != test.want || n != len(got) {
			t.Errorf("Walk(%q) = %q, want %q", test.text, got, test.want)
		}
		checkAgainstReference(t, test.text)
	}
}

func TestWalkAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkAgainstReference(t, anyText().Draw(t, "text")) })
}

// The path for ASCII runs and the one for everything else give the same tokens.
func TestWalkPathsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[A-Za-z0-9_]{1,200}`).Draw(t, "run")
		var a Analyzer
		var fast, slow []shown
		a.Walk([]byte(s), func(k Token) { fast = append(fast, shown{string(k.Term), s[k.Start:k.End], k.Form}) })
		a.walkMixed([]byte(s), 0, func(k Token) { slow = append(slow, shown{string(k.Term), s[k.Start:k.End], k.Form}) })
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Fatalf("%q (-slow +fast):\n%s", s, diff)
		}
	})
}

func FuzzWalk(f *testing.F) {
	for _, s := range []string{"getUserName C++ src/a.go", "\x1b[1;31mtoken\x1b[0m", "é中文한국e\u0301\u3099", "\xff_a_\xe4", strings.Repeat("aB", 60), "❤\uFE0F㎅İ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		marks := 0
		for _, r := range s {
			if norm.NFKC.PropertiesString(string(r)).BoundaryBefore() {
				marks = 0
			} else if marks++; marks >= maxJoined-1 {
				t.Skip("a row of so many marks is cut into segments, and the reference cuts it elsewhere")
			}
		}
		checkAgainstReference(t, s)
	})
}

// A row of marks without end must not take memory without end, and must still give terms that fold to themselves.
func TestWalkManyMarks(t *testing.T) {
	text := []byte("e" + strings.Repeat("\u0301", 1000) + "x " + strings.Repeat("\u3099", 1000) + "y")
	var a Analyzer
	var got []string
	a.Walk(text, func(k Token) { got = append(got, string(k.Term)) })
	if diff := cmp.Diff([]string{"ex", "y"}, got); diff != "" {
		t.Errorf("Walk (-want +got):\n%s", diff)
	}
}

func BenchmarkWalk(b *testing.B) {
	texts := map[string]string{
		"code":  "func (s *Scorch) getUserName(ctx context.Context, id_of_user int) (string, error) {\n\treturn s.store.Lookup(ctx, id, 0x1F)\n}\n",
		"prose": "The writer publishes an immutable generation and readers open the newest one; nobody ever waits for anybody else.\n",
		"mixed": "使用golang写代码，naïve Straße: the café's menu — très bien! Все хорошо, спасибо. 日本語テスト\n",
	}
	for name, line := range texts {
		b.Run(name, func(b *testing.B) {
			text := []byte(strings.Repeat(line, 200_000/len(line)))
			b.SetBytes(int64(len(text)))
			var a Analyzer
			n := 0
			for b.Loop() {
				n += a.Walk(text, func(k Token) { n += len(k.Term) })
			}
			if n == 0 {
				b.Fatal("no tokens")
			}
		})
	}
	b.Run("fold", func(b *testing.B) {
		text := []byte(strings.Repeat(texts["code"], 2000))
		b.SetBytes(int64(len(text)))
		var a Analyzer
		for b.Loop() {
			a.FoldText(text)
		}
	})
}

func ExampleAnalyzer_Walk() {
	var a Analyzer
	a.Walk([]byte("getUserName(é)"), func(k Token) { fmt.Printf("%s [%d,%d)\n", k.Term, k.Start, k.End) })
	// Output:
	// get [0,3)
	// user [3,7)
	// name [7,11)
	// getusername [0,11)
	// e [12,14)
}
