// Package copilot says what GitHub Copilot CLI writes: the events of sessions in all known versions,
// directories and environment variables. It also knows how Copilot resumes a session. No other package
// knows anything about it. The central type is Agent, an adapter.Agent. The package imports adapter,
// jsonl and internal/session.
package copilot

import (
	"bytes"
	_ "embed"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// Name identifies the session files of Copilot CLI.
const Name = "copilot.events_jsonl.v1"

// Agent is GitHub Copilot CLI, in every version that writes events.
type Agent struct{ *adapter.Profile }

const (
	homeVariable    = "COPILOT_HOME"
	currentVariable = "COPILOT_AGENT_SESSION_ID" // set for the commands and MCP servers that it starts

	homes      = "$" + homeVariable + " ~/.copilot"
	stateDir   = "session-state"
	eventsFile = "events.jsonl"
	titleFile  = "workspace.yaml"
)

// files are the sessions, and their titles; older versions have sessions in files of their own.
const files = `
	*/` + eventsFile + `
	*/` + titleFile + ` notes
	*.jsonl
`

//go:embed stores.txt
var storesText string

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// New returns the adapter for Copilot CLI.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Copilot CLI", Reading: 1, Homes: homes, Sessions: stateDir, Files: files, Kept: storesText,
		Marks:     `transcript data{ id" timestamp" type=` + strings.Join(slices.Sorted(maps.Keys(events)), "|") + "\n" + `cut "data":{ "interactionId":" "parentId":`,
		CurrentID: currentVariable, ClientNames: []string{"copilot-cli", "github-copilot-developer"},
		Servers:  adapter.Servers{File: "~/.copilot/mcp-config.json", Own: "mcp-config.json", Key: "mcpServers", Type: "local", Tools: true},
		Resuming: adapter.Resuming{Program: "copilot", Install: "npm install -g @github/copilot", Args: "--resume ID", Refuses: refuses},
		Variables: []adapter.Variable{
			{Name: homeVariable, Use: "Copilot's directory, in place of ~/.copilot; its session-state/ is searched", Path: true},
			{Name: currentVariable, Use: "the session of Copilot that mcp runs in, which it leaves out"},
		},
	}}
}

// Recognize implements adapter.Agent. Each line says what it is, but for those of a title.
func (a Agent) Recognize(head []byte) adapter.Sort {
	if bytes.HasPrefix(head, []byte("id: ")) && bytes.Contains(head, []byte("\ncwd: ")) && bytes.Contains(head, []byte("\nsummary_count: ")) {
		return adapter.Notes
	}
	return a.Profile.Recognize(head)
}

// idOf returns the id of a session, as the place of one of its files says; "" if it says none.
func idOf(file string) string {
	file = session.Slashed(file)
	id := session.BaseName(file)
	if dir, name := filepath.Split(filepath.FromSlash(file)); name == eventsFile || name == titleFile {
		id = filepath.Base(dir)
	}
	if !adapter.IsUUID(id) {
		return ""
	}
	return id
}

// refuses says why Copilot does not find a session: it looks for a directory that is named after its id. It goes
// on in the directory of the session.
func refuses(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	above := filepath.Dir(filepath.Dir(s.Path))
	home := adapter.Places(env, homes)[0].Path
	switch {
	case filepath.Base(s.Path) != eventsFile || idOf(s.Path) != s.ID || filepath.Base(above) != stateDir:
		return "its file is not in a directory of Copilot that is named after its id", ""
	case q == nil:
	case filepath.Dir(above) != home:
		return "Copilot looks for sessions in " + filepath.Join(home, stateDir), "set " + homeVariable + "=" + shellcmd.Here.Quote(filepath.Dir(above))
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD):
		return "Copilot continues a session in the directory where it began", "continue it in " + s.CWD
	}
	return "", ""
}
