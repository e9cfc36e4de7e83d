// The past of the person who is driven: sessions of two projects, one whose directory is gone, and
// one full of what must not reach a terminal.
import fs from "node:fs";
import path from "node:path";

const usage = { input: 1200, output: 300, cacheRead: 0, cacheWrite: 0, totalTokens: 1500, cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 } };

const hostile = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m \u202egnp.exe\u202c \x07\x9b5A hostile zebra";

function writer(home) {
	let count = 0;
	return (cwd, name, at, messages) => {
		count++;
		const id = `0195${String(count).padStart(4, "0")}-1111-7222-8333-444455556666`;
		const dir = path.join(home, ".pi/agent/sessions", `--${cwd.replace(/^\//, "").replaceAll("/", "-")}--`);
		fs.mkdirSync(dir, { recursive: true });
		const file = path.join(dir, `${new Date(at).toISOString().replace(/[:.]/g, "-")}_${id}.jsonl`);
		const time = (i) => new Date(at + i * 1000).toISOString();
		const lines = [{ type: "session", version: 3, id, timestamp: time(0), cwd }];
		let parentId = null;
		for (const [i, message] of messages.entries()) {
			const entry = `${String(count).padStart(4, "0")}${String(i + 1).padStart(4, "0")}`;
			lines.push({ type: "message", id: entry, parentId, timestamp: time(i + 1), message: { ...message, timestamp: at + (i + 1) * 1000 } });
			parentId = entry;
		}
		if (name) lines.push({ type: "session_info", id: `${String(count).padStart(4, "0")}ffff`, parentId, timestamp: time(messages.length + 1), name });
		fs.writeFileSync(file, `${lines.map((l) => JSON.stringify(l)).join("\n")}\n`);
		return { id, file, entry: (i) => `${String(count).padStart(4, "0")}${String(i).padStart(4, "0")}` };
	};
}

const text = (t) => [{ type: "text", text: t }];
const user = (t) => ({ role: "user", content: text(t) });
const reply = (t, calls = []) => ({
	role: "assistant", content: [...(t ? text(t) : []), ...calls], api: "openai-completions", provider: "stub", model: "m", usage, stopReason: calls.length ? "toolUse" : "stop",
});
const call = (id, command) => ({ type: "toolCall", id, name: "bash", arguments: { command } });
const result = (id, t, isError = false) => ({ role: "toolResult", toolCallId: id, toolName: "bash", content: text(t), isError });

/** Files that are not as pi writes them: without header, id, directory, time or text, torn, with an absurd name. */
function writeOddFiles(dir, at) {
	const time = new Date(at).toISOString();
	const header = { type: "session", version: 3, id: "01950099-1111-7222-8333-444455556666", timestamp: time, cwd: dir };
	const prompt = (n) => ({ type: "message", id: `0dd0000${n}`, parentId: null, timestamp: time, message: { ...user(`otter number ${n}`), timestamp: at } });
	const { id: _id, ...noId } = header;
	const { cwd: _cwd, ...noCwd } = { ...header, id: "01950098-1111-7222-8333-444455556666" };
	const { timestamp: _time, ...noTime } = { ...header, id: "01950097-1111-7222-8333-444455556666" };
	const { timestamp: _when, ...timeless } = prompt(5);
	const name = { type: "session_info", id: "0dd0ffff", parentId: "0dd00007", timestamp: time, name: `otter ${"name ".repeat(60)}\x1b[31m\x07\u202e` };
	const files = {
		"no-header": [prompt(1)], "no-id": [noId, prompt(2)], "null-id": [{ ...header, id: null }, prompt(3)], "number-id": [{ ...header, id: 5 }, prompt(4)],
		"no-time": [noTime, { ...timeless, message: user("otter number 5") }], "no-cwd": [noCwd, prompt(6)], empty: [],
		"long-name": [{ ...header, id: "01950096-1111-7222-8333-444455556666" }, prompt(7), name],
	};
	for (const [name, lines] of Object.entries(files)) fs.writeFileSync(path.join(dir, `${name}.jsonl`), lines.map((l) => `${JSON.stringify(l)}\n`).join(""));
	fs.writeFileSync(path.join(dir, "torn.jsonl"), `${JSON.stringify({ ...header, id: "01950095-1111-7222-8333-444455556666" })}\n${JSON.stringify(prompt(8))}\n{"type":"mess`);
}

/** Sessions that pi cannot open, each in a directory that is gone: of other agents, and one of pi without an id. */
function writeOthers(home, at) {
	const time = new Date(at).toISOString();
	const cwd = path.join(home, "vanished");
	const id = "0195aaaa-1111-7222-8333-44445555666";
	const lines = {
		[`.claude/projects/-vanished/${id}1.jsonl`]: [{ type: "user", sessionId: `${id}1`, cwd, uuid: "u1", parentUuid: null, timestamp: time, message: { role: "user", content: "an axolotl of claude" } }],
		[`.codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-${id}2.jsonl`]: [
			{ timestamp: time, type: "session_meta", payload: { id: `${id}2`, timestamp: time, cwd, cli_version: "0.92.0" } },
			{ timestamp: time, type: "response_item", payload: { type: "message", role: "user", content: [{ type: "input_text", text: "a narwhal of codex" }] } },
		],
		[`.pi/agent/sessions/--vanished--/capybara.jsonl`]: [
			{ type: "session", version: 3, timestamp: time, cwd },
			{ type: "message", id: "0dd00009", parentId: null, timestamp: time, message: { ...user("a capybara without an id"), timestamp: at } },
		],
	};
	for (const [name, list] of Object.entries(lines)) {
		const file = path.join(home, name);
		fs.mkdirSync(path.dirname(file), { recursive: true });
		fs.writeFileSync(file, list.map((l) => `${JSON.stringify(l)}\n`).join(""));
	}
}

/** Writes the sessions into a home and returns where they are. */
export function writeSessions(home) {
	const write = writer(home);
	const app = path.join(home, "app");
	const site = path.join(home, "site");
	for (const dir of [app, site]) fs.mkdirSync(dir, { recursive: true });
	const day = 86_400_000;
	const now = Date.now() - 3_600_000;
	const fix = write(app, "Database refuses connections", now - 9 * day, [
		user("the tests fail with ECONNREFUSED 127.0.0.1:5432"),
		reply("I run them.", [call("c1", "npm test")]),
		result("c1", "Error: connect ECONNREFUSED 127.0.0.1:5432\n    at pool.connect", true),
		reply("The pool is exhausted before the database accepts.", [call("c2", "sed -i s/POOL_MAX=5/POOL_MAX=50/ .env && npm test")]),
		result("c2", "42 passing"),
		reply("Fixed: POOL_MAX=50 lets the tests connect."),
		user("now write the changelog entry"),
		reply("The changelog names the pool."),
	]);
	write(site, "", now - 8 * day, [user("make the harbour page calm"), reply("It is calm now."), user("add a lighthouse to the harbour page"), reply("Added.")]);
	const gone = write(path.join(home, "vanished"), "Vanished project", now - 7 * day, [user("walrus in a project that moved"), reply("The walrus is there.")]);
	const nasty = write(app, hostile, now - 6 * day, [user(`please look at ${hostile}`), reply(`it says ${hostile}\nand a second line`)]);
	const secret = write(app, "", now - 5 * day, [user("deploy with the quokka token"), reply("I used AKIAIOSFODNN7EXAMPLE and password=hunter2hunter2 for the quokka.")]);
	write(site, "Nightly import times out", now - 3 * day, [
		user("the nightly import waits for a database connection until it times out"),
		reply("I look at the pool.", [call("c1", "grep -rn pool config/")]),
		result("c1", "config/import.yaml:7:  pool: { connections: 2, timeout: 5s }"),
		reply("Two connections are too few for the import: each worker needs one. I raise the pool to eight connections."),
	]);
	const limit = "export const limitOfThePool = 50;\n";
	fs.writeFileSync(path.join(app, "pool.js"), `// by hand, and by nobody else\n${limit}`);
	write(app, "", now - 4 * day, [
		user("raise the limit of the pool"),
		reply("", [{ type: "toolCall", id: "c1", name: "write", arguments: { path: "pool.js", content: limit } }]),
		result("c1", "written"),
		reply("The limit is 50 now."),
	]);
	write(app, "", now - 4 * day, Array.from({ length: 12 }, (_, i) => [user(`prompt number ${i + 1} about the pelican`), reply(`pelican ${i + 1}`)]).flat());
	writeOddFiles(path.dirname(fix.file), now - 2 * day);
	writeOthers(home, now - 2 * day);
	return { app, site, fix, gone, nasty, secret };
}
