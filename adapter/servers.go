package adapter

import "pigrep/internal/session"

// Servers is how an agent, or another program, is told of MCP servers.
type Servers struct {
	Client string // what the program is called; that of an agent is set by ServersOf
	File   string // where its configuration is, for people; "" if the program has none
	Note   string
	Own    string // the file of the user, in the agent's directory or below ~/; "" if that depends
	Key    string // the member of the JSON with the servers; "" for the TOML of Codex
	Type   string // the type of a server that the program starts, "" if the JSON does not say it
	Tools  bool   // the JSON says which tools of a server may be used
}

// ServersOf lists how these agents are told of MCP servers.
func ServersOf(agents []Agent) (list []Servers) {
	for p := range (&Registry{agents: agents}).profiles() {
		if s := p.Servers; s.File != "" {
			s.Client = session.ShortAgent(p.ID)
			list = append(list, s)
		}
	}
	return list
}
