package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/prose"
)

// What is read stays where it is while new entries come in, even when the hit leaves the list.
func TestReadingIsNotMovedByUpdates(t *testing.T) {
	b := fake()
	inner, newer := b.Search, false
	b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
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

// A zoomed or hidden preview stays so until the same key undoes it, and the screen names that
// key.
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
		for _, line := range p.spans(0, len(p.plain), []match.Mark{{Text: test.needle, Anywhere: true}}) {
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

// A zoom keeps what is read in sight at another width, and gives the focus back.
func TestZoomKeepsThePlace(t *testing.T) {
	lines := func(width int) *Preview {
		page := &Preview{Total: 1, Entries: []Entry{{Index: 0, Number: 1}}}
		page.Lines = append(page.Lines, Line{"reply · 10:00 · e0", 0})
		for i := range 60 {
			for _, l := range prose.FoldWords(fmt.Sprintf("section %d: ", i)+strings.Repeat("some text of it ", 8), width) {
				page.Lines = append(page.Lines, Line{l, 0})
			}
		}
		return page
	}
	b := fake()
	b.Preview = func(_ context.Context, _ Place, e Extent) (*Preview, error) { return lines(e.Width), nil }
	d := drive(t, Options{Backend: b, Query: "token"}, 120, 40)
	d.keys("tab")
	for d.preview.top < len(d.preview.plain)/2 || !strings.HasPrefix(d.preview.plain[d.preview.top], "section") {
		d.keys("j")
	}
	want, _, _ := strings.Cut(d.preview.plain[d.preview.top], ":")
	for range 2 {
		d.keys("z")
		if got := d.preview.plain[d.preview.top]; !strings.Contains(got, want+":") {
			t.Errorf("from the line of %s to %q", want, got)
		}
	}
	if !d.reading {
		t.Error("zoomed in the preview, the focus is in the list after it")
	}
	d.keys("tab", "f9", "f9")
	if d.reading {
		t.Error("zoomed from the list, the focus is in the preview after it")
	}
}

// What is folded under a call is unfolded with it; what has nothing folded says so.
func TestFoldingACall(t *testing.T) {
	b := fake()
	b.Preview = func(_ context.Context, p Place, e Extent) (*Preview, error) {
		page := &Preview{Total: 3}
		texts := [][2]string{{"reply · 10:00 · call", "reply · 10:00 · call"}, {"… 9 more lines", "all of the output"}, {"prompt · 10:01 · short", "prompt · 10:01 · short"}}
		for i, text := range texts {
			open, _ := e.Unfolded(i)
			page.Entries = append(page.Entries, Entry{Place: p, Index: i, Number: i + 1, Result: i == 1, Open: open})
			page.Lines = append(page.Lines, Line{text[map[bool]int{true: 1}[open]], i})
		}
		return page, nil
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 120, 40)
	d.keys("tab")
	d.preview.entry = 0
	for _, step := range []struct{ key, want string }{{"o", "all of the output"}, {"", "o fold"}, {"o", "… 9 more lines"}, {"", "o unfold"}} {
		if d.keys(step.key); !strings.Contains(plainScreen(d.Model), step.want) {
			t.Errorf("after %q no %q:\n%s", step.key, step.want, plainScreen(d.Model))
		}
	}
	d.preview.entry = 2
	if d.keys("o"); !strings.Contains(plainScreen(d.Model), "nothing to unfold here") || d.preview.reading().Open {
		t.Errorf("nothing is folded, and nothing says so:\n%s", plainScreen(d.Model))
	}
}

// The head of the entry that is read stays on the screen, with its date.
func TestHeadOfTheEntry(t *testing.T) {
	b := fake()
	b.Preview = func(_ context.Context, p Place, e Extent) (*Preview, error) {
		page := &Preview{Total: 1, Entries: []Entry{{Place: p, Number: 1, Time: noon}}, Lines: []Line{{"reply · 12:00 · e0", 0}}}
		for i := range 100 {
			page.Lines = append(page.Lines, Line{fmt.Sprint("line ", i), 0})
		}
		return page, nil
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	d.keys("tab", "pgdown")
	lines, _ := d.screen()
	y := d.layout().preview.y
	if got := ansi.Strip(lines[y]); !strings.Contains(got, "reply · 12:00 · e0 · 2026-03-20") {
		t.Errorf("the first line of the preview is %q", got)
	}
}

// A list without sessions says why, and which key shows others.
func TestNoSessions(t *testing.T) {
	for _, test := range []struct {
		indexed int
		here    bool
		want    string
	}{
		{10, true, "No sessions of ~/empty or below; F6/Alt-H shows all 10."},
		{0, false, "There are no session files in ~/.pi."},
	} {
		b := fake()
		b.Sessions = func(context.Context, sessions.Request) (*sessions.Response, error) {
			return &sessions.Response{About: search.About{Index: search.IndexState{Files: test.indexed}}}, nil
		}
		d := drive(t, Options{Backend: b, WorkDir: "/home/u/empty", Dirs: []string{"/home/u/.pi"}, Here: test.here}, 80, 24)
		if screen := plainScreen(d.Model); !strings.Contains(screen, test.want) {
			t.Errorf("want %q:\n%s", test.want, screen)
		}
	}
}

// The prompts of a conversation are a menu that leads to each, even if the terminal has no room
// for a preview.
func TestOutline(t *testing.T) {
	for _, width := range []int{40, 120} {
		d := drive(t, Options{Query: "token"}, width, 24)
		d.keys("down", "down", "down", "alt+o")
		if d.menu == nil || len(d.menu.shown) != longTalk/2 || d.place() != inMenu {
			t.Fatalf("%d columns: no outline of the conversation", width)
		}
		d.keys("entry 770", "enter")
		if e := d.preview.reading(); d.place() != inPreview || e == nil || e.EntryID != "x770" {
			t.Errorf("%d columns: the menu leads to %+v", width, e)
		}
	}
}

// If there is room only for the list or the preview, the preview shows the selection.
func TestNarrowPreviewFollowsTheSelection(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 40, 12)
	d.keys("tab", "tab", "down", "down", "down", "down", "tab")
	if want, _ := d.results.selected(); d.preview.want.Place != want {
		t.Errorf("the preview shows %v, selected is %v", d.preview.want.Place, want)
	}
}

// The last line always has what reads and what resumes.
func TestReadAndResumeAreHints(t *testing.T) {
	for width := 30; width <= 200; width += 10 {
		for _, query := range []string{"", "token", "zorblaxq token", "token project:nope"} {
			d := drive(t, Options{Query: query}, width, 24)
			lines, _ := d.screen()
			last := ansi.Strip(lines[len(lines)-1])
			for _, hint := range []string{"Enter read", "Alt-R resume"} {
				if !strings.Contains(last, hint) {
					t.Errorf("%d columns, %q: no %q in %q", width, query, hint, last)
				}
			}
		}
	}
}
