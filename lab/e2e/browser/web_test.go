package browser

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pigrep/adapter/agents"
	"pigrep/internal/terminal"
	"pigrep/lab/browser"
	"pigrep/lab/testkit"
	"pigrep/ui/cli"
	"pigrep/ui/cli/app"
	"pigrep/ui/transcript"
)

var updateFiles = flag.Bool("update", false, "write the pictures of pages")

// samples are the session files that the pages show.
var samples = filepath.Join("..", "..", "..", "testdata", "sessions")

// odd has session files that lack what others have.
var odd = filepath.Join("..", "..", "..", "testdata", "odd")

// webTest is a server for a copy of session files, and a browser that has its cookie.
type webTest struct {
	*browser.Browser
	t    *testing.T
	host string // with the scheme
	home string
	root string // of the session files
}

// shownNow is the clock of the program.
func shownNow() time.Time { return time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC) }

// newApp is a process of the user with this home directory.
func newApp(home string) (a *app.App, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &app.App{
		Process: app.Process{
			Getenv:     func(string) string { return "" },
			Environ:    os.Environ,
			Now:        shownNow,
			PID:        os.Getpid(),
			Executable: os.Executable,
			LookPath:   func(program string) (string, error) { return "/usr/bin/" + program, nil },
		},
		User: app.User{
			Home: home, CacheDir: filepath.Join(home, "cache"), WorkDir: home, TempDir: home,
			Zone: func() *time.Location { return time.UTC },
		},
		Speech: app.Speech{Streams: &terminal.Streams{In: strings.NewReader(""), Out: out, Err: errs, Width: 80}},
		Agents: agents.All(),
	}, out, errs
}

func newWebTest(t *testing.T, sessions ...string) *webTest {
	t.Helper()
	return newWebTestIn(t, filepath.Join(t.TempDir(), "dev"), sessions)
}

// newWebTestIn is newWebTest with a home directory that may have sessions of other agents, and
// flags of the server.
func newWebTestIn(t *testing.T, home string, sessions []string, args ...string) *webTest {
	t.Helper()
	w := &webTest{t: t, home: home, root: filepath.Join(home, ".pi", "agent", "sessions")}
	for _, dir := range sessions {
		copySessions(t, w.root, dir, home)
	}
	if err := os.Mkdir(filepath.Join(home, "atlas"), 0o755); err != nil { // where most of the samples began
		t.Fatal(err)
	}
	address := w.serve(args)
	w.host, _, _ = strings.Cut(address, "/enter")
	w.Browser = browser.Open(t, func(address string) bool { return strings.HasPrefix(address, w.host+"/") })
	w.Run(chromedp.Navigate(address), chromedp.WaitReady("#keys"))
	return w
}

// serve runs `pigrep web` for the time of the test, and returns the address that it prints.
func (w *webTest) serve(args []string) string {
	w.t.Helper()
	a, _, errs := newApp(w.home)
	printed := make(chan string, 1)
	a.Streams.Out = writerFunc(func(b []byte) (int, error) {
		printed <- strings.TrimSpace(string(b))
		return len(b), nil
	})
	ctx, stop := context.WithCancel(w.t.Context())
	code := make(chan int, 1)
	go func() { code <- cli.Run(ctx, a, append([]string{"web", "--no-open", "--quiet"}, args...)) }()
	w.t.Cleanup(func() {
		stop()
		<-code
		if errs.Len() > 0 {
			w.t.Errorf("stderr: %s", errs)
		}
	})
	select {
	case address := <-printed:
		return address
	case n := <-code:
		code <- n
		w.t.Fatalf("pigrep web ended with %d: %s", n, errs)
		return ""
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// copySessions copies session files of /home/dev as if they were of another home, and
// written four days before the clock of the program.
func copySessions(t *testing.T, root, sessions, home string) {
	t.Helper()
	if err := os.CopyFS(root, os.DirFS(sessions)); err != nil {
		t.Fatal(err)
	}
	written := shownNow().AddDate(0, 0, -4)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data = bytes.ReplaceAll(data, []byte("/home/dev"), []byte(home))
		return errors.Join(os.WriteFile(path, data, 0o644), os.Chtimes(path, written, written))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// quietly checks that pages did nothing that they must not.
func (w *webTest) quietly() {
	w.t.Helper()
	for _, c := range w.Complaints() {
		w.t.Error(c)
	}
}

// picture keeps a picture of the page to be looked at, if there is a directory for them.
func (w *webTest) picture(name string) {
	dir := os.Getenv("PIGREP_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), w.capture(), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// Every page fits every window, can be read in both schemes, and does nothing that its
// policy forbids. With PIGREP_PICTURES, a directory, pictures of them are kept there.
func TestWebPagesInABrowser(t *testing.T) {
	home := filepath.Join(t.TempDir(), "dev")
	for _, dir := range []string{"claude/projects", "codex/sessions"} {
		copySessions(t, filepath.Join(home, "."+filepath.FromSlash(dir)), filepath.Join("..", "..", "..", "testdata", "agents", filepath.FromSlash(dir)), home)
	}
	w := newWebTestIn(t, home, []string{samples, odd})
	for _, p := range []struct{ name, address string }{
		{"search", "/?q=token"},
		{"start", "/"},
		{"odd", "/?q=quokka"},
		{"nothing", "/?q=nosuchwordanywhere"},
		{"hostile", "/?q=script+project:hostile&scope=all"},
		{"conversation", "/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90?q=token"},
		{"branches", "/session/01956691-0000-7a3c-b111-222233334444"},
		{"sessions", "/sessions"},
		{"audit", "/audit"},
		{"failures", "/audit?only=failures"},
		{"files", "/audit?only=files"},
		{"claude", "/session/67a8478e-78dc-44ab-82ea-f65c8ead85f6?q=test"},
		{"usage", "/usage"},
		{"usage-month", "/usage?since=2026-03-01&until=2026-03-31"},
		{"status", "/status"},
		{"error", "/nothing"},
	} {
		for _, look := range browser.Looks {
			w.Show(w.host+p.address, look, "#keys")
			w.Check(p.name + " at " + look.String())
			w.picture(p.name + strings.NewReplacer(" pixels, ", "-").Replace("-"+look.String()))
			if look.Scheme == "light" {
				w.Walk(p.name + " at " + look.String())
			}
		}
		complaints := w.Complaints()
		if p.name == "error" { // browsers log the status
			continue
		}
		for _, c := range complaints {
			t.Errorf("%s: %s", p.name, c)
		}
	}
}

// Typing shows hits; one is opened, and back leads to them; the histogram and the facets
// filter; a branch can be read alone; keys move; a reload and another tab change nothing.
func TestWebInABrowser(t *testing.T) {
	w := newWebTest(t, samples)
	b := w.Browser
	wide := browser.Looks[0]
	text := func(selector string) string {
		return browser.Value[string](b, `document.querySelector("`+selector+`")?.innerText ?? ""`)
	}
	count := func(selector string) int {
		return browser.Value[int](b, `document.querySelectorAll("`+selector+`").length`)
	}
	address := func() string { return strings.TrimPrefix(browser.Value[string](b, `location.href`), w.host) }
	const arrived = `document.readyState == "complete" && `

	// Type, character by character.
	w.Show(w.host+"/", wide, "#keys")
	b.Until("the list of sessions", `document.querySelectorAll(".plain [data-item]").length > 5`)
	b.Run(chromedp.SendKeys("#q", "token"))
	b.Until("hits", `document.querySelectorAll(".hits mark").length > 3 && location.search == "?q=token"`)
	b.Until("facets of the hits", `document.querySelector(".facets [href*='project%3Aatlas'] .n")?.innerText == "3"`)
	if got := text(".count"); got != "6 hits in 3 sessions" {
		t.Errorf("6 hits are %q", got)
	}

	// Go to the first hit with keys, open it, and go back.
	b.Run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	if hit := browser.Value[string](b, `document.activeElement.innerText`); !strings.Contains(hit, "wolverine") {
		t.Errorf("j, j and k lead to %q", hit)
	}
	b.Run(chromedp.KeyEvent(kb.Enter))
	b.Until("the conversation", arrived+`location.pathname.startsWith("/session/") && !!document.querySelector("article.hit:target")`)
	if got := text(".hitbar [role=status]"); got != "hit 1 of 1" && !strings.HasPrefix(got, "hit ") {
		t.Errorf("the bar says %q", got)
	}
	if cut := browser.Value[[]string](b, `[...CSS.highlights.get("hits")].filter(r => /[a-z]/.test(r.startContainer.data[r.startOffset - 1] ?? " ") && /[a-z]/.test(r.toString()[0])).map(r => r.startContainer.data)`); len(cut) > 0 {
		t.Errorf("words are marked from their middle on: %q", cut)
	}
	if marks := browser.Value[int](b, `CSS.highlights.get("hits").size`); marks == 0 {
		t.Error("no word is marked in the conversation")
	}
	opened := address()
	b.Run(chromedp.Reload())
	b.Until("the conversation again", arrived+`!!document.querySelector("article.hit:target")`)
	if address() != opened {
		t.Errorf("after a reload the address is %s, not %s", address(), opened)
	}
	b.Run(chromedp.NavigateBack())
	b.Until("back to the hits", arrived+`location.search == "?q=token" && document.querySelectorAll(".hits mark").length > 3`)

	// The keys from hit to hit in a conversation leave one entry in the history.
	w.Show(w.host+"/?q=the", wide, "#keys")
	b.Run(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	b.Until("a conversation with a next hit", arrived+`!!document.querySelector("article.hit:target") && !!document.querySelector("[data-key=j]")`)
	before, first := browser.Value[int](b, `history.length`), address()
	b.Run(chromedp.KeyEvent("j"))
	b.Until("the next hit", arrived+`!!document.querySelector("article.hit:target, .call.hit:target, :target") && location.href != "`+w.host+first+`"`)
	if after := browser.Value[int](b, `history.length`); after != before {
		t.Errorf("j made %d entries of the history %d", before, after)
	}
	b.Run(chromedp.NavigateBack())
	b.Until("back to the list of hits", arrived+`location.search == "?q=the"`)

	// A bar of the histogram adds a filter; the link in its caption removes it.
	w.Show(w.host+"/?q=file", wide, "#keys")
	all := text(".count")
	value := browser.Value[string](b, `document.querySelector(".time svg a").getAttribute("href")`)
	if !strings.Contains(value, "after%3A2026-01-12") {
		t.Errorf("the first bar leads to %s", value)
	}
	b.Click(".time svg a .room")
	b.Until("the hits of a week", arrived+`document.querySelector(".count")?.innerText == "1 hit in 1 session"`)
	b.Click(".time .more a")
	b.Until("all hits again", arrived+`document.querySelector(".count")?.innerText == `+strconv.Quote(all))
	w.Show(w.host+"/?q=token", wide, "#keys")
	b.Click(".facets [href*='project%3Aatlas']")
	b.Until("the hits of a project", arrived+`document.querySelector(".count")?.innerText == "3 hits in 2 sessions"`)

	// Choose another scope; what was typed stays.
	browser.Value[bool](b, `(e => { e.value = "prompts"; return e.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector("select[name=scope]"))`)
	b.Until("prompts", `document.querySelector(".count")?.innerText == "2 hits in 2 sessions" && location.search.includes("scope=prompts")`)

	// Another branch, and all again.
	w.Show(w.host+"/session/01956691-0000-7a3c-b111-222233334444", wide, "#keys")
	folded := count("details.branch")
	if folded == 0 {
		t.Fatal("a session with branches has none")
	}
	b.Click("details.branch > summary")
	b.Click("details.branch .load a")
	b.Until("one branch", arrived+`location.search.includes("leaf=") && !document.querySelector("details.branch")`)
	b.Click(".tools .note a")
	b.Until("all branches", arrived+`document.querySelectorAll("details.branch").length == `+strconv.Itoa(folded))

	// Another tab has the cookie, and its own question.
	tab := b.Tab()
	tab.Run(chromedp.Navigate(w.host+"/?q=timeout"), chromedp.WaitReady("#keys"))
	if got := browser.Value[string](tab, `document.querySelector("#q").value`); got != "timeout" {
		t.Errorf("the other tab asks for %q", got)
	}
	if !strings.Contains(address(), "/session/") {
		t.Errorf("the first tab went to %s", address())
	}

	// Help, and keys that are written where one writes.
	w.Show(w.host+"/", wide, "#keys")
	b.Run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("?"))
	b.Until("the keys", `document.querySelector("#keys").open`)
	b.Run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"), chromedp.KeyEvent("j"), chromedp.KeyEvent("?"))
	// The driver types the / although the page takes the key.
	b.Until("what was typed", `/^\/?j\?$/.test(document.querySelector("#q").value) && !document.querySelector("#keys").open`)
	for _, c := range append(b.Complaints(), tab.Complaints()...) {
		t.Error(c)
	}
}

// The remarks of a hit stand below its text and leave it the whole width; text of programs has a
// fixed pitch. A title leads to the best hit. The bars of a histogram are narrow. There is no
// histogram for a few bars, nor above the list without a query, which has a line for each session.
func TestWebListOfHits(t *testing.T) {
	w := newWebTest(t, samples, odd)
	for _, query := range []string{"", "?q=token", "?q=quokka"} {
		w.Show(w.host+"/"+query, browser.Looks[0], "#keys")
		w.Until("the buttons", `[...document.querySelectorAll(".found > li")].every(e => e.querySelector("[data-copy]")?.checkVisibility())`)
		if list := browser.Value[[]string](w.Browser, `[...document.querySelectorAll(".found > li:has(.hits)")].filter(e =>
			e.querySelector("h3 a").href != e.querySelector(".hits a").href).map(e => e.innerText)`); len(list) > 0 {
			t.Errorf("%q: titles that do not lead to the first hit: %q", query, list)
		}
		if tall := browser.Value[float64](w.Browser, `Math.max(...[...document.querySelectorAll(".plain tbody tr")].map(e => e.getBoundingClientRect().height), 0)`); tall > 40 {
			t.Errorf("a session without hits is %v pixels high", tall)
		}
	}
	w.Show(w.host+"/?q=file", browser.Looks[0], "#keys")
	if most := browser.Value[float64](w.Browser, `Math.max(...[...document.querySelectorAll(".time svg .c0")].map(e => e.getBoundingClientRect().width))`); most > 24 || most < 4 {
		t.Errorf("a bar is %v pixels wide", most)
	}
	w.Show(w.host+"/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90", browser.Looks[0], "#keys")
	if tall := browser.Value[float64](w.Browser, `document.querySelector(".meta").getBoundingClientRect().height`); tall > 30 || browser.Value[bool](w.Browser, `document.querySelector(".known").checkVisibility()`) {
		t.Errorf("the facts of a session are %v pixels high, or not folded", tall)
	}
	for _, look := range []browser.Look{browser.Looks[0], browser.Looks[2]} {
		w.Show(w.host+"/?q=token+scope", look, "#keys")
		if list := browser.Value[[]string](w.Browser, `[...document.querySelectorAll(".hits a")].filter(a => {
			const text = a.querySelector(".text").getBoundingClientRect(), remarks = a.querySelector(".remarks")?.getBoundingClientRect();
			return a.querySelector(".fact").innerText.includes("missing") || remarks?.top < text.bottom - 1 }).map(a => a.innerText)`); len(list) > 0 {
			t.Errorf("%s: beside their remarks are %q", look, list)
		}
		w.Show(w.host+"/?q=token&scope=all", look, "#keys")
		if list := browser.Value[[]string](w.Browser, `[...document.querySelectorAll(".hits a")].filter(a =>
			/^(call|result)/.test(a.querySelector(".what").innerText) != /mono/.test(getComputedStyle(a.querySelector(".text")).fontFamily)).map(a => a.innerText)`); len(list) > 0 {
			t.Errorf("%s: in the wrong type are %q", look, list)
		}
		for _, query := range []string{"", "?q=wolverine"} {
			w.Show(w.host+"/"+query, look, "#keys")
			if n := browser.Value[int](w.Browser, `document.querySelectorAll(".time svg").length`); n > 0 {
				t.Errorf("%s: a histogram for %q", look, query)
			}
		}
	}
}

// Any number of pages can be open at a time, although a browser opens only six connections to
// a server. Each learns of new entries, also after the page that told the others is closed.
func TestWebManyTabs(t *testing.T) {
	w := newWebTest(t, samples)
	name := filepath.Join(w.root, "--home-dev-atlas--", "2026-03-02T09-15-00-000Z_0195562e-9a20-7c11-8f3a-5d2b6c7e8f90.jsonl")
	var tabs []*browser.Browser
	for range 8 {
		tab := w.Tab()
		tab.Run(chromedp.Navigate(w.host+"/?q=zanzibar"), chromedp.WaitReady("#keys"))
		tab.Until("no hit", `document.querySelector(".count")?.innerText == "Nothing found"`)
		tabs = append(tabs, tab)
	}
	w.Run(chromedp.Navigate("about:blank"))
	testkit.Append(t, name, `{"type":"message","id":"grown001","parentId":null,"timestamp":"2026-03-02T10:00:00.000Z","message":{"role":"user","content":"zanzibar"}}`+"\n")
	for _, tab := range tabs {
		tab.Until("the new hit", `document.querySelector(".count")?.innerText == "1 hit in 1 session"`)
	}
}

// A conversation that grows says by how much, and moves nothing until the user asks for it.
func TestWebGrowingConversation(t *testing.T) {
	w := newWebTest(t, samples)
	name := filepath.Join(w.root, "--home-dev-atlas--", "2026-03-02T09-15-00-000Z_0195562e-9a20-7c11-8f3a-5d2b6c7e8f90.jsonl")
	w.Show(w.host+"/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90", browser.Looks[0], "#keys")
	last := browser.Value[string](w.Browser, `[...document.querySelectorAll("article")].at(-1).id`)
	top := browser.Value[float64](w.Browser, `(scrollTo(0, 300), document.querySelector("article").getBoundingClientRect().top)`)
	parent := strings.TrimPrefix(last, transcript.Anchor(""))
	for i := range 2 {
		id := fmt.Sprintf("grown%03d", i)
		testkit.Append(t, name, fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-03-02T10:00:00.000Z","message":{"role":"user","content":"more"}}`+"\n", id, parent))
		parent = id
	}
	w.Until("the new entries", `document.querySelector(".grown").innerText == "2 new entries · show"`)
	if now := browser.Value[float64](w.Browser, `document.querySelector("article").getBoundingClientRect().top`); now != top {
		t.Errorf("the page moved from %v to %v", top, now)
	}
	w.Click(".grown a")
	w.Until("the first new entry", `document.readyState == "complete" && !!document.querySelector("article:target")?.innerText.includes("more") && document.querySelector(".grown").innerText == ""`)
	w.quietly()
}

// A session that is deleted while it is read says so, and leads to the others.
func TestWebDeletedSession(t *testing.T) {
	w := newWebTest(t, samples)
	name := filepath.Join(w.root, "--home-dev-atlas--", "2026-03-02T09-15-00-000Z_0195562e-9a20-7c11-8f3a-5d2b6c7e8f90.jsonl")
	w.Show(w.host+"/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90", browser.Looks[0], "article")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	w.Run(chromedp.Reload(), chromedp.WaitReady(".problem"))
	if !browser.Value[bool](w.Browser, `!!document.querySelector("main a[href='/sessions']")`) {
		t.Error("the page does not lead to the other sessions")
	}
}

// What sessions say does nothing: no script, no markup, no address.
func TestWebHostileSession(t *testing.T) {
	dir := t.TempDir()
	evil := `</title></script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg> [a](javascript:alert(4)) "' onclick=alert(5) \u202egnp.exe \u001b[31mred`
	quoted := strings.NewReplacer(`"`, `\"`, `\u`, `\u`).Replace(evil)
	var lines strings.Builder
	fmt.Fprintf(&lines, `{"type":"session","version":3,"id":"evil<b>&x/..","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p/<script>alert(6)</script>"}`+"\n")
	fmt.Fprintf(&lines, `{"type":"session_info","id":"n1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","name":"%s"}`+"\n", quoted)
	fmt.Fprintf(&lines, `{"type":"message","id":"e<1>\"","parentId":"n1","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"needle %s"}}`+"\n", quoted)
	fmt.Fprintf(&lines, `{"type":"message","id":"e2","parentId":"e<1>\"","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"assistant","provider":"p","model":"m<script>alert(7)</script>","content":[{"type":"toolCall","id":"c","name":"t<script>alert(8)</script>","arguments":{"command":"%s"}}]}}`+"\n", quoted)
	fmt.Fprintf(&lines, `{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"t<script>alert(8)</script>","content":[{"type":"text","text":"needle %s"}]}}`+"\n", strings.Repeat(quoted+`\n`, 100))
	fmt.Fprintf(&lines, `{"type":"label","id":"l1","parentId":"e3","timestamp":"2026-03-01T10:00:03.000Z","targetId":"e2","label":"%s"}`+"\n", quoted)
	if err := os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	w := newWebTest(t, dir)
	b := w.Browser
	const clean = `!document.querySelector("main script, main [onerror], main [onload], main [onclick], main img, main svg:not(.time svg), a[href^='javascript']")`
	for _, page := range []string{"/", "/?q=needle", "/?q=" + url.QueryEscape(evil), "/sessions", "/sessions?q=needle", "/status", "/<script>alert(9)</script>"} {
		w.Show(w.host+page, browser.Looks[0], "#keys")
		if !browser.Value[bool](b, clean) {
			t.Errorf("%s has markup of a session", page)
		}
	}
	w.Complaints() // of the page that is not there
	w.Show(w.host+"/?q=needle", browser.Looks[2], "#keys")
	if n := browser.Value[int](b, `document.querySelectorAll(".hits a").length`); n != 2 {
		t.Fatalf("%d hits", n)
	}
	b.Click(".hits li:last-child a")
	b.Run(chromedp.WaitReady("article"), chromedp.WaitReady(".call.hit pre"))
	if !browser.Value[bool](b, clean) || !browser.Value[bool](b, `document.body.innerText.includes("⟨U+202E⟩")`) {
		t.Error("the conversation has markup of the session, or hides what it says")
	}
	if title := browser.Value[string](b, `document.title`); !strings.Contains(title, "<script>") {
		t.Errorf("the title is %q", title)
	}
	w.quietly()
}
