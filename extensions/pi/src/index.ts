/**
 * pigrep inside pi: commands, keys and tools that search all past sessions.
 *
 * An extension that cannot be imported, or that throws here, stops pi from starting. So this file
 * imports nothing, and whatever fails is said when the session starts.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default async function (pi: ExtensionAPI): Promise<void> {
	try {
		const { register } = await import("./commands.ts");
		register(pi);
	} catch (error) {
		const text = `pi-pigrep does not work with this pi: ${error instanceof Error ? error.message : error}`;
		pi.on("session_start", (_event, ctx) => ctx.ui.notify(text, "error"));
	}
}
