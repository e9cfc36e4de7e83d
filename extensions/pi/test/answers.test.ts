import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultTokens, type FullSearchAnswer, fullText, fullTokens, outlineText, searchText, shorten, sourceOf, tokensOf, windowText } from "../src/answers.ts";
import type { Entry, Hit, ShowAnswer } from "../src/pigrep.ts";

const id = "0195aaaa-1111-7222-8333-444455556666";

function hit(n: number, text: string, more: Partial<Hit> = {}): Hit {
	return {
		type: "hit", tier: "exact", kind: "reply", line: n, sessionId: id, sessionPath: `/s/${Math.floor(n / 3)}.jsonl`, cwd: "/home/u/app",
		entryId: `e${n}`, timestamp: "2026-01-15T10:30:03.000Z", fragment: { text, spans: [] }, ...more,
	};
}

function answer(hits: Hit[], more: Partial<FullSearchAnswer> = {}): FullSearchAnswer {
	const sessions = [...new Set(hits.map((h) => h.sessionPath))].map((sessionPath) => ({ sessionPath, sessionId: id, shortId: "0195aaaa" }));
	return { schemaVersion: 1, sessions, hits, total: hits.length, totalAny: hits.length, ...more };
}

function entry(n: number, kind: string, text: string, more: Partial<Entry> = {}): Entry {
	return { entryId: `e${n}`, entryType: "message", line: n, timestamp: "2026-01-15T10:30:03.000Z", parts: [{ part: 0, kind, text }], ...more };
}

function shown(entries: Entry[]): ShowAnswer {
	return { schemaVersion: 1, session: { sessionPath: "/s/1.jsonl", sessionId: id, shortId: "0195aaaa", name: "Login timeouts", cwd: "/home/u/app" }, entries };
}

test("a hit is one line that begins with the name that session_read takes", () => {
	const text = searchText(answer([hit(1, "raise\n  the timeout", { isError: true, kind: "result", tool: "bash", missing: ["how", "pool"], missingCommon: ["how"], looser: true }), hit(2, "raise")], { total: 1 }));
	assert.match(text, /^1 of 1 hits with every word; 1 of 1 looser ones\.\n/);
	assert.match(text, /^0195aaaa:e1 result bash error \(lacks pool\): raise the timeout$/m);
	assert.match(text, /session_read/);
});

test("hits in the earlier files of a session stand with it, under its title and name", () => {
	const hits = [hit(1, "raise", { sessionPath: "/s/new.jsonl" }), hit(9, "other", { sessionPath: "/s/b.jsonl", sessionId: "b" }), hit(2, "wait", { sessionPath: "/s/old.jsonl" })];
	const sessions = [
		{ sessionPath: "/s/new.jsonl", sessionId: id, shortId: "0195aaaa", name: "Login timeouts" },
		{ sessionPath: "/s/b.jsonl", sessionId: "b", name: "Other" },
	];
	const text = searchText(answer(hits, { sessions }));
	assert.match(text, /Login timeouts.*\n0195aaaa:e1 .*\n0195aaaa:e2 .*\n\nOther.*\nb:e9 /);
});

test("an answer costs at most its budget, whatever was found", () => {
	for (const piece of ["word ", "漢字", "😀", "\u202e{}[]();"]) {
		const hits = Array.from({ length: 24 }, (_, i) => hit(i, piece.repeat(400), { cwd: `/${piece.repeat(90)}` }));
		const text = searchText(answer(hits, { warnings: Array(9).fill(piece.repeat(300)) }));
		assert.ok(tokensOf(text) <= 1500, `search ${piece}: ${tokensOf(text)}`);
		assert.match(text, /:e0 /);
		const entries = Array.from({ length: 41 }, (_, i) => entry(i, i % 2 ? "result" : "reply", piece.repeat(9000), i === 20 ? { focus: true } : {}));
		assert.ok(tokensOf(windowText(shown(entries))) <= 1500, `read ${piece}: ${tokensOf(windowText(shown(entries)))}`);
		assert.ok(tokensOf(fullText(shown(entries))) <= fullTokens + 100, "full");
		const prompts = Array.from({ length: 400 }, (_, i) => entry(i, "prompt", piece.repeat(100)));
		assert.ok(tokensOf(outlineText(shown(prompts))) <= 1500, "outline");
	}
});

test("nothing that moves the cursor or hides is passed on", () => {
	const nasty = "\x1b]0;x\x07a\x1b[2Jb\u202ec\u200b";
	const texts = [
		searchText(answer([hit(1, nasty, { cwd: nasty })], { sessions: [{ sessionPath: "/s/0.jsonl", sessionId: id, name: nasty }], warnings: [nasty] })),
		windowText(shown([entry(1, "reply", nasty, { focus: true })])),
		outlineText(shown([entry(1, "prompt", nasty)])),
	];
	for (const text of texts) assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]/);
});

test("nothing found says which word is nowhere", () => {
	const text = searchText(answer([], { words: [{ word: "ECONREFUSED", hits: 0 }, { word: "pool", hits: 3 }], didYouMean: "ECONNREFUSED pool" }));
	assert.match(text, /Nowhere: ECONREFUSED\./);
	assert.match(text, /Did you mean: ECONNREFUSED pool/);
	const words = [
		{ word: "compation", hits: 4, nearest: [{ word: "compaction" }, { word: "compan\x1b[2Jion" }] },
		{ word: "quux", hits: 0 },
		{ word: "here", hits: 0, removed: [{ filter: "cwd", hits: 3 }] },
		{ word: "pool", hits: 3 },
	];
	assert.match(searchText(answer([], { words })), /Nowhere: compation \(nearest: compaction, companion\), quux\.\n/);
});

test("an index that is behind is said", () => {
	const index = { files: 3, pendingFiles: 2, pendingBytes: 10, complete: false };
	assert.match(searchText(answer([], { index })), /not everything was searched: 2 files/);
});

test("a window has what came after rather than what was before, and says where to go on", () => {
	const entries = Array.from({ length: 41 }, (_, i) => entry(i, "result", `text ${i} ${"x".repeat(300)}`, i === 20 ? { focus: true } : {}));
	const text = windowText(shown(entries));
	const numbers = [...text.matchAll(/\[result\] text (\d+)/g)].map((m) => Number(m[1]));
	assert.ok(numbers.includes(20));
	assert.ok(numbers.filter((n) => n > 20).length > numbers.filter((n) => n < 20).length, String(numbers));
	assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
	assert.match(text, new RegExp(`Before: session_read at 0195aaaa:e${(numbers[0] ?? 0) - 1}\\.`));
	assert.match(text, new RegExp(`On: session_read at 0195aaaa:e${(numbers.at(-1) ?? 0) + 1}\\.`));
});

test("a window has the prompt and the answer of its turn, and no step of the machine", () => {
	const entries = [
		entry(0, "prompt", "why is it slow?"),
		...Array.from({ length: 30 }, (_, i) => entry(i + 1, "result", `text ${i} ${"x".repeat(900)}`, i === 14 ? { focus: true } : {})),
		entry(31, "details", "hook of a user", { step: true }),
		entry(32, "reply", "the pool is too small"),
	];
	const text = windowText(shown(entries));
	assert.match(text, /\[prompt\] why is it slow\?\n…\n[^]*text 14 [^]*\n…\n.*\n\[reply\] the pool is too small/);
	assert.doesNotMatch(text, /hook/);
});

test("a window at the end of the session ends", () => {
	const text = windowText(shown([entry(1, "prompt", "a"), entry(2, "reply", "b", { focus: true })]));
	assert.match(text, /\[prompt\] a/);
	assert.doesNotMatch(text, /session_read at/);
});

test("a session without entries, and one whose entry has no text", () => {
	assert.match(windowText(shown([])), /Login timeouts/);
	assert.match(fullText(shown([])), /no text/);
	assert.match(outlineText(shown([])), /Login timeouts/);
});

test("no character is cut in two", () => {
	assert.equal(shorten("😀".repeat(10), 4).isWellFormed(), true);
	assert.equal(shorten("abc", 3), "abc");
});

test("a session without an id goes by its name or path, an entry without one by its offset", () => {
	assert.ok(defaultTokens <= 1500);
	const odd = { type: "hit", tier: "exact", kind: "reply", line: 1, offset: 12, sessionPath: "/s/no-header.jsonl", fragment: { text: "pool" } } as Hit;
	assert.match(searchText(answer([odd], { sessions: [{ sessionPath: odd.sessionPath, shortId: "no-header" }] })), /^no-header:@12 reply: pool$/m);
	assert.match(searchText(answer([odd], { sessions: [] })), /^\/s\/no-header\.jsonl:@12 reply: pool$/m);
	const read: ShowAnswer = { schemaVersion: 1, session: { sessionPath: odd.sessionPath }, entries: [{ entryType: "message", line: 1, offset: 12, focus: true, parts: [{ part: 0, kind: "reply", text: "pool" }] }] };
	for (const text of [windowText(read), fullText(read), outlineText(read)]) assert.doesNotMatch(text, /undefined|null|NaN/);
	assert.match(windowText(read), /session \/s\/no-header\.jsonl/);
	assert.equal(sourceOf(read.session, read.entries[0]), "/s/no-header.jsonl:@12");
});

test("a source is id, date and the beginning of the title", () => {
	const session = { sessionPath: "/s/1.jsonl", shortId: "0195aaaa", name: "a title of many words ".repeat(9) };
	const source = sourceOf(session, entry(1, "reply", "x"));
	assert.match(source, /^0195aaaa:e1, 2026-01-15, "a title of/);
	assert.ok(source.length <= "0195aaaa:e1, 2026-01-15, ".length + 62, source);
});
