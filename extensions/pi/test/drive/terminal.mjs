// A program in a terminal that is driven by keys and read as text, with tmux. It always waits for
// text and never for time.
import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const patience = 20_000;
const pause = () => new Promise((done) => setTimeout(done, 60));

export class Terminal {
	constructor(env) {
		this.env = env;
		this.started = 0;
	}

	/** A server that ends does so after its last client: each terminal has its own. */
	get socket() {
		return `pigrep-${process.pid}-${this.started}`;
	}

	tmux(...args) {
		return run("tmux", ["-L", this.socket, "-f", "/dev/null", ...args], { env: this.env });
	}

	/** Starts a command line in a new terminal; the last one is ended. */
	async start(command, cwd, columns = 120, rows = 36) {
		await this.end();
		this.started++;
		await this.tmux(
			...["new-session", "-d", "-s", "t", "-x", String(columns), "-y", String(rows), "-c", cwd, command],
			...["escape-time 0", "remain-on-exit on", "status off", "extended-keys on"].flatMap((o) => [";", "set", "-g", ...o.split(" ")]),
		);
	}

	async end() {
		await this.tmux("kill-server").catch(() => {});
	}

	endNow() {
		try {
			execFileSync("tmux", ["-L", this.socket, "kill-server"], { env: this.env, stdio: "ignore" });
		} catch {
			// It has ended.
		}
	}

	keys(...names) {
		return this.tmux("send-keys", "-t", "t", ...names);
	}

	type(text) {
		return this.tmux("send-keys", "-t", "t", "-l", text);
	}

	resize(columns, rows) {
		return this.tmux("resize-window", "-t", "t", "-x", String(columns), "-y", String(rows));
	}

	/** What the terminal shows; with escapes also its colours. */
	async screen(escapes = false) {
		const { stdout } = await this.tmux("capture-pane", "-p", "-t", "t", ...(escapes ? ["-e"] : []));
		return stdout;
	}

	/** Waits until the screen is as wanted: a text, a pattern or a function of it. */
	async see(wanted, what = String(wanted), time = patience) {
		const holds = typeof wanted === "function" ? wanted : wanted instanceof RegExp ? (s) => wanted.test(s) : (s) => s.includes(wanted);
		const until = Date.now() + time;
		for (;;) {
			const screen = await this.screen();
			if (holds(screen)) return screen;
			if (Date.now() > until) throw new Error(`never shown: ${what}\n${screen}`);
			await pause();
		}
	}

	/** Presses a key until it has an effect: a program may not take keys yet. */
	async press(key, wanted) {
		for (let tries = 5; ; tries--) {
			await this.keys(key);
			try {
				return await this.see(wanted, undefined, patience / 5);
			} catch (error) {
				if (tries === 1) throw error;
			}
		}
	}

	/** Waits until something is not on the screen any more. */
	gone(wanted) {
		const holds = wanted instanceof RegExp ? (s) => wanted.test(s) : (s) => s.includes(wanted);
		return this.see((s) => !holds(s), `no ${wanted}`);
	}
}
