package codex

import (
	"bytes"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// readEvent reads what the screen showed. Most of it repeats an item.
func (p *parser) readEvent() {
	e, all := &p.Entry, p.payload
	e.Type = p.typ
	switch p.typ {
	case "user_message":
		p.repeat(session.RoleUser, ofUser, all.Find("message"))
	case "agent_message":
		p.repeat(session.RoleAssistant, ofAgent, all.Find("message"))
	case "agent_reasoning", "agent_reasoning_raw_content":
		p.repeat(session.RoleAssistant, ofThought, all.Find("text"))
	case "item_completed":
		p.readCompleted(p.JSON.Fields(all.Find("item")))
	case "token_count":
		p.readTokenCount(all.Find("info"))
	case "task_started", "turn_started":
		p.newTurn(all.Find("turn_id"))
	case "thread_settings_applied":
		if v := p.JSON.Fields(all.Find("thread_settings")).Find("model_provider_id"); !v.Empty() {
			p.Memo.Context.Provider = adapter.Short(p.JSON.Name(v), longestModel)
		}
		p.readTier(p.JSON.Fields(all.Find("thread_settings")).Find("service_tier"))
	case "task_complete", "turn_complete":
		p.Part(session.KindError, p.JSON.Fields(all.Find("error")).Find("message"))
		e.IsError = len(e.Parts) > 0
	case "thread_name_updated":
		p.readName()
	case "turn_aborted":
		p.Memo.Aborted = true
		p.note()
	case "thread_rolled_back":
		p.rollBack()
		p.note()
		p.Add(session.KindNote, p.numbers())
	case "exec_command_end":
		p.readRun(all)
	default:
		p.readOtherEvent()
	}
}

// note makes the event a message of Codex with the strings of its members.
func (p *parser) note() {
	p.Entry.Type, p.Entry.CustomType = session.TypeCustomMessage, p.typ
	p.leavesOf(session.KindNote, p.payload, nil)
}

// numbers returns the members of an event that are numbers, by name.
func (p *parser) numbers() []byte {
	text := p.JSON.Room(64)
	for _, m := range p.payload {
		if _, ok := p.JSON.Int(m.Val); ok {
			text = append(append(append(append(text, m.Key...), ": "...), p.JSON.Raw(m.Val)...), '\n')
		}
	}
	return p.JSON.Keep(bytes.TrimSuffix(text, []byte("\n")))
}

// readOtherEvent reads an event that is in a table, or unknown.
func (p *parser) readOtherEvent() {
	e := &p.Entry
	kind, ok := events[p.typ]
	switch {
	case kind == session.KindNote, strings.HasPrefix(p.typ, "collab_"):
		p.note()
		return
	case !ok && isDetail(p.typ):
		p.repeatOf(p.payload)
		return
	case !ok:
		kind = session.KindOther
		p.Strange("event", p.typ)
	case kind == "":
		return
	case kind == session.KindReply:
		e.Type, e.Role = session.TypeMessage, session.RoleAssistant
	}
	e.IsError = kind == session.KindError
	p.leavesOf(kind, p.payload, nil)
}

// repeat reads the text of an event that an item repeats before or after it. If none does,
// the event is the message.
func (p *parser) repeat(role string, whose byte, content jsonl.Value) {
	e := &p.Entry
	e.Type, e.Role = session.TypeMessage, role
	switch whose {
	case ofUser:
		aborted := p.Memo.Aborted
		for item := range p.JSON.Elements(content) {
			if v, ok := p.textOf(item); ok {
				text := p.JSON.Text(v)
				p.says(whose, text)
				p.readTyped(text, "")
			}
		}
		p.Memo.Aborted = aborted
		if !p.hasPrompt() && len(e.Parts) > 0 {
			e.Role = roleOf[e.Parts[0].Kind]
		}
		e.UserText = strings.TrimSpace(string(p.Prompt))
	case ofThought:
		p.readTexts(session.KindThinking, whose, content)
	default:
		p.readTexts(session.KindReply, whose, content)
	}
	p.Facts.Calls = p.Facts.Calls[:0]
	p.mayRepeat(whose)
}

// mayRepeat says that the event repeats the item with the same text, if there is one.
func (p *parser) mayRepeat(whose byte) {
	switch {
	case p.Sparse || len(p.keys) == 0:
	case len(p.said) > 0:
		p.Memo.event(&p.Entry, keyOf(whose, p.said))
	default:
		p.Memo.event(&p.Entry, p.keys[0])
	}
}

// readCompleted reads an item as new versions show it.
func (p *parser) readCompleted(item jsonl.Fields) {
	e := &p.Entry
	typ := p.JSON.Name(item.Find("type"))
	e.CustomType = typ
	switch typ {
	case "UserMessage":
		p.repeat(session.RoleUser, ofUser, item.Find("content"))
	case "AgentMessage":
		p.repeat(session.RoleAssistant, ofAgent, item.Find("content"))
	case "Plan":
		p.repeat(session.RoleAssistant, ofAgent, item.Find("text"))
	case "ExitedReviewMode":
		p.repeat(session.RoleAssistant, ofAgent, item.Find("review"))
	case "Reasoning":
		e.Type, e.Role = session.TypeMessage, session.RoleAssistant
		p.readTexts(session.KindThinking, ofThought, item.Find("summary_text"))
		p.readTexts(session.KindThinking, ofThought, item.Find("raw_content"))
		p.mayRepeat(ofThought)
	case "CommandExecution":
		p.readRun(item)
	case "WebSearch":
		p.says(ofSearch, p.Part(session.KindDetails, item.Find("query")))
		p.mayRepeat(ofSearch)
	case "ContextCompaction":
	default:
		p.repeatOf(item)
	}
	e.CustomType = typ
}

// readRun reads how a command ended. Its output is that of the result, or longer.
func (p *parser) readRun(all jsonl.Fields) {
	m, e := &p.Memo, &p.Entry
	id, exit, duration := p.idOf(all), adapter.Code(&p.JSON, all.Find("exit_code")), int32(session.Unknown)
	took := p.JSON.Fields(all.Find("duration"))
	if s, ok := p.JSON.Int(took.Find("secs")); ok && s >= 0 && s < 1<<21 {
		n, _ := p.JSON.Int(took.Find("nanos"))
		duration = int32(s*1000 + min(max(n, 0), 999_999_999)/1_000_000)
	}
	e.IsError = exit != session.Unknown && exit != 0
	out := all.Find("aggregated_output")
	if out.Empty() {
		out = all.Find("stdout")
	}
	text := p.Part(session.KindDetails, out)
	if all.Find("aggregated_output").Empty() {
		p.Part(session.KindDetails, all.Find("stderr"))
	}
	whose := ofResult
	if p.JSON.Name(all.Find("source")) == "user_shell" {
		whose = ofShell
	}
	if p.Sparse {
		return
	}
	if whose == ofResult && id != 0 {
		m.Runs = adapter.Remember(m.Runs, run{id, exit, duration}, mostRuns)
	}
	if len(e.Parts) == 1 && len(text) > 0 {
		m.event(e, keyOf(whose, text))
	}
}

// idOf returns the hash of the id of the call that an event is about.
func (p *parser) idOf(all jsonl.Fields) uint64 {
	for _, key := range [...]string{"call_id", "id"} {
		if id := p.JSON.JSON(all.Find(key)); len(id) > 0 {
			return xxhash.Sum64(id)
		}
	}
	return 0
}

// repeatOf reads details of a call, which its result may repeat.
func (p *parser) repeatOf(all jsonl.Fields) {
	if text := p.leavesOf(session.KindDetails, all, repeatedKeys); len(text) > 0 && !p.Sparse {
		p.Memo.event(&p.Entry, keyOf(ofResult, text))
	}
}

// readName reads the name that a person gave the session. Those of other sessions come with
// the lines that a fork copied.
func (p *parser) readName() {
	e, name := &p.Entry, p.payload.Find("thread_name")
	if id := p.payload.Find("thread_id"); !id.Empty() && p.JSON.Name(id) != p.Known.Header.ID {
		p.Part(session.KindData, name)
		return
	}
	e.Type, e.Name, e.NameRank = session.TypeSessionInfo, p.JSON.String(name), 1
	p.Part(session.KindTitle, name)
}

// rollBack makes the next entry follow the one before the turns that were taken back.
func (p *parser) rollBack() {
	m := &p.Memo
	n, _ := p.JSON.Int(p.payload.Find("num_turns"))
	if p.Sparse || n <= 0 || len(m.Turns) == 0 {
		return
	}
	at := max(len(m.Turns)-int(min(n, mostTurns)), 0)
	p.Entry.ParentID = ""
	if m.Tip = m.Turns[at]; m.Tip >= 0 {
		p.Entry.ParentID = adapter.OffsetID(m.Tip)
	}
	m.Turns = m.Turns[:at]
}
