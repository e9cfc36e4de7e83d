// Package qwen says what Qwen Code writes: session files of all known versions, the files of subagents
// beside them, directories and environment variables. It also knows how Qwen Code resumes a session. No
// other package knows anything about it. The central type is Agent, an adapter.Agent. The package imports
// adapter, jsonl and internal/session.
package qwen

import (
	_ "embed"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// Name identifies the session files of Qwen Code.
const Name = "qwen.chats_jsonl.v1"

// Agent is Qwen Code, in every version since 0.5.
type Agent struct{ *adapter.Profile }

const (
	runtimeVariable = "QWEN_RUNTIME_DIR"
	homeVariable    = "QWEN_HOME"
	currentVariable = "QWEN_CODE_SESSION_ID" // set for the commands and MCP servers that it starts

	homes    = "$" + homeVariable + " ~/.qwen $" + runtimeVariable
	projects = "projects"
	chats    = "chats"
	archive  = "archive"
)

// files are the sessions of a project, those that were archived, and the subagents of each.
const files = `
	*/` + chats + `/*.jsonl
	*/` + chats + `/` + archive + `/*.jsonl
	*/subagents/*/agent-*.jsonl
`

const marks = `
	transcript type=user|assistant|tool_result message.parts uuid" sessionId" parentUuid
	transcript type=system systemPayload subtype" uuid" sessionId" parentUuid
	cut "parentUuid": "sessionId":" "message":{"role":" "parts":[
`

//go:embed stores.txt
var storesText string

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// New returns the adapter for Qwen Code.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Qwen Code", Reading: 1, Homes: homes, Sessions: projects, Files: files, Marks: marks, Kept: storesText,
		CurrentID: currentVariable, ClientNames: []string{"qwen-cli-mcp-client-pigrep"},
		Servers: adapter.Servers{File: "~/.qwen/settings.json, or .qwen/settings.json of a project", Own: "settings.json", Key: "mcpServers"},
		Resuming: adapter.Resuming{
			Program: "qwen", Install: "npm install -g @qwen-code/qwen-code", Args: "--resume NAME", ForkArgs: "--resume NAME --fork-session", Refuses: refuses,
		},
		Variables: []adapter.Variable{
			{Name: homeVariable, Use: "Qwen Code's directory, in place of ~/.qwen; its projects/ is searched", Path: true},
			{Name: runtimeVariable, Use: "the directory of Qwen Code's sessions, in place of Qwen Code's own; its projects/ is searched", Path: true},
			{Name: currentVariable, Use: "the session of Qwen Code that mcp runs in, which it leaves out"},
		},
	}}
}

// parentOf returns the session that a subagent in this file works for, as its place says; "" for another file.
func parentOf(file string) string {
	dir := path.Dir(session.Slashed(file))
	if path.Base(path.Dir(dir)) != "subagents" {
		return ""
	}
	return path.Base(dir)
}

// refuses says why Qwen Code does not find a session: it looks for its id among those of the working directory.
func refuses(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	dir := filepath.Join(adapter.Places(env, "$"+runtimeVariable+" "+homes)[0].Path, projects, strings.Map(plain, s.CWD), chats)
	switch {
	case q == nil:
	case s.CWD == "":
		return "it does not say in which directory it began", ""
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD) && (env.RealPath == nil || env.RealPath(q.Dir) != env.RealPath(s.CWD)):
		return "Qwen Code finds a session only in the directory where it began", "continue it in " + s.CWD + "; if that directory is gone, make it again"
	case filepath.Base(filepath.Dir(s.Path)) == archive:
		return "it is archived", "bring it back in Qwen Code first"
	case filepath.Dir(s.Path) != dir:
		return "Qwen Code looks for it in " + dir, ""
	}
	return "", ""
}

// plain is what stands for a character of a working directory in the name of a project.
func plain(r rune) rune {
	if l := r | 0x20; l >= 'a' && l <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
