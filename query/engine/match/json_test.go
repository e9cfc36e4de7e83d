package match

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index/analysis"
	"pigrep/internal/session"
)

// What a look at the JSON rules out is in no text of it.
func TestJSONPrefilter(t *testing.T) {
	pieces := []string{
		"exit", "code", "Exit", "CODE", "e", "x1", "_", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "/", ".", "\"", "\\", "-", "->", "::", "(", "<", "&", "é", "ﬁ", "ｅ", "…", "²",
		"用户", "—", "\x1b[1m", "\x1b[31mexit code", "\u200b", "e\u0301", "\U0001F600", "\u2028", "\u2017", "≠", "=", "K", "İ", "u000b", "n",
	}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		doc := text.Draw(rt, "text")
		typed := text.Draw(rt, "typed")
		if rapid.Bool().Draw(rt, "a part of the text") {
			runes := []rune(doc)
			from := rapid.IntRange(0, len(runes)-1).Draw(rt, "from")
			typed = string(runes[from : from+rapid.IntRange(1, len(runes)-from).Draw(rt, "length")])
		}
		n := NewNeedle(typed)
		r := NewJSONPrefilter(&n)
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
				if n = NewNeedle(typed); len(n.Text) == 0 {
					return
				}
				if r = NewJSONPrefilter(&n); r == nil {
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
		has := isIn(rt, &n, r, joined)
		lower, sure := new(JSONFolder).Fold(raw)
		if has && sure && !r.MayContain(lower) {
			rt.Fatalf("%q is in %q, and is ruled out by a look at %s", n.Text, joined, raw)
		}
	})
}

// isIn reports whether a text contains a needle. A look at the letters of the text must
// not rule it out then.
func isIn(t *rapid.T, n *Needle, r *JSONPrefilter, text string) bool {
	var a analysis.Analyzer
	_, _, ok := n.Find(a.FoldText([]byte(text)).Text, 0)
	if ok && !r.MayBeIn(new(JSONFolder).FoldLetters([]byte(text))) {
		t.Fatalf("%q is in %q, and is ruled out", n.Text, text)
	}
	return ok
}

// The text of a call is put together from names, places in arrays, strings and
// numbers. What a look at the JSON rules out is not in it either.
func TestJSONPrefilterAcrossStrings(t *testing.T) {
	word := rapid.SampledFrom([]string{"exit", "Code", "a", "b.c", "x y", "1", "7", "src/main.go", "-v", "", " ", "q\"", "é", "。", "-", "n\\"})
	value := rapid.Custom(func(t *rapid.T) any {
		leaf := func() any {
			switch rapid.IntRange(0, 4).Draw(t, "leaf") {
			case 0:
				return json.Number(rapid.SampledFrom([]string{"1", "-5", "1.5e3", "0.1", "17"}).Draw(t, "number"))
			case 1:
				return rapid.SampledFrom([]any{true, false, nil, []any{}, map[string]any{}}).Draw(t, "literal")
			}
			return strings.Join(rapid.SliceOfN(word, 0, 3).Draw(t, "string"), rapid.SampledFrom([]string{" ", "", "\n"}).Draw(t, "between"))
		}
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "elements"))
		for i := range list {
			list[i] = leaf()
		}
		if rapid.Bool().Draw(t, "array") {
			return list
		}
		object := map[string]any{}
		for _, v := range append(list, list) {
			object[word.Draw(t, "name")] = v
		}
		return object
	})
	rapid.Check(t, func(rt *rapid.T) {
		raw, err := json.Marshal(map[string]any{"type": "message", "message": map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "toolCall", "id": "c1", "name": word.Draw(rt, "tool"), "arguments": value.Draw(rt, "arguments")},
		}}})
		if err != nil {
			rt.Fatal(err)
		}
		var text string
		parser := pi.New().Parse(adapter.State{Header: session.Header{Version: 3}})
		parser.Parse(adapter.Line{Data: raw, Raw: raw, Number: 2, Offset: 100, Ended: true}, func(e *session.Entry) {
			if len(e.Parts) > 0 {
				text = string(e.Parts[0].Text)
			}
		})
		if text == "" {
			return
		}
		runes := []rune(text)
		from := rapid.IntRange(0, len(runes)-1).Draw(rt, "from")
		n := NewNeedle(string(runes[from : from+rapid.IntRange(1, len(runes)-from).Draw(rt, "length")]))
		if rapid.Bool().Draw(rt, "not of it") {
			n = NewNeedle(word.Draw(rt, "one") + rapid.SampledFrom([]string{" ", ".", ": ", "-"}).Draw(rt, "joint") + word.Draw(rt, "two"))
		}
		r := NewJSONPrefilter(&n)
		if r == nil {
			return
		}
		has := isIn(rt, &n, r, text)
		lower, sure := new(JSONFolder).Fold(raw)
		if has && sure && !r.MayContain(lower) {
			rt.Fatalf("%q is in %q, and is ruled out by a look at %s", n.Text, text, raw)
		}
	})
	n := NewNeedle("exit code")
	lower, sure := new(JSONFolder).Fold([]byte(`{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"a","arguments":{"b":"the exit is here"}}]}}`))
	if !sure || NewJSONPrefilter(&n).MayContain(lower) {
		t.Error("a word beside another one is not ruled out")
	}
}

// An adapter may leave out tags, so that words stand together that the JSON has apart.
func TestJSONPrefilterAcrossTags(t *testing.T) {
	raw := []byte(`{"content":"<command-name>/init</command-name>\n  <command-args>fast</command-args>"}`)
	for needle, want := range map[string]bool{"/init fast": true, "init fast": true, "initial fast": true, "init-fast": false} {
		n := NewNeedle(needle)
		r := NewJSONPrefilter(&n)
		if lower, sure := new(JSONFolder).Fold(raw); !sure || r.MayContain(lower) != want {
			t.Errorf("%q: may be in it %t, want %t", needle, !want, want)
		}
	}
}

// Characters that stay as they are may be skipped where the needle has a letter, a digit or
// a space.
func TestFoldsOutsideASCII(t *testing.T) {
	t.Parallel()
	var a analysis.Analyzer
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || !foldsOutsideASCII(r) {
			continue
		}
		folded := a.FoldText([]byte(string(r))).Text
		if len(folded) == 0 || slices.ContainsFunc(folded, func(c byte) bool { return isRunByte(c) || c == ' ' }) {
			t.Errorf("%U folds to %q", r, folded)
		}
	}
}

// A phrase of very many words is not looked for word by word.
func TestJSONPrefilterOfManyWords(t *testing.T) {
	n := NewNeedle(strings.Repeat("theme ", 1000))
	if NewJSONPrefilter(&n) != nil {
		t.Error("a phrase of a thousand words is looked for in JSON, want it left to the text")
	}
	n = NewNeedle("the exit code of make was 137")
	if NewJSONPrefilter(&n) == nil {
		t.Error("a short phrase is not looked for in JSON")
	}
}
