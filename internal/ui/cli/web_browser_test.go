package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pigrep/indexer"
	"pigrep/internal/lab/browser"
	"pigrep/internal/ui/cli/location"
	"pigrep/internal/ui/cli/update"
	"pigrep/internal/ui/html"
	"pigrep/internal/ui/web"
)

// webTest is a server for a copy of the samples, and a browser that has its cookie.
type webTest struct {
	*browser.Browser
	t    *testing.T
	host string // with the scheme
	home string
	root string // of the session files
}

// shownNow is the clock of the pages.
func shownNow() time.Time { return time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC) }

func newWebTest(t *testing.T, sessions string) *webTest {
	t.Helper()
	home := filepath.Join(t.TempDir(), "dev")
	root := filepath.Join(home, ".pi", "agent", "sessions")
	if err := os.CopyFS(root, os.DirFS(sessions)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "atlas"), 0o755); err != nil { // where most of the samples began
		t.Fatal(err)
	}
	rewrite(t, root, "/home/dev", home)
	long := time.Date(2026, 9, 16, 12, 0, 0, 0, time.UTC)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, long, long))
	})
	if err != nil {
		t.Fatal(err)
	}
	a, _, errs := testApp(t)
	a.Home, a.WorkDir = home, home
	a.LookPath = func(program string) (string, error) { return "/usr/bin/" + program, nil }
	a.Now = time.Now // the index compares it with the times of files
	o := &webOptions{}
	o.IndexDir = filepath.Join(home, "index")
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		t.Fatal(err)
	}
	res, err := indexer.Update(t.Context(), update.Options(a, p))
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	b := newWebBackend(t.Context(), a, o, p)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &webTest{t: t, home: home, host: "http://" + listener.Addr().String(), root: root}
	options := b.options(o)
	options.Now = shownNow
	server := web.New(listener.Addr().String(), options)
	w.Browser = browser.Open(t, func(address string) bool { return strings.HasPrefix(address, w.host+"/") })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.index.Close()
		if errs.Len() > 0 {
			t.Errorf("stderr: %s", errs)
		}
	})
	w.Run(chromedp.Navigate(server.Address("/status")), chromedp.WaitReady("dl.status"))
	return w
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
	w := newWebTest(t, samples)
	for _, p := range []struct{ name, address string }{
		{"search", "/?q=token"},
		{"start", "/"},
		{"nothing", "/?q=nosuchwordanywhere"},
		{"hostile", "/?q=script+project:hostile&scope=all"},
		{"conversation", "/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90?q=token"},
		{"branches", "/session/01956691-0000-7a3c-b111-222233334444"},
		{"sessions", "/sessions"},
		{"audit", "/audit"},
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
	b.Until("the list of sessions", `document.querySelectorAll(".found > li").length > 5`)
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

	// A bar of the histogram adds a filter; the link in its caption removes it.
	value := browser.Value[string](b, `document.querySelector(".time svg a").getAttribute("href")`)
	if !strings.Contains(value, "after%3A2026-03-02") {
		t.Errorf("the first bar leads to %s", value)
	}
	b.Click(".time svg a .room")
	b.Until("the hits of a day", arrived+`document.querySelector(".count")?.innerText == "3 hits in 2 sessions"`)
	b.Click(".time .more a")
	b.Until("all hits again", arrived+`document.querySelector(".count")?.innerText == "6 hits in 3 sessions"`)
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
	appendTo(t, name, `{"type":"message","id":"grown001","parentId":null,"timestamp":"2026-03-02T10:00:00.000Z","message":{"role":"user","content":"zanzibar"}}`)
	for _, tab := range tabs {
		tab.Until("the new hit", `document.querySelector(".count")?.innerText == "1 hit in 1 session"`)
	}
}

func appendTo(t *testing.T, name, line string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A conversation that grows says by how much, and moves nothing until the user asks for it.
func TestWebGrowingConversation(t *testing.T) {
	w := newWebTest(t, samples)
	name := filepath.Join(w.root, "--home-dev-atlas--", "2026-03-02T09-15-00-000Z_0195562e-9a20-7c11-8f3a-5d2b6c7e8f90.jsonl")
	w.Show(w.host+"/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90", browser.Looks[0], "#keys")
	last := browser.Value[string](w.Browser, `[...document.querySelectorAll("article")].at(-1).id`)
	top := browser.Value[float64](w.Browser, `(scrollTo(0, 300), document.querySelector("article").getBoundingClientRect().top)`)
	parent := strings.TrimPrefix(last, html.Anchor(""))
	for i := range 2 {
		id := fmt.Sprintf("grown%03d", i)
		appendTo(t, name, fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-03-02T10:00:00.000Z","message":{"role":"user","content":"more"}}`, id, parent))
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
