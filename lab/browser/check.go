package browser

import (
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
	for _, check := range []struct{ fault, script string }{{"too wide", tooWide}, {"low contrast", lowContrast}, {"structure", structure}} {
		if found := Value[[]string](b, check.script); len(found) > 0 {
			b.t.Errorf("%s: %s: %v", at, check.fault, found)
		}
	}
	if Value[bool](b, `matchMedia("(prefers-color-scheme: dark)").matches`) {
		return // the same words in other colours
	}
	if found := b.unnamed(); len(found) > 0 {
		b.t.Errorf("%s: without a name: %v", at, found)
	}
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

// tooWide lists elements that stick out of the window, other than in what scrolls or is
// cut by itself.
const tooWide = `(() => {
	const contained = e => { for (e = e.parentElement; e && e != document.body; e = e.parentElement) if (getComputedStyle(e).overflowX != "visible") return true }
	return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !contained(e)).map(e => e.tagName + "." + e.className).slice(0, 5)
		.concat(document.documentElement.scrollWidth > innerWidth ? ["the page"] : [])
})()`

// lowContrast lists texts, also in charts and in empty fields, whose contrast is below 4.5, and
// shapes of charts and borders of fields below 3, which WCAG asks for at level AA.
const lowContrast = `(() => {
	const luminance = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b }
	const parse = s => s.match(/[\d.]+/g).map(Number)
	const over = ([r, g, b, alpha = 1], under) => [r, g, b].map((v, i) => alpha * v + (1 - alpha) * under[i])
	const behind = e => e ? over(parse(getComputedStyle(e).backgroundColor), e == document.documentElement ? [255, 255, 255] : behind(e.parentElement)) : [255, 255, 255]
	const opacity = e => e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1
	const found = new Set()
	const check = (e, what, colour, back, least) => {
		const [r, g, b, alpha = 1] = parse(colour)
		const [light, dim] = [luminance(over([r, g, b, alpha * opacity(e)], back)), luminance(back)].sort((x, y) => y - x)
		const ratio = (light + .05) / (dim + .05)
		if (ratio < least) found.add(what + " of " + e.tagName + "." + e.getAttribute("class") + " in " + e.parentElement.className + ": " + ratio.toFixed(2))
	}
	for (const e of document.querySelectorAll("body *")) {
		if (!e.checkVisibility()) continue
		const style = getComputedStyle(e)
		if ([...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) check(e, "text", e instanceof SVGElement ? style.fill : style.color, behind(e), 4.5)
		if (e.placeholder && !e.value) check(e, "placeholder", getComputedStyle(e, "::placeholder").color, behind(e), 4.5)
		if (e.matches("input:not([type=checkbox]), select")) check(e, "border", style.borderTopColor, behind(e.parentElement), 3)
		if (e.matches(".chart rect:not(.l0, .room)")) check(e, "shape", style.fill, behind(e.closest("figure")), 3)
	}
	return [...found]
})()`

// structure lists what is missing for those who move by headings, landmarks and tables, or
// with the keyboard.
const structure = `(() => {
	const found = [], all = selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility())
	const count = (n, selector) => { if (all(selector).length != n) found.push(all(selector).length + " " + selector) }
	count(1, "h1"); count(1, "main")
	if (!document.querySelector("body a.skip")?.matches("a:first-of-type") || !document.querySelector(document.querySelector("a.skip").hash)) found.push("no link to skip to the content")
	let level = 0
	for (const h of all("h1, h2, h3, h4, h5, h6")) {
		const next = +h.tagName[1]
		if (next > level + 1 && !h.closest(".prose")) found.push("h" + level + ", then " + h.tagName + " " + h.innerText)
		if (!h.closest(".prose")) level = next
	}
	for (const table of all("table")) {
		if (table.closest(".prose")) continue
		if (!table.caption) found.push("a table without a caption")
		for (const th of table.querySelectorAll("th")) if (!th.scope) found.push("a th without a scope: " + th.innerText)
		if (!table.querySelector("th")) found.push("a table without heads")
	}
	for (const e of all("svg[role=img] a")) if (e.tabIndex >= 0) found.push("a link in a picture")
	return [...new Set(found)].slice(0, 8)
})()`

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
		stop := Value[string](b, focused)
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

// focused says what has the focus, and whether that is to be seen.
const focused = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect()
	if (e == document.body) return "none"
	const seen = style.outlineStyle != "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 4 && box.left >= -1 && box.bottom > 0 && box.top < innerHeight
	return (seen ? "seen: " : "unseen: ") + e.tagName + "." + e.className + " " + (e.innerText || e.name || "").slice(0, 40)
})()`
