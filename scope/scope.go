// Package scope says which kinds of parts there are, and which scopes contain them. Its
// table of kinds is the source of help, documentation, the query parser and tests.
package scope

import (
	"fmt"
	"slices"
	"strings"

	"pigrep/internal/lists"
	"pigrep/internal/session"
)

// Scope is a named set of kinds.
type Scope string

// The scopes. Each contains the previous one.
const (
	Prompts       Scope = "prompts"
	Conversations Scope = "conversations"
	All           Scope = "all"
)

// Default is the scope of a query that names none.
const Default = Conversations

// Scopes lists the scopes from the narrowest to the widest.
var Scopes = []Scope{Prompts, Conversations, All}

// Row describes one kind.
type Row struct {
	Kind  session.Kind
	From  string   // where its text comes from, for people
	Roles []string // message roles whose main text becomes this kind
	In    Scope    // the narrowest scope that contains it
}

// Kinds is the table of kinds, in the order of lists.
var Kinds = []Row{
	{session.KindPrompt, "user message text; v1 attachments' extracted text and file name", []string{session.RoleUser}, Prompts},
	{session.KindReply, "assistant text", []string{session.RoleAssistant}, Conversations},
	{session.KindThinking, "assistant thinking", nil, Conversations},
	{session.KindCall, "tool calls, nested ones too: the tool's name, then each argument as name: value", nil, Conversations},
	{session.KindResult, "tool result text", []string{session.RoleToolResult}, Conversations},
	{session.KindShell, "shell commands run by the user, with their output", []string{session.RoleShell}, Conversations},
	{session.KindSummary, "compaction and branch summaries", []string{session.RoleCompactionSummary, session.RoleBranchSummary}, Conversations},
	{session.KindNote, "messages of extensions, context edits", []string{session.RoleCustom, session.RoleHook}, Conversations},
	{session.KindTitle, "session names", nil, Conversations},
	{session.KindLabel, "labels of entries", nil, Conversations},
	{session.KindError, "error messages of failed replies", nil, Conversations},
	{session.KindSystem, "system prompts", []string{session.RoleSystem}, All},
	{session.KindDetails, "details that the content does not contain", nil, All},
	{session.KindData, "data of custom entries", nil, All},
	{session.KindMeta, "model and thinking level changes, usage notes", nil, All},
	{session.KindOther, "unknown entry types, roles and blocks", nil, All},
}

// OfRole returns the kind of the main text of a message with this role,
// session.KindOther for an unknown role.
func OfRole(role string) session.Kind {
	if kind, ok := kindOf[role]; ok {
		return kind
	}
	return session.KindOther
}

var kindOf = func() map[string]session.Kind {
	kinds := make(map[string]session.Kind)
	for _, row := range Kinds {
		for _, role := range row.Roles {
			kinds[role] = row.Kind
		}
	}
	return kinds
}()

func (s Scope) Holds(k session.Kind) bool {
	for _, r := range Kinds {
		if r.Kind == k {
			return slices.Index(Scopes, r.In) <= slices.Index(Scopes, s)
		}
	}
	return s == All
}

// KindsOf returns the kinds of the scope, in table order.
func (s Scope) KindsOf() []session.Kind {
	var kinds []session.Kind
	for _, r := range Kinds {
		if s.Holds(r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// Parse returns the scope of this name. The error lists the valid names.
func Parse(name string) (Scope, error) { return named("scope", name, Scopes) }

// ParseKind returns the kind of this name. The error lists the valid names.
func ParseKind(name string) (session.Kind, error) { return named("kind", name, All.KindsOf()) }

// named returns the item of the list with this name; upper and lower case are the same.
func named[T ~string](what, name string, list []T) (T, error) {
	if v := T(strings.ToLower(name)); slices.Contains(list, v) {
		return v, nil
	}
	names := lists.Map(list, func(v T) string { return string(v) })
	return "", fmt.Errorf("unknown %s %q: use one of %s", what, name, strings.Join(names, ", "))
}
