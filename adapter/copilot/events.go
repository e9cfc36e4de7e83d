package copilot

import (
	"pigrep/adapter"
	"pigrep/internal/session"
)

// event is what an event means to a reader.
type event struct {
	read func(*parser)
	kind session.Kind // of the text of the members of its data, which are all strings in them
	text string
	keys adapter.Keys // further members without a text of their own; nil if none has any
}

// Keys of the members of data that are not text. What is not among them, and is not read, is unknown: its text
// has the kind other.
var (
	lineKeys   = adapter.NewKeys("type id timestamp parentId agentId ephemeral")
	commonKeys = adapter.NewKeys(`interactionId turnId rte parentToolCallId messageId originatingMessageId model toolCallId
		requestId apiCallId serviceRequestId clientRequestId providerCallId`)
	userKeys = adapter.NewKeys(`content transformedContent attachments source agentMode delivery parentAgentTaskId
		supportedNativeDocumentMimeTypes nativeDocumentPathFallbackPaths isAutopilotContinuation`, commonKeys)
	replyKeys = adapter.NewKeys(`content toolRequests reasoningText reasoningOpaque reasoningId encryptedContent phase outputTokens
		anthropicAdvisorModel anthropicAdvisorBlocks`, commonKeys)
	resultKeys = adapter.NewKeys("success result error toolTelemetry shellExecution isUserRequested fileEdits sandboxed toolDescription mcpMeta", commonKeys)
	callKeys   = adapter.NewKeys("toolName arguments toolTitle intentionSummary mcpServerName mcpToolName shellToolInfo toolDescription workingDirectory", commonKeys)
)

// events are those that Copilot writes, and those of its schema that it only sends: later versions write some.
var events = map[string]event{
	"session.start":               {read: (*parser).readStart, kind: session.KindMeta, text: "copilotVersion selectedModel reasoningEffort context"},
	"session.resume":              {read: (*parser).readStart, kind: session.KindMeta, text: "selectedModel reasoningEffort context"},
	"session.context_changed":     {read: (*parser).readStart},
	"session.model_change":        {read: (*parser).readModel},
	"session.shutdown":            {read: (*parser).readShutdown, kind: session.KindMeta, text: "shutdownType errorReason currentModel codeChanges"},
	"session.usage_record":        {read: (*parser).readUsage},
	"session.error":               {read: (*parser).readError, kind: session.KindError, text: "message"},
	"session.compaction_complete": {read: (*parser).readSummary, kind: session.KindSummary, text: "summaryContent"},
	"session.task_complete":       {read: (*parser).readAnswer, kind: session.KindReply, text: "summary"},
	"session.binary_asset":        {read: (*parser).readAsset},
	"session.import_legacy":       {read: (*parser).readLegacy},
	"session.info":                {kind: session.KindNote, text: "message url"},
	"session.warning":             {kind: session.KindNote, text: "message url"},
	"session.handoff":             {kind: session.KindNote, text: "summary context"},
	"abort":                       {kind: session.KindNote, text: "reason"},
	"user.message":                {read: (*parser).readUser, keys: userKeys},
	"assistant.message":           {read: (*parser).readReply, keys: replyKeys},
	"assistant.reasoning":         {read: (*parser).readThought},
	"tool.execution_start":        {read: (*parser).readCall, keys: callKeys},
	"tool.execution_complete":     {read: (*parser).readResult, keys: resultKeys},
	"tool.user_requested":         {read: (*parser).readShell, keys: callKeys},
	"permission.completed":        {read: (*parser).readPermission},
	"user_input.completed":        {kind: session.KindNote, text: "answer"},
	"elicitation.requested":       {kind: session.KindNote, text: "message"},
	"elicitation.completed":       {kind: session.KindNote, text: "content"},
	"exit_plan_mode.completed":    {kind: session.KindNote, text: "feedback"},
	"skill.invoked":               {kind: session.KindNote, text: "name description content"},
	"subagent.started":            {kind: session.KindNote, text: "agentDescription"},
	"subagent.completed":          {kind: session.KindNote, text: "agentDisplayName"},
	"subagent.failed":             {kind: session.KindNote, text: "agentDisplayName error"},
	"system.message":              {read: (*parser).readSystem, kind: session.KindSystem, text: "content"},
	"system.notification":         {kind: session.KindNote, text: "content"},
}

// silent are further events: copies of what others say, settings, and progress.
var silent = adapter.NewKeys(`session.permissions_changed session.mode_changed session.plan_changed session.truncation session.compaction_start
	session.workspace_file_changed session.remote_steerable_changed session.title_changed session.idle session.snapshot_rewind session.usage_info
	session.tools_updated session.background_tasks_changed session.skills_loaded session.custom_agents_updated session.mcp_servers_loaded
	session.mcp_server_status_changed session.extensions_loaded assistant.turn_start assistant.turn_end assistant.intent assistant.usage
	assistant.reasoning_delta assistant.streaming_delta assistant.message_delta tool.execution_partial_result tool.execution_progress
	subagent.selected subagent.deselected subagent.configured hook.start hook.end permission.requested user_input.requested
	exit_plan_mode.requested pending_messages.modified sampling.requested sampling.completed mcp.oauth_required mcp.oauth_completed
	external_tool.requested external_tool.completed command.queued command.execute command.completed commands.changed
	capabilities.changed model.turn_started model.turn_ended model.model_call_started model.model_call_success model.model_call_failure
	model.message model.response model.messages_snapshot`)

func init() {
	for name := range silent {
		events[name] = event{}
	}
}

// steps lists the events that are not conversation.
var steps = adapter.Named(map[session.Step]string{
	session.StepReminder: session.RoleSystem,
	session.StepSubagent: "subagent.started subagent.completed",
	session.StepSetting:  "session.start session.resume session.shutdown",
	session.StepRecord:   "session.import_legacy",
})

// noText lists the keys of strings that are never text.
var noText = []string{"type", "id", "headCommit", "baseCommit", "hostType"}
