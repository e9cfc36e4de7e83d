/**
 * pigrep inside pi: commands, keys and tools that search all past sessions.
 *
 * An extension that throws here stops pi from starting, so whatever fails becomes a notification.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Pigrep } from "./pigrep.ts";
import { registerTools } from "./tools.ts";

export default function (pi: ExtensionAPI): void {
	try {
		const client = new Pigrep();
		registerTools(pi, client);
	} catch (error) {
		pi.on("session_start", (_event, ctx) => ctx.ui.notify(`pigrep: ${(error as Error).message}`, "error"));
	}
}
