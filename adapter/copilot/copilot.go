// Package copilot says what GitHub Copilot CLI writes: the events of sessions in all known versions,
// directories and environment variables. It also knows how Copilot resumes a session. No other package
// knows anything about it. The central type is Agent, an adapter.Agent. The package imports adapter,
// jsonl and internal/session.
package copilot

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
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

	stateDir   = "session-state"
	eventsFile = "events.jsonl"
	titleFile  = "workspace.yaml"
	program    = "copilot"
)

//go:embed stores.txt
var storesText string

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// New returns the adapter for Copilot CLI.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Copilot CLI", Reading: 1, Homes: "$" + homeVariable + " ~/.copilot", Kept: storesText, CurrentID: currentVariable, ClientNames: []string{"copilot-cli", "github-copilot-developer"},
		Variables: []adapter.Variable{
			{Name: homeVariable, Use: "Copilot's directory, in place of ~/.copilot; its session-state/ is searched", Path: true},
			{Name: currentVariable, Use: "the session of Copilot that mcp runs in, which it leaves out"},
		},
	}}
}

// roots are the directories with sessions, the one in use first.
func roots(env adapter.Environment) (list []adapter.Root) {
	usual := filepath.Join(env.Home, ".copilot", stateDir)
	if dir := env.Getenv(homeVariable); dir != "" {
		if dir = filepath.Join(adapter.Absolute(dir, env), stateDir); dir != usual {
			list = append(list, adapter.Root{Path: dir, Origin: "$" + homeVariable, Layout: layout{}})
		}
	}
	return append(list, adapter.Root{Path: usual, Origin: "default", Usual: true, Layout: layout{}})
}

// Roots implements adapter.Agent. Sessions stay where they are when the variable changes, so both directories count.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) { return roots(env), nil }

// Home implements adapter.Homed.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(stateDir + "/") {
		return layout{home: true}
	}
	return nil
}

// layout is that of the directory with sessions, or of the one above it:
//
//	ID/events.jsonl
//	ID/workspace.yaml    the title of the session
//	ID.jsonl             a session of older versions
type layout struct{ home bool }

func (l layout) below(path []byte) ([]byte, bool) {
	if !l.home {
		return path, true
	}
	rest, ok := bytes.CutPrefix(path, []byte(stateDir))
	return bytes.TrimPrefix(rest, []byte("/")), ok && (len(rest) == 0 || rest[0] == '/')
}

// Enter implements adapter.Layout.
func (l layout) Enter(dir []byte) bool {
	dir, ok := l.below(dir)
	return ok && bytes.IndexByte(dir, '/') < 0
}

// File implements adapter.Layout.
func (l layout) File(path []byte) adapter.Sort {
	path, ok := l.below(path)
	_, name, below := bytes.Cut(path, []byte("/"))
	switch {
	case !ok:
	case below && string(name) == eventsFile, !below && bytes.HasSuffix(path, []byte(session.Extension)):
		return adapter.Transcript
	case below && string(name) == titleFile:
		return adapter.Notes
	}
	return adapter.Foreign
}

// Recognize implements adapter.Agent. Each line says what it is.
func (Agent) Recognize(head []byte) adapter.Sort {
	if bytes.HasPrefix(head, []byte("id: ")) && bytes.Contains(head, []byte("\ncwd: ")) && bytes.Contains(head, []byte("\nsummary_count: ")) {
		return adapter.Notes
	}
	return adapter.SortOf(head, func(json *jsonl.Scanner, all jsonl.Fields) adapter.Sort {
		_, known := events[json.Name(all.Find("type"))]
		if known && json.Kind(all.Find("data")) == '{' && json.Kind(all.Find("id")) == '"' && json.Kind(all.Find("timestamp")) == '"' {
			return adapter.Transcript
		}
		return adapter.Foreign
	}, `"data":{`, `"interactionId":"`)
}

// idOf returns the id of a session, as the place of one of its files says; "" if it says none.
func idOf(file string) string {
	dir, name := filepath.Split(filepath.FromSlash(session.Slashed(file)))
	id := strings.TrimSuffix(name, session.Extension)
	if name == eventsFile || name == titleFile {
		id = filepath.Base(dir)
	}
	if !adapter.IsUUID(id) {
		return ""
	}
	return id
}

// ResumeCommand implements adapter.Resumer. Copilot finds a session by its id from any directory, and goes on in the session's own.
func (Agent) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	id := idOf(s.Path)
	if s.Version == 0 || id == "" {
		return "", nil
	}
	return s.CWD, []string{program, "--resume", id}
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	s, id := &q.Record.Summary, idOf(q.Record.Path)
	above := filepath.Dir(filepath.Dir(s.Path))
	refuse := func(reason, hint string) (*adapter.Resumption, error) {
		return nil, &adapter.Obstacle{Program: program, Reason: reason, Hint: hint}
	}
	switch {
	case q.Packed:
		return refuse("its file is compressed", "")
	case id == "" || filepath.Base(s.Path) != eventsFile || filepath.Base(above) != stateDir:
		return refuse("it is not in a directory of Copilot that is named after its id", "")
	case above != roots(env)[0].Path:
		return refuse("Copilot looks for sessions in "+roots(env)[0].Path, "set "+homeVariable+"="+shellcmd.Here.Quote(filepath.Dir(above)))
	case q.Fork:
		return refuse("Copilot continues a session only in place", "continue it without --fork")
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD):
		return refuse("Copilot continues a session in the directory where it began", "continue it in "+s.CWD)
	}
	return &adapter.Resumption{Argv: []string{program, "--resume", id}, Install: "npm install -g @github/copilot"}, nil
}
