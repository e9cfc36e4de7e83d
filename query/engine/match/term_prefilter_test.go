package match

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/index/analysis"
)

// The pieces that pass the prefilter have every token that is one of the terms.
func TestTermPrefilter(t *testing.T) {
	alphabet := []rune("abAB12_ \n\t.-é\u0301ﬁ中文Ａ\x1b[m🙂ßK")
	text := rapid.Custom(func(t *rapid.T) string {
		words := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"read", "READ_line", "readRequestLine", "__request", "r_e_ad", "line", "\x1b[31mread", " ", "\n", "/"}),
			rapid.StringOfN(rapid.SampledFrom(alphabet), 1, 6, -1),
		)).Draw(t, "words")
		return strings.Join(words, rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "between"))
	})
	type token struct {
		Term       string
		Start, End int
	}
	var a analysis.Analyzer
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(text.Draw(t, "text"))
		g := newTermPrefilter()
		terms := map[string]bool{}
		for _, term := range rapid.SliceOfN(rapid.SampledFrom([]string{"read", "request", "readrequestline", "line", "rea", "re", "é", "aab", "ab1", "中"}), 1, 4).Draw(t, "terms") {
			terms[term] = true
			g.add(term)
		}
		var want, got []token
		from := 0
		keep := func(list *[]token) func(analysis.Token) {
			return func(t analysis.Token) {
				if terms[string(t.Term)] {
					*list = append(*list, token{string(t.Term), from + t.Start, from + t.End})
				}
			}
		}
		a.Walk(text, keep(&want))
		g.pieces(text, func(start, end int) {
			from = start
			a.Walk(text[start:end], keep(&got))
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v in %q:\n%s", terms, text, diff)
		}
	})
}

// BenchmarkTermPrefilter looks for frequent words in source code.
func BenchmarkTermPrefilter(b *testing.B) {
	var text []byte
	files, err := filepath.Glob("*.go")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, source...)
	}
	g := newTermPrefilter()
	for _, term := range []string{"config", "token", "login", "refresh", "error"} {
		g.add(term)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		g.pieces(text, func(int, int) {})
	}
}
