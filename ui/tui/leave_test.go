package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"pigrep/query/search"
	"pigrep/scope"
)

// Matches are marked in what was said, where they are counted, and not in the heading above;
// the current one differs from the others. One that only the source has, and not the screen,
// says so.
func TestFoundInTheText(t *testing.T) {
	b := fake()
	b.Preview = func(context.Context, Place, Extent) (*Preview, error) {
		return &Preview{
			Lines:   []Line{{"reply · 10:53 · 5e6f7a8b", 0}, {"  my reply, a second reply", 0}, {"  in bold", 0}},
			Entries: []Entry{{Index: 0, Number: 1, Open: true}}, Total: 1,
		}, nil
	}
	b.Find = func(_ context.Context, _ Place, text string, _ scope.Scope) ([]Found, error) {
		return []Found{{0, strings.Count("my reply, a second reply\nin **bold**", text)}}, nil
	}
	look := newStyles(dark, nil)
	found, current := look.found.Render("reply"), look.current.Render("reply")
	for _, test := range []struct {
		keys   []string
		label  string
		marked string
	}{
		{[]string{"reply", "enter"}, "1 of 2", "  my " + current + ", a second " + found},
		{[]string{"reply", "enter", "n"}, "2 of 2", "  my " + found + ", a second " + current},
		{[]string{"**bold", "enter"}, "1 of 1, in the source", "  my reply, a second reply\n  in bold"},
	} {
		d := drive(t, Options{Backend: b, Query: "token"}, 120, 40)
		d.keys("tab", "/")
		d.keys(test.keys...)
		if label := d.preview.find.label(); label != test.label {
			t.Errorf("%v: %q, want %q", test.keys, label, test.label)
		}
		lines := d.preview.marked(view{styles: &d.styles}, 0, 3)
		if lines[0] != "reply · 10:53 · 5e6f7a8b" {
			t.Errorf("%v: the heading has a mark: %q", test.keys, lines[0])
		}
		if text := strings.Join(lines, "\n"); !strings.Contains(text, test.marked) {
			t.Errorf("%v: no %q in %q", test.keys, test.marked, text)
		}
	}
}

// press presses keys without waiting for what they begin.
func (d *driver) press(names ...string) {
	for _, name := range names {
		for _, k := range keyPresses(name) {
			d.send(k)
		}
	}
}

// A search in a conversation ends when another session is shown, and one in that session
// waits for it.
func TestFindEndsWithItsSession(t *testing.T) {
	b := fake()
	var asked []string
	find := b.Find
	b.Find = func(ctx context.Context, p Place, text string, in scope.Scope) ([]Found, error) {
		asked = append(asked, fmt.Sprint(text, " ", p.Path, " stopped:", ctx.Err() != nil))
		return find(ctx, p, text, in)
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 120, 40)
	d.keys("tab")
	d.press("/", "x")
	d.press("enter", "tab", "down", "down", "down", "tab", "/", "a needle")
	d.settle()
	want := "x /s/1.jsonl stopped:true, a needle /s/2.jsonl stopped:false"
	if got := strings.Join(asked, ", "); got != want {
		t.Errorf("searched %s; want %s", got, want)
	}
	if d.preview.find.known != "a needle" || d.preview.find.running != nil {
		t.Errorf("the second search shows %q, running %t", d.preview.find.known, d.preview.find.running != nil)
	}
}

// The hits of a session are dropped when another one is shown before they come.
func TestHitsOfASessionThatWasLeft(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 120, 40)
	d.keys("tab")
	d.press("n", "tab", "down", "down", "down")
	selected, _ := d.results.selected()
	d.settle()
	if shown := d.preview.have.Path; shown != selected.Path {
		t.Errorf("the preview shows %s, selected is %s", shown, selected.Path)
	}
	d.keys("tab", "n")
	if label := d.preview.hits.label(&d.preview); label == "" || d.preview.have.Path != selected.Path {
		t.Errorf("n in %s: %q in %s", selected.Path, label, d.preview.have.Path)
	}
}

// The number of hits in a session says when there are more than can be visited.
func TestMoreHitsThanAreVisited(t *testing.T) {
	for _, test := range []struct {
		total int
		want  string
	}{{mostVisited, "of 2,000"}, {mostVisited + 1, "of 2,000+"}} {
		b := fake()
		answer := b.Search
		b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
			r, err := answer(ctx, req)
			if err != nil || req.Only == nil {
				return r, err
			}
			h := r.Hits[0]
			r.Hits, r.Total, r.TotalAny = nil, test.total, test.total
			for i := range mostVisited {
				h.Offset = int64(i)
				r.Hits = append(r.Hits, h)
			}
			return r, nil
		}
		d := drive(t, Options{Backend: b, Query: "token"}, 120, 40)
		d.keys("tab", "n")
		if label := d.preview.hits.label(&d.preview); !strings.HasSuffix(label, test.want) {
			t.Errorf("with %d hits: %q, want %q", test.total, label, test.want)
		}
	}
}

// Hits of the values of a filter are counted only while its menu is open.
func TestCountingEndsWithItsMenu(t *testing.T) {
	for _, leave := range []string{"esc", "enter"} {
		b := fake()
		var d *driver
		count, stopped := b.Count, 0
		b.Count = func(ctx context.Context, req search.Request) (search.Counts, error) {
			d.press(leave)
			if ctx.Err() != nil {
				stopped++
			}
			return count(ctx, req)
		}
		d = drive(t, Options{Backend: b, Query: "token"}, 80, 24)
		d.keys("f2", "enter")
		if stopped != 1 {
			t.Errorf("after %s, %d counts were stopped, want the first", leave, stopped)
		}
	}
}

// The outcome of a search in the preview fits beside its text, however narrow the screen
// becomes.
func TestFindFits(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 120, 40)
	d.keys("tab", "/", "nowhere")
	if label := d.preview.find.label(); !d.findFocus || label != "not found" {
		t.Fatalf("finding: %v, %q", d.findFocus, label)
	}
	for width := 40; width > 0; width-- {
		for height := range 20 {
			d.send(tea.WindowSizeMsg{Width: width, Height: height})
			checkScreen(t, d.Model)
		}
	}
}
