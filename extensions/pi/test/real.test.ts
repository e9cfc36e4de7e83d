/** Answers of the real program ($PIGREP) on the sessions of the repository ($SESSIONS). */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { grep, history, search } from "../src/modes.ts";
import { Failure, Pigrep } from "../src/pigrep.ts";

const { PIGREP = "", SESSIONS = "" } = process.env;
const skip = PIGREP && SESSIONS ? false : "PIGREP and SESSIONS are not set";

const dir = mkdtempSync(join(tmpdir(), "pi-pigrep-"));
after(() => rmSync(dir, { recursive: true, force: true }));
const wrapper = join(dir, "pigrep");
const config = join(dir, "config.toml");
writeFileSync(config, `session-dir = ['${SESSIONS}']\nindex-dir = '${dir}/index'\n`);
writeFileSync(wrapper, `#!/bin/sh\nPIGREP_CONFIG='${config}' exec '${PIGREP}' "$@"\n`, { mode: 0o755 });
const client = new Pigrep(wrapper);

test("search, grep and history find, with marks, titles and what opens a session", { skip }, async () => {
	for (const [mode, query] of [
		[search, "gateway"],
		[grep, "g.teway"],
		[history, "gateway"],
	] as const) {
		const results = await mode.find(client, query, {}, {});
		assert.ok(results.items.length > 0, mode.name);
		assert.equal(results.index?.complete, true);
		for (const item of results.items) {
			assert.match(item.text.text.slice(...(item.text.ranges[0] ?? [0, 0])), /^gateway/i, mode.name);
			assert.ok(item.title && item.at.sessionPath && item.at.entryId && item.at.cwd && item.at.line > 1, JSON.stringify(item));
		}
	}
	assert.match((await search.find(client, "gateway", {}, {})).items[0]?.title ?? "", /Login timeout investigation/);
	assert.match((await grep.find(client, "harbour", {}, {})).items[0]?.title ?? "", / /, "a title and not an id");
});

test("without a query the latest sessions and prompts, newest first", { skip }, async () => {
	for (const mode of [search, history]) {
		const { items } = await mode.find(client, "", {}, {});
		assert.ok(items.length > 10, mode.name);
		const times = items.map((i) => Date.parse(i.at.timestamp ?? "")).filter((t) => !Number.isNaN(t));
		assert.deepEqual(times, times.toSorted((a, b) => b - a), mode.name);
	}
	assert.deepEqual((await grep.find(client, "", {}, {})).items, []);
});

test("a project, a scope and a limit narrow the answer", { skip }, async () => {
	const all = await search.find(client, "", {}, {});
	const here = await search.find(client, "", { cwd: "/home/dev/notes" }, {});
	assert.ok(here.items.length > 0 && here.items.length < all.items.length);
	const prompts = await search.find(client, "gateway", { scope: "prompts" }, {});
	assert.ok(prompts.items.every((i) => i.at.kind === "prompt"));
});

test("an entry is shown with those around it", { skip }, async () => {
	const [item] = (await search.find(client, "sessionTtl", {}, {})).items;
	const { entries } = await client.show(`${item?.at.sessionPath}:${item?.at.entryId}`, 2);
	assert.ok(entries.length > 1);
	assert.equal(entries.filter((e) => e.focus).length, 1);
});

test("what is wrong is said by pigrep", { skip }, async () => {
	const kindOf = (answer: Promise<unknown>) => answer.then(() => "an answer", (f: Failure) => `${f.kind}: ${f.sentence}`);
	assert.match(await kindOf(grep.find(client, "(", {}, {})), /^query: .*missing closing.*\\Q/);
	const literally = await grep.find(client, "\\Q(\\E", {}, {});
	assert.ok(literally.items.length > 0, "the hint is right");
	const [item] = (await search.find(client, "gateway", {}, {})).items;
	assert.match(await kindOf(client.resume(item?.at.sessionPath ?? "")), /^cannot-resume: .*directory no longer exists/);
	assert.match(await kindOf(client.json(["search", "--no-such-flag", "x"])), /^old: .*unknown flag/);
});

test("the usage of a directory has days and models", { skip }, async () => {
	const { rows, total } = await client.usage("day,model", "2020-01-01", "/home/dev/atlas");
	assert.ok(rows.length > 1 && rows.every((r) => r.day && r.model));
	assert.equal(rows.reduce((n, r) => n + r.tokens, 0), total.tokens);
});
