package html

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"pigrep/lab/browser"
	"pigrep/lab/testkit"
)

// openBrowser opens a browser for pages that are files.
func openBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	return browser.Open(t, func(address string) bool { return strings.HasPrefix(address, "file://"+os.TempDir()) })
}

// open shows a page in a window of this width, in the light or the dark scheme.
func open(t *testing.T, b *browser.Browser, html string, width int64, scheme string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Show("file://"+path, browser.Look{Width: width, Scheme: scheme}, "footer")
}

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
		for i := 0; i < len(browser.Looks); i += testkit.HowMany(3, 1, 1) { // the short run: wide and light, narrow and dark
			look := browser.Looks[i]
			open(t, b, html, look.Width, look.Scheme)
			at := fmt.Sprintf("%s at %s", name, look)
			dark := browser.Value[string](b, `getComputedStyle(document.body).backgroundColor`) != "rgb(255, 255, 255)"
			if dark != (look.Scheme == "dark") {
				t.Errorf("%s: the background is dark: %v", at, dark)
			}
			for _, state := range []string{"folded", "expanded"} {
				if state == "expanded" {
					b.Click("#expand")
				}
				b.Check(at + ", " + state)
			}
		}
	}
	for _, c := range b.Complaints() {
		t.Error(c)
	}
}

// Links of the index lead to their entries, and open the branch that these are in.
// Without a script, all details can be opened at once, and print that way.
func TestBrowserNavigation(t *testing.T) {
	testkit.Slow(t)
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
		open(t, b, html, width, "light")
		if shown := browser.Value[bool](b, `document.querySelector("nav ol").checkVisibility()`); shown != (width > 1000) {
			t.Errorf("at %d pixels the index is shown: %v", width, shown)
		}
		for _, id := range []string{"m40", "x", "rm10"} {
			if id == "x" && browser.Value[bool](b, fmt.Sprintf(visible, id)) {
				t.Errorf("at %d pixels an abandoned branch is open", width)
			}
			browser.Value[string](b, `location.hash = "#e-`+id+`"`)
			b.Until(fmt.Sprintf("at %d pixels the place that the link to %s leads to", width, id), fmt.Sprintf(visible, id)+` && (top => top >= -1 && top <= 850)(document.querySelector("#e-`+id+`").getBoundingClientRect().top)`)
		}
	}
	const output = `[...document.querySelectorAll(".call pre")].filter(e => e.checkVisibility()).length`
	open(t, b, html, 1280, "light")
	if n := browser.Value[int](b, output); n != 0 {
		t.Errorf("%d outputs of 30 lines are open", n)
	}
	b.Click(".call summary")
	if n := browser.Value[int](b, output); n != 1 {
		t.Errorf("after a click %d outputs are open", n)
	}
	b.Click("#expand")
	if n := browser.Value[int](b, output); n != 60 {
		t.Errorf("expanded, %d outputs are open", n)
	}
	b.Click("#expand")
	b.Click("#talk")
	if n := browser.Value[int](b, `[...document.querySelectorAll(".call, article.prompt")].filter(e => e.checkVisibility()).length`); n != 61 {
		t.Errorf("%d prompts and calls are shown as prompts and replies", n)
	}
	b.Click("#talk")
	browser.Command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := browser.Value[int](b, output); n != 60 {
		t.Errorf("%d outputs are printed", n)
	}
	if browser.Value[bool](b, `document.querySelector("nav").checkVisibility()`) {
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
