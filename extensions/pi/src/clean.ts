/**
 * Text of sessions is text of strangers: models, web pages, output of programs.
 * Whatever goes to the screen, into the editor or to the model passes through here.
 */

// OSC, DCS, SOS, PM and APC with their text, up to BEL or ST; CSI; other escapes; the 8-bit forms.
const escapes =
	/(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?/g;

// Bidirectional controls, zero-width and invisible characters, tags, variation selectors beyond
// those of emoji, and private use planes.
const invisible =
	/[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/gu;

const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** Text of several lines; tabs become spaces, every other control character goes. */
export function cleanText(text: string): string {
	return text
		.replace(escapes, "")
		.replace(/\r\n?|[\u2028\u2029\x85\v\f]/g, "\n")
		.replace(/\t/g, "    ")
		.replace(controls, "")
		.replace(invisible, "")
		.toWellFormed();
}

/** The same on one line. */
export function cleanLine(text: string): string {
	return cleanText(text).replace(/\s+/g, " ").trim();
}
