package claude

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Each line names the line that it follows. But the results of parallel calls hang each on
// the line of its call, lines of progress lie between others, and what comes next follows any
// of them. So results that do not continue the branch hang beside it, progress always does,
// and a line that follows one beside the branch continues the branch.

// place says where the entry that has been read is in the conversation.
func (p *parser) place() {
	e, m := &p.Entry, &p.Memo
	p.context(&m.CWD, "cwd")
	p.context(&m.Git, "gitBranch")
	e.Context = session.Context{CWD: m.CWD, Git: m.Git}
	if !e.Once {
		e.Apart = true
		return
	}
	if parent := p.All.Find("parentUuid"); !parent.Empty() {
		e.HasParent, e.ParentID = true, p.JSON.String(parent)
	}
	if e.ParentID == "" {
		if parent := p.JSON.String(p.All.Find("logicalParentUuid")); parent != "" {
			e.HasParent, e.ParentID = true, parent
		}
	}
	if v := p.JSON.Fields(p.All.Find("toolUseResult")).Find("backgroundTaskId"); p.JSON.Kind(v) == '"' {
		m.Tasks = adapter.Remember(m.Tasks, task{adapter.Short(p.JSON.String(v), longestID), adapter.Short(e.ToolCallID, longestID)}, mostTasks)
	}
	if e.Role == session.RoleAssistant {
		e.Message = p.JSON.String(p.message.Find("id"))
	}
	if !p.isBeside() {
		p.follow()
		return
	}
	if e.Side = p.JSON.String(p.All.Find("agentId")); e.Side == "" {
		e.Side = "sidechain"
	}
}

// isBeside reports whether the line is of a subagent in the file of the session that it works
// for, as old versions wrote it.
func (p *parser) isBeside() bool { return !p.agent && p.JSON.IsTrue(p.All.Find("isSidechain")) }

// context changes what holds from the line on, if it says so.
func (p *parser) context(holds *string, key string) {
	if v := p.All.Find(key); !v.Empty() && string(p.JSON.Text(v)) != *holds {
		*holds = adapter.Short(p.JSON.String(v), longestPlace)
	}
}

// follow says whether the entry continues the branch or hangs beside it.
func (p *parser) follow() {
	e, m := &p.Entry, &p.Memo
	id, parent, message := xxhash.Sum64String(e.ID), xxhash.Sum64String(e.ParentID), uint64(0)
	if e.Message != "" {
		message = xxhash.Sum64String(e.Message)
	}
	inGroup := slices.Contains(m.Group, parent)
	beside := slices.Contains(m.Asides, parent)
	switch {
	case m.Tip == "", e.ParentID == m.Tip && e.Type != lineProgress:
	case e.Type == lineProgress, inGroup && e.Role == session.RoleToolResult:
		e.Aside = e.ParentID != ""
		if e.Aside {
			m.Asides = adapter.Remember(m.Asides, id, mostRemembered)
			return
		}
	case beside, inGroup && message != 0 && message == m.Message:
		e.ParentID = m.Tip
	default: // another branch
		m.Group, m.Asides, m.Message = m.Group[:0], m.Asides[:0], 0
	}
	m.Tip = adapter.Short(e.ID, longestID)
	switch {
	case message != 0 && message == m.Message:
		m.Group = adapter.Remember(m.Group, id, mostRemembered)
	case message != 0:
		m.Group, m.Message = append(m.Group[:0], id), message
	}
}

// memo is what a parser remembers of earlier lines: where the conversation is, the prompts
// that wait in the queue, and the commands in the background.
type memo struct {
	CWD, Git string

	Tip     string   // the last entry of the branch
	Message uint64   // hash of the id of the message that the group is of
	Group   []uint64 // hashes of the entries of the last message
	Asides  []uint64 // hashes of the entries beside the branch
	Queue   []queued
	Tasks   []task
}

// queued is a prompt that was typed while a turn was running.
type queued struct {
	Offset int64
	Length int    // of its text
	Taken  bool   // into the running turn: no line of a user repeats it
	Hash   uint64 // of its text
}

// task is a command that goes on in the background.
type task struct{ ID, Call string }

// Limits of a memo, which keep its size below adapter.MaxMemo. Older entries are forgotten.
const (
	mostRemembered = 48 // entries of a group, and beside the branch
	mostQueued     = 32
	mostTasks      = 8
	longestID      = 64
	longestPlace   = 400 // directory or branch
)

// A prompt that is typed while a turn runs is written when it enters the queue, and again when
// it leaves it: in the line of a user, or in an attachment. Versions up to 2.1.63 do not write
// it again if it is taken into the running turn.

// readQueue reads what happened to the queue.
func (p *parser) readQueue() {
	e, m, content := &p.Entry, &p.Memo, p.All.Find("content")
	operation := p.JSON.Name(p.All.Find("operation"))
	e.CustomType = operation
	p.MissOthers(p.All, lineKeys, "operation", "content")
	switch operation {
	case "enqueue":
		p.readBlocks(content, session.KindPrompt)
		p.finishUser()
		e.Pending = true
		if text := p.typed(); len(text) > 0 {
			m.Queue = adapter.Remember(m.Queue, queued{Offset: e.Offset, Length: len(text), Hash: xxhash.Sum64(text)}, mostQueued)
		}
	case "remove":
		// It is the first one, unless the line says which.
		i := slices.IndexFunc(m.Queue, func(q queued) bool { return !q.Taken })
		if text := bytes.TrimSpace(p.JSON.Text(content)); len(text) > 0 {
			hash := xxhash.Sum64(text)
			i = slices.IndexFunc(m.Queue, func(q queued) bool { return !q.Taken && q.Hash == hash && q.Length == len(text) })
		}
		if i >= 0 {
			m.Queue[i].Taken = true
		}
	}
	if operation != "enqueue" {
		p.Part(session.KindData, content)
	}
}

// readQueued reads the attachment with a prompt that was taken from the queue.
func (p *parser) readQueued(all jsonl.Fields) {
	e, v := &p.Entry, all.Find("prompt")
	if mode := p.JSON.Name(all.Find("commandMode")); mode == "task-notification" {
		e.Type = session.TypeCustomMessage
		p.readBlocks(v, session.KindNote)
	} else {
		p.readBlocks(v, session.KindPrompt)
		p.finishUser()
	}
	p.MissOthers(all, queuedKeys)
	p.shadow(true)
}

var queuedKeys = adapter.NewKeys("type prompt commandMode source_uuid origin isMeta imagePasteIds promptId timestamp uuid")

// typed returns the text of the prompt that has been read as the user typed it, without the
// space around it.
func (p *parser) typed() []byte {
	var text []byte
	for i := range p.Entry.Parts {
		if part := &p.Entry.Parts[i]; len(part.Text) > 0 && part.Kind != session.KindCall && !p.IsShell(i) {
			if text != nil {
				text = append(append(slices.Clip(text), '\n'), part.Text...)
				continue
			}
			text = part.Text
		}
	}
	return bytes.TrimSpace(text)
}

// shadow says which prompts in the queue the entry that has been read repeats. Several that
// waited together may be one prompt, with a line each. An attachment repeats those that were
// taken into the running turn, too.
func (p *parser) shadow(taken bool) {
	m := &p.Memo
	if len(m.Queue) == 0 {
		return
	}
	for text := p.typed(); len(text) > 0; {
		i := slices.IndexFunc(m.Queue, func(q queued) bool {
			return (taken || !q.Taken) && q.Length <= len(text) && (q.Length == len(text) || text[q.Length] == '\n') && xxhash.Sum64(text[:q.Length]) == q.Hash
		})
		if i < 0 {
			return
		}
		p.Entry.Shadows = append(p.Entry.Shadows, m.Queue[i].Offset)
		text = bytes.TrimSpace(text[m.Queue[i].Length:])
		m.Queue = slices.Delete(m.Queue, i, i+1)
	}
}
