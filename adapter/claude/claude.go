// Package claude says what Claude Code writes: session files of all versions, the files of
// subagents beside them, directories and environment variables. It also knows how Claude
// Code resumes a session. No other package knows anything about it. The central type is
// Agent, an adapter.Agent. The package imports adapter, jsonl and internal/session.
package claude

import (
	_ "embed"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unicode/utf16"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// Name identifies the session files of Claude Code.
const Name = "claude.projects_jsonl.v1"

// Agent is Claude Code, in every version since 1.0.
type Agent struct{ *adapter.Profile }

// New returns the adapter for Claude Code.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Claude Code", Reading: 4, Homes: homes, Sessions: projects, Files: files, Marks: marks, Kept: storesText,
		CurrentID: currentVariable, ClientNames: []string{"claude-code"}, Deleting: "claude project purge DIR",
		Resuming: adapter.Resuming{
			Program: "claude", Install: "npm install -g @anthropic-ai/claude-code", Args: "--resume NAME", ForkArgs: "--resume NAME --fork-session", Refuses: refuses,
		},
		Servers: adapter.Servers{
			File: ".mcp.json of a project; for all projects: claude mcp add --scope user pigrep -- pigrep mcp", Own: "~/.claude.json", Key: "mcpServers", Type: "stdio",
		},
		Hooks: adapter.Hooks{File: "settings.json", Failure: "PostToolUseFailure"},
		Variables: []adapter.Variable{
			{Name: configDirVariable, Use: "Claude Code's directory, in place of ~/.claude; its projects/ is searched", Path: true},
			{Name: currentVariable, Use: "the session of Claude Code that mcp runs in, which it leaves out"},
		},
	}}
}

// marks are the lines of a session. They have no header, but each of them says what it is.
var marks = `
	transcript type=user|assistant message{ !message.parts uuid" sessionId" parentUuid
	transcript type=system|attachment|progress uuid" sessionId" parentUuid !systemPayload
	transcript type=summary summary" leafUuid"
	transcript type=file-history-snapshot snapshot{ messageId"
	transcript type=queue-operation sessionId" operation"
	transcript type=` + strings.Join(strings.Fields(states), "|") + ` sessionId"
	cut "parentUuid": "isSidechain": "sessionId":"
`

// Environment variables of Claude Code.
const (
	configDirVariable = "CLAUDE_CONFIG_DIR"
	currentVariable   = "CLAUDE_CODE_SESSION_ID" // set for the processes that it starts
)

// projects is the directory with the sessions in the directory of Claude Code.
const projects = "projects"

// homes are where Claude Code keeps its files. Programs that read sessions take several directories from the variable.
const homes = "$" + configDirVariable + ", ~/.claude ~/.config/claude"

// files are the sessions: of a project, and in the directory of each those of its subagents. Versions around
// 2.0 have them beside it, in agent-ID.jsonl.
const files = `
	*/*.jsonl
	*/{uuid}/subagents/**/agent-*.jsonl
`

// Roots implements adapter.Agent. Each session of Claude Desktop has a directory of Claude Code:
// ORGANIZATION/ACCOUNT/local_ID/.claude.
func (a Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	list, err := a.Profile.Roots(env)
	return append(list, adapter.Root{
		Path: filepath.Join(desktop(env, runtime.GOOS), desktopSessions), Origin: "Claude Desktop", Usual: true, Layout: adapter.NewLayout("*/*/*/.claude/"+projects, files),
	}), err
}

// desktopSessions is the directory of the sessions that Claude Code had within Claude Desktop.
const desktopSessions = "local-agent-mode-sessions"

// desktop returns the directory of Claude Desktop.
func desktop(env adapter.Environment, system string) string {
	switch system {
	case "darwin":
		return filepath.Join(env.Home, "Library", "Application Support", "Claude")
	case "windows":
		return filepath.Join(env.Home, "AppData", "Roaming", "Claude")
	}
	return filepath.Join(env.Home, ".config", "Claude")
}

// isOfDesktop reports whether a session is one of Claude Desktop.
func isOfDesktop(file string) bool {
	return strings.Contains(session.Slashed(file), "/"+desktopSessions+"/")
}

//go:embed stores.txt
var storesText string

// refuses says why Claude Code does not find a session: it looks for its id among those of the working directory.
func refuses(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	project := filepath.Dir(s.Path)
	home, above := adapter.Places(env, homes)[0].Path, filepath.Dir(filepath.Dir(project))
	switch {
	case isOfDesktop(s.Path):
		return "it belongs to Claude Desktop", "continue it there"
	case q == nil:
	case s.CWD == "":
		return "it does not say in which directory it began", ""
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD) && (env.RealPath == nil || env.RealPath(q.Dir) != env.RealPath(s.CWD)):
		return "Claude Code finds a session only in the directory where it began", "continue it in " + s.CWD + "; if that directory is gone, make it again"
	case above != home:
		return "Claude Code looks for sessions in " + home, "set " + configDirVariable + "=" + shellcmd.Here.Quote(above)
	case !isProject(filepath.Base(project), s.CWD) && filepath.Base(project) != env.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"):
		return "its file is not in the directory of its project", ""
	}
	return "", ""
}

// isProject reports whether a directory is that of the sessions of a working directory: its
// characters but letters and digits are dashes. A long name is cut, and ends with a hash.
func isProject(name, cwd string) bool {
	var want []byte
	for _, c := range utf16.Encode([]rune(cwd)) {
		if l := c | 0x20; l >= 'a' && l <= 'z' || c >= '0' && c <= '9' {
			want = append(want, byte(c))
		} else {
			want = append(want, '-')
		}
	}
	const longest = 200
	return name == string(want) || len(want) > longest && strings.HasPrefix(name, string(want[:longest])+"-")
}

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })
