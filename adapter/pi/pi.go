// Package pi says what pi and its relatives write: session files of all versions and dialects,
// directories, settings and environment variables. It also knows how they resume a
// session. No other package knows anything about them. The central types are Agent, an
// adapter.Agent for pi, and Relative, one for oh-my-pi or Prime Agent. The package imports adapter, jsonl, scope and internal/session.
package pi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Name identifies the session files of pi.
const Name = "pi.sessions_jsonl.v1"

// Agent is the pi coding agent, in every version since 0.7, and programs made with
// its agent library.
type Agent struct{ family }

// family is what pi and its relatives have in common.
type family struct{ *adapter.Profile }

//go:embed hook.ts
var hookText string

// New returns the adapter for pi.
func New() Agent {
	const current = "the session of pi that mcp runs in, which it leaves out"
	return Agent{family{&adapter.Profile{
		ID: Name, Title: "pi", Homes: piHomes, Kept: storesText, ClientNames: []string{"pi"}, Deleting: "pi --resume, then Ctrl-D", HasPackage: hasPackage,
		Hooks:     adapter.Hooks{File: "extensions/pigrep.ts", Text: hookText},
		CurrentID: currentIDVariable, CurrentPath: currentPathVariable,
		Servers: adapter.Servers{File: "~/.pi/agent/mcp.json, or .pi/mcp.json of a project", Own: "mcp.json", Key: "mcpServers",
			Note: "pi reads it from version 0.99.0 on; before that, use `pigrep skill --install`. Scripts of its codemode find the tools; \"exposure\": \"direct\" beside \"command\" shows them to the model"},
		Variables: []adapter.Variable{
			{Name: agentDirVariable, Use: "pi's agent directory, in place of ~/.pi/agent; its sessions/ is searched", Path: true},
			{Name: sessionDirVariable, Use: "one more directory with sessions, as pi reads it", Path: true},
			{Name: currentIDVariable, Use: current},
			{Name: currentPathVariable, Use: current},
		},
	}}}
}

// Recognize implements adapter.Agent. A session has a header, and nothing before or in it that
// only oh-my-pi writes.
func (family) Recognize(head []byte) adapter.Sort {
	if ok, omp := writerOf(head); ok && !omp {
		return adapter.Transcript
	}
	return adapter.Foreign
}

// writerOf reports whether a program of pi's family wrote a file, and whether that was oh-my-pi.
func writerOf(head []byte) (ok, omp bool) {
	parser := newParser(adapter.State{})
	for line := range jsonl.Lines(head) {
		parser.Parse(line, func(*session.Entry) {})
		if v, err := parser.JSON.Check(jsonl.SkipPadding(line.Data, 0)); err == nil {
			omp = omp || wroteByOhMyPi(&parser.JSON, parser.JSON.Fields(v))
		}
		if parser.Known.Header.Version != 0 {
			return true, omp
		}
	}
	return omp, omp
}

// Parse implements adapter.Adapter.
func (family) Parse(state adapter.State) adapter.Parser {
	return newParser(state)
}

// Environment variables of pi.
const (
	agentDirVariable   = "PI_CODING_AGENT_DIR"
	sessionDirVariable = "PI_CODING_AGENT_SESSION_DIR"

	// Pi sets these for the processes that it starts.
	currentIDVariable   = "PI_SESSION_ID"
	currentPathVariable = "PI_SESSION_FILE"
)

// hasPackage reports whether the settings list a package. Those that cannot be read list none.
func hasPackage(env adapter.Environment, name string) bool {
	own, project := settingsFiles(env)
	return slices.ContainsFunc([]string{own, project}, func(path string) bool {
		if path == project && !trusts(env) {
			return false
		}
		data, err := env.ReadFile(path)
		if err != nil {
			return false
		}
		var settings struct {
			Packages   []json.RawMessage `json:"packages"`
			Extensions []string          `json:"extensions"`
		}
		if json.Unmarshal(data, &settings) != nil {
			return false
		}
		return slices.ContainsFunc(settings.Packages, func(p json.RawMessage) bool {
			return isPackage(env, source(p), filepath.Dir(path), name)
		}) || slices.ContainsFunc(settings.Extensions, func(e string) bool {
			return isPackage(env, e, filepath.Dir(path), name)
		})
	})
}

// source returns the source of a package setting, which is a string or an object with a
// source. It returns "" if the package is installed without its extensions.
func source(p json.RawMessage) string {
	var s string
	if json.Unmarshal(p, &s) == nil {
		return s
	}
	var filtered struct {
		Source     string    `json:"source"`
		Extensions *[]string `json:"extensions"`
	}
	if json.Unmarshal(p, &filtered) != nil || filtered.Extensions != nil && len(*filtered.Extensions) == 0 {
		return ""
	}
	return filtered.Source
}

// isPackage reports whether a source is the package of this name: from npm, or a
// directory, relative to that of the settings.
func isPackage(env adapter.Environment, source, dir, name string) bool {
	if spec, ok := strings.CutPrefix(source, "npm:"); ok {
		return spec == name || strings.HasPrefix(spec, name+"@")
	}
	if source == "" || strings.HasPrefix(source, "git:") || strings.Contains(source, "://") {
		return false
	}
	env.WorkDir = dir
	data, err := env.ReadFile(filepath.Join(adapter.Absolute(source, env), "package.json"))
	if err != nil {
		return false
	}
	var manifest struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(data, &manifest) == nil && manifest.Name == name
}

// piHomes is where pi keeps its files: at the one place or at the other.
const piHomes = "$" + agentDirVariable + " ~/.pi/agent"

func agentDir(env adapter.Environment) string { return adapter.Places(env, piHomes)[0].Path }

// sessions is the directory with the sessions in an agent directory. Some extensions keep the sessions of
// subagents beside it. Loose sessions are those of old versions, which pi moves when it starts.
const sessions = "sessions"

const files = `
	sessions/**/*.jsonl
	subagent-sessions/**/*.jsonl
	*.jsonl loose
`

// Home implements adapter.Homed.
func (family) Home(has func(name string) bool) adapter.Layout {
	if has(sessions + "/") {
		return adapter.NewLayout("", files)
	}
	return nil
}

// Roots implements adapter.Agent. Pi uses one of these directories at a time. All of
// them count, because sessions stay in the old one when the setting changes.
//
// A settings file that cannot be read or understood is an error; the roots
// returned with it are those that the other sources name.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	var roots []adapter.Root
	add := func(dir, origin string) {
		if !slices.ContainsFunc(roots, func(r adapter.Root) bool { return r.Path == dir }) {
			roots = append(roots, adapter.Root{Path: dir, Origin: origin})
		}
	}
	home := adapter.Places(env, piHomes)[0]
	add(filepath.Join(home.Path, sessions), home.Origin)
	roots[0].Usual = true
	if dir := env.Getenv(sessionDirVariable); dir != "" {
		add(adapter.Absolute(dir, env), "$"+sessionDirVariable)
	}
	var problems []error
	own, project := settingsFiles(env)
	for _, path := range []string{own, project} {
		dir, err := setting(path, "sessionDir", env)
		if dir != "" {
			dir = adapter.Absolute(dir, env)
		}
		switch trusted := path == own || trusts(env); {
		case err != nil && trusted:
			problems = append(problems, err)
		case dir == "":
		case !trusted:
			problems = append(problems, fmt.Errorf("the sessionDir in %s is not used: pi does not trust this project (its command /trust changes that)", path))
		case path == project && !isOfProject(env, dir):
			problems = append(problems, fmt.Errorf("the sessionDir in %s is not used: %s is neither in the project nor in pi's own directory", path, dir))
		default:
			add(dir, "sessionDir in "+path)
		}
	}
	return roots, errors.Join(problems...)
}

// settingsFiles are the user's settings and those of the project.
func settingsFiles(env adapter.Environment) (own, project string) {
	return filepath.Join(agentDir(env), "settings.json"), filepath.Join(env.WorkDir, ".pi", "settings.json")
}

// trusts reports whether pi trusts the project in the working directory, which may be a repository
// that somebody else wrote. A decision holds for a directory and those below it; the nearest one counts.
func trusts(env adapter.Environment) bool {
	var saved map[string]*bool
	data, err := env.ReadFile(filepath.Join(agentDir(env), "trust.json"))
	if err == nil && json.Unmarshal(bytes.TrimPrefix(data, jsonl.ByteOrderMark), &saved) != nil {
		return false // pi reads no such file either
	}
	for dir := real(env, env.WorkDir); ; dir = filepath.Dir(dir) {
		if decision := saved[dir]; decision != nil {
			return *decision
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	own, _ := settingsFiles(env)
	usually, err := setting(own, "defaultProjectTrust", env)
	return err == nil && usually == "always"
}

// isOfProject reports whether a project may have its sessions in a directory: in its own, or in pi's.
func isOfProject(env adapter.Environment, dir string) bool {
	return slices.ContainsFunc([]string{env.WorkDir, agentDir(env), filepath.Join(env.Home, ".pi")}, func(own string) bool {
		at := real(env, dir)
		return at != "" && adapter.Within(real(env, own), at)
	})
}

func real(env adapter.Environment, path string) string {
	if env.RealPath == nil {
		return path
	}
	return env.RealPath(path)
}

// setting returns a setting that is a string, "" when there is none.
func setting(path, name string, env adapter.Environment) (string, error) {
	data, err := env.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	data = []byte(strings.TrimPrefix(string(data), string(jsonl.ByteOrderMark)))
	var json jsonl.Scanner
	json.Reset(data)
	v, err := json.Check(0)
	if err == nil && jsonl.SkipPadding(data, v.End) != len(data) {
		err = jsonl.ErrSyntax
	}
	if err != nil {
		return "", fmt.Errorf("read settings %s: %w", path, err)
	}
	return json.String(json.Fields(v).Find(name)), nil
}

//go:embed stores.txt
var storesText string

// libraryVersion is the format that only the agent library writes. The pi
// command refuses such files, and old versions of it empty them on opening.
const libraryVersion = 4

// currentVersion is the format that pi writes. It rewrites files of an older one
// when it opens them.
const currentVersion = 3

const program = "pi"

// ResumeCommand implements adapter.Resumer.
//
// Pi accepts the path of a session file anywhere, and runs its tools in the session's
// working directory. New sessions started from there go to pi's default directory
// unless --session-dir names another. Files directly in the agent directory must be
// named by id: pi moves them when it starts, and would then create an empty session
// at the old path.
func (Agent) ResumeCommand(env adapter.Environment, s *session.Summary) (dir string, argv []string) {
	if s.Version == 0 || s.Version == libraryVersion {
		return "", nil
	}
	agentDir := agentDir(env)
	if filepath.Dir(s.Path) == agentDir {
		if !isID(s.ID) {
			return "", nil
		}
		return s.CWD, []string{program, "--session", s.ID}
	}
	return s.CWD, resumeArgs(s.Path, agentDir, "--session")
}

// Resume implements adapter.Resumer.
func (Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	rec, agentDir := q.Record, agentDir(env)
	if why := obstacle(rec, q.Head, agentDir); why != "" {
		o := &adapter.Obstacle{Program: program, Reason: why}
		if filepath.Dir(rec.Path) == agentDir && rec.Version > 0 && rec.Version != libraryVersion && isID(rec.ID) {
			o.Hint = "start pi once, then: pigrep resume " + rec.ID
		}
		return nil, o
	}
	flag, effect, before := "--session", "pi converts the file when it opens it", ""
	if q.Fork {
		flag, effect, before = "--fork", "a fork may lose entries", "resume it once without --fork to convert it"
	}
	r := &adapter.Resumption{
		Argv:     resumeArgs(rec.Path, agentDir, flag),
		Install:  "npm install -g @earendil-works/pi-coding-agent",
		Branches: "use /tree in pi to go back to it",
	}
	if rec.Version > 0 && rec.Version < currentVersion {
		r.Warnings = append(r.Warnings, fmt.Sprintf("this session is in pi's old format %d: %s", rec.Version, effect))
		r.BeforeFork = before
	}
	return r, nil
}

// isID reports whether pi and its relatives write such an id: a UUID, or what a person chose.
func isID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'; !letter && (i == 0 || i == len(id)-1 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return id != "" && !strings.HasSuffix(id, session.Extension) // which pi takes for a path
}

func resumeArgs(path, agentDir, flag string) []string {
	argv := []string{program}
	if !strings.HasPrefix(path, filepath.Join(agentDir, sessions)+string(filepath.Separator)) {
		argv = append(argv, "--session-dir", filepath.Dir(path))
	}
	return append(argv, flag, path)
}

// headerReach is the number of bytes in which pi looks for the header.
const headerReach = 1 << 20

// obstacle returns why pi does not open a session file, or not as that session; ""
// when it does.
func obstacle(rec *session.Record, head []byte, agentDir string) string {
	switch h := &rec.Header; {
	case h.Version == libraryVersion && !saysSession(head, h.Offset):
		return "it is of format 4, which pi's agent library wrote and the pi command does not open"
	case h.Version == 0:
		return "it has no session header"
	case bytes.HasPrefix(head, jsonl.ByteOrderMark):
		return "it begins with a byte order mark, and so is no session to pi"
	case h.ID == "":
		return "its header has no id"
	case startsOtherwise(rec):
		return "something else stands before its header, and so it is no session to pi"
	case h.Offset > headerReach:
		return "its header is not in the first MiB, which is as far as pi looks"
	case filepath.Dir(rec.Path) == agentDir:
		return "it lies in the agent directory itself: pi moves it into sessions/ when it starts, and would begin a new session under the old path"
	}
	return ""
}

// saysSession reports whether the type of the header is "session". It is in files of all
// versions of pi, but not in those of the agent library.
func saysSession(head []byte, offset int64) bool {
	if offset >= int64(len(head)) {
		return false
	}
	var json jsonl.Scanner
	json.Reset(head[offset:])
	v, err := json.Check(0)
	return err == nil && json.String(json.Fields(v).Find("type")) == "session"
}

// startsOtherwise reports whether the first thing that pi can parse is not the
// header.
func startsOtherwise(rec *session.Record) bool {
	if len(rec.Nodes) > 0 {
		first := &rec.Nodes[0]
		if first.Offset < rec.Header.Offset || first.Line == 1 && rec.Header.Offset == 0 && first.Offset > 0 {
			return true // before it, or on one line with it
		}
	}
	return slices.ContainsFunc(rec.Problems, func(p session.Problem) bool {
		return p.Offset < rec.Header.Offset && p.Reason == adapter.NotObject
	})
}

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// toolOf returns what is known of a tool, whose name may be in capitals.
func toolOf(name string) adapter.Tool { return tools()[strings.ToLower(name)] }
