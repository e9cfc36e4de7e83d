// Package redact masks what looks like a secret: keys, tokens, passwords, private
// keys. The rules are data (Rules). Each has a pattern, and words of which the text
// must contain one before the pattern is tried, so a text without secrets costs
// one pass.
//
// A secret is replaced by [redacted:ID], with the id of the rule. The surrounding
// text is kept, and spans in the text can be moved along. Masking is idempotent. It
// protects against carelessness and is not a guarantee: a secret in a form that no
// rule knows is not masked.
package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Span is the position of a secret in a text, in bytes.
type Span struct {
	Start, End int
	Rule       string // the id of the rule that found it
}

// Mask returns the replacement for a secret that this rule found.
func Mask(rule string) string { return "[redacted:" + rule + "]" }

// Find returns the secrets in a text, in order and not overlapping.
func Find(text string) []Span {
	if len(text) < shortest {
		return nil
	}
	var spans []Span
	for _, r := range regions(text) {
		rule := &Rules[r.rule]
		for _, m := range pattern(r.rule).FindAllStringSubmatchIndex(text[r.start:r.end], -1) {
			start, end := m[0], m[1]
			for g := len(m) - 2; g > 0; g -= 2 {
				if m[g] >= 0 {
					start, end = m[g], m[g+1]
					break
				}
			}
			start, end = start+r.start, end+r.start
			if end == r.end { // the word may continue beyond the region
				end += wordEnd(text[end:])
			}
			if rule.takes(text[start:end]) {
				spans = append(spans, Span{start, end, rule.ID})
			}
		}
	}
	if len(spans) < 2 {
		return spans
	}
	// Overlapping spans are joined; the rule that comes first in Rules names the
	// result.
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	kept := spans[:1]
	for _, s := range spans[1:] {
		last := &kept[len(kept)-1]
		if s.Start >= last.End {
			kept = append(kept, s)
			continue
		}
		if rank(s.Rule) < rank(last.Rule) {
			last.Rule = s.Rule
		}
		last.End = max(last.End, s.End)
	}
	return kept
}

// wordEnd returns the length of the word at the start of a text.
func wordEnd(text string) int {
	if n := strings.IndexAny(text, " \t\r\n\"'`<>"); n >= 0 {
		return n
	}
	return len(text)
}

// shortest is the length of the shortest text that can contain a secret.
const shortest = 8

func rank(id string) int { return slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id }) }

// How far around a piece of text Around looks for secrets that reach into it. It
// then looks further back, to the start of the word or private key at that point.
const (
	lookBack    = 1 << 10
	lookAhead   = 4 << 10
	longestWord = 64 << 10
)

// Around returns the secrets that are in text[from:to] or reach into it. In a long
// text it searches only the neighbourhood.
func Around(text []byte, from, to int) []Span {
	start, end := max(0, from-lookBack), min(len(text), to+lookAhead)
	before := text[max(0, start-longestWord):start]
	start -= len(before) - 1 - bytes.LastIndexAny(before, " \t\n")
	if i := bytes.LastIndex(before, []byte("PRIVATE KEY")); i >= 0 {
		if begin := bytes.LastIndex(before[:i], []byte("-----BEGIN")); begin >= 0 {
			start = min(start, max(0, from-lookBack)-len(before)+begin)
		}
	}
	spans := Find(string(text[start:end]))
	kept := spans[:0]
	for _, s := range spans {
		s.Start, s.End = s.Start+start, s.End+start
		if s.Start < to && s.End > from {
			kept = append(kept, s)
		}
	}
	return kept
}

// endings are possible continuations of secrets that are cut off.
var endings = []string{strings.Repeat("A1B2C3D4E5", 12), strings.Repeat("a1b2c3d4e5", 12), "a1b2c3d4.eyJhbGciOiJ.a1", "a1b2@host", `a1b2"`, "a1b2'"}

// Beginning is Text for the beginning of a text whose rest is unknown. It also masks
// the end if some continuation would make it a secret.
func Beginning(s string) string {
	body := strings.TrimRight(s, "… ")
	cut := Span{Start: len(body)}
	for _, ending := range endings {
		if spans := Find(body + ending); len(spans) > 0 {
			if last := spans[len(spans)-1]; last.End > len(body) && last.Start < cut.Start {
				cut = last
			}
		}
	}
	if cut.Start == len(body) {
		return Text(s)
	}
	return Text(body[:cut.Start]) + Mask(cut.Rule) + s[len(body):]
}

// Text returns a text with its secrets masked.
func Text(s string) string {
	masked, _ := Marked(s, nil)
	return masked
}

// Bytes returns a text with its secrets masked: the same slice if there are none.
func Bytes(text []byte) []byte {
	spans := Find(string(text))
	if len(spans) == 0 {
		return text
	}
	masked, _ := Apply(string(text), spans)
	return []byte(masked)
}

// Marked returns a text with its secrets masked, and the marks moved along: [start,
// end) in bytes, in order and not overlapping. A mark that touches a secret covers
// its mask.
func Marked(s string, marks [][2]int) (string, [][2]int) { return Moved(s, Find(s), marks) }

// Moved is Marked for secrets that were found before.
func Moved(s string, spans []Span, marks [][2]int) (string, [][2]int) {
	if len(spans) == 0 {
		return s, marks
	}
	masked, move := Apply(s, spans)
	var moved [][2]int
	for _, m := range marks {
		start, end := move(m[0], m[1])
		if n := len(moved); n > 0 && start < moved[n-1][1] {
			moved[n-1][1] = max(moved[n-1][1], end)
			continue
		}
		moved = append(moved, [2]int{start, end})
	}
	return masked, moved
}

// Apply masks the spans, which must be in order. It returns the new text, and a
// function that maps a span of the old text to the new one.
func Apply(s string, spans []Span) (masked string, move func(start, end int) (int, int)) {
	var b strings.Builder
	type place struct{ start, end, at, until int } // old and new
	places := make([]place, 0, len(spans))
	done := 0
	for _, x := range spans {
		b.WriteString(s[done:x.Start])
		at := b.Len()
		b.WriteString(Mask(x.Rule))
		places = append(places, place{x.Start, x.End, at, b.Len()})
		done = x.End
	}
	b.WriteString(s[done:])
	to := func(at int, isEnd bool) int {
		shift := 0
		for _, p := range places {
			switch {
			case at > p.start && at < p.end || !isEnd && at == p.start || isEnd && at == p.end:
				if isEnd {
					return p.until
				}
				return p.at
			case at >= p.end:
				shift = p.until - p.end
			}
		}
		return at + shift
	}
	return b.String(), func(start, end int) (int, int) { return to(start, false), to(end, true) }
}

// Named reports whether a value is a secret because of its name, such as the
// argument password of a call or the member api_key of an object.
func Named(name, value string) (rule string, ok bool) {
	if value == "" || strings.ContainsAny(name, "\"\n") {
		return "", false
	}
	text := name + `="` + strings.NewReplacer(`"`, "_", "\n", "_", "\\", "_").Replace(value) + `"`
	for _, s := range Find(text) {
		// A secret inside the value is found without the name.
		if s.Start == len(name)+2 && s.End >= len(text)-1 {
			return s.Rule, true
		}
	}
	return "", false
}

// JSON returns a JSON text with the secrets in its strings masked. Strings are
// decoded, masked and encoded again; everything else is unchanged. Text that is
// not JSON is masked as text.
func JSON(raw []byte) []byte {
	if !json.Valid(raw) {
		return Bytes(raw)
	}
	var b bytes.Buffer
	changed := false
	name, isName := "", false
	var inObject []bool // for each open value
	for i := 0; i < len(raw); {
		c := raw[i]
		switch c {
		case '{', '[':
			inObject = append(inObject, c == '{')
			isName, name = c == '{', ""
		case '}', ']':
			inObject = inObject[:len(inObject)-1]
			isName, name = false, ""
		case ',':
			isName = len(inObject) > 0 && inObject[len(inObject)-1]
			if isName {
				name = ""
			}
		case ':':
			isName = false
		case '"':
			end := stringEnd(raw, i)
			var s string
			_ = json.Unmarshal(raw[i:end], &s) // it is valid
			masked := s
			if isName {
				name = s
			} else if rule, ok := Named(name, s); ok {
				masked = Mask(rule)
			} else {
				masked = Text(s)
			}
			if masked == s {
				b.Write(raw[i:end])
			} else {
				changed = true
				b.Write(quoted(masked))
			}
			i = end
			continue
		}
		b.WriteByte(c)
		i++
	}
	if !changed {
		return raw
	}
	return b.Bytes()
}

// stringEnd returns the end of the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
