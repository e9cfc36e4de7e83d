/** Where things are on a grid of any size. */

export interface Layout {
	/** There is a frame around everything. */
	framed: boolean;
	/** Cells inside of the frame. */
	inner: number;
	list: { width: number; height: number };
	/** Absent where there is no room; then it is shown in place of the list on demand. */
	preview?: { width: number; height: number; beside: boolean };
}

/** The rows that the overlay takes: all of a small terminal, nearly all of a large one. */
export function rowsOf(terminal: number): number {
	return terminal < 30 ? terminal : Math.floor(terminal * 0.92);
}

/** Above the body are the query and a rule, below it `status` rows. */
export function layout(width: number, height: number, status: number, zoomed: boolean): Layout {
	const framed = width >= 56 && height >= 16;
	const inner = framed ? width - 4 : width;
	const body = Math.max(1, height - 2 - status - (framed ? 2 : 0));
	const whole = { width: inner, height: body };
	if (zoomed) return { framed, inner, list: { width: inner, height: 0 }, preview: { ...whole, beside: false } };
	if (inner >= 100) {
		const list = Math.floor(inner * 0.45);
		return {
			framed,
			inner,
			list: { width: list, height: body },
			preview: { width: inner - list - 3, height: body, beside: true },
		};
	}
	if (inner >= 50 && body >= 9) {
		const list = Math.ceil((body - 1) * 0.45);
		return {
			framed,
			inner,
			list: { width: inner, height: list },
			preview: { width: inner, height: body - list - 1, beside: false },
		};
	}
	return { framed, inner, list: whole };
}
