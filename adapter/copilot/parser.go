package copilot

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Each line is an event: {type, data, id, timestamp, parentId, agentId?}. Each follows the one before; those of
// a subagent, in between, name it. What the model asked for, and what it cost, stands up to three times.

type parser struct {
	adapter.LineParser[memo]
	data jsonl.Fields // of the event
}

// memo is what a parser remembers of earlier lines.
type memo struct {
	Tip             string // the id of the last entry
	Model, CWD, Git string
	Calls           []uint64 // hashes of the ids of calls that replies made
	Records         bool     // there are usage records: other figures repeat them
	Totals          []total  // that were counted, by model
	Named           bool     // of a title file: it had a name, or its first line
}

// total is what a model used.
type total struct {
	Model  string
	Tokens tokens // of the last shutdown
	Told   int64  // tokens of output since then, as replies say
}

type tokens struct{ Input, Output, Read, Write int64 }

// Limits of a memo, which keep its size below adapter.MaxMemo. Older entries are forgotten.
const (
	mostCalls   = 200
	mostModels  = 16
	longestName = 64
	longestPath = 400
)

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{}
	p.Read, p.Tools, p.Steps, p.Leaves.Omit = p.read, tools(), steps, noText
	p.Reset(state)
	return p
}

// Parse implements adapter.Parser. A title file is YAML.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	if p.Known.Header.Notes {
		p.readTitle(line, emit)
		return nil
	}
	return p.LineParser.Parse(line, emit)
}

// readTitle reads a line of workspace.yaml. The title is its name, else its summary: one line, or the first
// line of a block below it.
func (p *parser) readTitle(line adapter.Line, emit func(*session.Entry)) {
	p.Known.Lines = line.Number
	key, value, ok := bytes.Cut(line.Data, []byte(":"))
	if value = bytes.TrimSpace(value); bytes.HasPrefix(line.Data, []byte(" ")) {
		key, value, ok = nil, bytes.TrimSpace(line.Data), len(bytes.TrimSpace(line.Data)) > 0
	}
	isName := string(key) == "name"
	switch about := idOf(p.Known.Path); {
	case !ok || about == "" || !line.Ended, p.Memo.Named && !isName, key != nil && !isName && string(key) != "summary":
		return
	case len(value) > 0 && (value[0] == '|' || value[0] == '>') && key != nil:
		p.Memo.Named = false // the next line has it
		return
	}
	p.Memo.Named = isName || key == nil
	e := p.Begin(line, jsonl.Value{})
	e.Length = len(line.Data)
	e.ID, e.Type, e.Apart, e.About = adapter.OffsetID(e.Offset), session.TypeSessionInfo, true, idOf(p.Known.Path)
	e.Name = unquoted(string(value))
	p.Add(session.KindTitle, []byte(e.Name))
	emit(e)
}

// unquoted returns the text of a YAML scalar on one line.
func unquoted(text string) string {
	if n := len(text); n > 1 && text[0] == '\'' && text[n-1] == '\'' {
		return strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	var json jsonl.Scanner
	json.Reset([]byte(text))
	if v, err := json.Check(0); err == nil && v.End == len(text) && json.Kind(v) == '"' {
		return json.String(v)
	}
	return strings.Trim(text, `"`)
}

// read reads an event.
func (p *parser) read(jsonl.Value) {
	e, m := &p.Entry, &p.Memo
	p.data = p.JSON.Fields(p.All.Find("data"))
	event, known := events[p.Kind]
	h := &p.Known.Header
	if h.Version == 0 && known {
		h.Version, h.Offset, h.ID = 2, e.Offset, idOf(p.Known.Path)
		if p.At != 0 {
			h.Timestamp = adapter.TimeOf(p.At)
		}
	}
	p.Identify(p.All.Find("id"))
	e.Type, e.HasParent, e.ParentID = p.Kind, true, m.Tip
	if e.Side = p.JSON.String(p.All.Find("agentId")); e.Side == "" {
		e.Side = p.JSON.String(p.data.Find("parentToolCallId"))
	}
	if !known {
		p.Strange("event", p.Kind)
		p.MissOthers(p.All, lineKeys)
	} else if event.read != nil {
		event.read(p)
	}
	if event.kind != "" {
		p.AddStrings(event.kind, p.data, strings.Fields(event.text)...)
	}
	if event.kind == session.KindNote {
		e.Type = session.TypeCustomMessage
		e.CustomType = p.Kind
	}
	if known && event.keys != nil {
		p.MissOthers(p.data, event.keys, strings.Fields(event.text)...)
	}
	m.Tip = adapter.Short(e.ID, longestName)
	e.Context = session.Context{Model: m.Model, CWD: m.CWD, Git: m.Git}
}

// hold notes a model, a directory or a branch that holds from here on.
func (p *parser) hold(what *string, v jsonl.Value, limit int) {
	if text := p.JSON.Name(v); text != "" && p.Entry.Side == "" {
		*what = adapter.Short(text, limit)
	}
}

// readStart reads where a session starts or goes on.
func (p *parser) readStart() {
	h, m, context := &p.Known.Header, &p.Memo, p.JSON.Fields(p.data.Find("context"))
	if p.Kind == "session.context_changed" {
		context = p.data
	}
	p.hold(&m.Model, p.data.Find("selectedModel"), longestName)
	p.hold(&m.CWD, context.Find("cwd"), longestPath)
	p.hold(&m.Git, context.Find("branch"), longestPath)
	if p.Kind == "session.start" && h.ID == "" {
		h.ID = p.JSON.String(p.data.Find("sessionId"))
	}
	if h.CWD == "" {
		h.CWD = p.JSON.String(context.Find("cwd"))
	}
	if m.Git != "" {
		h.Git = m.Git
	}
}

func (p *parser) readModel() { p.hold(&p.Memo.Model, p.data.Find("newModel"), longestName) }

// readUser reads what the user typed, or what Copilot says in the user's place.
func (p *parser) readUser() {
	p.Message(session.RoleUser)
	content := p.data.Find("content")
	if source := p.JSON.Name(p.data.Find("source")); source != "" && source != "user" {
		p.Entry.Type, p.Entry.Role = session.TypeCustomMessage, ""
		p.Entry.CustomType, _, _ = strings.Cut(source, "-")
		p.Part(session.KindNote, content)
	} else {
		p.AddPrompt(content)
	}
	for item := range p.JSON.Elements(p.data.Find("attachments")) {
		all := p.JSON.Fields(item)
		if !p.AddImage(session.KindPrompt, all.Find("mimeType"), all.Find("data")) {
			for _, key := range [...]string{"path", "filePath", "displayName", "text", "title", "url"} {
				p.Detail(all.Find(key))
			}
		}
	}
}

// readReply reads a response of the model.
func (p *parser) readReply() {
	p.Message(session.RoleAssistant)
	p.Entry.Model = p.JSON.Name(p.data.Find("model"))
	p.Part(session.KindThinking, p.data.Find("reasoningText"))
	p.Part(session.KindReply, p.data.Find("content"))
	for item := range p.JSON.Elements(p.data.Find("toolRequests")) {
		all := p.JSON.Fields(item)
		id := p.JSON.String(all.Find("toolCallId"))
		p.AddCall(p.JSON.Name(all.Find("name")), id, all.Find("arguments"))
		p.Memo.Calls = adapter.Remember(p.Memo.Calls, xxhash.Sum64String(id), mostCalls)
	}
	if n := adapter.Tokens(&p.JSON, p.data.Find("outputTokens"), &p.Facts.Usage); n > 0 && !p.Memo.Records {
		if t := p.total(p.Memo.Model); t != nil {
			t.Told += n
			p.Facts.Usage.Output = n
			p.AddUsage()
		}
	}
}

// readThought reads what the model thought, in versions that write it apart.
func (p *parser) readThought() {
	p.Message(session.RoleAssistant)
	p.Part(session.KindThinking, p.data.Find("content"))
}

// readCall reads that a call was begun, which a reply asked for.
func (p *parser) readCall() {
	e, id := &p.Entry, p.JSON.String(p.data.Find("toolCallId"))
	p.Message(session.RoleAssistant)
	p.AddCall(p.JSON.Name(p.data.Find("toolName")), id, p.data.Find("arguments"))
	e.Repeats = slices.Contains(p.Memo.Calls, xxhash.Sum64String(id))
}

// readShell reads a command that the user ran.
func (p *parser) readShell() {
	p.Message(session.RoleShell)
	arguments := p.JSON.Fields(p.data.Find("arguments"))
	p.AddShell(arguments.Find("command"))
	p.MissOthers(arguments, nil, "command", "description")
}

var (
	tooLarge = []byte(`"Output too large to read at once`)
	exitExpr = regexp.MustCompile(`<(?:exited|shellId: \S+ completed) with exit code (-?\d+)>\s*$`)
)

// readResult reads how a call ended.
func (p *parser) readResult() {
	e, f := &p.Entry, &p.Facts
	result, failure := p.JSON.Fields(p.data.Find("result")), p.JSON.Fields(p.data.Find("error"))
	exit := p.JSON.Fields(p.data.Find("shellExecution")).Find("exitCode")
	content := result.Find("content")
	if p.JSON.IsTrue(p.data.Find("isUserRequested")) {
		p.Message(session.RoleShell)
		p.Part(session.KindShell, content)
		p.Part(session.KindShell, failure.Find("message"))
		n, ok := p.JSON.Int(exit)
		e.IsError = ok && n != 0 || p.JSON.Kind(p.data.Find("success")) == 'f'
		return
	}
	p.Message(session.RoleToolResult)
	e.ToolCallID = p.JSON.String(p.data.Find("toolCallId"))
	code := p.JSON.Name(failure.Find("code"))
	f.Rejected = code == "denied" || code == "rejected"
	e.IsError = p.JSON.Kind(p.data.Find("success")) == 'f' && !f.Rejected
	p.AddResult(content)
	if p.AddResult(failure.Find("message")); bytes.HasPrefix(p.JSON.Raw(content), tooLarge) {
		e.CustomType = session.PartialResult
	}
	if f.Exit = adapter.Code(&p.JSON, exit); f.Exit == session.Unknown {
		text := p.JSON.JSON(content)
		if found := exitExpr.FindSubmatch(text[max(0, len(text)-100):]); found != nil {
			n, _ := strconv.Atoi(string(found[1]))
			f.Exit = int32(n)
		}
	}
	for item := range p.JSON.Elements(result.Find("contents")) {
		all := p.JSON.Fields(item)
		if p.JSON.Name(all.Find("type")) != "image" || !p.AddImage(session.KindResult, all.Find("mimeType"), all.Find("data")) {
			p.Detail(item)
		}
	}
	detailed := result.Find("detailedContent")
	p.Detail(detailed)
	made := p.JSON.Fields(p.JSON.Fields(p.data.Find("toolTelemetry")).Find("properties")).Find("command")
	if diff := bytes.TrimLeft(p.JSON.Text(detailed), "\n"); bytes.HasPrefix(diff, []byte("diff --git ")) && p.JSON.Name(made) != "view" {
		p.Diff = diff
	}
	p.MissOthers(result, nil, "content", "detailedContent", "contents")
}

// readPermission reads what the user answered to a call that needs a permission.
func (p *parser) readPermission() {
	result := p.JSON.Fields(p.data.Find("result"))
	if kind := p.JSON.Name(result.Find("kind")); strings.HasPrefix(kind, "denied") || !result.Find("feedback").Empty() {
		p.Entry.Type, p.Entry.CustomType = session.TypeCustomMessage, p.Kind
		p.AddStrings(session.KindNote, result, "kind", "feedback")
	}
}

func (p *parser) readError() {
	p.Message(session.RoleAssistant)
	p.Entry.IsError = true
}

func (p *parser) readSystem() { p.Message(session.RoleSystem) }

func (p *parser) readAnswer() { p.Message(session.RoleAssistant) }

func (p *parser) readSummary() {
	p.Entry.Type = session.TypeCompaction
	p.TokensBefore, _ = p.JSON.Int(p.data.Find("preCompactionTokens"))
}

// readAsset reads an image, which the next prompt names.
func (p *parser) readAsset() {
	if strings.HasPrefix(p.JSON.Name(p.data.Find("mimeType")), "image/") && p.AddImage(session.KindPrompt, p.data.Find("mimeType"), p.data.Find("data")) {
		p.Entry.Type = session.TypeCustomMessage
	}
}

// readLegacy reads a session of an old version, which is one event.
func (p *parser) readLegacy() {
	p.Detail(p.JSON.Fields(p.data.Find("legacySession")).Find("chatMessages"))
}

// readUsage reads what a request used. Input has what was in the cache, and output what the model thought.
func (p *parser) readUsage() {
	p.Memo.Records = true
	all, f := p.JSON.Fields(p.data.Find("usage")), &p.Facts
	f.Usage = p.usage(p.tokens(all), f.Usage.Unusable)
	f.SubModel = p.JSON.Name(all.Find("model"))
	p.AddUsage()
}

func (p *parser) tokens(all jsonl.Fields) tokens {
	count := func(key string) int64 { return adapter.Tokens(&p.JSON, all.Find(key), &p.Facts.Usage) }
	return tokens{count("inputTokens"), count("outputTokens"), count("cacheReadTokens"), count("cacheWriteTokens")}
}

func (p *parser) usage(t tokens, unusable bool) session.Usage {
	return session.Usage{Input: max(0, t.Input-t.Read-t.Write), Output: t.Output, CacheRead: t.Read, CacheWrite: t.Write, NoCost: true, Unusable: unusable}
}

// total returns what a model used so far, nil if there are too many models.
func (p *parser) total(model string) *total {
	list := p.Memo.Totals
	if i := slices.IndexFunc(list, func(t total) bool { return t.Model == model }); i >= 0 {
		return &list[i]
	}
	if len(list) == mostModels || len(model) > longestName {
		return nil
	}
	p.Memo.Totals = append(slices.Clip(list), total{Model: model})
	return &p.Memo.Totals[len(list)]
}

// readShutdown reads what the models used, in versions without usage records. Older ones say what they used since
// the program was started, later ones since the session began; a figure that is less than before begins anew.
func (p *parser) readShutdown() {
	f, isSum := &p.Facts, !p.data.Find("totalNanoAiu").Empty()
	for name, metrics := range p.JSON.Members(p.data.Find("modelMetrics")) {
		if p.Memo.Records {
			return
		}
		model := string(name)
		t, before := p.tokens(p.JSON.Fields(p.JSON.Fields(metrics).Find("usage"))), p.total(model)
		used := t
		if before != nil {
			if b := before.Tokens; isSum && t.Input >= b.Input && t.Output >= b.Output && t.Read >= b.Read && t.Write >= b.Write {
				used = tokens{t.Input - b.Input, t.Output - b.Output, t.Read - b.Read, t.Write - b.Write}
			}
			used.Output = max(0, used.Output-before.Told) // of which replies told
			before.Tokens, before.Told = t, 0
		}
		switch u := p.usage(used, f.Usage.Unusable); {
		case u.Tokens() == 0 && !u.Unusable:
		case !f.HasUsage:
			f.Usage, f.SubModel = u, model
			p.AddUsage()
		case len(f.Others) < mostModels:
			f.Others = append(f.Others, session.OtherUsage{Usage: u, Model: model})
		}
	}
}
