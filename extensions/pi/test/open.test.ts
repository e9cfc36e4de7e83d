import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ExtensionCommandContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import { check, endOfTurn, findEntry, open } from "../src/open.ts";
import { Failure, Pigrep } from "../src/pigrep.ts";

const dir = mkdtempSync(join(tmpdir(), "pi-pigrep-"));
after(() => rmSync(dir, { recursive: true, force: true }));
const file = join(dir, "session.jsonl");
writeFileSync(file, "{}\n");

let minute = 0;
function entry(id: string, parentId: string | null, role: string): SessionEntry {
	const timestamp = new Date(Date.UTC(2026, 0, 1, 0, minute++)).toISOString();
	if (role === "label") return { type: "label", id, parentId, timestamp, targetId: "a1", label: "keep" };
	if (role === "compaction") return { type: "compaction", id, parentId, timestamp, summary: "s", firstKeptEntryId: "u1", tokensBefore: 1 };
	return { type: "message", id, parentId, timestamp, message: { role, content: [] } } as unknown as SessionEntry;
}

/** u1 a1 r1 a2 | u2 a3 | compaction u3 a4; and beside u2 an abandoned branch: x1 y1 */
const entries = [
	entry("u1", null, "user"),
	entry("a1", "u1", "assistant"),
	entry("r1", "a1", "toolResult"),
	entry("a2", "r1", "assistant"),
	entry("x1", "a2", "user"),
	entry("y1", "x1", "assistant"),
	entry("u2", "a2", "user"),
	entry("a3", "u2", "assistant"),
	entry("c1", "a3", "compaction"),
	entry("u3", "c1", "user"),
	entry("a4", "u3", "assistant"),
	entry("l1", "a4", "label"),
];

const of = (id: string) => entries.find((e) => e.id === id) as SessionEntry;
const end = (id: string) => endOfTurn(entries, of(id), "l1").id;

test("the end of a turn is before the next prompt or summary, on the branch of the entry", () => {
	assert.deepEqual(
		["u1", "a1", "r1", "a2", "x1", "y1", "u2", "a3", "c1", "u3", "a4"].map((id) => `${id} ${end(id)}`),
		["u1 a2", "a1 a2", "r1 a2", "a2 a2", "x1 y1", "y1 y1", "u2 a3", "a3 a3", "c1 c1", "u3 l1", "a4 l1"],
	);
});

test("entries that point at each other do not hang pi", () => {
	const circle = [entry("p", "q", "assistant"), entry("q", "p", "assistant")];
	assert.equal(endOfTurn(circle, circle[0] as SessionEntry, "q").id, "q");
});

test("an entry is found by id, then by time, then by line", () => {
	const at = { sessionPath: file, line: 3 };
	const a1 = of("a1").timestamp;
	assert.equal(findEntry(entries, { ...at, entryId: "a2" })?.id, "a2");
	assert.equal(findEntry(entries, { ...at, entryId: "rewritten", timestamp: a1 })?.id, "a1");
	assert.equal(findEntry(entries, { ...at, timestamp: a1.replace("Z", "+00:00") })?.id, "a1");
	assert.equal(findEntry(entries, at)?.id, "a1");
	assert.equal(findEntry(entries, { ...at, entryId: "gone", timestamp: "2020-01-01T00:00:00Z" }), undefined);
	assert.equal(findEntry(entries, { ...at, entryId: "l1" })?.id, "a1", "a label stands for what it names");
});

test("of entries with the same id or time, that with the right time and line", () => {
	const same = of("u1").timestamp;
	const twins = ["t1", "t2", "t3"].map((id) => ({ ...entry(id, null, "assistant"), timestamp: same }));
	assert.equal(findEntry(twins, { sessionPath: file, line: 4, timestamp: same })?.id, "t3");
	const copies = [entry("same", null, "assistant"), entry("same", null, "assistant")];
	assert.equal(findEntry(copies, { sessionPath: file, line: 2, entryId: "same", timestamp: copies[1]?.timestamp }), copies[1]);
});

interface Fake {
	ctx: ExtensionCommandContext;
	log: string[];
}

/** pi as it was (0.78 redraws after withSession and drops what was said before) and as it is. */
function fakePi(generation: "0.78" | "1.5", current = join(dir, "other.jsonl"), idle = true): Fake {
	const log: string[] = [];
	let redrawn = generation === "1.5";
	let stale = false;
	const make = (path: string, fresh: boolean) => ({
		cwd: dir,
		isIdle: () => idle,
		abort: () => log.push("abort"),
		waitForIdle: async () => void log.push("idle"),
		sessionManager: { getSessionFile: () => path, getEntries: () => [...entries], getLeafId: () => "l1" },
		ui: {
			notify: (text: string) => {
				if (!fresh && stale) throw new Error("stale ctx");
				if (redrawn) log.push(`notify ${text}`);
			},
		},
		navigateTree: async (id: string) => {
			if (id === "x1") throw new Error("no");
			log.push(`go ${id}`);
			return { cancelled: false };
		},
		switchSession: async (to: string, options: { withSession(ctx: unknown): Promise<void> }) => {
			log.push("switch");
			stale = true;
			await options.withSession(make(to, true));
			redrawn = true;
			return { cancelled: false };
		},
	});
	return { ctx: make(current, false) as unknown as ExtensionCommandContext, log };
}

const later = () => new Promise((resolve) => setTimeout(resolve, 80));

for (const generation of ["0.78", "1.5"] as const) {
	test(`pi ${generation}: the session is opened at the end of the turn, and it is said`, async () => {
		const { ctx, log } = fakePi(generation);
		await open(ctx, { sessionPath: file, entryId: "a1", line: 3 }, false);
		await later();
		assert.deepEqual(log, ["switch", "go a2", "notify This is the end of the turn; /tree shows what follows"]);
	});

	test(`pi ${generation}: exactly at the entry`, async () => {
		const { ctx, log } = fakePi(generation);
		await open(ctx, { sessionPath: file, entryId: "a1", line: 3 }, true);
		assert.deepEqual(log, ["switch", "go a1"]);
	});

	test(`pi ${generation}: nothing is thrown in withSession`, async () => {
		const { ctx, log } = fakePi(generation);
		await open(ctx, { sessionPath: file, entryId: "x1", line: 6 }, true);
		await later();
		assert.deepEqual(log, ["switch", "notify pigrep: the session is open at its end: no"]);
	});
}

test("at its end, and without an entry, a session is only opened", async () => {
	for (const at of [{ entryId: "a4", line: 12 }, { line: 0 }]) {
		const { ctx, log } = fakePi("1.5");
		await open(ctx, { sessionPath: file, ...at }, false);
		await later();
		assert.deepEqual(log, ["switch"]);
	}
});

test("in the session that is open, pi only goes there, and stops a turn first", async () => {
	const { ctx, log } = fakePi("1.5", file, false);
	await open(ctx, { sessionPath: file, entryId: "a1", line: 3 }, false);
	assert.deepEqual(log, ["abort", "idle", "go a2"]);
});

test("pi would begin a new session under the name of a file that is gone", async () => {
	const { ctx, log } = fakePi("1.5");
	const gone = { sessionPath: join(dir, "gone.jsonl"), line: 0 };
	await assert.rejects(open(ctx, gone, false), Failure);
	await assert.rejects(check(new Pigrep("true"), ctx, gone), /file is gone/);
	assert.deepEqual(log, []);
});

function pigrepThat(name: string, script: string): Pigrep {
	const path = join(dir, name);
	writeFileSync(path, `#!/bin/sh\n${script}\n`);
	chmodSync(path, 0o755);
	return new Pigrep(path);
}

test("what pi needs is checked before, in pigrep's words", async () => {
	const answer = (program: string) => `echo '{"schemaVersion":1,"dir":"/","argv":["${program}","--session","x"],"shell":"x"}'`;
	const { ctx } = fakePi("1.5");
	const at = { sessionPath: file, cwd: dir, line: 0 };
	assert.deepEqual(await check(pigrepThat("fine", answer("pi")), ctx, at), {});
	await assert.rejects(check(pigrepThat("other", answer("claude")), ctx, at), /a session of claude, not of pi/);
	const refusal = (reason: string) =>
		pigrepThat("refuses", `echo "{\\"error\\":{\\"code\\":\\"cannot-resume\\",\\"message\\":\\"x (y): ${reason}\\",\\"hint\\":\\"h\\",\\"reason\\":\\"${reason}\\"}}" >&2; exit 2`);
	const gone = { ...at, agent: "pi", cwd: join(dir, "moved") };
	await assert.rejects(check(refusal("no header"), ctx, at), /no header/);
	await assert.rejects(check(refusal("no header"), ctx, gone), /no header/, "a directory that is gone is not the reason");
	const moved = refusal("the session's directory no longer exists: /moved");
	assert.match((await check(moved, ctx, gone)).warning ?? "", /directory no longer exists/);
	await assert.rejects(check(moved, ctx, { ...gone, agent: undefined }), /no longer exists/, "nobody says that it is pi's");
	for (const agent of ["claude", "codex", "omp", "prime"]) {
		const theirs = { ...gone, agent };
		await assert.rejects(check(moved, ctx, theirs), new RegExp(`a session of ${agent}, not of pi`));
		const pi = fakePi("1.5");
		await assert.rejects(open(pi.ctx, theirs, false), /not of pi/);
		assert.deepEqual(pi.log, [], "pi is not told to open it");
	}
	const busy = fakePi("1.5", file, false);
	assert.match((await check(pigrepThat("unused", "exit 2"), busy.ctx, at)).warning ?? "", /a turn is running/);
});
