// Package cursor says what Cursor's CLI and agents write: the transcripts of their conversations,
// and where these are. No other package knows anything about it. The central type is Agent, an
// adapter.Agent. The package imports adapter, jsonl and internal/session.
package cursor

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
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
		ID: Name, Title: "Cursor CLI", Dir: home, Kept: storesText, ClientNames: []string{"cursor-vscode", "cursor"},
		Variables: []adapter.Variable{{Name: configDirVariable, Use: "Cursor's directory, in place of ~/.cursor; its projects/ is searched", Path: true}},
	}}
}

const (
	configDirVariable = "CURSOR_CONFIG_DIR"
	projects          = "projects"          // below the directory of Cursor
	transcripts       = "agent-transcripts" // below that of a project
)

// Recognize implements adapter.Agent. The lines say little, so nothing else may stand in them.
func (Agent) Recognize(head []byte) adapter.Sort {
	return adapter.SortOf(head, func(json *jsonl.Scanner, all jsonl.Fields) adapter.Sort {
		role, message := json.Name(all.Find("role")), json.Fields(all.Find("message"))
		if role != "user" && role != "assistant" || message.Find("content").Empty() || len(adapter.AppendOthers(nil, all, lineKeys)) > 0 || len(adapter.AppendOthers(nil, message, messageKeys)) > 0 {
			return adapter.Foreign
		}
		return adapter.Transcript
	}, `{"role":"user","message":{"`)
}

func homes(env adapter.Environment) (list []adapter.Root) {
	if dir := env.Getenv(configDirVariable); dir != "" {
		list = append(list, adapter.Root{Path: adapter.Absolute(dir, env), Origin: "$" + configDirVariable})
	}
	return append(list, adapter.Root{Path: filepath.Join(env.Home, ".cursor"), Origin: "default", Usual: true})
}

func home(env adapter.Environment) string { return homes(env)[0].Path }

// Roots implements adapter.Agent.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	list := homes(env)
	for i := range list {
		list[i].Path, list[i].Layout = filepath.Join(list[i].Path, projects), layout{}
	}
	return list, nil
}

// layout is that of the directory with the projects. Old versions had no directory for a project.
//
//	PROJECT/agent-transcripts/ID.jsonl
//	PROJECT/agent-transcripts/ID/ID.jsonl
//	PROJECT/agent-transcripts/ID/subagents/ID.jsonl
type layout struct{}

// Enter implements adapter.Layout.
func (layout) Enter(dir []byte) bool {
	if rest, ok := below(dir); ok {
		_, deeper, isDeeper := bytes.Cut(rest, []byte("/"))
		return !isDeeper || string(deeper) == "subagents"
	}
	return bytes.IndexByte(dir, '/') < 0
}

// File implements adapter.Layout.
func (l layout) File(path []byte) adapter.Sort {
	if rest, ok := below(path); ok && len(rest) > 0 && bytes.HasSuffix(rest, []byte(session.Extension)) {
		if slash := bytes.LastIndexByte(path, '/'); l.Enter(path[:slash]) {
			return adapter.Transcript
		}
	}
	return adapter.Foreign
}

// below returns a path below the directory with the transcripts of a project.
func below(path []byte) ([]byte, bool) {
	first, rest, _ := bytes.Cut(path, []byte("/"))
	if string(first) != transcripts {
		first, rest, _ = bytes.Cut(rest, []byte("/"))
	}
	return rest, string(first) == transcripts
}

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

const program = "cursor-agent"

// ResumeCommand implements adapter.Resumer. Cursor finds a chat by its id among those of the working directory.
func (Agent) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	id := s.ID
	if s.Relation == session.Spawned {
		id = s.ParentSession
	}
	if s.Version == 0 || !adapter.IsUUID(id) {
		return "", nil
	}
	return s.CWD, []string{program, "--resume", id}
}

// Resume implements adapter.Resumer.
func (a Agent) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	r := &adapter.Resumption{Install: "curl https://cursor.com/install -fsS | bash"}
	s, o := q.Session(r)
	if o == nil {
		o = obstacle(env, s, q)
	}
	if o != nil {
		o.Program = program
		return nil, o
	}
	_, r.Argv = a.ResumeCommand(env, s)
	return r, nil
}

// obstacle returns why Cursor does not find a chat, nil if it does.
func obstacle(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) *adapter.Obstacle {
	above, _, _ := strings.Cut(session.Slashed(s.Path), "/"+projects+"/")
	switch {
	case q.Packed:
		return &adapter.Obstacle{Reason: "its file is compressed"}
	case !adapter.IsUUID(s.ID):
		return &adapter.Obstacle{Reason: "its file is not named after the id of a chat"}
	case s.Messages == 0:
		return &adapter.Obstacle{Reason: "it has no messages"}
	case s.CWD == "":
		return &adapter.Obstacle{Reason: "its directory is not known: no directory of this machine fits the name of its project"}
	case q.Dir != "" && filepath.Clean(q.Dir) != s.CWD:
		return &adapter.Obstacle{Reason: "Cursor finds a chat only in the directory where it began", Hint: "continue it in " + s.CWD}
	case q.Fork:
		return &adapter.Obstacle{Reason: "it has no command that copies a chat"}
	case above != session.Slashed(home(env)):
		return &adapter.Obstacle{Reason: "Cursor looks for chats in " + home(env), Hint: "set " + configDirVariable + "=" + shellcmd.Here.Quote(filepath.FromSlash(above))}
	}
	return nil
}

//go:embed stores.txt
var storesText string

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

func toolOf(name string) adapter.Tool { return tools()[strings.ToLower(name)] }
