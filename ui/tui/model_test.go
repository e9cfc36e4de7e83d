package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
)

func init() { testkit.Sequences(30) }

// pasted is any text, but for the few marks whose width depends on what follows.
var pasted = rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) }))

// Whatever is pressed, clicked, pasted and resized, in whatever order answers
// come: nothing panics, every screen is well formed, and Esc leads back to a
// list that can be used.
func TestRandomKeys(t *testing.T) {
	var names []string
	for _, b := range bindings {
		names = append(names, b.keys...)
	}
	names = append(names, "t", "token", "日", "👍🏽", "é", `"`, "(", "kind:", "broken", "...")
	rapid.Check(t, func(rt *rapid.T) {
		d := drive(t, Options{}, rapid.IntRange(0, 220).Draw(rt, "width"), rapid.IntRange(0, 70).Draw(rt, "height"))
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				d.send(tea.WindowSizeMsg{Width: rapid.IntRange(0, 220).Draw(rt, "width"), Height: rapid.IntRange(0, 70).Draw(rt, "height")})
			case 1:
				at := tea.Mouse{X: rapid.IntRange(0, 220).Draw(rt, "x"), Y: rapid.IntRange(0, 70).Draw(rt, "y"), Button: tea.MouseLeft}
				if rapid.Bool().Draw(rt, "wheel") {
					at.Button = rapid.SampledFrom([]tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown, tea.MouseWheelLeft}).Draw(rt, "button")
					d.send(tea.MouseWheelMsg(at))
				} else {
					d.send(tea.MouseClickMsg(at))
				}
			case 2:
				d.send(tea.PasteMsg{Content: pasted.Draw(rt, "paste")})
			case 3:
				d.send(State{Generation: uint64(rapid.IntRange(0, 1).Draw(rt, "generation")), Ready: true})
			case 4, 5:
				if len(d.pending) > 0 {
					d.run(rapid.IntRange(0, len(d.pending)-1).Draw(rt, "pending"))
				}
			default:
				for _, k := range keyPresses(rapid.SampledFrom(names).Draw(rt, "key")) {
					d.send(k)
				}
			}
			checkScreen(t, d.Model)
			if d.crash != nil {
				rt.Fatalf("panic: %v\n%s", d.crash.value, d.crash.stack)
			}
		}
		d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		d.settle()
		for i := 0; d.place() != inList || d.query.text != "" || d.toggles.session != nil; i++ {
			if i > 10 {
				rt.Fatalf("Esc does not lead back")
			}
			d.keys("esc")
		}
		d.keys("token")
		if d.panes.hide {
			d.keys("alt+p")
		}
		if d.results.brief {
			d.keys("alt+l")
		}
		checkScreen(t, d.Model)
		if len(d.results.groups) != len(library()) || d.search.running != nil || d.preview.page == nil {
			rt.Fatalf("%d sessions, searching %t, preview %t after random keys", len(d.results.groups), d.search.running != nil, d.preview.page != nil)
		}
	})
}

// A newer query stops the one that runs, waits for its end, and only the answer
// to the newest is shown.
func TestNewerQueryStopsTheOlder(t *testing.T) {
	var asked []string
	var contexts []context.Context
	b := fake()
	inner := b.Search
	b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
		asked = append(asked, req.Text)
		contexts = append(contexts, ctx)
		return inner(ctx, req)
	}
	d := drive(t, Options{Backend: b}, 80, 24)
	for _, k := range keyPresses("token") {
		d.send(k)
		if got := d.query.text; !strings.HasSuffix(got, k.Text) {
			t.Fatalf("the input %q does not echo %q at once", got, k.Text)
		}
	}
	if len(d.pending) != 1 {
		t.Fatalf("%d commands run after 5 keys, want the first search alone", len(d.pending))
	}
	d.run(0) // the search for "t" begins only now, and is stopped already
	if len(contexts) != 1 || contexts[0].Err() == nil {
		t.Errorf("the first search was not stopped")
	}
	if len(d.results.groups) != len(library()) || d.search.shown != "" {
		t.Errorf("the answer to an older query is shown")
	}
	d.settle()
	if diff := cmp.Diff([]string{"t", "token"}, asked); diff != "" {
		t.Errorf("searches (-want +got):\n%s", diff)
	}
	if d.search.shown != "token" || len(d.results.items) != 9 {
		t.Errorf("listed are %d hits for %q", len(d.results.items), d.search.shown)
	}
}

// Enter right after typing acts on the first result of the query, not on the list that is still
// shown. It does nothing if the query finds nothing, or if the user types on. If the user has
// moved the selection, Enter acts on it at once.
func TestEnterWaitsForTheAnswer(t *testing.T) {
	b := fake()
	inner := b.Sessions
	b.Sessions = func(ctx context.Context, req sessions.Request) (*sessions.Response, error) {
		list, err := inner(ctx, req)
		slices.Reverse(list.Sessions)
		return list, err
	}
	for _, test := range []struct{ name, typed, then, want string }{
		{"the first result", "token", "enter", "/s/1.jsonl"},
		{"nothing found", "nothing", "enter", ""},
		{"typing goes on", "token", "enter,x", ""},
		{"a line that was chosen", "token", "down,up,enter", "/s/6.jsonl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := drive(t, Options{Backend: b, Choose: true}, 80, 24)
			for _, key := range append([]string{test.typed}, strings.Split(test.then, ",")...) {
				for _, k := range keyPresses(key) {
					d.send(k)
				}
			}
			d.settle()
			got := ""
			if d.done.Resume != nil {
				got = d.done.Resume.Argv[2]
			}
			if got != test.want {
				t.Errorf("resumes %q, want %q", got, test.want)
			}
		})
	}
}

// A new generation asks again, and the selection stays where it was.
func TestNewGenerationKeepsTheSelection(t *testing.T) {
	var more bool
	b := fake()
	inner := b.Search
	b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
		r, err := inner(ctx, req)
		if err == nil && more {
			h := search.Hit{EntryPlace: session.EntryPlace{SessionPath: "/s/new.jsonl", EntryName: session.EntryName{EntryID: "new"}}, Fragment: fragment("a new token"), Kind: "prompt"}
			r.Sessions = append([]search.SessionHit{{Hits: 1, HitsAny: 1, SessionFacts: search.SessionFacts{SessionPath: "/s/new.jsonl", Name: "just now"}}}, r.Sessions...)
			r.Hits = append([]search.Hit{h}, r.Hits...)
			r.Index.Generation = 7
		}
		return r, err
	}
	d := drive(t, Options{Backend: b}, 80, 24)
	d.keys("token", "down", "down", "down")
	before, _ := d.results.selected()
	more = true
	d.send(State{Generation: 7, Ready: true})
	d.settle()
	if after, _ := d.results.selected(); after != before {
		t.Errorf("the selection went from %v to %v", before, after)
	}
	if screen := plainScreen(d.Model); !strings.Contains(screen, "修复登录") || d.results.groups[0].Name != "just now" {
		t.Errorf("the new session is not in the list, or the old one is out of sight:\n%s", screen)
	}
}

func plainScreen(m *Model) string {
	lines, _ := m.screen()
	return ansi.Strip(strings.Join(lines, "\n"))
}

func TestEscape(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 80, 24)
	d.keys("tab", "esc")
	if d.place() != inList || d.query.text != "token" {
		t.Errorf("Esc in the preview leads to %v with %q", d.place(), d.query.text)
	}
	d.keys("esc")
	if d.query.text != "" || d.quit {
		t.Errorf("Esc does not clear the query %q, quit %t", d.query.text, d.quit)
	}
	d.keys("esc")
	if !d.quit {
		t.Errorf("Esc without a query does not leave")
	}
}

// The keys of readline edit a line as they do in a shell.
func TestReadline(t *testing.T) {
	tests := []struct {
		keys       []string
		text, left string // left of the cursor
	}{
		{[]string{"ctrl+a"}, "auth token file", ""},
		{[]string{"ctrl+a", "ctrl+f", "ctrl+f", "ctrl+b"}, "auth token file", "a"},
		{[]string{"ctrl+a", "alt+f"}, "auth token file", "auth"},
		{[]string{"alt+b"}, "auth token file", "auth token "},
		{[]string{"ctrl+a", "ctrl+e"}, "auth token file", "auth token file"},
		{[]string{"ctrl+a", "ctrl+d"}, "uth token file", ""},
		{[]string{"ctrl+h"}, "auth token fil", "auth token fil"},
		{[]string{"ctrl+w"}, "auth token ", "auth token "},
		{[]string{"ctrl+a", "alt+d"}, " token file", ""},
		{[]string{"alt+b", "ctrl+k"}, "auth token ", "auth token "},
		{[]string{"alt+b", "ctrl+u"}, "file", ""},
		{[]string{"alt+b", "ctrl+k", "ctrl+a", "ctrl+y"}, "fileauth token ", "file"},
		{[]string{"ctrl+w", "ctrl+y", "ctrl+y"}, "auth token filefile", "auth token filefile"},
	}
	for _, test := range tests {
		d := drive(t, Options{Query: "auth token file"}, 80, 24)
		d.keys(test.keys...)
		if d.query.text != test.text || d.query.text[:d.query.at] != test.left {
			t.Errorf("%v: %q, left of the cursor %q; want %q and %q", test.keys, d.query.text, d.query.text[:d.query.at], test.text, test.left)
		}
	}
	d := drive(t, Options{Query: "x"}, 80, 24)
	if d.keys("ctrl+u", "ctrl+d"); !d.quit || d.done.Interrupted {
		t.Errorf("Ctrl-D in an empty query: quit %t", d.quit)
	}
}

func TestQuestionMark(t *testing.T) {
	d := drive(t, Options{}, 80, 24)
	d.keys("?")
	if d.help == nil {
		t.Errorf("? shows no help while the query is empty")
	}
	d.keys("esc", "why", "?")
	if d.help != nil || d.query.text != "why?" {
		t.Errorf("? in a query: help %t, query %q", d.help != nil, d.query.text)
	}
}

// recording is fake, and keeps the last request for hits.
func recording(last *search.Request) Backend {
	b := fake()
	inner := b.Search
	b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
		*last = req
		return inner(ctx, req)
	}
	return b
}

func TestScopeAndSort(t *testing.T) {
	var last search.Request
	b := recording(&last)
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	d.keys("ctrl+s", "ctrl+t")
	if last.Scope != "all" || last.Sort != rank.Newest {
		t.Errorf("asked in scope %q, order %d", last.Scope, last.Sort)
	}
	d.keys("ctrl+s", "f2", "kind:call", "enter")
	if last.Scope != "all" && last.Scope != "prompts" || last.Text != "token kind:call" {
		t.Errorf("asked %q in scope %q", last.Text, last.Scope)
	}
	if !d.scope().Holds("call") {
		t.Errorf("a filter on calls leaves the scope %s, which has none", d.scope())
	}
}

// A toggle restricts every search until it is switched off, and the screen shows it.
func TestToggles(t *testing.T) {
	var last search.Request
	b := recording(&last)
	d := drive(t, Options{Backend: b, Query: "token", WorkDir: "/home/u/src/app"}, 80, 24)
	d.keys("f5", "f6")
	if !last.AllWords || last.CWD != "/home/u/src/app" {
		t.Errorf("with both toggles the search has all words %t, the directory %q", last.AllWords, last.CWD)
	}
	if screen := plainScreen(d.Model); !strings.Contains(screen, "F5/Alt-A all words · F6/Alt-H in ~/src/app") {
		t.Errorf("the toggles do not show:\n%s", screen)
	}
	d.keys("alt+a", "alt+h", "down", "down", "down")
	before, _ := d.results.selected()
	d.keys("alt+s")
	if len(last.Sessions) != 1 || last.Sessions[0] != "/s/2.jsonl" || len(d.results.groups) != 1 {
		t.Errorf("only the selected session: searched %v, shown %d sessions", last.Sessions, len(d.results.groups))
	}
	if screen := plainScreen(d.Model); !strings.Contains(screen, "F7/Alt-S in “修复登录") {
		t.Errorf("the session does not show:\n%s", screen)
	}
	d.keys("f7")
	if after, _ := d.results.selected(); last.Sessions != nil || len(d.results.groups) != len(library()) || after != before {
		t.Errorf("all sessions again: searched %v, shown %d, selected %v, before %v", last.Sessions, len(d.results.groups), after, before)
	}
	d.keys("f7", "esc", "esc")
	if d.quit || d.toggles.session != nil {
		t.Errorf("Esc leaves a session before it quits: quit %t", d.quit)
	}
}

// While the first index is built, better sessions come in above; the selection stays at the
// top until it is moved.
func TestSelectionStaysAtTheTop(t *testing.T) {
	n := uint64(1)
	b := fake()
	b.Search = func(context.Context, search.Request) (*search.Response, error) {
		r := &search.Response{Total: int(n), TotalAny: int(n)}
		for i := n; i > 0; i-- {
			path := fmt.Sprintf("/s/%d.jsonl", i)
			r.Sessions = append(r.Sessions, search.SessionHit{Hits: 1, SessionFacts: search.SessionFacts{SessionPath: path}})
			r.Hits = append(r.Hits, search.Hit{EntryPlace: session.EntryPlace{SessionPath: path, EntryName: session.EntryName{EntryID: "e"}}, Kind: "prompt", Fragment: fragment("token")})
		}
		r.Index.Generation = n
		return r, nil
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	for ; n < 4; n++ {
		d.send(State{Generation: n, Indexing: true})
		d.settle()
	}
	if at, _ := d.results.selected(); d.results.at != 0 || at.Path != "/s/3.jsonl" {
		t.Errorf("before the user moves, the hit %d is selected, %v", d.results.at, at)
	}
	d.keys("down")
	before, _ := d.results.selected()
	d.send(State{Generation: n, Indexing: true})
	d.settle()
	if after, _ := d.results.selected(); after != before {
		t.Errorf("the selection went from %v to %v after the user had moved it", before, after)
	}
}

// A session of an archive is read where it is, not resumed, and the status line says what answers.
func TestArchive(t *testing.T) {
	b := fake()
	found := search.Response{Total: 2, TotalAny: 2, TotalIsExact: true}
	b.Search = func(context.Context, search.Request) (*search.Response, error) {
		r := found
		for _, path := range []string{"laptop:/s/1.jsonl", "/s/2.jsonl"} {
			r.Sessions = append(r.Sessions, search.SessionHit{Hits: 1, SessionFacts: search.SessionFacts{SessionPath: path}})
			r.Hits = append(r.Hits, search.Hit{EntryPlace: session.EntryPlace{SessionPath: path, EntryName: session.EntryName{EntryID: "e"}}, Kind: "prompt", Fragment: fragment("token")})
		}
		return &r, nil
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	pushed := d.options.Now().Add(-3 * time.Hour)
	d.send(State{Generation: 1, Ready: true, Archive: "archive team and this machine", Pushed: pushed})
	d.settle()
	last := func() string {
		lines, _ := d.screen()
		return ansi.Strip(lines[len(lines)-1])
	}
	if got := last(); !strings.Contains(got, "Enter read") || !strings.Contains(got, "archive team and this machine") || strings.Contains(got, "resume") {
		t.Errorf("for a session of another machine: %q", got)
	}
	d.send(State{Generation: 1, Ready: true, Archive: "archive team", Pushed: pushed})
	d.keys("down")
	if got := last(); !strings.Contains(got, "Alt-R resume") || !strings.Contains(got, "archive team · pushed 3h ago") {
		t.Errorf("for one of this machine: %q", got)
	}
	found = search.Response{Total: 1_234_567, TotalAny: 23_456_789}
	d.send(State{Generation: 2, Ready: true, Archive: "archive team", Pushed: pushed})
	d.settle()
	if got := last(); !strings.Contains(got, "at least 1,234,567 hits · archive team") {
		t.Errorf("with many hits: %q", got)
	}
}

// Why the index is behind is shown with what to do about it, with and without hits.
func TestProblemOfTheIndex(t *testing.T) {
	state := State{Problem: "cannot update the index in ~/.cache/pigrep: permission denied", Hint: "use another directory: --index-dir DIR"}
	d := drive(t, Options{Query: "token"}, 80, 24)
	d.send(state)
	b := fake()
	b.Search = func(context.Context, search.Request) (*search.Response, error) { return nil, index.ErrNoIndex }
	none := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	none.send(state)
	for _, d := range []*driver{d, none} {
		screen := strings.Join(strings.Fields(plainScreen(d.Model)), " ")
		for _, want := range []string{"Cannot update the index in ~/.cache/pigrep: permission denied.", "Use another directory: --index-dir DIR.", "not up to date"} {
			if !strings.Contains(screen, want) {
				t.Errorf("%d hits, no %q on the screen:\n%s", len(d.results.items), want, plainScreen(d.Model))
			}
		}
	}
}

// Work that was cancelled is not an error, and never shown as one.
func TestCancelledIsNotShown(t *testing.T) {
	b := fake()
	b.Facets = func(context.Context) ([]sessions.Facet, error) { return nil, context.Canceled }
	b.Resume = func(context.Context, Place, How) (*Resume, error) {
		return nil, fmt.Errorf("read: %w", context.Canceled)
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	for _, k := range []string{"f2", "enter"} {
		d.keys(k)
		if screen := plainScreen(d.Model); strings.Contains(screen, "cancel") {
			t.Errorf("after %s:\n%s", k, screen)
		}
	}
}

// The filters say how many hits each value would leave, and take several values of a field.
func TestFilters(t *testing.T) {
	var counted []search.Request
	b := fake()
	b.Count = func(_ context.Context, req search.Request) (search.Counts, error) {
		counted = append(counted, req)
		return search.Counts{Total: 10 - len(counted)}, nil
	}
	d := drive(t, Options{Backend: b, Query: "token tool:bash"}, 80, 24)
	d.keys("f2", "enter")
	if len(counted) != 3 || counted[1].Text != "token tool:bash kind:call" || counted[2].Scope != "all" {
		t.Errorf("counted %+v", counted)
	}
	if screen := plainScreen(d.Model); !strings.Contains(screen, "call  8 hits") || !strings.Contains(screen, "Tab choose several") {
		t.Errorf("the filters do not show their hits:\n%s", screen)
	}
	d.keys("tab", "tab")
	if screen := plainScreen(d.Model); strings.Count(screen, "✓") != 2 {
		t.Errorf("two values are not marked:\n%s", screen)
	}
	d.keys("enter")
	if d.menu != nil || d.query.text != "token tool:bash kind:prompt,call" || d.search.shown != d.query.text {
		t.Errorf("after Tab on two values: %q, shown %q", d.query.text, d.search.shown)
	}
	d.send(keyPresses("f2")[0])
	d.send(keyPresses("enter")[0]) // before the values have come
	d.settle()
	d.keys("tab", "esc", "esc")
	if d.query.text != "token tool:bash kind:call" {
		t.Errorf("Tab on a marked value leaves %q", d.query.text)
	}
}

func TestMouse(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 120, 30)
	d.send(tea.MouseClickMsg{X: 5, Y: 4, Button: tea.MouseLeft}) // the second hit
	if d.results.at != 1 {
		t.Errorf("a click on the second hit selects the hit %d", d.results.at)
	}
	d.settle()
	d.keys("down", "down")
	top := d.preview.top
	d.send(tea.MouseWheelMsg{X: 80, Y: 10, Button: tea.MouseWheelDown})
	d.settle()
	plainScreen(d.Model)
	if d.preview.top <= top {
		t.Errorf("the wheel over the preview scrolls from %d to %d", top, d.preview.top)
	}
	d.send(tea.MouseClickMsg{X: 80, Y: 10, Button: tea.MouseLeft})
	if !d.reading {
		t.Errorf("a click on the preview does not lead there")
	}
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "pigrep", "history")
	first := drive(t, Options{History: path, Query: "token one"}, 80, 24)
	first.keys("enter")
	second := drive(t, Options{History: path}, 80, 24)
	second.keys("token two", "esc", "token one", "esc", "token two", "ctrl+c")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the history has mode %o", mode)
	}
	third := drive(t, Options{History: path}, 80, 24)
	if diff := cmp.Diff([]string{"token two", "token one"}, third.history.queries); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	third.keys("ctrl+r", "one", "enter")
	if third.query.text != "token one" || third.search.shown != "token one" {
		t.Errorf("Ctrl-R leads to %q, searched %q", third.query.text, third.search.shown)
	}
	none := drive(t, Options{Query: "token"}, 80, 24)
	none.keys("esc", "ctrl+r")
	if none.menu == nil || len(none.menu.shown) != 1 {
		t.Errorf("without a file the queries of this run are not kept")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	for i := range 2*maxHistory + 5 {
		if err := appendHistory(path, fmt.Sprint("query ", i)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := readHistory(path)
	if err != nil || len(list) != maxHistory || list[0] != fmt.Sprint("query ", 2*maxHistory+4) {
		t.Fatalf("%d queries, %v", len(list), err)
	}
	again, err := readHistory(path)
	if diff := cmp.Diff(list, again); diff != "" || err != nil {
		t.Errorf("read again: %v\n%s", err, diff)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 20*maxHistory || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file: %v, %v", info, err)
	}
}

// A search that takes long says so, and only as long as it runs.
func TestSlowSearch(t *testing.T) {
	d := drive(t, Options{}, 80, 24)
	var posted []tea.Msg
	d.post = func(_ time.Duration, do then) { posted = append(posted, do) }
	d.send(keyPresses("t")[0])
	d.send(posted[0])
	if screen := plainScreen(d.Model); !strings.Contains(screen, "searching …") {
		t.Errorf("a search that runs does not show:\n%s", screen)
	}
	d.keys("oken")
	for _, msg := range posted {
		d.send(msg)
	}
	if screen := plainScreen(d.Model); strings.Contains(screen, "searching …") {
		t.Errorf("a search that has ended shows:\n%s", screen)
	}
}

// What some machines have answered is shown, and can be used, while others still work; the answer of
// all takes its place.
func TestEarlyAnswer(t *testing.T) {
	b := fake()
	answer := func(path string, warnings ...string) *search.Response {
		h := search.Hit{EntryPlace: session.EntryPlace{SessionPath: path, EntryName: session.EntryName{EntryID: "e0"}}, Kind: "reply", Fragment: match.Fragment{Text: "a token in " + path}}
		return &search.Response{Hits: []search.Hit{h}, Sessions: []search.SessionHit{{SessionFacts: search.SessionFacts{SessionPath: path}}}, Total: 1, TotalAny: 1, About: search.About{Warnings: warnings}}
	}
	b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
		if show := remote.Early(ctx); show != nil {
			show(answer("laptop:/s/1.jsonl", "waiting for server"))
		}
		return answer("server:/s/2.jsonl"), nil
	}
	d := drive(t, Options{Backend: b}, 80, 24)
	d.keys("toke")
	var early then
	d.post = func(after time.Duration, do then) {
		if after == 0 {
			early = do
		}
	}
	d.query.insert("n")
	run := d.changed()
	final := run() // it has not arrived yet
	if d.send(early); d.outdated() {
		t.Error("an action waits for the slowest machine")
	}
	if screen := plainScreen(d.Model); !strings.Contains(screen, "a token in laptop") || !strings.Contains(screen, "waiting for server") {
		t.Errorf("before all have answered:\n%s", screen)
	}
	d.send(final)
	d.send(early) // too late
	if screen := plainScreen(d.Model); !strings.Contains(screen, "a token in server") || strings.Contains(screen, "laptop") || strings.Contains(screen, "waiting") {
		t.Errorf("when all have answered:\n%s", screen)
	}
}

// A panic anywhere ends the program well, and is passed on.
func TestPanic(t *testing.T) {
	b := fake()
	b.Preview = func(context.Context, Place, Extent) (*Preview, error) { panic("in a command") }
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	if d.crash == nil || d.crash.String() != "in a command" || !d.quit {
		t.Errorf("crash %v, quit %t", d.crash, d.quit)
	}
	m := testModel(t, Options{})
	m.width, m.height = 80, 24
	m.results = results{rows: []row{{rowTitle, 9, -1}}, spacing: spacing{true, mostHits}} // which is not there
	m.View()
	if m.crash == nil {
		t.Error("a panic while drawing is not kept")
	}
	if _, cmd := m.Update(nil); cmd == nil || cmd() != tea.Quit() {
		t.Error("after a panic the program goes on")
	}
}

func TestErrand(t *testing.T) {
	e := &errand{do: func(Place, io.Reader, io.Writer) error { panic("no") }}
	if err := e.Run(); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("a panic while the terminal is given away: %v", err)
	}
	e = &errand{do: func(Place, io.Reader, io.Writer) error { return errors.New("gone") }}
	if err := e.Run(); err == nil || err.Error() != "gone" {
		t.Errorf("an error while the terminal is given away: %v", err)
	}
}

// While a query is typed the best hit may stay the same: the preview goes to
// what matches now.
func TestPreviewFollowsTheMatch(t *testing.T) {
	b := fake()
	b.Search = func(_ context.Context, req search.Request) (*search.Response, error) {
		h := search.Hit{EntryPlace: session.EntryPlace{SessionPath: "/s/9.jsonl", EntryName: session.EntryName{EntryID: "e0"}}, Kind: "reply", Fragment: match.Fragment{Text: "line 3 … token"}}
		h.Fragment.Spans = [][2]int{{0, 6}}
		if strings.Contains(req.Text, "token") {
			h.Fragment.Spans = [][2]int{{11, 16}}
		}
		return &search.Response{Hits: []search.Hit{h}, Sessions: []search.SessionHit{{SessionFacts: search.SessionFacts{SessionPath: h.SessionPath}}}, Total: 1, TotalAny: 1}, nil
	}
	d := drive(t, Options{Backend: b}, 80, 24)
	for _, step := range []struct{ typed, want, not string }{{"line 3", "line 3 of the entry", "here the token"}, {" token", "here the token", "line 3 of the entry"}} {
		d.keys(step.typed)
		if screen := plainScreen(d.Model); !strings.Contains(screen, step.want) || strings.Contains(screen, step.not) {
			t.Errorf("for %q the preview does not show %q:\n%s", d.query.text, step.want, screen)
		}
	}
}

// A preview that is requested again while it is being rendered is not cancelled, and one
// that was cancelled for another place is rendered when the selection comes back.
func TestPreviewRequestedAgain(t *testing.T) {
	m := testModel(t, Options{})
	m.width, m.height = 80, 24
	m.results.set(library(), false)
	first := m.showPreview()
	if again := m.showPreview(); again != nil {
		t.Error("a second job renders the same preview")
	}
	m.update(first())
	if m.preview.failed != nil || m.preview.page == nil {
		t.Fatalf("requested twice, the preview is %v, error %v", m.preview.page, m.preview.failed)
	}

	m.results.move(3)
	away := m.showPreview()
	m.results.move(1)
	m.showPreview()
	m.results.move(-1)
	m.showPreview()
	next := m.update(away())
	if m.preview.failed != nil {
		t.Fatalf("the preview shows the error %q", m.preview.failed)
	}
	if next == nil {
		t.Fatal("a cancelled preview is not rendered again")
	}
	m.update(next())
	if want, _ := m.results.selected(); m.preview.page == nil || m.preview.have.Place != want {
		t.Errorf("the preview is of %v, want %v", m.preview.have.Place, want)
	}
}

// Values without hits come after those with some; the selected value stays selected.
func TestValuesWithoutHitsComeLast(t *testing.T) {
	b := fake()
	b.Count = func(_ context.Context, req search.Request) (search.Counts, error) {
		if strings.Contains(req.Text, "prompt") {
			return search.Counts{}, nil
		}
		return search.Counts{Total: 7}, nil
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 80, 24)
	d.keys("f2")
	d.send(keyPresses("enter")[0])
	d.settle()
	var labels []string
	for _, c := range d.menu.shown {
		labels = append(labels, c.label)
	}
	if want := []string{"call", "system", "prompt"}; !slices.Equal(labels, want) {
		t.Errorf("the kinds are %v, want %v", labels, want)
	}
	if got := d.menu.shown[d.menu.at].label; got != "prompt" {
		t.Errorf("%s is selected, but it was prompt", got)
	}
}

// A session of several files has its hits, whichever file they are in.
func TestGroupHits(t *testing.T) {
	hit := func(path, id string) (h search.Hit) {
		h.SessionPath, h.SessionID = path, id
		return h
	}
	listed := func(path, id string) search.SessionHit {
		return search.SessionHit{SessionFacts: search.SessionFacts{SessionPath: path, SessionID: id}}
	}
	groups := groupHits(&search.Response{
		Sessions: []search.SessionHit{listed("b", "1"), listed("c", "1"), listed("d", "")},
		Hits:     []search.Hit{hit("a", "1"), hit("b", "1"), hit("c", "1"), hit("d", "")},
	})
	got, want := "", "bb ca cc dd "
	for _, g := range groups {
		for _, h := range g.hits {
			got += g.SessionPath + h.SessionPath + " "
		}
	}
	if got != want {
		t.Errorf("hits by session %v, want %v", got, want)
	}
}

// The line of counts says why hits are looser, and which key lists them.
func TestLooserWaysAreSaid(t *testing.T) {
	inner, b := fake(), fake()
	b.Search = func(ctx context.Context, req search.Request) (*search.Response, error) {
		r, err := inner.Search(ctx, req)
		r.Total, r.TotalAny, r.Weak, r.Similar, r.Folded = 1, 697, 0, 696, 696
		return r, err
	}
	d := drive(t, Options{Backend: b, Query: "token"}, 120, 24)
	if screen := plainScreen(d.Model); !strings.Contains(screen, "1 hit, 696 with similar spelling (Alt-N)") {
		t.Errorf("the screen:\n%s", screen)
	}
}
