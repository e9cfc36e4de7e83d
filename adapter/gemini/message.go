package gemini

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

var (
	messageKeys = adapter.NewKeys("id timestamp type content displayContent thoughts tokens model toolCalls")
	callKeys    = adapter.NewKeys("id name args result status timestamp resultDisplay displayName description renderOutputAsMarkdown agentId")
	partKeys    = adapter.NewKeys("text thought inlineData fileData functionCall functionResponse thoughtSignature")
)

// Beginnings of texts of a user that Gemini wrote.
var (
	contextTag = []byte("<session_context>")
	shellBegin = []byte("I ran the following shell command:\n```sh\n")
	shellEnd   = []byte("\n```\n")
)

// readMessage reads a message.
func (p *parser) readMessage() {
	e, all := &p.Entry, p.All
	id := p.JSON.String(all.Find("id"))
	e.ID, e.Copy = id, max(1, p.JSON.Hash(all.Find("id"))^uint64(p.At))
	e.Timestamp = p.Known.Time(p.At)
	p.MissOthers(all, messageKeys)
	p.MissOthers(p.JSON.Fields(all.Find("tokens")), nil, "input", "output", "cached", "thoughts", "tool", "total")
	content := all.Find("content")
	switch p.Kind {
	case session.RoleUser:
		p.Message(session.RoleUser)
		p.readUser(content)
	case "gemini":
		p.Message(session.RoleAssistant)
		p.readReply(content)
	case "info", "warning", "error":
		kind := session.KindNote
		if e.Type = session.TypeCustomMessage; p.Kind == "error" {
			kind, e.IsError = session.KindError, true
		}
		for text := range p.texts(content) {
			p.Part(kind, text)
		}
	default:
		e.Type = p.Kind
		p.Strange("message", p.Kind)
		p.Miss(content)
	}
	if p.Skip {
		return
	}
	if e.Step = p.StepOf(nil); e.Role == session.RoleSystem {
		e.Step = session.StepReminder
	}
	if h := &p.Known.Header; h.Version == 0 && e.Role != session.RoleSystem && e.Type == session.TypeMessage {
		h.Version, h.ID, h.Offset = 2, p.Memo.ID, e.Offset
	}
	p.place()
}

// texts returns the texts of a content: a string, a part, or a list of parts.
func (p *parser) texts(content jsonl.Value) iter.Seq[jsonl.Value] {
	return func(yield func(jsonl.Value) bool) {
		for item := range p.JSON.Elements(content) {
			if p.JSON.Kind(item) == '{' {
				item = p.JSON.Fields(item).Find("text")
			}
			if p.JSON.Kind(item) == '"' && !yield(item) {
				return
			}
		}
	}
}

// readUser reads what a person typed, what Gemini added to it, or what tools answered, which the reply before says, too.
func (p *parser) readUser(content jsonl.Value) {
	e := &p.Entry
	var typed [][]byte
	for text := range p.texts(p.All.Find("displayContent")) {
		typed = append(typed, p.JSON.Text(text))
	}
	shown := len(typed) > 0
	parts, answers := 0, 0
	for item := range p.JSON.Elements(content) {
		parts++
		text, all := item, p.JSON.Fields(item)
		if p.JSON.Kind(item) == '{' {
			p.MissOthers(all, partKeys)
			text = all.Find("text")
		}
		switch inline := p.JSON.Fields(all.Find("inlineData")); {
		case !all.Find("functionResponse").Empty():
			answers++
		case len(inline) > 0 && p.AddImage(session.KindPrompt, inline.Find("mimeType"), inline.Find("data")):
		case p.JSON.Kind(text) == '"':
			data := p.JSON.Text(text)
			if bytes.HasPrefix(data, contextTag) {
				p.Part(session.KindSystem, text)
				p.readContext(data)
				continue
			}
			i := slices.IndexFunc(typed, func(t []byte) bool { return bytes.Equal(t, data) })
			switch {
			case bytes.HasPrefix(data, shellBegin):
				p.readShell(data)
			case shown && i < 0:
				p.Part(session.KindNote, text)
			default:
				p.AddPrompt(text)
				if i >= 0 {
					typed = slices.Delete(typed, i, i+1)
				}
			}
		default:
			p.Unknown = append(p.Unknown, adapter.Unknown{Value: item, Block: true})
		}
	}
	for _, text := range typed { // which the content has in another form
		p.Add(session.KindPrompt, text)
		p.Builder.AddPrompt(text)
		e.UserText = string(p.Prompt)
	}
	if p.Skip = parts > 0 && answers == parts; p.Skip {
		return
	}
	if p.text = p.hashOf(p.Kind, content); p.text == 0 && len(e.Images) == 0 && len(e.Parts) > 0 {
		e.Role = session.RoleSystem
	}
	p.Findable(session.Part{Kind: session.KindPrompt})
}

// readContext reads the directory of the session.
func (p *parser) readContext(text []byte) {
	_, rest, _ := bytes.Cut(text, []byte("Workspace Directories:**\n"))
	for line := range bytes.Lines(rest) {
		dir, ok := bytes.CutPrefix(line, []byte("  - "))
		if !ok {
			break
		}
		p.place1(string(bytes.TrimSpace(dir)))
	}
}

// readShell reads a command that a person ran, with its output.
func (p *parser) readShell(text []byte) {
	e := &p.Entry
	e.Role = session.RoleShell
	part := len(e.Parts)
	p.Add(session.KindShell, text)
	command, _, _ := bytes.Cut(text[len(shellBegin):], shellEnd)
	p.Facts.Calls = append(p.Facts.Calls, session.EntryCall{
		Kind: session.CallShell, Part: part, Tool: session.ShellTool, Deed: session.DeedRun, Command: command, Outcome: adapter.UnknownOutcome,
	})
}

// readReply reads a reply: its thoughts, its text, and its calls with their results.
func (p *parser) readReply(content jsonl.Value) {
	e, all := &p.Entry, p.All
	if e.Model = p.JSON.Name(all.Find("model")); e.Model != "" {
		e.Provider = "google"
	}
	for item := range p.JSON.Elements(all.Find("thoughts")) {
		thought := p.JSON.Fields(item)
		p.AddStrings(session.KindThinking, thought, "subject", "description")
		p.MissOthers(thought, nil, "subject", "description", "timestamp")
	}
	for item := range p.JSON.Elements(content) {
		text, kind := item, session.KindReply
		if p.JSON.Kind(item) == '{' {
			part := p.JSON.Fields(item)
			p.MissOthers(part, partKeys)
			if text = part.Find("text"); p.JSON.IsTrue(part.Find("thought")) {
				kind = session.KindThinking
			}
			if inline := p.JSON.Fields(part.Find("inlineData")); len(inline) > 0 {
				p.AddImage(session.KindReply, inline.Find("mimeType"), inline.Find("data"))
			}
		}
		if p.JSON.Kind(text) == '"' {
			p.Part(kind, text)
		}
	}
	p.text = p.hashOf(p.Kind, content)
	tokens, calls := all.Find("tokens"), all.Find("toolCalls")
	p.copied = p.JSON.Kind(content) == '[' && p.JSON.Kind(tokens) != '{' && calls.Empty()
	for item := range p.JSON.Elements(calls) {
		call := p.JSON.Fields(item)
		p.AddCall(p.JSON.Name(call.Find("name")), p.JSON.String(call.Find("id")), call.Find("args"))
		p.MissOthers(call, callKeys)
	}
	if p.JSON.Kind(tokens) == '{' {
		p.usage(p.JSON.Fields(tokens))
	}
}

func (p *parser) usage(all jsonl.Fields) {
	f := &p.Facts
	tokens := func(key string) int64 { return adapter.Tokens(&p.JSON, all.Find(key), &f.Usage) }
	f.HasUsage, f.UsageOf = true, max(1, xxhash.Sum64String(p.Entry.ID))
	f.Usage.CacheRead = tokens("cached")
	f.Usage.Input = max(0, tokens("input")-f.Usage.CacheRead) + tokens("tool")
	f.Usage.Output = tokens("output") + tokens("thoughts")
	f.Usage.NoCost = true
}

// readResult reads the result of a call, which is in it.
func (p *parser) readResult() {
	e, f, all := &p.Entry, &p.Facts, p.All
	p.Message(session.RoleToolResult)
	e.ID = fmt.Sprintf("%016x", xxhash.Sum64(p.JSON.Text(all.Find("id"))))[:8]
	e.Tool, e.ToolCallID = p.JSON.Name(all.Find("name")), p.JSON.String(all.Find("id"))
	e.Copy, e.Timestamp = max(1, p.JSON.Hash(all.Find("id"))^uint64(p.At)), p.Known.Time(p.At)
	e.HasParent, e.ParentID, e.Aside, e.Repeats = true, p.of, true, p.again
	for item := range p.JSON.Elements(all.Find("result")) {
		part := p.JSON.Fields(item)
		response := p.JSON.Fields(p.JSON.Fields(part.Find("functionResponse")).Find("response"))
		inline := p.JSON.Fields(part.Find("inlineData"))
		switch {
		case len(response) > 0:
			for _, m := range response {
				p.AddResult(m.Val)
				p.readOutput(p.JSON.Text(m.Val))
			}
		case len(inline) > 0 && p.AddImage(session.KindResult, inline.Find("mimeType"), inline.Find("data")):
		case p.JSON.Kind(part.Find("text")) == '"':
			p.AddResult(part.Find("text"))
		default:
			p.Miss(item)
		}
	}
	p.Findable(session.Part{Kind: session.KindResult, ToolCallID: e.ToolCallID})
	status := p.JSON.Name(all.Find("status"))
	e.IsError, f.Rejected = status == "error" || f.Exit != session.Unknown && f.Exit != 0, status == "cancelled"
	display := all.Find("resultDisplay")
	if diff := p.JSON.Fields(display).Find("fileDiff"); p.JSON.Kind(diff) == '"' {
		p.Diff = p.JSON.Text(diff)
	}
	p.Detail(display)
	e.Step = p.StepOf(nil)
	if n := len(p.Memo.Writes); p.of != "" && n > 0 && !p.again {
		e.Pending = true
		p.Memo.Writes[n-1].Offsets = append(slices.Clip(p.Memo.Writes[n-1].Offsets), e.Offset)
	}
}

// readOutput reads how a command ended, which its output says.
func (p *parser) readOutput(text []byte) {
	if p.Tools[p.Entry.Tool].Deed != session.DeedRun {
		return
	}
	if code := exitExpr().FindSubmatch(text); code != nil {
		if n, err := strconv.ParseInt(string(code[1]), 10, 32); err == nil {
			p.Facts.Exit = int32(n)
		}
	}
	if bytes.HasPrefix(text, []byte("Output too large. Showing first")) {
		p.Entry.CustomType = session.PartialResult
	}
}

// exitExpr matches the exit code in the output of a command.
var exitExpr = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Exit Code: (-?\d+)$`) })
