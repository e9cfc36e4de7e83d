/**
 * Tools for the model: session_search and session_read. pigrep knows both names: with --no-searches
 * it leaves out their calls and results, which repeat what other sessions say.
 */
import type { ExtensionAPI, ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { Type } from "typebox";
import { type FullSearchAnswer, fullText, outlineText, placeOf, searchText, windowText } from "./answers.ts";
import { cleanLine, cleanText } from "./clean.ts";
import { counts } from "./modes.ts";
import { Failure, type Pigrep, type RunOptions, type ShowAnswer } from "./pigrep.ts";

const searchParameters = Type.Object({
	query: Type.String({
		description:
			'Two to four words that the answer would contain. "exact phrase", !without, a OR b, tool:bash, file:main.go, project:NAME, after:2w',
	}),
	here: Type.Optional(Type.Boolean({ description: "Only sessions of this project's directory" })),
});

const readParameters = Type.Object({
	at: Type.String({ description: "SESSION:ENTRY from session_search, or the last one of session_read to read on; SESSION alone for what was asked in it" }),
	full: Type.Optional(Type.Boolean({ description: "Only this entry, with its whole text" })),
});

interface Details {
	/** One line for the person who watches. */
	summary: string;
}

type Result = { content: { type: "text"; text: string }[]; details: Details };

function result(text: string, summary: string): Result {
	return { content: [{ type: "text", text }], details: { summary } };
}

export class SessionTools {
	private readonly client: Pick<Pigrep, "json">;
	// Where the sessions are that were found: ids may be in several files.
	private readonly paths = new Map<string, string>();

	constructor(client: Pick<Pigrep, "json">) {
		this.client = client;
	}

	async search(query: string, here: boolean, current: string | undefined, options: RunOptions): Promise<Result> {
		const answer = await this.client.json<FullSearchAnswer>(
			[
				...["search", "--redact", "--no-searches", "--limit", "8", "--per-session", "3"],
				...(current ? ["--exclude", current] : []),
				...(here && options.cwd ? ["--cwd", options.cwd] : []),
				...["--", query],
			],
			options,
		);
		for (const found of [...answer.hits, ...(answer.sessions ?? [])]) this.paths.set(placeOf(found), found.sessionPath);
		return result(searchText(answer), answer.hits.length === 0 ? "nothing found" : counts(answer));
	}

	async read(at: string, full: boolean, options: RunOptions): Promise<Result> {
		const [session = "", entry] = splitName(at.trim());
		const target = this.paths.get(session) ?? session;
		const show = (args: string[]) => this.client.json<ShowAnswer>(["show", "--redact", ...args], options);
		if (!entry) {
			const answer = await show(["--kind", "prompt,reply", "--", target]);
			return result(outlineText(answer), `${answer.entries.length} entries`);
		}
		// pigrep selects what to read around an entry, here as in its other answers for models.
		const answer = await show([...(full ? ["--around", "0"] : []), "--", `${target}:${entry}`]);
		return result((full ? fullText : windowText)(answer), `${answer.entries.length} entries read`);
	}
}

/** SESSION:ENTRY; a session may be a path, which may have colons. */
function splitName(at: string): [string, string | undefined] {
	const i = at.lastIndexOf(":");
	const entry = at.slice(i + 1);
	return i > 1 && /^@?[\w-]+$/.test(entry) ? [at.slice(0, i), entry] : [at, undefined];
}

/** Lines as they are, cut at the width: a row of a tool takes one line until it is expanded. */
class Lines implements Component {
	private readonly lines: string[];
	private readonly wrap: boolean;

	constructor(lines: string[], wrap = false) {
		this.lines = lines;
		this.wrap = wrap;
	}

	render(width: number): string[] {
		const most = Math.max(1, width);
		if (this.wrap) return this.lines.flatMap((line) => (line ? wrapTextWithAnsi(line, most) : [""]));
		return this.lines.map((line) => truncateToWidth(line, most, "…"));
	}

	invalidate(): void {}
}

function callLine(theme: Theme, name: string, value: string, note: string): Component {
	const text = theme.fg("toolTitle", theme.bold(name)) + " " + theme.fg("accent", cleanLine(value));
	return new Lines([note ? `${text} ${theme.fg("muted", note)}` : text]);
}

interface Shown {
	content: { type: string; text?: string }[];
	details: unknown;
}

function resultLines(theme: Theme, shown: Shown, expanded: boolean, partial: boolean, failed: boolean): Component {
	if (partial) return new Lines([theme.fg("warning", "searching…")]);
	const text = cleanText(shown.content.map((c) => (c.type === "text" ? (c.text ?? "") : "")).join("\n"));
	if (expanded) return new Lines(text.split("\n").map((line) => (line ? theme.fg(failed ? "error" : "toolOutput", line) : "")), true);
	const summary = (shown.details as Details | undefined)?.summary;
	return new Lines([failed || !summary ? theme.fg(failed ? "error" : "muted", cleanLine(text)) : theme.fg("muted", cleanLine(summary))]);
}

function sentence(error: unknown): Error {
	return new Error(error instanceof Failure ? error.sentence : `pigrep: ${cleanLine(String((error as Error)?.message ?? error))}`);
}

function currentSession(ctx: ExtensionContext): string | undefined {
	try {
		return ctx.sessionManager.getSessionFile();
	} catch {
		return undefined;
	}
}

export function registerTools(pi: ExtensionAPI, client: Pigrep): void {
	const tools = new SessionTools(client);
	pi.registerTool({
		name: "session_search",
		label: "Session search",
		description:
			"Full-text search of all past sessions of coding agents on this machine: prompts, replies, tool calls and results. Returns short fragments with their SESSION:ENTRY.",
		promptSnippet: "Search past sessions for earlier work, errors and decisions",
		promptGuidelines: [
			'Use session_search when the user refers to earlier work ("as last time", "where did we"), or before solving an error that may have come up before; then session_read at the best hit.',
			"When an answer comes from session_search or session_read, say the date and SESSION:ENTRY.",
		],
		parameters: searchParameters,
		async execute(_id, params, signal, _onUpdate, ctx) {
			try {
				return await tools.search(params.query, params.here === true, currentSession(ctx), { signal, cwd: ctx.cwd });
			} catch (error) {
				throw sentence(error);
			}
		},
		renderCall: (args, theme) => callLine(theme, "session_search", args?.query ?? "", args?.here ? "here" : ""),
		renderResult: (shown, { expanded, isPartial }, theme, context) =>
			resultLines(theme, shown, expanded, isPartial, context?.isError === true),
	});
	pi.registerTool({
		name: "session_read",
		label: "Session read",
		description:
			"Read a past session around an entry that session_search found: what was said and done before and after it, long texts cut.",
		promptSnippet: "Read a past session around an entry",
		parameters: readParameters,
		async execute(_id, params, signal, _onUpdate, ctx) {
			try {
				return await tools.read(params.at, params.full === true, { signal, cwd: ctx.cwd });
			} catch (error) {
				throw sentence(error);
			}
		},
		renderCall: (args, theme) => callLine(theme, "session_read", args?.at ?? "", args?.full ? "full" : ""),
		renderResult: (shown, { expanded, isPartial }, theme, context) =>
			resultLines(theme, shown, expanded, isPartial, context?.isError === true),
	});
}
