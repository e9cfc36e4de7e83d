package session

// The known entry types. Every adapter maps the types of its agent to these. Other
// types are kept as written; their entries are searched, shown and counted like all
// others. The values appear in JSON output.
const (
	TypeMessage       = "message"        // part of the conversation; its role says whose
	TypeCompaction    = "compaction"     // a summary that replaces everything before FirstKeptID
	TypeBranchSummary = "branch_summary" // a summary of an abandoned branch
	TypeCustomMessage = "custom_message" // from an extension to the model
	TypeCustom        = "custom"         // data of an extension, not sent to the model
	TypeContextEdit   = "context_edit"   // removes the entry TargetID from the context, or changes it there
	TypeLabel         = "label"          // names the entry TargetID
	TypeSessionInfo   = "session_info"   // names the session
	TypeLeaf          = "leaf"           // makes TargetID the leaf
	TypeLane          = "lane"           // makes TargetID the leaf of one of several lanes
)

// PartialResult is the CustomType of a result that has only the beginning of an output. The
// agent has the rest in a file that is not read.
const PartialResult = "partial"

// The known roles of message entries. Adapters map roles like types. Package scope
// has the kind of text of each role.
const (
	RoleUser              = "user"
	RoleAssistant         = "assistant"
	RoleToolResult        = "toolResult"
	RoleShell             = "bashExecution" // a command that the user ran
	RoleSystem            = "system"
	RoleCustom            = "custom"      // of an extension
	RoleHook              = "hookMessage" // of an extension, in older versions
	RoleCompactionSummary = "compactionSummary"
	RoleBranchSummary     = "branchSummary"
)
