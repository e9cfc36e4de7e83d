package adapter

import (
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/internal/content"
	"pigrep/internal/lists"
	"pigrep/internal/session"
)

// Registry knows all agents, and whose a new file is. It is itself an Adapter, so
// code that reads session files need not know that there are several agents: the header of
// a file names its agent. It is immutable and safe for concurrent use.
type Registry struct {
	env    Environment
	agents []Agent
	roots  []Root
	limits Limits
}

// NewRegistry returns the registry of these agents, at least one. The first gets the
// files that no agent recognizes, and no root assigns to another.
func NewRegistry(env Environment, agents ...Agent) *Registry {
	for _, a := range agents {
		if d, ok := a.(content.Database); ok {
			content.Reads(d)
		}
	}
	return &Registry{env: env, agents: agents, limits: Limits{Line: DefaultMaxLine, Text: DefaultMaxSession}}
}

// In returns a registry for new files below these roots.
func (r *Registry) In(roots []Root) *Registry {
	return &Registry{env: r.env, agents: r.agents, roots: roots, limits: r.limits}
}

// Limit returns a registry that reads with these limits.
func (r *Registry) Limit(l Limits) *Registry {
	return &Registry{env: r.env, agents: r.agents, roots: r.roots, limits: l}
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

// Agent returns the agent with a name, as it stands in the record of a file. Without such an
// agent, it is the first.
func (r *Registry) Agent(name string) Agent {
	for _, a := range r.agents {
		if a.Name() == name {
			return a
		}
	}
	return r.agents[0]
}

// Recognize returns the agent that recognizes the head of a file, and as what; nil if none
// does. The named agent is asked first.
func (r *Registry) Recognize(head []byte, first string) (Agent, Sort) {
	own := r.Agent(first)
	others := slices.DeleteFunc(slices.Clone(r.agents), func(a Agent) bool { return a.Name() == own.Name() })
	for _, a := range append([]Agent{own}, others...) {
		if sort := a.Recognize(head); sort != Foreign {
			return a, sort
		}
	}
	return nil, Foreign
}

// claim returns whose a new file is, and what: that of the agent that recognizes its head,
// else that of the agent of the deepest root above it.
func (r *Registry) claim(path string, head []byte) (Agent, Sort) {
	var above Root
	for _, root := range r.roots {
		if len(root.Path) > len(above.Path) && Within(root.Path, path) {
			above = root
		}
	}
	if a, sort := r.Recognize(head, above.Agent); a != nil {
		return a, sort
	}
	if above.Layout != nil && above.Layout.File([]byte(filepath.ToSlash(strings.TrimPrefix(path[len(above.Path):], string(filepath.Separator))))) == Notes {
		return r.Agent(above.Agent), Notes
	}
	return r.Agent(above.Agent), Transcript
}

// Within reports whether a path is a directory or below it, by their names.
func Within(dir, path string) bool {
	dir = strings.TrimSuffix(filepath.Clean(dir), string(filepath.Separator)) // that a root of the disk ends with
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator)
}

// Names returns the names of the agents.
func (r *Registry) Names() []string {
	return lists.Map(r.agents, Agent.Name)
}

// Parse implements Adapter.
func (r *Registry) Parse(state State) Parser {
	a := r.Agent(state.Header.Agent)
	if len(r.agents) == 1 {
		return a.Parse(state)
	}
	return &anyParser{r, state.Header.Agent, state.Header.Notes, a.Parse(state)}
}

// anyParser is the parser of the agent of the current file.
type anyParser struct {
	registry *Registry
	agent    string
	notes    bool
	Parser
}

func (p *anyParser) State() State {
	s := p.Parser.State()
	s.Header.Agent, s.Header.Notes = p.agent, p.notes
	return s
}

func (p *anyParser) Reset(state State) {
	h := &state.Header
	if p.notes = h.Notes; h.Agent != p.agent {
		p.agent, p.Parser = h.Agent, p.registry.Agent(h.Agent).Parse(state)
		return
	}
	p.Parser.Reset(state)
}

// Stores lists the stores of all agents.
func (r *Registry) Stores() (list []Store) {
	for p := range r.profiles() {
		list = append(list, p.Stores(r.env)...)
	}
	return list
}

// ResumeCommand returns the command that resumes a session and the directory to run
// it in. argv is nil if the agent cannot resume the session.
func (r *Registry) ResumeCommand(s *session.Summary) (dir string, argv []string) {
	if a, ok := r.Agent(s.Agent).(Resumer); ok {
		return a.ResumeCommand(r.env, s)
	}
	return "", nil
}

// Resume returns how to continue a session, or a fork of it. The error may be an *Obstacle.
func (r *Registry) Resume(q *ResumeRequest) (*Resumption, error) {
	agent := r.Agent(q.Record.Agent)
	if a, ok := agent.(Resumer); ok {
		return a.Resume(r.env, q)
	}
	return nil, &Obstacle{Program: agent.Label(), Reason: "sessions of this agent cannot be resumed"}
}

// Variables lists the environment variables of all agents.
func (r *Registry) Variables() (list []Variable) {
	for p := range r.profiles() {
		list = append(list, p.Variables...)
	}
	return list
}

// A Running session is one that this process was started in; its id or its path may be
// unknown.
type Running struct{ ID, Path string }

// Current lists the sessions that this process was started in: one, or several if an agent
// was started by another.
func (r *Registry) Current() (list []Running) {
	for p := range r.profiles() {
		if id, path := p.Current(r.env); id != "" || path != "" {
			list = append(list, Running{id, path})
		}
	}
	return list
}

// ClientNames lists how the agents name themselves as clients of MCP servers.
func (r *Registry) ClientNames() (list []string) {
	for p := range r.profiles() {
		list = append(list, p.ClientNames...)
	}
	return list
}

// Loses says which sessions an agent deletes by itself; "" for none.
func (r *Registry) Loses(agent string) string {
	for p := range r.profiles() {
		if session.ShortAgent(p.ID) == agent && p.Loses != "" {
			return p.Loses
		}
	}
	return ""
}

// Skills says where an agent looks for skills, and whether it has a package in their place; and how it runs hooks.
type Skills struct {
	Agent
	Dir     string
	Package bool
	Hooks   Hooks
}

// Skills lists where the agents look for skills; name is that of the package.
func (r *Registry) Skills(name string) (list []Skills) {
	for p, a := range r.profiles() {
		list = append(list, Skills{a, p.SkillDir(r.env), p.HasPackage != nil && p.HasPackage(r.env, name), p.Hooks})
	}
	return list
}

func (r *Registry) profiles() iter.Seq2[*Profile, Agent] {
	return func(yield func(*Profile, Agent) bool) {
		for _, a := range r.agents {
			if with, ok := a.(interface{ profile() *Profile }); ok && !yield(with.profile(), a) {
				return
			}
		}
	}
}
