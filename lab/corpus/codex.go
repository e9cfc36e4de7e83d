package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pigrep/internal/lists"
)

// codex writes a session as Codex does: most of what is said stands in an item and in an event,
// calls are JSON within JSON, and tokens are counted again and again. A third of the sessions are
// paginated, as newer versions write them: their lines are numbered, their events come before
// the items, and their forks copy nothing.
type codex struct {
	*sessionWriter
	session   string
	paginated bool
	base      string // the members of the header that say what it is a fork of
	ordinal   int
	turns     int
	tools     map[string]string // of calls, by id
	total     [2]int            // input and output
	last      [2]int
	prompts   []json.RawMessage
	reply     json.RawMessage
}

// Of a hundred counts of tokens, and of a hundred commands.
const (
	repeatedCounts = 57 // that come again
	endedCommands  = 25 // whose output an event repeats
)

func (c *codex) path(id string) string {
	c.session, c.tools, c.paginated = id, map[string]string{}, c.rng.IntN(3) == 0
	name := id
	if p := c.parent; p != nil {
		lines := p.lines()
		c.paginated = bytes.Contains(lines[0], []byte(`"history_mode":"paginated"`))
		c.base = `,"forked_from_id":"` + p.id + `"`
		if c.paginated {
			c.ordinal = 1 + c.rng.IntN(len(lines)-1)
			if !p.reverted {
				p.reverted, c.session, name, c.base = true, p.id, p.id+"_"+id, ""
			}
			c.base += fmt.Sprintf(`,"history_base":{"thread_id":"%s","end_ordinal_exclusive":%d,"end_byte_offset":%d}`, p.id, c.ordinal, len(bytes.Join(lines[:c.ordinal], nil)))
		}
	}
	return fmt.Sprintf("sessions/%s/rollout-%s-%s.jsonl", c.now.UTC().Format("2006/01/02"), c.now.UTC().Format("2006-01-02T15-04-05"), name)
}

// line writes a line with a payload.
func (c *codex) line(kind, format string, args ...any) {
	line, ordinal := fmt.Appendf(nil, `{"timestamp":"%s",`, c.stamp()), ""
	if c.paginated {
		ordinal = fmt.Sprintf(`"ordinal":%d,`, c.ordinal)
		c.ordinal++
	}
	line = fmt.Appendf(line, `%s"type":"%s","payload":{`, ordinal, kind)
	c.put(append(fmt.Appendf(line, format, args...), "}}\n"...))
}

// event writes an event of a legacy session, or the item that a paginated one has in its place.
func (c *codex) event(kind, key string, text json.RawMessage) {
	if !c.paginated {
		c.line("event_msg", `"type":"%s","%s":%s`, kind, key, text)
		return
	}
	members := map[string]string{
		"user_message":    `"type":"UserMessage","id":"item-1","content":[{"type":"text","text":%s}]`,
		"agent_message":   `"type":"AgentMessage","id":"item-2","content":[{"type":"Text","text":%s}]`,
		"agent_reasoning": `"type":"Reasoning","id":"item-3","summary_text":[%s],"raw_content":[]`,
	}[kind]
	c.line("event_msg", `"type":"item_completed","thread_id":"%s","turn_id":"%s","item":{`+members+`}`, c.session, c.turn(), text)
}

func (c *codex) turn() string { return fmt.Sprintf("%s-t%d", c.session, c.turns) }

// instructions are the same in each session.
var instructions = strings.Repeat(`You are a coding agent. Keep going until the task is done, and say what you did.\n`, 190)

func (c *codex) header() {
	more, version := "", "0.92.0"
	if c.paginated {
		more, version = `,"history_mode":"paginated"`, "0.169.0"
	}
	c.line("session_meta", `"id":"%s","timestamp":"%s","cwd":"%s","originator":"codex_cli_rs","cli_version":"%s","source":"cli","model_provider":"openai","base_instructions":{"text":"%s"},"git":{"commit_hash":"%040x","branch":"main"}%s%s`,
		c.session, c.stamp(), c.cwd, version, instructions, c.turns, more, c.base)
}

func (c *codex) message(role string, texts ...json.RawMessage) {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	blocks := lists.Map(texts, func(text json.RawMessage) string { return fmt.Sprintf(`{"type":"%s","text":%s}`, kind, text) })
	c.line("response_item", `"type":"message","role":"%s","content":[%s]`, role, strings.Join(blocks, ","))
}

func (c *codex) entry(e *entry) {
	switch m := &e.Message; {
	case e.Type == "session":
		c.header()
	case m.Role == "user":
		c.user(m.Content[0].Text)
	case m.Role == "assistant":
		c.assistant(e)
	case m.Role == "toolResult":
		c.toolResult(e)
	case m.Role == "bashExecution":
		c.message("user", json.RawMessage(fmt.Sprintf(`"<user_shell_command>\n<command>\n%s\n</command>\n<result>\nExit code: 0\nDuration: 0.0157 seconds\nOutput:\n%s\n</result>\n</user_shell_command>"`, inside(m.Command), inside(m.Output))))
	case e.Type == "compaction":
		c.message("assistant", e.Summary)
		history := lists.Map(c.prompts, func(text json.RawMessage) string {
			return fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}`, text)
		})
		c.line("compacted", `"message":%s,"replacement_history":[%s]`, e.Summary, strings.Join(history, ","))
		c.line("event_msg", `"type":"context_compacted"`)
	case e.Type == "session_info" && !c.paginated:
		c.line("event_msg", `"type":"thread_name_updated","thread_id":"%s","thread_name":%s`, c.session, e.Name)
	}
}

func (c *codex) user(text json.RawMessage) {
	c.completed()
	c.turns++
	c.line("event_msg", `"type":"task_started","turn_id":"%s","model_context_window":272000`, c.turn())
	c.line("turn_context", `"turn_id":"%s","cwd":"%s","approval_policy":"on-request","sandbox_policy":{"type":"workspace-write"},"model":"gpt-5.2-codex","effort":"high","summary":"auto"`, c.turn(), c.cwd)
	if c.turns == 1 {
		c.message("user", quoted(`# AGENTS.md instructions for `+c.cwd+`\n\n<INSTRUCTIONS>\nKeep it short.\n</INSTRUCTIONS>`), quoted(`<environment_context>\n  <cwd>`+c.cwd+`</cwd>\n  <shell>bash</shell>\n</environment_context>`))
	}
	if c.paginated {
		c.event("user_message", "message", text)
		c.message("user", text)
	} else {
		c.message("user", text)
		c.event("user_message", "message", text)
	}
	c.prompts = append(c.prompts, text)
	c.prompts = c.prompts[max(0, len(c.prompts)-20):]
}

// completed ends a turn.
func (c *codex) completed() {
	if c.reply != nil {
		c.line("event_msg", `"type":"task_complete","turn_id":"%s","last_agent_message":%s`, c.turn(), c.reply)
	}
	c.reply = nil
}

func (c *codex) assistant(e *entry) {
	m := &e.Message
	if len(m.ErrorMessage) > 0 {
		c.line("event_msg", `"type":"error","message":%s`, m.ErrorMessage)
		return
	}
	thought := false
	for _, b := range m.Content {
		switch b.Type {
		case "thinking":
			thought = true
			c.event("agent_reasoning", "text", b.Thinking)
			c.line("response_item", `"type":"reasoning","summary":[{"type":"summary_text","text":%s}],"content":null,"encrypted_content":%s`, b.Thinking, b.ThinkingSignature)
		case "text":
			c.reply = b.Text
			c.event("agent_message", "message", b.Text)
			c.message("assistant", b.Text)
		case "toolCall":
			c.call(&b)
		}
	}
	if !thought {
		c.line("response_item", `"type":"reasoning","summary":[],"content":null,"encrypted_content":"%s"`, c.base64(400))
	}
	c.last = [2]int{m.Usage.Input + m.Usage.CacheRead, m.Usage.Output}
	c.total[0], c.total[1] = c.total[0]+c.last[0], c.total[1]+c.last[1]
	if c.paginated {
		c.line("token_usage_record", `"thread_id":"%s","turn_id":"%s","response_id":"resp_%s%[3]s","usage":{%s}`, c.session, c.turn(), e.ID, tokens(c.last))
	}
	c.count()
}

func tokens(n [2]int) string {
	return fmt.Sprintf(`"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d`, n[0], n[0]*3/4, n[1], n[1]/3, n[0]+n[1])
}

// count writes the tokens so far.
func (c *codex) count() {
	c.line("event_msg", `"type":"token_count","info":{"total_token_usage":{%s},"last_token_usage":{%s},"model_context_window":272000},"rate_limits":{"primary":{"used_percent":%d.0,"window_minutes":300,"resets_in_seconds":10080},"secondary":null}`,
		tokens(c.total), tokens(c.last), c.rng.IntN(100))
}

// call writes a call: patches as they are, others as JSON within JSON.
func (c *codex) call(b *contentBlock) {
	c.tools[b.ID] = b.Name
	var input map[string]json.RawMessage
	if err := json.Unmarshal(b.Arguments, &input); err != nil {
		panic(err) // it was made here
	}
	path := string(inside(input["path"]))
	added := func(text json.RawMessage, mark string) string {
		return mark + strings.ReplaceAll(string(inside(text)), `\n`, `\n`+mark)
	}
	patch, command := "", ""
	switch b.Name {
	case "edit":
		patch = `*** Update File: ` + path + `\n@@\n` + added(input["oldText"], "-") + `\n` + added(input["newText"], "+")
	case "write":
		patch = `*** Add File: ` + path + `\n` + added(input["content"], "+")
	case "bash":
		command = string(inside(input["command"]))
	case "read":
		command = `sed -n '1,200p' ` + path
	case "todo":
		items, err := json.Marshal(fmt.Sprintf(`{"plan":[{"step":%s,"status":"pending"}]}`, bytes.Trim(input["items"], "[]")))
		if err != nil {
			panic(err)
		}
		c.line("response_item", `"type":"function_call","name":"update_plan","arguments":%s,"call_id":"%s"`, items, b.ID)
		return
	default:
		command = b.Name + ` ` + path
	}
	if patch != "" {
		c.line("response_item", `"type":"custom_tool_call","status":"completed","call_id":"%s","name":"apply_patch","input":"*** Begin Patch\n%s\n*** End Patch\n"`, b.ID, patch)
		return
	}
	arguments, err := json.Marshal(fmt.Sprintf(`{"cmd":"%s","workdir":"%s","yield_time_ms":1000}`, command, c.cwd))
	if err != nil {
		panic(err)
	}
	c.line("response_item", `"type":"function_call","name":"exec_command","arguments":%s,"call_id":"%s"`, arguments, b.ID)
}

func (c *codex) toolResult(e *entry) {
	m := &e.Message
	tool, text := c.tools[m.ToolCallID], m.Content[0].Text
	delete(c.tools, m.ToolCallID)
	code := 0
	if m.IsError {
		code = 1
	}
	switch {
	case len(m.Content) > 1:
		c.line("response_item", `"type":"function_call_output","call_id":"%s","output":[{"type":"input_text","text":%s},{"type":"input_image","image_url":"data:image/png;base64,%s"}]`, m.ToolCallID, text, inside(m.Content[1].Data))
	case tool == "edit", tool == "write":
		c.line("response_item", `"type":"custom_tool_call_output","call_id":"%s","output":"Exit code: %d\nWall time: 0.1 seconds\nOutput:\n%s"`, m.ToolCallID, code, inside(text))
	default:
		c.line("response_item", `"type":"function_call_output","call_id":"%s","output":"Chunk ID: 4d5e6f\nWall time: 0.0512 seconds\nProcess exited with code %d\nOriginal token count: 99\nOutput:\n%s"`, m.ToolCallID, code, inside(text))
		if c.rng.IntN(100) < endedCommands {
			c.line("event_msg", `"type":"exec_command_end","call_id":"%s","turn_id":"%s","command":["bash","-lc","true"],"cwd":"%s","stdout":"","stderr":"","aggregated_output":%s,"exit_code":%d,"duration":{"secs":0,"nanos":51200000},"formatted_output":"","status":"completed"`,
				m.ToolCallID, c.turn(), c.cwd, text, code)
		}
	}
	if c.rng.IntN(100) < repeatedCounts {
		c.count()
	}
}

// fork copies the first lines of a legacy session, with other times.
func (c *codex) fork() {
	if c.paginated {
		return
	}
	c.copied(0, func(line []byte) {
		copy(line[len(`{"timestamp":"`):], c.stamp())
		c.put(line)
	})
}

func (c *codex) end() { c.completed() }
