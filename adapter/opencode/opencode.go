// Package opencode says what OpenCode keeps: the rows of its database, and the lines that they are read as. No
// other package knows anything about it. The central type is Agent, an adapter.Agent. The package
// imports adapter, content, jsonl, lite, scope and internal/session.
package opencode

import (
	_ "embed"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/content"
	"pigrep/internal/session"
)

// Name identifies the sessions of OpenCode.
const Name = "opencode.database.v1"

// Agent is OpenCode, since version 1.2.
type Agent struct{ *adapter.Profile }

// New returns the adapter for OpenCode.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "OpenCode", Homes: homes, Files: "opencode*.db database", Kept: storesText, ClientNames: []string{"opencode"},
		Deleting: "opencode session delete ID",
		Resuming: adapter.Resuming{Program: "opencode", Install: "npm install -g opencode-ai", Args: "-s ID", ForkArgs: "-s ID --fork", IsID: isID, Refuses: refuses},
	}}
}

// homes are on every system the same.
const homes = "$XDG_DATA_HOME/opencode ~/.local/share/opencode"

//go:embed stores.txt
var storesText string

// Roots implements adapter.Agent. The variable is set for other reasons, so its directory may be missing.
func (a Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	roots, err := a.Profile.Roots(env)
	for i := range roots {
		roots[i].Usual = true
	}
	return roots, err
}

// Home implements adapter.Homed.
func (a Agent) Home(has func(name string) bool) adapter.Layout {
	if has("opencode.db") {
		return adapter.NewLayout("", a.Files)
	}
	return nil
}

// SkillDir returns the directory where OpenCode looks for skills, which is not where it keeps its data.
func (Agent) SkillDir(env adapter.Environment) string {
	return adapter.Places(env, "$XDG_CONFIG_HOME/opencode/skills ~/.config/opencode/skills")[0].Path
}

// isID reports whether OpenCode writes such an id: ses_ with letters and digits.
func isID(id string) bool {
	rest, ok := strings.CutPrefix(id, "ses_")
	return ok && rest != "" && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// refuses says why OpenCode does not open a session: its database does not have it any more.
func refuses(_ adapter.Environment, _ *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	if q == nil {
		return "", ""
	}
	if _, err := content.StatVirtual(q.Record.Path); q.Record.Kept && content.IsMissing(err) {
		return "its database does not have it any more", ""
	}
	return "", ""
}
