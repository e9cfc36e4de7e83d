package claude

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// readFacts reads the facts of the entry that has been read.
func (p *parser) readFacts() {
	e, f := &p.Entry, &p.Facts
	if e.Pending {
		return
	}
	switch e.Role {
	case session.RoleAssistant:
		p.replyFacts(f)
	case session.RoleToolResult:
		p.resultFacts(f)
	}
}

// replyFacts reads the usage of a reply, which is repeated in each line of it.
// What Claude Code wrote in place of a reply names no model, and has no usage.
func (p *parser) replyFacts(f *session.EntryFacts) {
	if usage := p.message.Find("usage"); p.JSON.Kind(usage) == '{' && p.Entry.Model != "" {
		f.HasUsage = true
		all := p.JSON.Fields(usage)
		p.usage(all, &f.Usage)
		p.iterations(all, f)
		if id := p.Entry.Message; id != "" {
			f.UsageOf = max(xxhash.Sum64String(id), 1)
		}
	}
}

func (p *parser) usage(all jsonl.Fields, u *session.Usage) {
	tokens := func(key string) int64 { return adapter.Tokens(&p.JSON, all.Find(key), u) }
	u.Input, u.Output = tokens("input_tokens"), tokens("output_tokens")
	u.CacheRead, u.CacheWrite = tokens("cache_read_input_tokens"), tokens("cache_creation_input_tokens")
	written := p.JSON.Fields(all.Find("cache_creation"))
	u.LongWrite = min(adapter.Tokens(&p.JSON, written.Find("ephemeral_1h_input_tokens"), u), u.CacheWrite)
	u.Faster = p.JSON.Name(all.Find("speed")) == "fast" || p.JSON.Name(all.Find("service_tier")) == "priority"
	cost := p.All.Find("costUSD") // of versions before 1.0
	u.Cost, u.NoCost = adapter.Cost(&p.JSON, cost, u), cost.Empty()
}

// iterations reads the responses within a response that the sums of its usage leave out: those of an adviser,
// which has a model of its own, and those that made room for the context.
func (p *parser) iterations(usage jsonl.Fields, f *session.EntryFacts) {
	for item := range p.JSON.Elements(usage.Find("iterations")) {
		all := p.JSON.Fields(item)
		var u session.Usage
		switch p.JSON.Name(all.Find("type")) {
		case "advisor_message":
			p.usage(all, &u)
			u.Cost, u.NoCost = 0, f.Usage.NoCost
			if model := p.JSON.Name(all.Find("model")); model != "" && len(f.Others) < mostOthers {
				f.Others = append(f.Others, session.OtherUsage{Usage: u, Model: session.FullModel(p.Entry.Provider, model)})
			}
		case "compaction":
			p.usage(all, &u)
			s := &f.Usage
			s.Input, s.Output, s.CacheRead, s.CacheWrite = s.Input+u.Input, s.Output+u.Output, s.CacheRead+u.CacheRead, s.CacheWrite+u.CacheWrite
			s.LongWrite, s.Unusable = s.LongWrite+u.LongWrite, s.Unusable || u.Unusable
		}
	}
}

const mostOthers = 16

// rejections are what a result begins with if the person did not let the tool run.
var rejections = [][]byte{
	[]byte("The user doesn't want to proceed with this tool use"),
	[]byte("The user doesn't want to take this action"),
	[]byte("Claude requested permissions to "),
	interruption,
}

// isRejection reports whether the content of a result says that the person did not let the tool
// run.
func (p *parser) isRejection(content jsonl.Value) bool {
	for first := range p.JSON.Elements(content) {
		if p.JSON.Kind(first) == '{' {
			first = p.JSON.Fields(first).Find("text")
		}
		text := p.JSON.Text(first)
		return slices.ContainsFunc(rejections, func(r []byte) bool { return bytes.HasPrefix(text, r) })
	}
	return false
}

// resultFacts reads how a call ended.
func (p *parser) resultFacts(f *session.EntryFacts) {
	e := &p.Entry
	f.IsResult, f.Failed = true, e.IsError
	for i := range e.Parts {
		part := &e.Parts[i]
		if part.Kind != session.KindResult || part.ToolCallID != e.ToolCallID {
			continue
		}
		if code, ok := exitCode(part.Text); ok && e.IsError && f.Bytes == 0 {
			f.Exit = code
		}
		f.Bytes += int64(len(part.Text))
	}
	made := p.JSON.Fields(p.All.Find("toolUseResult"))
	if f.Duration = adapter.Millis(&p.JSON, made.Find("totalDurationMs")); f.Duration == session.Unknown {
		f.Duration = adapter.Millis(&p.JSON, made.Find("durationMs"))
	}
	p.inBackground(f, made)
	if !made.Find("returnCodeInterpretation").Empty() { // "No matches found"
		f.NoMatch = true
	}
}

// inBackground finds the call whose command a result says more of: it went on in the
// background.
func (p *parser) inBackground(f *session.EntryFacts, made jsonl.Fields) {
	of := made
	id := p.JSON.Text(made.Find("shellId"))
	if t := p.JSON.Fields(made.Find("task")); len(t) > 0 {
		of, id = t, p.JSON.Text(t.Find("task_id"))
	}
	for _, t := range p.Memo.Tasks {
		if len(id) == 0 || t.ID != string(id) {
			continue
		}
		f.Amends = t.Call
		if code := adapter.Code(&p.JSON, of.Find("exitCode")); code != session.Unknown {
			f.Exit, f.Failed = code, code != 0
		}
	}
}

// exitCode reads the exit code that the result of a failed command begins with.
func exitCode(text []byte) (int32, bool) {
	rest, ok := bytes.CutPrefix(text, []byte("Exit code "))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 10, 32)
	return int32(n), err == nil
}
