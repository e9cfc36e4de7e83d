/** The conversation around an item, as rows. */
import { cleanLine, cleanText } from "./clean.ts";
import { type Item, plural } from "./modes.ts";
import type { Paint } from "./paint.ts";
import type { ShowAnswer } from "./pigrep.ts";
import { type Marked, markWords, matchedWords, type Piece, pieces, row, wrap } from "./text.ts";

/** Lines of the part that matched, and of the others around it. */
const most = 500;
const mostAround = 12;
/** Characters of a long text before its match. */
const contextBefore = 2000;

export interface Preview {
	lines: Piece[][];
	/** The row of the entry that matched, and that of its first marked word. */
	entry: number;
	match: number;
}

/** What is known of an item before its conversation has been read. */
export function shortPreview(item: Item, width: number, paint: Paint): Preview {
	const s = item.session;
	const facts = s
		? [
				plural(s.messages ?? 0, "message"),
				...(s.models ?? []).map(cleanLine),
				...(s.labels ?? []).map((l) => `label ${cleanLine(l)}`),
			]
		: [];
	const text = s ? cleanText(s.firstPrompt ?? "") : item.text.text;
	const body = textLines(text, s ? [] : matchedWords(item.text), 0, width, most, paint).lines;
	return { lines: [...(s ? [[{ text: facts.join(" · "), style: paint.dim }], []] : []), ...body], entry: 0, match: 0 };
}

export function preview(answer: ShowAnswer, item: Item, width: number, paint: Paint): Preview {
	const words = matchedWords(item.text);
	const result: Preview = { lines: [], entry: 0, match: -1 };
	for (const entry of answer.entries) {
		if (entry.step && !entry.focus) continue;
		const parts = entry.parts.filter((p) => p.text && (entry.focus || p.kind !== "details"));
		const focus = entry.focus === true;
		if (focus) result.entry = result.lines.length;
		for (const part of parts) {
			const wanted = focus && (parts.length === 1 || part.part === item.at.part);
			const head = [part.kind, part.tool, clock(entry.timestamp), entry.isError ? "failed" : ""];
			const line = head.filter(Boolean).map((h) => cleanLine(h as string)).join(" · ");
			result.lines.push([
				{ text: wanted ? "▶ " : "  ", style: paint.accent },
				{ text: line, style: wanted ? paint.accent : paint.dim },
			]);
			const text = cleanText(part.tool && part.text.startsWith(`${part.tool}\n`) ? part.text.slice(part.tool.length + 1) : part.text);
			const at = wanted ? locate(text, item.text) : 0;
			const body = textLines(text.trimEnd(), words, at, width - 2, focus ? most : mostAround, paint);
			if (wanted && result.match < 0) result.match = result.lines.length + body.row;
			result.lines.push(...body.lines.map((pieces) => [{ text: "  " }, ...pieces]), []);
		}
	}
	result.match = Math.max(result.match, result.entry);
	return result;
}

/** Where in the whole text the piece is that the list shows, however it was broken into lines. */
export function locate(text: string, shown: Marked): number {
	const [first] = shown.ranges;
	if (!first) return 0;
	const around = shown.text.slice(Math.max(0, first[0] - 30), first[1] + 30).replace(/^…|…$/g, "").toWellFormed();
	const word = shown.text.slice(...first);
	for (const wanted of [around, word]) {
		const pattern = wanted.trim().split(/\s+/).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
		const found = pattern ? new RegExp(pattern, "u").exec(text) : null;
		if (found) return found.index + Math.max(0, found[0].indexOf(word));
	}
	return 0;
}

function textLines(whole: string, words: string[], at: number, width: number, limit: number, paint: Paint): { lines: Piece[][]; row: number } {
	// Of a long text what is around the match.
	const start = at > contextBefore ? whole.lastIndexOf("\n", at - contextBefore) + 1 || at - contextBefore : 0;
	const all = markWords(whole.slice(start, start + limit * width), words);
	const wrapped = wrap(all.text, Math.max(1, width), limit + 1);
	const lines = wrapped.slice(0, limit).map(([from, to]) => pieces(all, paint.mark, undefined, from, to));
	const row = Math.max(0, wrapped.findIndex(([, to]) => to >= at - start));
	const more = [{ text: "…", style: paint.dim }];
	if (wrapped.length > limit || start + all.text.length < whole.length) lines.push(more);
	if (start > 0) lines.unshift(more);
	return { lines, row: start > 0 ? row + 1 : row };
}

/** Where the preview begins: at the entry, or further down if its match would be out of sight. */
export function startOf(p: Preview, height: number): number {
	const before = height < 16 ? 0 : 4;
	const start = p.match - p.entry < height - before - 1 ? p.entry - before : p.match - Math.floor(height / 3);
	return Math.max(0, Math.min(start, p.lines.length - height));
}

export function renderPreview(p: Preview | undefined, top: number, width: number, height: number): string[] {
	return Array.from({ length: height }, (_, i) => row(p?.lines[top + i] ?? [], width));
}

function clock(timestamp: string | undefined): string {
	const time = new Date(timestamp ?? "");
	return Number.isNaN(time.getTime()) ? "" : time.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}
