// What pi reports of session files, for tests that have no pi. `check.sh --truth` runs it. Each file is opened as a copy, in a process of its own, because pi rewrites old
// versions and does not end on entries that are their own ancestors.
//
// sessions/ are four sessions that pi's SessionManager wrote here; truth/ is the report
// of each of these and of each file of testdata/sessions.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const pkg = process.env.PI_PACKAGE_DIR;
const { version } = JSON.parse(fs.readFileSync(path.join(pkg, "package.json"), "utf8"));
const { SessionManager } = await import(pathToFileURL(path.join(pkg, "dist/index.js")));

async function report(file) {
	const objects = fs.readFileSync(file, "utf8").split("\n").flatMap((line) => {
		try { return [JSON.parse(line)]; } catch { return []; }
	}).filter((o) => o?.type !== "session");
	const r = { idsFromFile: objects.length > 0 && objects.every((o) => typeof o?.id === "string" && o.id !== "") };
	const info = (await SessionManager.list("/", path.dirname(file))).find((i) => i.path === file);
	if (info) r.list = { id: info.id, cwd: info.cwd, name: info.name, firstMessage: info.firstMessage, created: info.created, modified: info.modified, messageCount: info.messageCount };
	let sm;
	try { sm = SessionManager.open(file); } catch (e) { return { ...r, openError: String(e.message) }; }
	const entries = sm.getEntries();
	const index = new Map(entries.map((e, i) => [e.id, i]));
	const id = (v) => (v == null ? null : r.idsFromFile ? v : index.get(v) ?? null);
	Object.assign(r, {
		sessionId: sm.getSessionId(), cwd: sm.getCwd(), sessionName: sm.getSessionName() ?? null,
		entries: entries.map((e) => ({
			type: e.type, ...(r.idsFromFile ? { id: e.id, parentId: e.parentId } : { parentIndex: id(e.parentId) }),
			timestamp: e.timestamp, role: e.message?.role,
		})),
		leafId: id(sm.getLeafId()),
		labels: Object.fromEntries(entries.map((e) => [e.id, sm.getLabel(e.id)]).filter(([, l]) => l)),
		treeRoots: sm.getTree().map((n) => id(n.entry.id)),
		branch: sm.getBranch().map((e) => id(e.id)),
	});
	try { r.context = { messages: sm.buildSessionContext().messages.map((m) => ({ role: m.role })) }; } catch (e) { r.contextError = String(e.message); }
	return r;
}

if (process.argv[2]) {
	console.log(JSON.stringify(await report(process.argv[2])));
	process.exit();
}

const scratch = path.join(process.env.HOME, "truth");
fs.rmSync(scratch, { recursive: true, force: true });
const written = path.join(here, "sessions");
if (!fs.existsSync(written)) {
	let clock = Date.UTC(2026, 1, 3, 10);
	const tick = () => (clock += 1000);
	const text = (t) => [{ type: "text", text: t }];
	const user = (t) => ({ role: "user", content: text(t), timestamp: tick() });
	const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
	const reply = (content, more) => ({ role: "assistant", content, api: "openai-completions", provider: "fake", model: "m", usage, stopReason: "stop", timestamp: tick(), ...more });
	fs.mkdirSync(written, { recursive: true });
	const make = (name, fill) => {
		const dir = path.join(scratch, "made", name);
		const sm = SessionManager.create("/home/dev/" + name, dir);
		fill(sm);
		const data = fs.readFileSync(sm.getSessionFile(), "utf8").replaceAll(path.join(scratch, "made"), "/home/dev/.pi/agent/sessions");
		fs.writeFileSync(path.join(written, name + ".jsonl"), data);
		return sm;
	};
	make("plain", (sm) => {
		sm.appendModelChange("fake", "m");
		sm.appendThinkingLevelChange("high");
		sm.appendMessage(user("how do I resume a session?"));
		sm.appendMessage(reply(text("with pi --session")));
		sm.appendCustomEntry("extension", { state: ["kept", 1] });
	});
	const tree = make("tree", (sm) => {
		const first = sm.appendMessage(user("first prompt of the tree"));
		const answer = sm.appendMessage(reply([{ type: "thinking", thinking: "hm" }, ...text("left")]));
		sm.appendMessage(user("abandoned question"));
		sm.appendMessage(reply(text("abandoned answer")));
		sm.branchWithSummary(answer, "what the other branch tried");
		const kept = sm.appendMessage(user("kept question"));
		sm.appendMessage(reply([{ type: "toolCall", id: "call_1", name: "bash", arguments: { command: "ls\n-la", timeout: 5 } }], { stopReason: "toolUse" }));
		sm.appendMessage({ role: "toolResult", toolCallId: "call_1", toolName: "bash", content: text("total 0"), isError: false, timestamp: tick() });
		sm.appendCustomMessageEntry("note", "a message of an extension", true);
		sm.appendLabelChange(first, "start");
		sm.appendLabelChange(kept, "gone");
		sm.appendLabelChange(kept, undefined);
		sm.appendSessionInfo("The tree session");
		sm.appendMessage(reply(text("done")));
	});
	make("compacted", (sm) => {
		sm.appendMessage(user("old question"));
		sm.appendMessage(reply(text("old answer")));
		const kept = sm.appendMessage(user("kept question"));
		sm.appendMessage(reply(text("kept answer")));
		sm.appendCompaction("what was said before", kept, 1234);
		sm.appendMessage(user("after the compaction"));
		sm.appendMessage(reply(text("still here")));
	});
	make("clone", (sm) => {
		sm.setSessionFile(tree.getSessionFile());
		sm.createBranchedSession(sm.getLeafId());
	});
}
// Files of which pigrep knows more than pi: two objects on a line, NULs before an
// object, entries that are no objects, an entry that is there twice.
const better = ["fused", "nul", "parents", "reappended"];
let n = 0;
for (const root of [written, path.join(here, "../sessions")]) {
	for (const f of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
		if (!f.isFile() || !f.name.endsWith(".jsonl") || better.includes(path.basename(f.name, ".jsonl"))) continue;
		const file = path.join(f.parentPath ?? f.path, f.name);
		const copy = path.join(scratch, String(++n), f.name);
		fs.mkdirSync(path.dirname(copy), { recursive: true });
		fs.copyFileSync(file, copy);
		const old = new Date(Date.UTC(2026, 0, 1));
		fs.utimesSync(copy, old, old);
		const to = path.join(here, "truth", root === written ? "realpi" : "testdata", path.relative(root, file) + ".truth.json");
		let out;
		try {
			out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), copy], { cwd: scratch, timeout: 20_000, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
		} catch {
			console.log("no answer:", file);
			continue;
		}
		if (JSON.parse(out).cwd === fs.realpathSync(scratch)) {
			console.log("no session for pi, which starts one in its place:", file);
			continue;
		}
		fs.mkdirSync(path.dirname(to), { recursive: true });
		fs.writeFileSync(to, JSON.stringify({ readers: { [version]: JSON.parse(out) } }, null, 1).replaceAll(path.dirname(copy), "/home/dev") + "\n");
	}
}
console.log(`pi ${version}: ${n} files`);
