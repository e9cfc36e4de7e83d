// Package browser opens pages in Chromium for tests, and remembers what they did that they
// must not: requests, messages on the console, dialogs.
package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pigrep/lab/testkit"
)

// Browser is a headless Chromium.
type Browser struct {
	context.Context
	t       *testing.T
	allowed func(address string) bool

	mu         sync.Mutex
	complaints []string
}

// Open starts a browser for the time of the test, which may request what is allowed. Where
// there is no Chromium, the test is skipped, or fails if there should be one.
func Open(t *testing.T, allowed func(address string) bool) *Browser {
	t.Helper()
	program := testkit.Program(t, "chromium")
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(program), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	// Chromium starts with a context that has no deadline: a browser lives as long as
	// the context of its first action.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("%s cannot start: %v", program, err)
	}
	ctx, cancel = context.WithTimeout(ctx, 120*time.Second)
	t.Cleanup(cancel)
	b := &Browser{Context: ctx, t: t, allowed: allowed}
	b.listen()
	return b
}

// Tab opens another tab, with the cookies of the first.
func (b *Browser) Tab() *Browser {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.Context)
	b.t.Cleanup(cancel)
	tab := &Browser{Context: ctx, t: b.t, allowed: b.allowed}
	tab.Run(chromedp.Navigate("about:blank"))
	tab.listen()
	return tab
}

func (b *Browser) listen() {
	b.t.Helper()
	err := chromedp.Listen(b.Context, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; !b.allowed(url) && !strings.HasPrefix(url, "data:") {
				b.complain("request of " + url)
			}
		case *log.EventEntryAdded:
			b.complain(string(e.Entry.Level) + ": " + e.Entry.Text + " " + e.Entry.URL)
		case *runtime.EventConsoleAPICalled:
			b.complain("console " + string(e.Type))
		case *runtime.EventExceptionThrown:
			b.complain("exception " + e.ExceptionDetails.Text)
		case *page.EventJavascriptDialogOpening:
			b.complain("dialog " + e.Message)
		}
	})
	testkit.Check(b.t, err)
	Command(b, network.Enable, network.EnableParams{})
	Command(b, log.Enable, cdp.Empty{})
	Command(b, runtime.Enable, cdp.Empty{})
	Command(b, page.Enable, page.EnableParams{})
}

// Complaints returns what pages did since the last call: requests that are not allowed,
// messages of the console, which include violations of the policy, and dialogs.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.complaints
	b.complaints = nil
	return list
}

// Command sends a command of the protocol of Chromium, and returns its result.
func Command[P, R any](b *Browser, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	res, err := chromedp.Call(b, c, params)
	testkit.Check(b.t, err)
	return res
}

func (b *Browser) complain(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, s)
}

// Until waits until a condition in JavaScript is true. It asks again and again, because a page
// does not say when a script has changed it, and a page that is being left does not answer.
func (b *Browser) Until(what, condition string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !Value[bool](b, condition); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s: not at %s: %s", what, Value[string](b, `location.href`), Value[string](b, `document.querySelector("main")?.innerText ?? ""`))
		}
	}
}

// isLeaving reports whether an error is that of a page that the browser is leaving.
func isLeaving(err error) bool {
	e, ok := errors.AsType[*cdproto.Error](err)
	return ok && e.Code == -32000
}

// Run runs actions, which must succeed.
func (b *Browser) Run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	testkit.Check(b.t, chromedp.Do(b, actions...))
}

// Look is how a window looks.
type Look struct {
	Width  int64
	Scheme string // light or dark
}

// Looks are those that every page is made for.
var Looks = []Look{{1280, "light"}, {1280, "dark"}, {390, "light"}, {390, "dark"}, {800, "light"}}

func (l Look) String() string { return fmt.Sprintf("%d pixels, %s", l.Width, l.Scheme) }

// Show shows an address in a window of this look, and waits for an element.
func (b *Browser) Show(address string, l Look, wait string) {
	b.t.Helper()
	var phone []chromedp.EmulateViewportOption
	if l.Width < 600 {
		phone = append(phone, chromedp.EmulateMobile)
	}
	Command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.Scheme}}})
	b.Run(chromedp.EmulateViewport(l.Width, 900, phone...), chromedp.Navigate(address), chromedp.WaitReady(wait))
}

// Value evaluates a JavaScript expression in the page and returns its value. If the page is
// being left, it tries again, on the next page.
func Value[T any](b *Browser, expression string) T {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
		switch {
		case err == nil:
			return v
		case !isLeaving(err) || time.Now().After(end):
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// Click clicks the middle of an element.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	at := Value[[2]float64](b, `(e => { e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })(document.querySelector("`+selector+`"))`)
	b.Run(chromedp.MouseClickXY(at[0], at[1]))
}

// Check reports what is wrong with the page that is shown, whatever it is about: what sticks
// out of the window, what cannot be read or seen, and what has no name for those who hear it.
func (b *Browser) Check(at string) {
	b.t.Helper()
	for fault, check := range map[string]string{"too wide": "tooWide", "low contrast": "lowContrast", "structure": "structure", "sideways or touching": "scrolled"} {
		if found := ask[[]string](b, check); len(found) > 0 {
			b.t.Errorf("%s: %s: %v", at, fault, found)
		}
	}
	if Value[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`) {
		return // the same words in other colours
	}
	if found := b.unnamed(); len(found) > 0 {
		b.t.Errorf("%s: without a name: %v", at, found)
	}
}

//go:embed check.js
var questions string

// ask calls a function of check.js in the page.
func ask[T any](b *Browser, function string) T {
	b.t.Helper()
	return Value[T](b, "(() => {"+questions+"\nreturn "+function+"() })()")
}

// named are the roles of what has to have a name.
var named = []string{"button", "checkbox", "combobox", "dialog", "DisclosureTriangle", "heading", "image", "img", "link", "navigation", "RootWebArea", "search", "searchbox", "textbox"}

// unnamed lists what has no name in the accessibility tree.
func (b *Browser) unnamed() (list []string) {
	b.t.Helper()
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s) // what is no string has no name
		}
		return s
	}
	for _, n := range Command(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if role := text(n.Role); !n.Ignored && slices.Contains(named, role) && text(n.Name) == "" {
			list = append(list, fmt.Sprintf("%s (node %d)", role, n.BackendDOMNodeID))
		}
	}
	return list
}

// mostStops is how many elements Walk visits.
const mostStops = 60

// Walk presses Tab on a page that was just loaded, as those do who have no mouse. It reports
// what takes the focus without being seen to, and a page that does not begin with its link to
// the content.
func (b *Browser) Walk(at string) {
	b.t.Helper()
	fromTop := !Value[bool](b, `!!document.querySelector("[autofocus]")`)
	first := ""
	for range mostStops {
		b.Run(chromedp.KeyEvent(kb.Tab))
		stop := ask[string](b, "focused")
		if first == "" {
			if first = stop; fromTop && !strings.HasPrefix(stop, "seen: A.skip") {
				b.t.Errorf("%s: Tab leads first to %s", at, stop)
			}
		} else if stop == first || strings.HasPrefix(stop, "none") {
			return
		}
		if strings.HasPrefix(stop, "unseen") {
			b.t.Errorf("%s: %s", at, stop)
		}
	}
}
