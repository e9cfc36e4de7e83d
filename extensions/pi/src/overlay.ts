/** The overlay: a query, what it finds, and the conversation around what is selected. */
import { type Focusable, Input, matchesKey } from "@earendil-works/pi-tui";
import { sourceOf } from "./answers.ts";
import { Asker, asFailure } from "./asker.ts";
import { cleanLine, cleanText } from "./clean.ts";
import { layout, rowsOf } from "./layout.ts";
import { bySession, renderList, rows, scrollTo } from "./list.ts";
import { type Item, type Mode, plural, type Results } from "./modes.ts";
import type { Check } from "./open.ts";
import type { Paint } from "./paint.ts";
import type { Failure, Filters, Pigrep, ShowAnswer } from "./pigrep.ts";
import { locate, type Preview, preview, renderPreview, shortPreview, startOf } from "./preview.ts";
import { ends, type Piece, row, wrap } from "./text.ts";

export type Choice =
	| { action: "open"; item: Item; exactly: boolean }
	| { action: "insert"; text: string }
	| { action: "quote"; text: string };

/** What the overlay needs of pi. */
export interface Host {
	client: Pigrep;
	cwd: string;
	paint: Paint;
	/** Rows of the terminal. */
	rows(): number;
	redraw(): void;
	/** What pi needs to open the session. */
	check(item: Item, signal: AbortSignal): Promise<Check>;
	/** The command that resumes the session goes to the clipboard. */
	copyCommand(item: Item, signal: AbortSignal): Promise<string>;
	done(choice: Choice | undefined): void;
}

const keysRest = 80; // ms
const selectionRests = 50;
const noticeAfter = 150;
const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const quoteLimit = 2000;
const previewsKept = 40;

/** What a key does with the selected item. */
type Action = (item: Item, signal: AbortSignal) => Promise<void>;

/** The middle of a text that is too long to quote: what is around a character. */
function around(text: string, at: number): string {
	if (text.length <= quoteLimit) return text;
	const from = Math.max(0, Math.min(at - quoteLimit / 2, text.length - quoteLimit));
	const piece = text.slice(from, from + quoteLimit).toWellFormed().trim();
	return `${from > 0 ? "…" : ""}${piece}${from + quoteLimit < text.length ? "…" : ""}`;
}

function keysOf(mode: Mode): [string, string][] {
	return [
		["Enter", mode.inserts ? "put the prompt into the editor" : "open the session at the end of the turn"],
		["Ctrl-T", "open it exactly at the entry"],
		["Tab", "quote the text and its source"],
		["Ctrl-O", "copy the command that resumes it"],
		...(mode.scopes.length > 1 ? ([["Ctrl-S", `next scope: ${mode.scopes.join(", ")}`]] as [string, string][]) : []),
		["F6, Alt-H", "this project, or all"],
		["F9, Alt-Z", "the preview alone, and back"],
		["Shift-↑, Shift-↓", "scroll the preview"],
		["Ctrl-C", "stop a long search"],
		["Esc", "back, with everything as it was"],
	];
}

const nothing: Results = { items: [], grouped: true, summary: "", notes: [] };

export class Overlay implements Focusable {
	private readonly host: Host;
	private readonly mode: Mode;
	private readonly input = new Input();
	private readonly asker: Asker<Results>;
	private readonly reader: Asker<{ key: string; answer: ShowAnswer }>;
	private readonly ticker: NodeJS.Timeout;

	private query = "";
	private scope = 0;
	private here: boolean;
	private results = nothing;
	private selected = 0;
	private top = 0;
	private failure: Failure | undefined;
	/** What the last key has to say, until the next one. */
	private message: { text: string; style: keyof Paint } | undefined;
	/** The item whose warning has been shown: Enter again means it. */
	private warned: Item | undefined;
	private acting: AbortController | undefined;
	/** What a key wants to do with the best item of an answer that is not there yet. */
	private wanted: Action | undefined;
	private zoomed = false;
	/** The keys are listed in place of everything else. */
	private helping = false;
	private readonly read = new Map<string, ShowAnswer | Failure>();
	private shown: { item: Item | undefined; width: number; answer?: ShowAnswer; preview: Preview } | undefined;
	private scrolled = 0;

	constructor(host: Host, mode: Mode, query: string) {
		this.host = host;
		this.mode = mode;
		this.here = mode.here ?? false;
		this.asker = new Asker<Results>(
			(results) => this.show(results),
			(failure) => this.fail(failure),
		);
		this.reader = new Asker<{ key: string; answer: ShowAnswer }>(
			({ key, answer }) => this.keep(key, answer),
			(failure) => this.keep(this.key(this.item) ?? "", failure),
		);
		this.ticker = setInterval(() => {
			if (this.asker.since !== undefined || this.acting) host.redraw();
		}, 100);
		// As a paste, so that the cursor is behind it.
		if (query) this.input.handleInput(`\x1b[200~${cleanLine(query)}\x1b[201~`);
		this.query = this.input.getValue();
		this.ask(0);
	}

	get focused(): boolean {
		return this.input.focused;
	}

	set focused(value: boolean) {
		this.input.focused = value;
	}

	dispose(): void {
		clearInterval(this.ticker);
		this.acting?.abort();
		this.asker.stop();
		this.reader.stop();
	}

	invalidate(): void {
		this.shown = undefined;
	}

	// ---- asking

	private ask(delay: number): void {
		const { client, cwd } = this.host;
		const filters: Filters = { scope: this.mode.scopes[this.scope], cwd: this.here ? cwd : undefined };
		const query = this.query;
		this.asker.ask((signal, progress) => this.mode.find(client, query, filters, { signal, cwd, progress }), delay);
	}

	private show(results: Results): void {
		this.failure = undefined;
		this.results = results.grouped ? { ...results, items: bySession(results.items) } : results;
		this.select(0);
		if (this.wanted) this.act(this.wanted);
		this.host.redraw();
	}

	private fail(failure: Failure): void {
		// While a pattern is being typed it is often not valid; what was found stays.
		if (failure.kind !== "query") this.results = nothing;
		this.failure = failure;
		this.host.redraw();
	}

	private get item(): Item | undefined {
		return this.results.items[this.selected];
	}

	/** Entries of the first file format have no id, but an offset. */
	private key(item: Item | undefined): string | undefined {
		if (!item) return undefined;
		const { sessionPath, entryId, offset } = item.at;
		return entryId ? `${sessionPath}:${entryId}` : offset === undefined ? undefined : `${sessionPath}:@${offset}`;
	}

	private select(index: number): void {
		this.selected = Math.max(0, Math.min(index, this.results.items.length - 1));
		this.warned = undefined;
		const key = this.key(this.item);
		if (!key || this.read.has(key)) return;
		const { client, cwd } = this.host;
		const read = async (signal: AbortSignal) => ({ key, answer: await client.show(key, 3, { signal, cwd }) });
		this.reader.ask(read, selectionRests);
	}

	private keep(key: string, answer: ShowAnswer | Failure): void {
		const [oldest] = this.read.keys();
		if (oldest !== undefined && this.read.size >= previewsKept) this.read.delete(oldest);
		this.read.set(key, answer);
		this.host.redraw();
	}

	// ---- keys

	handleInput(data: string): void {
		if (this.acting) {
			if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) this.acting.abort();
			return;
		}
		this.message = undefined;
		this.wanted = undefined;
		if (this.helping || matchesKey(data, "f1") || matchesKey(data, "alt+k")) {
			this.helping = !this.helping;
			this.host.redraw();
			return;
		}
		try {
			if (!this.handleKey(data)) this.type(data);
		} catch (error) {
			this.say(asFailure(error).sentence, "error");
		}
		this.host.redraw();
	}

	private type(data: string): void {
		this.input.handleInput(data);
		const query = this.input.getValue();
		if (query === this.query) return;
		this.query = query;
		this.ask(keysRest);
	}

	private handleKey(data: string): boolean {
		const is = (...keys: Parameters<typeof matchesKey>[1][]) => keys.some((k) => matchesKey(data, k));
		const page = Math.max(1, Math.floor(this.host.rows() / 3));
		if (is("escape")) {
			if (this.zoomed && this.item) this.zoomed = false;
			else this.host.done(undefined);
		} else if (is("ctrl+c")) {
			if (this.asker.since === undefined) this.host.done(undefined);
			else {
				this.asker.stop();
				this.say("stopped; the answer is that of an earlier query", "warning");
			}
		} else if (is("up", "ctrl+p")) this.select(this.selected - 1);
		else if (is("down", "ctrl+n")) this.select(this.selected + 1);
		else if (is("pageUp")) this.select(this.selected - page);
		else if (is("pageDown")) this.select(this.selected + page);
		else if (is("shift+up")) this.scrolled -= 3;
		else if (is("shift+down")) this.scrolled += 3;
		else if (is("f9", "alt+z")) this.zoomed = !this.zoomed;
		else if (is("ctrl+s")) {
			this.scope = (this.scope + 1) % this.mode.scopes.length;
			this.ask(0);
		} else if (is("alt+h", "f6")) {
			this.here = !this.here;
			this.ask(0);
		} else if (is("enter", "return")) this.act((item, signal) => (this.mode.inserts ? this.insert(item, signal) : this.open(item, false, signal)));
		else if (is("ctrl+t")) this.act((item, signal) => this.open(item, true, signal));
		else if (is("tab")) this.act((item, signal) => this.quote(item, signal));
		else if (is("ctrl+o"))
			this.act(async (item, signal) => this.say(`copied: ${await this.host.copyCommand(item, signal)}`, "dim"));
		else return false;
		return true;
	}

	private say(text: string, style: keyof Paint): void {
		this.message = { text: cleanLine(text), style };
	}

	/** Other keys wait until it is done, but for those that stop it. Who types and presses Enter at once means the answer to come. */
	private act(action: Action): void {
		this.wanted = this.asker.since === undefined ? undefined : action;
		const item = this.item;
		if (!item || this.wanted) return;
		const controller = new AbortController();
		this.acting = controller;
		action(item, controller.signal)
			.catch((error: unknown) => this.say(asFailure(error).sentence, controller.signal.aborted ? "dim" : "error"))
			.finally(() => {
				this.acting = undefined;
				this.host.redraw();
			});
	}

	private async open(item: Item, exactly: boolean, signal: AbortSignal): Promise<void> {
		const check = await this.host.check(item, signal);
		if (check.warning && this.warned !== item) {
			this.warned = item;
			this.say(`${check.warning}; press ${exactly ? "Ctrl-T" : "Enter"} again to open it anyway`, "warning");
		} else this.host.done({ action: "open", item, exactly });
	}

	private async insert(item: Item, signal: AbortSignal): Promise<void> {
		this.host.done({ action: "insert", text: await this.textOf(item, signal) });
	}

	private async quote(item: Item, signal: AbortSignal): Promise<void> {
		const key = this.key(item);
		const { session, entries } = await this.host.client.masked(key ?? item.at.sessionPath, key !== undefined, { signal, cwd: this.host.cwd });
		const entry = entries.find((e) => e.focus) ?? entries[0];
		const parts = entry?.parts ?? [];
		const whole = cleanText((parts.find((p) => p.part === item.at.part) ?? parts[0])?.text ?? "").trim();
		const quoted = around(whole, locate(whole, item.text)).split("\n").map((line) => `> ${line}`.trimEnd());
		this.host.done({ action: "quote", text: `${quoted.join("\n")}\n(from ${sourceOf(session, entry)})\n` });
	}

	/** The whole text of what an item shows a piece of. */
	private async textOf(item: Item, signal: AbortSignal): Promise<string> {
		const key = this.key(item);
		if (!key) return cleanText(item.session?.firstPrompt ?? item.text.text);
		const { entries } = await this.host.client.show(key, 0, { signal, cwd: this.host.cwd });
		const parts = entries.find((e) => e.focus)?.parts ?? [];
		return cleanText(parts.find((p) => p.part === item.at.part)?.text ?? item.text.text);
	}

	// ---- drawing

	/** An exception while drawing would end pi. */
	render(width: number): string[] {
		try {
			return this.draw(width);
		} catch (error) {
			return [row([{ text: `pigrep: ${asFailure(error).message}`, style: this.host.paint.error }], width)];
		}
	}

	private draw(width: number): string[] {
		const height = rowsOf(this.host.rows());
		const paint = this.host.paint;
		if (this.helping) return this.help(width, height);
		const inner = layout(width, height, 1, false).inner;
		const status = this.status(inner, height >= 16 ? 3 : 2);
		const l = layout(width, height, status.length, this.zoomed && this.item !== undefined);
		const now = Date.now();

		const body: string[] = [];
		const list = rows(this.results);
		this.top = scrollTo(list, this.selected, this.top, l.list.height);
		const left =
			this.results.items.length > 0
				? renderList(this.results, this.selected, this.top, l.list.width, l.list.height, paint, now)
				: this.empty(l.list.width, l.list.height);
		if (l.preview?.beside) {
			const right = this.preview(l.preview.width, l.preview.height);
			for (const [i, line] of left.entries()) body.push(`${line} ${paint.border("│")} ${right[i]}`);
		} else {
			body.push(...left.slice(0, l.list.height));
			if (l.preview && l.list.height > 0) body.push(paint.border("─".repeat(l.inner)));
			if (l.preview) body.push(...this.preview(l.preview.width, l.preview.height));
		}

		const queryLine = this.input.render(l.inner)[0] ?? "";
		const where = [this.mode.scopes.length > 1 ? this.mode.scopes[this.scope] : "", this.here ? "this project" : "all projects"];
		const title = [this.mode.name, ...where].filter(Boolean).join(" · ");
		const rule = (size: number) => {
			const name = title.length > size - 4 ? `${title.slice(0, size - 5)}…` : title;
			return `${paint.border("─")} ${paint.dim(name)} ${paint.border("─".repeat(size - name.length - 3))}`;
		};
		if (!l.framed) return [queryLine, rule(l.inner), ...body, ...status].slice(0, height);
		const side = (line: string) => `${paint.border("│")} ${line} ${paint.border("│")}`;
		return [
			`${paint.border("╭")}${rule(width - 2)}${paint.border("╮")}`,
			side(queryLine),
			`${paint.border(`├${"─".repeat(width - 2)}┤`)}`,
			...body.map(side),
			...status.map(side),
			paint.border(`╰${"─".repeat(width - 2)}╯`),
		];
	}

	/** The keys, each with what it does. */
	private help(width: number, height: number): string[] {
		const lines = [["Keys", "any key goes back"], ["", ""], ...keysOf(this.mode)].map(([key = "", use = ""]) =>
			row([{ text: ` ${key.padEnd(16)}`, style: this.host.paint.accent }, { text: use }], width),
		);
		return [...lines, ...Array<string>(height).fill(" ".repeat(width))].slice(0, height);
	}

	/** What is said where there is no list. */
	private empty(width: number, height: number): string[] {
		const lines: string[] = [];
		if (!this.failure && this.asker.since === undefined) {
			const none = this.query.trim() && this.results !== nothing ? ["nothing found"] : [];
			if (this.here && this.results !== nothing && !this.query.trim()) none.push("no sessions of this project");
			const elsewhere = none.length > 0 && this.here ? ["only this project was searched; Alt-H searches all"] : [];
			for (const note of [...none, ...this.results.notes, ...elsewhere])
				for (const [from, to] of wrap(note, width - 2, height)) lines.push(`  ${note.slice(from, to)}`);
		}
		return Array.from({ length: height }, (_, i) => row([{ text: lines[i] ?? "", style: this.host.paint.dim }], width));
	}

	private preview(width: number, height: number): string[] {
		const item = this.item;
		const paint = this.host.paint;
		const read = this.read.get(this.key(item) ?? "");
		const answer = read && "entries" in read ? read : undefined;
		if (this.shown?.item !== item || this.shown?.width !== width || this.shown?.answer !== answer) {
			const built = !item
				? { lines: [], entry: 0, match: 0 }
				: answer
					? preview(answer, item, width, paint)
					: shortPreview(item, width, paint);
			if (read && !answer) {
				const text = (read as Failure).sentence;
				built.lines.unshift(...wrap(text, width, 4).map(([a, b]): Piece[] => [{ text: text.slice(a, b), style: paint.warning }]), []);
			}
			this.shown = { item, width, answer, preview: built };
			this.scrolled = 0;
		}
		const p = this.shown.preview;
		const start = startOf(p, height);
		const last = Math.max(0, p.lines.length - height);
		this.scrolled = Math.max(-start, Math.min(this.scrolled, last - start));
		return renderPreview(p, start + this.scrolled, width, height);
	}

	private status(width: number, most: number): string[] {
		const paint = this.host.paint;
		const text = (s: string, style: keyof Paint) =>
			wrap(s, width, most).map(([from, to]) => row([{ text: s.slice(from, to), style: paint[style] }], width));
		if (this.message) return text(this.message.text, this.message.style);
		const waiting = this.waiting();
		if (waiting) return [row([{ text: waiting, style: paint.accent }], width)];
		if (this.failure) return text(this.failure.sentence, this.failure.kind === "query" ? "warning" : "error");
		const { summary, index, notes, items } = this.results;
		const behind = index && !index.complete ? `${plural(index.pendingFiles, "file")} not indexed yet` : "";
		const left = [summary, behind, ...(items.length > 0 ? notes : [])].filter(Boolean).join(" · ");
		return [ends([{ text: left, style: behind ? paint.warning : paint.dim }], this.hints(width - Math.max(left.length, 12) - 2), width)];
	}

	/** Which keys there are, as many as fit: first of all the one that lists them. */
	private hints(width: number): Piece[] {
		const all = [
			...(width < 60 ? ["F1 keys"] : []),
			this.mode.inserts ? "Enter insert" : "Enter open",
			"Esc back",
			...(width < 60 ? [] : ["F1 keys"]),
			this.mode.inserts ? "^T open there" : "^T there",
			"Tab quote",
			"^O copy command",
			...(this.mode.scopes.length > 1 ? ["^S scope"] : []),
			this.here ? "Alt-H all projects" : "Alt-H this project",
			"F9 preview",
		];
		let text = "";
		for (const hint of all) {
			const longer = text ? `${text} · ${hint}` : hint;
			if (longer.length > width) break;
			text = longer;
		}
		return [{ text, style: this.host.paint.dim }];
	}

	private waiting(): string | undefined {
		const since = this.asker.since;
		const now = Date.now();
		const spinner = frames[Math.floor(now / 100) % frames.length];
		if (this.acting) return `${spinner} one moment · Esc stops`;
		if (since === undefined || now - since < noticeAfter) return undefined;
		const at = this.asker.progress;
		if (at) {
			const megabytes = (n: number) => (n / 1e6).toFixed(n < 1e7 ? 1 : 0);
			const left = at.secondsLeft ? ` · ${at.secondsLeft} s left` : "";
			return `${spinner} indexing ${megabytes(at.bytes)} of ${megabytes(at.bytesTotal)} MB${left} · ^C stops`;
		}
		const seconds = Math.floor((now - since) / 1000);
		return `${spinner} searching${seconds > 0 ? ` · ${seconds} s` : ""} · ^C stops`;
	}
}
