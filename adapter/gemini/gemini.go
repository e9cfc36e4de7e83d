// Package gemini says what Gemini CLI writes: sessions as JSON lines, those of older versions as one
// document, those of subagents, and where they are. No other package knows anything about it. The
// central type is Agent, an adapter.Agent. The package imports adapter, jsonl and internal/session.
package gemini

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// Name identifies the session files of Gemini CLI.
const Name = "gemini.chats_jsonl.v1"

// Agent is Gemini CLI, in every version that writes sessions.
type Agent struct{ *adapter.Profile }

// New returns the adapter for Gemini CLI.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Gemini CLI", Homes: homes, Sessions: sessions, Files: files, Marks: marks, Kept: storesText,
		ClientNames: []string{"gemini-cli-mcp-client"}, Loses: "sessions after 30 days, and version 0.61.0 each one that was resumed", Deleting: "gemini --delete-session INDEX",
		Servers:   adapter.Servers{File: "~/.gemini/settings.json, or .gemini/settings.json of a project", Own: "settings.json", Key: "mcpServers"},
		Resuming:  adapter.Resuming{Program: "gemini", Install: "npm install -g @google/gemini-cli", Args: "--resume ID", Refuses: refuses},
		Variables: []adapter.Variable{{Name: homeVariable, Use: "the directory above Gemini's .gemini, in place of ~; its tmp/ is searched", Path: true}},
	}}
}

const (
	homeVariable = "GEMINI_CLI_HOME"
	homes        = "$" + homeVariable + "/.gemini ~/.gemini"
	sessions     = "tmp"
	chats        = "chats" // below the directory of a project
	document     = ".json" // ends a session of older versions

	files = `
		*/chats/session-*.jsonl
		*/chats/session-*.json loose
		*/chats/*/*.jsonl
	`
	marks = `
		transcript sessionId" projectHash"
		transcript id" timestamp" type=user|gemini content only thoughts tokens model toolCalls displayContent
		transcript $set{ only
		cut "sessionId": "projectHash": "startTime":
	`
)

//go:embed stores.txt
var storesText string

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// project returns the directory of the project of a session file, and what follows it.
func project(path string) (dir, rest string) {
	path = filepath.FromSlash(session.Slashed(path))
	mark := string(filepath.Separator) + chats + string(filepath.Separator)
	if i := strings.LastIndex(path, mark); i >= 0 {
		return path[:i], path[i+len(mark):]
	}
	return "", ""
}

// hashOf is how Gemini names a directory in its files.
func hashOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:])
}

// Place implements adapter.Placer: a file beside the sessions has the directory of the project, or a list has
// it by the name of theirs, which in older versions is its hash.
func (Agent) Place(env adapter.Environment, path string) string {
	dir, _ := project(path)
	if dir == "" || env.ReadFile == nil {
		return ""
	}
	if root, err := env.ReadFile(filepath.Join(dir, ".project_root")); err == nil {
		if cwd := strings.TrimSpace(string(root)); len(cwd) <= adapter.MaxPath && filepath.IsAbs(cwd) {
			return cwd
		}
	}
	var list struct{ Projects map[string]string }
	data, err := env.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(dir)), "projects.json"))
	if err != nil || json.Unmarshal(data, &list) != nil {
		return ""
	}
	name := filepath.Base(dir)
	for cwd, slug := range list.Projects {
		if filepath.IsAbs(cwd) && (slug == name || hashOf(cwd) == name) {
			return cwd
		}
	}
	return ""
}

// refuses says why Gemini does not find a session: it looks for its id among those of the working directory.
func refuses(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	home := adapter.Places(env, homes)[0].Path
	dir, _ := project(s.Path)
	above := filepath.Dir(filepath.Dir(dir))
	switch {
	case q == nil:
	case dir == "":
		return "it is not in a directory of Gemini", ""
	case s.CWD == "":
		return "it does not say in which directory it began", ""
	case q.Dir != "" && filepath.Clean(q.Dir) != filepath.Clean(s.CWD):
		return "Gemini finds a session only in the directory where it began", "continue it in " + s.CWD
	case above != home:
		return "Gemini looks for sessions in " + home, "set " + homeVariable + "=" + shellcmd.Here.Quote(filepath.Dir(above))
	}
	return "", ""
}
