package jsonl

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// valueOf draws JSON of words, some of which are names as well.
func valueOf(t *rapid.T, depth int) string {
	word := rapid.SampledFrom([]string{`w`, `wide`, `a\nwide b\n`, `\u0077ide`, `\\wide`, `\nwide`, `x`, ``, `image`, `image/png`, strings.Repeat(`long\n`, 8) + `wide`})
	key := rapid.SampledFrom([]string{`k`, `l`, `m`, `omitted`, `type`, `data`, `mimeType`, `wider`})
	switch n := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case n < 3 && depth > 0:
		var members []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, `"`+key.Draw(t, "key")+`":`+valueOf(t, depth-1))
		}
		return "{" + strings.Join(members, ",") + "}"
	case n < 5 && depth > 0:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elements = append(elements, valueOf(t, depth-1))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case n == 5:
		return rapid.SampledFrom([]string{"1.5", "true", "null"}).Draw(t, "scalar")
	}
	return `"` + word.Draw(t, "word") + `"`
}

// The lines with a word that are counted string by string are those of the text, unless a name has
// the word or a string may be held.
func TestCountedLeaves(t *testing.T) {
	lines := func(text []byte) (n int) {
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if bytes.Contains(line, []byte("wide")) {
				n++
			}
		}
		return n
	}
	line := &Line{
		Wanted: func(json []byte) bool { return bytes.Contains(AppendText(nil, json), []byte("wide")) },
		Count:  func(json []byte) int { return lines(AppendText(nil, json)) },
	}
	counted, tries := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		value, named := valueOf(t, 4), rapid.Bool().Draw(t, "named")
		held := rapid.SampledFrom([]string{"", "w", "x wide", strings.Repeat("long\n", 8) + "wide"}).Draw(t, "held")
		var s Scanner
		s.Reset([]byte(value))
		v, err := s.Check(0)
		if err != nil {
			t.Fatal(err)
		}
		w := Leaves{Omit: []string{"omitted"}}
		w.Begin(&s, nil, named, [][]byte{[]byte(held)})
		w.Add(v, false)
		text := w.End()
		w.BeginCount(&s, named, len(held), line)
		w.Add(v, false)
		n, some, ok := w.EndCount()
		if tries++; !ok {
			return
		}
		counted++
		if want := lines(text); n != want || !named && some != (len(text) > 0) {
			t.Fatalf("%s, named %t: %d lines are counted (some %t), want %d of %q", value, named, n, some, want, text)
		}
	})
	if counted < tries/4 {
		t.Errorf("%d of %d values were counted", counted, tries)
	}
}
