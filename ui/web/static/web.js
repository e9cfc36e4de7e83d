// Search as you type, and keyboard shortcuts. Everything else works without JavaScript.
"use strict";

const form = document.getElementById("search");
const input = document.getElementById("q");
const said = document.getElementById("said");
const keys = document.getElementById("keys");

// ask shows the answer to the query in the form, and aborts the request of the query before.
// The facets follow when the typing pauses.
const usual = { scope: "conversations", sort: "relevance", project: "", since: "" }; // left out of addresses
const parts = ["answer", "list", "facets"].filter((name) => document.querySelector(`[data-part=${name}]`));
let asking;
let pushing = false; // the next answer has an entry of its own in the history
async function ask(push) {
	const values = new URLSearchParams();
	for (const [name, value] of new FormData(form)) {
		if (value !== usual[name]) values.set(name, value);
	}
	const address = form.getAttribute("action") + "?" + values;
	if (input.value) document.querySelector(".start")?.remove();
	pushing ||= push;
	asking?.abort();
	asking = new AbortController();
	const { signal } = asking;
	try {
		const [answer, facets] = parts;
		await replace(answer, address, signal);
		if (pushing) history.pushState(null, "", address);
		else history.replaceState(null, "", address);
		pushing = false;
		if (!facets) return;
		await new Promise((done) => setTimeout(done, 250)); // longer than between two keys
		if (!signal.aborted) await replace(facets, address, signal);
	} catch (e) {
		if (!signal.aborted) location.assign(address + "&whole=1"); // the whole page shows the error
	}
}

// replace replaces a part of the page by the same part of another URL. If several machines answer,
// what has come so far is shown first: it ends with a mark.
const soFar = '<template class="early"></template>';
async function replace(name, address, signal) {
	const part = document.querySelector(`[data-part=${name}]`);
	const values = new URL(address, location.href);
	values.searchParams.set("part", name);
	const answer = await fetch(values, { signal });
	if (!answer.ok) throw new Error(answer.statusText);
	let text = "";
	for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
		const { done, value } = await reader.read();
		signal.throwIfAborted();
		if (done) break;
		const pieces = (text + value).split(soFar);
		text = pieces.pop();
		if (pieces.length) show(part, pieces.pop());
	}
	show(part, text);
}

function show(part, text) {
	const open = [...part.querySelectorAll("details")].map((e) => e.open);
	const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
	part.innerHTML = text;
	if (focused) [...part.querySelectorAll("a")].find((e) => e.getAttribute("href") === focused)?.focus({ preventScroll: true });
	part.querySelectorAll("details").forEach((e, i) => { e.open = open[i] ?? e.open; });
	const count = part.querySelector(".count")?.textContent;
	if (count && said.textContent !== count) said.textContent = count; // read aloud
}

if (form) {
	let typed = false; // the history already has an entry for what is being typed
	input.addEventListener("input", () => { ask(!typed); typed = true; });
	input.addEventListener("change", () => { typed = false; });
	form.addEventListener("change", (e) => { if (e.target !== input) ask(true); });
	form.addEventListener("submit", (e) => { e.preventDefault(); ask(false); });
	addEventListener("popstate", () => location.reload());
	if (input.value) input.setSelectionRange(input.value.length, input.value.length);
	if (document.querySelector("[data-later]")) ask(false);
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
	// The keys from hit to hit leave one entry in the history: back leads to the list.
	const does = link ? () => { if (e.key === "j" || e.key === "k") location.replace(link.href); else link.click(); } : { "/": () => { if (input) { input.focus(); input.select(); } else location.href = "/"; }, j: () => go(1), k: () => go(-1), "?": () => keys.showModal() }[e.key];
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
const loadIn = (details) => details.querySelectorAll(":scope > .load > [data-load]").forEach(load);
document.addEventListener("toggle", (e) => { if (e.target.open) loadIn(e.target); }, true);
document.querySelectorAll("details[open]").forEach(loadIn);

// isEdge tells whether no word of a script that puts spaces between words reaches across a place.
const inWord = /^(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{N}\p{M}_]/u;
const isEdge = (text, at) => at === 0 || at === text.length || !inWord.test(text[at - 1]) || !inWord.test(text[at]);

// mark highlights what the query found in the hits, without changing the DOM: whole words, unless it found parts of words.
function mark() {
	const list = document.querySelector("[data-marks]");
	if (!list || !window.Highlight) return;
	const found = new Highlight();
	for (const hit of document.querySelectorAll("article.hit, .call.hit")) {
		const walk = document.createTreeWalker(hit, NodeFilter.SHOW_TEXT);
		for (let node; (node = walk.nextNode());) {
			const text = node.data.toLowerCase();
			if (text.length !== node.data.length) continue; // the positions would differ
			for (const { Text, FromEdge, ToEdge } of JSON.parse(list.dataset.marks)) {
				for (let at = text.indexOf(Text); at >= 0; at = text.indexOf(Text, at + Text.length)) {
					if ((FromEdge && !isEdge(text, at)) || (ToEdge && !isEdge(text, at + Text.length))) continue;
					const range = new Range();
					range.setStart(node, at);
					range.setEnd(node, at + Text.length);
					found.add(range);
				}
			}
		}
	}
	CSS.highlights.set("hits", found);
	for (const box of document.querySelectorAll(".call.hit > pre")) { // a long one scrolls by itself
		const first = box.scrollTop === 0 && [...found].find((range) => box.contains(range.startContainer));
		if (first) box.scrollTop = first.getBoundingClientRect().top - box.getBoundingClientRect().top - 40;
	}
}
mark();

document.documentElement.classList.add("scripted"); // shows the buttons that copy
document.addEventListener("click", async (e) => {
	const button = e.target.closest("[data-copy]");
	if (!button) return;
	await navigator.clipboard.writeText(button.dataset.copy);
	button.textContent = "Copied";
});

// grow says how many entries a conversation has got since it was loaded.
const grown = document.querySelector("[data-grown]");
async function grow() {
	const answer = await fetch(grown.dataset.grown);
	if (answer.status === 200) grown.innerHTML = await answer.text();
}

// changed is called with the generation of the index. Sessions that are being written change
// it all the time.
let known, waiting;
function changed(generation) {
	if (known !== undefined && known !== generation) {
		waiting ??= setTimeout(() => {
			waiting = undefined;
			if (form) ask(false);
			if (grown) grow();
		}, 1000);
	}
	known = generation;
}

// The event stream keeps the server running while a page is open, and reports changes of the
// index. A browser opens only six connections to a server, so one page receives the stream
// and tells the others. When it is closed, another one takes over.
const pages = new BroadcastChannel("index");
pages.onmessage = (e) => changed(e.data);
navigator.locks.request("events", () => new Promise(() => {
	new EventSource("/events").onmessage = (e) => {
		changed(e.data);
		pages.postMessage(e.data);
	};
}));
