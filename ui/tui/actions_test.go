package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pigrep/query/search"
	"pigrep/query/sessions"
)

func TestResume(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		d := drive(t, Options{}, 80, 24)
		d.keys("token", "alt+r")
		if d.quit || !strings.Contains(plainScreen(d.Model), "press Alt-R again to start pi in ") {
			t.Errorf("it does not ask once:\n%s", plainScreen(d.Model))
		}
		d.keys("alt+r")
		if !d.quit || d.done.Resume == nil || d.done.Resume.Argv[2] != "/s/1.jsonl" {
			t.Errorf("Alt-R: quit %t, %+v", d.quit, d.done.Resume)
		}
	})
	t.Run("after a warning", func(t *testing.T) {
		d := drive(t, Options{}, 80, 24)
		d.keys("token", "down", "down", "down", "alt+r")
		if d.quit || !strings.Contains(plainScreen(d.Model), "written to in the last minute; press Alt-R again") {
			t.Fatalf("a warning does not show:\n%s", plainScreen(d.Model))
		}
		d.keys("alt+r")
		if !d.quit || d.done.Resume == nil {
			t.Errorf("the second Alt-R does not resume")
		}
	})
	t.Run("print", func(t *testing.T) {
		d := drive(t, Options{Print: true, Choose: true}, 80, 24)
		d.keys("token", "down", "down", "down", "enter")
		if !d.quit || d.done.Resume == nil {
			t.Errorf("with --print a warning stops")
		}
	})
	t.Run("directory gone", func(t *testing.T) {
		for _, test := range []struct {
			keys []string
			dir  string
		}{{[]string{"enter"}, "/home/u/new/gone"}, {[]string{"down", "enter"}, "/home/u/src"}, {[]string{"~/other", "enter"}, "~/other"}} {
			d := drive(t, Options{WorkDir: "/home/u/src"}, 80, 24)
			d.keys("token", "down", "down", "down", "down", "down", "down", "alt+r")
			screen := plainScreen(d.Model)
			if d.quit || !strings.Contains(screen, "~/gone is gone; continue a copy in:") || !strings.Contains(screen, "~/src  the current directory") {
				t.Fatalf("there is no choice of directories:\n%s", screen)
			}
			d.keys(test.keys...)
			if !d.quit || d.done.Resume == nil || d.done.Resume.Dir != test.dir {
				t.Errorf("%v: quit %t, %+v; want it in %s", test.keys, d.quit, d.done.Resume, test.dir)
			}
		}
	})
	t.Run("copied where the directory is gone", func(t *testing.T) {
		d := drive(t, Options{WorkDir: "/home/u/src"}, 120, 24)
		d.keys("token", "down", "down", "down", "down", "down", "down", "alt+c")
		if got := d.copies(); d.menu != nil || !slices.Equal(got, []string{"cd /home/u/new/gone && pi --fork /s/4.jsonl"}) {
			t.Errorf("copied %q, menu %t", got, d.menu != nil)
		}
		if screen := plainScreen(d.Model); !strings.Contains(screen, "(its own directory is gone)") {
			t.Errorf("it is not said that the directory is gone:\n%s", screen)
		}
	})
	t.Run("not possible", func(t *testing.T) {
		d := drive(t, Options{}, 100, 24)
		d.keys("token", "down", "down", "down", "down", "down", "alt+r")
		if d.quit || !strings.Contains(plainScreen(d.Model), "the session's directory is gone — do this instead") {
			t.Errorf("why it cannot be resumed is not said:\n%s", plainScreen(d.Model))
		}
	})
}

// Enter opens the conversation at the hit, and Esc leads back to the list with the same selection. Where a
// session is to be chosen, Enter takes it without a question; elsewhere nothing but the key of resuming does, and
// it asks once.
func TestEnterOpensTheConversation(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		d := drive(t, Options{Query: "token"}, size[0], size[1])
		d.keys("down", "down")
		at, _ := d.results.selected()
		d.keys("enter")
		if l := d.layout(); d.quit || !d.reading || !l.whole || d.preview.want.Place != at {
			t.Errorf("%v: Enter does not show the conversation at %v on the whole screen", size, at)
		}
		d.keys("enter", "enter", "esc")
		if back, _ := d.results.selected(); d.quit || d.reading || d.layout().whole || back != at {
			t.Errorf("%v: Esc does not lead back to the hit", size)
		}
		d.keys("tab", "r")
		if d.quit || !strings.Contains(plainScreen(d.Model), "again to start pi in ~") {
			t.Errorf("%v: an agent starts without a question:\n%s", size, plainScreen(d.Model))
		}
		d.keys("alt+r")
		if !d.quit || d.done.Resume == nil {
			t.Errorf("%v: it asks twice", size)
		}
	}
	d := drive(t, Options{Query: "token", Choose: true}, 80, 24)
	if d.keys("enter"); !d.quit || d.done.Resume == nil {
		t.Error("a session that is to be chosen is not taken")
	}
}

// The values of a filter stand in the order of their hits.
func TestFiltersAreInTheOrderOfTheirHits(t *testing.T) {
	b := fake()
	b.Facets = func(context.Context) ([]sessions.Facet, error) {
		return []sessions.Facet{{Field: "tool", Value: "a"}, {Field: "tool", Value: "bbb"}, {Field: "tool", Value: "cc"}}, nil
	}
	b.Count = func(_ context.Context, req search.Request) (search.Counts, error) {
		n := strings.Count(req.Text, "b") + strings.Count(req.Text, "c")
		return search.Counts{Total: n, TotalAny: n}, nil
	}
	d := drive(t, Options{Backend: b, Query: "x"}, 80, 24)
	d.keys("f2", "tool", "down", "down", "up", "up")
	var got []string
	m := &menu{field: "tool", facets: d.menu.facets, counts: map[sessions.Facet]search.Counts{}}
	for _, f := range d.menu.facets {
		n, _ := b.Count(t.Context(), search.Request{Text: f.Value})
		m.counts[f] = n
	}
	for _, c := range d.valueChoices(m) {
		got = append(got, c.label)
	}
	if want := []string{"bbb", "cc", "a"}; !slices.Equal(got, want) {
		t.Errorf("values are %q, want %q", got, want)
	}
}
