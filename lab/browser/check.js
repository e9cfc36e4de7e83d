// What Check and Walk ask of the page that is shown: each function is called by its name.

// tooWide lists elements that stick out of the window, other than in what scrolls or is
// cut by itself.
function tooWide() {
	const contained = e => { for (e = e.parentElement; e && e != document.body; e = e.parentElement) if (getComputedStyle(e).overflowX != "visible") return true }
	return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !contained(e)).map(e => e.tagName + "." + e.className).slice(0, 5)
		.concat(document.documentElement.scrollWidth > innerWidth ? ["the page"] : [])
}

// scrolled lists what has to be scrolled sideways in a narrow window, and texts of a chart that touch.
function scrolled() {
	const seen = [...document.querySelectorAll("main *")].filter(e => e.checkVisibility() && !e.closest(".prose, .numbers"))
	const found = innerWidth > 600 ? [] : seen.filter(e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + "." + e.className)
	for (const chart of document.querySelectorAll(".chart svg")) {
		const boxes = [...chart.querySelectorAll("text")].filter(e => e.checkVisibility()).map(e => [e.textContent, e.getBoundingClientRect()]).filter(([text, box]) => box.width)
		for (const [i, [text, a]] of boxes.entries()) for (const [other, b] of boxes.slice(i + 1))
			if (a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom - 3 && b.top < a.bottom - 3) found.push(text + " touches " + other)
		const legend = chart.parentElement.querySelector(".legend")
		if (legend && legend.getBoundingClientRect().height > 24) found.push("a legend of several lines")
	}
	return found.slice(0, 5)
}

// lowContrast lists texts, also in charts and in empty fields, whose contrast is below 4.5, and
// shapes of charts and borders of fields below 3, which WCAG asks for at level AA.
function lowContrast() {
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
}

// structure lists what is missing for those who move by headings, landmarks and tables, or
// with the keyboard.
function structure() {
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
	for (const e of all("svg[role=img] :is(a, button)")) found.push("a link in a picture")
	if (all("header").filter(e => !e.closest("article, aside, main, nav, section")).length > 1) found.push("several banners")
	return [...new Set(found)].slice(0, 8)
}

// focused says what has the focus, and whether that is to be seen.
function focused() {
	const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect()
	if (e == document.body) return "none"
	const seen = style.outlineStyle != "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 4 && box.left >= -1 && box.bottom > 0 && box.top < innerHeight
	return (seen ? "seen: " : "unseen: ") + e.tagName + "." + e.className + " " + (e.innerText || e.name || "").slice(0, 40)
}
