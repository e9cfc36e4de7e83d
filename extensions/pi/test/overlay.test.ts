import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import { bySession, rows, scrollTo } from "../src/list.ts";
import { blame, grep, history, type Item, type Mode, recap, search } from "../src/modes.ts";
import { type Choice, type Host, Overlay } from "../src/overlay.ts";
import type { Paint } from "../src/paint.ts";
import { Failure, type Filters, type Hit, type Pigrep, type RunOptions, type SearchAnswer, type Session, type ShowAnswer } from "../src/pigrep.ts";

const plain = (s: string) => s;
const paint: Paint = {
	border: plain, title: plain, accent: plain, dim: plain, error: plain, warning: plain,
	mark: (s) => `«${s}»`,
	selected: plain,
};

const nasty = "\u001b]0;PWNED\u0007\u001b[31mtoken\u202e 漢字漢字 👨‍👩‍👧‍👦 \u0085\u009b2J";

function hit(session: string, n: number, text: string, more: Partial<Hit> = {}): Hit {
	return {
		type: "hit", tier: "exact", kind: "reply", sessionPath: `/s/${session}.jsonl`, sessionId: session, cwd: "/home/u/src/app",
		entryId: `e${n}`, timestamp: "2026-01-01T00:00:00Z", line: n, part: 0, fragment: { text, spans: [[0, 5]] }, ...more,
	};
}

function session(id: string): Session {
	return { sessionPath: `/s/${id}.jsonl`, sessionId: id, name: `Title of ${id} ${nasty}`, cwd: "/home/u/src/app", messages: 2, firstPrompt: nasty };
}

// Of a file without header, and of one whose entries have neither id nor time; what is broken is left out.
const bare: Session = { sessionPath: "/s/no-header.jsonl", shortId: "no-header" };
const odd = [
	{ type: "hit", tier: "exact", kind: "reply", sessionPath: "/s/no-header.jsonl", line: 1, offset: 7, part: 0, fragment: { text: "token odd" } },
	{ type: "hit", sessionPath: "/s/broken.jsonl", line: 1 },
	{},
] as unknown as Hit[];
const hits = [hit("a", 1, "token one"), hit("b", 2, `token ${nasty}`), hit("a", 3, `token ${"漢字".repeat(200)}`, { isError: true, tool: "bash" })];

interface Asked {
	what: string;
	query: string;
	filters: Filters;
}

/** A client whose answers are at hand. */
class Client {
	masked = async (target: string) => {
		const answer = await this.show(target);
		return { ...answer, entries: answer.entries.map((e) => ({ ...e, parts: e.parts.map((p) => ({ ...p, text: `masked ${p.text}` })) })) };
	};
	roots = async () => ["/home/u/.pi/agent/sessions"];
	noSessions = false;
	asked: Asked[] = [];
	fails: Failure | undefined;
	never = false;

	private async answer<T>(what: string, query: string, filters: Filters, options: RunOptions, value: T): Promise<T> {
		this.asked.push({ what, query, filters });
		if (this.never) return new Promise((_, fail) => options.signal?.addEventListener("abort", () => fail(new Failure("stopped", "Stopped"))));
		if (this.fails) throw this.fails;
		return value;
	}

	search(query: string, filters: Filters, options: RunOptions) {
		const found = query === "none" ? [] : [...hits, ...odd];
		const value: SearchAnswer = { schemaVersion: 1, hits: found, sessions: [session("a"), session("b")], total: Math.min(found.length, 3), totalAny: Math.min(found.length, 3) };
		return this.answer("search", query, filters, options, value);
	}

	prompts(query: string, filters: Filters, options: RunOptions) {
		const value = { schemaVersion: 1, hits: [...odd, ...hits, hit("c", 9, "token one")], total: 4, totalAny: 4 };
		return this.answer("prompts", query, filters, options, value);
	}

	grep(query: string, filters: Filters, options: RunOptions) {
		const matches = [...hits, ...odd].map((h) => ({ ...h, type: "match", text: h.fragment?.text, spans: h.fragment?.spans }));
		return this.answer("grep", query, filters, options, { schemaVersion: 1, matches, total: 3 });
	}

	blame(query: string, filters: Filters, options: RunOptions) {
		const by = { ...hits[0], type: "blame", prompt: { text: `raise it ${nasty}` }, lines: [nasty] };
		const blocks = [{ ...by, from: 1, to: 3, match: "exact" }, { type: "blame", from: 4, to: 4, match: "none", lines: [""] }, { ...by, from: 5, to: 5, match: "alike", prompt: undefined }];
		return this.answer("blame", query, filters, options, { schemaVersion: 1, blocks, total: 5, written: 4 });
	}

	recap(query: string, filters: Filters, options: RunOptions) {
		const at = { line: 3, offset: 200, entryId: "e2" };
		const facts = [
			{ what: "changed", ...at, text: `/p/src/漢字 ${nasty}.go`, edits: 2, writes: 1 },
			{ what: "failed", ...at, text: "go test", error: `boom ${nasty}` },
			{ what: "failed", ...at, text: "make", error: "no rule", passed: {} },
			{ what: "commit", ...at, text: "raise it", hash: "1507f8b", sessionPath: "/s/sub.jsonl", sessionId: "sub" },
			{ what: "open", ...at, entryId: undefined, text: "and the docs?" },
		];
		const sessions = [{ ...session("b"), cwd: "/p", facts }, { ...bare, facts: facts.slice(4) }, { ...session("a"), cwd: "/p", facts: [] }];
		return this.answer("recap", query, filters, options, { schemaVersion: 1, sessions, total: 3, files: 1 });
	}

	sessions(filters: Filters, options: RunOptions) {
		const list = this.noSessions ? [] : [session("a"), session("b"), bare];
		return this.answer("sessions", "", filters, options, { schemaVersion: 1, sessions: list, total: this.noSessions ? 0 : 2 });
	}

	async show(target: string): Promise<ShowAnswer> {
		const entry = (id: string, text: string, focus: boolean) => ({
			entryId: id, entryType: "message", line: 1, role: "assistant", focus, timestamp: "2026-01-01T00:00:00Z", parts: [{ part: 0, kind: "reply", text }],
		});
		const id = target.split(":")[1] ?? "";
		const long = `the whole text\n${nasty}\n${"line\n".repeat(40)}`;
		return { schemaVersion: 1, session: session("a"), entries: [entry("e0", long, false), entry(id, `${long}token`, true), entry("e9", long, false)] };
	}
}

class Desk {
	client = new Client();
	choice: Choice | undefined | "open" = "open";
	warning: string | undefined;
	slow = false;
	overlay: Overlay;

	columns = 80;
	lines = 24;

	constructor(mode: Mode, query: string) {
		const host: Host = {
			client: this.client as unknown as Pigrep,
			cwd: "/home/u/src/app",
			paint,
			rows: () => this.lines,
			redraw: () => {},
			check: (_item, signal) =>
				this.slow ? new Promise((_, fail) => signal.addEventListener("abort", () => fail(new Failure("stopped", "Stopped")))) : Promise.resolve({ warning: this.warning }),
			copyCommand: async () => "cd /x && pi --session y",
			done: (choice) => {
				this.choice = choice;
			},
		};
		this.overlay = new Overlay(host, mode, query);
		open.push(this.overlay);
	}

	/** The entry whose session is to be opened. */
	get opened(): string | undefined {
		return typeof this.choice === "object" && this.choice.action === "open" ? this.choice.item.at.entryId : undefined;
	}

	get screen(): string {
		return this.overlay.render(this.columns).join("\n");
	}

	/** Waits until the screen shows it. */
	async shows(pattern: RegExp): Promise<string> {
		for (let i = 0; i < 200; i++) {
			if (pattern.test(this.screen)) return this.screen;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
		assert.match(this.screen, pattern);
		return "";
	}

	async key(data: string): Promise<void> {
		this.overlay.handleInput(data);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

const open: Overlay[] = [];
afterEach(() => {
	for (const overlay of open.splice(0)) overlay.dispose();
});
after(() => assert.equal(open.length, 0));

const keys = { enter: "\r", escape: "\x1b", down: "\x1b[B", up: "\x1b[A", ctrlT: "\x14", ctrlO: "\x0f", ctrlS: "\x13", ctrlC: "\x03", tab: "\t", altH: "\x1bh", f9: "\x1b[20~", f1: "\x1bOP" };

test("at any size no row is wider than the terminal, none is too many, and nothing hostile is shown", async () => {
	for (const [mode, query] of [[search, "token"], [search, ""], [grep, "tok"], [history, ""], [blame, "a.go:1"], [recap, ""]] as const) {
		const desk = new Desk(mode, query);
		await desk.shows(/漢字/);
		for (const zoom of [false, true]) {
			if (zoom) await desk.key(keys.f9);
			for (desk.columns = 8; desk.columns < 170; desk.columns += 7)
				for (desk.lines = 4; desk.lines < 60; desk.lines += 9) {
					const drawn = desk.overlay.render(desk.columns);
					assert.ok(drawn.length <= desk.lines, `${drawn.length} rows of ${desk.lines}`);
					for (const line of drawn) {
						const text = line.replaceAll(/[«»]/g, "");
						assert.ok(visibleWidth(text) <= desk.columns, `${desk.columns}x${desk.lines} ${visibleWidth(text)}: ${JSON.stringify(line)}`);
						// The query line has the cursor of pi's own input.
						if (!line.includes("> ")) assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f\u202e]/, JSON.stringify(line));
					}
				}
		}
	}
});

test("hits are under the title of their session, with the words marked", async () => {
	const screen = await new Desk(search, "token").shows(/3 hits/);
	const lines = screen.split("\n").map((l) => l.slice(2, 40).trim());
	const at = lines.findIndex((l) => l.startsWith("Title of a"));
	assert.match(lines[at + 1] ?? "", /^▌ reply «token» one/);
	assert.match(lines[at + 2] ?? "", /^reply ✗ «token»/);
	assert.match(lines[at + 3] ?? "", /^Title of b/);
});

test("lines of a file have the prompt that asked for them; those that no session wrote are counted", async () => {
	const screen = await new Desk(blame, " a.go:1-5 ").shows(/4 of 5 lines written by sessions/);
	assert.match(screen, /«1-3» raise it/);
	assert.match(screen, /«5 \(a similar line\)» a/);
	assert.doesNotMatch(screen, /«4/);
	await new Desk(blame, "").shows(/type FILE, FILE:LINE or FILE:LINE-LINE/);
});

test("a recap has the facts of the latest session first, of this project unless all are asked for", async () => {
	const desk = new Desk(recap, "");
	const screen = await desk.shows(/3 sessions · 1 file changed/);
	assert.match(screen, /Title of b[^]*changed[^]*src\/漢字[^]*\.go · 3×[^]*✗ go test: boom[^]*→ never passed[^]*make: no rule → passed later[^]*1507f8b raise it[^]*open[^]*and the docs/);
	assert.doesNotMatch(screen, /Title of a/);
	assert.match(screen, /recap · this project/);
});

test("the preview is the conversation around the selected hit, at its first marked word", async () => {
	const screen = await new Desk(search, "token").shows(/▶/);
	assert.match(screen, /▶ reply/);
	assert.match(screen, /«token»/);
});

test("without a query there are the latest sessions; only a prompt or a pattern is asked as it is typed", async () => {
	const desk = new Desk(search, "");
	await desk.shows(/2 sessions/);
	for (const c of "tok") desk.overlay.handleInput(c);
	await desk.shows(/3 hits/);
	assert.deepEqual(desk.client.asked.map((a) => `${a.what} ${a.query}`), ["sessions ", "search tok"]);
});

test("scope and project are asked for", async () => {
	const desk = new Desk(search, "token");
	await desk.shows(/3 hits/);
	await desk.key(keys.ctrlS);
	await desk.key(keys.altH);
	await desk.shows(/search · prompts · this project/);
	await new Promise((resolve) => setTimeout(resolve, 20));
	assert.deepEqual(desk.client.asked.at(-1), { what: "search", query: "token", filters: { scope: "prompts", cwd: "/home/u/src/app", limit: 30, searches: false } });
	await desk.key(keys.ctrlS);
	await desk.shows(/search · all/);
	await new Promise((resolve) => setTimeout(resolve, 20));
	assert.equal(desk.client.asked.at(-1)?.filters.searches, undefined, "all is all");
});

test("Enter opens the session at the end of the turn, Ctrl-T at the entry", async () => {
	for (const [key, exactly] of [[keys.enter, false], [keys.ctrlT, true]] as const) {
		const desk = new Desk(search, "token");
		await desk.shows(/3 hits/);
		await desk.key(keys.down);
		await desk.key(key);
		assert.ok(typeof desk.choice === "object" && desk.choice.action === "open");
		assert.equal(desk.choice.item.at.entryId, "e3");
		assert.equal(desk.choice.exactly, exactly);
	}
});

test("a warning comes before, and Enter again means it; another hit is warned of again", async () => {
	const desk = new Desk(search, "token");
	desk.warning = "a turn is running";
	await desk.shows(/3 hits/);
	await desk.key(keys.enter);
	await desk.shows(/a turn is running; press Enter again/);
	assert.equal(desk.choice, "open");
	await desk.key(keys.down);
	await desk.key(keys.enter);
	assert.equal(desk.choice, "open");
	await desk.key(keys.enter);
	assert.ok(typeof desk.choice === "object");
});

test("Enter right after the last key opens what that finds, and another key takes it back", async () => {
	const desk = new Desk(search, "");
	await desk.shows(/2 sessions/);
	desk.overlay.handleInput("x");
	await desk.key(keys.enter);
	assert.equal(desk.choice, "open", "not a session of the old list");
	for (let i = 0; i < 100 && desk.choice === "open"; i++) await new Promise((resolve) => setTimeout(resolve, 10));
	assert.equal(desk.opened, "e1");
	const other = new Desk(search, "");
	await other.shows(/2 sessions/);
	other.overlay.handleInput("x");
	other.overlay.handleInput(keys.enter);
	other.overlay.handleInput("y");
	await other.shows(/3 hits/);
	assert.equal(other.choice, "open");
});

test("a check that takes long is stopped by Esc, and the overlay stays", async () => {
	const desk = new Desk(search, "token");
	desk.slow = true;
	await desk.shows(/3 hits/);
	await desk.key(keys.enter);
	await desk.shows(/one moment · Esc stops/);
	await desk.key("x");
	await desk.key(keys.escape);
	await desk.shows(/Stopped/);
	assert.equal(desk.choice, "open");
	assert.match(desk.screen, /> token/, "other keys wait");
});

test("Tab quotes the whole text with where it is from; Enter in the history inserts it", async () => {
	const desk = new Desk(search, "token");
	await desk.shows(/3 hits/);
	await desk.key(keys.tab);
	assert.ok(typeof desk.choice === "object" && desk.choice.action === "quote");
	assert.match(desk.choice.text, /^> masked the whole text\n> token 漢字漢字/);
	assert.match(desk.choice.text, /\n\(from a:e1, 2026-01-01, "Title of a [^"]*"\)\n$/);
	const prompts = new Desk(history, "");
	await prompts.shows(/4 prompts/);
	assert.equal(prompts.screen.match(/token/g)?.length, 6, "the same prompt is listed once");
	await prompts.key(keys.enter);
	assert.ok(typeof prompts.choice === "object" && prompts.choice.action === "insert");
	assert.match(prompts.choice.text, /^the whole text\ntoken/);
	for (const { text } of [desk.choice, prompts.choice]) assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
});

test("Ctrl-O copies the command and stays", async () => {
	const desk = new Desk(search, "token");
	await desk.shows(/3 hits/);
	await desk.key(keys.ctrlO);
	await desk.shows(/copied: cd \/x && pi --session y/);
	assert.equal(desk.choice, "open");
});

test("a slow answer shows that it works, and Ctrl-C stops it; Esc goes back at once", async () => {
	const desk = new Desk(search, "");
	await desk.shows(/2 sessions/);
	desk.client.never = true;
	await desk.key("x");
	await desk.shows(/searching.*\^C stops/);
	await desk.key(keys.ctrlC);
	await desk.shows(/stopped/);
	assert.equal(desk.choice, "open");
	await desk.key(keys.escape);
	assert.equal(desk.choice, undefined);
});

test("a failure is said with its hint; one of a pattern leaves what was found", async () => {
	const missing = new Desk(search, "");
	missing.client.fails = new Failure("missing", "pigrep is not installed", "put it on the PATH");
	await missing.key("x");
	await missing.shows(/pigrep is not installed; put it on the PATH/);
	const desk = new Desk(grep, "tok");
	await desk.shows(/3 lines/);
	desk.client.fails = new Failure("query", "missing closing )", "add -F");
	await desk.key("(");
	await desk.shows(/missing closing \); to search for it literally, write it between \\Q/);
	assert.match(desk.screen, /«token» one/);
});

test("where nothing is found it says so, and that only this project was searched", async () => {
	const desk = new Desk(search, "none");
	await desk.shows(/nothing found/);
	await desk.key(keys.enter);
	assert.equal(desk.choice, "open");
	await desk.key(keys.altH);
	await desk.shows(/only this project was searched; Alt-H searches all/);
});

test("an odd file costs at most its own row", async () => {
	for (const [mode, query] of [[search, "token"], [search, ""], [grep, "tok"], [history, ""]] as const) {
		const desk = new Desk(mode, query);
		await desk.shows(/Title of a|token odd/);
		assert.doesNotMatch(desk.screen, /undefined|null|NaN|Cannot read|pigrep:/);
		if (query) assert.match(desk.screen, /no-header/);
	}
	const desk = new Desk(history, "");
	await desk.shows(/4 prompts/);
	await desk.key(keys.tab);
	assert.ok(typeof desk.choice === "object" && desk.choice.action === "quote");
	assert.match(desk.choice.text, /^> masked the whole text/);
});

test("where there are no sessions it says where it looked", async () => {
	const desk = new Desk(search, "");
	desk.client.noSessions = true;
	await desk.shows(/no sessions yet; looked in \/home\/u\/\.pi\/agent\/sessions/);
});

test("the keys are listed at any width", async () => {
	const desk = new Desk(search, "token");
	for (const columns of [30, 40, 60, 80, 130]) {
		desk.columns = columns;
		await desk.shows(/F1 keys/);
		await desk.key(keys.f1);
		for (const key of ["Enter", "Ctrl-T", "Tab", "F6", "F9", "Esc"]) assert.match(desk.screen, new RegExp(key), `${columns}`);
		await desk.key("x");
		assert.match(desk.screen, /> token/, "the key only goes back");
	}
});

test("a hit shows its date", async () => {
	const screen = await new Desk(search, "token").shows(/3 hits/);
	assert.match(screen, /one +1 Jan/);
});

test("hits in the earlier files of a session stand under its one title", async () => {
	const hits = [{ ...hit("a", 1, "x"), sessionId: "one" }, { ...hit("b", 2, "x"), sessionId: "two" }, { ...hit("older", 3, "x"), sessionId: "one" }];
	const sessions = [{ ...session("a"), sessionId: "one" }, { ...session("b"), sessionId: "two" }];
	const client = { search: async () => ({ schemaVersion: 1, hits, sessions, total: 3, totalAny: 3 }) } as unknown as Pigrep;
	const results = await search.find(client, "x", {} as Filters, {} as RunOptions);
	const list = rows({ ...results, items: bySession(results.items) });
	assert.deepEqual(list.map((r) => r.title), [true, false, false, true, false]);
});

test("the selected row is always in sight, and its title if there is room", () => {
	const items = Array.from({ length: 40 }, (_, i): Item => ({ at: hit(`s${Math.floor(i / 3)}`, i, "x"), title: "t", text: { text: "x", ranges: [] } }));
	const list = rows({ items: bySession(items), grouped: true, summary: "", notes: [] });
	assert.equal(list.length, 40 + 14);
	for (let height = 1; height < 20; height++) {
		let top = 0;
		for (const selected of [...items.keys(), ...[...items.keys()].reverse(), 20, 0, 39]) {
			top = scrollTo(list, selected, top, height);
			const at = list.findIndex((r) => r.item === selected && !r.title);
			assert.ok(at >= top && at < top + height);
			if (height > 1 && list[at - 1]?.title) assert.ok(at - 1 >= top);
			assert.ok(top + height <= Math.max(list.length, height));
		}
	}
});
