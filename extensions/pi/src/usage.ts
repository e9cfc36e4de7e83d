/** Tokens and cost of a day, a week, a month or everything, of this project or all. */
import { matchesKey, visibleWidth } from "@earendil-works/pi-tui";
import { asFailure } from "./asker.ts";
import { cleanLine } from "./clean.ts";
import { plural } from "./modes.ts";
import type { Paint } from "./paint.ts";
import type { UsageAnswer, UsageRow } from "./pigrep.ts";
import { compact, type Piece, row, tilde } from "./text.ts";

type Sum = Pick<UsageRow, "tokens" | "cost" | "unpriced">;

export const periods = ["today", "week", "month", "all"] as const;
export type Period = (typeof periods)[number];

/** What is counted. */
export interface Span {
	period: Period;
	here: boolean;
}

/** The first day of a period, as a date of the local calendar; none for all. A week begins on Monday. */
export function startOf(period: Period, now: Date): string | undefined {
	if (period === "all") return undefined;
	const back = { today: 0, week: (now.getDay() + 6) % 7, month: now.getDate() - 1 }[period];
	const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - back);
	const two = (n: number) => String(n).padStart(2, "0");
	return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** Reads the arguments of /usage: a period, and "here" or "everywhere". */
export function spanOf(args: string): Span {
	const span: Span = { period: "week", here: true };
	for (const word of args.split(/\s+/).filter(Boolean)) {
		const period = periods.find((p) => p === word);
		if (period) span.period = period;
		else if (word === "here" || word === "everywhere") span.here = word === "here";
		else throw new Error(`usage: /usage [${periods.join("|")}] [here|everywhere]`);
	}
	return span;
}

/** As pigrep writes it: – without any price, ≥ where some of it has none. */
export function money({ cost, unpriced }: Pick<Sum, "cost" | "unpriced">): string {
	if (cost === 0 && unpriced > 0) return "–";
	return `${unpriced > 0 ? "≥" : ""}$${cost.toFixed(2)}`;
}

function sums(rows: readonly UsageRow[], name: (r: UsageRow) => string): [string, Sum][] {
	return [...Map.groupBy(rows, name)].map(([key, group]) => [
		key,
		group.reduce((s, r) => ({ tokens: s.tokens + r.tokens, cost: s.cost + r.cost, unpriced: s.unpriced + r.unpriced }), {
			tokens: 0,
			cost: 0,
			unpriced: 0,
		}),
	]);
}

function headOf(span: Span, cwd: string, now: Date, paint: Paint): Piece[][] {
	const since = startOf(span.period, now);
	const when = { today: "today", week: `since Monday, ${since}`, month: `since ${since}`, all: "all time" }[span.period];
	return [[{ text: "usage", style: paint.title }, { text: ` · ${span.here ? tilde(cwd) : "all projects"} · ${when}`, style: paint.dim }], []];
}

export function usageLines(answer: UsageAnswer, span: Span, cwd: string, now: Date, width: number, paint: Paint): Piece[][] {
	const { rows, total } = answer;
	const head = headOf(span, cwd, now, paint);
	if (rows.length === 0) return [...head, [{ text: `nothing was used ${span.here ? "in this project " : ""}in this time` }]];
	const cache = total.cacheRead + total.cacheWrite;
	const tokens = `${compact(total.tokens)} tokens (${compact(total.input)} in, ${compact(total.output)} out, ${compact(cache)} cache)`;
	const lines: Piece[][] = [
		...head,
		[{ text: money(total), style: paint.accent }, { text: ` · ${tokens} · ${plural(total.sessions, "session")}` }],
	];
	const days = sums(rows, (r) => r.month ?? r.day ?? "").sort(([a], [b]) => a.localeCompare(b));
	const models = sums(rows, (r) => cleanLine(r.model ?? "")).sort(([, a], [, b]) => b.cost - a.cost || b.tokens - a.tokens);
	for (const table of [days, models]) {
		const label = Math.min(Math.max(...table.map(([name]) => visibleWidth(name))), Math.max(8, width - 30));
		const bar = Math.max(0, Math.min(30, width - label - 22));
		const most = Math.max(...table.map(([, s]) => s.tokens), 1);
		lines.push([]);
		for (const [name, s] of table) {
			const length = Math.max(s.tokens > 0 ? 1 : 0, Math.round((bar * s.tokens) / most));
			lines.push([
				{ text: row([{ text: name }], label) },
				{ text: ` ${"█".repeat(Math.min(length, bar)).padEnd(bar)} `, style: paint.accent },
				{ text: compact(s.tokens).padStart(6) },
				{ text: money(s).padStart(10), style: paint.dim },
			]);
		}
	}
	return lines;
}

/** What the panel needs of pi. */
export interface UsageHost {
	cwd: string;
	paint: Paint;
	now(): Date;
	/** Rows of the panel. */
	rows(): number;
	redraw(): void;
	ask(span: Span): Promise<UsageAnswer>;
	done(): void;
}

/** Shows the usage of a period; keys change period and place. */
export class Panel {
	private readonly host: UsageHost;
	private span: Span;
	private answer: UsageAnswer | undefined;
	private failure = "";
	private top = 0;

	constructor(host: UsageHost, span: Span) {
		this.host = host;
		this.span = span;
		this.ask(span);
	}

	private ask(span: Span): void {
		this.span = span;
		this.answer = undefined;
		this.failure = "";
		this.top = 0;
		this.host
			.ask(span)
			.then(
				(answer) => {
					if (this.span === span) this.answer = answer;
				},
				(error: unknown) => {
					if (this.span === span) this.failure = asFailure(error).sentence;
				},
			)
			.finally(() => this.host.redraw());
		this.host.redraw();
	}

	invalidate(): void {}

	handleInput(data: string): void {
		const next = (by: number) => {
			const at = periods.indexOf(this.span.period) + by + periods.length;
			this.ask({ ...this.span, period: periods[at % periods.length] ?? "week" });
		};
		const named = periods.find((p) => p[0] === data);
		if (matchesKey(data, "down")) this.top++;
		else if (matchesKey(data, "up")) this.top = Math.max(0, this.top - 1);
		else if (matchesKey(data, "right") || matchesKey(data, "tab")) next(1);
		else if (matchesKey(data, "left")) next(-1);
		else if (named) this.ask({ ...this.span, period: named });
		else if (data === "h" || matchesKey(data, "f6") || matchesKey(data, "alt+h")) this.ask({ ...this.span, here: !this.span.here });
		else this.host.done();
	}

	private lines(width: number): Piece[][] {
		const { cwd, paint } = this.host;
		const now = this.host.now();
		if (this.answer) return usageLines(this.answer, this.span, cwd, now, width, paint);
		return [...headOf(this.span, cwd, now, paint), [{ text: this.failure || "one moment…", style: this.failure ? paint.error : paint.dim }]];
	}

	render(width: number): string[] {
		const inner = width - 4;
		const all = this.lines(inner);
		const room = Math.max(1, this.host.rows() - 3);
		this.top = Math.max(0, Math.min(this.top, all.length - room));
		const { paint } = this.host;
		const scroll = all.length > room ? "↓ ↑ scroll · " : "";
		const hint = `Esc back · ${scroll}h ${this.span.here ? "all projects" : "this project"} · t today · w week · m month · a all`;
		const side = (pieces: readonly Piece[]) => `${paint.border("│")} ${row(pieces, inner)} ${paint.border("│")}`;
		return [
			paint.border(`╭${"─".repeat(width - 2)}╮`),
			...all.slice(this.top, this.top + room).map(side),
			side([{ text: hint, style: paint.dim }]),
			paint.border(`╰${"─".repeat(width - 2)}╯`),
		];
	}
}
