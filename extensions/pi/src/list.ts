/** The list of the overlay: rows of items, under the titles of their sessions where they are grouped. */
import { cleanLine } from "./clean.ts";
import type { Item, Results } from "./modes.ts";
import type { Paint } from "./paint.ts";
import { age, ends, fromMatch, type Piece, pieces, shortDir } from "./text.ts";

interface Row {
	/** The number of the item; a title belongs to its first item and cannot be selected. */
	item: number;
	title: boolean;
}

/** Items of one session next to each other, in the order in which the sessions first appear. */
export function bySession(items: readonly Item[]): Item[] {
	return [...Map.groupBy(items, titled).values()].flat();
}

/** The path of the session whose title an item stands under. */
function titled(item: Item): string {
	return item.under ?? item.at.sessionPath;
}

export function rows(results: Results): Row[] {
	return results.items.flatMap((item, i): Row[] => {
		const line = { item: i, title: false };
		const before = results.items[i - 1];
		const first = !before || titled(before) !== titled(item);
		return results.grouped && first ? [{ item: i, title: true }, line] : [line];
	});
}

/** The first row to show so that the selected item is visible, with its title if it is the first below it. */
export function scrollTo(list: readonly Row[], selected: number, top: number, height: number): number {
	const at = list.findIndex((r) => r.item === selected && !r.title);
	if (at < 0) return 0;
	const above = list[at - 1]?.title && height > 1 ? at - 1 : at;
	const last = Math.max(0, list.length - height);
	return Math.min(Math.max(Math.min(top, above), at - height + 1), last);
}

export function renderList(results: Results, selected: number, top: number, width: number, height: number, paint: Paint, now: number): string[] {
	const kinds = Math.min(9, Math.max(0, ...results.items.map((i) => i.at.kind.length)));
	const lines = rows(results)
		.slice(top, top + height)
		.map((r) => {
			const item = results.items[r.item] as Item;
			if (r.title) {
				const where = [other(item), shortDir(item.at.cwd, Math.floor(width / 3)), age(item.at.timestamp, now)].filter(Boolean).join(" · ");
				return ends([{ text: `  ${item.title}`, style: paint.title }], [{ text: where, style: paint.dim }], width);
			}
			const here = r.item === selected;
			const cursor: Piece = { text: here ? "▌ " : "  ", style: paint.accent };
			// With 256 colours, what is dim has the colour of the selection.
			const look = here ? { ...paint, dim: (s: string) => s } : paint;
			const line = results.grouped
				? grouped(item, cursor, kinds, width, look, now)
				: single(item, cursor, width, look, now);
			return here ? paint.selected(line) : line;
		});
	while (lines.length < height) lines.push(" ".repeat(width));
	return lines;
}

/** Whose the session is, if it is not pi's. */
function other(item: Item): string {
	return item.at.agent && item.at.agent !== "pi" ? cleanLine(item.at.agent) : "";
}

function grouped(item: Item, cursor: Piece, kinds: number, width: number, paint: Paint, now: number): string {
	const failed: Piece[] = item.at.isError ? [{ text: "✗ ", style: paint.error }] : [];
	const kind: Piece = { text: `${item.at.kind.padEnd(kinds)} `, style: paint.dim };
	const room = width - 3 - kinds - (failed.length > 0 ? 2 : 0);
	const day: Piece = { text: dayOf(item.at.timestamp, now), style: paint.dim };
	return ends([cursor, kind, ...failed, ...pieces(fromMatch(item.text, room - day.text.length - 1), paint.mark)], [day], width);
}

/** The day of a hit in the calendar of its reader, with the year if that is not this one. */
function dayOf(timestamp: string | undefined, now: number): string {
	const at = new Date(timestamp ?? "");
	if (Number.isNaN(at.getTime())) return "";
	const day = `${String(at.getDate()).padStart(2)} ${at.toLocaleString("en", { month: "short" })}`;
	return at.getFullYear() === new Date(now).getFullYear() ? day : `${day} ${at.getFullYear()}`;
}

function single(item: Item, cursor: Piece, width: number, paint: Paint, now: number): string {
	const where = [other(item), shortDir(item.at.cwd, Math.floor(width / 5)), age(item.at.timestamp, now)].filter(Boolean).join(" · ");
	const room = width - where.length - 4;
	return ends([cursor, ...pieces(fromMatch(item.text, room), paint.mark)], [{ text: where, style: paint.dim }], width);
}
