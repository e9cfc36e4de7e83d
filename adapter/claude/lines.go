package claude

import (
	"pigrep/adapter"
	"pigrep/internal/session"
)

// Types of lines, as they are written.
const (
	lineUser       = "user"
	lineAssistant  = "assistant"
	lineSystem     = "system"
	lineAttachment = "attachment"
	lineProgress   = "progress"
	lineQueue      = "queue-operation"
	lineLastPrompt = "last-prompt"
	lineTag        = "tag"
	lineSnapshot   = "file-history-snapshot"
)

// titleLines are the lines that name the session: the member with the name, and how much it
// counts.
var titleLines = map[string]struct {
	key  string
	rank uint8
}{
	"custom-title": {"customTitle", 4},
	"agent-name":   {"agentName", 3},
	"ai-title":     {"aiTitle", 2},
	"summary":      {"summary", 1}, // of the session whose leaf it names
}

// stateLines are the lines with state of the session. They are repeated, and the last one
// counts. Their text is data.
var stateLines = adapter.NewKeys(states)

const states = `mode permission-mode pr-link worktree-state relocated bridge-session frame-link agent-color
	agent-setting content-replacement attribution-snapshot fork-context-ref ended-by-model cost-state continued-in
	session-owner isolation-latch dev-mods memory-mode tools-used observer-ref derived-from history-suppression
	resume-head-vouch host-row atis-latch repl-mode custom-title agent-name ai-title last-prompt tag
	file-history-delta`

// knownLines are the types of all lines that make a file a session.
var knownLines = adapter.NewKeys("user assistant system attachment progress queue-operation summary file-history-snapshot", stateLines)

// attachments are those that Claude Code writes for the model in every session. The text of
// others, such as files and the output of hooks, is details.
var attachments = adapter.Named(map[session.Kind]string{
	session.KindSystem: `skill_listing skill_discovery dynamic_skill deferred_tools_delta mcp_instructions_delta
		agent_listing_delta auto_mode auto_mode_exit plan_mode plan_mode_exit plan_mode_reentry companion_intro
		todo todo_reminder task_reminder date_change nested_memory relevant_memories current_session_memory
		output_style critical_system_reminder verify_plan_reminder compaction_reminder context_efficiency
		ultrathink_effort token_usage output_token_usage budget_usd team_context`,
})

// subtypes are the kinds of the text of system lines.
var subtypes = adapter.Named(map[session.Kind]string{
	session.KindMeta:    "compact_boundary microcompact_boundary turn_duration stop_hook_summary session_start",
	session.KindShell:   "local_command",
	session.KindError:   "api_error",
	session.KindNote:    "informational model_refusal_fallback",
	session.KindSummary: "away_summary",
})

// steps lists the lines that are not conversation: by their subtype, its first word, the role of their
// message, or their type. Lines of stateLines have the type state.
var steps = adapter.Named(map[session.Step]string{
	session.StepSubagent:   "agent_progress",
	session.StepProgress:   "progress",
	session.StepHook:       "hook stop_hook_summary session_start async_hook_response",
	session.StepReminder:   session.RoleSystem,
	session.StepAttachment: "attachment",
	session.StepRetry:      "api_error",
	session.StepTimer:      "turn_duration",
	session.StepSetting:    "microcompact_boundary state command_permissions",
	session.StepEmpty:      "compact_boundary", // the summary behind it says what happened
})

// Keys without text of their own. What is not among them, and is not read, is unknown: its
// text has the kind other.
var (
	lineKeys = adapter.NewKeys(`type subtype uuid parentUuid logicalParentUuid isSidechain userType cwd sessionId version gitBranch
		timestamp slug agentId entrypoint sessionKind teamName agentName agentColor requestId isMeta forkedFrom
		leafUuid messageId isSnapshotUpdate level toolUseID parentToolUseID sourceToolAssistantUUID sourceToolUseID`)

	messageLineKeys = adapter.NewKeys(`message toolUseResult planContent classifierMetaLines mcpMeta isCompactSummary
		isVisibleInTranscriptOnly permissionMode thinkingMetadata todos imagePasteIds promptId origin promptSource
		interruptedMessageId isApiErrorMessage apiErrorStatus error costUSD durationMs effort attributionAgent
		attributionSkill attributionPlugin attributionMcpServer attributionMcpTool attribution advisorModel
		apiBlockIndex`, lineKeys)

	systemKeys = adapter.NewKeys("content direction trigger refusedUserMessageUuid hasOutput preventedContinuation compactMetadata microcompactMetadata", lineKeys)

	progressKeys = adapter.NewKeys("type agentId taskId normalizedMessages fullOutput")

	attachmentKeys = adapter.NewKeys("type content toolUseID hookEvent")

	messageKeys = adapter.NewKeys(`id type role model content stop_reason stop_sequence usage container
		context_management diagnostics`)

	blockKeys = map[string]adapter.Keys{
		"text":              adapter.NewKeys("type text cache_control"),
		"thinking":          adapter.NewKeys("type thinking signature"),
		"redacted_thinking": adapter.NewKeys("type data"),
		"tool_use":          adapter.NewKeys("type id name input caller cache_control"),
		"server_tool_use":   adapter.NewKeys("type id name input caller cache_control"),
		"tool_result":       adapter.NewKeys("type tool_use_id content is_error cache_control"),
		"image":             adapter.NewKeys("type source"),
		"document":          adapter.NewKeys("type source"),
	}
)

// Of the result of a tool as it was made, these members repeat what other lines say: the
// file before the edit, which Claude Code read, and the arguments of the call. A file that was
// read stands in the message.
var repeated = adapter.NewKeys(`originalFile originalFileContents structuredPatch oldString newString edits oldTodos newTodos
	prompt usage isImage interrupted type agentId`)

var fileContent = adapter.NewKeys("content base64")

// noText lists the keys of strings that are never text.
var noText = []string{"signature", "base64", "originalFile", "originalFileContents", "fullOutput"}

// noDetails lists further ones, of progress and attachments, which repeat messages and files.
var noDetails = append([]string{
	"type", "role", "id", "uuid", "parentUuid", "sessionId", "timestamp", "requestId", "model", "tool_use_id", "toolUseID",
	"service_tier", "inference_geo", "stop_reason",
}, noText...)
