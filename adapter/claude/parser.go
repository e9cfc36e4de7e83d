package claude

import (
	"bytes"
	"path"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{detailed: jsonl.Leaves{Omit: noDetails}}
	p.Leaves.Omit, p.Read, p.Tools = noText, p.read, tools()
	p.Reset(state)
	return p
}

type parser struct {
	adapter.LineParser[memo]
	detailed jsonl.Leaves

	// Of the current entry.
	message jsonl.Fields
	held    [][]byte          // texts of parts that details may repeat
	values  []adapter.Unknown // of the details
	budget  int               // bytes of held that may still be searched
	agent   bool              // the file is a subagent's
}

// parentOf returns the session that a subagent in this file works for, as the directory says.
func parentOf(file string) string {
	before, _, ok := strings.Cut(session.Slashed(file), "/subagents/")
	if !ok {
		return ""
	}
	return path.Base(before)
}

// read reads the line.
func (p *parser) read(jsonl.Value) {
	e := &p.Entry
	p.message = nil
	p.Sparse = p.Sparse && !p.wantsDetails()
	p.agent = strings.HasPrefix(session.BaseName(p.Known.Path), "agent-")

	typ := p.JSON.Name(p.All.Find("type"))
	e.Type = typ
	if p.Known.Header.Version != 0 || knownLines[typ] {
		p.header()
	}
	id := p.All.Find("uuid")
	if e.ID = p.JSON.String(id); e.ID != "" {
		e.Copy, e.Once = max(p.JSON.Hash(id), 1), true
	} else {
		e.ID = adapter.OffsetID(e.Offset)
	}
	p.readType()
	p.Rest()
	p.place()
	e.Step = p.stepOf(typ)
	if p.Known.Facts {
		p.readFacts()
	}
}

// stepOf returns the step that a line is; session.Talk for conversation.
func (p *parser) stepOf(typ string) session.Step {
	e := &p.Entry
	role := e.Role
	switch {
	case typ == lineAttachment && attachments[e.CustomType] == session.KindSystem:
		role = session.RoleSystem
	case typ == lineSystem, e.Type == session.TypeMessage, e.Type == session.TypeCustomMessage:
		typ = ""
	case stateLines[typ] && e.Type != session.TypeSessionInfo && e.Type != session.TypeLabel:
		typ = "state"
	}
	if e.Type == session.TypeMessage && len(e.Parts) > 0 && e.Parts[0].Kind == session.KindNote && bytes.HasPrefix(trimStart(e.Parts[0].Text), hookFeedback) {
		return session.StepHook
	}
	group, _, _ := strings.Cut(e.CustomType, "_")
	return p.StepOf(steps, e.CustomType, group, role, typ)
}

// header reads what a line says of the session.
func (p *parser) header() {
	h := &p.Known.Header
	own, first := p.JSON.Text(p.All.Find("sessionId")), h.Timestamp.IsZero() && p.At != 0
	if h.Version == 0 {
		h.Version, h.Offset = 2, p.Entry.Offset
		switch base := session.BaseName(p.Known.Path); {
		case p.agent:
			h.ID, h.Relation, h.ParentSession = base, session.Spawned, parentOf(p.Known.Path)
		case adapter.IsUUID(base):
			h.ID = base
		}
	}
	switch from := p.JSON.Fields(p.All.Find("forkedFrom")).Find("sessionId"); {
	case p.agent && h.ParentSession == "":
		h.ParentSession = string(own)
	case p.agent:
	case h.ID == "":
		h.ID = string(own)
	case !from.Empty() && h.Relation == session.Unrelated:
		h.Relation, h.ParentSession = session.Copied, p.JSON.String(from)
	case first && adapter.IsUUID(own) && string(own) != h.ID: // a copy of another session's line
		h.Relation, h.ParentSession = session.Copied, string(own)
	}
	if h.CWD == "" {
		h.CWD = p.JSON.String(p.All.Find("cwd"))
	} else if moved := p.All.Find("relocatedCwd"); p.JSON.Kind(moved) == '"' {
		h.CWD = p.JSON.String(moved)
	}
	if git := p.JSON.Text(p.All.Find("gitBranch")); len(git) > 0 && string(git) != h.Git {
		h.Git = string(git)
	}
	if first {
		h.Timestamp = adapter.TimeOf(p.At)
	}
}

// readType reads the members that depend on the type of the line.
func (p *parser) readType() {
	e := &p.Entry
	switch typ := e.Type; typ {
	case lineUser, lineAssistant:
		p.readMessage(typ)
	case lineAttachment:
		p.readAttachment()
	case lineProgress:
		p.readProgress()
	case lineSystem:
		p.readSystem()
	case lineQueue:
		p.readQueue()
	case lineSnapshot: // the names of files that calls name
		p.MissOthers(p.All, lineKeys, "snapshot")
	case lineTag:
		e.Type, e.Label = session.TypeLabel, p.JSON.String(p.All.Find("tag"))
		p.Part(session.KindLabel, p.All.Find("tag"))
		p.MissOthers(p.All, lineKeys, "tag")
	default:
		if t, ok := titleLines[typ]; ok {
			p.readTitle(t.key, t.rank)
		} else {
			p.readState()
		}
	}
}

// readState reads a line with state of the session, or an unknown one.
func (p *parser) readState() {
	e, kind := &p.Entry, session.KindOther
	if stateLines[e.Type] {
		kind = session.KindData
	}
	switch target := p.All.Find("leafUuid"); {
	case kind == session.KindOther:
		p.Strange("line", e.Type)
	case e.Type == lineLastPrompt && (p.JSON.Kind(target) == '"' || p.JSON.Kind(target) == 'n'):
		e.Type, e.TargetID = session.TypeLeaf, p.JSON.String(target)
	}
	p.restOf(kind, jsonl.Value{}, p.All, lineKeys)
}

func (p *parser) readTitle(key string, rank uint8) {
	e := &p.Entry
	name := p.All.Find(key)
	e.Type, e.Name, e.NameRank = session.TypeSessionInfo, p.JSON.String(name), rank
	e.TargetID = p.JSON.String(p.All.Find("leafUuid"))
	p.Part(session.KindTitle, name)
	p.MissOthers(p.All, lineKeys, key)
}

// readAttachment reads what Claude Code attached to a prompt.
func (p *parser) readAttachment() {
	e, v := &p.Entry, p.All.Find("attachment")
	p.MissOthers(p.All, lineKeys, "attachment")
	all := p.JSON.Fields(v)
	e.CustomType = p.JSON.Name(all.Find("type"))
	if e.CustomType == "queued_command" {
		p.readQueued(all)
		return
	}
	kind, ok := attachments[e.CustomType]
	if !ok {
		kind = session.KindDetails
	}
	p.restOf(kind, all.Find("content"), all, attachmentKeys)
}

// readProgress reads what a tool said while it ran.
func (p *parser) readProgress() {
	all := p.JSON.Fields(p.All.Find("data"))
	p.MissOthers(p.All, lineKeys, "data")
	p.Entry.CustomType = p.JSON.Name(all.Find("type"))
	skip := ""
	if !all.Find("message").Empty() {
		skip = "prompt"
	}
	p.restOf(session.KindDetails, jsonl.Value{}, all, progressKeys, skip)
}

// readSystem reads what Claude Code says of the session.
func (p *parser) readSystem() {
	e, content := &p.Entry, p.All.Find("content")
	e.CustomType = p.JSON.Name(p.All.Find("subtype"))
	kind, ok := subtypes[e.CustomType]
	if !ok {
		kind = session.KindOther
		p.Strange("system line", e.CustomType)
	}
	switch {
	case e.CustomType == "local_command" && p.JSON.Kind(content) == '"':
		p.readTexts(content)
		p.finishUser()
		p.MissOthers(p.All, lineKeys, "content")
		return
	case e.CustomType == "compact_boundary":
		e.Type = session.TypeCompaction
		p.readBoundary(p.JSON.Fields(p.All.Find("compactMetadata")))
	case kind == session.KindNote || kind == session.KindSummary:
		e.Type = session.TypeCustomMessage
	}
	p.restOf(kind, content, p.All, systemKeys)
}

// readBoundary reads what a compaction keeps of the conversation before it.
func (p *parser) readBoundary(all jsonl.Fields) {
	kept := p.JSON.Fields(all.Find("preservedMessages"))
	for id := range p.JSON.Elements(kept.Find("uuids")) {
		p.Entry.FirstKeptID = p.JSON.String(id)
		return
	}
	p.Entry.FirstKeptID = p.JSON.String(p.JSON.Fields(all.Find("preservedSegment")).Find("headUuid"))
}
