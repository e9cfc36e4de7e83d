package automaton

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func BenchmarkLine(b *testing.B) {
	text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog, 日本語 and more. ", 10_000))
	for _, expr := range []string{`.{1000}x\z`, `\pL{1000}`, strings.Repeat(".{1000}", 20) + `\z`, "[0-9a-f]{40}", `(?i)fox.*zebra`, "xyz|uvw"} {
		b.Run(expr[:7], func(b *testing.B) {
			m := program(b, parse(b, expr, syntax.Perl), Options{}).Matcher(4 << 20)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Line(text, 0)
			}
		})
		b.Run(expr[:7]+" without states", func(b *testing.B) {
			m := program(b, parse(b, expr, syntax.Perl), Options{}).Matcher(0)
			b.SetBytes(100_000)
			for b.Loop() {
				m.Line(text[:100_000], 0)
			}
		})
	}
}

func BenchmarkSpans(b *testing.B) {
	text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog, 日本語 and more. ", 10_000))
	letters := []byte(strings.Repeat("quickbrownfoxesjumpoverthelazydog日本語", 10_000))
	for _, c := range []struct {
		expr string
		text []byte
	}{{`.{1000}`, text}, {`\pL{1000}`, letters}, {`\w+`, text}, {`(?i)fox \w+`, text}} {
		b.Run(c.expr, func(b *testing.B) {
			m := program(b, parse(b, c.expr, syntax.Perl), Options{}).Matcher(4 << 20)
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				m.Spans(c.text, -1)
			}
		})
	}
}
