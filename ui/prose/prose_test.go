package prose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
)

// The lines show the place with the most words, and are filled even by a word that is longer
// than a line.
func TestFragmentLinesShowMostWords(t *testing.T) {
	of := func(text string, words ...string) match.Fragment {
		f := match.Fragment{Text: text}
		for _, w := range words {
			at := strings.Index(text, w)
			f.Spans = append(f.Spans, [2]int{at, at + len(w)})
		}
		return f
	}
	shown := func(f match.Fragment) (lines []string) {
		for _, line := range FragmentLines(f, 40, 2) {
			text := ""
			for _, c := range line {
				text += c.Text
			}
			lines = append(lines, text)
		}
		return lines
	}
	far := "the dock comes first, and then there are many other words that say nothing at all, until docker and compose come"
	if lines := shown(of(far, "dock ", "docker", "compose")); !strings.Contains(strings.Join(lines, " "), "docker and compose") {
		t.Errorf("without the place with both words: %q", lines)
	}
	long := "… https://example.com/docker/in/a/very/long/address/and/compose after it"
	if lines := shown(of(long, "docker", "compose")); len(lines) != 2 || len(lines[0]) < 35 {
		t.Errorf("a line is not filled: %q", lines)
	}
}

// Lines of a fragment show every word that is marked in it, use their width, and leave no
// room while text is left out.
func TestFragmentLinesFillTheirRoom(t *testing.T) {
	filler := rapid.SliceOfN(rapid.SampledFrom([]string{"lorem", "ipsum", "a", "of", "日本", "…", "2,000", strings.Repeat("z", 30), strings.Repeat("y", 71), "日本語の文章はここまで続く"}), 0, 25)
	rapid.Check(t, func(rt *rapid.T) {
		f := match.Fragment{}
		words := []string{"login", "timeout", "token"}[:rapid.IntRange(1, 3).Draw(rt, "words")]
		add := func(list ...string) {
			for _, w := range list {
				f.Text += human.When(f.Text != "", " ") + w
			}
		}
		for _, w := range rapid.Permutation(words).Draw(rt, "order") {
			add(filler.Draw(rt, "filler")...)
			add(w)
			f.Spans = append(f.Spans, [2]int{len(f.Text) - len(w), len(f.Text)})
		}
		add(filler.Draw(rt, "end")...)
		width := rapid.IntRange(50, 120).Draw(rt, "width")
		shown, used := "", 0
		lines := FragmentLines(f, width, 2)
		for i, line := range lines {
			cells := CellsOf(line)
			if cells > width || i < len(lines)-1 && 10*cells < 7*width {
				rt.Fatalf("line %d of %d has %d of %d cells", i, len(lines), cells, width)
			}
			used += cells
			for _, c := range line {
				shown += human.When(c.Marked, c.Text)
			}
		}
		for _, w := range words {
			if !strings.Contains(shown, w) {
				rt.Fatalf("%q is not shown: %q", w, shown)
			}
		}
		if most := min(terminal.Width(f.Text), 2*width); used < most-width/3-longToken {
			rt.Fatalf("%d cells are used of %d", used, most)
		}
	})
}

// The first match stays in sight, however little room there is.
func TestFragmentKeepsMatch(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("word ", 40) + "needle" + strings.Repeat(" word", 40),
		strings.Repeat("x", 200) + "needle" + strings.Repeat("y", 200),
		strings.Repeat("日本", 100) + "needle" + strings.Repeat("日本", 100),
		"needle" + strings.Repeat(" word", 100),
		strings.Repeat("word ", 100) + "needle",
	} {
		for _, width := range []int{16, 36, 63, 183} {
			at := strings.Index(text, "needle")
			lines := FragmentLines(match.Fragment{Text: text, Spans: [][2]int{{at, at + len("needle")}}}, width, 2)
			shown := ""
			for _, line := range lines {
				if n := CellsOf(line); n > width {
					t.Errorf("%d cells at width %d: %q", n, width, text[:20])
				}
				for _, c := range line {
					if c.Marked {
						shown += c.Text
					}
				}
			}
			if shown != "needle" || len(lines) > 2 {
				t.Errorf("width %d: %d lines show %q of %.20q, want the match whole", width, len(lines), shown, text)
			}
		}
	}
}

// Text is broken between words, where a line has one near its end; the pieces are the text.
func TestBreakText(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  []string
	}{
		{"the status (text), mid-session", 17, []string{"the status ", "(text), ", "mid-session"}},
		{"aaa bbb ccc", 7, []string{"aaa bbb ", "ccc"}},
		{"aaa bbb", 3, []string{"aaa ", "bbb"}},
		{"/a/long/path/of/a/file", 10, []string{"/a/long/pa", "th/of/a/fi", "le"}},
		{"a /long/path/of/a/file", 10, []string{"a /long/pa", "th/of/a/fi", "le"}},
		{"        indented", 10, []string{"        in", "dented"}},
		{"日本語 のテキスト", 8, []string{"日本語 ", "のテキス", "ト"}},
		{"short", 10, []string{"short"}},
	} {
		if got := BreakText(test.text, test.width); !slices.Equal(got, test.want) {
			t.Errorf("breakText(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for _, test := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"paragraph", "one two three four", 9, []string{"one two", "three", "four"}},
		{"list", "- one two three\n  - four five six", 12, []string{"- one two", "  three", "  - four", "    five six"}},
		{"numbers", "10. alpha beta gamma", 12, []string{"10. alpha", "    beta", "    gamma"}},
		{"quotation", "> one two three", 9, []string{"> one two", "> three"}},
		{"code stays", "```\na  b\n\tc\n```", 40, []string{"```", "a  b", "    c", "```"}},
		{"long code breaks", "```\nabcdefgh\n```", 4, []string{"```", "abcd", "efgh", "```"}},
		{"an open fence", "```sh\nls", 40, []string{"```sh", "ls"}},
		{"inner fence", "````\n```\n````\nx", 40, []string{"````", "```", "````", "x"}},
		{"blank lines", "\n\na\n\n\nb\n\n", 40, []string{"a", "", "b"}},
		{"wide characters", "日本語日本語", 5, []string{"日本", "語日", "本語"}},
		{"family", "👨‍👩‍👧👨‍👩‍👧", 2, []string{"👨‍👩‍👧", "👨‍👩‍👧"}},
		{"table", "| a | b |", 40, []string{"| a | b |"}},
		{"no width", strings.Repeat("x ", 100), 0, []string{strings.TrimSpace(strings.Repeat("x ", 100))}},
		{"control", "a\x1b[31mb\rc", 40, []string{"ab", "c"}},
	} {
		var got []string
		for _, l := range SourceLines([]byte(test.in), test.width) {
			got = append(got, l.Text)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%s: sourceLines(%q, %d) = %q, want %q", test.name, test.in, test.width, got, test.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		in         string
		head, tail int
		want       Folded
	}{
		{"", 2, 1, Folded{}},
		{"\n\n", 2, 1, Folded{}},
		{"a", 2, 1, Folded{Head: []string{"a"}}},
		{"a\nb\nc\nd", 2, 1, Folded{Head: []string{"a", "b", "c", "d"}}},
		{"a\nb\nc\nd\ne\n", 2, 1, Folded{Head: []string{"a", "b"}, Tail: []string{"e"}, Hidden: 2}},
		{"a\nb\nc\nd\ne", 2, 0, Folded{Head: []string{"a", "b"}, Hidden: 3}},
		{"10%\r20%\r100%\r\nx", 2, 0, Folded{Head: []string{"100%", "x"}}},
	} {
		got := Fold([]byte(test.in), test.head, test.tail)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Folded{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("fold(%q, %d, %d) (-want +got):\n%s", test.in, test.head, test.tail, diff)
		}
	}
}
