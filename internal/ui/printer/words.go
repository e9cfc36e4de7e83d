package printer

import (
	"pigrep/internal/session"
	"pigrep/query/entry"
)

// NameOf says what an entry is.
func NameOf(e *entry.Entry) string { return nameOf(e) }

// CallSummary is a call on one line. Paths in the directory cwd are relative to it.
func CallSummary(c *session.Call, cwd string) string {
	p := &transcript{s: &Show{}}
	p.s.Session.CWD = cwd
	return p.callSummary(c, false)
}

// CommandOf returns the command of a call.
func CommandOf(c *session.Call) (string, bool) { return commandOf(c) }
