package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// claude writes a session as Claude Code does: each block of a message is a line of its own with
// the usage of the whole message, the result of a tool stands twice, and what a subagent says
// stands in its own file and in lines of progress.
type claude struct {
	*sessionWriter
	session  string // of a subagent, that of its parent
	agent    string // of a subagent
	salt     uint64
	n        int
	tip      string            // the line before
	tips     map[string]string // the last line of each entry, by the id that it has in pi
	calls    map[string]*claudeCall
	prompt   json.RawMessage
	messages []json.RawMessage // of a subagent
}

type claudeCall struct {
	name, line string
	input      map[string]json.RawMessage
}

// emptyThinking is how many of a hundred messages with a single other block have a block of
// thinking without text.
const emptyThinking = 40

func (c *claude) path(id string) string {
	c.tips, c.calls, c.salt = map[string]string{}, map[string]*claudeCall{}, c.rng.Uint64()
	project := filepath.Join("projects", regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(c.cwd, "-"))
	if c.agent != "" {
		return filepath.Join(project, c.session, "subagents", "agent-"+c.agent+".jsonl")
	}
	c.session = id
	return filepath.Join(project, id+".jsonl")
}

// line writes a line of the tree behind a parent, and returns its id.
func (c *claude) line(e *entry, parent, kind, format string, args ...any) string {
	c.n++
	h := mix(c.n, c.salt)
	id := fmt.Sprintf("%s-%04x-4%03x-8%03x-%012x", e.ID, h>>48, h>>36&0xfff, h>>24&0xfff, mix(c.n, h)>>16)
	up, agent := "null", ""
	if parent != "" {
		up = `"` + parent + `"`
	}
	if c.agent != "" {
		agent = `"agentId":"` + c.agent + `",`
	}
	line := fmt.Appendf(nil, `{"parentUuid":%s,"isSidechain":%t,"userType":"external","cwd":"%s","sessionId":"%s","version":"2.1.50","gitBranch":"main",%s"slug":"quiet-dancing-heron","type":"%s",`,
		up, c.agent != "", c.cwd, c.session, agent, kind)
	line = fmt.Appendf(fmt.Appendf(line, format, args...), `,"uuid":"%s","timestamp":"%s"}`+"\n", id, e.Timestamp)
	c.put(line)
	c.tip, c.tips[e.ID] = id, id
	return id
}

// message writes a line with a message.
func (c *claude) message(e *entry, parent, kind, message, format string, args ...any) string {
	if c.agent != "" {
		c.messages = append(c.messages, json.RawMessage(fmt.Sprintf(`{"type":"%s","timestamp":"%s","message":%s,"uuid":"%s"}`, kind, e.Timestamp, message, e.ID)))
	}
	return c.line(e, parent, kind, `"message":%s`+format, append([]any{message}, args...)...)
}

// state writes a line that is no part of the tree.
func (c *claude) state(kind, format string, args ...any) {
	c.put(fmt.Appendf(fmt.Appendf(nil, `{"type":"%s",`, kind), format+"}\n", args...))
}

func (c *claude) entry(e *entry) {
	parent := c.tips[e.ParentID]
	if parent == "" && e.ParentID != "" {
		parent = c.tip
	}
	switch m := &e.Message; {
	case e.Type == "session":
		c.start = c.now
		if c.agent == "" {
			c.state("mode", `"mode":"normal","sessionId":"%s"`, c.session)
		}
	case m.Role == "user":
		c.user(e, parent)
	case m.Role == "assistant":
		c.assistant(e, parent)
	case m.Role == "toolResult":
		c.toolResult(e)
	case m.Role == "bashExecution":
		at := c.message(e, parent, "user", fmt.Sprintf(`{"role":"user","content":%s}`, tagged("bash-input", m.Command)), "")
		c.message(e, at, "user", fmt.Sprintf(`{"role":"user","content":%s}`, tagged("bash-stdout", m.Output)), "")
	case e.Type == "compaction":
		at := c.line(e, "", "system", `"subtype":"compact_boundary","logicalParentUuid":"%s","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{"trigger":"auto","preTokens":155000}`, parent)
		c.message(e, at, "user", fmt.Sprintf(`{"role":"user","content":%s}`, e.Summary), `,"isCompactSummary":true,"isVisibleInTranscriptOnly":true`)
	case e.Type == "session_info":
		c.state("custom-title", `"customTitle":%s,"sessionId":"%s"`, e.Name, c.session)
		c.tips[e.ID] = parent
	case e.Type == "label":
		c.state("tag", `"tag":%s,"sessionId":"%s"`, e.Label, c.session)
		c.tips[e.ID] = parent
	case e.Type == "custom_message":
		c.line(e, parent, "attachment", `"attachment":{"type":"hook_additional_context","content":[%s],"hookName":"UserPromptSubmit","toolUseID":"hook-1","hookEvent":"UserPromptSubmit"}`, e.Content)
	default: // Claude Code has no line for it
		c.tips[e.ID] = parent
	}
}

// tagged returns a string in JSON between the tags of an element.
func tagged(tag string, text json.RawMessage) string {
	return `"<` + tag + `>` + string(inside(text)) + `</` + tag + `>"`
}

// inside returns what is between the quotes of a string in JSON.
func inside(text json.RawMessage) []byte {
	if len(text) < 2 {
		return nil
	}
	return text[1 : len(text)-1]
}

func (c *claude) user(e *entry, parent string) {
	text := e.Message.Content[0].Text
	c.prompt = text
	if c.agent == "" && c.rng.IntN(10) == 0 { // typed while a turn ran
		c.state("queue-operation", `"operation":"enqueue","timestamp":"%s","sessionId":"%s","content":%s`, e.Timestamp, c.session, text)
		c.state("queue-operation", `"operation":"dequeue","timestamp":"%s","sessionId":"%s"`, e.Timestamp, c.session)
	}
	c.message(e, parent, "user", fmt.Sprintf(`{"role":"user","content":%s}`, text), "")
	if c.agent == "" {
		c.state("file-history-snapshot", `"messageId":"%s","snapshot":{"messageId":"%[1]s","trackedFileBackups":{},"timestamp":"%s"},"isSnapshotUpdate":false`, c.tip, e.Timestamp)
	}
}

func (c *claude) assistant(e *entry, parent string) {
	m := &e.Message
	if len(m.ErrorMessage) > 0 {
		c.message(e, parent, "assistant", fmt.Sprintf(`{"id":"%s","type":"message","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":%s}],"usage":{"input_tokens":0,"output_tokens":0}}`, e.ID, m.ErrorMessage),
			`,"isApiErrorMessage":true`)
		return
	}
	var blocks []string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%s}`, b.Text))
		case "thinking":
			blocks = append(blocks, fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%s}`, b.Thinking, b.ThinkingSignature))
		case "toolCall":
			blocks = append(blocks, c.call(&b))
		}
	}
	if len(blocks) == 1 && c.rng.IntN(100) < emptyThinking {
		blocks = append([]string{fmt.Sprintf(`{"type":"thinking","thinking":"","signature":"%s"}`, c.base64(300))}, blocks...)
	}
	model := []string{"claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"}[len(c.model[1])%2]
	for i, block := range blocks {
		output := max(1, m.Usage.Output*(i+1)/len(blocks))
		parent = c.message(e, parent, "assistant", fmt.Sprintf(`{"model":"%s","id":"msg_%016x%s","type":"message","role":"assistant","content":[%s],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%[6]d,"ephemeral_1h_input_tokens":0},"output_tokens":%[8]d,"service_tier":"standard"}}`,
			model, c.salt, e.ID, block, m.Usage.Input, m.Usage.CacheWrite, m.Usage.CacheRead, output), `,"requestId":"req_%s"`, e.ID)
		for id, call := range c.calls {
			if strings.Contains(block, `"type":"tool_use","id":"`+id) {
				call.line = parent
			}
		}
	}
	for _, b := range m.Content {
		if call := c.calls[b.ID]; b.Type == "toolCall" && call.name == "Task" {
			c.delegate(e, call)
		}
	}
}

var claudeTools = map[string]string{"bash": "Bash", "read": "Read", "edit": "Edit", "write": "Write", "grep": "Grep", "find": "Task", "ls": "LS", "todo": "TodoWrite"}

// call returns the block of a call. Every other search is left to a subagent.
func (c *claude) call(b *contentBlock) string {
	call := &claudeCall{name: claudeTools[b.Name]}
	if err := json.Unmarshal(b.Arguments, &call.input); err != nil {
		panic(err) // it was made here
	}
	c.calls[b.ID] = call
	for from, to := range map[string]string{"path": "file_path", "oldText": "old_string", "newText": "new_string"} {
		if v, ok := call.input[from]; ok && call.name != "Grep" && call.name != "LS" {
			delete(call.input, from)
			call.input[to] = v
		}
	}
	switch {
	case call.name == "Task" && (c.agent != "" || c.left < 64<<10):
		call.name = "Glob"
		call.input = map[string]json.RawMessage{"pattern": call.input["file_path"]}
	case call.name == "Task":
		call.input = map[string]json.RawMessage{"description": quoted(c.word()), "prompt": quoted(string(c.text(proseText, 300))), "subagent_type": quoted("Explore")}
	}
	input, err := json.Marshal(call.input)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"%s","input":%s}`, b.ID, call.name, input)
}

// quoted returns a text that stands as in JSON as a string.
func quoted(text string) json.RawMessage { return json.RawMessage(`"` + text + `"`) }

// delegate writes the session of a subagent, and what it says as progress of the call.
func (c *claude) delegate(e *entry, call *claudeCall) {
	ids := c.ids
	s := &sessionWriter{generator: c.generator, now: c.now, model: c.model, left: min(c.left/2, 200<<10), child: true}
	sub := &claude{sessionWriter: s, session: c.session, agent: "a" + c.entryID()}
	s.as = sub
	s.write(c.cwd, nil, func() { s.converse(min(c.steps()*3, 60)) })
	c.ids, c.now, c.left = ids, s.now, c.left-s.bytes
	for _, message := range sub.messages {
		c.line(e, call.line, "progress", `"data":{"message":%s,"normalizedMessages":[],"type":"agent_progress","prompt":%s,"agentId":"%s"},"toolUseID":"agent_%s","parentToolUseID":"%[4]s"`,
			message, call.input["prompt"], sub.agent, e.ID)
	}
	c.tip, c.tips[e.ID] = call.line, call.line
}

func (c *claude) toolResult(e *entry) {
	m := &e.Message
	call := c.calls[m.ToolCallID]
	if call == nil { // of a call that is in another file
		call = &claudeCall{name: "Bash", line: c.tip}
	}
	delete(c.calls, m.ToolCallID)
	text, image := m.Content[0].Text, ""
	for _, b := range m.Content[1:] {
		image = fmt.Sprintf(`{"type":"image","source":{"type":"base64","data":%s,"media_type":"image/png"}}`, b.Data)
	}
	content, made := string(text), fmt.Sprintf(`{"stdout":%s,"stderr":"","interrupted":false,"isImage":false}`, text)
	switch path := call.input["file_path"]; {
	case image != "":
		content, made = "["+image+"]", `[`+image+`]`
	case m.IsError:
		made = `"Error: ` + string(inside(text)) + `"`
	case call.name == "Bash":
		c.bashProgress(e, call, inside(text))
	case call.name == "Read":
		made = fmt.Sprintf(`{"type":"text","file":{"filePath":%s,"content":%s,"numLines":99,"startLine":1,"totalLines":99}}`, path, text)
		content = numbered(text)
	case call.name == "Edit":
		old := c.from(c.source(c.cwd), 2*c.size(resultMean, resultDev))
		made = fmt.Sprintf(`{"filePath":%s,"oldString":%s,"newString":%s,"originalFile":"%s","structuredPatch":[{"oldStart":1,"oldLines":9,"newStart":1,"newLines":9,"lines":[%s]}],"userModified":false,"replaceAll":false}`,
			path, call.input["old_string"], call.input["new_string"], old, m.Details.Diff)
	case call.name == "Write":
		made = fmt.Sprintf(`{"type":"create","filePath":%s,"content":%s,"structuredPatch":[],"originalFile":null}`, path, call.input["content"])
	case call.name == "Task":
		content = fmt.Sprintf(`[{"type":"text","text":%s}]`, text)
		made = fmt.Sprintf(`{"status":"completed","prompt":%s,"agentId":"a1","content":%s,"totalDurationMs":9000,"totalTokens":9000,"totalToolUseCount":9}`, call.input["prompt"], content)
	case call.name == "Grep", call.name == "Glob", call.name == "LS":
		made = fmt.Sprintf(`{"mode":"content","numFiles":0,"filenames":[],"content":%s,"numLines":9}`, text)
	}
	c.message(e, call.line, "user", fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":%s,"is_error":%t}]}`, m.ToolCallID, content, m.IsError),
		`,"toolUseResult":%s,"sourceToolAssistantUUID":"%s"`, made, call.line)
}

// bashProgress writes what a command has printed so far, again and again.
func (c *claude) bashProgress(e *entry, call *claudeCall, output []byte) {
	if len(output) < 400 || c.rng.IntN(4) == 0 {
		c.line(e, call.line, "progress", `"data":{"type":"hook_progress","hookEvent":"PreToolUse","hookName":"PreToolUse:Bash","command":"callback"},"parentToolUseID":"%s","toolUseID":"%[1]s"`, e.Message.ToolCallID)
		return
	}
	for part := 1; part <= 3; part++ {
		whole := output[:max(0, bytes.LastIndex(output[:len(output)*part/4], []byte(`\n`)))]
		last := whole[max(0, bytes.LastIndex(whole, []byte(`\n`))):]
		c.line(e, call.line, "progress", `"data":{"type":"bash_progress","output":"%s","fullOutput":"%s","elapsedTimeSeconds":%d,"totalLines":9},"toolUseID":"bash-progress-%[3]d","parentToolUseID":"%s"`,
			last, whole, part, e.Message.ToolCallID)
	}
}

// numbered returns a text as the model sees that of a file: with the number of each line.
func numbered(text json.RawMessage) string {
	lines := bytes.Split(inside(text), []byte(`\n`))
	out := []byte(`"`)
	for i, line := range lines {
		out = fmt.Appendf(out, "%6d→%s", i+1, line)
		if i < len(lines)-1 {
			out = append(out, `\n`...)
		}
	}
	return string(append(out, '"'))
}

// fork copies the first lines of the parent, with the id of this session.
func (c *claude) fork() {
	uuid := regexp.MustCompile(`"uuid":"([^"]*)","timestamp":"[^"]*"}\n$`)
	c.copied(0, func(line []byte) {
		if id := uuid.FindSubmatch(line); id != nil {
			c.tip = string(id[1])
			c.note(c.tip[:8])
			c.tips[c.tip[:8]] = c.tip
		}
		c.put(bytes.ReplaceAll(line, []byte(`"sessionId":"`+c.parent.id), []byte(`"sessionId":"`+c.session)))
	})
}

// end writes the state of the session, as it is written whenever a session ends.
func (c *claude) end() {
	if c.agent != "" || c.prompt == nil {
		return
	}
	c.state("last-prompt", `"lastPrompt":"%.100s","leafUuid":"%s","sessionId":"%s"`, strings.NewReplacer(`\"`, "'", `\n`, " ", `\`, " ").Replace(string(inside(c.prompt))), c.tip, c.session)
	c.state("permission-mode", `"permissionMode":"default","sessionId":"%s"`, c.session)
}
