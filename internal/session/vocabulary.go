package session

// The entry types that the program knows. Every adapter maps what its agent writes
// to these; a type that means none of them stays as it is written, and such an
// entry is searched, shown and counted as any other. The values appear in JSON
// output.
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

// The roles that the program knows, of message entries. What holds for types
// holds for roles. Package scope says which kind the text of each becomes.
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
