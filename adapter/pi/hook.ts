// Written by `pigrep setup`, which takes it out again with --undo. See docs/hooks.md.
import { spawn } from "node:child_process";

const program = "PROGRAM";

// ask runs a hook, and returns what it says: "" for nothing, whatever the reason is.
function ask(call: object): Promise<string> {
	return new Promise((resolve) => {
		const child = spawn(program, ["hook"], { stdio: ["pipe", "pipe", "ignore"], timeout: 5000 });
		let said = "";
		child.on("error", () => resolve(""));
		child.stdin.on("error", () => {});
		child.stdout.on("data", (data) => (said += data));
		child.on("close", () => {
			try {
				resolve(JSON.parse(said).hookSpecificOutput.additionalContext);
			} catch {
				resolve("");
			}
		});
		child.stdin.end(JSON.stringify(call));
	});
}

export default function (pi: any) {
	let start: Promise<string> | undefined;
	const call = (ctx: any, more: object) =>
		ask({ session_id: ctx.sessionManager.getSessionId(), transcript_path: ctx.sessionManager.getSessionFile(), cwd: ctx.cwd, ...more });

	pi.on("session_start", (event: any, ctx: any) => {
		if (event.reason !== "reload") start = call(ctx, { hook_event_name: "SessionStart", source: event.reason });
	});
	pi.on("session_compact", (_event: any, ctx: any) => {
		start = call(ctx, { hook_event_name: "SessionStart", source: "compact" });
	});
	pi.on("before_agent_start", async () => {
		const content = await start;
		start = undefined;
		if (content) return { message: { customType: "pigrep", content, display: false } };
	});
	pi.on("tool_result", async (event: any, ctx: any) => {
		if (event.toolName !== "bash" || !event.isError) return;
		const error = event.content.map((part: any) => part.text ?? "").join("\n");
		const content = await call(ctx, { hook_event_name: "PostToolUseFailure", tool_name: "Bash", tool_input: event.input, error });
		if (content) pi.sendMessage({ customType: "pigrep", content, display: false }, { deliverAs: "steer" });
	});
}
