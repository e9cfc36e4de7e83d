import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Failure, type Pigrep } from "../src/pigrep.ts";
import { registerTools, SessionTools } from "../src/tools.ts";

const hit = {
	type: "hit", tier: "exact", kind: "reply", line: 4, sessionId: "0195aaaa-1111-7222-8333-444455556666", sessionPath: "/s/a:b.jsonl",
	entryId: "e1", fragment: { text: "raise the pool", spans: [] },
};

/** A pigrep that answers every question in the same way and keeps what it was asked. */
function asked(answer: unknown): { client: Pigrep; calls: string[][] } {
	const calls: string[][] = [];
	const json = (args: string[]) => {
		calls.push(args);
		return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
	};
	return { client: { json } as unknown as Pigrep, calls };
}

const found = { schemaVersion: 1, hits: [hit], sessions: [{ sessionPath: hit.sessionPath, shortId: "0195aaaa" }], total: 1, totalAny: 1 };
const shown = {
	schemaVersion: 1, session: { sessionPath: "/s/a:b.jsonl", sessionId: hit.sessionId },
	entries: [{ entryId: "e1", entryType: "message", line: 4, focus: true, parts: [{ part: 0, kind: "reply", text: "raise the pool" }] }],
};

test("a search is masked, without the current session and without searches", async () => {
	const { client, calls } = asked(found);
	await new SessionTools(client).search("-rf pool", true, "/s/now [1].jsonl", { cwd: "/p" });
	const args = calls[0] ?? [];
	for (const flag of ["--redact", "--no-searches"]) assert.ok(args.includes(flag), flag);
	assert.equal(args[args.indexOf("--exclude") + 1], "/s/now [1].jsonl");
	assert.equal(args[args.indexOf("--cwd") + 1], "/p");
	assert.deepEqual(args.slice(-2), ["--", "-rf pool"]);
});

test("what a search found is read from the file it was found in", async () => {
	const { client, calls } = asked(found);
	const tools = new SessionTools(client);
	await tools.search("pool", false, undefined, {});
	await tools.read("0195aaaa:e1", false, {}).catch(() => {});
	assert.deepEqual(calls[1]?.slice(-2), ["--", "/s/a:b.jsonl:e1"]);
	assert.ok(calls[1]?.includes("--redact"));
	await tools.read("0195bbbb-1111:e1", true, {}).catch(() => {});
	assert.deepEqual(calls[2]?.slice(-2), ["--", "0195bbbb-1111:e1"]);
	await tools.read("/s/other.jsonl", false, {}).catch(() => {});
	assert.deepEqual(calls[3]?.slice(-2), ["--", "/s/other.jsonl"]);
	await tools.read("C:\\s\\x.jsonl", false, {}).catch(() => {});
	assert.deepEqual(calls[4]?.slice(-2), ["--", "C:\\s\\x.jsonl"]);
});

interface Tool {
	name: string;
	promptGuidelines?: string[];
	execute(id: string, params: object, signal: undefined, update: undefined, ctx: object): Promise<{ content: { text: string }[] }>;
	renderCall(args: object, theme: object, context: object): { render(width: number): string[] };
	renderResult(result: object, options: object, theme: object, context: object): { render(width: number): string[] };
}

function registered(answer: unknown): Map<string, Tool> {
	const tools = new Map<string, Tool>();
	const pi = { registerTool: (tool: unknown) => tools.set((tool as Tool).name, tool as Tool) };
	registerTools(pi as unknown as ExtensionAPI, asked(answer).client);
	return tools;
}

const ctx = { cwd: "/p", sessionManager: { getSessionFile: () => "/s/now.jsonl" } };
const theme = { fg: (_: string, text: string) => text, bold: (text: string) => text };

test("both tools answer the model", async () => {
	const search = await registered(found).get("session_search")?.execute("1", { query: "pool" }, undefined, undefined, ctx);
	assert.match(search?.content[0]?.text ?? "", /0195aaaa:e1 reply: raise the pool/);
	const read = await registered(shown).get("session_read")?.execute("1", { at: "0195aaaa-1111:e1" }, undefined, undefined, ctx);
	assert.match(read?.content[0]?.text ?? "", /\[reply\] raise the pool/);
});

test("a failure is one sentence that says what to type", async () => {
	const tools = registered(new Failure("missing", "pigrep is not installed", "put it on the PATH"));
	await assert.rejects(
		tools.get("session_search")?.execute("1", { query: "pool" }, undefined, undefined, ctx) as Promise<unknown>,
		/^Error: pigrep is not installed; put it on the PATH$/,
	);
});

test("a row takes one line until it is expanded, at any width, whatever is in it", () => {
	const tool = registered(found).get("session_search");
	const nasty = "\x1b[2J漢字 \u202e😀".repeat(50);
	for (const width of [1, 5, 30, 200]) {
		const call = tool?.renderCall({ query: nasty, here: true }, theme, {}).render(width) ?? [];
		assert.equal(call.length, 1);
		const shownResult = { content: [{ type: "text", text: `${nasty}\n${nasty}` }], details: { summary: nasty } };
		for (const isError of [false, true]) {
			assert.equal(tool?.renderResult(shownResult, { expanded: false, isPartial: false }, theme, { isError }).render(width).length, 1);
		}
		const open = tool?.renderResult(shownResult, { expanded: true, isPartial: false }, theme, {}).render(width) ?? [];
		assert.ok(open.length > 1);
		assert.doesNotMatch(open.join(""), /\x1b\[2J|\u202e/);
	}
	assert.equal(tool?.renderCall({}, theme, {}).render(20).length, 1); // arguments that are still coming
	assert.deepEqual(tool?.renderResult({ content: [], details: undefined }, { expanded: false, isPartial: true }, theme, {}).render(20), ["searching…"]);
});
