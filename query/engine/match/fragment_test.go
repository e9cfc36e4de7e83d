package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A fragment is never cut inside of what people see as one character.
func TestFragmentCutsNoCharacter(t *testing.T) {
	for _, cluster := range []string{
		"e\u0301", "\U0001F469\u200d\U0001F4BB", "\U0001F44D\U0001F3FD", "\U0001F1E9\U0001F1EA", "\u1112\u1161\u11ab", "\u0915\u094d\u0937", "\u2764\ufe0f",
	} {
		for shift := range 12 {
			text := strings.Repeat("x", shift) + strings.Repeat(cluster, 200)
			f := NewFragment([]byte(text), nil, nil)
			shown := strings.TrimSuffix(f.Text, " "+Ellipsis)
			if rest := strings.TrimLeft(shown, "x"); rest == "" || strings.ReplaceAll(rest, cluster, "") != "" {
				t.Errorf("%q behind %d letters is cut: %q", cluster, shift, shown)
			}
		}
	}
}

// spansOf returns the places of words in a text, as a Finder does: words[i] is word i.
func spansOf(text string, words ...string) (list []Span) {
	for i, w := range words {
		for at := 0; ; {
			k := strings.Index(text[at:], w)
			if k < 0 {
				break
			}
			list = append(list, Span{Start: at + k, End: at + k + len(w), Word: i, Part: -1, Weight: float64(len(words) - i), term: w})
			at += k + len(w)
		}
	}
	slices.SortStableFunc(list, func(a, b Span) int { return a.Start - b.Start })
	return list
}

func fragmentOf(text string, words ...string) Fragment {
	matches := spansOf(text, words...)
	return NewFragment([]byte(text), Choose(matches, FragmentBytes), matches)
}

// A fragment shows every word that its text has, however far apart, in pieces of the text in its
// order, and it is as long as it may be.
func TestFragmentShowsEveryWord(t *testing.T) {
	filler := rapid.SliceOfN(rapid.SampledFrom([]string{"lorem", "ipsum", "a", "é", "日本", strings.Repeat("z", 70)}), 0, 300)
	rapid.Check(t, func(rt *rapid.T) {
		words := []string{"alpha", "bravo", "charlie", "delta"}[:rapid.IntRange(1, 4).Draw(rt, "words")]
		var text []string
		for range rapid.IntRange(1, 8).Draw(rt, "places") {
			text = append(text, filler.Draw(rt, "filler")...)
			text = append(text, rapid.SampledFrom(words).Draw(rt, "word"))
		}
		whole := strings.Join(append(text, filler.Draw(rt, "end")...), " ")
		f := fragmentOf(whole, words...)
		marked := map[string]bool{}
		for _, s := range f.Spans {
			marked[f.Text[s[0]:s[1]]] = true
		}
		for _, w := range words {
			if strings.Contains(whole, w) != marked[w] {
				rt.Fatalf("%s is in the text: %t, and marked in %q: %t", w, strings.Contains(whole, w), f.Text, marked[w])
			}
		}
		from, size := 0, 0
		for _, piece := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(f.Text, "… "), " …"), " … ") {
			i := strings.Index(whole[from:], piece)
			if i < 0 {
				rt.Fatalf("%q is not a piece of the text behind the one before", piece)
			}
			from, size = from+i+len(piece), size+len(piece)
		}
		if most := min(FragmentBytes, len(whole)); size > most || size < most-4*(longToken+8) {
			rt.Fatalf("%d bytes are shown, %d could be: %q", size, most, f.Text)
		}
	})
}

// Text goes where it is needed first: between the words, then around them.
func TestFragmentPieces(t *testing.T) {
	far := strings.Repeat("so ", 200)
	for _, c := range []struct{ text, want string }{
		{"one alpha two", "one alpha two"},
		{far + "alpha " + far + "bravo " + far, "… * alpha * … * bravo * …"},
		{"alpha " + far + "bravo", "alpha * … * bravo"},
		{far + "alpha", "… * alpha"},
	} {
		f := fragmentOf(c.text, "alpha", "bravo")
		got := strings.Join(slices.Compact(strings.Fields(strings.ReplaceAll(f.Text, "so", "*"))), " ")
		if got != c.want {
			t.Errorf("fragment %q, want %q", got, c.want)
		}
	}
}

// An excerpt takes no more than its room, has the first of the musts, leaves nothing out that fits,
// and its pieces are apart.
func TestExcerpt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 60).Draw(rt, "sizes")
		must := rapid.Custom(func(t *rapid.T) [2]int {
			from := rapid.IntRange(0, len(sizes)-1).Draw(t, "from")
			return [2]int{from, min(len(sizes), from+rapid.IntRange(1, 3).Draw(t, "tokens"))}
		})
		musts := rapid.SliceOfN(must, 0, 5).Draw(rt, "musts")
		room, gap := rapid.IntRange(1, 200).Draw(rt, "room"), rapid.IntRange(0, 3).Draw(rt, "gap")
		pieces := Excerpt(sizes, slices.Clone(musts), room, gap)
		shown := make([]bool, len(sizes)+2) // a token on each side that is always shown
		shown[0], shown[len(sizes)+1] = true, true
		for i, p := range pieces {
			if p[0] >= p[1] || i > 0 && pieces[i-1][1] >= p[0] {
				rt.Fatalf("pieces %v", pieces)
			}
			for k := p[0]; k < p[1]; k++ {
				shown[k+1] = true
			}
		}
		used := func() (n int) {
			for i, size := range sizes {
				if shown[i+1] {
					n += size
				} else if shown[i] {
					n += gap
				}
			}
			return n
		}
		n := used()
		if n > room && (len(pieces) != 1 || pieces[0][1] != pieces[0][0]+1) {
			rt.Fatalf("%v takes %d of %d", pieces, n, room)
		}
		if len(musts) > 0 && !shown[musts[0][0]+1] {
			rt.Fatalf("%v is not in %v", musts[0], pieces)
		}
		for i := range sizes {
			if beside := i > 0 && shown[i] || i+1 < len(sizes) && shown[i+2]; !shown[i+1] && beside {
				shown[i+1] = true
				if used() <= room {
					rt.Fatalf("token %d fits beside %v", i, pieces)
				}
				shown[i+1] = false
			}
		}
	})
}

func ExampleExcerpt() {
	fmt.Println(Excerpt([]int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, [][2]int{{1, 2}, {8, 9}}, 24, 0))
	// Output: [[0 4] [8 10]]
}
