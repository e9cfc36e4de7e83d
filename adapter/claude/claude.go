// Package claude says what Claude Code writes: session files of all versions, the files of
// subagents beside them, directories and environment variables. It also knows how Claude
// Code resumes a session. No other package knows anything about it. The central type is
// Agent, an adapter.Agent. The package imports adapter, jsonl and internal/session.
package claude

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
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
		ID: Name, Title: "Claude Code", Reading: 4, Dir: home, Kept: storesText, CurrentID: currentVariable, ClientNames: []string{"claude-code"}, Deleting: "claude project purge DIR",
		Variables: []adapter.Variable{
			{Name: configDirVariable, Use: "Claude Code's directory, in place of ~/.claude; its projects/ is searched", Path: true},
			{Name: currentVariable, Use: "the session of Claude Code that mcp runs in, which it leaves out"},
		},
	}}
}

// Recognize implements adapter.Agent. The lines have no header, but each of them says what
// it is.
func (Agent) Recognize(head []byte) adapter.Sort {
	return adapter.SortOf(head, func(json *jsonl.Scanner, all jsonl.Fields) adapter.Sort {
		if isOwn(json, all) {
			return adapter.Transcript
		}
		return adapter.Foreign
	}, `"parentUuid":`, `"isSidechain":`, `"sessionId":"`)
}

// isOwn reports whether a line is one of Claude Code's.
func isOwn(json *jsonl.Scanner, all jsonl.Fields) bool {
	is := func(kind byte, keys ...string) bool {
		for _, key := range keys {
			if json.Kind(all.Find(key)) != kind {
				return false
			}
		}
		return true
	}
	switch typ := json.Name(all.Find("type")); typ {
	case "user", "assistant":
		return is('{', "message") && is('"', "uuid", "sessionId") && !all.Find("parentUuid").Empty()
	case "system", "attachment", "progress":
		return is('"', "uuid", "sessionId") && !all.Find("parentUuid").Empty()
	case "summary":
		return is('"', "summary", "leafUuid")
	case "file-history-snapshot":
		return is('{', "snapshot") && is('"', "messageId")
	case "queue-operation":
		return is('"', "sessionId", "operation")
	default:
		_, ok := stateLines[typ]
		return ok && is('"', "sessionId")
	}
}

// Environment variables of Claude Code.
const (
	configDirVariable = "CLAUDE_CONFIG_DIR"
	currentVariable   = "CLAUDE_CODE_SESSION_ID" // set for the processes that it starts
)

// projects is the directory with the sessions in the directory of Claude Code.
const projects = "projects"

// usual is the origin of the directories that Claude Code chooses itself.
const usual = "default"

// homes are the directories in which Claude Code keeps its files, the one in use first.
func homes(env adapter.Environment) (list []adapter.Root) {
	own := []string{filepath.Join(env.Home, ".claude"), filepath.Join(env.Home, ".config", "claude")}
	add := func(dir, origin string) {
		if !slices.ContainsFunc(list, func(h adapter.Root) bool { return h.Path == dir }) {
			list = append(list, adapter.Root{Path: dir, Origin: origin, Usual: slices.Contains(own, dir)})
		}
	}
	// Programs that read sessions take several directories from the variable.
	for dir := range strings.SplitSeq(env.Getenv(configDirVariable), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			add(adapter.Absolute(dir, env), "$"+configDirVariable)
		}
	}
	for _, dir := range own {
		add(dir, usual)
	}
	return list
}

// home is the one in use.
func home(env adapter.Environment) string { return homes(env)[0].Path }

// Roots implements adapter.Agent. Sessions stay where they are when the variable changes, so
// all of these directories count.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	list := homes(env)
	for i := range list {
		list[i].Path = filepath.Join(list[i].Path, projects)
		list[i].Layout = layout{}
	}
	return append(list, adapter.Root{Path: filepath.Join(desktop(env, runtime.GOOS), desktopSessions), Origin: "Claude Desktop", Usual: true, Layout: desktopLayout{}}), nil
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

// desktopLayout is the layout of Claude Desktop's sessions. Each session has a Claude Code directory of its own:
//
//	ORGANIZATION/ACCOUNT/local_ID/.claude/projects/PROJECT/SESSION.jsonl
type desktopLayout struct{}

// below returns the part of a path below its Claude Code directory.
func (desktopLayout) below(path []byte) ([]byte, bool) {
	_, rest, ok := bytes.Cut(path, []byte("/.claude/"))
	return rest, ok
}

// Enter implements adapter.Layout.
func (l desktopLayout) Enter(dir []byte) bool {
	if rest, ok := l.below(dir); ok {
		return layout{home: true}.Enter(rest)
	}
	depth, name := bytes.Count(dir, []byte{'/'}), dir[bytes.LastIndexByte(dir, '/')+1:]
	return depth < 3 && name[0] != '.' || depth == 3 && string(name) == ".claude"
}

// File implements adapter.Layout.
func (l desktopLayout) File(path []byte) adapter.Sort {
	if rest, ok := l.below(path); ok {
		return layout{home: true}.File(rest)
	}
	return adapter.Foreign
}

// Home implements adapter.Homed.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(projects + "/") {
		return layout{home: true}
	}
	return nil
}

// layout is that of the directory with the sessions, or of the one above it:
//
//	PROJECT/SESSION.jsonl
//	PROJECT/agent-ID.jsonl                     a subagent, of versions around 2.0
//	PROJECT/SESSION/subagents/agent-ID.jsonl
//	PROJECT/SESSION/subagents/workflows/ID/agent-ID.jsonl
type layout struct{ home bool }

// below returns a path below the directory with the sessions.
func (l layout) below(path []byte) ([]byte, bool) {
	if !l.home {
		return path, true
	}
	if rest, ok := bytes.CutPrefix(path, []byte(projects)); ok && len(rest) > 0 && rest[0] == '/' {
		return rest[1:], true
	}
	return nil, string(path) == projects
}

// Enter implements adapter.Layout.
func (l layout) Enter(dir []byte) bool {
	dir, ok := l.below(dir)
	return ok && (len(dir) == 0 || enter(dir))
}

// enter is Enter for a directory below the one with the sessions.
func enter(dir []byte) bool {
	_, rest, _ := bytes.Cut(dir, []byte{'/'})
	name, rest, deeper := bytes.Cut(rest, []byte{'/'})
	switch {
	case len(name) == 0: // a project
		return true
	case !adapter.IsUUID(name):
		return false
	}
	first, _, _ := bytes.Cut(rest, []byte{'/'})
	return !deeper || string(first) == "subagents"
}

// File implements adapter.Layout.
func (l layout) File(path []byte) adapter.Sort {
	path, ok := l.below(path)
	if !ok || !bytes.HasSuffix(path, []byte(".jsonl")) {
		return adapter.Foreign
	}
	slash := bytes.LastIndexByte(path, '/')
	if slash < 0 || !enter(path[:slash]) {
		return adapter.Foreign
	}
	name := path[slash+1:]
	switch depth := bytes.Count(path, []byte{'/'}); {
	case depth == 1, depth > 2 && bytes.HasPrefix(name, []byte("agent-")):
		return adapter.Transcript
	}
	return adapter.Foreign
}

//go:embed stores.txt
var storesText string

const program = "claude"

// ResumeCommand implements adapter.Resumer. Claude Code finds a session by its id among those
// of the working directory. A subagent goes on in the session that it works for.
func (Agent) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	id := session.BaseName(s.Path)
	if s.Relation == session.Spawned {
		id = s.ParentSession
	}
	if s.Version == 0 || !adapter.IsUUID(id) || isOfDesktop(s.Path) {
		return "", nil
	}
	return s.CWD, []string{program, "--resume", id}
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	r := &adapter.Resumption{Install: "npm install -g @anthropic-ai/claude-code"}
	s, o := q.Session(r)
	if o == nil {
		o = obstacle(env, s, q)
	}
	if o != nil {
		o.Program = program
		return nil, o
	}
	r.Argv = []string{program, "--resume", session.BaseName(s.Path)}
	if q.Fork {
		r.Argv = append(r.Argv, "--fork-session")
	}
	return r, nil
}

// obstacle returns why Claude Code does not find a session, nil if it does.
func obstacle(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) *adapter.Obstacle {
	project := filepath.Dir(s.Path)
	above := filepath.Dir(filepath.Dir(project))
	switch {
	case isOfDesktop(s.Path):
		return &adapter.Obstacle{Reason: "it belongs to Claude Desktop", Hint: "continue it there"}
	case q.Packed:
		return &adapter.Obstacle{Reason: "its file is compressed"}
	case !adapter.IsUUID(session.BaseName(s.Path)):
		return &adapter.Obstacle{Reason: "its file is not named after the id of a session"}
	case s.Messages == 0:
		return &adapter.Obstacle{Reason: "it has no messages"}
	case s.CWD == "":
		return &adapter.Obstacle{Reason: "it does not say in which directory it began"}
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD) && (env.RealPath == nil || env.RealPath(q.Dir) != env.RealPath(s.CWD)):
		return &adapter.Obstacle{Reason: "Claude Code finds a session only in the directory where it began", Hint: "continue it in " + s.CWD + "; if that directory is gone, make it again"}
	case above != home(env):
		return &adapter.Obstacle{Reason: "Claude Code looks for sessions in " + home(env), Hint: "set " + configDirVariable + "=" + shellcmd.Here.Quote(above)}
	case !isProject(filepath.Base(project), s.CWD) && filepath.Base(project) != env.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"):
		return &adapter.Obstacle{Reason: "its file is not in the directory of its project"}
	}
	return nil
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
