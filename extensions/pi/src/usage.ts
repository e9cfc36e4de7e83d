/** Tokens and cost of this project, this week. */
import { matchesKey, visibleWidth } from "@earendil-works/pi-tui";
import { cleanLine } from "./clean.ts";
import { plural } from "./modes.ts";
import type { Paint } from "./paint.ts";
import type { UsageAnswer, UsageRow } from "./pigrep.ts";
import { compact, type Piece, row, tilde } from "./text.ts";

type Sum = Pick<UsageRow, "tokens" | "cost" | "unpriced">;

/** The Monday of the week, as a date of the local calendar. */
export function weekStart(now: Date): string {
	const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - ((now.getDay() + 6) % 7));
	const two = (n: number) => String(n).padStart(2, "0");
	return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
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

export function usageLines(answer: UsageAnswer, cwd: string, since: string, width: number, paint: Paint): Piece[][] {
	const { rows, total } = answer;
	const head: Piece[][] = [[{ text: "usage", style: paint.title }, { text: ` · ${tilde(cwd)} · since Monday, ${since}`, style: paint.dim }], []];
	if (rows.length === 0) return [...head, [{ text: "nothing was used in this project this week" }]];
	const cache = total.cacheRead + total.cacheWrite;
	const tokens = `${compact(total.tokens)} tokens (${compact(total.input)} in, ${compact(total.output)} out, ${compact(cache)} cache)`;
	const lines: Piece[][] = [
		...head,
		[{ text: money(total), style: paint.accent }, { text: ` · ${tokens} · ${plural(total.sessions, "session")}` }],
	];
	const days = sums(rows, (r) => r.day ?? "").sort(([a], [b]) => a.localeCompare(b));
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

/** Shows lines until a key is pressed. */
export class Panel {
	private readonly lines: (width: number) => Piece[][];
	private readonly paint: Paint;
	private readonly height: () => number;
	private readonly done: () => void;
	private top = 0;

	constructor(lines: (width: number) => Piece[][], paint: Paint, height: () => number, done: () => void) {
		this.lines = lines;
		this.paint = paint;
		this.height = height;
		this.done = done;
	}

	invalidate(): void {}

	handleInput(data: string): void {
		if (matchesKey(data, "down")) this.top++;
		else if (matchesKey(data, "up")) this.top = Math.max(0, this.top - 1);
		else this.done();
	}

	render(width: number): string[] {
		const inner = width - 4;
		const all = this.lines(inner);
		const room = Math.max(1, this.height() - 3);
		this.top = Math.max(0, Math.min(this.top, all.length - room));
		const hint = all.length > room ? "↓ ↑ scroll · Esc back" : "Esc back";
		const side = (pieces: readonly Piece[]) => `${this.paint.border("│")} ${row(pieces, inner)} ${this.paint.border("│")}`;
		return [
			this.paint.border(`╭${"─".repeat(width - 2)}╮`),
			...all.slice(this.top, this.top + room).map(side),
			side([{ text: hint, style: this.paint.dim }]),
			this.paint.border(`╰${"─".repeat(width - 2)}╯`),
		];
	}
}
