package shellcmd

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"pigrep/internal/session"
)

const ownName = "pigrep"

// noSearch are the commands of this program that print nothing of sessions.
var noSearch = []string{"index", "watch", "status", "doctor", "config", "init", "completion", "version", "help", "skill", "mcp"}

// searches reports whether the command prints what past sessions say.
func (c *command) searches() bool {
	first := firstArgument(c.args)
	return c.program == ownName && first != "" && !slices.Contains(noSearch, first)
}

// packageTools are the tools that the package for pi adds, which run this program.
var packageTools = []string{"session_search", "session_read"}

// callers are tools that call others, as their arguments say.
var callers = []string{"codemode", "mcp"}

// isSearch reports whether a call with these arguments asks this program, over MCP or as
// a tool of its package for pi. Clients of MCP make the name of a tool from that of its
// server.
func isSearch(tool string, arguments []byte) bool {
	if slices.Contains(packageTools, tool) {
		return true
	}
	if slices.Contains(callers, strings.ToLower(tool)) {
		return bytes.Contains(arguments, []byte(ownName))
	}
	return slices.Contains(strings.FieldsFunc(strings.ToLower(tool), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), ownName)
}

func markSearch(parts []session.Part, search bool) {
	for i := range parts {
		parts[i].Search = parts[i].Search || search
	}
}
