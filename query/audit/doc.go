// Package audit answers what tools did and what it cost: tables of tools, shell
// commands and files, a list of calls, and sums of tokens and cost.
//
// It reads the facts that the index keeps of each session: one for each call of a
// tool, each use of tokens, and each file that a summary lists. Session files are
// read only for the arguments and results of listed calls, and to match the text of
// a request.
//
// Forks and imports copy entries. A fact counts once, in the session with the oldest
// header; the others are duplicates and only counted as such (Coverage.Copies). The
// auditor is the central type: it visits the facts of all sessions in the order of
// their headers, finds the duplicates, and applies the filters of a Request. The
// tables group what it visits by the dimensions of the request.
//
// The package imports query, which finds the calls that match a text, and everything
// below it. The rules for commands and paths are those of internal/shellcmd.
package audit
