package codex

import (
	"bytes"
	"cmp"
	_ "embed"
	"path"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/script"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// call is the call of a tool that has been read.
type call struct {
	tool, id  string
	scan      *jsonl.Scanner // that arguments is of; nil if they are a text
	arguments jsonl.Value
	fields    jsonl.Fields // of arguments
	text      []byte       // the arguments, if they are a text
	patch     []byte       // the patch among the arguments, nil if there is none
	glued     bool         // words of the arguments stick to letters of escapes in the script that makes the call
}

func (c *call) set(scan *jsonl.Scanner, arguments jsonl.Value) {
	c.scan, c.arguments, c.fields = scan, arguments, scan.Fields(arguments)
}

// argument returns an argument of the call, and whether it is a string.
func (c *call) argument(key string) (jsonl.Value, bool) {
	if c.scan == nil {
		return jsonl.Value{}, false
	}
	v := c.fields.Find(key)
	return v, c.scan.Kind(v) == '"'
}

//go:embed tools.txt
var toolsText string

var tools = sync.OnceValue(func() map[string]adapter.Tool { return adapter.Tools(toolsText) })

func (p *parser) readCall() {
	e, all, c := &p.Entry, p.payload, &p.call
	e.Role = session.RoleAssistant
	c.id = p.JSON.String(all.Find("call_id"))
	if c.id == "" && p.typ == "local_shell_call" {
		c.id = p.JSON.String(all.Find("id"))
	}
	c.tool = p.toolName()
	switch p.typ {
	case "function_call":
		p.readArguments(all.Find("arguments"))
	case "custom_tool_call":
		c.text = p.JSON.Text(all.Find("input"))
	case "image_generation_call":
		c.text = p.JSON.Text(all.Find("revised_prompt"))
	case "tool_search_call":
		c.set(&p.JSON, all.Find("arguments"))
	default:
		c.set(&p.JSON, all.Find("action"))
	}
	c.patch = c.findPatch()
	p.readScript()
	text := p.writeCall()
	if p.typ == "web_search_call" {
		v, _ := c.argument("query")
		p.says(ofSearch, p.JSON.Text(v))
	}
	if len(p.inside) > 0 { // without what follows the script
		text = text[:len(c.tool)+len("\ninput: ")+len(c.text)]
	}
	p.Facts.Calls = append(p.Facts.Calls, p.callFacts(c, text))
	for i := range p.inside {
		c := &p.inside[i]
		f := p.callFacts(c, c.written(p))
		f.Kind = session.CallNested
		p.Facts.Calls = append(p.Facts.Calls, f)
	}
	if p.Facts.Calls[0].Unread = p.unread; p.unread {
		p.Strange("script", "with commands that it computes")
	}
}

// readScript reads the calls in a script of Codex's code mode: tools.exec_command({cmd: "ls"}).
func (p *parser) readScript() {
	c := &p.call
	if !c.isScript() {
		return
	}
	calls, whole := script.Calls(c.text)
	p.unread = !whole
	all := []byte{'['}
	for i := range calls {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, cmp.Or(string(calls[i].JSON), "null")...)
	}
	p.inner.Reset(append(all, ']'))
	list, err := p.inner.Check(0)
	if err != nil {
		return
	}
	n := 0
	for v := range p.inner.Elements(list) {
		in := call{tool: calls[n].Tool, id: c.id, glued: calls[n].Glued}
		switch p.inner.Kind(v) {
		case '"':
			in.text = p.inner.Text(v)
		case '{':
			in.set(&p.inner, v)
		}
		in.patch = in.findPatch()
		p.unread = p.unread || in.isUnread()
		p.inside = append(p.inside, in)
		n++
	}
}

// isScript reports whether the call is a script that may call tools.
func (c *call) isScript() bool {
	return (c.tool == scriptTool || strings.HasSuffix(c.tool, "__"+scriptTool)) && c.scan == nil && bytes.Contains(c.text, []byte("tools"))
}

const scriptTool = "exec"

// isUnread reports whether a call in a script runs a command, or applies a patch, that is not literal.
func (c *call) isUnread() bool {
	key := tools()[c.tool].Command
	v, isText := c.argument(key)
	switch {
	case c.tool == "apply_patch":
		return c.patch == nil
	case key != "":
		return !isText && len(c.words(v)) == 0
	}
	return c.tool == ""
}

// written returns the call of a tool in a script as a text.
func (c *call) written(p *parser) []byte {
	if c.scan != nil {
		return p.CallText(c.scan, c.tool, c.arguments)
	}
	text := append(p.JSON.Room(len(c.tool)+len(c.text)+16), c.tool...)
	if len(c.text) > 0 {
		text = append(append(text, "\ninput: "...), c.text...)
	}
	return p.JSON.Keep(text)
}

// toolName returns the name of the tool. Those of servers have a namespace.
func (p *parser) toolName() string {
	name, space := p.JSON.Name(p.payload.Find("name")), p.JSON.Name(p.payload.Find("namespace"))
	switch {
	case name == "":
		return p.typ
	case space == "":
		return name
	case strings.HasSuffix(space, "__"), strings.HasPrefix(name, "__"):
		return space + name
	}
	return space + "__" + name
}

// readArguments reads arguments, which are JSON in a string.
func (p *parser) readArguments(v jsonl.Value) {
	c := &p.call
	if p.JSON.Kind(v) == '{' {
		c.set(&p.JSON, v)
		return
	}
	c.text = p.JSON.Text(v)
	if inside, ok := p.inString(c.text); ok {
		c.set(&p.inner, inside)
	}
}

// inString returns the object in a text.
func (p *parser) inString(text []byte) (jsonl.Value, bool) {
	if len(text) < 2 || text[0] != '{' {
		return jsonl.Value{}, false
	}
	p.inner.Reset(text)
	v, err := p.inner.Check(0)
	return v, err == nil && len(bytes.TrimSpace(text[v.End:])) == 0
}

// writeCall writes the name of the tool and its arguments, and returns the text.
func (p *parser) writeCall() []byte {
	c := &p.call
	var text []byte
	var names [][2]int
	if c.scan != nil {
		text = p.CallText(c.scan, c.tool, c.arguments)
		names = p.Leaves.Names
	} else {
		text = append(p.JSON.Room(len(c.tool)+len(c.text)+64), c.tool...)
		if len(c.text) > 0 && p.typ == "function_call" {
			text = append(append(text, '\n'), c.text...)
		} else if len(c.text) > 0 {
			names = [][2]int{{len(text) + len("\n"), len(text) + len("\ninput")}}
			text = append(append(text, "\ninput: "...), c.text...)
		}
		for i := range p.inside {
			if in := &p.inside[i]; in.glued && in.scan == nil {
				text = append(append(text, '\n'), in.text...)
			} else if in.glued {
				p.Leaves.Begin(&p.inner, append(text, '\n'), false, nil)
				p.Leaves.Add(in.arguments, false)
				text = p.Leaves.End()
			}
		}
		text = p.JSON.Keep(text)
	}
	if len(text) > 0 {
		p.Entry.Parts = append(p.Entry.Parts, session.Part{Kind: session.KindCall, Text: text, Names: names, Tool: c.tool, ToolCallID: c.id})
	}
	return text
}

// callFacts returns the facts of a call with this text.
func (p *parser) callFacts(c *call, text []byte) session.EntryCall {
	m := &p.Memo
	does := tools()[c.tool]
	f := session.EntryCall{Part: len(p.Entry.Parts) - 1, Tool: c.tool, ID: c.id, Deed: does.Deed, Outcome: adapter.UnknownOutcome}
	f.Text = adapter.ArgumentsIn(text, c.tool)
	if c.scan == nil {
		f.Files = adapter.PatchFiles(c.patch)
		return f
	}
	f.Dialect = p.dialect()
	if does.Command != "" {
		f.Command, f.Dialect = c.command(does.Command, f.Dialect)
	}
	if c.patch != nil {
		f.Deed, f.Files = session.DeedEdit, adapter.PatchFiles(c.patch)
	}
	if v, ok := c.argument(does.File); ok && does.File != "" {
		if name := c.scan.String(v); name != "" && len(name) <= adapter.MaxPath {
			f.Files = append(f.Files, session.FileUse{Path: name, Deed: does.Use})
		}
	}
	for _, key := range [...]string{"workdir", "working_directory"} {
		if v, ok := c.argument(key); ok {
			f.Dir = c.scan.Name(v)
		}
	}
	if c.patch != nil && f.Command != nil {
		into(f.Files, patchDir(f.Command))
	}
	if v, ok := c.argument("shell"); ok && f.Command != nil {
		if d, ok := dialectOf(c.scan.Name(v)); ok {
			f.Dialect = d
		}
	}
	v, _ := c.argument("with_escalated_permissions")
	needs, _ := c.argument("sandbox_permissions")
	f.Escapes = c.scan.IsTrue(v) || c.scan.Name(needs) == "require_escalated"
	if cell, ok := c.argument("cell_id"); ok && c.tool == "wait" && c == &p.call {
		f.Deed = session.DeedPoll
		if !p.Sparse {
			m.Polls = adapter.Remember(m.Polls, poll{xxhash.Sum64String(c.id), processOf(c.scan.Text(cell))}, mostRuns)
		}
	}
	if c.tool == "write_stdin" {
		process, _ := c.argument("session_id")
		if n, ok := c.scan.Int(process); ok && !p.Sparse && c == &p.call {
			m.Polls = adapter.Remember(m.Polls, poll{xxhash.Sum64String(c.id), n}, mostRuns)
		}
		if chars, _ := c.argument("chars"); len(c.scan.Text(chars)) == 0 {
			f.Deed = session.DeedPoll
		}
	}
	return f
}

// dialect returns the language of commands: that of the shell, if it is known.
func (p *parser) dialect() session.Dialect {
	if dir := p.Memo.Context.CWD; !p.Memo.HasDialect && len(dir) > 2 && dir[1] == ':' {
		return session.DialectPowerShell
	}
	return p.Memo.Dialect
}

// dialectOf returns the language of a shell, by its program.
func dialectOf(program string) (session.Dialect, bool) {
	name := strings.TrimSuffix(strings.ToLower(path.Base(session.Slashed(program))), ".exe")
	switch name {
	case "powershell", "pwsh":
		return session.DialectPowerShell, true
	case "cmd":
		return session.DialectCmd, true
	case "sh", "bash", "zsh", "dash", "ksh", "fish":
		return session.DialectPOSIX, true
	}
	return session.DialectPOSIX, false
}

// command returns a shell command as a person would type it. It is a text or a list of
// words, which may run a shell.
func (c *call) command(key string, dialect session.Dialect) ([]byte, session.Dialect) {
	v, isText := c.argument(key)
	if isText {
		return append([]byte{}, c.scan.Text(v)...), dialect
	}
	words := c.words(v)
	if len(words) == 0 {
		return nil, dialect
	}
	if d, ok := dialectOf(words[0]); ok {
		for i, word := range words[1:] {
			switch strings.ToLower(word) {
			case "-lc", "-c", "-command", "/c", "-ic", "-lic":
				if i+3 == len(words) {
					return []byte(words[len(words)-1]), d
				}
			}
		}
		return quoted(words), d
	}
	if words[0] == "apply_patch" && c.patch != nil {
		return nil, dialect
	}
	return quoted(words), dialect
}

func (c *call) words(v jsonl.Value) (words []string) {
	if c.scan == nil || c.scan.Kind(v) != '[' {
		return nil
	}
	for item := range c.scan.Elements(v) {
		words = append(words, c.scan.String(item))
	}
	return words
}

// quoted returns words as a person would type them.
func quoted(words []string) []byte {
	line := []byte{}
	for i, word := range words {
		if i > 0 {
			line = append(line, ' ')
		}
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`&|;<>()*?[]{}~#!") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		line = append(line, word...)
	}
	return line
}

const (
	patchBegin = "*** Begin Patch"
	patchEnd   = "*** End Patch"
)

// findPatch returns the patch that a call applies: its text, the argument input or patch, or
// what its command passes to apply_patch.
func (c *call) findPatch() []byte {
	if c.tool == "apply_patch" {
		text := c.text
		for _, key := range [...]string{"input", "patch"} {
			if v, ok := c.argument(key); ok {
				text = c.scan.Text(v)
			}
		}
		return cutPatch(text)
	}
	key := tools()[c.tool].Command
	if key == "" {
		return nil
	}
	v, isText := c.argument(key)
	if isText {
		return patchOf(c.scan.Text(v))
	}
	if c.scan == nil || !bytes.Contains(c.scan.Raw(v), []byte("apply_patch")) && !bytes.Contains(c.scan.Raw(v), []byte("applypatch")) {
		return nil
	}
	words := c.words(v)
	if len(words) == 2 && (words[0] == "apply_patch" || words[0] == "applypatch") {
		return cutPatch([]byte(words[1]))
	}
	return patchOf([]byte(strings.Join(words, "\n")))
}

// patchOf returns the patch that a command passes to apply_patch.
func patchOf(command []byte) []byte {
	for _, program := range [...]string{"apply_patch", "applypatch"} {
		if i := bytes.Index(command, []byte(program)); i >= 0 {
			return cutPatch(command[i:])
		}
	}
	return nil
}

// patchDir returns the directory in which a command applies a patch, relative to its own.
func patchDir(command []byte) string {
	before, _, _ := bytes.Cut(command, []byte("<<"))
	if !bytes.Contains(before, []byte("cd ")) {
		return ""
	}
	const own, below = "/a/a/a/a", "/a/a/a" // whatever it is called: cd .. leads out of it
	all, _ := shellcmd.Commands(string(command), own)
	for i := range all {
		if dir := all[i].Dir; strings.HasPrefix(all[i].Label, "apply") {
			if rest, ok := strings.CutPrefix(dir, own); ok {
				return strings.TrimPrefix(rest, "/")
			}
			if rest, ok := strings.CutPrefix(dir, below); ok {
				return ".." + rest
			}
			return dir
		}
	}
	return ""
}

// into makes the relative paths of files those in a directory.
func into(files []session.FileUse, dir string) {
	for i := range files {
		if name := files[i].Path; dir != "" && !path.IsAbs(name) {
			files[i].Path = path.Join(dir, name)
		}
	}
}

// cutPatch returns the patch in a text, nil if there is none.
func cutPatch(text []byte) []byte {
	i := bytes.Index(text, []byte(patchBegin))
	if i < 0 {
		return nil
	}
	text = text[i:]
	if end := bytes.LastIndex(text, []byte(patchEnd)); end >= 0 {
		text = text[:end+len(patchEnd)]
	}
	return text
}
