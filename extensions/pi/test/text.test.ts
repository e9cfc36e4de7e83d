import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import { age, cut, ends, fromMatch, marked, markWords, pieces, row, shortDir, wrap } from "../src/text.ts";

const samples = ["plain words of text", "漢字漢字漢字", "naïve café", "👨‍👩‍👧‍👦 family 🇯🇵", "a\u0301\u0301\u0301b", "", "x"];

test("a row is as wide as asked for, whatever is in it", () => {
	for (const a of samples)
		for (const b of samples)
			for (let width = 0; width < 40; width++) {
				assert.equal(visibleWidth(row([{ text: a }, { text: b }], width)), width, `${a}|${b}|${width}`);
				assert.equal(visibleWidth(ends([{ text: a }], [{ text: b }], width)), width, `${a}<>${b}|${width}`);
				assert.ok(visibleWidth(cut(a, width)) <= width);
			}
});

test("what is missing is shown, and what fits is not cut", () => {
	assert.equal(row([{ text: "token" }], 5), "token");
	assert.equal(row([{ text: "token" }, { text: "" }], 5), "token");
	assert.equal(row([{ text: "token" }], 4), "tok…");
	assert.equal(row([{ text: "token" }, { text: "s" }], 5), "toke…");
	assert.equal(row([{ text: "漢字" }], 3), "漢…");
	assert.equal(ends([{ text: "left" }], [{ text: "right" }], 20), "left           right");
	assert.equal(ends([{ text: "left" }], [{ text: "right" }], 12), "left        ");
});

test("marks are on the words that pigrep counted in bytes", () => {
	const m = marked("é漢 token\u001b[31m and\n tokens", [
		[6, 11],
		[22, 28],
	]);
	assert.equal(m.text, "é漢 token and tokens");
	assert.deepEqual(m.ranges.map(([a, b]) => m.text.slice(a, b)), ["token", "tokens"]);
});

test("spans that make no sense are left out", () => {
	const m = marked("token", [
		[3, 2],
		[-1, 2],
		[0, 2],
		[1, 3],
		[4, 99],
	]);
	assert.equal(m.text, "token");
	assert.deepEqual(m.ranges, [[0, 2]]);
});

test("words are marked whatever their case and characters", () => {
	const m = markWords("Token (a+b) TOKEN", ["token", "(a+b)", " "]);
	assert.deepEqual(m.ranges.map(([a, b]) => m.text.slice(a, b)), ["Token", "(a+b)", "TOKEN"]);
	assert.deepEqual(pieces(m, (s) => s, undefined, 2, 8).map((p) => p.text), ["ken", " ", "(a"]);
});

test("a match far to the right is moved into sight", () => {
	for (const before of ["word ".repeat(40), "漢".repeat(60), "👨‍👩‍👧‍👦".repeat(20)]) {
		const text = `${before}NEEDLE and what follows it`;
		const m = fromMatch({ text, ranges: [[before.length, before.length + 6]] }, 30);
		const [range] = m.ranges;
		assert.equal(m.text.slice(...(range ?? [0, 0])), "NEEDLE");
		assert.match(row([{ text: m.text }], 30), /NEEDLE/);
		assert.ok(m.text.isWellFormed());
	}
	const short = { text: "a NEEDLE", ranges: [[2, 8]] as [number, number][] };
	assert.equal(fromMatch(short, 30), short);
	const end = fromMatch({ text: `${"word ".repeat(40)}NEEDLE`, ranges: [[200, 206]] }, 30);
	assert.ok(visibleWidth(end.text) > 25, "no room is left unused at the end");
});

test("lines are wrapped at words, and nothing is lost", () => {
	const text = "one two three\n\nlonglonglonglong 漢字漢字漢字";
	const lines = wrap(text, 8, 100).map(([a, b]) => text.slice(a, b));
	assert.deepEqual(lines, ["one two", "three", "", "longlong", "longlong", "漢字漢字", "漢字"]);
	assert.equal(wrap("a\n".repeat(1000), 8, 10).length, 10);
	assert.equal(wrap("a".repeat(1e6), 8, 10).length, 10);
	assert.ok(wrap("漢", 1, 5).length === 1);
});

test("ages are those of pigrep", () => {
	const now = Date.parse("2026-06-15T12:00:00Z");
	const ago = (seconds: number) => age(new Date(now - seconds * 1000).toISOString(), now);
	assert.deepEqual(
		[1, 45, 300, 7200, 3 * 86400, 20 * 86400, 100 * 86400, 800 * 86400].map(ago),
		["now", "45s ago", "5min ago", "2h ago", "3d ago", "2w ago", "3mo ago", "2y ago"],
	);
	assert.equal(age(undefined, now), "");
});

test("of a long directory the end is shown", () => {
	assert.equal(shortDir("/home/u/src/app", 30), "/home/u/src/app");
	assert.equal(shortDir("/home/u/src/app", 10), "…/src/app");
	assert.equal(visibleWidth(shortDir("/a/averyveryverylongname", 8)), 8);
});
