/** The key "pigrep" of pi's own settings.json, which pi keeps as it is. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Settings {
	/** The program, if it is not on the PATH. */
	command: string;
	/** Shortcuts, as pi writes keys; none with an empty list. */
	keys: { search: string[]; history: string[] };
}

/**
 * Only the user's settings and not those of a project: a repository that was cloned must not choose
 * a program to run. What is not there, or not as it should be, is as by default.
 */
export function readSettings(agentDir: string): Settings {
	let given: { command?: unknown; keys?: Record<string, unknown> } = {};
	try {
		given = (JSON.parse(readFileSync(join(agentDir, "settings.json"), "utf8")) as { pigrep?: typeof given }).pigrep ?? {};
	} catch {
		// No settings, or pi says itself what is wrong with them.
	}
	const keys = (name: string, usual: string): string[] => {
		const value = given.keys?.[name] ?? usual;
		return (Array.isArray(value) ? value : [value]).filter((k): k is string => typeof k === "string" && k !== "");
	};
	return {
		command: typeof given.command === "string" && given.command ? given.command : "pigrep",
		keys: { search: keys("search", "alt+s"), history: keys("history", "alt+r") },
	};
}
