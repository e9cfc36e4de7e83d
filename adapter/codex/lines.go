package codex

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Types of lines.
const (
	lineMeta      = "session_meta"
	lineItem      = "response_item" // what the model saw and said
	lineEvent     = "event_msg"     // what the screen showed
	lineContext   = "turn_context"
	lineCompacted = "compacted"
	lineWorld     = "world_state"
	lineUsage     = "token_usage_record"
	lineState     = "state" // of the oldest dialect
	lineAgents    = "inter_agent_communication"
	lineAgentData = "inter_agent_communication_metadata"
)

// itemTypes are the types of response items. In the oldest dialect, they are those of lines.
var itemTypes = adapter.NewKeys(`message reasoning function_call function_call_output custom_tool_call custom_tool_call_output
	local_shell_call web_search_call tool_search_call tool_search_output image_generation_call ghost_snapshot
	agent_message compaction compaction_summary context_compaction`)

// events are the kinds of the text of events; "" for those without text, or only with that of
// other lines.
var events = adapter.Named(map[session.Kind]string{
	"": `context_compacted agent_reasoning_section_break session_configured undo_started undo_completed
		shutdown_complete mcp_startup_complete mcp_startup_update skills_update_available`,
	session.KindReply: "exited_review_mode",
	session.KindError: "error stream_error",
	session.KindNote:  "sub_agent_activity guardian_assessment guardian_warning warning background_event deprecation_notice",
	session.KindMeta:  "thread_goal_updated entered_review_mode model_reroute",
	session.KindData:  "turn_diff plan_update",
})

// steps lists the lines that are not conversation: by the type of an event or an item, the type of the item
// that an event completes, the role of a message, or the type of the line.
var steps = adapter.Named(map[session.Step]string{
	session.StepSubagent: "sub_agent_activity collab",
	session.StepHook:     "hook",
	session.StepReminder: session.RoleSystem,
	session.StepDetail:   "detail CommandExecution WebSearch",
	session.StepSetting: strings.Join([]string{`thread_goal_updated entered_review_mode model_reroute background_event deprecation_notice
		guardian_assessment thread_settings_applied`, lineMeta, lineContext, lineWorld, lineState}, " "),
	session.StepRecord: "turn_diff plan_update ghost_snapshot",
})

// stepOf returns the step that an entry is; session.Talk for conversation.
func (p *parser) stepOf(kind string) session.Step {
	e, group := &p.Entry, ""
	switch first, _, _ := strings.Cut(p.typ, "_"); {
	case kind != lineEvent:
	case first == "collab", first == "hook":
		group = first
	case e.Type == p.typ && isDetail(p.typ), p.typ == "item_completed" && e.Role == "":
		group = "detail"
	}
	return p.StepOf(steps, p.typ, e.CustomType, e.Role, kind, group)
}

// detailed are the last words of such events.
var detailed = []string{"end", "begin", "call", "request", "response"}

// isDetail reports whether an event says more of a call or its result.
func isDetail(event string) bool {
	at := strings.LastIndexByte(event, '_')
	return strings.HasPrefix(event, "hook_") || at >= 0 && slices.Contains(detailed, event[at+1:])
}

// noText lists the keys of strings that are never text: ids, states, and data that is
// encrypted, an image, or a copy of other lines.
var noText = strings.Fields(`type id call_id turn_id root_turn_id thread_id parent_thread_id sender_thread_id receiver_thread_id
	new_thread_id process_id response_id session_id encrypted_content image_url user_instructions developer_instructions status source timestamp data audio_url started_at completed_at`)

// copies are the keys of members of any shape that repeat other lines.
var copies = adapter.NewKeys("replacement_history base_instructions")

// repeatedKeys are those of members of an event about a call that repeat the call.
var repeatedKeys = adapter.NewKeys("command parsed_cmd cwd interaction_input changes invocation arguments")

// knownKeys are those of members of an item that are no text.
var knownKeys = adapter.NewKeys(`type id role status phase call_id name namespace arguments input action content summary encrypted_content output
	internal_chat_message_metadata_passthrough metadata execution end_turn author recipient other_recipients trigger_turn
	result revised_prompt tools ghost_commit memory_citation timestamp ordinal success`)

// readType reads the members that depend on the type of the line.
func (p *parser) readType(kind string) {
	e := &p.Entry
	e.Type = kind
	switch kind {
	case lineMeta:
		p.readMeta()
	case lineItem:
		p.readItem()
	case lineEvent:
		p.readEvent()
	case lineContext:
		p.readContext()
	case lineCompacted:
		e.Type = session.TypeCompaction
		p.Part(session.KindSummary, p.payload.Find("message"))
	case lineUsage:
		p.readUsageRecord()
	case lineWorld:
		e.Apart = true
	case lineState:
	case lineAgents, lineAgentData:
		p.readAgentMessage()
	default:
		p.Strange("line", kind)
		if p.JSON.Kind(p.All.Find("payload")) == '{' {
			p.leavesOf(session.KindOther, p.payload, nil)
		} else {
			p.leavesOf(session.KindOther, p.All, nil)
		}
	}
	p.Rest()
	e.Apart = e.Apart || len(e.Parts) == 0 && len(e.Images) == 0 && e.Role == ""
}

// readContext reads what holds in the next turn.
func (p *parser) readContext() {
	m := &p.Memo
	p.Entry.Apart = true
	if v := p.payload.Find("cwd"); !v.Empty() {
		m.Context.CWD = adapter.Short(p.JSON.Name(v), longestDir)
	}
	if v := p.payload.Find("model"); !v.Empty() {
		m.Context.Model = adapter.Short(p.JSON.Name(v), longestModel)
	}
	if v := p.payload.Find("service_tier"); !v.Empty() {
		p.readTier(v)
	}
	p.newTurn(p.payload.Find("turn_id"))
	p.leavesOf(session.KindMeta, p.payload, nil)
}

// readTier reads at which tier the next responses are served.
func (p *parser) readTier(v jsonl.Value) {
	name := p.JSON.Name(v)
	p.Memo.Faster = name == "priority" || name == "fast"
}

func (p *parser) newTurn(v jsonl.Value) {
	if p.JSON.Kind(v) == '"' {
		p.Memo.Turn = xxhash.Sum64String(p.JSON.Name(v))
	}
}

// readNote reads a line that names a session.
func (p *parser) readNote() {
	e, name := &p.Entry, p.All.Find("thread_name")
	e.Type, e.Apart = session.TypeSessionInfo, true
	e.About, e.Name = p.JSON.String(p.All.Find("id")), p.JSON.String(name)
	if at := p.JSON.Time(p.All.Find("updated_at")); at != 0 {
		e.Timestamp = adapter.TimeOf(at)
	}
	p.At = -1
	p.Part(session.KindTitle, name)
	p.leavesOf(session.KindOther, p.All, adapter.NewKeys("id thread_name updated_at"))
}

// leavesOf adds one part with the strings of the members of an object, except those in the
// set and those that are never text.
func (p *parser) leavesOf(kind session.Kind, all jsonl.Fields, known adapter.Keys) []byte {
	p.values = p.values[:0]
	for _, m := range all {
		if !known[string(m.Key)] && !copies[string(m.Key)] && !(p.JSON.Kind(m.Val) == '"' && slices.Contains(noText, string(m.Key))) {
			p.values = append(p.values, adapter.Unknown{Value: m.Val})
		}
	}
	return p.AddLeaves(kind, p.values, nil)
}
