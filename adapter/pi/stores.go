package pi

import (
	"path/filepath"

	"pigrep/adapter"
)

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) []adapter.Store {
	dir := agentDir(env)
	list := make([]adapter.Store, 0, len(stores))
	for _, s := range stores {
		list = append(list, adapter.Store{
			Name: s.name, Role: s.role, Format: s.format, Path: filepath.Join(dir, filepath.FromSlash(s.path)), Coverage: s.coverage,
		})
	}
	return list
}

var stores = []struct {
	name, role, format string
	path               string // below the agent directory, with forward slashes
	coverage           adapter.Coverage
}{
	{"sessions", "conversations, one directory for each working directory", Name, "sessions", adapter.Searched},
	{"subagent sessions", "conversations of subagents, written by some extensions", Name, "subagent-sessions", adapter.Searched},
	{"settings", "settings; projects have theirs in .pi/settings.json", "JSON", "settings.json", adapter.Catalogued},
	{"auth", "keys and tokens of model providers", "JSON", "auth.json", adapter.Private},
	{"mcp auth", "tokens of MCP servers", "JSON", "mcp-auth.json", adapter.Private},
	{"models", "models and providers of one's own", "JSON", "models.json", adapter.Catalogued},
	{"themes", "colour themes", "JSON files", "themes", adapter.Catalogued},
	{"tools", "tools of one's own, and the place of helper programs in old versions", "directory", "tools", adapter.Catalogued},
	{"bin", "helper programs that pi downloads: fd, rg", "programs", "bin", adapter.Catalogued},
	{"prompts", "prompt templates", "Markdown files", "prompts", adapter.Catalogued},
	{"skills", "skills", "Markdown files", "skills", adapter.Catalogued},
	{"extensions", "extensions of one's own", "TypeScript", "extensions", adapter.Catalogued},
	{"npm", "packages installed from npm", "node_modules", "npm", adapter.Catalogued},
	{"git", "packages installed from git", "working trees", "git", adapter.Catalogued},
	{"keybindings", "key bindings", "JSON", "keybindings.json", adapter.Catalogued},
	{"mcp", "MCP servers", "JSON", "mcp.json", adapter.Catalogued},
	{"crashes", "crashes of pi, with the session file of each", "JSON", "crashes.json", adapter.Catalogued},
	{"debug log", "what the model was last sent, written on request", "text", "pi-debug.log", adapter.Catalogued},
}
