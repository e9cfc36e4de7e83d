// Drives a pi with the package in a terminal, and writes what it showed.
//
//   node drive.mjs VERSION SCRATCH CAPTURES PI...      PI... starts pi
//
// PIGREP is the program, EXTENSION the directory of the package.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { startModel } from "./stub.mjs";
import { writeSessions } from "./sessions.mjs";
import { Terminal } from "./terminal.mjs";

const [version, scratch, captures, ...pi] = process.argv.slice(2);
const { PIGREP, EXTENSION } = process.env;
const home = path.join(scratch, `home-${version}`);
fs.rmSync(home, { recursive: true, force: true });
const agent = path.join(home, ".pi/agent");
const bin = path.join(home, "bin");
fs.mkdirSync(agent, { recursive: true });
fs.mkdirSync(bin, { recursive: true });
const past = writeSessions(home);
const model = await startModel();
fs.writeFileSync(path.join(agent, "models.json"), JSON.stringify({
	providers: { stub: { baseUrl: model.url, apiKey: "none", api: "openai-completions", models: [{ id: "m", name: "m", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 100000, maxTokens: 1000 }] } },
}));
const settings = { defaultProvider: "stub", defaultModel: "m", enableInstallTelemetry: false, quietStartup: true, lastChangelogVersion: version };
const settingsFile = path.join(agent, "settings.json");
fs.writeFileSync(settingsFile, JSON.stringify(settings));

// The program as it is found: by default pigrep itself.
const program = (script) => {
	fs.writeFileSync(path.join(bin, "pigrep"), `#!/bin/sh\n${script}\n`);
	fs.chmodSync(path.join(bin, "pigrep"), 0o755);
};
const itself = `exec '${PIGREP}' "$@"`;
program(itself);
const env = {
	HOME: home, PATH: `${bin}:${path.dirname(process.execPath)}:/usr/bin:/bin`, TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8",
	PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PIGREP_CONFIG: "none", XDG_CACHE_HOME: path.join(home, "cache"), TZ: "UTC",
};
const quoted = (args) => args.map((a) => `'${a}'`).join(" ");
const extension = path.join(home, "extension");
fs.cpSync(EXTENSION, extension, { recursive: true });
execFileSync(pi[0], [...pi.slice(1), "install", extension], { env, cwd: home, stdio: "pipe" });

const t = new Terminal(env);
process.on("exit", () => t.endNow());
let pictures = 0;
async function capture(name) {
	const screen = await t.screen();
	fs.mkdirSync(captures, { recursive: true });
	fs.writeFileSync(path.join(captures, `${version}-${String(++pictures).padStart(2, "0")}-${name}.txt`), screen.replace(/\n+$/, "\n"));
	return screen;
}
function expect(what, holds, screen = "") {
	if (!holds) throw new Error(`${what}\n${screen}`);
}
const prompt = /\(stub\) m|stub\/m|\bm\b.*$/m; // pi's footer names the model
let running = false;
/** Starts pi, or goes on with the one that runs. */
async function ready() {
	if (running) return;
	await t.start(quoted(pi), past.app, 120, 36);
	await t.see(prompt, "pi's footer");
	await t.type("are you there?");
	await t.press("Enter", "the stub heard: are you there?"); // again, while pi is still starting
	running = true;
}
async function restart() {
	running = false;
	await ready();
}
/** Esc closes the overlay, whatever it says. */
async function escape() {
	await t.keys("Escape");
	await t.gone("╰");
}
let marks = 0;
/** /new, once pi has no other work and until it is done. */
async function fresh() {
	const mark = `mark ${++marks}`;
	await command(mark);
	await t.see(`the stub heard: ${mark}`);
	await command("/new");
	await t.gone(mark);
	await t.see("New session started");
}
/** pi ends at a second Ctrl-C within half a second. */
let cleared = 0;
async function clearEditor(text) {
	await new Promise((done) => setTimeout(done, cleared + 500 - Date.now()));
	await t.keys("C-c");
	await t.gone(text);
	cleared = Date.now();
}
async function command(line) {
	await t.type(line);
	await t.see(line.slice(0, 40));
	await t.keys("Enter");
}
/** The last line of the overlay, once a search is answered. */
const hits = /│ .*\d+ hits?\b.*Esc back/;
/** /search, up to its answer; what lies under the overlay may have the same words. */
async function search(query) {
	await command(`/search ${query}`);
	await t.see(hits);
}

const scenes = {
	async search() {
		await command("/search");
		await t.see("Esc back");
		await t.type("ECONNREFUSED");
		const screen = await t.see((s) => s.includes("Database refuses connections") && /pool\.connect|npm test/.test(s), "hits and the preview");
		await capture("search");
		expect("hits are counted", hits.test(screen), screen);
		await escape();
		await t.gone("Database refuses connections");
	},
	// docs/pi.svg is made of this: make pi CAPTURES=DIRECTORY, then copy it to search.ansi here.
	async picture() {
		await t.resize(116, 24);
		await fresh();
		await search("connection pool");
		await t.see(/▶ reply/);
		fs.writeFileSync(path.join(captures, `${version}-search.ansi`), await t.screen(true));
		await escape();
		await t.resize(120, 36);
	},
	async landAtTheEndOfTheTurn() {
		await search("ECONNREFUSED");
		await t.see("Database refuses connections");
		await t.keys("Enter");
		await t.see("Fixed: POOL_MAX=50 lets the tests connect");
		await t.gone("The changelog names the pool");
		await capture("landed");
		await command("/tree");
		await t.see(/now write the changelog/);
		const tree = await capture("tree");
		// The mark of the current entry is at the reply that ends the turn.
		expect("/tree is at the end of the turn", /› • assistant: Fixed: POOL_MAX=50/.test(tree), tree);
		await t.keys("Escape");
		await t.gone("Session Tree");
	},
	async landExactly() {
		await search('"pool is exhausted"');
		await t.keys("C-t");
		await t.gone("╰");
		await t.see("The pool is exhausted");
		await t.gone("Fixed: POOL_MAX=50");
		await capture("exactly");
	},
	async noSecretIsQuoted() {
		await search("quokka");
		await t.keys("Down"); // the reply
		await t.see(/▶ (reply|prompt)/);
		await t.keys("Tab");
		const screen = await t.see("(from");
		expect("the secret is masked", !screen.includes("AKIAIOSFODNN7EXAMPLE") && screen.includes("quokka"), screen);
		await capture("quote-masked");
		await clearEditor("quokka");
	},
	async quote() {
		await t.type("look here: ");
		await t.press("M-s", "Esc back");
		await t.type("lighthouse");
		await t.see(hits);
		await t.keys("Tab");
		await t.gone("╰");
		const screen = await t.see("> add a lighthouse to the harbour page");
		expect("what was typed stays", screen.includes("look here: "), screen);
		expect("where it is from", /\(from 0195\w*:\w+, \d{4}-\d\d-\d\d, "/.test(screen), screen);
		await capture("quote");
		await clearEditor("lighthouse");
	},
	async history() {
		await t.press("M-r", /prompt number 12[^]*Esc back/);
		await t.type("harbour");
		await t.see(/│ 2 prompts/);
		await capture("history");
		await t.keys("Enter");
		await t.gone("╰");
		await t.see("add a lighthouse to the harbour page");
		await capture("inserted");
		await t.keys("C-u"); // a second Ctrl-C would end pi
		await t.gone("lighthouse");
		await command("/history");
		await t.see(/prompt number 12[^]*Esc back/);
		await t.keys("M-h");
		await t.see("this project");
		await t.type("harbour");
		await t.see("nothing found");
		await escape();
	},
	async grep() {
		await command("/grep POOL_MAX=\\d+");
		await t.see(/│ 2 lines .*Esc back/); // the text under the overlay has the same words
		await capture("grep");
		await t.type("(");
		await t.see(/missing closing \)/);
		await capture("grep-error");
		await escape();
	},
	async blame() {
		await command("/blame pool.js:1-2");
		await t.see(/│ 1 of 2 lines written by sessions.*Esc back/);
		const screen = await capture("blame");
		expect("the lines and their prompt", /2 raise the limit of the pool/.test(screen), screen);
		await t.keys("Enter");
		await t.see("The limit is 50 now");
		await t.gone("╰");
		await command("/blame nowhere.js");
		await t.see("there is no file nowhere.js");
		await escape();
	},
	async recap() {
		await command("/recap");
		await t.see(/recap · this project[^]*sessions · .*files? changed.*Esc back/);
		const screen = await capture("recap");
		expect("what a session changed", /changed +pool\.js/.test(screen), screen);
		expect("how it ended", /ends +The limit is 50 now/.test(screen), screen);
		await escape();
	},
	async usage() {
		await command("/usage");
		await t.see(/since Monday[^]*╰/); // to its end
		await capture("usage");
		await t.keys("a");
		await t.see(/all time[^]*stub\/m[^]*╰/);
		await t.keys("h");
		await t.see(/all projects · all time[^]*stub\/m[^]*╰/);
		await capture("usage-all");
		await escape();
	},
	async small() {
		for (const [columns, rows] of [[60, 20], [30, 10]]) {
			await t.resize(columns, rows);
			await t.press("M-s", "search · conversations");
			await t.type("pelican");
			await t.see(/\d+ hits/);
			const screen = await capture(`${columns}x${rows}`);
			expect("no line is too long", screen.split("\n").every((l) => [...l].length <= columns), screen);
			await t.keys("Escape");
			await t.gone("search · conversations");
		}
		await t.resize(120, 36);
	},
	async turnAtWork() {
		await command("be slow please");
		await t.see("working on it");
		await search("ECONNREFUSED");
		await t.see("Database refuses connections");
		await t.keys("Enter");
		await t.see(/a turn is running/);
		await capture("turn-at-work");
		await escape();
		model.release();
		await t.see("working on it");
		await t.gone(/Working|⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/);
	},
	async twoOverlays() {
		await t.press("M-s", "Esc back");
		await t.keys("M-r");
		await t.keys("M-s");
		await t.type("walrus");
		await t.see("Vanished project");
		const screen = await t.see(hits);
		expect("one overlay", screen.split("Esc back").length === 2, screen);
		await escape();
	},
	async missingDirectory() {
		await search("walrus");
		await t.see("Vanished project");
		await t.keys("Enter");
		await t.see(/no longer exists/);
		await capture("missing-directory");
		await escape();
		const kept = fs.readFileSync(past.gone.file);
		await search("walrus");
		await t.see("Vanished project");
		fs.rmSync(past.gone.file);
		await t.keys("Enter");
		await t.see(/file is gone|no such file/);
		await capture("missing-file");
		fs.writeFileSync(past.gone.file, kept);
		await escape();
	},
	async sessionsOfOthers() { // opening one would end pi, also where the directory is gone
		for (const [query, why] of [["axolotl", /a session of claude, not of pi/], ["narwhal", /a session of codex, not of pi/], ["capybara", /pi cannot resume .*vanished/]]) {
			await search(query);
			for (let time = 1; time <= 3; time++) {
				await t.keys("Enter");
				await t.see((screen) => why.test(screen) && screen.includes("╰"), String(why));
			}
			await capture(`other-${query}`);
			await t.press("Escape", (screen) => !screen.includes("╰")); // the first may only stop the question
		}
		await command("/open 0195aaaa-1111-7222-8333-444455556661");
		await t.see(/a session of claude, not of pi/);
		await fresh();
	},
	async hostileTexts() {
		await search("zebra");
		await t.see("hostile zebra");
		const raw = await t.screen(true);
		const screen = await capture("hostile");
		expect("no character that turns the direction", !/[\u202a-\u202e\u2066-\u2069]/.test(screen), screen);
		expect("the screen was not cleared", screen.includes("Esc back"), screen);
		expect("no title was set", !(await t.tmux("display-message", "-p", "-t", "t", "#{pane_title}")).stdout.includes("owned"));
		expect("no bell, no OSC", !/\x07|\x1b\]0;/.test(raw));
		await t.keys("Tab");
		await t.see("(from");
		const quoted = await capture("hostile-quote");
		expect("the quote is clean", !/[\u202a-\u202e\x07]/.test(quoted), quoted);
		await clearEditor("zebra");
	},
	async oddFiles() {
		await t.press("M-r", /otter number 7[^]*Esc back/);
		for (const scope of ["otter", ""]) {
			await t.keys("C-u");
			await t.type(scope);
			const screen = await t.see(/│ \d+ prompts/);
			expect("no field that is absent is shown", !/undefined|Cannot read/.test(screen), screen);
		}
		await escape();
		for (const [query, name] of [["number 1", "no-heade"], ["number 2", "no-id"], ["number 3", "null-id"], ["number 4", "number-i"]]) {
			await search(`"otter ${query}"`);
			await t.keys("Tab");
			const quoted = await t.see(`(from ${name}`);
			expect("the quote names the file", !quoted.includes("undefined"), quoted);
			await clearEditor("(from");
		}
		await capture("odd-files");
		await fresh();
		await command("how did we fix otter last time?");
		await t.see(/Last time: not found/);
		const results = model.asked.at(-1).messages.filter((m) => m.role === "tool").map((m) => JSON.stringify(m.content)).slice(-2);
		expect("the model read it", results.every((r) => r.includes("otter") && !/undefined|no session/.test(r)), results.join("\n"));
	},
	async itsOwnServer() { // pi has an MCP client from 0.99.0 on
		if (Number.parseInt(version, 10) === 0) return;
		const { mcpServers } = JSON.parse(execFileSync(PIGREP, ["mcp", "--print-config", "pi"], { env }));
		mcpServers.pigrep.exposure = "direct";
		fs.writeFileSync(path.join(agent, "mcp.json"), JSON.stringify({ mcpServers }));
		await restart();
		for (let turn = 1; turn <= 2; turn++) {
			const before = model.asked.length;
			await command(`turn ${turn}: ask the server about walrus`);
			await t.see((s) => model.asked.length >= before + 2 && s.includes("the server answered 1 time"), "the answer of the server");
			const answer = JSON.stringify(model.asked.at(-1).messages.filter((m) => m.role === "tool").at(-1).content);
			expect("it found the other session", answer.includes("Vanished project"), answer);
			expect("it says that the session itself is left out", answer.includes("Your own session is left out"), answer);
			expect("it is", !answer.includes("ask the server"), answer);
		}
		fs.rmSync(path.join(agent, "mcp.json"));
		await restart();
	},
	async tools() {
		await fresh();
		const before = model.asked.length;
		await command("how did we fix ECONNREFUSED last time?");
		const screen = await t.see("Last time: POOL_MAX=50");
		await capture("tools");
		expect("both rows", /session_search/.test(screen) && /session_read/.test(screen), screen);
		const requests = model.asked.slice(before);
		expect("two calls", requests.length === 3, String(requests.length));
		const names = requests[0].tools.map((x) => x.function.name);
		expect("the model has both tools", names.includes("session_search") && names.includes("session_read"), names.join());
		const results = requests[2].messages.filter((m) => m.role === "tool").map((m) => (typeof m.content === "string" ? m.content : m.content.map((c) => c.text).join("")));
		for (const r of results) expect("1,500 tokens at most", r.length < 1500 * 4, r);
		await t.keys("C-o");
		await t.see(/\[result bash error\]/);
		await capture("tools-expanded");
		// What the tools answered is not found again, and neither is the session itself.
		await command("how did we fix ECONNREFUSED again?");
		await t.see((s) => s.split("Last time: POOL_MAX=50").length >= 2 && model.asked.length >= before + 6, "the second answer");
		const again = model.asked.at(-1).messages.filter((m) => m.role === "tool").map((m) => (typeof m.content === "string" ? m.content : m.content.map((c) => c.text).join("")));
		expect("no echo", !again.at(-2).includes("how did we fix"), again.at(-2));
		await command("how did we fix quokka");
		await t.see((s) => /Last time: not found/.test(s), "the third answer");
		const masked = JSON.stringify(model.asked.at(-1).messages);
		expect("secrets are masked", !masked.includes("AKIAIOSFODNN7EXAMPLE") && masked.includes("quokka"));
	},
	async missingPigrep() {
		fs.rmSync(path.join(bin, "pigrep"));
		try {
				await command("/search");
			await t.see(/pigrep is not installed/);
			await capture("missing-pigrep");
			await escape();
			await fresh();
			await command("how did we fix ECONNREFUSED");
			await t.see(/Last time: not found/);
			expect("the model is told", JSON.stringify(model.asked.at(-1).messages).includes("pigrep is not installed"));
		} finally {
			program(itself);
		}
	},
	async oldPigrep() {
		try {
			program(`echo '{"error":{"code":"usage","message":"unknown flag --no-searches"}}' >&2; exit 2`);
				await command("/search walrus");
			await t.see(/too old/);
			await capture("old-pigrep");
			program(`echo '{"schemaVersion":2}'`);
			await t.type("x");
			await t.see(/another version of its JSON/);
			await escape();
		} finally {
			program(itself);
		}
	},
	async slowPigrep() {
		try {
			program(`echo '{"progress":{"files":9,"bytes":2000000,"bytesTotal":8000000,"secondsLeft":3,"first":true}}' >&2; sleep 600`);
				await command("/search walrus");
			await t.see(/indexing 2\.0 of 8\.0 MB/);
			await capture("indexing");
			await t.keys("C-c");
			await t.see(/stopped/);
			await escape();
		} finally {
			program(itself);
		}
	},
	async damagedIndex() {
		try {
			program(`echo '{"error":{"code":"index-damaged","message":"the index is damaged","hint":"rebuild it: pigrep index --rebuild"}}' >&2; exit 2`);
				await command("/search walrus");
			await t.see(/pigrep index --rebuild/);
			await escape();
		} finally {
			program(itself);
		}
	},
	async piAlwaysStarts() {
		// Settings of another shape, and keys that pi does not know.
		const had = fs.readFileSync(settingsFile, "utf8");
		fs.writeFileSync(settingsFile, JSON.stringify({ ...JSON.parse(had), pigrep: { command: ["x"], keys: { search: "no+such+key", history: 7 } } }));
		await restart();
		fs.writeFileSync(settingsFile, had);
		// A pi that lacks what the package imports.
		fs.appendFileSync(path.join(extension, "src/commands.ts"), '\nimport { nothing } from "./nowhere.ts";\nnothing();\n');
		await restart();
		await t.see("pi-pigrep does not work with this pi");
		await capture("another-pi");
	},
};

let failed = 0;
const only = process.env.SCENES?.split(",");
for (const [name, scene] of Object.entries(scenes)) {
	if (only && !only.includes(name)) continue;
	const began = Date.now();
	try {
		await ready();
		await scene();
		if (process.env.VERBOSE) console.log(`pi ${version}: ${name} ${Date.now() - began} ms`);
	} catch (error) {
		failed++;
		running = false;
		console.log(`pi ${version}: ${name} FAILED: ${error.message}`);
	}
}
await t.end();
model.stop();
if (failed > 0) process.exit(1);
console.log(`pi ${version}: ${Object.keys(scenes).length} scenes pass in ${Math.round(performance.now() / 1000)} s`);
