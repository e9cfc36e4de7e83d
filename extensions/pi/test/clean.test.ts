import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanLine, cleanText } from "../src/clean.ts";

const cases: [string, string][] = [
	["plain ünïcode 漢字 😀", "plain ünïcode 漢字 😀"],
	["\x1b[31mred\x1b[0m", "red"],
	["\x1b]0;title\x07text", "text"],
	["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
	["\x1b]52;c;aGk=\x07a", "a"],
	["\x9b31mred", "red"],
	["\x9d0;title\x9ca", "a"],
	["\x1bPq#0\x1b\\a", "a"],
	["\x1bc\x1b7a\x1b(B", "a"],
	["\x1b_pi:c\x07a", "a"],
	["a\x1b", "a"],
	["\x1b[", ""],
	["gnp.\u202etxt\u2066", "gnp.txt"],
	["a\u200bb\ufeffc", "abc"],
	["a\u{e0041}\u{e007f}b", "ab"],
	["a\x00\x07\x08b", "ab"],
	["a\rb\r\nc\u2028d", "a\nb\nc\nd"],
	["\ta", "    a"],
	["a\ud800b", "a\ufffdb"],
];

test("nothing that moves, hides or recolours reaches the screen", () => {
	for (const [input, want] of cases) assert.equal(cleanText(input), want, JSON.stringify(input));
});

test("no sequence of any characters survives as a control character", () => {
	const alphabet = ["\x1b", "[", "]", "0", ";", "m", "\x07", "\\", "\x9b", "\x9d", "P", "a", "\u202e", "\n", "\r"];
	let seed = 1;
	for (let i = 0; i < 20000; i++) {
		let text = "";
		for (let j = 0; j < 8; j++) {
			seed = (seed * 1103515245 + 12345) & 0x7fffffff;
			text += alphabet[(seed >> 8) % alphabet.length];
		}
		assert.doesNotMatch(cleanText(text), /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/, JSON.stringify(text));
	}
});

test("a line has no line breaks", () => {
	assert.equal(cleanLine(" a\n\n b\tc "), "a b c");
});
