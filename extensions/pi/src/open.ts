/**
 * Opening a session at an entry.
 *
 * An exception inside withSession, and an error of pi while it switches, end pi. So pigrep checks
 * before what pi needs, and nothing is thrown after.
 */
import { existsSync, realpathSync } from "node:fs";
import { basename } from "node:path";
import type { ExtensionCommandContext, ExtensionContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import { asFailure } from "./asker.ts";
import { Failure, type Pigrep, type Position } from "./pigrep.ts";
import { tilde } from "./text.ts";

/** What stands between someone and a session; a Failure says that it cannot be opened at all. */
export interface Check {
	warning?: string;
}

type Place = Pick<Position, "sessionPath" | "agent" | "entryId" | "timestamp" | "line" | "cwd">;

/** How pigrep begins the reason that people may overrule. */
const directoryGone = "the session's directory no longer exists";

/** pi ends with an error when it is told to open a session of another agent. */
function refuseOthers(agent = "pi"): void {
	if (agent !== "pi")
		throw new Failure("cannot-resume", `this is a session of ${agent}, not of pi`, "Ctrl-O copies the command that resumes it");
}

function samePath(a: string, b: string | undefined): boolean {
	if (!b) return false;
	try {
		return realpathSync(a) === realpathSync(b);
	} catch {
		return a === b;
	}
}

export async function check(client: Pigrep, ctx: ExtensionContext, at: Place, signal?: AbortSignal): Promise<Check> {
	const warnings: string[] = [];
	if (!ctx.isIdle()) warnings.push("a turn is running, which this stops");
	if (!samePath(at.sessionPath, ctx.sessionManager.getSessionFile())) {
		refuseOthers(at.agent);
		// pi would begin a new session under the name of a file that is gone.
		if (!existsSync(at.sessionPath)) throw new Failure("cannot-resume", "the session's file is gone", at.sessionPath);
		try {
			const resume = await client.resume(at.sessionPath, { signal, cwd: ctx.cwd });
			refuseOthers(basename(resume.argv[0] ?? ""));
		} catch (error) {
			const failure = asFailure(error);
			// Every other reason would end pi, also where the directory is gone too.
			if (at.agent !== "pi" || !failure.reason.startsWith(directoryGone)) throw failure;
			warnings.push(`${directoryGone} (${tilde(at.cwd ?? "")}); pi will ask whether to continue here`);
		}
	}
	return warnings.length > 0 ? { warning: warnings.join("; ") } : {};
}

/** Opens the session, and goes to the end of the entry's turn, or to the entry itself. */
export async function open(ctx: ExtensionCommandContext, at: Place, exactly: boolean): Promise<void> {
	if (samePath(at.sessionPath, ctx.sessionManager.getSessionFile())) {
		if (!ctx.isIdle()) {
			ctx.abort();
			await ctx.waitForIdle();
		}
		say(ctx, await land(ctx, at, exactly));
		return;
	}
	refuseOthers(at.agent);
	if (!existsSync(at.sessionPath)) throw new Failure("cannot-resume", "the session's file is gone", at.sessionPath);
	await ctx.switchSession(at.sessionPath, {
		withSession: async (fresh) => {
			// The old ctx throws from here on, and nothing may be thrown.
			say(fresh, await land(fresh, at, exactly));
		},
	});
}

/** pi 0.78 redraws after withSession and loses what was said before. */
function say(ctx: ExtensionContext, text: string): void {
	if (!text) return;
	setTimeout(() => {
		try {
			ctx.ui.notify(text, "info");
		} catch {
			// Another session has been opened meanwhile.
		}
	}, 50);
}

async function land(ctx: ExtensionCommandContext, at: Place, exactly: boolean): Promise<string> {
	try {
		if (!at.entryId && !at.line) return "";
		const entries = ctx.sessionManager.getEntries();
		const found = findEntry(entries, at);
		if (!found) return "pigrep: the entry is not in the session any more; this is its end";
		const leaf = ctx.sessionManager.getLeafId();
		const target = exactly ? found : endOfTurn(entries, found, leaf);
		if (target.id === leaf) return "";
		await ctx.navigateTree(target.id);
		return exactly ? "This is the entry; /tree shows what follows" : "This is the end of the turn; /tree shows what follows";
	} catch (error) {
		return `pigrep: the session is open at its end: ${asFailure(error).message}`;
	}
}

/**
 * The entry by its id; by its time, because pi gives new ids to old files when it opens them; by its
 * line at last. The entry that a label names stands for the label.
 */
export function findEntry(entries: readonly SessionEntry[], at: Place): SessionEntry | undefined {
	const nearest = (candidates: SessionEntry[]) =>
		candidates.sort((a, b) => distance(entries, a, at.line) - distance(entries, b, at.line))[0];
	const time = Date.parse(at.timestamp ?? "");
	const sameTime = (e: SessionEntry) => Date.parse(e.timestamp) === time;
	const byId = at.entryId ? entries.filter((e) => e.id === at.entryId) : [];
	const found =
		nearest(byId.filter(sameTime)) ??
		nearest(byId) ??
		nearest(entries.filter(sameTime)) ??
		(Number.isNaN(time) ? entries[at.line - 2] : undefined);
	if (found?.type === "label") return entries.find((e) => e.id === found.targetId) ?? found;
	return found;
}

/** The header is line 1. */
function distance(entries: readonly SessionEntry[], entry: SessionEntry, line: number): number {
	return Math.abs(entries.indexOf(entry) + 2 - line);
}

/**
 * The last entry before the next prompt or summary: on the branch that ends at the leaf, and
 * elsewhere on the newest one. So the answer can be seen, and no call is without its result.
 */
export function endOfTurn(entries: readonly SessionEntry[], from: SessionEntry, leaf: string | null): SessionEntry {
	const byId = new Map(entries.map((e) => [e.id, e]));
	const active = new Set<string>();
	for (let e = byId.get(leaf ?? ""); e && !active.has(e.id); e = byId.get(e.parentId ?? "")) active.add(e.id);
	const children = Map.groupBy(entries, (e) => e.parentId);
	const seen = new Set<string>();
	let end = from;
	for (;;) {
		seen.add(end.id);
		const next = children.get(end.id) ?? [];
		const step = next.find((e) => active.has(e.id)) ?? next.at(-1);
		if (!step || seen.has(step.id) || beginsTurn(step)) return end;
		end = step;
	}
}

function beginsTurn(e: SessionEntry): boolean {
	return (e.type === "message" && e.message.role === "user") || e.type === "compaction" || e.type === "branch_summary";
}
