import assert from "node:assert/strict";
import { test } from "node:test";
import type { Paint } from "../src/paint.ts";
import type { ShowAnswer } from "../src/pigrep.ts";
import { locate, preview, renderPreview, startOf } from "../src/preview.ts";
import { marked } from "../src/text.ts";

const plain = (s: string) => s;
const paint: Paint = { border: plain, title: plain, accent: plain, dim: plain, mark: (s) => `«${s}»`, error: plain, warning: plain, selected: plain };

function shown(text: string, fragment: string, word: string, height: number): string {
	const at = Buffer.from(fragment).indexOf(word);
	const entry = { entryId: "e1", entryType: "message", line: 2, focus: true, parts: [{ part: 0, kind: "result", tool: "bash", text }] };
	const around = { entryId: "e0", entryType: "message", line: 1, parts: [{ part: 0, kind: "prompt", text: "line\n".repeat(50) }] };
	const answer = { schemaVersion: 1, session: { sessionPath: "/s", sessionId: "s" }, entries: [around, entry] } as ShowAnswer;
	const item = {
		at: { sessionPath: "/s", sessionId: "s", entryId: "e1", line: 2, part: 0, kind: "result" },
		title: "t",
		text: marked(fragment, [[at, at + Buffer.byteLength(word)]]),
	};
	const p = preview(answer, item, 60, paint);
	return renderPreview(p, startOf(p, height), 60, height).join("\n");
}

test("the match is in sight, wherever it is in a text of any length", () => {
	for (const before of [0, 5, 30, 400, 20000, 300000])
		for (const height of [3, 8, 30]) {
			const text = `${"other token line\n".repeat(before)}here is\n  the   token that is meant\n${"after\n".repeat(900)}`;
			const screen = shown(text, "…here is the token that is meant after…", "token", height);
			assert.match(screen, /the {3}«token» that is meant/, `${before} lines before, ${height} rows`);
		}
});

test("a short text begins with its heading, and the name of the tool is not repeated", () => {
	const screen = shown("bash\ncommand: go test", "command: go test", "go", 3);
	assert.match(screen.split("\n")[0] ?? "", /^▶ result · bash/);
	assert.match(screen.split("\n")[1] ?? "", /^ {2}command: «go» test/);
});

test("what cannot be found again begins the text", () => {
	assert.equal(locate("a b c", marked("x", [[0, 1]])), 0);
	assert.equal(locate("a (b c", marked("(b", [[0, 2]])), 2);
	assert.equal(locate("a", { text: "", ranges: [] }), 0);
});
