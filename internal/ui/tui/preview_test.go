package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"pigrep/query"
)

// What is read stays where it is while new entries come in, even when the hit leaves the list.
func TestReadingIsNotMovedByUpdates(t *testing.T) {
	b := fake()
	inner, newer := b.Search, false
	b.Search = func(ctx context.Context, req query.Request) (*query.Response, error) {
		r, err := inner(ctx, req)
		if err == nil && newer {
			r.Sessions, r.Hits, r.Index.Generation = r.Sessions[2:], r.Hits[5:], 7
		}
		return r, err
	}
	d := drive(t, Options{Backend: b}, 120, 40)
	d.keys("token", "down", "down", "down", "tab", "pgdown", "pgdown", "pgdown", "j")
	before, place := d.preview.render(view{styles: &d.styles}, 60, 30), d.preview.want.Place
	newer = true
	d.send(State{Generation: 7, Ready: true})
	d.settle()
	after := d.preview.render(view{styles: &d.styles}, 60, 30)
	if d.preview.want.Place != place || d.preview.have.generation != 7 || strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("an update moved the preview from %v\n%s\nto %v\n%s", place, strings.Join(before, "\n"), d.preview.want.Place, strings.Join(after, "\n"))
	}
}

// The whole of a long conversation can be scrolled through, in pages of bounded size.
func TestLongConversation(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 120, 40)
	d.keys("down", "down", "down", "tab", "g")
	seen := make(map[int]bool)
	for range 2 * longTalk {
		for i := d.preview.top; i < min(d.preview.top+d.preview.height, len(d.preview.page.Lines)); i++ {
			seen[d.preview.page.Lines[i].Entry] = true
		}
		if most := 2*d.preview.around() + 1; len(d.preview.page.Entries) > most {
			t.Fatalf("a page of %d entries, want at most %d", len(d.preview.page.Entries), most)
		}
		top, have := d.preview.top, d.preview.have
		if d.keys("pgdown"); d.preview.top == top && d.preview.have == have {
			break
		}
	}
	delete(seen, -1)
	if len(seen) != longTalk {
		t.Errorf("%d of %d entries were on the screen", len(seen), longTalk)
	}
	d.keys("g")
	if d.preview.entry != 0 {
		t.Errorf("g leads to entry %d", d.preview.entry)
	}
}

// n goes through the matches of a search in the whole conversation, unfolds what hides them,
// and comes back to the first; without a search it goes from hit to hit.
func TestFromMatchToMatch(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 120, 40)
	d.keys("down", "down", "down", "tab", "/", "deep", "enter")
	for i := range 3 {
		e := d.preview.reading()
		want := fmt.Sprintf("%d of 500", 251+i)
		if screen := plainScreen(d.Model); e == nil || !e.Open || !strings.Contains(screen, want) || !strings.Contains(screen, "needle, deep") {
			t.Fatalf("step %d: want %q and the text unfolded:\n%s", i, want, screen)
		}
		d.keys("n")
	}
	d.keys("G", "g")
	for range 4 {
		d.keys("N")
	}
	if screen := plainScreen(d.Model); !strings.Contains(screen, " 250 of 500") {
		t.Errorf("four back from the 254th:\n%s", screen)
	}
	d.keys("esc", "n")
	if screen := plainScreen(d.Model); !strings.Contains(screen, "hit 1 of") {
		t.Errorf("without a search n goes to no hit:\n%s", screen)
	}
}

// The layout is kept until it is changed back, and the screen says how.
func TestPanes(t *testing.T) {
	for _, size := range [][2]int{{40, 20}, {80, 24}, {120, 40}, {200, 60}} {
		d := drive(t, Options{Query: "token"}, size[0], size[1])
		d.keys("alt+z")
		if l := d.layout(); !l.whole || l.preview.width != size[0] || l.preview.height != size[1]-2 || l.list.height > 0 {
			t.Errorf("%v: zoomed to %+v", size, l)
		}
		if screen := plainScreen(d.Model); size[0] > 40 && !strings.Contains(screen, "Esc back to the list") {
			t.Errorf("%v: nothing says the way back:\n%s", size, screen)
		}
		d.send(tea.WindowSizeMsg{Width: size[0] + 1, Height: size[1]})
		d.settle()
		if !d.layout().whole {
			t.Errorf("%v: a new size ends the zoom", size)
		}
		d.keys("esc", "tab", "alt+p", "esc", "token")
		if l := d.layout(); l.preview.height > 0 || l.list.width != size[0]+1 {
			t.Errorf("%v: hidden, but %+v", size, l)
		}
		d.keys("tab")
		if !d.reading || d.layout().preview.height == 0 {
			t.Errorf("%v: Tab does not show a hidden preview", size)
		}
		d.keys("tab", "alt+v")
		if l := d.layout(); size[0] >= leastBeside && !l.beside {
			t.Errorf("%v: not beside the list: %+v", size, l)
		}
		d.keys("alt+v")
		if l := d.layout(); l.beside || l.preview.width != size[0]+1 {
			t.Errorf("%v: not below the list: %+v", size, l)
		}
		checkScreen(t, d.Model)
	}
}

// Marks are found where wrapping broke them, and case is ignored as grep ignores it.
func TestSpans(t *testing.T) {
	for _, test := range []struct {
		lines, needle string
		want          int // matches
	}{
		{"one token here", "TOKEN", 1},
		{"tokentoken", "token", 2},
		{"the session has|  timed out again", "has timed", 1},
		{"averylongwordthat|  isbroken again", "thatisbroken", 1},
		{"short|  line", "short line", 0}, // two lines of the text
		{"\u212aelvin and Straße", "kelvin", 1},
		{"日本語のテキスト", "本語", 1},
		{"aXbxc", "x", 2},
	} {
		p := preview{plain: strings.Split(test.lines, "|"), have: request{Extent: Extent{Width: 17}}}
		n := 0
		for _, line := range p.spans(0, len(p.plain), []string{test.needle}) {
			for _, s := range line {
				if !s.rest {
					n++
				}
			}
		}
		if n != test.want {
			t.Errorf("%q in %q: %d matches, want %d", test.needle, test.lines, n, test.want)
		}
	}
}
