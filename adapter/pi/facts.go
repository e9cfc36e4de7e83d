package pi

import (
	"bytes"
	"cmp"
	"iter"
	"strconv"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// readFacts reads the facts of the entry that has been read.
func (p *parser) readFacts(all jsonl.Fields) {
	e := &p.Entry
	switch e.Type {
	case "", session.TypeLabel, session.TypeSessionInfo, typeModelChange, typeThinkingChange, session.TypeCustom,
		session.TypeCustomMessage, session.TypeContextEdit, session.TypeLeaf:
		return
	case session.TypeMessage:
		if e.Role == session.RoleUser || e.Role == session.RoleSystem {
			return
		}
	}
	f := &p.Facts
	f.HasUsage = p.usage(all.Find("usage"), &f.Usage)
	switch e.Type {
	case session.TypeMessage:
		p.messageFacts(f)
	case session.TypeCompaction, session.TypeBranchSummary:
		details := p.JSON.Fields(all.Find("details"))
		f.ReadFiles = p.texts(nil, details.Find("readFiles"))
		f.ModifiedFiles = p.texts(nil, details.Find("modifiedFiles"))
	}
}

func (p *parser) messageFacts(f *session.EntryFacts) {
	var usage session.Usage
	if p.usage(p.message.Find("usage"), &usage) {
		f.HasUsage, f.Usage = true, usage
	}
	switch p.Entry.Role {
	case session.RoleToolResult:
		p.resultFacts(f)
		if !f.HasUsage {
			f.HasUsage = p.subagentUsage(&f.Usage)
		}
		if f.HasUsage {
			f.SubModel = p.subagentModel()
		}
	case session.RoleShell:
		if p.message.Find("command").Empty() && !p.message.Find("code").Empty() {
			break // Python or JavaScript, no command
		}
		f.Calls = append(f.Calls, p.shellFacts())
	}
}

func (p *parser) resultFacts(f *session.EntryFacts) {
	e := &p.Entry
	f.IsResult = true
	f.Failed = e.IsError
	f.Duration = adapter.Millis(&p.JSON, p.message.Find("durationMs"))
	for i := range e.Parts {
		if part := &e.Parts[i]; part.Kind == session.KindResult {
			f.Bytes += int64(len(part.Text))
			if code, ok := exitCode(part.Text); ok && f.Failed {
				f.Exit = code
			}
		}
	}
	if code := adapter.Code(&p.JSON, p.JSON.Fields(p.message.Find("details")).Find("exitCode")); code != session.Unknown {
		f.Exit = code
	}
}

// shellFacts returns the facts of a command that the user ran.
func (p *parser) shellFacts() session.EntryCall {
	e, fields := &p.Entry, p.message
	c := session.EntryCall{
		Kind: session.CallShell, Part: -1, Tool: session.ShellTool, Deed: session.DeedRun, Outcome: adapter.UnknownOutcome,
		Command: p.JSON.Text(fields.Find("command")),
	}
	if c.Command == nil {
		c.Command = []byte{}
	}
	c.Exit = adapter.Code(&p.JSON, fields.Find("exitCode"))
	c.Failed = e.IsError
	for i := range e.Parts {
		if e.Parts[i].Kind == session.KindShell {
			c.Part = i
			c.Bytes = int64(len(e.Parts[i].Text))
			if n := len(c.Command); n > 0 {
				c.Bytes = max(0, c.Bytes-int64(n)-1) // and the newline between the two
			}
		}
	}
	return c
}

// onCall reads the command and the files of a call.
func (p *parser) onCall(c *session.EntryCall, does adapter.Tool, arguments jsonl.Value) {
	c.Ended = false // whatever its id
	for _, m := range p.JSON.Fields(arguments) {
		if c.Command == nil && isCommand(does, m.Key) {
			c.Command = p.command(m.Val)
		}
		switch string(m.Key) {
		case "path", "file_path", "filePath", "filepath", "file", "filename", "absolute_path", "notebook_path",
			"target_file", "paths", "files", "file_paths":
			c.Files = p.filesIn(c.Files, m.Val, does.Use)
		case "edits":
			for edit := range p.JSON.Elements(m.Val) {
				if v := p.JSON.Fields(edit).Find("path"); p.JSON.Kind(v) == '"' {
					c.Files = p.filesIn(c.Files, v, does.Use)
				}
			}
		}
	}
}

// isCommand reports whether an argument of a tool is a shell command that it runs.
func isCommand(does adapter.Tool, argument []byte) bool {
	switch string(argument) {
	case "command", "cmd", "script":
		return does.Deed == session.DeedRun
	}
	return false
}

// command reads a shell command: a text, or a list of words.
func (p *parser) command(v jsonl.Value) []byte {
	switch p.JSON.Kind(v) {
	case '"':
		if text := p.JSON.Text(v); len(text) > 0 {
			return text
		}
		return []byte{}
	case '[':
		var words []byte
		for item := range p.JSON.Elements(v) {
			if len(words) > 0 {
				words = append(words, ' ')
			}
			word := p.JSON.Text(item)
			words = append(words, '\'')
			words = append(words, bytes.ReplaceAll(word, []byte("'"), []byte(`'\''`))...)
			words = append(words, '\'')
		}
		return append([]byte{}, words...)
	}
	return nil
}

// texts appends the strings of a value, a string or a list of them.
func (p *parser) texts(list []string, v jsonl.Value) []string {
	for item := range p.JSON.Elements(v) {
		if len(list) < maxPaths && p.JSON.Kind(item) == '"' && item.End-item.Start <= 4*adapter.MaxPath {
			if s := p.JSON.Name(item); s != "" && len(s) <= adapter.MaxPath {
				list = append(list, s)
			}
		}
	}
	return list
}

func (p *parser) filesIn(list []session.FileUse, v jsonl.Value, use session.Deed) []session.FileUse {
	for _, path := range p.texts(nil, v) {
		if len(list) < maxPaths {
			list = append(list, session.FileUse{Path: path, Deed: use})
		}
	}
	return list
}

// maxPaths is how many paths of a call are kept.
const maxPaths = 1000

// subagentModel returns the provider/model of the subagents' messages in the details of a
// result; "" if there are none, or if they name several models.
func (p *parser) subagentModel() (model string) {
	for result := range p.subagentResults() {
		for all := range p.objectsIn(result.Find("messages")) {
			named := session.FullModel(p.JSON.Name(all.Find("provider")), p.JSON.Name(all.Find("model")))
			if named != "" && model != "" && named != model {
				return ""
			}
			model = cmp.Or(named, model)
		}
	}
	return model
}

// subagentResults visits the results of subagents in the details of a result.
func (p *parser) subagentResults() iter.Seq[jsonl.Fields] {
	return p.objectsIn(p.JSON.Fields(p.message.Find("details")).Find("results"))
}

func (p *parser) objectsIn(v jsonl.Value) iter.Seq[jsonl.Fields] {
	return func(yield func(jsonl.Fields) bool) {
		if p.JSON.Kind(v) != '[' {
			return
		}
		for item := range p.JSON.Elements(v) {
			if p.JSON.Kind(item) == '{' && !yield(p.JSON.Fields(item)) {
				return
			}
		}
	}
}

// subagentUsage reads the usage of subagents from the details of a result, and reports
// whether there is any. pi's example extension writes it only there: it runs subagents
// without sessions and sets no usage on the result.
func (p *parser) subagentUsage(u *session.Usage) bool {
	*u = session.Usage{}
	for result := range p.subagentResults() {
		v := result.Find("usage")
		if p.JSON.Kind(v) != '{' {
			continue
		}
		var one session.Usage
		p.usage(v, &one)
		if !one.Unusable {
			u.Input, u.Output, u.CacheRead, u.CacheWrite = u.Input+one.Input, u.Output+one.Output, u.CacheRead+one.CacheRead, u.CacheWrite+one.CacheWrite
			u.Cost += one.Cost
		}
	}
	return u.Tokens() > 0 || u.Cost > 0
}

// usage reads tokens and cost, and reports whether there are any.
func (p *parser) usage(v jsonl.Value, u *session.Usage) bool {
	switch p.JSON.Kind(v) {
	case 0, 'n':
		return false
	case '{':
	default:
		u.Unusable = true
		return true
	}
	all := p.JSON.Fields(v)
	u.Input = adapter.Tokens(&p.JSON, all.Find("input"), u)
	u.Output = adapter.Tokens(&p.JSON, all.Find("output"), u)
	u.CacheRead = adapter.Tokens(&p.JSON, all.Find("cacheRead"), u)
	u.CacheWrite = adapter.Tokens(&p.JSON, all.Find("cacheWrite"), u)
	switch cost := all.Find("cost"); p.JSON.Kind(cost) {
	case '{':
		parts := p.JSON.Fields(cost)
		if total := parts.Find("total"); p.JSON.Kind(total) != 0 && p.JSON.Kind(total) != 'n' {
			u.Cost = adapter.Cost(&p.JSON, total, u)
			break
		}
		for _, key := range [...]string{"input", "output", "cacheRead", "cacheWrite"} {
			u.Cost += adapter.Cost(&p.JSON, parts.Find(key), u)
		}
	default:
		u.Cost = adapter.Cost(&p.JSON, cost, u)
	}
	return true
}

// exitCode reads the exit code that pi's bash tool puts at the end of a failed
// command's output.
func exitCode(text []byte) (int32, bool) {
	const phrase = "Command exited with code "
	text = bytes.TrimRight(text[max(0, len(text)-len(phrase)-16):], "\n ")
	_, digits, ok := bytes.Cut(text, []byte(phrase))
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits), 10, 32)
	return int32(n), err == nil
}
