/**
 * Text for a grid of cells: marked words, cutting, wrapping. Colours are added last, so that no
 * measure ever sees an escape sequence.
 */
import { homedir } from "node:os";
import { visibleWidth } from "@earendil-works/pi-tui";
import { cleanLine, cleanText } from "./clean.ts";

export type Style = (text: string) => string;

/** A piece of a row, and how it is painted. */
export interface Piece {
	text: string;
	style?: Style;
}

/** Clean text, and which characters of it matched. */
export interface Marked {
	text: string;
	ranges: [number, number][];
}

/** pigrep counts bytes of UTF-8; pieces are cleaned one by one, so that marks stay on their words. */
export function marked(text: string, byteSpans: readonly [number, number][] = []): Marked {
	const bytes = Buffer.from(text);
	const flat = (from: number, to: number) => cleanText(bytes.subarray(from, to).toString()).replace(/\s+/g, " ");
	const result: Marked = { text: "", ranges: [] };
	let at = 0;
	for (const [from, to] of byteSpans) {
		if (from < at || to <= from || to > bytes.length) continue;
		result.text += flat(at, from);
		const start = result.text.length;
		result.text += flat(from, to);
		result.ranges.push([start, result.text.length]);
		at = to;
	}
	result.text += flat(at, bytes.length);
	return result;
}

/** Marks the words in another text, whatever their case. */
export function markWords(text: string, words: readonly string[]): Marked {
	const wanted = [...new Set(words.filter((w) => w.trim()))].sort((a, b) => b.length - a.length).slice(0, 50);
	if (wanted.length === 0) return { text, ranges: [] };
	const pattern = new RegExp(wanted.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
	const ranges = [...text.matchAll(pattern)].map((m): [number, number] => [m.index, m.index + m[0].length]);
	return { text, ranges };
}

export function matchedWords(m: Marked): string[] {
	return m.ranges.map(([from, to]) => m.text.slice(from, to));
}

/** The pieces of text from one character to another. */
export function pieces(m: Marked, mark: Style, style?: Style, from = 0, to = m.text.length): Piece[] {
	const result: Piece[] = [];
	let at = from;
	for (const [start, end] of m.ranges) {
		if (end <= at || start >= to) continue;
		const first = Math.max(start, at);
		const last = Math.min(end, to);
		if (first > at) result.push({ text: m.text.slice(at, first), style });
		result.push({ text: m.text.slice(first, last), style: mark });
		at = last;
	}
	if (at < to) result.push({ text: m.text.slice(at, to), style });
	return result;
}

const segmenter = new Intl.Segmenter();

/** As much of the text as fits into so many cells. */
export function cut(text: string, width: number): string {
	if (text.length <= width && /^[ -~]*$/.test(text)) return text;
	let kept = "";
	let used = 0;
	for (const { segment } of segmenter.segment(text)) {
		used += visibleWidth(segment);
		if (used > width) return kept;
		kept += segment;
	}
	return kept;
}

/** Cuts a row to the width, with … where something is missing, or fills it up; then paints it. */
export function row(content: readonly Piece[], width: number): string {
	let left = width;
	let painted = "";
	for (const [i, { text, style }] of content.entries()) {
		const last = content.slice(i + 1).every((p) => p.text === "");
		const size = visibleWidth(text);
		const fits = last ? size <= left : size < left;
		const kept = fits ? text : `${cut(text, left - 1)}${left > 0 ? "…" : ""}`;
		painted += style && kept ? style(kept) : kept;
		left -= visibleWidth(kept);
		if (!fits) break;
	}
	return painted + " ".repeat(Math.max(0, left));
}

/** A row with a right part, which is left out if that leaves fewer than 12 cells for the left one. */
export function ends(left: readonly Piece[], right: readonly Piece[], width: number): string {
	const size = visibleWidth(right.map((p) => p.text).join(""));
	const room = width - size - 1;
	if (size === 0 || room < 12) return row(left, width);
	return `${row(left, room)} ${row(right, size)}`;
}

/** The text from where its first match can be seen in so many cells. */
export function fromMatch(m: Marked, width: number): Marked {
	const first = m.ranges[0];
	if (!first || visibleWidth(m.text.slice(0, first[1])) < width) return m;
	let start = first[0];
	const lead = Math.floor(width / 4);
	while (start > 0 && visibleWidth(m.text.slice(start - 1, first[0])) <= lead) start--;
	while (start > 0 && visibleWidth(m.text.slice(start - 1)) < width) start--;
	if (/[\udc00-\udfff]/.test(m.text.charAt(start))) start++;
	return {
		text: `…${m.text.slice(start)}`,
		ranges: m.ranges.map(([a, b]): [number, number] => [a - start + 1, b - start + 1]),
	};
}

/** Where the lines of a text begin and end when it is wrapped at words. */
export function wrap(text: string, width: number, most: number): [number, number][] {
	const lines: [number, number][] = [];
	let offset = 0;
	for (const line of text.split("\n")) {
		if (lines.length >= most) break;
		let start = 0;
		let used = 0;
		let space = -1;
		for (const { segment, index } of segmenter.segment(line.slice(0, most * width * 2))) {
			const size = visibleWidth(segment);
			if (segment === " ") space = index;
			if (used + size > width && index > start) {
				const end = space > start ? space : index;
				lines.push([offset + start, offset + end]);
				start = space > start ? space + 1 : index;
				used = visibleWidth(line.slice(start, index));
				space = -1;
				if (lines.length >= most) break;
				if (start > index) continue; // the space at the end of the line
			}
			used += size;
		}
		if (lines.length < most) lines.push([offset + start, offset + line.length]);
		offset += line.length + 1;
	}
	return lines;
}

/** How long ago, in the words of pigrep. */
export function age(timestamp: string | undefined, now: number): string {
	const seconds = (now - Date.parse(timestamp ?? "")) / 1000;
	if (!Number.isFinite(seconds)) return "";
	const units: [number, number, string][] = [
		[60, 1, "s"],
		[3600, 60, "min"],
		[86400, 3600, "h"],
		[14 * 86400, 86400, "d"],
		[60 * 86400, 7 * 86400, "w"],
		[2 * 365 * 86400, 30.44 * 86400, "mo"],
		[Number.POSITIVE_INFINITY, 365.25 * 86400, "y"],
	];
	if (seconds < 10) return "now";
	const [, size, name] = units.find(([below]) => seconds < below) ?? [0, 1, "s"];
	return `${Math.floor(seconds / size)}${name} ago`;
}

/** A directory with ~ for the home directory. */
export function tilde(dir: string | undefined): string {
	if (!dir) return "";
	const home = homedir();
	return cleanLine(dir === home || dir.startsWith(`${home}/`) ? `~${dir.slice(home.length)}` : dir);
}

/** The end of a directory that is too long. */
export function shortDir(dir: string | undefined, width: number): string {
	const whole = tilde(dir);
	if (visibleWidth(whole) <= width) return whole;
	const names = whole.split(/[/\\]/);
	let kept = names.pop() ?? "";
	for (let name = names.pop(); name !== undefined && visibleWidth(kept) + visibleWidth(name) + 3 <= width; name = names.pop())
		kept = `${name}/${kept}`;
	const end = `…/${kept}`;
	return visibleWidth(end) <= width ? end : `${cut(kept, width - 1)}…`;
}

/** 1234567 as 1.2M, rounded as pigrep does. */
export function compact(n: number): string {
	if (n < 10_000) return n.toLocaleString("en");
	if (n < 999_500) return `${(n / 1e3).toFixed(0)}k`;
	return n < 999_950_000 ? `${(n / 1e6).toFixed(1)}M` : `${(n / 1e9).toFixed(1)}B`;
}
