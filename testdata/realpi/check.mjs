// Run by check.sh, with HOME in its scratch directory.
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const home = process.env.HOME;
const agentDir = path.join(home, ".pi/agent");
const pkg = process.env.PI_PACKAGE_DIR;
const { version } = JSON.parse(fs.readFileSync(path.join(pkg, "package.json"), "utf8"));
const { SessionManager } = await import(pathToFileURL(path.join(pkg, "dist/index.js")));

let failures = 0;
let checks = 0;
function check(what, want, got) {
	checks++;
	const [w, g] = [JSON.stringify(want), JSON.stringify(got)];
	if (w !== g) {
		failures++;
		console.log(`FAIL ${what}\n  want ${w}\n  got  ${g}`);
	}
}
const without = (o) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined));

// A provider that always gives the same answer.
let asked = 0;
const server = createServer((req, res) => {
	req.resume();
	req.on("end", () => {
		asked++;
		res.writeHead(200, { "content-type": "text/event-stream" });
		const chunk = (delta, finish) => res.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish ?? null }] })}\n\n`);
		chunk({ role: "assistant", content: "the scripted answer" });
		chunk({}, "stop");
		res.end("data: [DONE]\n\n");
	});
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
fs.mkdirSync(agentDir, { recursive: true });
fs.writeFileSync(path.join(agentDir, "models.json"), JSON.stringify({
	providers: { fake: { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "none", api: "openai-completions",
		models: [{ id: "m", name: "m", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 100000, maxTokens: 1000 }] } },
}));
fs.writeFileSync(path.join(agentDir, "settings.json"), JSON.stringify({ defaultProvider: "fake", defaultModel: "m", enableInstallTelemetry: false }));

function pigrep(...args) {
	const ran = spawnSync(process.env.PIGREP, args, { encoding: "utf8", maxBuffer: 1 << 28 });
	return { code: ran.status, out: ran.stdout, err: ran.stderr };
}
// Not a blocking call: the provider runs in this process.
function run(command, input = "") {
	return new Promise((done) => {
		const child = spawn("sh", ["-c", command], { cwd: home, stdio: ["pipe", "pipe", "pipe"] });
		let out = "";
		child.stdout.on("data", (d) => (out += d));
		child.stderr.on("data", (d) => (out += d));
		const timer = setTimeout(() => child.kill("SIGKILL"), 90_000);
		child.on("close", (code) => { clearTimeout(timer); done({ code, out }); });
		child.stdin.end(input);
	});
}

const user = (text, at) => ({ role: "user", content: [{ type: "text", text }], timestamp: at });
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const reply = (content, at, more) => ({ role: "assistant", content, api: "openai-completions", provider: "fake", model: "m", usage, stopReason: "stop", timestamp: at, ...more });
const text = (t) => [{ type: "text", text: t }];

let clock = Date.now() - 3_600_000;
const tick = () => (clock += 1000);
const made = [];
function make(name, cwd, fill, dir) {
	fs.mkdirSync(cwd, { recursive: true });
	const sm = SessionManager.create(cwd, dir);
	fill(sm);
	made.push({ name, cwd, file: sm.getSessionFile(), id: sm.getSessionId(), dir });
	return sm;
}
const projects = path.join(home, "projects");
make("plain", path.join(projects, "plain"), (sm) => {
	sm.appendMessage(user("how do I resume a session?", tick()));
	sm.appendMessage(reply(text("with pi --session"), tick()));
});
const tree = make("tree", path.join(projects, "it's a \"dir\" (with spaces) é"), (sm) => {
	const first = sm.appendMessage(user("first prompt of the tree", tick()));
	const answer = sm.appendMessage(reply([{ type: "thinking", thinking: "hm" }, ...text("left")], tick()));
	sm.appendMessage(user("abandoned question", tick()));
	sm.appendMessage(reply(text("abandoned answer"), tick()));
	sm.branch(answer);
	const kept = sm.appendMessage(user("kept question", tick()));
	const call = { type: "toolCall", id: "call_1", name: "bash", arguments: { command: "ls\n-la", timeout: 5 } };
	sm.appendMessage(reply([call], tick(), { stopReason: "toolUse" }));
	sm.appendMessage({ role: "toolResult", toolCallId: "call_1", toolName: "bash", content: text("total 0"), isError: false, timestamp: tick() });
	sm.appendLabelChange(first, "start");
	sm.appendLabelChange(kept, "gone");
	sm.appendLabelChange(kept, undefined);
	sm.appendSessionInfo("The tree session");
	sm.appendMessage(reply(text("done"), tick()));
});
make("compacted", path.join(projects, "compacted"), (sm) => {
	sm.appendMessage(user("old question", tick()));
	sm.appendMessage(reply(text("old answer"), tick()));
	const kept = sm.appendMessage(user("kept question", tick()));
	sm.appendMessage(reply(text("kept answer"), tick()));
	sm.appendCompaction("what was said before", kept, 1234);
	sm.appendMessage(user("after the compaction", tick()));
	sm.appendMessage(reply(text("still here"), tick()));
});
const flat = path.join(home, "a flat store");
make("flat", path.join(projects, "flat"), (sm) => {
	sm.appendMessage(user("a session in another store", tick()));
	sm.appendMessage(reply(text("yes"), tick()));
}, flat);
const parent = tree.getSessionFile();
const cloned = SessionManager.open(parent);
cloned.createBranchedSession(cloned.getLeafId());
made.push({ name: "clone", cwd: cloned.getCwd(), file: cloned.getSessionFile(), id: cloned.getSessionId() });
// Files that were just written are suspect to pigrep, and rightly so.
for (const m of made) fs.utimesSync(m.file, new Date(Date.now() - 600_000), new Date(Date.now() - 600_000));

const stores = ["--session-dir", path.join(agentDir, "sessions"), "--session-dir", flat];
const listing = JSON.parse(pigrep("sessions", "--json", ...stores).out);
for (const m of made) {
	const sm = SessionManager.open(m.file);
	const infos = await SessionManager.list(m.cwd, m.dir ?? path.dirname(m.file));
	const info = infos.find((i) => i.path === m.file);
	const listed = listing.sessions.find((s) => s.sessionPath === m.file) ?? {};
	check(`${m.name}: list`, without({
		id: info.id, cwd: info.cwd, name: info.name, messages: info.messageCount, first: info.firstMessage,
		created: info.created.toISOString(), modified: info.modified.toISOString(),
	}), without({
		id: listed.sessionId, cwd: listed.cwd, name: listed.name, messages: listed.messages, first: listed.firstPrompt,
		created: listed.created, modified: listed.modified,
	}));
	const shown = JSON.parse(pigrep("show", m.file, "--all", "--json", ...stores).out);
	const ids = (list) => list.map((e) => e.id ?? e.entryId);
	check(`${m.name}: entries`, ids(sm.getEntries()), ids(shown.entries));
	check(`${m.name}: branch`, ids(sm.getBranch()), ids(shown.entries.filter((e) => e.branch === "active")));
	check(`${m.name}: labels`, sm.getEntries().map((e) => sm.getLabel(e.id) ?? ""), shown.entries.map((e) => e.label ?? ""));
	const roles = { compaction: "compactionSummary" };
	const inContext = shown.entries.filter((e) => e.inContext && (e.entryType === "message" || e.entryType === "compaction")).map((e) => roles[e.entryType] ?? e.role);
	const at = inContext.indexOf("compactionSummary");
	if (at > 0) inContext.unshift(...inContext.splice(at, 1));
	check(`${m.name}: context`, sm.buildSessionContext().messages.map((x) => x.role), inContext);
	const conversation = JSON.parse(pigrep("show", m.file, "--json", ...stores).out);
	check(`${m.name}: shown`, ids(sm.getBranch()), ids(conversation.entries));
}

function snapshot() {
	const files = {};
	for (const dir of [path.join(agentDir, "sessions"), flat]) {
		for (const f of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
			if (f.isFile()) files[path.join(f.parentPath ?? f.path, f.name)] = fs.readFileSync(path.join(f.parentPath ?? f.path, f.name), "utf8");
		}
	}
	return files;
}
// changes says which files are not what they were, and whether they only grew.
function changes(before, after) {
	return Object.keys(after).filter((f) => before[f] !== after[f]).map((f) => [f, before[f] === undefined ? "new" : after[f].startsWith(before[f]) ? "grown" : "rewritten"]);
}

for (const m of made) {
	const r = pigrep("resume", m.id, ...stores);
	check(`${m.name}: resume code`, [0, ""], [r.code, r.err ?? ""]);
	const before = snapshot();
	const calls = asked;
	const ran = await run(`${r.out.trimEnd()} -p 'a question after resuming'`);
	check(`${m.name}: pi's exit code`, 0, ran.code);
	check(`${m.name}: pi asked its model`, 1, asked - calls);
	const after = snapshot();
	check(`${m.name}: ${r.out.trim()} wrote to`, [[m.file, "grown"]], changes(before, after));
	check(`${m.name}: the question is in it`, true, after[m.file].slice(before[m.file].length).includes("a question after resuming"));
	if (failures > 0 && ran.code !== 0) console.log(ran.out.slice(-800));
}

{
	// --exec: pi in place of pigrep; what comes from a pipe is its prompt.
	const m = made[1];
	const before = snapshot();
	const ran = await run(`"$PIGREP" resume ${m.id} --exec --quiet ${stores.map((s) => `'${s}'`).join(" ")}`, "a question through a pipe");
	check("--exec: exit code", 0, ran.code);
	check("--exec: wrote to", [[m.file, "grown"]], changes(before, snapshot()));
}
{
	// --fork leaves the session as it is and makes one that names it.
	const m = made[0];
	const before = snapshot();
	const r = pigrep("resume", m.id, "--fork", ...stores);
	await run(`${r.out.trimEnd()} -p 'a question in a fork'`);
	const changed = changes(before, snapshot());
	check("--fork: one new file", ["new"], changed.map((c) => c[1]));
	const shown = JSON.parse(pigrep("show", changed[0]?.[0] ?? "none", "--json", ...stores).out);
	check("--fork: parent", m.file, shown.session.parent?.sessionPath);
	const of = JSON.parse(pigrep("show", m.file, "--json", ...stores).out);
	check("--fork: shared entries", of.session.entries, shown.session.parent?.shared);
	check("--fork: seen from the parent", [changed[0]?.[0]], of.session.forkedInto?.map((f) => f.sessionPath));
}
{
	// The project moved: pi refuses the old directory. pigrep warns, and runs nothing.
	const m = made[2];
	const moved = m.cwd + " moved";
	fs.renameSync(m.cwd, moved);
	const printed = pigrep("resume", m.id, ...stores);
	check("moved: the command is still printed", [0, true], [printed.code, printed.out.includes(m.file)]);
	check("moved: with a warning", true, printed.err.includes(`no longer exists: ${m.cwd}`));
	for (const flag of ["--exec", "--json"]) check(`moved: ${flag} refuses`, 2, pigrep("resume", m.id, flag, ...stores).code);
	const own = await run(`pi --session '${m.file}' -p x`);
	check("moved: pi refuses too", true, own.code !== 0);
	const before = snapshot();
	const r = pigrep("resume", m.id, "--in", moved, ...stores);
	await run(`${r.out.trimEnd()} -p 'a question in the new place'`);
	const changed = changes(before, snapshot());
	check("moved: --in forks", ["new"], changed.map((c) => c[1]));
	check("moved: the fork's directory", moved, changed[0] ? JSON.parse(fs.readFileSync(changed[0][0], "utf8").split("\n")[0]).cwd : "");
}
{
	// Files that pi does not take for the session they are.
	const dir = path.dirname(made[0].file);
	const whole = fs.readFileSync(made[0].file, "utf8");
	const lines = whole.trimEnd().split("\n");
	const id = (s, n) => s.replaceAll(made[0].id, `odd-${n}`);
	const odd = {
		"no header": lines.slice(1).join("\n") + "\n",
		"entry before the header": [lines[1], lines[0], ...lines.slice(2)].join("\n") + "\n",
		"header and entry on one line": lines[0] + lines[1] + "\n" + lines.slice(2).join("\n") + "\n",
		"number before the header": "42\n" + whole,
		"no id": whole.replace(/"id":"[^"]*",/, ""),
		"garbage before the header": "not json\n" + whole,
		"a later version": whole.replace(/"version":3/, '"version":9'),
		"byte order mark": "\ufeff" + whole,
	};
	let n = 0;
	for (const [what, data] of Object.entries(odd)) {
		const file = path.join(dir, `odd-${++n}.jsonl`);
		fs.writeFileSync(file, id(data, n));
		const before = snapshot();
		const ran = await run(`pi --session '${file}' -p 'odd question'`);
		const opened = JSON.stringify(changes(before, snapshot())) === JSON.stringify([[file, "grown"]]) && ran.code === 0;
		fs.writeFileSync(file, id(data, n));
		const r = pigrep("resume", file, ...stores);
		fs.rmSync(file);
		console.log(`  ${what}: pi ${opened ? "opens" : "does not open"} it; pigrep ${r.code === 0 ? "resumes" : "refuses"}`);
		// Versions up to 0.78.0 still opened files with a byte order mark.
		if (what !== "byte order mark") check(`odd: ${what}`, opened, r.code === 0);
	}
}
server.close();
console.log(`pi ${version}, node ${process.versions.node}: ${checks} checks, ${failures} failed`);
process.exit(failures ? 1 : 0);
