package claude

import (
	"strings"

	"pigrep/internal/session"
)

// tool says what a tool does, and which of its arguments say so.
type tool struct {
	deed    session.Deed
	command string // the argument with a shell command
	file    string // the argument with a path
	dialect session.Dialect
}

var tools = map[string]tool{
	"Bash":       {session.DeedRun, "command", "", session.DialectPOSIX},
	"PowerShell": {session.DeedRun, "command", "", session.DialectPowerShell},
	"REPL":       {deed: session.DeedRun},

	"BashOutput": {deed: session.DeedPoll}, "TaskOutput": {deed: session.DeedPoll}, "AgentOutputTool": {deed: session.DeedPoll},
	"KillShell": {deed: session.DeedPoll}, "KillBash": {deed: session.DeedPoll}, "TaskStop": {deed: session.DeedPoll}, "Monitor": {deed: session.DeedPoll},

	"Read":         {session.DeedRead, "", "file_path", 0},
	"NotebookRead": {session.DeedRead, "", "notebook_path", 0},
	"Write":        {session.DeedWrite, "", "file_path", 0},
	"Edit":         {session.DeedEdit, "", "file_path", 0},
	"MultiEdit":    {session.DeedEdit, "", "file_path", 0},
	"NotebookEdit": {session.DeedEdit, "", "notebook_path", 0},
	"LS":           {session.DeedList, "", "path", 0},
	"Glob":         {session.DeedList, "", "path", 0},
	"Grep":         {session.DeedList, "", "path", 0},
	"LSP":          {session.DeedRead, "", "filePath", 0},

	"WebFetch": {deed: session.DeedFetch}, "WebSearch": {deed: session.DeedFetch}, "ToolSearch": {deed: session.DeedFetch},
	"ListMcpResourcesTool": {deed: session.DeedFetch}, "ReadMcpResourceTool": {deed: session.DeedFetch},

	"Task": {deed: session.DeedDelegate}, "Agent": {deed: session.DeedDelegate}, "Workflow": {deed: session.DeedDelegate}, "SendMessage": {deed: session.DeedDelegate},

	"TodoWrite": {deed: session.DeedPlan}, "TodoRead": {deed: session.DeedPlan}, "TaskCreate": {deed: session.DeedPlan}, "TaskUpdate": {deed: session.DeedPlan},
	"TaskGet": {deed: session.DeedPlan}, "TaskList": {deed: session.DeedPlan}, "EnterPlanMode": {deed: session.DeedPlan}, "ExitPlanMode": {deed: session.DeedPlan},

	"AskUserQuestion": {deed: session.DeedAsk},
}

// The names of the tools that the provider runs.
var serverTools = map[string]session.Deed{
	"web_search": session.DeedFetch, "web_fetch": session.DeedFetch, "code_execution": session.DeedRun, "bash_code_execution": session.DeedRun,
	"advisor": session.DeedDelegate,
}

// toolOf returns what is known of a tool.
func toolOf(name string) tool {
	if t, ok := tools[name]; ok {
		return t
	}
	return tool{deed: serverTools[strings.ToLower(name)]}
}
