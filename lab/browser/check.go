package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Check reports what is wrong with the page that is shown, whatever it is about: what sticks
// out of the window, what cannot be read or seen, and what has no name for those who hear it.
func (b *Browser) Check(at string) {
	b.t.Helper()
	for fault, check := range map[string]string{"too wide": "tooWide", "low contrast": "lowContrast", "structure": "structure"} {
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
