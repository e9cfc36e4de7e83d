/** The commands and keys that pi gets. */
import {
	copyToClipboard,
	type ExtensionAPI,
	type ExtensionCommandContext,
	type ExtensionContext,
	getAgentDir,
	VERSION,
} from "@earendil-works/pi-coding-agent";
import type { KeyId, TUI } from "@earendil-works/pi-tui";
import { placeOf } from "./answers.ts";
import { asFailure } from "./asker.ts";
import { rowsOf } from "./layout.ts";
import { blame, grep, history, type Mode, recap, search } from "./modes.ts";
import { check, open } from "./open.ts";
import { type Choice, Overlay } from "./overlay.ts";
import { paintOf } from "./paint.ts";
import { Pigrep, type Position } from "./pigrep.ts";
import { readSettings } from "./settings.ts";
import { registerTools } from "./tools.ts";
import { Panel, type Span, spanOf, startOf, usageLines } from "./usage.ts";

export function register(pi: ExtensionAPI): void {
	const settings = readSettings(getAgentDir());
	const client = new Pigrep(settings.command);
	registerTools(pi, client);
	const commands = new Commands(pi, client);
	const command = (name: string, description: string, handler: (args: string, ctx: ExtensionCommandContext) => Promise<void>) =>
		pi.registerCommand(name, { description, handler: (args, ctx) => commands.guarded(ctx, () => handler(args, ctx)) });
	command("search", "Search all past sessions: /search [QUERY]", (args, ctx) => commands.find(ctx, search, args));
	command("grep", "Find lines of past sessions: /grep PATTERN", (args, ctx) => commands.find(ctx, grep, args));
	command("history", "Find an earlier prompt: /history [QUERY]", (args, ctx) => commands.find(ctx, history, args));
	command("blame", "Which session wrote these lines: /blame FILE[:LINE[-LINE]]", (args, ctx) => commands.find(ctx, blame, args));
	command("recap", "What was done here, and what is open: /recap [SESSION]", (args, ctx) => commands.find(ctx, recap, args));
	command("usage", "Tokens and cost: /usage [today|week|month|all] [here|everywhere]", (args, ctx) => commands.usage(ctx, args));
	command("open", "Open a session at an entry: /open SESSION[:ENTRY]", (args, ctx) => commands.openNamed(ctx, args.trim()));
	for (const [mode, description] of [
		[search, "Search all past sessions"],
		[history, "Find an earlier prompt"],
	] as const) {
		for (const key of settings.keys[mode.name as "search" | "history"]) {
			const handler = (ctx: ExtensionContext) => commands.guarded(ctx, () => commands.find(ctx, mode, ""));
			pi.registerShortcut(key as KeyId, { description, handler });
		}
	}
}

/** Runs one command at a time, and does what was chosen in the overlay. */
class Commands {
	private readonly pi: ExtensionAPI;
	private readonly client: Pigrep;
	private busy = false;
	/** What a shortcut chose, for the command that opens it. */
	private chosen: { name: string; at: Position; exactly: boolean; draft: string } | undefined;

	constructor(pi: ExtensionAPI, client: Pigrep) {
		this.pi = pi;
		this.client = client;
	}

	/** Two overlays would take each other's keys; and what fails is said. */
	async guarded(ctx: ExtensionContext, run: () => Promise<void>): Promise<void> {
		if (this.busy) return;
		this.busy = true;
		try {
			await run();
		} catch (error) {
			try {
				ctx.ui.notify(`pigrep: ${asFailure(error).sentence}`, "error");
			} catch {
				// The session was replaced meanwhile, and its ctx with it.
			}
		} finally {
			this.busy = false;
		}
	}

	async find(ctx: ExtensionContext, mode: Mode, query: string): Promise<void> {
		if (ctx.mode !== "tui") throw new Error("this needs pi's terminal interface; the tools of the model work without");
		let tui: TUI | undefined;
		const choice = await ctx.ui.custom<Choice | undefined>(
			(theTui, theme, _keys, done) => {
				tui = theTui;
				const host = {
					client: this.client,
					cwd: ctx.cwd,
					paint: paintOf(theme),
					rows: () => theTui.terminal.rows,
					redraw: () => theTui.requestRender(),
					check: ({ at }: { at: Position }, signal: AbortSignal) => check(this.client, ctx, at, signal),
					copyCommand: async ({ at }: { at: Position }, signal: AbortSignal) => {
						const { shell } = await this.client.resume(at.sessionPath, { signal, cwd: ctx.cwd });
						await copyToClipboard(shell);
						return shell;
					},
					done,
				};
				return new Overlay(host, mode, query);
			},
			{ overlay: true, overlayOptions: { anchor: "center", width: "92%", minWidth: 80, maxHeight: "100%" } },
		);
		if (!choice) return;
		if (choice.action === "open") await this.open(ctx, choice.item.at, choice.exactly);
		else if (choice.action === "insert" && ctx.ui.getEditorText().trim() === "") ctx.ui.setEditorText(choice.text);
		else ctx.ui.pasteToEditor(choice.text);
		tui?.requestRender();
	}

	/** A shortcut has no way to switch sessions, so it lets the command do it. */
	private async open(ctx: ExtensionContext, at: Position, exactly: boolean): Promise<void> {
		if ("switchSession" in ctx) return open(ctx as ExtensionCommandContext, at, exactly);
		const full = placeOf(at, at.entryId ? at : undefined);
		// Whatever an id in a file may be, it becomes one argument.
		const name = /^[\w.:-]+$/.test(full) ? full : "chosen";
		this.chosen = { name, at, exactly, draft: ctx.ui.getEditorText() };
		if (runsCommands(VERSION)) {
			this.chosen.draft = "";
			// After this handler, because the command waits for its turn.
			setTimeout(() => this.pi.sendUserMessage(`/open ${name}`, { expandPromptTemplates: true } as object), 0);
		} else {
			ctx.ui.setEditorText(`/open ${name}`);
			ctx.ui.notify("Press Enter to open the session", "info");
		}
	}

	async openNamed(ctx: ExtensionCommandContext, name: string): Promise<void> {
		const chosen = this.chosen?.name === name ? this.chosen : undefined;
		this.chosen = undefined;
		if (chosen) {
			if (chosen.draft) ctx.ui.setEditorText(chosen.draft);
			return open(ctx, chosen.at, chosen.exactly);
		}
		if (!name) throw new Error("usage: /open SESSION[:ENTRY]");
		const { session, entries } = await this.client.show(name, 0, { cwd: ctx.cwd });
		const entry = entries.find((e) => e.focus);
		const at = { ...session, entryId: entry?.entryId, timestamp: entry?.timestamp, line: entry?.line ?? 0 };
		const { warning } = await check(this.client, ctx, at);
		if (warning && !(await ctx.ui.confirm("Open the session?", warning))) return;
		await open(ctx, at, true);
	}

	async usage(ctx: ExtensionCommandContext, args: string): Promise<void> {
		const ask = ({ period, here }: Span) =>
			this.client.usage(period === "all" ? "month,model" : "day,model", startOf(period, new Date()), here ? ctx.cwd : undefined, { cwd: ctx.cwd });
		const span = spanOf(args);
		if (ctx.mode !== "tui") {
			const plain = usageLines(await ask(span), span, ctx.cwd, new Date(), 72, paintOf(ctx.ui.theme));
			ctx.ui.notify(plain.map((line) => line.map((p) => p.text).join("")).join("\n"), "info");
			return;
		}
		await ctx.ui.custom<void>(
			(tui, theme, _keys, done) => {
				const host = {
					cwd: ctx.cwd,
					paint: paintOf(theme),
					now: () => new Date(),
					rows: () => rowsOf(tui.terminal.rows),
					redraw: () => tui.requestRender(),
					ask,
					done: () => done(),
				};
				return new Panel(host, span);
			},
			{ overlay: true, overlayOptions: { anchor: "center", width: 84, maxHeight: "100%" } },
		);
	}
}

/** From 0.84.2 an extension can run a command; before, its text would go to the model. */
export function runsCommands(version: string): boolean {
	const [major = 0, minor = 0, patch = 0] = version.split(".").map((n) => Number.parseInt(n, 10));
	return major > 0 || minor > 84 || (minor === 84 && patch >= 2);
}
