package session

// The entry types that the program knows. Every adapter maps what its agent writes
// to these. Other types pass as they are written; their entries are searched, shown
// and counted like all others. The values appear in JSON output.
const (
	TypeMessage       = "message"        // of a conversation; its role says whose
	TypeCompaction    = "compaction"     // a summary takes the place of what comes before FirstKeptID
	TypeBranchSummary = "branch_summary" // a summary of an abandoned branch
	TypeCustomMessage = "custom_message" // of an extension, to the model
	TypeCustom        = "custom"         // data of an extension, which the model does not see
	TypeContextEdit   = "context_edit"   // takes the entry TargetID out of the context, or changes it there
	TypeLabel         = "label"          // names the entry TargetID
	TypeSessionInfo   = "session_info"   // names the session
	TypeLeaf          = "leaf"           // makes TargetID the leaf
	TypeLane          = "lane"           // makes TargetID the leaf of one of several lanes
)

// The roles of message entries that the program knows. Adapters map to them as they
// map to types. Package scope has the kind of text of each role.
const (
	RoleUser              = "user"
	RoleAssistant         = "assistant"
	RoleToolResult        = "toolResult"
	RoleShell             = "bashExecution" // a command that the person ran
	RoleSystem            = "system"
	RoleCustom            = "custom"      // of an extension
	RoleHook              = "hookMessage" // of an extension, in older versions
	RoleCompactionSummary = "compactionSummary"
	RoleBranchSummary     = "branchSummary"
)
