package query

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pigrep/index/analysis"
)

// What a look at the JSON rules out is in no text of it.
func TestRawNeedle(t *testing.T) {
	pieces := []string{
		"exit", "code", "Exit", "CODE", "e", "x1", "_", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "/", ".", "\"", "\\", "-", "->", "::", "(", "<", "&", "é", "ﬁ", "ｅ", "…", "²",
		"用户", "—", "\x1b[1m", "\u200b", "e\u0301", "\U0001F600", "\u2028", "K", "İ", "u000b", "n",
	}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), "")
	})
	rejected := 0
	rapid.Check(t, func(rt *rapid.T) {
		doc := text.Draw(rt, "text")
		typed := text.Draw(rt, "typed")
		if rapid.Bool().Draw(rt, "a part of the text") {
			runes := []rune(doc)
			from := rapid.IntRange(0, len(runes)-1).Draw(rt, "from")
			typed = string(runes[from : from+rapid.IntRange(1, len(runes)-from).Draw(rt, "length")])
		}
		n := newNeedle(typed)
		r := newRawNeedle(&n)
		if r == nil {
			return
		}
		var buf bytes.Buffer
		e := json.NewEncoder(&buf)
		e.SetEscapeHTML(rapid.Bool().Draw(rt, "escape"))
		// The text may be made of several strings, as the arguments of a call are.
		var value any = doc
		joined := doc
		if rapid.Bool().Draw(rt, "several") {
			second := text.Draw(rt, "second")
			value, joined = []string{doc, second}, doc+"\n"+second
			if rapid.Bool().Draw(rt, "across") {
				typed = doc[strings.LastIndexByte(doc, ' ')+1:] + " " + second[:strings.IndexByte(second+" ", ' ')]
				if n = newNeedle(typed); len(n.text) == 0 {
					return
				}
				if r = newRawNeedle(&n); r == nil {
					return
				}
			}
		}
		if err := e.Encode(map[string]any{"text": value}); err != nil {
			rt.Fatal(err)
		}
		raw := buf.Bytes()
		if rapid.Bool().Draw(rt, "slashes") {
			raw = bytes.ReplaceAll(raw, []byte("/"), []byte(`\/`))
		}
		lower, sure := lowerRaw(nil, raw)
		if !sure || r.mayHave(lower) || r.mayCross(lower) {
			return
		}
		rejected++
		var a analysis.Analyzer
		if _, _, ok := n.find(a.FoldText([]byte(joined)).Text, 0); ok {
			rt.Fatalf("%q is in %q, and is ruled out by a look at %s", n.text, joined, raw)
		}
	})
	if rejected == 0 {
		t.Error("nothing was ruled out")
	}
}
