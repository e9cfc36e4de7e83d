package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/lists"
	"pigrep/internal/price"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
)

// A fragment that does not fit is cut between words, with its match in sight.
func TestFragmentsAreCutBetweenWords(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil))}
	tests := []struct {
		text  string
		width int
		want  string
	}{
		{"the token", 20, "the token"},
		{"the token is checked against the wrong clock", 26, "the token is checked…"},
		{"all work and no play makes jack a dull boy without a token today", 30, "…boy without a token today"},
		{strings.Repeat("x", 50) + "token", 20, "…" + strings.Repeat("x", 14) + "token"},
		{"token" + strings.Repeat("x", 50), 20, "token" + strings.Repeat("x", 11) + "…"},
		{"I look at the token. It is", 20, "…at the token. It is"},
		{"token", 3, "to…"},
	}
	for _, test := range tests {
		got := ansi.Strip(fragmentLine(v, fragment(test.text), test.width))
		if got != test.want {
			t.Errorf("%q in %d cells: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// A hit of a similar word says so.
func TestSimilarSpellingIsMarked(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil))}
	h := &search.Hit{Kind: "prompt", Tier: search.TierFuzzy, Fragment: fragment("the token")}
	if line := ansi.Strip(hitLine(v, h, 60)); !strings.Contains(line, "similar spelling") {
		t.Errorf("the hit does not say that its word is only similar: %q", line)
	}
}

// What sessions cost is a column at the end of their lines, if it is known of one and there is room.
func TestCostsAreAColumn(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil)), now: noon, home: "/home/u"}
	var r results
	groups := library()[:2]
	for i := range groups {
		groups[i].hits = nil
	}
	groups[0].Spent = price.Spent{Tokens: 1e6, Cost: 12.5, Estimated: 12.5}
	r.set(groups, false)
	lines := r.render(v, 80, 2, true)
	if got := ansi.Strip(lines[0]); !strings.HasSuffix(got, " hits  ~$12.50") || terminal.Width(got) != 80 {
		t.Errorf("the line of a session with a cost is\n%q", got)
	}
	if got := ansi.Strip(lines[1]); !strings.HasSuffix(got, strings.Repeat(" ", len("  ~$12.50"))) || terminal.Width(got) != 80 {
		t.Errorf("the line of a session without a cost is\n%q", got)
	}
	if got := ansi.Strip(r.render(v, leastCosts-1, 2, true)[0]); strings.Contains(got, "$") {
		t.Errorf("a narrow line has the cost:\n%q", got)
	}
}

// A session has one line for its title, directory, age and hits; without hits nothing else.
func TestSessionHasOneLine(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil)), now: noon, home: "/home/u"}
	var r results
	r.set(library(), false)
	got := ansi.Strip(r.render(v, 80, 10, true)[0])
	if want := "  Why is the auth token rejected after ten minutes?      ~/src/app · 1h · 3 hits"; got != want {
		t.Errorf("the first line is\n%q, want\n%q", got, want)
	}
	groups := library()
	for i := range groups {
		groups[i].hits = nil
	}
	r.set(groups, false)
	if len(r.rows) != len(groups) {
		t.Errorf("%d rows for %d sessions without hits", len(r.rows), len(groups))
	}
	for width := range 60 {
		for i, line := range r.render(v, width+2, len(groups), true) {
			if got := terminal.Width(line); got != width+2 {
				t.Errorf("row %d of %d cells has %d", i, width+2, got)
			}
		}
	}
}

// A hit names its tool and its age where there is room.
func TestHitNamesToolAndAge(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil)), now: noon}
	h := &search.Hit{Kind: "call", Origin: session.Origin{Tool: "bash\x1b[2J"}, Timestamp: session.Time{Time: noon.AddDate(0, -3, 0)}, Fragment: fragment("the token")}
	if line := ansi.Strip(hitLine(v, h, 76)); !strings.HasPrefix(line, "call bash") || !strings.HasSuffix(line, " 3mo") || terminal.Width(line) != 76 {
		t.Errorf("the hit does not say what it is: %q", line)
	}
	if line := ansi.Strip(hitLine(v, h, 20)); line != "call      the token" {
		t.Errorf("in 20 cells: %q", line)
	}
}

// A key leaves one line for each session, and brings its hits back; the selection stays in
// the session.
func TestOneLineForEachSession(t *testing.T) {
	d := drive(t, Options{Query: "token"}, 80, 24)
	d.keys("down", "down", "down", "alt+l")
	if len(d.results.rows) != len(library()) || d.results.session().SessionPath != "/s/2.jsonl" || d.results.hit() == nil {
		t.Errorf("%d rows for %d sessions, selected %v", len(d.results.rows), len(library()), d.results.session().SessionPath)
	}
	d.keys("down", "alt+l")
	if len(d.results.rows) <= 2*len(library()) || d.results.session().SessionPath != "/s/3.jsonl" {
		t.Errorf("the hits are not back: %d rows, selected %v", len(d.results.rows), d.results.session().SessionPath)
	}
}

// Two hits of each session are listed in a small pane, three in a large one, and all once the user
// has selected one of them. A session that is open stays open.
func TestSessionOpensWhenItIsSelected(t *testing.T) {
	groups := library()[:3]
	for range 7 {
		groups[1].hits = append(groups[1].hits, search.Hit{Kind: "reply", EntryPlace: session.EntryPlace{EntryName: session.EntryName{EntryID: fmt.Sprint("more", len(groups[1].hits))}}, Fragment: fragment("token")})
	}
	listed := func(r *results, height int) (list []int) {
		r.render(view{styles: new(newStyles(dark, nil)), now: noon}, 80, height, true)
		for g := range r.groups {
			n := 0
			for _, i := range r.items {
				if r.rows[i].group == g {
					n++
				}
			}
			list = append(list, n)
		}
		return list
	}
	var r results
	r.set(groups, false)
	for _, step := range []struct {
		height int
		want   []int
	}{{9, []int{2, 2, 1}}, {12, []int{3, 3, 1}}, {30, []int{3, 3, 1}}, {9, []int{2, 2, 1}}} {
		if got := listed(&r, step.height); !slices.Equal(got, step.want) {
			t.Errorf("%v hits are listed in %d lines, want %v", got, step.height, step.want)
		}
	}
	r.move(2)
	r.open()
	before := r.placeOf(r.at)
	if got := listed(&r, 9); !slices.Equal(got, []int{2, 9, 1}) || r.placeOf(r.at) != before {
		t.Errorf("%v hits are listed after the second session was selected, at %v, want 2, 9, 1 at %v", got, r.placeOf(r.at), before)
	}
	r.move(9)
	r.set(groups, true)
	if got := listed(&r, 9); !slices.Equal(got, []int{2, 9, 1}) || r.session().SessionPath != groups[2].SessionPath {
		t.Errorf("%v hits are listed after the answer was repeated", got)
	}
	r.set(groups[1:2], false)
	if got := listed(&r, 9); !slices.Equal(got, []int{9}) {
		t.Errorf("%v hits of a single session are listed", got)
	}
}

// Below a hit in a prompt stands its reply: not selectable, not in a pane that is too small, and a
// click on it is one on its hit.
func TestAnsweredPrompts(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil)), now: noon, home: "/home/u"}
	groups := library()
	groups[0].hits[1].Answered = &search.Answered{EntryName: session.EntryName{EntryID: "a9"}, Fragment: fragment("the clock of the server \x1b[2Jis wrong, so every token is late " + strings.Repeat("漢", 300))}
	var r results
	r.set(groups, false)
	screen := func(width, height int) string {
		return ansi.Strip(strings.Join(r.render(v, width, height, true), "\n"))
	}
	lines := strings.Split(screen(76, 40), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "answered ") })
	if at < 1 || !strings.HasPrefix(strings.TrimSpace(lines[at]), "answered       the clock of the server is wrong") || at != r.items[1]+1 || slices.Contains(r.items, at) {
		t.Errorf("line %d, items %v:\n%s", at, r.items, strings.Join(lines, "\n"))
	}
	r.click(at)
	if h := r.hit(); h == nil || h.Answered == nil {
		t.Error("a click on a reply does not select its prompt")
	}
	if small := screen(76, 4); strings.Contains(small, "answered") {
		t.Errorf("no room for replies:\n%s", small)
	}
	for width := 3; width < 90; width++ {
		for i, line := range r.render(v, width, 40, true) {
			if got := terminal.Width(line); got != width {
				t.Fatalf("row %d of %d cells has %d", i, width, got)
			}
		}
	}
}

// A session keeps its project at every width, and the number of its messages is the first to go: before the
// title is cut.
func TestProjectsStay(t *testing.T) {
	v := view{styles: new(newStyles(dark, nil)), now: noon, home: "/home/u", agents: true}
	for _, x := range []struct{ title, cwd, agent string }{
		{"Website redesign proposal and plan", "/home/u/work/clients/oh-my-posh", "claude"},
		{"Fix it", `D:\oh-my-posh`, "codex"},
		{"修复登录：令牌过期和登录页面", "/srv/oh-my-posh/", "pi"},
		{strings.Repeat("a long title ", 20), "/oh-my-posh", "claude"},
	} {
		for _, query := range []bool{false, true} {
			for width := 40; width <= 160; width++ {
				g := group{}
				g.Title, g.CWD, g.Agent, g.Messages, g.Modified = x.title, x.cwd, x.agent, 1232, session.Time{Time: noon.AddDate(0, -3, 0)}
				if query {
					g.Hits = 5
				}
				var r results
				r.set([]group{g}, false)
				line := ansi.Strip(r.render(v, width, 1, true)[0])
				if !strings.Contains(line, "oh-my-posh") || !strings.Contains(line, "3mo") || terminal.Width(line) != width {
					t.Errorf("at %d columns the project or the age is missing:\n%s", width, line)
				}
				if strings.Contains(line, "messages") && strings.Contains(strings.NewReplacer("…/", "", `…\`, "").Replace(line), "…") {
					t.Errorf("at %d columns messages are counted, and something is cut:\n%s", width, line)
				}
			}
		}
	}
}

// Below the last session there is no room that further hits would fill: more of them are asked for, and
// listed, as long as they fit.
func TestHitsFillTheList(t *testing.T) {
	b, most := fake(), 0
	b.Search = func(_ context.Context, req search.Request) (*search.Response, error) {
		r := &search.Response{Sessions: lists.Map(library()[:2], func(g group) search.SessionHit { return g.SessionHit })}
		most = max(most, req.PerSession)
		for i := range r.Sessions {
			r.Sessions[i].Hits = 31
			for n := range cmp.Or(req.PerSession, 3) {
				h := search.Hit{Kind: "reply", Fragment: fragment("token")}
				h.SessionPath, h.EntryID = r.Sessions[i].SessionPath, fmt.Sprint("e", n)
				r.Hits = append(r.Hits, h)
			}
		}
		return r, nil
	}
	for _, height := range []int{16, 24, 40, 60} {
		d := drive(t, Options{Backend: b, Query: "token"}, 120, height)
		pane := d.layout().list.height
		if rows := len(d.results.rows); rows < pane-1 || rows > pane || most != pane {
			t.Errorf("%d rows in a list of %d lines, asked for %d hits of a session", rows, pane, most)
		}
	}
}
