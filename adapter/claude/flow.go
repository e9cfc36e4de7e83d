package claude

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// Each line names the line that it follows. But the results of parallel calls hang each on
// the line of its call, lines of progress lie between others, and what comes next follows any
// of them. So results that do not continue the branch hang beside it, progress always does,
// and a line that follows one beside the branch continues the branch.

// place says where the entry that has been read is in the conversation.
func (p *parser) place() {
	e, m := &p.Entry, &p.memo
	p.context(&m.CWD, "cwd")
	p.context(&m.Git, "gitBranch")
	e.Context = session.Context{CWD: m.CWD, Git: m.Git}
	if !e.Once {
		e.Apart = true
		return
	}
	if parent := p.all.Find("parentUuid"); !parent.Empty() {
		e.HasParent, e.ParentID = true, p.JSON.String(parent)
	}
	if e.ParentID == "" {
		if parent := p.JSON.String(p.all.Find("logicalParentUuid")); parent != "" {
			e.HasParent, e.ParentID = true, parent
		}
	}
	if v := p.JSON.Fields(p.all.Find("toolUseResult")).Find("backgroundTaskId"); p.JSON.Kind(v) == '"' {
		m.tasks = adapter.Remember(m.tasks, task{adapter.Short(p.JSON.String(v), longestID), adapter.Short(e.ToolCallID, longestID)}, mostTasks)
	}
	if e.Role == session.RoleAssistant {
		e.Message = p.JSON.String(p.message.Find("id"))
	}
	if !p.isBeside() {
		p.follow()
		return
	}
	if e.Side = p.JSON.String(p.all.Find("agentId")); e.Side == "" {
		e.Side = "sidechain"
	}
}

// isBeside reports whether the line is of a subagent in the file of the session that it works
// for, as old versions wrote it.
func (p *parser) isBeside() bool { return !p.agent && p.JSON.IsTrue(p.all.Find("isSidechain")) }

// context changes what holds from the line on, if it says so.
func (p *parser) context(holds *string, key string) {
	if v := p.all.Find(key); !v.Empty() && string(p.JSON.Text(v)) != *holds {
		*holds = adapter.Short(p.JSON.String(v), longestPlace)
	}
}

// follow says whether the entry continues the branch or hangs beside it.
func (p *parser) follow() {
	e, m := &p.Entry, &p.memo
	id, parent, message := xxhash.Sum64String(e.ID), xxhash.Sum64String(e.ParentID), uint64(0)
	if e.Message != "" {
		message = xxhash.Sum64String(e.Message)
	}
	inGroup := slices.Contains(m.group, parent)
	beside := slices.Contains(m.asides, parent)
	switch {
	case m.tip == "", e.ParentID == m.tip && e.Type != lineProgress:
	case e.Type == lineProgress, inGroup && e.Role == session.RoleToolResult:
		e.Aside = e.ParentID != ""
		if e.Aside {
			m.asides = adapter.Remember(m.asides, id, mostRemembered)
			return
		}
	case beside, inGroup && message != 0 && message == m.message:
		e.ParentID = m.tip
	default: // another branch
		m.group, m.asides, m.message = m.group[:0], m.asides[:0], 0
	}
	m.tip = adapter.Short(e.ID, longestID)
	switch {
	case message != 0 && message == m.message:
		m.group = adapter.Remember(m.group, id, mostRemembered)
	case message != 0:
		m.group, m.message = append(m.group[:0], id), message
	}
}
