package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
)

// noon is when all tests take place.
var noon = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

// long is a line of more than 10,000 characters with a match at its end.
var long = strings.Repeat("all work and no play ", 500) + "token"

// fragment marks every "token" of a text.
func fragment(text string) match.Fragment {
	f := match.Fragment{Text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], "token")
		if i < 0 {
			return f
		}
		f.Spans = append(f.Spans, [2]int{at + i, at + i + len("token")})
		at += i + len("token")
	}
}

// library is what the tests search: sessions that are not easy to show.
func library() []group {
	ago := func(d time.Duration) session.Time { return session.Time{Time: noon.Add(-d)} }
	with := func(n int, name, prompt, cwd string, age time.Duration, hits ...search.Hit) group {
		g := group{SessionHit: search.SessionHit{Hits: len(hits), HitsAny: len(hits), SessionFacts: search.SessionFacts{
			SessionPath: fmt.Sprintf("/s/%d.jsonl", n), SessionID: fmt.Sprintf("id%d", n), Name: name, FirstPrompt: prompt, Title: cmp.Or(name, prompt), CWD: cwd,
			Modified: ago(age), Messages: 10 * n,
		}}}
		for i := range hits {
			h := &hits[i]
			h.SessionPath, h.CWD, h.InContext = g.SessionPath, cwd, true
			h.EntryID, h.Line, h.Offset = fmt.Sprintf("e%d", i), i+2, int64(1000*i+100)
			h.Branch = entry.BranchActive
		}
		g.hits = hits
		return g
	}
	hit := func(kind session.Kind, text string) search.Hit {
		return search.Hit{Kind: kind, Fragment: fragment(text)}
	}
	failed := hit(session.KindResult, "bad token\x1b[31m in red\x1b[0m\x07\r\nof two lines")
	failed.IsError = true
	partial := hit(session.KindThinking, "only the token, not the other word")
	partial.Missing = []string{"auth"}
	abandoned := hit(session.KindCall, "grep -rn token ./src")
	abandoned.Branch = entry.BranchAbandoned
	unknown := with(6, strings.Repeat("a \x1b[31mname\x1b[0m\twithout end ", 10), "", "", 0, hit(session.KindPrompt, "the token of a file without a header"))
	unknown.SessionID, unknown.Modified, unknown.hits[0].EntryID = "", session.Time{}, ""
	return []group{
		with(1, "", "Why is the auth token rejected after ten minutes?", "/home/u/src/app", time.Hour,
			hit(session.KindReply, "… the auth token is checked against the wrong clock …"), failed, abandoned),
		with(2, "修复登录：令牌过期 token", "", "/home/u/src/登录", 26*time.Hour,
			hit(session.KindPrompt, "令牌 token 在十分钟后过期，为什么？令牌在十分钟后过期，为什么？令牌在十分钟后过期，为什么？"),
			hit(session.KindReply, "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag é́ token 👍🏽")),
		with(3, "שלום token עולם \u202eevil\u202c", "", "/srv/مشروع", 14*24*time.Hour,
			hit(session.KindReply, "الرمز token انتهت صلاحيته")),
		with(4, "\x1b]0;title\x07\x1b[2J\u009b31mhostile\tname\nof two lines", "", "/home/u/"+strings.Repeat("deep/", 30)+"end", 400*24*time.Hour,
			hit(session.KindPrompt, long), partial),
		with(5, "", "", "", 0, hit(session.KindNote, "token")),
		unknown,
	}
}

// talk is a conversation as the printer lays it out.
var talk = strings.Split(`
\x1b[32mprompt\x1b[m\x1b[2m · 10:52 · 1a2b3c4d\x1b[m
  Why is the auth token rejected after ten minutes? It is good for an hour.

  \x1b[33mbash $ \x1b[mgrep -rn 'token' src/auth
    \x1b[2msrc/auth/check.go:41: if token.Expires.Before(startedAt) {\x1b[m
    \x1b[2msrc/auth/issue.go:17: token.Expires = time.Now().Add(time.Hour)\x1b[m

\x1b[1;31m▶ \x1b[m\x1b[34mreply\x1b[m\x1b[2m · 10:53 · 5e6f7a8b\x1b[m
  The auth token is checked against the wrong clock: startedAt is when the
  server came up, ten minutes ago. It has to be the time of the request.

\x1b[32mprompt\x1b[m\x1b[2m · 10:55 · 9c0d1e2f\x1b[m
  Mend it, with a test.`, "\n")

// page is the conversation around a place.
func page(p Place, e Extent) *Preview {
	out := &Preview{}
	entry := -1
	add := func(format string, args ...any) {
		line := terminal.Clip(fmt.Sprintf(format, args...), e.Width)
		if strings.Contains(line, "·") { // a heading
			entry++
		}
		out.Lines = append(out.Lines, Line{line, entry})
	}
	if p.Path == "/s/1.jsonl" {
		for _, line := range talk {
			add("%s", strings.ReplaceAll(line, `\x1b`, "\x1b"))
		}
		out.Focus, out.Anchor, out.Total = 8, 1, 3
		for i := range 3 {
			out.Entries = append(out.Entries, Entry{Place: p, Index: i, Number: i + 1})
		}
		return out
	}
	at := e.At
	switch {
	case at == AtStart:
		at = 0
	case at == AtEnd:
		at = longTalk - 1
	case at < 0:
		at = hitEntry
	}
	from, to := max(0, at-e.Around), min(longTalk, at+e.Around+1)
	out.Anchor, out.Total, out.Before, out.After = at, longTalk, from > 0, to < longTalk
	entry = from - 1
	for i := from; i < to; i++ {
		open, _ := e.Unfolded(i)
		open = open || e.All
		add("")
		if i == at {
			out.Focus = len(out.Lines)
		}
		here := Entry{Place: Place{Path: p.Path, EntryID: fmt.Sprintf("x%d", i), Offset: int64(1000 * i), Line: i + 1}, Index: i, Number: i + 1, Open: open}
		switch {
		case i == hitEntry:
			here.EntryID, here.Offset = p.EntryID, p.Offset
			add("\x1b[1;31m▶ \x1b[m\x1b[34mreply\x1b[m · %s of %s", p.EntryID, p.Path)
			for i := range 12 {
				add("  line %d of the entry", i)
			}
			add("  here the token stands")
		case i%2 == 0:
			add("\x1b[32mprompt\x1b[m · entry %d", i)
			add("  一二三四 👍🏽 שלום, line of entry %d", i)
		default:
			add("\x1b[34mreply\x1b[m · entry %d", i)
			add("  a needle in entry %d", i)
			if open {
				add("  and one more needle, deep")
				add("  down in entry %d", i)
			} else {
				add("  … 2 more lines")
			}
		}
		out.Entries = append(out.Entries, here)
	}
	return out
}

// The long conversations of the tests have 1,000 entries. One of them is the hit.
const longTalk, hitEntry = 1000, 500

// fake is a backend over the library.
func fake() Backend {
	return Backend{
		Search: func(ctx context.Context, req search.Request) (*search.Response, error) {
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case req.Text == "...":
				return nil, &words.TextError{Reason: "there is no word in ...", Hint: "type a word"}
			case req.Text == "broken":
				return nil, hinted{errors.New("the index is damaged")}
			case req.Text == "zorblaxq token":
				g := library()[0]
				for i := range g.hits {
					g.hits[i].Missing = []string{"zorblaxq"}
				}
				return &search.Response{
					Hits: g.hits, Sessions: []search.SessionHit{g.SessionHit}, TotalAny: 12, TotalIsExact: true,
					Words: []search.WordCount{{Word: "zorblaxq"}, {Word: "token", Hits: 1234, Sessions: 41}},
				}, nil
			case req.Text == "zorblaxq +tokn":
				return &search.Response{
					TotalIsExact: true, DidYouMean: "zorblaxq +token",
					Words: []search.WordCount{{Word: "zorblaxq", Removed: []search.Removed{{Filter: "scope", Hits: 2}}}, {Word: "tokn"}},
				}, nil
			case req.Text == "token project:nope":
				return &search.Response{TotalIsExact: true, Removed: []search.Removed{{Filter: "project:nope", Hits: 4}}, About: search.About{Warnings: []string{"no project nope; projects like it: hope"}}}, nil
			case req.CWD == "/home/u/empty":
				return &search.Response{TotalIsExact: true, Removed: []search.Removed{{Filter: "cwd", Hits: 12}, {Filter: "scope", Hits: 1}}}, nil
			case !strings.Contains(req.Text, "token"):
				return &search.Response{TotalIsExact: true, DidYouMean: "token"}, nil
			}
			r := &search.Response{TotalIsExact: true}
			for _, g := range library() {
				if len(req.Sessions) > 0 && g.SessionPath != req.Sessions[0] {
					continue
				}
				r.Sessions = append(r.Sessions, g.SessionHit)
				r.Hits = append(r.Hits, g.hits...)
				r.Total += len(g.hits)
			}
			r.TotalAny = r.Total + 3
			if req.Only != nil {
				r.Hits = slices.DeleteFunc(r.Hits, func(h search.Hit) bool { return !req.Only(&session.Summary{Path: h.SessionPath}) })
			}
			return r, nil
		},
		Sessions: func(ctx context.Context, _ sessions.Request) (*sessions.Response, error) {
			list := &sessions.Response{TotalIsExact: true}
			for _, g := range library() {
				g.Hits, g.HitsAny = 0, 0
				list.Sessions = append(list.Sessions, sessions.Session{SessionHit: g.SessionHit})
			}
			list.Total = len(list.Sessions)
			return list, ctx.Err()
		},
		Preview: func(ctx context.Context, p Place, e Extent) (*Preview, error) {
			if strings.Contains(p.Path, "/5") {
				return nil, errors.New("/s/5.jsonl was deleted \x1b[2J since it was indexed")
			}
			return page(p, e), ctx.Err()
		},
		Find: func(ctx context.Context, p Place, text string, _ scope.Scope) (found []Found, err error) {
			for i := range longTalk {
				all := page(p, Extent{Width: 1000, At: i, All: true})
				n := 0
				for _, l := range all.Lines {
					if l.Entry == i {
						n += strings.Count(l.Text, text)
					}
				}
				if n > 0 {
					found = append(found, Found{i, n})
				}
			}
			return found, ctx.Err()
		},
		Prompts: func(_ context.Context, p Place) (list []Prompt, err error) {
			for i := 0; i < longTalk; i += 2 {
				list = append(list, Prompt{Place: Place{Path: p.Path, EntryID: fmt.Sprintf("x%d", i), Offset: int64(1000 * i), Line: i + 1}, Text: fmt.Sprintf("prompt of entry %d", i), Time: noon.Add(-time.Hour)})
			}
			return list, nil
		},
		Text: func(_ context.Context, p Place) (string, error) { return "the text of " + p.EntryID, nil },
		Facets: func(context.Context) ([]sessions.Facet, error) {
			return []sessions.Facet{
				{Field: "kind", Value: "prompt"}, {Field: "kind", Value: "call"}, {Field: "kind", Value: "system"},
				{Field: "tool", Value: "bash", Count: 1234, Unit: "part"}, {Field: "tool", Value: "evil\x1b[31m tool", Count: 1, Unit: "part"},
				{Field: "project", Value: "登录", Count: 3, Unit: "session"}, {Field: "model", Value: "opus", Count: 9, Unit: "session"},
				{Field: "after", Value: "1w"}, {Field: "branch", Value: "abandoned"},
			}, nil
		},
		Export: func(_ context.Context, p Place, format string) (string, error) {
			if p.Path == "/s/3.jsonl" {
				return "", hinted{errors.New("the directory is read-only")}
			}
			return "/home/u/" + p.ID + "." + format, nil
		},
		Copy: func(context.Context, string) bool { return false },
		Count: func(ctx context.Context, req search.Request) (search.Counts, error) {
			n := search.Counts{Total: len(req.Text), TotalAny: 100}
			if strings.Contains(req.Text, "system") {
				n.Total = 0
			}
			return n, ctx.Err()
		},
		Resume: func(_ context.Context, p Place, how How) (*Resume, error) {
			r := &Resume{Dir: "/home/u", Argv: []string{"pi", "--session", p.Path}, Command: "cd /home/u && pi --session " + p.Path}
			if how.Dir != "" {
				r.Dir, r.Argv[1], r.Command = how.Dir, "--fork", "cd "+how.Dir+" && pi --fork "+p.Path
				return r, nil
			}
			switch p.Path {
			case "/s/4.jsonl":
				return nil, &MovedError{Dir: "/home/u/gone", Dirs: []string{"/home/u/new/gone", "/home/u/src"}}
			case "/s/2.jsonl":
				r.Warnings = []string{"it was written to in the last minute"}
			case "/s/3.jsonl":
				return nil, hinted{errors.New("the session's directory is gone")}
			}
			return r, nil
		},
	}
}

type hinted struct{ error }

func (hinted) HintText() string { return "do this instead" }

func testModel(t testing.TB, o Options) *Model {
	t.Helper()
	if o.Search == nil {
		o.Backend = fake()
	}
	o.Formats = []string{"md", "html"}
	o.Home, o.Now = "/home/u", func() time.Time { return noon }
	return New(t.Context(), o)
}

// driver runs a model without a program: commands wait until they are run.
type driver struct {
	*Model
	pending []tea.Cmd
	quit    bool
	msgs    []tea.Msg // that the model has no use for: what it asked of the terminal
}

func drive(t testing.TB, o Options, width, height int) *driver {
	d := &driver{Model: testModel(t, o)}
	d.later(d.Init())
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	d.settle()
	return d
}

func (d *driver) later(cmd tea.Cmd) {
	if cmd != nil {
		d.pending = append(d.pending, cmd)
	}
}

// send gives the model a message.
func (d *driver) send(msg tea.Msg) {
	_, cmd := d.Update(msg)
	d.later(cmd)
}

// run runs the i-th command that waits.
func (d *driver) run(i int) {
	cmd := d.pending[i]
	d.pending = append(d.pending[:i], d.pending[i+1:]...)
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		d.quit = true
	default:
		if v := reflect.ValueOf(msg); v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
			for i := range v.Len() { // a batch, or a sequence
				d.later(v.Index(i).Interface().(tea.Cmd))
			}
			return
		}
		d.msgs = append(d.msgs, msg)
		d.send(msg)
	}
}

// settle runs commands until there are none.
func (d *driver) settle() {
	for len(d.pending) > 0 {
		d.run(0)
	}
}

// keys presses keys, named as in the table; other words are typed.
func (d *driver) keys(names ...string) {
	for _, name := range names {
		for _, k := range keyPresses(name) {
			d.send(k)
		}
		d.settle()
	}
}

var codes = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp,
	"esc": tea.KeyEscape, "enter": tea.KeyEnter, "tab": tea.KeyTab, "space": tea.KeySpace, "home": tea.KeyHome, "end": tea.KeyEnd,
	"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5, "f6": tea.KeyF6, "f7": tea.KeyF7, "f8": tea.KeyF8, "f9": tea.KeyF9, "f11": tea.KeyF11,
}

func keyPresses(name string) []tea.KeyPressMsg {
	parts := strings.Split(name, "+")
	last := parts[len(parts)-1]
	k := tea.KeyPressMsg{Code: codes[last]}
	for _, mod := range parts[:len(parts)-1] {
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[mod]
	}
	switch {
	case k.Code == tea.KeySpace:
		k.Text = " "
		return []tea.KeyPressMsg{k}
	case k.Code != 0:
		return []tea.KeyPressMsg{k}
	case k.Mod != 0 && len(last) == 1:
		k.Code = rune(last[0])
		return []tea.KeyPressMsg{k}
	}
	var list []tea.KeyPressMsg
	for _, r := range name {
		list = append(list, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return list
}
