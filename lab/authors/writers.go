package authors

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A writer writes a session as its agent does. An edit replaces the lines [from, to) of a file; one
// that fails changes nothing.
type writer interface {
	prompt(text string)
	read(name string, list []Line)
	write(name string, old, now []Line)
	edit(name string, list []Line, from, to int, now []Line, fails bool)
	run(command string, fails bool)
	end()
}

// file is a session file that grows.
type file struct {
	id, cwd string
	now     *time.Time
	path    string
	text    strings.Builder
	entries int
	last    string
}

type object = map[string]any

func (f *file) put(v object) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	f.text.Write(append(data, '\n'))
}

func (f *file) stamp() string {
	*f.now = f.now.Add(3 * time.Second)
	return f.now.Format("2006-01-02T15:04:05.000Z")
}

func (f *file) next() (id, parent string) {
	f.entries++
	parent, f.last = f.last, fmt.Sprintf("%s%04x", f.id[3:8], f.entries)
	return f.last, parent
}

func (f *file) end() {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(f.path, []byte(f.text.String()), 0o644); err != nil {
		panic(err)
	}
}

// unique returns the strings of an edit with as much context as makes the old one unique.
func unique(list []Line, from, to int, now []Line) (before, after string) {
	whole := "\n" + text(list) + "\n"
	for a, z := from, to; ; a, z = max(0, a-1), min(len(list), z+1) {
		before = text(list[a:z])
		if a == 0 && z == len(list) || z > a && strings.Count(whole, "\n"+before+"\n") == 1 && strings.Count(whole, before) == 1 {
			return before, text(append(append(append([]Line{}, list[a:from]...), now...), list[to:z]...))
		}
	}
}

// piWriter writes sessions of pi.
type piWriter struct{ file }

func newPi(dir string, f file) writer {
	p := &piWriter{f}
	p.path = filepath.Join(dir, "pi", "--work--", p.now.Format("2006-01-02T15-04-05-000Z")+"_"+p.id+".jsonl")
	p.put(object{"type": "session", "version": 3, "id": p.id, "timestamp": p.stamp(), "cwd": p.cwd})
	return p
}

func (p *piWriter) message(m object) {
	id, parent := p.next()
	v := object{"type": "message", "id": id, "parentId": nil, "timestamp": p.stamp(), "message": m}
	if parent != "" {
		v["parentId"] = parent
	}
	p.put(v)
}

func (p *piWriter) prompt(text string) { p.message(object{"role": "user", "content": text}) }

func (p *piWriter) read(name string, list []Line) {
	p.call("read", object{"path": name}, false, text(list))
}

func (p *piWriter) call(tool string, arguments object, fails bool, output ...string) {
	id := fmt.Sprintf("call_%d", p.entries)
	p.message(object{"role": "assistant", "provider": "anthropic", "model": "claude-opus-4-5", "content": []any{
		object{"type": "text", "text": "I will use " + tool + "."}, object{"type": "toolCall", "id": id, "name": tool, "arguments": arguments}}})
	p.message(object{"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": fails, "content": []any{object{"type": "text", "text": strings.Join(output, "")}}})
}

func (p *piWriter) write(name string, _, now []Line) {
	p.call("write", object{"path": name, "content": text(now) + "\n"}, false)
}

func (p *piWriter) edit(name string, list []Line, from, to int, now []Line, fails bool) {
	before, after := unique(list, from, to, now)
	p.call("edit", object{"path": filepath.ToSlash(filepath.Join(p.cwd, name)), "oldText": before, "newText": after}, fails)
}

func (p *piWriter) run(command string, fails bool) {
	p.call("bash", object{"command": command}, fails)
}

// claudeWriter writes sessions of Claude Code.
type claudeWriter struct{ file }

func newClaude(dir string, f file) writer {
	c := &claudeWriter{f}
	c.path = filepath.Join(dir, "claude", "-work", c.id+".jsonl")
	return c
}

func (c *claudeWriter) line(kind string, message, more object) {
	id, parent := c.next()
	v := object{"type": kind, "uuid": id, "parentUuid": nil, "isSidechain": false, "userType": "external", "cwd": c.cwd, "sessionId": c.id, "version": "2.0.1", "gitBranch": "main", "timestamp": c.stamp(), "message": message}
	if parent != "" {
		v["parentUuid"] = parent
	}
	for k, x := range more {
		v[k] = x
	}
	c.put(v)
}

func (c *claudeWriter) prompt(text string) {
	c.line("user", object{"role": "user", "content": text}, nil)
}

func (c *claudeWriter) read(name string, list []Line) {
	var b strings.Builder
	for i, l := range list {
		fmt.Fprintf(&b, "%6d→%s\n", i+1, l.Text)
	}
	c.call("Read", object{"file_path": c.full(name)}, false, nil, b.String())
}

func (c *claudeWriter) call(tool string, input object, fails bool, more object, output ...string) {
	id, message := fmt.Sprintf("toolu_%d", c.entries), fmt.Sprintf("msg_%s_%d", c.id, c.entries)
	for _, block := range []object{{"type": "text", "text": "I will use " + tool + "."}, {"type": "tool_use", "id": id, "name": tool, "input": input}} {
		c.line("assistant", object{"id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": []any{block}, "usage": object{"input_tokens": 3, "output_tokens": 20}}, nil)
	}
	c.line("user", object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": id, "is_error": fails, "content": strings.Join(output, "")}}}, more)
}

func (c *claudeWriter) full(name string) string {
	return filepath.ToSlash(filepath.Join(c.cwd, name))
}

func (c *claudeWriter) write(name string, _, now []Line) {
	c.call("Write", object{"file_path": c.full(name), "content": text(now) + "\n"}, false, nil)
}

func (c *claudeWriter) edit(name string, list []Line, from, to int, now []Line, fails bool) {
	before, after := unique(list, from, to, now)
	if c.entries%2 == 0 {
		c.call("MultiEdit", object{"file_path": c.full(name), "edits": []any{object{"old_string": before, "new_string": after}}}, fails, nil)
		return
	}
	c.call("Edit", object{"file_path": c.full(name), "old_string": before, "new_string": after}, fails, nil)
}

func (c *claudeWriter) run(command string, fails bool) {
	c.call("Bash", object{"command": command}, fails, nil)
}

// codexWriter writes sessions of Codex.
type codexWriter struct{ file }

func newCodex(dir string, f file) writer {
	c := &codexWriter{f}
	c.path = filepath.Join(dir, "codex", c.now.Format("2006/01/02"), "rollout-"+c.now.Format("2006-01-02T15-04-05")+"-"+c.id+".jsonl")
	at := c.stamp()
	c.put(object{"timestamp": at, "type": "session_meta", "payload": object{"id": c.id, "timestamp": at, "cwd": c.cwd, "originator": "codex_exec", "cli_version": "0.128.0", "source": "exec"}})
	c.item("turn_context", object{"cwd": c.cwd, "model": "gpt-5-codex"})
	return c
}

func (c *codexWriter) item(kind string, payload object) {
	c.put(object{"timestamp": c.stamp(), "type": kind, "payload": payload})
}

func (c *codexWriter) prompt(text string) {
	c.item("response_item", object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": text}}})
	c.item("event_msg", object{"type": "user_message", "message": text, "images": []any{}})
}

func (c *codexWriter) patch(patch string, fails bool) {
	c.entries++
	id := fmt.Sprintf("call_%d", c.entries)
	c.item("response_item", object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": "I will patch."}}})
	c.item("response_item", object{"type": "custom_tool_call", "call_id": id, "name": "apply_patch", "input": "*** Begin Patch\n" + patch + "*** End Patch\n"})
	output := `{"output":"Success. Updated the following files:\nM x\n","metadata":{"exit_code":0,"duration_seconds":0.0}}`
	if fails {
		output = `{"output":"apply_patch verification failed: Failed to find expected lines\n","metadata":{"exit_code":1,"duration_seconds":0.0}}`
	}
	c.item("response_item", object{"type": "custom_tool_call_output", "call_id": id, "output": output})
}

func (c *codexWriter) write(name string, old, now []Line) {
	if old != nil {
		c.patch("*** Delete File: "+name+"\n*** Add File: "+name+"\n"+signed("+", now), false)
		return
	}
	c.patch("*** Add File: "+name+"\n"+signed("+", now), false)
}

func (c *codexWriter) edit(name string, list []Line, from, to int, now []Line, fails bool) {
	a, z := from, to
	for whole := "\n" + text(list) + "\n"; a > 0 || z < len(list); a, z = max(0, a-1), min(len(list), z+1) {
		if z > a && strings.Count(whole, "\n"+text(list[a:z])+"\n") == 1 {
			break
		}
	}
	c.patch("*** Update File: "+name+"\n@@\n"+signed(" ", list[a:from])+signed("-", list[from:to])+signed("+", now)+signed(" ", list[to:z]), fails)
}

func signed(sign string, list []Line) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(sign + l.Text + "\n")
	}
	return b.String()
}

func (c *codexWriter) read(name string, list []Line) { c.command("cat "+name, false, text(list)) }

func (c *codexWriter) run(command string, fails bool) { c.command(command, fails, "done") }

func (c *codexWriter) command(command string, fails bool, output string) {
	c.entries++
	id := fmt.Sprintf("call_%d", c.entries)
	arguments, _ := json.Marshal(object{"cmd": command, "workdir": c.cwd})
	c.item("response_item", object{"type": "function_call", "call_id": id, "name": "exec_command", "arguments": string(arguments)})
	code := 0
	if fails {
		code = 1
	}
	c.item("response_item", object{"type": "function_call_output", "call_id": id, "output": fmt.Sprintf("Process exited with code %d\nOutput:\n%s", code, output)})
}
