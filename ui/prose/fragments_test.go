package prose

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pigrep/index/analysis"
	"pigrep/lab/testkit"
	"pigrep/query/engine/match"
)

// On a terminal of 80 columns, a hit in a real text shows every word of a query that is within 400 bytes
// of another one, and fills its lines.
func TestFragmentsOfRealTexts(t *testing.T) {
	const width, lines = 80 - 21, 2 // behind the kind and the id
	var texts []string
	for _, path := range testkit.SessionFiles(t) {
		data, err := os.ReadFile(path)
		testkit.Check(t, err)
		for line := range strings.Lines(string(data)) {
			var v any
			if json.Unmarshal([]byte(line), &v) == nil {
				texts = leaves(texts, v)
			}
		}
	}
	random := rand.New(rand.NewPCG(57, 1))
	asked, shown, short := 0, 0, 0
	for n := 0; n < 500; n++ {
		text := texts[random.IntN(len(texts))]
		words := wordsWithin(random, text, 2+random.IntN(2), 400)
		if words == nil {
			n--
			continue
		}
		var list []match.Word
		for _, w := range words {
			list = append(list, match.Word{Typed: w, Terms: []match.Term{{Text: w, Part: -1, Weight: 1 + random.Float64()*9}}})
		}
		matches, _ := match.NewFinder(list).Find([]byte(text))
		f := match.NewFragment([]byte(text), match.Choose(matches, match.FragmentBytes), matches)
		seen := ""
		drawn := FragmentLines(f, width, lines)
		for i, line := range drawn {
			seen += Styled(line, func(run string, marked bool) string {
				if marked {
					return "[" + run + "]"
				}
				return " "
			})
			if i < len(drawn)-1 && 10*CellsOf(line) < 7*width {
				short++
			}
		}
		for _, w := range words {
			asked++
			if strings.Contains(strings.ToLower(strings.ReplaceAll(seen, "][", "")), "["+w+"]") {
				shown++
			} else {
				t.Logf("%q is not in %q", w, f.Text)
			}
		}
	}
	t.Logf("%d of %d words are shown; %d lines are short", shown, asked, short)
	if shown*100 < asked*98 || short > 0 {
		t.Errorf("%d of %d words are shown, want 98 %%; %d lines use less than 70 %% of their room", shown, asked, short)
	}
}

// leaves appends the strings of a value that have several words.
func leaves(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		if len(strings.Fields(v)) > 3 {
			list = append(list, v)
		}
	case []any:
		for _, x := range v {
			list = leaves(list, x)
		}
	case map[string]any:
		for _, x := range v {
			list = leaves(list, x)
		}
	}
	return list
}

// wordsWithin returns distinct plain words of a text, each so many bytes from the one before at most.
func wordsWithin(random *rand.Rand, text string, n, most int) (words []string) {
	var tokens []analysis.Token
	new(analysis.Analyzer).Walk([]byte(text), func(t analysis.Token) {
		if t.Form == analysis.Word && t.End-t.Start == len(t.Term) && len(t.Term) > 2 && strings.EqualFold(text[t.Start:t.End], string(t.Term)) {
			t.Term = append([]byte(nil), t.Term...)
			tokens = append(tokens, t)
		}
	})
	if len(tokens) == 0 {
		return nil
	}
	at := tokens[random.IntN(len(tokens))]
	words = []string{string(at.Term)}
	for range 50 {
		next := tokens[random.IntN(len(tokens))]
		if d := next.Start - at.Start; len(words) < n && max(d, -d) <= most && !strings.Contains(strings.Join(words, " "), string(next.Term)) {
			words, at = append(words, string(next.Term)), next
		}
	}
	if len(words) < n {
		return nil
	}
	return words
}
