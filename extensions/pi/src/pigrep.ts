/**
 * The client: the only code that starts pigrep. One process answers one question and ends.
 *
 * Node's execFile and not pi.exec: before pi 1.5.0 that broke UTF-8 at chunk borders, and it turns
 * "no such program" into exit code 1, which is pigrep's "nothing found".
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { cleanLine } from "./clean.ts";

/** The version of pigrep's JSON that this client reads. Fields are only ever added to it. */
export const schemaVersion = 1;

const maxBuffer = 64 << 20;

/** What went wrong, as far as callers tell it apart. */
export type FailureKind = "missing" | "old" | "index" | "query" | "cannot-resume" | "stopped" | "failed";

/** A failure with one sentence that says what failed, and a hint that says what to type. */
export class Failure extends Error {
	readonly kind: FailureKind;
	readonly hint: string;
	/** Why a session cannot be resumed, as pigrep says it. */
	readonly reason: string;

	constructor(kind: FailureKind, message: string, hint = "", reason = "") {
		super(cleanLine(message));
		this.name = "Failure";
		this.kind = kind;
		this.hint = cleanLine(hint);
		this.reason = reason;
	}

	/** Message and hint on one line. */
	get sentence(): string {
		return this.hint ? `${this.message}; ${this.hint}` : this.message;
	}
}

/** How far the index was when it answered. `pendingFiles` are files that the answer lacks. */
export interface IndexState {
	files: number;
	pendingFiles: number;
	pendingBytes: number;
	complete: boolean;
}

/** How far pigrep is with indexing, while an answer waits for it. */
export interface Progress {
	files: number;
	bytes: number;
	bytesTotal: number;
	secondsLeft?: number;
	/** There was no index yet. */
	first: boolean;
}

interface Envelope {
	schemaVersion: number;
	warnings?: string[];
	index?: IndexState;
}

/** The command that resumes a session, and where to run it. */
export interface Resume {
	dir: string;
	argv: string[];
}

/**
 * What a hit of search and a match of grep have in common. Spans are byte offsets. pigrep omits what
 * a file does not say: only fields without ? are always there.
 */
export interface Position {
	sessionPath: string;
	sessionId?: string;
	sessionName?: string;
	/** Whose session it is: "pi", "claude", … */
	agent?: string;
	cwd?: string;
	/** Entries of the first file format have no id. */
	entryId?: string;
	/** Its beginning that names it, if that is shorter. */
	shortEntryId?: string;
	timestamp?: string;
	line: number;
	offset?: number;
	part?: number;
	kind: string;
	tool?: string;
	isError?: boolean;
	branch?: "active" | "abandoned";
}

export interface Hit extends Position {
	type: "hit";
	tier: string;
	missing?: string[];
	/** Words of `missing` that say little, such as "how". */
	missingCommon?: string[];
	/** It lacks a word that matters. */
	looser?: boolean;
	/** No spans where only fields of the query match. */
	fragment: { text: string; spans?: [number, number][] };
	/** Of a prompt: the last reply of its turn. */
	answered?: { entryId?: string; shortEntryId?: string; offset: number; fragment: { text: string } };
	resume?: Resume;
}

export interface Match extends Position {
	type: "match";
	/** The line, or what is left of a long one. */
	text: string;
	spans?: [number, number][];
}

export interface SearchAnswer extends Envelope {
	hits: Hit[];
	sessions?: Session[];
	total: number;
	totalAny: number;
	/** Sessions with hits. */
	totalSessions?: number;
	/** Hits that lack a word that matters, beside `total`. */
	looser?: number;
	totalIsExact?: boolean;
	didYouMean?: string;
	/** How often each word occurs, if no hit has all of them. */
	words?: { word: string; hits: number; removed?: unknown[]; nearest?: { word: string }[] }[];
}

export interface GrepAnswer extends Envelope {
	matches: Match[];
	total: number;
	/** There are more than the limit. */
	limited?: boolean;
}

/** Lines of a file that one call wrote; without a session path, no session did. */
export interface Block extends Partial<Position> {
	type: "blame";
	from: number;
	to: number;
	match: "exact" | "space" | "alike" | "none";
	/** That asked for the call. */
	prompt?: { text: string };
	lines: string[];
}

export interface BlameAnswer extends Envelope {
	blocks: Block[];
	/** Lines that were asked for, and those of them that sessions wrote. */
	total: number;
	written: number;
}

/** A fact of a session, with the entry that shows it. */
export interface RecapFact extends Pick<Position, "entryId" | "shortEntryId" | "timestamp" | "line" | "offset"> {
	what: string;
	/** Of the subagent that it is from. */
	sessionPath?: string;
	sessionId?: string;
	text: string;
	edits?: number;
	writes?: number;
	deletes?: number;
	error?: string;
	passed?: object;
	hash?: string;
}

export interface RecapAnswer extends Envelope {
	/** The latest first. */
	sessions: (Session & { facts: RecapFact[] })[];
	total: number;
	/** Changed in these sessions. */
	files: number;
}

export interface SessionsAnswer extends Envelope {
	sessions: Session[];
	total: number;
}

export interface Session {
	sessionPath: string;
	sessionId?: string;
	/** The name that commands accept, also of a session without an id. */
	shortId?: string;
	name?: string;
	/** The name, else what the prompts are about. */
	title?: string;
	agent?: string;
	cwd?: string;
	firstPrompt?: string;
	modified?: string;
	messages?: number;
	hits?: number;
	labels?: string[];
	models?: string[];
	resume?: Resume;
}

export interface Entry {
	entryId?: string;
	shortEntryId?: string;
	role?: string;
	entryType: string;
	timestamp?: string;
	line: number;
	offset?: number;
	branch?: string;
	isError?: boolean;
	/** No conversation, but a step of the machine, or nothing. */
	step?: boolean;
	/** The entry that was asked for. */
	focus?: boolean;
	tool?: string;
	parts: { part: number; kind: string; text: string; tool?: string }[];
}

export interface ShowAnswer extends Envelope {
	session: Session;
	entries: Entry[];
}

export interface UsageRow {
	day?: string;
	month?: string;
	model?: string;
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	tokens: number;
	cost: number;
	unpriced: number;
	sessions: number;
}

export interface UsageAnswer extends Envelope {
	rows: UsageRow[];
	total: UsageRow;
}

export interface ResumeAnswer extends Envelope {
	dir: string;
	argv: string[];
	/** Directory and command as one shell command line. */
	shell: string;
}

export interface StatusAnswer extends Envelope {
	roots: { path: string; error?: string }[];
}

/** Where to search; all of it is optional. */
export interface Filters {
	scope?: string;
	/** Only sessions started in this directory or below it. */
	cwd?: string;
	/** Only these sessions, by path. */
	sessions?: string[];
	/** Calls of pigrep and their results, which repeat other sessions. */
	searches?: boolean;
	limit?: number;
}

export interface RunOptions {
	signal?: AbortSignal;
	/** The directory that pigrep runs in; pi's settings of it say where sessions are. */
	cwd?: string;
	input?: string;
	/** Is called while the index is brought up to date. */
	progress?: (at: Progress) => void;
}

/** What pigrep writes to stderr, one JSON object a line. */
interface Report {
	error?: { code: string; message: string; hint?: string; reason?: string };
	progress?: Progress;
}

function report(line: string): Report {
	try {
		return JSON.parse(line) as Report;
	} catch {
		return {}; // a panic, or another program of this name
	}
}

function lastError(stderr: string): Report["error"] {
	return stderr.trim().split("\n").map(report).findLast((r) => r.error)?.error;
}

const install = "put it on the PATH, or set pigrep.command in settings.json of pi";
const update = "update it: its version must match this package";

function failureOf(command: string, error: NodeJS.ErrnoException & { killed?: boolean }, stderr: string): Failure {
	if (error.name === "AbortError") return new Failure("stopped", "Stopped");
	if (error.code === "ENOENT") return new Failure("missing", `${command} is not installed`, install);
	if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
		return new Failure("failed", "The answer is too long", "narrow the query");
	if (typeof error.code === "string")
		return new Failure("missing", `${command} cannot be started: ${error.code}`, install);
	const reported = lastError(stderr);
	if (!reported) {
		const first = stderr.trim().split("\n")[0];
		return new Failure("failed", `${command} failed${first ? `: ${first.slice(0, 200)}` : ""}`, `try ${command} status --check`);
	}
	switch (reported.code) {
		case "usage":
			if (!reported.message.startsWith("unknown ")) return new Failure("failed", reported.message, reported.hint);
			return new Failure("old", `${command} is too old: ${reported.message}`, update);
		case "index-damaged":
		case "no-index":
		case "index-locked":
			return new Failure("index", reported.message, reported.hint);
		case "query":
		case "cannot-resume":
			return new Failure(reported.code, reported.message, reported.hint, reported.reason);
		default:
			return new Failure("failed", reported.message, reported.hint);
	}
}

export class Pigrep {
	readonly command: string;

	constructor(command = "pigrep") {
		this.command = command;
	}

	/** The best sessions, with up to three hits of each. */
	search(query: string, filters: Filters = {}, options: RunOptions = {}): Promise<SearchAnswer> {
		return this.json(["search", ...flags(filters), "--", query], options);
	}

	/** Prompts, newest first; all of them without a query. */
	prompts(query: string, filters: Filters = {}, options: RunOptions = {}): Promise<SearchAnswer> {
		const args = ["search", "--flat", "--sort", "newest", "--kind", "prompt", ...flags(filters)];
		return this.json([...args, "--", query.trim() ? query : "kind:prompt"], options);
	}

	/** Lines that match, newest sessions first; long ones are cut around the match. */
	grep(pattern: string, filters: Filters = {}, options: RunOptions = {}): Promise<GrepAnswer> {
		return this.json(["grep", "--sort", "newest", "--max-columns", "400", ...flags(filters), "-e", pattern], options);
	}

	/** Who wrote the lines of FILE, FILE:LINE or FILE:LINE-LINE. */
	blame(lines: string, filters: Filters = {}, options: RunOptions = {}): Promise<BlameAnswer> {
		return this.json(["blame", ...flags(filters), "--", lines], options);
	}

	/** What was done in the latest sessions, or in one of this name. */
	recap(session: string, filters: Filters = {}, options: RunOptions = {}): Promise<RecapAnswer> {
		return this.json(["recap", ...(session ? ["--", session] : flags(filters))], options);
	}

	/** Sessions, newest activity first. */
	sessions(filters: Filters = {}, options: RunOptions = {}): Promise<SessionsAnswer> {
		return this.json(["sessions", ...flags(filters)], options);
	}

	/** SESSION:ENTRY, with so many entries on each side. */
	show(target: string, around: number, options: RunOptions = {}): Promise<ShowAnswer> {
		return this.json(["show", "--around", String(around), "--", target], options);
	}

	/** An entry alone, or the prompts of a session, with secrets masked. */
	masked(target: string, entry: boolean, options: RunOptions = {}): Promise<ShowAnswer> {
		return this.json(["show", "--redact", ...(entry ? ["--around", "0"] : ["--kind", "prompt"]), "--", target], options);
	}

	/** From the first day if there is no `since`. */
	usage(by: string, since: string | undefined, cwd: string | undefined, options: RunOptions = {}): Promise<UsageAnswer> {
		return this.json(["usage", "--by", by, ...(since ? ["--since", since] : []), ...(cwd ? ["--cwd", cwd] : [])], options);
	}

	/** Where session files are looked for. */
	async roots(options: RunOptions = {}): Promise<string[]> {
		const { roots } = await this.json<StatusAnswer>(["status"], options);
		return roots.map((r) => r.path);
	}

	/** Checks what pi needs to open a session; a Failure says what is gone. */
	resume(path: string, options: RunOptions = {}): Promise<ResumeAnswer> {
		return this.json(["resume", "--", path], options);
	}

	/** Runs a command with --json and checks what it prints. Exit code 1 is an answer: nothing was found. */
	async json<T extends Envelope>(args: string[], options: RunOptions = {}): Promise<T> {
		const [name = "", ...rest] = args;
		const progress = options.progress ? ["--progress"] : [];
		const stdout = await this.text([name, "--json", ...progress, ...rest], options);
		let answer: T;
		try {
			answer = JSON.parse(stdout) as T;
		} catch {
			throw new Failure("old", `${this.command} ${name} printed no JSON`, update);
		}
		if (answer.schemaVersion !== schemaVersion)
			throw new Failure("old", `${this.command} writes another version of its JSON`, update);
		return answer;
	}

	/** Runs a command and returns what it prints. */
	text(args: string[], options: RunOptions = {}): Promise<string> {
		// A directory that is gone would look like a program that is missing.
		const cwd = options.cwd && existsSync(options.cwd) ? options.cwd : homedir();
		return new Promise((resolve, reject) => {
			const child = execFile(
				this.command,
				args,
				{ cwd, signal: options.signal, maxBuffer, windowsHide: true, encoding: "utf8" },
				(error, stdout, stderr) => {
					// 1 is "nothing found". With 2 there may be an answer too: of an index that is behind.
					if (!error || error.code === 1 || (error.code === 2 && stdout !== "")) resolve(stdout);
					else reject(failureOf(this.command, error as NodeJS.ErrnoException, stderr));
				},
			);
			const { progress } = options;
			if (progress) {
				child.stderr?.on("data", (chunk: string) => {
					for (const line of chunk.split("\n")) {
						const at = report(line).progress;
						if (at) progress(at);
					}
				});
			}
			// A process that ends before it has read its input is reported by its exit code.
			child.stdin?.on("error", () => {});
			child.stdin?.end(options.input ?? "");
		});
	}
}

/**
 * Returns a function that finds the session of a hit among those listed. A session of several files
 * has hits in each of them, and is listed with the path of one.
 */
export function ownersIn(sessions: readonly Session[]): (at: Position) => Session | undefined {
	const byPath = new Map(sessions.map((s) => [s.sessionPath, s]));
	const byId = new Map(sessions.map((s) => [s.sessionId, s]));
	return (at) => byPath.get(at.sessionPath) ?? (at.sessionId ? byId.get(at.sessionId) : undefined);
}

/** The name of a session for a command or a tool: its path, where it has no other. */
export function nameOf(session: Pick<Session, "shortId" | "sessionId" | "sessionPath">): string {
	return session.shortId || session.sessionId || session.sessionPath;
}

function flags(filters: Filters): string[] {
	return [
		...(filters.searches === false ? ["--no-searches"] : []),
		...(filters.scope ? ["--scope", filters.scope] : []),
		...(filters.cwd ? ["--cwd", filters.cwd] : []),
		...(filters.sessions ?? []).flatMap((path) => ["--session", path]),
		...(filters.limit ? ["--limit", String(filters.limit)] : []),
	];
}
