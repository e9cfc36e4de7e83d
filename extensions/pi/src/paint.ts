/** The few looks of the overlay, in the colours of pi's theme. */
import type { Theme } from "@earendil-works/pi-coding-agent";
import type { Style } from "./text.ts";

export interface Paint {
	border: Style;
	title: Style;
	accent: Style;
	dim: Style;
	mark: Style;
	error: Style;
	warning: Style;
	selected: Style;
}

export function paintOf(theme: Theme): Paint {
	return {
		border: (s) => theme.fg("borderMuted", s),
		title: (s) => theme.bold(s),
		accent: (s) => theme.fg("accent", s),
		dim: (s) => theme.fg("dim", s),
		mark: (s) => theme.bold(theme.fg("warning", s)),
		error: (s) => theme.fg("error", s),
		warning: (s) => theme.fg("warning", s),
		selected: (s) => theme.bg("selectedBg", s),
	};
}
