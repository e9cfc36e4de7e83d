// Package codex says what Codex CLI writes: rollout files of all versions, directories and
// environment variables. It also knows how Codex resumes a session. No other package knows
// anything about it. The central type is Agent, an adapter.Agent. The package imports
// adapter, jsonl and internal/session.
package codex

import (
	"bytes"
	"cmp"
	_ "embed"
	"path"
	"path/filepath"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// Name identifies the session files of Codex.
const Name = "codex.rollout_jsonl.v1"

// Agent is Codex CLI, in every version since 0.20.
type Agent struct{ *adapter.Profile }

// New returns the adapter for Codex.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Codex", Reading: 4, Dir: home, Kept: storesText, CurrentID: currentVariable, ClientNames: []string{"codex-mcp-client"}, Deleting: "codex delete ID",
		Variables: []adapter.Variable{
			{Name: homeVariable, Use: "Codex's directory, in place of ~/.codex; its sessions/ and archived_sessions/ are searched", Path: true},
			{Name: currentVariable, Use: "the session of Codex that mcp runs in, which it leaves out"},
		},
	}}
}

// Recognize implements adapter.Agent. Each line says what it is, but for the items of the
// oldest dialect, which follow a header.
func (Agent) Recognize(head []byte) adapter.Sort {
	return adapter.SortOf(head, sortOf, `"timestamp":"`, `"type":"session_meta"`, `"payload":{`, `"cli_version":"`)
}

// sortOf says what a file with this line is.
func sortOf(json *jsonl.Scanner, all jsonl.Fields) adapter.Sort {
	switch {
	case isRollout(json, all), isFlatHeader(json, all):
		return adapter.Transcript
	case isText(json, all, "id", "thread_name", "updated_at") && len(all) == 3:
		return adapter.Notes
	}
	return adapter.Foreign
}

// isText reports whether members of an object are strings.
func isText(json *jsonl.Scanner, all jsonl.Fields, keys ...string) bool {
	for _, key := range keys {
		if json.Kind(all.Find(key)) != '"' {
			return false
		}
	}
	return true
}

// isRollout reports whether a line is one of Codex since 0.34: it has a type and a payload.
func isRollout(json *jsonl.Scanner, all jsonl.Fields) bool {
	if !isText(json, all, "timestamp", "type") || json.Kind(all.Find("payload")) != '{' {
		return false
	}
	payload := json.Fields(all.Find("payload"))
	switch json.Name(all.Find("type")) {
	case lineMeta:
		return isText(json, payload, "id", "timestamp")
	case lineItem, lineEvent:
		return isText(json, payload, "type")
	case lineContext:
		return isText(json, payload, "cwd", "model")
	case lineCompacted:
		return isText(json, payload, "message")
	case lineWorld, lineUsage:
		return true
	}
	return false
}

// isFlatHeader reports whether a line is the header of older versions, which has no type.
func isFlatHeader(json *jsonl.Scanner, all jsonl.Fields) bool {
	if !isText(json, all, "id", "timestamp") || all.Find("instructions").Empty() {
		return false
	}
	for _, m := range all {
		switch string(m.Key) {
		case "id", "timestamp", "instructions", "git":
		default:
			return false
		}
	}
	return true
}

const (
	homeVariable    = "CODEX_HOME"
	currentVariable = "CODEX_THREAD_ID" // Codex sets it for the processes that it starts

	sessionsDir = "sessions"
	archivedDir = "archived_sessions"
	notesFile   = "session_index.jsonl"
)

// home returns the directory in which Codex keeps its files.
func home(env adapter.Environment) string { return homes(env)[0].Path }

// homes are the directories in which Codex keeps, or kept, its files, the one in use first.
func homes(env adapter.Environment) (list []adapter.Root) {
	usual := filepath.Join(env.Home, ".codex")
	if dir := env.Getenv(homeVariable); dir != "" {
		if dir = adapter.Absolute(dir, env); dir != usual {
			list = append(list, adapter.Root{Path: dir, Origin: "$" + homeVariable, Layout: layout{}})
		}
	}
	return append(list, adapter.Root{Path: usual, Origin: "default", Usual: true, Layout: layout{}})
}

// Roots implements adapter.Agent. Sessions stay where they are when the variable changes, so
// both directories count.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) { return homes(env), nil }

// Home implements adapter.Homed.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(sessionsDir+"/") || has(archivedDir+"/") {
		return layout{}
	}
	return nil
}

// layout is that of Codex's own directory, in which nothing else is opened:
//
//	sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl
//	sessions/YYYY/MM/DD/rollout-TIME-ID_SEGMENT.jsonl
//	archived_sessions/rollout-TIME-ID.jsonl
//	session_index.jsonl
type layout struct{}

// Enter implements adapter.Layout.
func (layout) Enter(dir []byte) bool {
	first, _, _ := bytes.Cut(dir, []byte("/"))
	return string(first) == sessionsDir || string(first) == archivedDir
}

// File implements adapter.Layout.
func (l layout) File(path []byte) adapter.Sort {
	name := path[bytes.LastIndexByte(path, '/')+1:]
	switch {
	case string(path) == notesFile:
		return adapter.Notes
	case len(name) < len(path) && l.Enter(path[:len(path)-len(name)-1]) && bytes.HasPrefix(name, []byte("rollout-")) && bytes.HasSuffix(name, []byte(".jsonl")):
		return adapter.Transcript
	}
	return adapter.Foreign
}

//go:embed stores.txt
var storesText string

const program = "codex"

// ResumeCommand implements adapter.Resumer. Codex finds a session by its id. A subagent goes
// on in the session that it works for.
func (Agent) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	id := s.ID
	if s.Relation == session.Spawned {
		id = s.ParentSession
	}
	if s.Version < version || !adapter.IsUUID(id) || isArchived(s.Path) {
		return "", nil
	}
	return s.CWD, command("resume", id, s.CWD)
}

// command returns the command that continues a session in a directory.
func command(verb, id, dir string) []string {
	argv := []string{program, verb, id}
	if dir != "" && dir[0] != '-' { // or it would be an option
		argv = append(argv, "-C", dir)
	}
	return argv
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	r := &adapter.Resumption{Install: "npm install -g @openai/codex", Dir: q.Dir}
	s, o := q.Session(r)
	if o == nil {
		o = obstacle(env, s)
	}
	if o != nil {
		o.Program = program
		return nil, o
	}
	if q.Restored {
		r.Warnings = append(r.Warnings, "Codex lists sessions from a database of its own: it may not list or resume this one (`codex doctor`)")
	}
	verb := "resume"
	if q.Fork {
		verb = "fork"
	}
	r.Argv = command(verb, s.ID, cmp.Or(q.Dir, s.CWD))
	return r, nil
}

// obstacle returns why Codex does not open a session, nil if it does. It opens compressed
// files.
func obstacle(env adapter.Environment, s *session.Summary) *adapter.Obstacle {
	switch {
	case s.Version == versionFlat:
		return &adapter.Obstacle{Reason: "a version before 0.34 wrote it, and later ones do not open its format"}
	case s.Version == 0 || s.ID == "":
		return &adapter.Obstacle{Reason: "it has no session header"}
	case !adapter.IsUUID(s.ID): // it would stand on the command line
		return &adapter.Obstacle{Reason: "its id is not one that Codex writes: a UUID"}
	case s.Messages == 0:
		return &adapter.Obstacle{Reason: "it has no messages"}
	case isArchived(s.Path):
		return &adapter.Obstacle{Reason: "it is archived", Hint: "codex unarchive " + s.ID}
	}
	dir, ok := homeOf(s.Path)
	switch {
	case !ok:
		return &adapter.Obstacle{Reason: "its file is not where Codex looks: in " + filepath.Join(home(env), sessionsDir)}
	case dir != filepath.Clean(home(env)):
		return &adapter.Obstacle{Reason: "Codex looks for sessions in " + home(env), Hint: "set " + homeVariable + "=" + shellcmd.Here.Quote(dir)}
	}
	return nil
}

// isArchived reports whether a file is among those of archived sessions.
func isArchived(file string) bool { return path.Base(path.Dir(session.Slashed(file))) == archivedDir }

// homeOf returns Codex's directory that a session file is in: four directories above it.
func homeOf(file string) (string, bool) {
	day := filepath.Dir(file)
	sessions := filepath.Dir(filepath.Dir(filepath.Dir(day)))
	return filepath.Dir(sessions), filepath.Base(sessions) == sessionsDir && strings.HasPrefix(filepath.Base(file), "rollout-")
}
