package html

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"pigrep/internal/lab/testkit"
)

// browser is a headless Chromium that remembers what pages did.
type browser struct {
	context.Context
	t  *testing.T
	mu sync.Mutex
	// requests other than for the page itself, messages of the console, which include
	// violations of the policy, and dialogs
	complaints []string
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := testkit.Program(t, "chromium")
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(program), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	// Chromium starts with a context that has no deadline: a browser lives as long as
	// the context of its first action.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, 120*time.Second)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, t: t}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; !strings.HasPrefix(url, "file://"+os.TempDir()) && !strings.HasPrefix(url, "data:") {
				b.complain("request of " + url)
			}
		case *log.EventEntryAdded:
			b.complain(string(e.Entry.Level) + ": " + e.Entry.Text)
		case *runtime.EventConsoleAPICalled:
			b.complain("console " + string(e.Type))
		case *runtime.EventExceptionThrown:
			b.complain("exception " + e.ExceptionDetails.Text)
		case *page.EventJavascriptDialogOpening:
			b.complain("dialog " + e.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, log.Enable, cdp.Empty{})
	command(b, runtime.Enable, cdp.Empty{})
	command(b, page.Enable, page.EnableParams{})
	return b
}

func command[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b, c, params); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) complain(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, s)
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open shows a page in a window of this width, in the light or the dark scheme, and
// checks that nothing complained.
func (b *browser) open(html string, width int64, scheme string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		b.t.Fatal(err)
	}
	var phone []chromedp.EmulateViewportOption
	if width < 600 {
		phone = append(phone, chromedp.EmulateMobile)
	}
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.run(chromedp.EmulateViewport(width, 900, phone...), chromedp.Navigate("file://"+path), chromedp.WaitReady("footer"))
}

// value is what a JavaScript expression says about the page.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// click clicks the middle of an element.
func (b *browser) click(selector string) {
	b.t.Helper()
	at := value[[2]float64](b, `(e => { e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })(document.querySelector("`+selector+`"))`)
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

// tooWide lists elements that stick out of the window, other than in what scrolls or is
// cut by itself.
const tooWide = `(() => {
	const contained = e => { for (e = e.parentElement; e && e != document.body; e = e.parentElement) if (getComputedStyle(e).overflowX != "visible") return true }
	return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !contained(e)).map(e => e.tagName + "." + e.className).slice(0, 5)
		.concat(document.documentElement.scrollWidth > innerWidth ? ["the page"] : [])
})()`

// lowContrast lists texts whose contrast is below 4.5, which WCAG asks for at level AA.
const lowContrast = `(() => {
	const luminance = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b }
	const parse = s => s.match(/[\d.]+/g).map(Number)
	const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c } return [255, 255, 255] }
	const found = new Set()
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue
		const [a, b] = [luminance(parse(getComputedStyle(e).color).slice(0, 3)), luminance(behind(e).slice(0, 3))].sort((x, y) => y - x)
		const ratio = (a + .05) / (b + .05)
		if (ratio < 4.5) found.add(e.tagName + "." + e.className + " in " + e.parentElement.className + ": " + ratio.toFixed(2))
	}
	return [...found]
})()`

// A page looks as it should in every window and scheme, and asks nothing of anyone.
func TestBrowser(t *testing.T) {
	b := openBrowser(t)
	long := strings.Repeat("x", 3000)
	wide := header + prompt("p", "", long+"\n\n|"+strings.Repeat(" a column of some width |", 30)+"\n|"+strings.Repeat("---|", 30)+"\n\n```go\nfunc "+long+"() {}\n```\n\nhttps://example.com/"+long) +
		call("a", "p", "c1", "bash", `{"command":`+quote("echo "+long)+`,"`+long+`":"x"}`) + result("r", "a", "c1", "bash", long+"\n"+long, "") +
		call("d", "r", "c2", "edit", `{"path":"/`+long+`","oldText":"a `+long+`","newText":"b `+long+`"}`)
	pages := map[string]string{
		"everything": render(t, pageOf(t, "/s.jsonl", everything(t))),
		"hostile":    render(t, pageOf(t, "/"+evil, evilSession())),
		"wide":       render(t, pageOf(t, "/s.jsonl", wide)),
	}
	for name, html := range pages {
		for _, width := range []int64{1280, 390} {
			for _, scheme := range []string{"light", "dark"} {
				b.open(html, width, scheme)
				at := fmt.Sprintf("%s at %d pixels, %s", name, width, scheme)
				dark := value[string](b, `getComputedStyle(document.body).backgroundColor`) != "rgb(255, 255, 255)"
				if dark != (scheme == "dark") {
					t.Errorf("%s: the background is dark: %v", at, dark)
				}
				for _, state := range []string{"folded", "expanded"} {
					if state == "expanded" {
						b.click("#expand")
					}
					if found := value[[]string](b, tooWide); len(found) > 0 {
						t.Errorf("%s, %s: too wide: %v", at, state, found)
					}
					if found := value[[]string](b, lowContrast); len(found) > 0 {
						t.Errorf("%s, %s: low contrast: %v", at, state, found)
					}
				}
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Error(c)
	}
}

// Links of the index lead to their entries, and open the branch that these are in.
// Without a script, all details can be opened at once, and print that way.
func TestBrowserNavigation(t *testing.T) {
	b := openBrowser(t)
	data := header + prompt("p", "", "start") + prompt("x", "p", "first idea")
	last := "p"
	for i := range 60 {
		id := fmt.Sprintf("m%d", i)
		data += prompt(id, last, strings.Repeat("the way on\n", 20)) + call("a"+id, id, "c"+id, "bash", `{"command":"make"}`) +
			result("r"+id, "a"+id, "c"+id, "bash", strings.Repeat("output\n", 30), "")
		last = "r" + id
	}
	html := render(t, pageOf(t, "/s.jsonl", data))
	const visible = `document.querySelector("#e-%s").checkVisibility({contentVisibilityAuto: true})`
	for _, width := range []int64{1280, 390} {
		b.open(html, width, "light")
		if shown := value[bool](b, `document.querySelector("nav ol").checkVisibility()`); shown != (width > 1000) {
			t.Errorf("at %d pixels the index is shown: %v", width, shown)
		}
		for _, id := range []string{"m40", "x", "rm10"} {
			if id == "x" && value[bool](b, fmt.Sprintf(visible, id)) {
				t.Errorf("at %d pixels an abandoned branch is open", width)
			}
			value[string](b, `location.hash = "#e-`+id+`"`)
			b.run(chromedp.Sleep(50 * time.Millisecond))
			top := value[float64](b, `document.querySelector("#e-`+id+`").getBoundingClientRect().top`)
			if !value[bool](b, fmt.Sprintf(visible, id)) || top < -1 || top > 850 {
				t.Errorf("at %d pixels the link to %s leads to %.0f", width, id, top)
			}
		}
	}
	const output = `[...document.querySelectorAll(".call pre")].filter(e => e.checkVisibility()).length`
	b.open(html, 1280, "light")
	if n := value[int](b, output); n != 0 {
		t.Errorf("%d outputs of 30 lines are open", n)
	}
	b.click(".call summary")
	if n := value[int](b, output); n != 1 {
		t.Errorf("after a click %d outputs are open", n)
	}
	b.click("#expand")
	if n := value[int](b, output); n != 60 {
		t.Errorf("expanded, %d outputs are open", n)
	}
	b.click("#expand")
	b.click("#talk")
	if n := value[int](b, `[...document.querySelectorAll(".call, article.prompt")].filter(e => e.checkVisibility()).length`); n != 61 {
		t.Errorf("%d prompts and calls are shown as prompts and replies", n)
	}
	b.click("#talk")
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := value[int](b, output); n != 60 {
		t.Errorf("%d outputs are printed", n)
	}
	if value[bool](b, `document.querySelector("nav").checkVisibility()`) {
		t.Error("the index is printed")
	}
}

// A browser without support for opening all details still shows the page, and one that
// has no style sheet at all does too: the order of the text is that of reading.
func TestOrderOfReading(t *testing.T) {
	out := render(t, pageOf(t, "/s.jsonl", everything(t)))
	at := -1
	for _, part := range []string{`class="skip"`, "<h1>", "<nav ", "<main ", "<h2>", "<h3>", "<footer>"} {
		next := strings.Index(out[max(at, 0):], part)
		if next < 0 {
			t.Fatalf("%s is missing or too early", part)
		}
		at = max(at, 0) + next
	}
}
