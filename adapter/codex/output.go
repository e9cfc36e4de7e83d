package codex

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// output is the result of a call that has been read.
type output struct {
	exit, duration int32
	process        int64 // that goes on in the background
	goesOn         bool
	failed         bool // it says so itself
	script         bool // the call is a script, and the texts are what the script printed
	stopped        bool // an error or a person ended the script
}

var unknownOutput = output{exit: session.Unknown, duration: session.Unknown}

// readOutput reads the result of a call: a text, or a list of texts and images. What Codex
// says of a command before its output becomes facts.
func (p *parser) readOutput() {
	e, v := &p.Entry, p.payload.Find("output")
	e.Role = session.RoleToolResult
	e.ToolCallID = p.JSON.String(p.payload.Find("call_id"))
	p.output = unknownOutput
	o, f := &p.output, &p.Facts
	switch {
	case p.typ == "tool_search_output":
		p.leavesOf(session.KindResult, jsonl.Fields{{Key: []byte("tools"), Val: p.payload.Find("tools")}}, nil)
	case p.JSON.Kind(v) == '{': // of old versions
		all := p.JSON.Fields(v)
		o.failed = p.JSON.Kind(all.Find("success")) == 'f'
		p.readResult(all.Find("content"))
	default:
		p.readResult(v)
	}
	p.Findable(session.Part{Kind: session.KindResult})
	text := []byte(nil)
	for i := range e.Parts {
		e.Parts[i].ToolCallID = e.ToolCallID
		f.Bytes += int64(len(e.Parts[i].Text))
		if i == 0 {
			text = e.Parts[i].Text
		}
	}
	f.IsResult, f.Exit, f.Duration = true, o.exit, o.duration
	f.Failed, f.Rejected = o.failed, false
	f.Ended = o.script && !o.goesOn && !o.stopped
	switch {
	case o.exit != session.Unknown:
		f.Failed = o.failed || o.exit != 0
	case hasPrefix(text, rejections):
		f.Rejected, f.Failed = true, false
	case hasPrefix(text, failures):
		f.Failed = true
	}
	e.IsError = f.Failed
	if !p.Sparse {
		p.settle()
	}
}

// What a result begins with if the person did not let the tool run, or stopped it, and if it
// could not run.
var (
	rejections = []string{"exec command rejected by user", "patch rejected by user", "aborted by user", "rejected by user", "user cancelled MCP tool call", "user rejected MCP tool call"}
	failures   = []string{"unsupported ", "failed ", "apply_patch verification failed", "exec_command failed", "write_stdin failed", "execution error"}
)

func hasPrefix(text []byte, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return bytes.HasPrefix(text, []byte(s)) })
}

func (p *parser) readResult(v jsonl.Value) {
	first := true
	for item := range p.JSON.Elements(v) {
		v, ok := p.textOf(item)
		if !ok {
			continue
		}
		text := p.JSON.Text(v)
		if first {
			if text = p.unwrapScript(text); p.output.script && len(bytes.TrimSpace(text)) == 0 {
				first = false
				continue
			}
		}
		switch {
		case p.output.script:
			text = p.printed(text)
		case first:
			text = p.unwrap(text)
		}
		first = false
		p.Add(session.KindResult, text)
		p.says(ofResult, text)
	}
}

// unwrapScript returns the text behind the lines about a script, if the text begins with such lines:
//
//	Script completed
//	Wall time 0.3 seconds
//	Output:
func (p *parser) unwrapScript(text []byte) []byte {
	o := &p.output
	status, rest, _ := bytes.Cut(text, []byte("\n"))
	wall, rest, _ := bytes.Cut(rest, []byte("\n"))
	head, rest, _ := bytes.Cut(rest, []byte("\n"))
	took, isWall := bytes.CutPrefix(wall, []byte("Wall time "))
	if !isWall || string(head) != "Output:" {
		return text
	}
	switch cell, runs := bytes.CutPrefix(status, []byte("Script running with cell ID ")); {
	case runs:
		o.process, o.goesOn = processOf(cell), true
	case string(status) == "Script failed":
		o.failed = true
	case string(status) == "Script terminated":
		o.stopped = true
	case string(status) != "Script completed":
		return text
	}
	o.script = true
	number, _, _ := bytes.Cut(took, []byte(" "))
	o.duration = seconds(number)
	return rest
}

// processOf returns the process number of a script in the background. It differs from every command's.
func processOf(cell []byte) int64 { return -1 - int64(xxhash.Sum64(cell)>>1) }

// printed returns a text that a script printed, and notes the ends of the commands whose results are in it.
func (p *parser) printed(text []byte) []byte {
	o, f := &p.output, &p.Facts
	rest, isError := bytes.CutPrefix(text, []byte("Script error:\n"))
	if isError && o.failed {
		word, _, _ := bytes.Cut(rest, []byte(" "))
		if f.Stopped = string(word); f.Stopped == "Exit" {
			f.Stopped = "shell_command"
		}
		f.Stopped = cmp.Or(f.Stopped, "?")
	}
	before := len(f.Inner)
	if len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') {
		text = p.printedJSON(text)
	} else if !isError {
		text = p.endsIn(text)
	} else if in := unknownOutput; len(in.unwrap(rest)) < len(rest) && in.exit != session.Unknown {
		p.endedWith(text, in.exit, in.duration)
	} else if hasPrefix(rest, rejections) {
		o.failed, f.Rejected = false, true
	}
	if len(f.Inner) == before {
		p.endedWith(text, session.Unknown, session.Unknown)
	}
	return text
}

// endsIn notes the ends of the commands whose results are in a text, each behind lines about it. A text that is
// a single result is replaced by its output.
func (p *parser) endsIn(text []byte) []byte {
	last, from, found, begins := unknownOutput, 0, 0, false
	for at := 0; at < len(text); {
		next := unknownOutput
		rest := next.unwrap(text[at:])
		if end := len(text) - len(rest); end > at && (at == 0 || next.exit != session.Unknown) {
			if found > 0 {
				p.endedWith(text[from:at], last.exit, last.duration)
			}
			begins = begins || at == 0
			last, from, at = next, end, end
			found++
		} else if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			at += n + 1
		} else {
			break
		}
	}
	p.endedWith(text[from:], last.exit, last.duration)
	if found == 1 && begins {
		return text[from:]
	}
	return text
}

// endedWith notes the end of a command that printed a text. The script as a whole ended as its first
// failed command did.
func (p *parser) endedWith(text []byte, exit, duration int32) {
	if len(p.Facts.Inner) >= mostPrinted {
		return
	}
	p.Facts.Inner = append(p.Facts.Inner, session.Outcome{Failed: exit != session.Unknown && exit != 0, Exit: exit, Duration: duration, Bytes: int64(len(text))})
	if o := &p.output; exit != session.Unknown && (o.exit == session.Unknown || o.exit == 0) {
		o.exit = exit
	}
}

const mostPrinted = 100 // results in the output of a script

// printedJSON is printed for the results of exec_command, which are objects, perhaps several in a row. A single
// result is replaced by its output.
func (p *parser) printedJSON(text []byte) []byte {
	p.inner.Reset(text)
	var starts []int
	for at := 0; len(bytes.TrimSpace(text[at:])) > 0; {
		v, err := p.inner.Check(at)
		if err != nil || len(starts) == mostPrinted {
			return text
		}
		starts, at = append(starts, at), v.End
	}
	for _, at := range starts {
		if v, err := p.inner.Check(at); err == nil { // it was valid, but a check forgets the values before
			if out, ok := p.resultsIn(v, 0); ok && len(starts) == 1 {
				return out
			}
		}
	}
	return text
}

// resultsIn notes the results in a value. It returns the output of a value that is itself a result.
func (p *parser) resultsIn(v jsonl.Value, depth int) (out []byte, ok bool) {
	if depth > 3 || len(p.Facts.Inner) >= mostPrinted {
		return nil, false
	}
	if p.inner.Kind(v) == '[' {
		for item := range p.inner.Elements(v) {
			p.resultsIn(item, depth+1)
		}
		return nil, false
	}
	all := p.inner.Fields(v)
	if exit, out := adapter.Code(&p.inner, all.Find("exit_code")), all.Find("output"); p.inner.Kind(out) == '"' && exit != session.Unknown {
		text := p.inner.Text(out)
		p.endedWith(text, exit, seconds(p.inner.Raw(all.Find("wall_time_seconds"))))
		return text, !slices.ContainsFunc(all, func(f jsonl.Field) bool {
			return p.inner.Kind(f.Val) == '"' && string(f.Key) != "output" && string(f.Key) != "chunk_id"
		})
	}
	for _, m := range all {
		p.resultsIn(m.Val, depth+1)
	}
	return nil, false
}

// unwrap returns the output in the text of a result. Old versions wrap it in JSON, later ones
// put lines before it.
func (p *parser) unwrap(text []byte) []byte {
	if inside, ok := p.inString(text); ok {
		all := p.inner.Fields(inside)
		out, about := all.Find("output"), all.Find("metadata")
		if len(all) != 2 || p.inner.Kind(out) != '"' || p.inner.Kind(about) != '{' {
			return text
		}
		figures := p.inner.Fields(about)
		p.output.exit = adapter.Code(&p.inner, figures.Find("exit_code"))
		p.output.duration = seconds(p.inner.Raw(figures.Find("duration_seconds")))
		return p.inner.Text(out)
	}
	return p.output.unwrap(text)
}

// envelope are the lines that may be before an output.
var envelope = []string{
	"Exit code: ", "Wall time: ", "Total output lines: ", "Chunk ID: ", "Process exited with code ",
	"Process running with session ID ", "Original token count: ", "Duration: ", "Warning: truncated output",
}

// unwrap returns the output behind the lines about it.
func (o *output) unwrap(text []byte) []byte {
	rest, timed := text, false
	for n := 0; len(rest) > 0 && n <= len(envelope); n++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		i := slices.IndexFunc(envelope, func(s string) bool { return bytes.HasPrefix(line, []byte(s)) })
		if i < 0 {
			if timed && string(line) == "Output:" {
				return after
			}
			break
		}
		value := bytes.TrimSpace(line[len(envelope[i]):])
		rest = after
		switch envelope[i] {
		case "Exit code: ", "Process exited with code ":
			if n, err := strconv.ParseInt(string(value), 10, 32); err == nil {
				o.exit = int32(n)
			}
		case "Wall time: ", "Duration: ":
			timed = true
			number, _, _ := bytes.Cut(value, []byte(" "))
			o.duration = seconds(number)
		case "Process running with session ID ":
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
				o.process, o.goesOn = n, true
			}
		}
	}
	if !timed {
		o.exit, o.duration, o.goesOn = session.Unknown, session.Unknown, false
		return text
	}
	return rest
}

func seconds(number []byte) int32 {
	n, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !(n >= 0 && n < 1<<21) {
		return session.Unknown
	}
	return int32(n * 1000)
}

// settle joins a result with what earlier lines say of its command: the event that ended it,
// and the call that it continues.
func (p *parser) settle() {
	e, m, f := &p.Entry, &p.Memo, &p.Facts
	call := xxhash.Sum64String(e.ToolCallID)
	if i := slices.IndexFunc(m.Runs, func(r run) bool { return r.Call == call }); i >= 0 {
		if f.Exit == session.Unknown && !p.output.goesOn {
			f.Exit = m.Runs[i].Exit
			f.Failed = f.Failed || f.Exit != session.Unknown && f.Exit != 0
		}
		if f.Duration <= 0 {
			f.Duration = m.Runs[i].Duration
		}
		m.Runs = slices.Delete(m.Runs, i, i+1)
	}
	process, known := p.output.process, p.output.goesOn
	if i := slices.IndexFunc(m.Polls, func(c poll) bool { return c.Call == call }); i >= 0 {
		process, known = m.Polls[i].Process, true
		m.Polls = slices.Delete(m.Polls, i, i+1)
		if k := slices.IndexFunc(m.Waiting, func(w waiting) bool { return w.Process == process }); k >= 0 {
			f.Amends = m.Waiting[k].Call
			if !p.output.goesOn {
				m.Waiting = slices.Delete(m.Waiting, k, k+1)
			}
			return
		}
	}
	if known && p.output.goesOn && e.ToolCallID != "" && len(e.ToolCallID) <= longestID {
		m.Waiting = adapter.Remember(m.Waiting, waiting{process, e.ToolCallID}, mostWaiting)
	}
}

// readShell reads the element with a command that a person ran, and its result.
func (p *parser) readShell(text []byte) {
	command, rest, ok := between(text, "<command>", "</command>")
	result, _, hasResult := between(rest, "<result>", "</result>")
	if !ok {
		p.Add(session.KindShell, text)
		return
	}
	o := unknownOutput
	out := o.unwrap(result)
	all := append(append(append(p.JSON.Room(len(command)+len(out)+1), command...), '\n'), out...)
	all = p.JSON.Keep(bytes.TrimRight(all, "\n"))
	c := session.EntryCall{
		Kind: session.CallShell, Part: len(p.Entry.Parts), Tool: session.ShellTool, Deed: session.DeedRun,
		Command: command, Dialect: p.dialect(), Outcome: adapter.UnknownOutcome,
	}
	if hasResult {
		c.Exit, c.Duration, c.Bytes, c.Failed = o.exit, o.duration, int64(len(out)), o.exit != session.Unknown && o.exit != 0
	}
	p.Entry.IsError = p.Entry.IsError || c.Failed
	if len(all) > 0 {
		p.Facts.Calls = append(p.Facts.Calls, c)
	}
	p.Add(session.KindShell, all)
	p.keys = append(p.keys, keyOf(ofShell, out))
}

// between returns what is between two marks, without the newlines next to them, and what
// follows.
func between(text []byte, from, to string) (inside, rest []byte, ok bool) {
	_, inside, ok = bytes.Cut(text, []byte(from))
	if !ok {
		return nil, text, false
	}
	end := bytes.LastIndex(inside, []byte(to))
	if end < 0 {
		return nil, text, false
	}
	inside, rest = inside[:end], inside[end+len(to):]
	return bytes.TrimSuffix(bytes.TrimPrefix(inside, []byte("\n")), []byte("\n")), rest, true
}

// readTokenCount reads the tokens of the last response. The line is repeated, and its total
// goes on when a session is resumed: a response is new if it changed the total. Files with
// usage records have the same figures there.
func (p *parser) readTokenCount(v jsonl.Value) {
	info := p.JSON.Fields(v)
	total := info.Find("total_token_usage")
	if p.JSON.Kind(total) != '{' || p.Sparse {
		return
	}
	m, hash := &p.Memo, p.JSON.Hash(total)
	if hash == m.Total {
		return
	}
	m.Total = hash
	before, last := m.Used, info.Find("last_token_usage")
	m.Used = p.tokensOf(total)
	if m.Records {
		return
	}
	from := m.Turn
	if from == 0 {
		from = p.family()
	}
	if p.JSON.Kind(last) == '{' {
		p.addUsage(p.tokensOf(last), mix(hash, from))
		return
	}
	added := m.Used // since the session was resumed, if it is less than before
	if t := (tokens{added.Input - before.Input, added.Cached - before.Cached, added.Written - before.Written, added.Output - before.Output}); min(t.Input, t.Cached, t.Written, t.Output) >= 0 {
		added = t
	}
	p.addUsage(added, mix(hash, from))
}

// tokensOf reads the counts of a usage.
func (p *parser) tokensOf(v jsonl.Value) tokens {
	all, u := p.JSON.Fields(v), &p.Facts.Usage
	count := func(key string) int64 { return adapter.Tokens(&p.JSON, all.Find(key), u) }
	return tokens{count("input_tokens"), count("cached_input_tokens"), count("cache_write_input_tokens"), count("output_tokens")}
}

// readUsageRecord reads the tokens of a response, as newer versions write them.
func (p *parser) readUsageRecord() {
	all := p.payload
	p.Memo.Records = true
	if v := all.Find("usage"); p.JSON.Kind(v) == '{' {
		p.addUsage(p.tokensOf(v), mix(xxhash.Sum64String(p.JSON.String(all.Find("response_id"))), xxhash.Sum64String(p.JSON.Name(all.Find("turn_id")))))
	}
}

// addUsage adds the tokens of a response. The tokens before a subagent's first turn belong to the session
// that it works for: the subagent's file begins with copies of the last turns, and the first copy lacks the
// lines that name its turn and model.
func (p *parser) addUsage(t tokens, of uint64) {
	f, m := &p.Facts, &p.Memo
	if p.Known.Header.Relation == session.Spawned && m.Turn == 0 && m.Context.Model == "" {
		return
	}
	u := &f.Usage
	u.CacheRead, u.CacheWrite, u.Output = t.Cached, t.Written, t.Output
	u.Input = max(t.Input-u.CacheRead-u.CacheWrite, 0)
	u.NoCost, u.Faster = true, m.Faster
	f.HasUsage, f.UsageOf = u.Tokens() > 0 || u.Unusable, max(of, 1)
	f.SubModel = session.FullModel(m.Context.Provider, m.Context.Model)
}
