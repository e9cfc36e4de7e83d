package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// agentWriter writes a session as its agent does. An edit replaces the lines [from, to) of a
// file; one that fails changes nothing.
type agentWriter interface {
	prompt(text string)
	read(name string, list []authored)
	write(name string, old, now []authored)
	edit(name string, list []authored, from, to int, now []authored, fails bool)
	run(command string, fails bool)
	end()
}

// agentFile is a session file that grows.
type agentFile struct {
	id, cwd string
	now     *time.Time
	path    string
	text    strings.Builder
	entries int
	last    string
}

type members = map[string]any

func (f *agentFile) put(v members) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	f.text.Write(append(data, '\n'))
}

// stampStep is the time between two entries. The result of a call is the entry after the call.
const stampStep = 3 * time.Second

func (f *agentFile) stamp() string {
	*f.now = f.now.Add(stampStep)
	return f.now.Format("2006-01-02T15:04:05.000Z")
}

func (f *agentFile) next() (id, parent string) {
	f.entries++
	parent, f.last = f.last, fmt.Sprintf("%s%04x", f.id[3:8], f.entries)
	return f.last, parent
}

func (f *agentFile) end() {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(f.path, []byte(f.text.String()), 0o644); err != nil {
		panic(err)
	}
}

// unique returns the strings of an edit with as much context as makes the old one unique.
func unique(list []authored, from, to int, now []authored) (before, after string) {
	whole := "\n" + joined(list) + "\n"
	for a, z := from, to; ; a, z = max(0, a-1), min(len(list), z+1) {
		before = joined(list[a:z])
		if a == 0 && z == len(list) || z > a && strings.Count(whole, "\n"+before+"\n") == 1 && strings.Count(whole, before) == 1 {
			return before, joined(append(append(append([]authored{}, list[a:from]...), now...), list[to:z]...))
		}
	}
}

// piWriter writes sessions of pi.
type piWriter struct{ agentFile }

func newPi(dir string, f agentFile) agentWriter {
	p := &piWriter{f}
	p.path = filepath.Join(dir, "pi", "--work--", p.now.Format("2006-01-02T15-04-05-000Z")+"_"+p.id+".jsonl")
	p.put(members{"type": "session", "version": 3, "id": p.id, "timestamp": p.stamp(), "cwd": p.cwd})
	return p
}

func (p *piWriter) message(m members) {
	id, parent := p.next()
	v := members{"type": "message", "id": id, "parentId": nil, "timestamp": p.stamp(), "message": m}
	if parent != "" {
		v["parentId"] = parent
	}
	p.put(v)
}

func (p *piWriter) prompt(text string) { p.message(members{"role": "user", "content": text}) }

func (p *piWriter) read(name string, list []authored) {
	p.call("read", members{"path": name}, false, joined(list))
}

func (p *piWriter) call(tool string, arguments members, fails bool, output ...string) {
	id := fmt.Sprintf("call_%d", p.entries)
	p.message(members{"role": "assistant", "provider": "anthropic", "model": "claude-opus-4-5", "content": []any{
		members{"type": "text", "text": "I will use " + tool + "."}, members{"type": "toolCall", "id": id, "name": tool, "arguments": arguments}}})
	p.message(members{"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": fails, "content": []any{members{"type": "text", "text": strings.Join(output, "")}}})
}

func (p *piWriter) write(name string, _, now []authored) {
	p.call("write", members{"path": name, "content": joined(now) + "\n"}, false)
}

func (p *piWriter) edit(name string, list []authored, from, to int, now []authored, fails bool) {
	before, after := unique(list, from, to, now)
	p.call("edit", members{"path": filepath.ToSlash(filepath.Join(p.cwd, name)), "oldText": before, "newText": after}, fails)
}

func (p *piWriter) run(command string, fails bool) {
	p.call("bash", members{"command": command}, fails)
}

// claudeWriter writes sessions of Claude Code.
type claudeWriter struct{ agentFile }

func newClaude(dir string, f agentFile) agentWriter {
	c := &claudeWriter{f}
	c.path = filepath.Join(dir, "claude", "-work", c.id+".jsonl")
	return c
}

func (c *claudeWriter) line(kind string, message, more members) {
	id, parent := c.next()
	v := members{"type": kind, "uuid": id, "parentUuid": nil, "isSidechain": false, "userType": "external", "cwd": c.cwd, "sessionId": c.id, "version": "2.0.1", "gitBranch": "main", "timestamp": c.stamp(), "message": message}
	if parent != "" {
		v["parentUuid"] = parent
	}
	for k, x := range more {
		v[k] = x
	}
	c.put(v)
}

func (c *claudeWriter) prompt(text string) {
	c.line("user", members{"role": "user", "content": text}, nil)
}

func (c *claudeWriter) read(name string, list []authored) {
	var b strings.Builder
	for i, l := range list {
		fmt.Fprintf(&b, "%6d→%s\n", i+1, l.Text)
	}
	c.call("Read", members{"file_path": c.full(name)}, false, nil, b.String())
}

func (c *claudeWriter) call(tool string, input members, fails bool, more members, output ...string) {
	id, message := fmt.Sprintf("toolu_%d", c.entries), fmt.Sprintf("msg_%s_%d", c.id, c.entries)
	for _, block := range []members{{"type": "text", "text": "I will use " + tool + "."}, {"type": "tool_use", "id": id, "name": tool, "input": input}} {
		c.line("assistant", members{"id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": []any{block}, "usage": members{"input_tokens": 3, "output_tokens": 20}}, nil)
	}
	c.line("user", members{"role": "user", "content": []any{members{"type": "tool_result", "tool_use_id": id, "is_error": fails, "content": strings.Join(output, "")}}}, more)
}

func (c *claudeWriter) full(name string) string {
	return filepath.ToSlash(filepath.Join(c.cwd, name))
}

func (c *claudeWriter) write(name string, _, now []authored) {
	c.call("Write", members{"file_path": c.full(name), "content": joined(now) + "\n"}, false, nil)
}

func (c *claudeWriter) edit(name string, list []authored, from, to int, now []authored, fails bool) {
	before, after := unique(list, from, to, now)
	if c.entries%2 == 0 {
		c.call("MultiEdit", members{"file_path": c.full(name), "edits": []any{members{"old_string": before, "new_string": after}}}, fails, nil)
		return
	}
	c.call("Edit", members{"file_path": c.full(name), "old_string": before, "new_string": after}, fails, nil)
}

func (c *claudeWriter) run(command string, fails bool) {
	c.call("Bash", members{"command": command}, fails, nil)
}

// codexWriter writes sessions of Codex.
type codexWriter struct{ agentFile }

func newCodex(dir string, f agentFile) agentWriter {
	c := &codexWriter{f}
	c.path = filepath.Join(dir, "codex", c.now.Format("2006/01/02"), "rollout-"+c.now.Format("2006-01-02T15-04-05")+"-"+c.id+".jsonl")
	at := c.stamp()
	c.put(members{"timestamp": at, "type": "session_meta", "payload": members{"id": c.id, "timestamp": at, "cwd": c.cwd, "originator": "codex_exec", "cli_version": "0.128.0", "source": "exec"}})
	c.item("turn_context", members{"cwd": c.cwd, "model": "gpt-5-codex"})
	return c
}

func (c *codexWriter) item(kind string, payload members) {
	c.put(members{"timestamp": c.stamp(), "type": kind, "payload": payload})
}

func (c *codexWriter) prompt(text string) {
	c.item("response_item", members{"type": "message", "role": "user", "content": []any{members{"type": "input_text", "text": text}}})
	c.item("event_msg", members{"type": "user_message", "message": text, "images": []any{}})
}

func (c *codexWriter) patch(patch string, fails bool) {
	c.entries++
	id := fmt.Sprintf("call_%d", c.entries)
	c.item("response_item", members{"type": "message", "role": "assistant", "content": []any{members{"type": "output_text", "text": "I will patch."}}})
	c.item("response_item", members{"type": "custom_tool_call", "call_id": id, "name": "apply_patch", "input": "*** Begin Patch\n" + patch + "*** End Patch\n"})
	output := `{"output":"Success. Updated the following files:\nM x\n","metadata":{"exit_code":0,"duration_seconds":0.0}}`
	if fails {
		output = `{"output":"apply_patch verification failed: Failed to find expected lines\n","metadata":{"exit_code":1,"duration_seconds":0.0}}`
	}
	c.item("response_item", members{"type": "custom_tool_call_output", "call_id": id, "output": output})
}

func (c *codexWriter) write(name string, old, now []authored) {
	if old != nil {
		c.patch("*** Delete File: "+name+"\n*** Add File: "+name+"\n"+signed("+", now), false)
		return
	}
	c.patch("*** Add File: "+name+"\n"+signed("+", now), false)
}

func (c *codexWriter) edit(name string, list []authored, from, to int, now []authored, fails bool) {
	a, z := from, to
	for whole := "\n" + joined(list) + "\n"; a > 0 || z < len(list); a, z = max(0, a-1), min(len(list), z+1) {
		if z > a && strings.Count(whole, "\n"+joined(list[a:z])+"\n") == 1 {
			break
		}
	}
	c.patch("*** Update File: "+name+"\n@@\n"+signed(" ", list[a:from])+signed("-", list[from:to])+signed("+", now)+signed(" ", list[to:z]), fails)
}

func signed(sign string, list []authored) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(sign + l.Text + "\n")
	}
	return b.String()
}

func (c *codexWriter) read(name string, list []authored) { c.command("cat "+name, false, joined(list)) }

func (c *codexWriter) run(command string, fails bool) { c.command(command, fails, "done") }

func (c *codexWriter) command(command string, fails bool, output string) {
	c.entries++
	id := fmt.Sprintf("call_%d", c.entries)
	arguments, _ := json.Marshal(members{"cmd": command, "workdir": c.cwd})
	c.item("response_item", members{"type": "function_call", "call_id": id, "name": "exec_command", "arguments": string(arguments)})
	code := 0
	if fails {
		code = 1
	}
	c.item("response_item", members{"type": "function_call_output", "call_id": id, "output": fmt.Sprintf("Process exited with code %d\nOutput:\n%s", code, output)})
}
