/** What the overlay can look for: hits of a search, lines of grep, prompts. Each gives a list of items. */
import { cleanLine } from "./clean.ts";
import { Failure, type Filters, type IndexState, nameOf, ownersIn, type Pigrep, type Position, type RecapFact, type RunOptions, type SearchAnswer, type Session } from "./pigrep.ts";
import { type Marked, marked, tilde } from "./text.ts";

/** One line of the list: an entry that matches, or a session as a whole. */
export interface Item {
	/** Without an entry id for a session, and for entries of the first file format. */
	at: Position;
	/** The session's name or first prompt. */
	title: string;
	/** The path of the session whose title it stands under, if it is in another file of that session or in a subagent's. */
	under?: string;
	text: Marked;
	/** What the preview shows of a session. */
	session?: Session;
}

export interface Results {
	items: Item[];
	/** By session, under its title; otherwise one by one. */
	grouped: boolean;
	/** What was found, for the last line. */
	summary: string;
	/** What to say where nothing was found, or beside the list. */
	notes: string[];
	index?: IndexState;
}

export interface Mode {
	name: "search" | "grep" | "history" | "blame" | "recap";
	/** The scopes to choose from; the first is the default. */
	scopes: string[];
	/** Enter puts the text into the editor and does not open the session. */
	inserts: boolean;
	/** Begins with this project, not with all. */
	here?: boolean;
	find(client: Pigrep, query: string, filters: Filters, options: RunOptions): Promise<Results>;
}

const sessionsShown = 30;
const linesShown = 200;
const promptsShown = 200;
const sessionsTold = 12;

const scopes = ["conversations", "prompts", "all"];

export const search: Mode = {
	name: "search",
	scopes,
	inserts: false,
	async find(client, query, filters, options) {
		if (!query.trim()) return latest(client, filters, options);
		const a = await client.search(query, { ...withoutSearches(filters), limit: sessionsShown }, options);
		const under = titlesOf(a.sessions ?? []);
		const items = each(a.hits, (h) => ({
			at: h,
			...under(h),
			text: marked(h.fragment.text, h.fragment.spans),
		}));
		const notes = (a.warnings ?? []).map(cleanLine);
		const absent = nowhere(a);
		if (absent) notes.push(`nowhere: ${absent}`);
		if (a.didYouMean) notes.push(`did you mean ${cleanLine(a.didYouMean)}?`);
		return { items, grouped: true, summary: counts(a), notes, index: a.index };
	},
};

/** Without a query: the sessions themselves, as pi's own /resume lists them, of all projects. */
async function latest(client: Pigrep, filters: Filters, options: RunOptions): Promise<Results> {
	const a = await client.sessions({ cwd: filters.cwd, limit: 100 }, options);
	const items = each(a.sessions, (s): Item => {
		const at = { sessionPath: s.sessionPath, sessionId: s.sessionId, agent: s.agent, cwd: s.cwd, timestamp: s.modified, line: 0, kind: "" };
		return { at, title: titleOf(s), text: { text: titleOf(s), ranges: [] }, session: s };
	});
	const none = a.total === 0 && !filters.cwd ? [`no sessions yet; looked in ${(await client.roots(options)).map(tilde).join(", ")}`] : [];
	return { items, grouped: false, summary: plural(a.total, "session"), notes: none, index: a.index };
}

export const grep: Mode = {
	name: "grep",
	scopes,
	inserts: false,
	async find(client, query, filters, options) {
		if (!query) return { items: [], grouped: true, summary: "", notes: ["type a regular expression"] };
		const a = await client.grep(query, { ...withoutSearches(filters), limit: linesShown }, options).catch((error: unknown) => {
			const literally = "to search for it literally, write it between \\Q and \\E";
			throw error instanceof Failure && error.kind === "query" ? new Failure("query", error.message, literally) : error;
		});
		const sessions = [...new Set(a.matches.map((m) => m.sessionPath))];
		const known = sessions.length > 0 ? await client.sessions({ sessions }, { ...options, progress: undefined }) : { sessions: [] };
		const under = titlesOf(known.sessions);
		const items = each(a.matches, (m) => ({
			at: m,
			...under(m),
			text: marked(m.text.trimEnd(), m.spans),
		}));
		const summary = a.limited ? `the latest ${linesShown} lines` : plural(a.total, "line");
		return { items, grouped: true, summary, notes: (a.warnings ?? []).map(cleanLine), index: a.index };
	},
};

export const history: Mode = {
	name: "history",
	scopes: ["prompts"],
	inserts: true,
	async find(client, query, filters, options) {
		const a = await client.prompts(query, { cwd: filters.cwd, limit: promptsShown }, options);
		const seen = new Set<string>();
		const items = each(a.hits, (h) => {
			const text = marked(h.fragment.text, h.fragment.spans);
			if (seen.has(text.text)) return undefined; // typed again later
			seen.add(text.text);
			return { at: h, title: titleAt(h), text };
		});
		const notes = (a.warnings ?? []).map(cleanLine);
		return { items, grouped: false, summary: plural(a.total || a.totalAny, "prompt"), notes, index: a.index };
	},
};

export const blame: Mode = {
	name: "blame",
	scopes: [""],
	inserts: false,
	async find(client, query, filters, options) {
		if (!query.trim()) return { items: [], grouped: false, summary: "", notes: ["type FILE, FILE:LINE or FILE:LINE-LINE"] };
		const a = await client.blame(query.trim(), { cwd: filters.cwd }, options);
		const items = each(a.blocks, (b) => {
			if (!b.sessionPath) return undefined; // no session wrote them
			const at: Position = { ...b, sessionPath: b.sessionPath, line: b.line ?? 0, kind: "call" };
			const prompt = cleanLine(b.prompt?.text ?? "") || titleAt(at);
			const lines = `${b.from === b.to ? b.from : `${b.from}-${b.to}`}${b.match === "alike" ? " (a similar line)" : ""}`;
			return { at, title: titleAt(at), text: marked(`${lines} ${prompt}`, [[0, lines.length]]) };
		});
		return { items, grouped: false, summary: `${a.written} of ${plural(a.total, "line")} written by sessions`, notes: (a.warnings ?? []).map(cleanLine), index: a.index };
	},
};

/** What the latest sessions did and left open, or the one that is named: a row for each fact. */
export const recap: Mode = {
	name: "recap",
	scopes: [""],
	inserts: false,
	here: true,
	async find(client, query, filters, options) {
		const a = await client.recap(query.trim(), { cwd: filters.cwd, limit: sessionsTold }, options);
		const items = a.sessions.flatMap((s) =>
			each(s.facts, (f) => {
				const at: Position = { ...s, ...f, sessionPath: f.sessionPath ?? s.sessionPath, kind: f.what, isError: f.what === "failed" && !f.passed };
				const text = factText(f, s.cwd);
				return { at, title: titleOf(s), under: s.sessionPath, text: { text, ranges: [] } };
			}),
		);
		const changed = a.files > 0 ? ` · ${plural(a.files, "file")} changed` : "";
		return { items, grouped: true, summary: plural(a.total, "session") + changed, notes: (a.warnings ?? []).map(cleanLine), index: a.index };
	},
};

function factText(f: RecapFact, dir: string | undefined): string {
	const text = cleanLine(dir && f.text.startsWith(`${dir}/`) ? f.text.slice(dir.length + 1) : f.text);
	switch (f.what) {
		case "changed": {
			const times = (f.edits ?? 0) + (f.writes ?? 0) + (f.deletes ?? 0);
			return times > 1 ? `${text} · ${times}×` : text;
		}
		case "failed":
			return `${text}: ${cleanLine(f.error ?? "")} → ${f.passed ? "passed later" : "never passed"}`;
		case "commit":
			return `${cleanLine(f.hash ?? "")} ${text}`;
		default:
			return text;
	}
}

/** The items of what an answer lists. A malformed item costs only its own row. */
function each<T>(list: readonly T[], make: (value: T) => Item | undefined): Item[] {
	return list.flatMap((value) => {
		try {
			const item = make(value);
			return item?.at.sessionPath && typeof item.at.kind === "string" ? [item] : [];
		} catch {
			return [];
		}
	});
}

/** Calls of pigrep and their results repeat other sessions; only scope "all" has them. */
function withoutSearches(filters: Filters): Filters {
	return filters.scope === "all" ? filters : { ...filters, searches: false };
}

/** How much was found: hits with every word, and separately those that lack some. */
export function counts(a: { total: number; totalSessions?: number; looser?: number; totalIsExact?: boolean }): string {
	const looser = a.looser ?? 0;
	const sessions = a.totalSessions ? ` in ${plural(a.totalSessions, "session")}` : "";
	const some = a.totalIsExact === false ? " or more" : "";
	if (a.total === 0 && looser > 0) return `no hit has every word; ${looser.toLocaleString("en")} looser ${looser === 1 ? "one" : "ones"}${some}`;
	return `${plural(a.total, "hit")}${some}${a.total > 0 ? sessions : ""}${looser > 0 ? ` · ${looser.toLocaleString("en")} looser` : ""}`;
}

export function titleOf(s: Session): string {
	return cleanLine(s.title ?? s.name ?? "") || cleanLine(s.firstPrompt ?? "") || cleanLine(nameOf(s));
}

/** The words that no text contains, with those that look like them and occur. */
export function nowhere(a: SearchAnswer): string {
	const absent = (a.words ?? []).filter((w) => (w.hits === 0 && !w.removed?.length) || w.nearest?.length);
	return absent
		.slice(0, 6)
		.map((w) => {
			const near = a.didYouMean ? [] : (w.nearest ?? []).map((n) => cleanLine(n.word).slice(0, 24));
			return cleanLine(w.word) + (near.length > 0 ? ` (nearest: ${near.join(", ")})` : "");
		})
		.join(", ");
}

/** Returns a function that finds the title that a hit stands under, among those of the sessions listed. */
function titlesOf(sessions: readonly Session[]): (at: Position) => Pick<Item, "title" | "under"> {
	const owner = ownersIn(sessions);
	return (at) => {
		const session = owner(at);
		return session ? { title: titleOf(session), under: session.sessionPath } : { title: titleAt(at) };
	};
}

/** The title of a session of which only a hit is known. */
function titleAt(p: Position): string {
	return cleanLine(p.sessionName || p.sessionId || (p.sessionPath.split(/[\\/]/).pop() ?? ""));
}

export function plural(n: number, noun: string): string {
	return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
