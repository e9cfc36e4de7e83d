package qwen

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Each line names the line that it follows, also those that say nothing to a reader. A message has parts, as
// Gemini's have.

type parser struct {
	adapter.LineParser[memo]
	payload jsonl.Fields // of a system line
}

// memo is what holds from a line on.
type memo struct{ CWD, Git string }

const longestPath = 400

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{}
	p.Read, p.Tools, p.Steps, p.Leaves.Omit = p.read, tools(), steps, noText
	p.Reset(state)
	return p
}

func (p *parser) read(jsonl.Value) {
	e, m := &p.Entry, &p.Memo
	p.Identify(p.All.Find("uuid"))
	if p.Known.Header.Version != 0 || lineTypes[p.Kind] {
		p.header()
	}
	e.Type, e.HasParent, e.ParentID = p.Kind, true, p.JSON.String(p.All.Find("parentUuid"))
	e.CustomType = p.JSON.Name(p.All.Find("subtype"))
	for key, holds := range map[string]*string{"cwd": &m.CWD, "gitBranch": &m.Git} {
		if text := p.JSON.Name(p.All.Find(key)); text != "" {
			*holds = adapter.Short(text, longestPath)
		}
	}
	e.Context = session.Context{CWD: m.CWD, Git: m.Git}
	p.payload = p.JSON.Fields(p.All.Find("systemPayload"))
	switch p.Kind {
	case "user":
		p.readUser()
	case "assistant":
		p.readReply()
	case "tool_result":
		p.readResult()
	case "system":
		p.readSystem()
		p.Kind = "" // the subtype says what it is
	default:
		p.Strange("line", p.Kind)
	}
	p.MissOthers(p.All, lineKeys)
}

// header reads what a line says of the session.
func (p *parser) header() {
	h := &p.Known.Header
	base := session.BaseName(p.Known.Path)
	if h.Version == 0 {
		h.Version, h.Offset = 2, p.Entry.Offset
		if parent := parentOf(p.Known.Path); parent != "" {
			h.ID, h.Relation, h.ParentSession = base, session.Spawned, parent
		} else if adapter.IsUUID(base) {
			h.ID = base
		}
	}
	if h.ID == "" {
		h.ID = p.JSON.String(p.All.Find("sessionId"))
	}
	if from := p.JSON.Fields(p.All.Find("forkedFrom")).Find("sessionId"); !from.Empty() && h.Relation == session.Unrelated {
		h.Relation, h.ParentSession = session.Copied, p.JSON.String(from)
	}
	if h.CWD == "" {
		h.CWD = p.JSON.String(p.All.Find("cwd"))
	}
	if git := p.JSON.Name(p.All.Find("gitBranch")); git != "" {
		h.Git = git
	}
	if h.Timestamp.IsZero() && p.At != 0 {
		h.Timestamp = adapter.TimeOf(p.At)
	}
}

// parts passes the parts of the message, and records those of other forms.
func (p *parser) parts(read func(all jsonl.Fields, text jsonl.Value) bool) {
	message := p.JSON.Fields(p.All.Find("message"))
	p.MissOthers(message, nil, "role", "parts")
	for item := range p.JSON.Elements(message.Find("parts")) {
		all := p.JSON.Fields(item)
		inline := p.JSON.Fields(all.Find("inlineData"))
		switch {
		case read(all, all.Find("text")):
		case p.AddImage(session.KindPrompt, inline.Find("mimeType"), inline.Find("data")):
		default:
			p.Unknown = append(p.Unknown, adapter.Unknown{Value: item, Block: true})
			for _, m := range all {
				if string(m.Key) != "thoughtSignature" {
					p.Strange("part", string(m.Key))
				}
			}
		}
	}
}

var (
	referenced = []byte("--- Content from referenced files ---")
	reminder   = []byte("<system-reminder>")
	truncated  = []byte("The full output has been saved to: ")
	exitExpr   = regexp.MustCompile(`^Command: (?s:.*)\nExit Code: (-?\d+)\n`)
)

// readUser reads what the user typed, or what Qwen Code says in the user's place.
func (p *parser) readUser() {
	e, kind := &p.Entry, session.KindPrompt
	p.Message(session.RoleUser)
	if notes[e.CustomType] {
		e.Type, e.Role, kind = session.TypeCustomMessage, "", session.KindNote
	}
	p.parts(func(_ jsonl.Fields, text jsonl.Value) bool {
		said := bytes.TrimSpace(p.JSON.Text(text))
		own := kind
		switch {
		case text.Empty():
			return false
		case kind == session.KindPrompt && bytes.HasPrefix(said, referenced): // and all that follows
			kind, own = session.KindDetails, session.KindDetails
		case kind == session.KindPrompt && bytes.HasPrefix(said, reminder):
			own = session.KindSystem
		case kind == session.KindPrompt:
			p.AddPrompt(text)
			return true
		}
		p.Part(own, text)
		return true
	})
	if kind == session.KindNote {
		p.Part(kind, p.payload.Find("displayText"))
	}
	if e.Role == session.RoleUser && len(e.Parts) > 0 && e.Parts[0].Kind == session.KindSystem && p.Prompt == nil {
		e.Role = session.RoleSystem
	}
	p.Findable(session.Part{Kind: session.KindPrompt})
}

// readReply reads a response of the model.
func (p *parser) readReply() {
	e, f := &p.Entry, &p.Facts
	p.Message(session.RoleAssistant)
	e.Model = p.JSON.Name(p.All.Find("model"))
	p.parts(func(all jsonl.Fields, text jsonl.Value) bool {
		call := p.JSON.Fields(all.Find("functionCall"))
		switch {
		case call != nil:
			p.AddCall(p.JSON.Name(call.Find("name")), p.JSON.String(call.Find("id")), call.Find("args"))
		case text.Empty():
			return false
		case p.JSON.IsTrue(all.Find("thought")):
			p.Part(session.KindThinking, text)
		default:
			p.Part(session.KindReply, text)
		}
		return true
	})
	all := p.JSON.Fields(p.All.Find("usageMetadata"))
	if all == nil {
		return
	}
	count := func(key string) int64 { return adapter.Tokens(&p.JSON, all.Find(key), &f.Usage) }
	prompt, total := count("promptTokenCount"), count("totalTokenCount")
	p.AddUsage()
	f.Usage.CacheRead = min(count("cachedContentTokenCount"), prompt)
	f.Usage.Input = prompt - f.Usage.CacheRead
	if f.Usage.Output = total - prompt; total < prompt { // thoughts are within candidates, or beside them
		f.Usage.Output = count("candidatesTokenCount")
	}
}

// readResult reads how a call ended.
func (p *parser) readResult() {
	e, f := &p.Entry, &p.Facts
	made := p.JSON.Fields(p.All.Find("toolCallResult"))
	p.Message(session.RoleToolResult)
	e.ToolCallID = p.JSON.String(made.Find("callId"))
	p.parts(func(all jsonl.Fields, text jsonl.Value) bool {
		v := all.Find("functionResponse")
		if v.Empty() {
			p.AddResult(text)
			return !text.Empty()
		}
		own := p.JSON.Fields(v)
		if id := p.JSON.String(own.Find("id")); id != "" {
			e.ToolCallID = id
		}
		e.Tool = p.JSON.Name(own.Find("name"))
		said := p.JSON.Fields(own.Find("response"))
		for _, m := range said {
			if key := string(m.Key); key == "output" || key == "error" {
				p.readOutput(m.Val)
			} else {
				p.Miss(m.Val)
			}
		}
		for item := range p.JSON.Elements(own.Find("parts")) {
			inline := p.JSON.Fields(p.JSON.Fields(item).Find("inlineData"))
			p.AddImage(session.KindResult, inline.Find("mimeType"), inline.Find("data"))
		}
		return true
	})
	status := p.JSON.Name(made.Find("status"))
	f.Rejected = status == "cancelled" || p.JSON.Name(made.Find("errorType")) == "execution_denied"
	e.IsError = status == "error" && !f.Rejected
	f.Duration = adapter.Millis(&p.JSON, made.Find("durationMs"))
	shown := made.Find("resultDisplay")
	all := p.JSON.Fields(shown)
	if all == nil {
		p.Detail(shown)
	}
	if code := adapter.Code(&p.JSON, all.Find("exitCode")); code != session.Unknown {
		f.Exit = code
	}
	if diff := p.JSON.Text(all.Find("fileDiff")); len(diff) > 0 {
		p.Diff = diff
	}
	for _, m := range all {
		if !copies[string(m.Key)] {
			p.Detail(m.Val)
		}
	}
}

// readOutput reads the text of a result. That of a shell command is a form, with its exit code.
func (p *parser) readOutput(v jsonl.Value) {
	p.AddResult(v)
	raw := p.JSON.Raw(v)
	if bytes.Contains(raw, truncated) {
		p.Entry.CustomType = session.PartialResult
	}
	if bytes.HasPrefix(raw, []byte(`"Command: `)) {
		text := p.JSON.Text(v)
		if found := exitExpr.FindSubmatch(text); found != nil {
			n, _ := strconv.Atoi(string(found[1]))
			p.Facts.Exit = int32(n)
		}
	}
}

// readSystem reads what Qwen Code notes of the session.
func (p *parser) readSystem() {
	e := &p.Entry
	switch e.CustomType {
	case "ui_telemetry":
		event := p.JSON.Fields(p.payload.Find("uiEvent"))
		if strings.HasSuffix(p.JSON.Name(event.Find("event.name")), ".api_error") {
			p.Message(session.RoleAssistant)
			e.IsError, e.Model = true, p.JSON.Name(event.Find("model"))
			for _, key := range [...]string{"error_message", "error"} {
				if v := event.Find(key); len(e.Parts) == 0 && p.JSON.Kind(v) == '"' {
					p.Part(session.KindError, v)
				}
			}
		}
	case "slash_command":
		p.Message(session.RoleShell)
		if p.JSON.Name(p.payload.Find("phase")) == "invocation" {
			p.Part(session.KindShell, p.payload.Find("rawCommand"))
		}
		var said []adapter.Unknown
		for item := range p.JSON.Elements(p.payload.Find("outputHistoryItems")) {
			if text := p.JSON.Fields(item).Find("text"); !text.Empty() {
				said = append(said, adapter.Unknown{Value: text})
			}
		}
		p.AddLeaves(session.KindShell, said, nil)
	case "chat_compression":
		e.Type = session.TypeCompaction
		p.TokensBefore, _ = p.JSON.Int(p.JSON.Fields(p.payload.Find("info")).Find("originalTokenCount"))
		for first := range p.JSON.Elements(p.payload.Find("compressedHistory")) {
			for part := range p.JSON.Elements(p.JSON.Fields(first).Find("parts")) {
				p.Part(session.KindSummary, p.JSON.Fields(part).Find("text"))
			}
			break // the others are copies
		}
	case "custom_title":
		e.Type, e.CustomType, e.NameRank = session.TypeSessionInfo, "", 1
		e.Name = p.JSON.String(p.payload.Find("customTitle"))
		p.Part(session.KindTitle, p.payload.Find("customTitle"))
	case "at_command":
		p.AddStrings(session.KindDetails, p.payload, "filesRead")
	default:
		if !silent[e.CustomType] {
			if !states[e.CustomType] {
				p.Strange("system line", e.CustomType)
			}
			p.AddLeaves(session.KindData, []adapter.Unknown{{Value: p.All.Find("systemPayload")}}, nil)
		}
	}
}

var (
	lineTypes = adapter.NewKeys("user assistant tool_result system")

	// lineKeys are the members of a line that are read, or are no text.
	lineKeys = adapter.NewKeys(`uuid parentUuid sessionId timestamp type subtype cwd version gitBranch provenance message systemPayload
		toolCallResult usageMetadata model contextWindowSize forkedFrom isSidechain agentId agentName agentRunId agentRound agentColor
		goalContext backgroundTurn promptId parentToolCallId`)

	// notes are the lines of a user that Qwen Code writes.
	notes = adapter.NewKeys("notification cron goal_runtime")

	// silent are system lines that repeat others, or are no text; states are others with text.
	silent = adapter.NewKeys(`attribution_snapshot file_history_snapshot session_artifact_snapshot session_artifact_event session_sources_snapshot
		user_text_elements rewind branch_checkpoint parent_session session_source session_model goal_turn_end`)
	states = adapter.NewKeys("goal_state turn_result background_task_completed session_recording_degraded omni_recall")

	// copies are what the result of a tool as it is shown repeats: outputs, and the file before and after an edit.
	copies = adapter.NewKeys("type output text originalContent newContent fileName taskPrompt outputFiles")

	// noText lists the keys of strings that are never text.
	noText = []string{"id", "callId", "thoughtSignature", "uuid", "sessionId"}
)

// steps lists the lines that are not conversation.
var steps = adapter.Named(map[session.Step]string{
	session.StepReminder:   session.RoleSystem,
	session.StepAttachment: "at_command",
	session.StepSubagent:   "background_task_completed",
})
