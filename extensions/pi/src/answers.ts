/**
 * Answers for the model: little text that says where to read on. Nothing of pi is imported here.
 */
import { cleanLine, cleanText } from "./clean.ts";
import { nowhere } from "./modes.ts";
import { type Entry, type Hit, type IndexState, nameOf, ownersIn, type Position, type SearchAnswer, type Session, type ShowAnswer } from "./pigrep.ts";

/** What an answer may cost by default, in tokens. */
export const defaultTokens = 1400;
/** What an entry that is asked for in full may cost. */
export const fullTokens = 6000;

/** About how many tokens a text is; rather too many than too few. */
export function tokensOf(text: string): number {
	let ascii = 0;
	let other = 0;
	for (const c of text) {
		if (c < "\x80") ascii++;
		else other++;
	}
	return Math.ceil(ascii / 3.2 + other);
}

/** The middle of a text that is too long is left out. */
export function shorten(text: string, most: number): string {
	const characters = [...text];
	if (characters.length <= most) return text;
	const tail = Math.floor(most / 4);
	const gap = characters.length - most;
	return `${characters.slice(0, most - tail).join("")} […${gap} characters…] ${characters.slice(characters.length - tail).join("")}`;
}

/** SESSION:ENTRY, by which a tool, and the user, finds an entry again. */
export function placeOf(session: Pick<Session, "shortId" | "sessionId" | "sessionPath">, at?: Pick<Position, "entryId" | "shortEntryId" | "offset">): string {
	const entry = at?.shortEntryId || at?.entryId || (at?.offset === undefined ? "" : `@${at.offset}`);
	return cleanLine(entry ? `${nameOf(session)}:${entry}` : nameOf(session));
}

/** Where a text is from, in few words: id, date and title. */
export function sourceOf(session: Session, entry: Entry | undefined): string {
	const title = shortLine(session.title || session.name || session.firstPrompt || "", 60);
	const place = placeOf(session, entry);
	return [place, dayOf(entry?.timestamp ?? session.modified), title ? `"${title}"` : ""].filter(Boolean).join(", ");
}

function dayOf(time: string | undefined): string {
	return time ? time.slice(0, 10) : "";
}

function titleOf(session: Session | undefined): string {
	return shortLine(session?.title || session?.name || session?.firstPrompt || "", 70);
}

/** What is known of a session, on one line. */
function about(session: Session | undefined, cwd: string | undefined, more: string): string {
	return [titleOf(session) || "(no title)", shortLine(cwd ?? "", 60), more].filter(Boolean).join(" · ");
}

function shortLine(text: string, most: number): string {
	const line = [...cleanLine(text)];
	return line.length <= most ? line.join("") : `${line.slice(0, most - 1).join("")}…`;
}

/** What an answer that lacks something says about it. */
function caveats(answer: { warnings?: string[]; index?: IndexState }): string[] {
	const lines = (answer.warnings ?? []).slice(0, 3).map((w) => `Note: ${shortLine(w, 200)}`);
	const index = answer.index;
	if (index && !index.complete)
		lines.push(`Note: not everything was searched${index.pendingFiles > 0 ? `: ${index.pendingFiles} files are not indexed yet` : ""}.`);
	return lines;
}

interface Removed {
	filter: string;
	hits: number;
}

/** Fields of a search that only answers for the model use. */
export interface FullSearchAnswer extends SearchAnswer {
	removed?: Removed[];
}

function nothing(answer: FullSearchAnswer): string[] {
	const lines: string[] = [];
	const absent = nowhere(answer);
	if (absent) lines.push(`Nowhere: ${absent}.`);
	if (answer.didYouMean) lines.push(`Did you mean: ${shortLine(answer.didYouMean, 120)}`);
	return lines;
}

function where(hit: Hit): string {
	const parts = [hit.kind as string];
	if (hit.tool) parts.push(cleanLine(hit.tool));
	if (hit.isError) parts.push("error");
	if (hit.branch === "abandoned") parts.push("abandoned branch");
	return parts.join(" ");
}

/** Hits grouped by session, best first, as many as fit. */
export function searchText(answer: FullSearchAnswer, tokens = defaultTokens): string {
	const notes = caveats(answer);
	if (answer.hits.length === 0) {
		return ["Nothing found in past sessions.", ...nothing(answer), ...notes, "Try fewer or other words."].join("\n");
	}
	const owner = ownersIn(answer.sessions ?? []);
	const groups = Map.groupBy(answer.hits, (hit) => owner(hit)?.sessionPath ?? hit.sessionPath);
	const foot = 'Read around one: session_read with its SESSION:ENTRY as "at".';
	let left = tokens - tokensOf(foot) - tokensOf(notes.join("\n")) - 60;
	const lines: string[] = [];
	let shown = 0;
	let loose = 0;
	for (const hits of groups.values()) {
		const first = hits[0];
		if (!first) continue;
		const session = owner(first);
		const head = `\n${about(session, first.cwd, dayOf(first.timestamp))}`;
		let withHead = head;
		for (const hit of hits) {
			const missing = (hit.missing ?? []).filter((w) => !hit.missingCommon?.includes(w));
			const lacks = missing.length > 0 ? ` (lacks ${shortLine(missing.join(", "), 60)})` : "";
			const answer = hit.answered ? `\n  answered: ${shorten(cleanLine(hit.answered.fragment.text), 160)}` : "";
			const line = `${placeOf(session ?? hit, hit)} ${where(hit)}${lacks}: ${shorten(cleanLine(hit.fragment.text), 240)}${answer}`;
			const cost = tokensOf(withHead + line) + 1;
			if (cost > left) continue;
			left -= cost;
			if (withHead) lines.push(withHead);
			withHead = "";
			lines.push(line);
			if (missing.length === 0) shown++;
			else loose++;
		}
	}
	const looser = Math.max(loose, answer.looser ?? 0);
	const head = answer.total > 0 ? [`${shown} of ${Math.max(shown, answer.total)} hits with every word`] : ["No hit has every word"];
	if (loose > 0 || looser > 0) head.push(`${loose} of ${looser} looser ones`);
	return [`${head.join("; ")}.`, ...(answer.total === 0 ? nothing(answer) : []), ...notes, ...lines, "", foot].join("\n");
}

// How much is shown of a text of a kind, beside the entry that was asked for.
const lengths: Record<string, number> = { prompt: 500, reply: 700, summary: 500, call: 200, shell: 300, result: 240, error: 400 };
const ownLength = 1600;

function timeOf(entry: Entry): string {
	return entry.timestamp ? entry.timestamp.slice(0, 16).replace("T", " ") : "";
}

/** The text of a call begins with the name of its tool. */
function withoutTool(part: Entry["parts"][number]): string {
	return part.kind === "call" && part.tool && part.text.startsWith(`${part.tool}\n`) ? part.text.slice(part.tool.length + 1) : part.text;
}

/** An entry with the parts of it that say something. */
function entryText(session: Session, entry: Entry, length: (kind: string) => number): string {
	const lines: string[] = [];
	for (const part of entry.parts) {
		const most = length(part.kind);
		const text = most > 0 ? cleanText(withoutTool(part)).trim() : "";
		if (!text) continue;
		const about = [part.kind, part.tool ? cleanLine(part.tool) : "", entry.isError ? "error" : ""].filter(Boolean).join(" ");
		lines.push(`[${about}] ${shorten(text, most)}`);
	}
	if (lines.length === 0) return "";
	const aside = entry.branch === "abandoned" ? " (abandoned branch)" : "";
	return `${placeOf(session, entry)} ${timeOf(entry)}${aside}\n${lines.join("\n")}`;
}

function header(answer: ShowAnswer): string {
	const s = answer.session;
	return about(s, s.cwd, `session ${placeOf(s)}`);
}

/**
 * Returns what pigrep selects around the requested entry, as far as it fits: that entry, its prompt and
 * the answer of its turn first. Later entries have preference over earlier ones, because they show the outcome.
 */
export function windowText(answer: ShowAnswer, tokens = defaultTokens): string {
	const { session } = answer;
	const entries = answer.entries.filter((e) => !e.step || e.focus);
	const focus = Math.max(0, entries.findIndex((e) => e.focus));
	const texts = entries.map((e, i) =>
		i === focus ? fitting(tokens / 2, ownLength, (most) => entryText(session, e, () => most)) : entryText(session, e, (kind) => lengths[kind] ?? 0),
	);
	let left = tokens - tokensOf(header(answer)) - 120;
	const taken = new Set<number>();
	const take = (i: number): boolean => {
		const text = texts[i];
		if (text === undefined || taken.has(i)) return text !== undefined;
		const cost = text ? tokensOf(text) + 1 : 0;
		if (cost > left && i !== focus) return false;
		left -= cost;
		taken.add(i);
		return true;
	};
	const has = (i: number, kind: string) => entries[i]?.parts.some((p) => p.kind === kind) ?? false;
	const numbers = [...entries.keys()];
	const prompt = numbers.findLast((i) => i <= focus && has(i, "prompt")) ?? -1;
	const next = numbers.find((i) => i > focus && has(i, "prompt")) ?? entries.length;
	for (const i of [focus, prompt, numbers.findLast((i) => i > focus && i < next && has(i, "reply")) ?? -1]) take(i);
	let from = focus;
	let to = focus;
	for (let back = true, on = true, turn = 0; back || on; turn++) {
		// Two entries on for one back.
		if (turn % 3 === 2 || !on) {
			back = back && take(from - 1);
			if (back) from--;
		}
		if (turn % 3 !== 2 || !back) {
			on = on && take(to + 1);
			if (on) to++;
		}
	}
	const name = (i: number) => placeOf(session, entries[i]);
	const foot: string[] = [];
	if (from > 0) foot.push(`Before: session_read at ${name(from - 1)}.`);
	if (to < entries.length - 1) foot.push(`On: session_read at ${name(to + 1)}.`);
	const cut = /\[…\d+ characters…\]/.test(texts[focus] ?? "") ? ["The entry in full: full true."] : [];
	const lines = texts.flatMap((text, i) => (taken.has(i) && text ? [...(i > 0 && !taken.has(i - 1) ? ["…"] : []), text] : []));
	return [header(answer), ...caveats(answer), "", ...lines, "", [...foot, ...cut].join(" ")].join("\n").trimEnd();
}

/** One entry in full, or its beginning and end. */
export function fullText(answer: ShowAnswer, tokens = fullTokens): string {
	const entry = answer.entries.find((e) => e.focus) ?? answer.entries[0];
	if (!entry) return `${header(answer)}\n\nThe entry has no text.`;
	const head = header(answer);
	const text = fitting(tokens - tokensOf(head), tokens * 4, (most) => entryText(answer.session, entry, () => most));
	return `${head}\n\n${text}`;
}

/** A text of at most so many characters, of fewer if that costs too much. */
function fitting(tokens: number, most: number, text: (most: number) => string): string {
	for (;; most = Math.floor(most / 1.5)) {
		const made = text(most);
		if (tokensOf(made) <= tokens || most < 40) return made;
	}
}

/** A session in brief: what was asked, and the last reply. */
export function outlineText(answer: ShowAnswer, tokens = defaultTokens): string {
	const { session } = answer;
	const last = answer.entries.findLast((e) => e.parts.some((p) => p.kind === "reply"));
	const end = last ? entryText(session, last, (kind) => (kind === "reply" ? 900 : 0)) : "";
	let left = tokens - tokensOf(header(answer) + end) - 60;
	const prompts = answer.entries.flatMap((e) =>
		e.parts.filter((p) => p.kind === "prompt").map((p) => `${placeOf(session, e)} [prompt] ${shorten(cleanLine(p.text), 160)}`),
	);
	const lines: string[] = [];
	for (const line of prompts) {
		left -= tokensOf(line) + 1;
		if (left < 0) break;
		lines.push(line);
	}
	const more = prompts.length - lines.length;
	if (more > 0) lines.push(`[${more} more prompts]`);
	return [header(answer), ...caveats(answer), "", ...lines, ...(end ? ["", "The last reply:", end] : [])].join("\n");
}
