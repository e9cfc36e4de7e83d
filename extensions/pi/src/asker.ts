/**
 * Questions as someone types: the last one counts. It waits until the keys rest, and ends the process
 * of the one before, except while that builds the index: what it does serves the next question too.
 */
import { Failure, type Progress } from "./pigrep.ts";

export type Question<T> = (signal: AbortSignal, progress: (at: Progress) => void) => Promise<T>;

export class Asker<T> {
	/** When the question that is being answered was asked. */
	since: number | undefined;
	/** How far the index is, while it is built. */
	progress: Progress | undefined;

	private readonly answered: (answer: T) => void;
	private readonly failed: (failure: Failure) => void;
	private next: Question<T> | undefined;
	private timer: NodeJS.Timeout | undefined;
	private running: AbortController | undefined;

	constructor(answered: (answer: T) => void, failed: (failure: Failure) => void) {
		this.answered = answered;
		this.failed = failed;
	}

	ask(question: Question<T>, delay: number): void {
		this.next = question;
		this.since ??= Date.now();
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.start(), delay);
	}

	/** Forgets the question, and ends its process. */
	stop(): void {
		clearTimeout(this.timer);
		this.next = undefined;
		this.running?.abort();
		this.running = undefined;
		this.since = undefined;
		this.progress = undefined;
	}

	private start(): void {
		if (!this.next || (this.running && this.progress)) return;
		this.running?.abort();
		const question = this.next;
		this.next = undefined;
		const controller = new AbortController();
		this.running = controller;
		this.since = Date.now();
		const progress = (at: Progress) => {
			if (this.running === controller) this.progress = at;
		};
		question(controller.signal, progress).then(
			(answer) => this.end(controller, () => this.answered(answer)),
			(error: unknown) => this.end(controller, () => this.failed(asFailure(error))),
		);
	}

	private end(controller: AbortController, deliver: () => void): void {
		if (this.running !== controller) return;
		this.running = undefined;
		this.progress = undefined;
		if (this.next) {
			this.start();
			return;
		}
		this.since = undefined;
		deliver();
	}
}

export function asFailure(error: unknown): Failure {
	return error instanceof Failure ? error : new Failure("failed", error instanceof Error ? error.message : String(error));
}
