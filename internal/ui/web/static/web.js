// Search as you type, and keyboard shortcuts. Everything else works without JavaScript.
"use strict";

const form = document.getElementById("search");
const input = document.getElementById("q");
const keys = document.getElementById("keys");

// ask shows the answer to the query in the form, and aborts the request of the query before.
let asking;
async function ask(push) {
	const values = new URLSearchParams();
	for (const [name, value] of new FormData(form)) {
		const field = form.elements[name];
		const usual = name === "scope" ? "conversations" : name === "sort" ? "relevance" : "";
		if (value !== usual) values.set(name, value);
	}
	const address = "/" + (values.size ? "?" + values : "");
	asking?.abort();
	asking = new AbortController();
	try {
		if (await replace(address, asking.signal)) {
			if (push) history.pushState(null, "", address);
			else history.replaceState(null, "", address);
		}
	} catch (e) {
		if (e.name !== "AbortError") form.submit(); // load the whole page: it shows the error
	}
}

// replace replaces each part of the page by the same part of another URL.
async function replace(address, signal) {
	for (const name of ["answer", "list", "facets"]) { // most important first
		const part = document.querySelector(`[data-part=${name}]`);
		if (!part) continue;
		const values = new URL(address, location.href);
		values.searchParams.set("part", name);
		const answer = await fetch(values, { signal });
		if (!answer.ok) throw new Error(answer.statusText);
		const text = await answer.text();
		if (signal.aborted) return false;
		const open = [...part.querySelectorAll("details")].map((e) => e.open);
		const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
		part.innerHTML = text;
		if (focused) [...part.querySelectorAll("a")].find((e) => e.getAttribute("href") === focused)?.focus({ preventScroll: true });
		part.querySelectorAll("details").forEach((e, i) => { e.open = open[i] ?? e.open; });
	}
	return true;
}

if (form) {
	let typed = false; // the history already has an entry for what is being typed
	input.addEventListener("input", () => { ask(!typed); typed = true; });
	input.addEventListener("change", () => { typed = false; });
	form.addEventListener("change", (e) => { if (e.target !== input) ask(true); });
	form.addEventListener("submit", (e) => { e.preventDefault(); ask(false); });
	addEventListener("popstate", () => location.reload());
	if (input.value) input.setSelectionRange(input.value.length, input.value.length);
}

// items are the links that j and k move through, if no link on the page claims these keys.
const items = () => [...document.querySelectorAll("[data-item], article.prompt .links a:last-child")].filter((e) => e.checkVisibility());

function go(step) {
	const list = items();
	if (!list.length) return;
	const at = list.indexOf(document.activeElement);
	const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, at + step))];
	next.focus();
	next.scrollIntoView({ block: "nearest" });
}

addEventListener("keydown", (e) => {
	if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || keys.open) return;
	const writing = e.target.matches("input:not([type=checkbox]), select, textarea");
	if (writing) {
		if (e.key === "Escape") e.target.blur();
		else if (e.target === input && (e.key === "ArrowDown" || e.key === "Enter")) {
			e.preventDefault();
			if (e.key === "Enter") items()[0]?.click();
			else go(1);
		}
		return;
	}
	const link = document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
	const does = link ? () => link.click() : { "/": () => { if (input) { input.focus(); input.select(); } else location.href = "/"; }, j: () => go(1), k: () => go(-1), "?": () => keys.showModal() }[e.key];
	if (does) {
		e.preventDefault();
		does();
	}
});

// Long outputs are loaded when the user opens them.
async function load(link) {
	const address = new URL(link.href);
	address.searchParams.set("part", "output");
	link.removeAttribute("data-load");
	const answer = await fetch(address);
	if (!answer.ok) return; // keep the link
	link.parentElement.outerHTML = await answer.text();
	mark();
}
const waiting = (details) => details.querySelectorAll(":scope > .load > [data-load]").forEach(load);
document.addEventListener("toggle", (e) => { if (e.target.open) waiting(e.target); }, true);
document.querySelectorAll("details[open]").forEach(waiting);

// mark highlights the words of the query in the hits, without changing the DOM.
function mark() {
	const list = document.querySelector("[data-marks]");
	if (!list || !window.Highlight) return;
	const found = new Highlight();
	for (const hit of document.querySelectorAll("article.hit, .call.hit")) {
		const walk = document.createTreeWalker(hit, NodeFilter.SHOW_TEXT);
		for (let node; (node = walk.nextNode());) {
			const text = node.data.toLowerCase();
			if (text.length !== node.data.length) continue; // the positions would differ
			for (const word of JSON.parse(list.dataset.marks)) {
				for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
					const range = new Range();
					range.setStart(node, at);
					range.setEnd(node, at + word.length);
					found.add(range);
				}
			}
		}
	}
	CSS.highlights.set("hits", found);
}
mark();

for (const button of document.querySelectorAll("[data-copy]")) {
	button.hidden = false;
	button.addEventListener("click", async () => {
		await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
		button.textContent = "Copied";
	});
}

// The event stream keeps the server running while the page is open, and reports changes of
// the index.
let known;
const events = new EventSource("/events");
events.onmessage = (e) => {
	if (known !== undefined && known !== e.data && form) ask(false);
	known = e.data;
};
