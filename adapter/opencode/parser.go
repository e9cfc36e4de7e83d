package opencode

import (
	_ "embed"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

// parser reads the lines of a session: see Agent.Lines.
type parser struct {
	adapter.LineParser[struct{}]
}

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{}
	p.Known, p.Tools, p.Steps = state, tools(), steps
	p.Read = p.read
	return p
}

// steps lists the lines that are not conversation.
var steps = adapter.Named(map[session.Step]string{
	session.StepTimer: "message step-start step-finish", session.StepSetting: "agent", session.StepRecord: "snapshot patch",
})

var known = adapter.NewKeys("type id time message role provider model call tool status duration")

// read reads a line.
func (p *parser) read(jsonl.Value) {
	if p.Known.Header.Notes {
		p.NameSession()
		return
	}
	e, all := &p.Entry, p.All
	p.At = p.JSON.Time(all.Find("time"))
	if p.Kind == "session" {
		p.header()
		return
	}
	e.ID, e.Once = p.JSON.String(all.Find("id")), true
	e.Copy = p.copyHash()
	e.Provider, e.Model = p.JSON.Name(all.Find("provider")), p.JSON.Name(all.Find("model"))
	switch role := p.JSON.Name(all.Find("role")); role {
	case "user", "assistant":
		p.Message(role)
	default:
		e.Type = p.Kind
	}
	if e.Role == session.RoleAssistant {
		e.Message = p.JSON.String(all.Find("message"))
	} else {
		e.Provider, e.Model = "", ""
	}
	switch p.Kind {
	case "text":
		p.readText(all.Find("text"))
	case "summary":
		e.Type, e.Role = session.TypeCompaction, ""
		p.Part(session.KindSummary, all.Find("text"))
	case "reasoning":
		p.Part(session.KindThinking, all.Find("text"))
	case "call":
		p.AddCall(p.JSON.Name(all.Find("tool")), p.JSON.String(all.Find("call")), all.Find("input"))
	case "result":
		p.readResult()
	case "shell":
		p.readShell()
	case "file":
		e.Type, e.Role = session.TypeCustom, ""
		p.Part(session.KindData, all.Find("filename"))
	case "subtask":
		p.AddPrompt(all.Find("prompt"))
		p.AddStrings(session.KindDetails, all, "description", "agent")
	case "retry":
		e.IsError = true
		p.AddLeaves(session.KindError, []adapter.Unknown{{Value: all.Find("error")}}, nil)
	case "agent":
		p.Part(session.KindNote, all.Find("name"))
	case "message":
		p.readEnd()
	case "step-start", "step-finish", "compaction", "patch", "snapshot":
		e.Type, e.Role, e.Apart = session.TypeCustom, "", true
		e.CustomType = p.Kind
		p.AddStrings(session.KindMeta, all, "type", "reason", "files")
	default:
		p.Strange("part", p.Kind)
		p.MissOthers(all, known)
	}
}

func (p *parser) header() {
	h := &p.Known.Header
	p.Skip = true
	if h.Version != 0 {
		return
	}
	h.ID, h.CWD, h.Version, h.Offset = p.JSON.String(p.All.Find("id")), p.JSON.String(p.All.Find("directory")), 1, p.Entry.Offset
	if p.At != 0 {
		h.Timestamp = adapter.TimeOf(p.At)
	}
}

// copyHash returns a hash that the copies of an entry in forks have in common: they have new ids, but the same
// times and texts.
func (p *parser) copyHash() uint64 {
	h := uint64(0)
	for _, m := range p.All {
		switch string(m.Key) {
		case "id", "message":
			continue
		}
		h += p.JSON.HashMember(m)
	}
	return max(h, 1)
}

func (p *parser) readText(text jsonl.Value) {
	e := &p.Entry
	switch {
	case p.JSON.IsTrue(p.All.Find("synthetic")):
		e.Role = session.RoleSystem
		p.Part(session.KindSystem, text)
	case e.Role == session.RoleUser:
		p.AddPrompt(text)
	default:
		p.Part(session.KindReply, text)
	}
}

func (p *parser) readResult() {
	e, all := &p.Entry, p.All
	p.Message(session.RoleToolResult)
	e.Tool, e.ToolCallID = p.JSON.Name(all.Find("tool")), p.JSON.String(all.Find("call"))
	p.AddResult(all.Find("output"))
	p.AddResult(all.Find("error"))
	f := &p.Facts
	why := p.JSON.String(all.Find("error"))
	f.Rejected = strings.HasPrefix(why, "The user rejected permission") || strings.HasPrefix(why, "The user has specified a rule which prevents")
	f.Exit, f.Duration = adapter.Code(&p.JSON, all.Find("exit")), adapter.Millis(&p.JSON, all.Find("duration"))
	e.IsError = !f.Rejected && (p.JSON.Name(all.Find("status")) == "error" || e.Tool == "invalid")
	if diff := all.Find("diff"); p.JSON.Kind(diff) == '"' {
		p.Diff = p.JSON.Text(diff)
	}
}

// readShell reads a command that the user ran, and its output.
func (p *parser) readShell() {
	p.Message(session.RoleShell)
	p.Entry.Provider, p.Entry.Model = "", ""
	p.AddShell(p.All.Find("command"))
	p.Part(session.KindShell, p.All.Find("output"))
}

// readEnd reads the end of an assistant's message.
func (p *parser) readEnd() {
	e, all := &p.Entry, p.All
	if message := all.Find("error"); !message.Empty() {
		e.IsError = true
		p.Part(session.KindError, message)
	} else {
		e.Type, e.Role, e.Apart = session.TypeCustom, "", true
		e.CustomType = p.Kind
	}
	f := &p.Facts
	f.HasUsage = p.usage(p.JSON.Fields(all.Find("tokens")), &f.Usage)
}

// usage reads the tokens of a message. Up to version 1.3, those of the output include those of reasoning.
func (p *parser) usage(all jsonl.Fields, u *session.Usage) bool {
	cache := p.JSON.Fields(all.Find("cache"))
	u.Input, u.Output = adapter.Tokens(&p.JSON, all.Find("input"), u), adapter.Tokens(&p.JSON, all.Find("output"), u)
	u.CacheRead, u.CacheWrite = adapter.Tokens(&p.JSON, cache.Find("read"), u), adapter.Tokens(&p.JSON, cache.Find("write"), u)
	total, ok := p.JSON.Int(all.Find("total"))
	if ok && total != u.Input+u.Output+u.CacheRead+u.CacheWrite || p.JSON.IsTrue(p.All.Find("apart")) {
		u.Output += adapter.Tokens(&p.JSON, all.Find("reasoning"), u)
	}
	u.Cost = adapter.Cost(&p.JSON, p.All.Find("cost"), u)
	return u.Tokens() > 0 || u.Cost > 0
}
