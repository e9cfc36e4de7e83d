// Package blame answers: which session wrote this line, and why? The index has every call of a
// tool, and session files have its text, so it answers for all sessions there are, with nothing
// installed beforehand.
//
//	name of the file ──▶ terms ──▶ calls, read again ──▶ changes ─┐
//	lines without an origin ──▶ terms ──▶ ───────────────────────┴─▶ replay ──▶ histories
//	                                                                              │
//	lines of the file as they are now ─────────────────────────────────── match ──┴─▶ origins
//
// A change is what one call did to one file: an edit, a patch, a write, a here-document, the
// swaps of sed, a rename. Replayed in the order of time, as the tools made them, they give the
// history of each file: its lines, each with the call that wrote it. A line that a later write
// repeats stays with the call that wrote it first, as in git blame.
//
// The lines of the file are matched with those of its history in order, then those that were there
// once, then those of the same file in other checkouts, of other files with its name, and of files
// that have the same lines. What differs in white space says so, and so does what is only alike.
//
// Commit and Log answer the same for commits: by the hashes that git printed, and by the files
// that calls changed.
package blame
