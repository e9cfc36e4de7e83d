// Package cursor says what Cursor's CLI and agents write: the transcripts of their conversations,
// and where these are. No other package knows anything about it. The central type is Agent, an
// adapter.Agent. The package imports adapter, jsonl and internal/session.
package cursor

import (
	_ "embed"
	"path/filepath"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// Name identifies the transcripts of Cursor.
const Name = "cursor.transcripts_jsonl.v1"

// Agent is Cursor's CLI, in the versions of 2026.
type Agent struct{ *adapter.Profile }

// New returns the adapter for Cursor.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Cursor CLI", Homes: homes, Sessions: projects, Files: files, Marks: marks, Kept: storesText, ClientNames: []string{"cursor-vscode", "cursor"},
		Servers:   adapter.Servers{File: "~/.cursor/mcp.json, or .cursor/mcp.json of a project", Own: "mcp.json", Key: "mcpServers"},
		Resuming:  adapter.Resuming{Program: "cursor-agent", Install: "curl https://cursor.com/install -fsS | bash", Args: "--resume ID", Refuses: refuses},
		Variables: []adapter.Variable{{Name: configDirVariable, Use: "Cursor's directory, in place of ~/.cursor; its projects/ is searched", Path: true}},
	}}
}

const (
	configDirVariable = "CURSOR_CONFIG_DIR"
	homes             = "$" + configDirVariable + " ~/.cursor"
	projects          = "projects"
	transcripts       = "agent-transcripts" // below the directory of a project

	// Old versions had no directory for a project.
	files = `
		*/agent-transcripts/*.jsonl
		*/agent-transcripts/*/*.jsonl
		*/agent-transcripts/*/subagents/*.jsonl
		agent-transcripts/*.jsonl
		agent-transcripts/*/*.jsonl
		agent-transcripts/*/subagents/*.jsonl
	`

	// The lines say little, so nothing else may stand in them.
	marks = `
		transcript role=user|assistant message{ message.content only timestamp id
		cut {"role":"user","message":{"
	`
)

//go:embed stores.txt
var storesText string

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// Place implements adapter.Placer. The name of a project is the path of its directory with a dash for
// all but letters and digits: it counts if it can mean one directory only.
func (Agent) Place(env adapter.Environment, path string) string {
	above, _, found := strings.Cut(session.Slashed(path), "/"+transcripts+"/")
	name := dashed(above[strings.LastIndexByte(above, '/')+1:])
	if !found || env.DirsIn == nil {
		return ""
	}
	root := filepath.VolumeName(env.Home)
	var all []string
	var find func(dir, rest string)
	find = func(dir, rest string) {
		for _, name := range env.DirsIn(dir) {
			switch after, ok := strings.CutPrefix(rest, dashed(name)); {
			case !ok || dashed(name) == "" || len(all) > 1:
			case after == "":
				all = append(all, filepath.Join(dir, name))
			case after[0] == '-':
				find(filepath.Join(dir, name), after[1:])
			}
		}
	}
	find(root+string(filepath.Separator), strings.TrimPrefix(name, dashed(root)+"-"))
	if len(all) != 1 {
		return ""
	}
	return all[0]
}

// dashed returns a name with one dash for what is neither a letter nor a digit.
func dashed(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(c rune) bool { return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') }), "-")
}

// refuses says why Cursor does not find a chat: it looks for its id among those of the working directory.
func refuses(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	home := adapter.Places(env, homes)[0].Path
	above, _, _ := strings.Cut(session.Slashed(s.Path), "/"+projects+"/")
	switch {
	case q == nil:
	case s.CWD == "":
		return "its directory is not known: no directory of this machine fits the name of its project", ""
	case q.Dir != "" && filepath.Clean(q.Dir) != s.CWD:
		return "Cursor finds a chat only in the directory where it began", "continue it in " + s.CWD
	case above != session.Slashed(home):
		return "Cursor looks for chats in " + home, "set " + configDirVariable + "=" + shellcmd.Here.Quote(filepath.FromSlash(above))
	}
	return "", ""
}
