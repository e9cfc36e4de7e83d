package adapter

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Registry knows all agents and finds the agent of a file. It is itself an Adapter, a
// Viewer and a Directories, so code that reads session files need not know that there are
// several agents. It is immutable and safe for concurrent use.
type Registry struct {
	env     Environment
	agents  []Agent
	roots   []Root
	maxLine int64
}

// NewRegistry returns the registry of these agents, at least one. The first gets the
// files that no root assigns to another.
func NewRegistry(env Environment, agents ...Agent) *Registry {
	return &Registry{env: env, agents: agents, maxLine: DefaultMaxLine}
}

// In returns a registry that assigns files to agents by these roots.
func (r *Registry) In(roots []Root) *Registry {
	return &Registry{env: r.env, agents: r.agents, roots: roots, maxLine: r.maxLine}
}

// Limit returns a registry that reads lines of up to maxLine bytes; 0 means no limit.
func (r *Registry) Limit(maxLine int64) *Registry {
	return &Registry{env: r.env, agents: r.agents, roots: r.roots, maxLine: maxLine}
}

// Roots lists where all agents keep session files, agent by agent. The roots returned
// with an error are valid.
func (r *Registry) Roots() ([]Root, error) {
	var roots []Root
	var problems []error
	for _, a := range r.agents {
		own, err := a.Roots(r.env)
		for _, root := range own {
			root.Agent = a.Name()
			roots = append(roots, root)
		}
		problems = append(problems, err)
	}
	return roots, errors.Join(problems...)
}

// Agent returns the agent of a file: the agent of the deepest root above it.
func (r *Registry) Agent(path string) Agent { return r.agents[r.find(path)] }

// find returns the index of the agent of a file.
func (r *Registry) find(path string) int {
	if len(r.agents) == 1 {
		return 0
	}
	deepest, found := 0, 0
	for _, root := range r.roots {
		if len(root.Path) <= deepest || !within(root.Path, path) {
			continue
		}
		for i, a := range r.agents {
			if a.Name() == root.Agent {
				deepest, found = len(root.Path), i
			}
		}
	}
	return found
}

func within(dir, path string) bool {
	dir = strings.TrimSuffix(filepath.Clean(dir), string(filepath.Separator)) // that a root of the disk ends with
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator)
}

// Recognize returns the first agent that finds a session header at the start of a
// file, nil when none does.
func (r *Registry) Recognize(head []byte) Agent {
	for _, a := range r.agents {
		parser := a.Parse(State{})
		for lines := jsonl.NewReader(bytes.NewReader(head), 0, 0); ; {
			line, err := lines.Next()
			if err != nil {
				break
			}
			parser.Parse(line, func(*session.Entry) {})
			if parser.State().Header.Version != 0 {
				return a
			}
		}
	}
	return nil
}

// Names returns the names of the agents.
func (r *Registry) Names() []string {
	names := make([]string, len(r.agents))
	for i, a := range r.agents {
		names[i] = a.Name()
	}
	return names
}

// Parse implements Adapter.
func (r *Registry) Parse(state State) Parser {
	i := r.find(state.Path)
	if len(r.agents) == 1 {
		return r.agents[i].Parse(state)
	}
	return &anyParser{registry: r, agent: i, Parser: r.agents[i].Parse(state)}
}

// anyParser is the parser of the agent of the current file.
type anyParser struct {
	Parser
	registry *Registry
	agent    int
}

func (p *anyParser) Reset(state State) {
	if i := p.registry.find(state.Path); i != p.agent {
		p.agent, p.Parser = i, p.registry.agents[i].Parse(state)
		return
	}
	p.Parser.Reset(state)
}

// View implements Viewer.
func (r *Registry) View(state State, line Line, emit func(*session.Entry, *session.View)) []ParseError {
	return View(r.Agent(state.Path), state, line, emit)
}

// SessionDirs implements Directories.
func (r *Registry) SessionDirs(root string) []string {
	if l, ok := r.Agent(root).(Directories); ok {
		return l.SessionDirs(root)
	}
	return nil
}

// Stores lists the stores of all agents.
func (r *Registry) Stores() []Store {
	var list []Store
	for _, a := range r.agents {
		if k, ok := a.(Keeper); ok {
			list = append(list, k.Stores(r.env)...)
		}
	}
	return list
}

// ResumeCommand returns the command that resumes a session and the directory to run
// it in. argv is nil if the agent cannot resume the session.
func (r *Registry) ResumeCommand(s *session.Summary) (dir string, argv []string) {
	if a, ok := r.Agent(s.Path).(Resumer); ok {
		return a.ResumeCommand(r.env, s)
	}
	return "", nil
}

// Resume returns how to continue a session, or a fork of it. The error may be an *Obstacle.
func (r *Registry) Resume(q *ResumeRequest) (*Resumption, error) {
	agent := r.Agent(q.Record.Path)
	if a, ok := agent.(Resumer); ok {
		return a.Resume(r.env, q)
	}
	return nil, &Obstacle{Program: agent.Label(), Reason: "sessions of this agent cannot be resumed"}
}

// Variables lists the environment variables of all agents.
func (r *Registry) Variables() []Variable {
	var list []Variable
	for _, h := range r.hosts() {
		list = append(list, h.Variables()...)
	}
	return list
}

// Current returns the id and the path of the session that this process was started
// in; both are "" when there is none.
func (r *Registry) Current() (id, path string) {
	for _, h := range r.hosts() {
		if id, path := h.Current(r.env); id != "" || path != "" {
			return id, path
		}
	}
	return "", ""
}

// ClientNames lists how the agents name themselves as clients of MCP servers.
func (r *Registry) ClientNames() []string {
	var list []string
	for _, h := range r.hosts() {
		list = append(list, h.ClientNames()...)
	}
	return list
}

// SkillDir returns the directory where the first Host looks for skills.
func (r *Registry) SkillDir() string {
	if hosts := r.hosts(); len(hosts) > 0 {
		return hosts[0].SkillDir(r.env)
	}
	return ""
}

// HasPackage reports whether the first Host has a package of this name.
func (r *Registry) HasPackage(name string) bool {
	hosts := r.hosts()
	return len(hosts) > 0 && hosts[0].HasPackage(r.env, name)
}

func (r *Registry) hosts() []Host {
	var list []Host
	for _, a := range r.agents {
		if h, ok := a.(Host); ok {
			list = append(list, h)
		}
	}
	return list
}
