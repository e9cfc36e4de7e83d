package adapter

// Coverage says what pigrep does with a store.
type Coverage string

// What is done with a store.
const (
	Searched   Coverage = "searched"
	Catalogued Coverage = "catalogued" // listed, with whether it is there
	Private    Coverage = "private"    // listed by name only: never opened, never looked at
)

// Store is a kind of file that pi keeps.
type Store struct {
	Name     string
	Role     string // what it is for
	Format   string
	Path     string // below the agent directory, with forward slashes
	Coverage Coverage
}

// PiStores is the catalogue of pi's stores.
var PiStores = []Store{
	{"sessions", "conversations, one directory for each working directory", PiName, "sessions", Searched},
	{"subagent sessions", "conversations of subagents, written by some extensions", PiName, "subagent-sessions", Searched},
	{"settings", "settings; projects have theirs in .pi/settings.json", "JSON", "settings.json", Catalogued},
	{"auth", "keys and tokens of model providers", "JSON", "auth.json", Private},
	{"mcp auth", "tokens of MCP servers", "JSON", "mcp-auth.json", Private},
	{"models", "models and providers of one's own", "JSON", "models.json", Catalogued},
	{"themes", "colour themes", "JSON files", "themes", Catalogued},
	{"tools", "tools of one's own, and the place of helper programs in old versions", "directory", "tools", Catalogued},
	{"bin", "helper programs that pi downloads: fd, rg", "programs", "bin", Catalogued},
	{"prompts", "prompt templates", "Markdown files", "prompts", Catalogued},
	{"skills", "skills", "Markdown files", "skills", Catalogued},
	{"extensions", "extensions of one's own", "TypeScript", "extensions", Catalogued},
	{"npm", "packages installed from npm", "node_modules", "npm", Catalogued},
	{"git", "packages installed from git", "working trees", "git", Catalogued},
	{"keybindings", "key bindings", "JSON", "keybindings.json", Catalogued},
	{"mcp", "MCP servers", "JSON", "mcp.json", Catalogued},
	{"crashes", "crashes of pi, with the session file of each", "JSON", "crashes.json", Catalogued},
	{"debug log", "what the model was last sent, written on request", "text", "pi-debug.log", Catalogued},
}
