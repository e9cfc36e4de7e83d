package claude

import (
	"path"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser { return newParser(state) }

func newParser(state adapter.State) *parser {
	p := &parser{leaves: jsonl.Leaves{Omit: noText}, detailed: jsonl.Leaves{Omit: noDetails}}
	p.Reset(state)
	return p
}

// parser reads lines of a file of Claude Code. Emitted values point into the line, into the
// scanner's memory or into slices that the parser reuses. Only the short strings of an entry
// are copies.
type parser struct {
	state    adapter.State
	memo     memo
	agent    bool // the file is that of a subagent
	json     jsonl.Scanner
	leaves   jsonl.Leaves
	detailed jsonl.Leaves

	// Of the current entry.
	entry   session.Entry
	all     jsonl.Fields // of the line
	message jsonl.Fields
	blocks  []block
	unknown []unknown     // for its part "other"
	prompt  []byte        // its UserText
	held    [][]byte      // texts of parts that details may repeat
	values  []jsonl.Value // of the details
	budget  int           // bytes of held that may still be searched

	rejected bool // the person did not let the call of this result run
	facts    session.EntryFacts

	// With wanted texts only, of the current entry.
	wanted func(json []byte) bool // nil for all
	sparse bool                   // unwanted texts are left out
}

// unknown is a value that no rule covers.
type unknown struct {
	jsonl.Value
	block bool
}

// State implements adapter.Parser.
func (p *parser) State() adapter.State {
	s := p.state
	s.Memo = p.memo.bytes()
	return s
}

// Reset implements adapter.Parser.
func (p *parser) Reset(state adapter.State) {
	p.state = state
	p.memo.read(state.Memo)
	p.agent = isAgentFile(state.Path)
}

// isAgentFile reports whether a file is the conversation of a subagent.
func isAgentFile(file string) bool { return strings.HasPrefix(session.BaseName(file), "agent-") }

// parentOf returns the session that a subagent in this file works for, as the directory says.
func parentOf(file string) string {
	before, _, ok := strings.Cut(session.Slashed(file), "/subagents/")
	if !ok {
		return ""
	}
	return path.Base(before)
}

// Parse implements adapter.Parser.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines = line.Number
	p.json.Trusting, p.wanted = line.Wanted != nil, line.Wanted
	return adapter.Objects(&p.json, line, func(v jsonl.Value) { p.object(line, v, emit) })
}

// object reads one object of a line.
func (p *parser) object(line adapter.Line, v jsonl.Value, emit func(*session.Entry)) {
	e := &p.entry
	*e = session.Entry{
		Offset:         line.Offset + int64(v.Start),
		Length:         v.End - v.Start,
		Line:           line.Number,
		FirstKeptIndex: -1,
		Images:         e.Images[:0],
		Parts:          e.Parts[:0],
	}
	p.all, p.message, p.rejected = p.json.Fields(v), nil, false
	p.blocks, p.unknown, p.prompt = p.blocks[:0], p.unknown[:0], p.prompt[:0]
	p.sparse = p.wanted != nil && !p.wantsDetails()

	e.Type = p.json.Name(p.all.Find("type"))
	at := p.json.Time(p.all.Find("timestamp"))
	if p.state.Header.Version != 0 || knownLines[e.Type] {
		p.header(at)
	}
	if at == 0 {
		at = p.state.LastTime
	}
	if at != 0 {
		e.Timestamp = time.UnixMilli(at).UTC()
		p.state.LastTime = at
	}
	id := p.all.Find("uuid")
	if e.ID = p.json.String(id); e.ID != "" {
		e.Copy, e.Once = max(p.json.Hash(id), 1), true
	} else {
		e.ID = adapter.OffsetID(e.Offset)
	}
	p.read()
	p.other()
	p.place()
	if p.state.Facts {
		e.Facts = p.factsOf()
	}
	emit(e)
}

// header reads what a line says of the session.
func (p *parser) header(at int64) {
	h := &p.state.Header
	own, first := p.json.Text(p.all.Find("sessionId")), h.Timestamp.IsZero() && at != 0
	if h.Version == 0 {
		h.Version, h.Offset = 2, p.entry.Offset
		switch base := session.BaseName(p.state.Path); {
		case p.agent:
			h.ID, h.Relation, h.ParentSession = base, session.Spawned, parentOf(p.state.Path)
		case isUUID(base):
			h.ID = base
		}
	}
	switch from := p.json.Fields(p.all.Find("forkedFrom")).Find("sessionId"); {
	case p.agent && h.ParentSession == "":
		h.ParentSession = string(own)
	case p.agent:
	case h.ID == "":
		h.ID = string(own)
	case !from.Empty() && h.Relation == session.Unrelated:
		h.Relation, h.ParentSession = session.Copied, p.json.String(from)
	case first && isUUID(own) && string(own) != h.ID: // a copy of another session's line
		h.Relation, h.ParentSession = session.Copied, string(own)
	}
	if h.CWD == "" {
		h.CWD = p.json.String(p.all.Find("cwd"))
	} else if moved := p.all.Find("relocatedCwd"); p.json.Kind(moved) == '"' {
		h.CWD = p.json.String(moved)
	}
	if git := p.json.Text(p.all.Find("gitBranch")); len(git) > 0 && string(git) != h.Git {
		h.Git = string(git)
	}
	if first {
		h.Timestamp = time.UnixMilli(at).UTC()
	}
}

// isUUID reports whether a name has the form of a session id.
func isUUID[T string | []byte](name T) bool {
	if len(name) != 36 {
		return false
	}
	for i := range len(name) {
		c := name[i] | 0x20
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if name[i] != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}

// read reads the members that depend on the type of the line.
func (p *parser) read() {
	e := &p.entry
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
		p.notKnown(p.all, lineKeys, "snapshot")
	case lineTag:
		e.Type, e.Label = session.TypeLabel, p.json.String(p.all.Find("tag"))
		p.part(session.KindLabel, p.all.Find("tag"))
		p.notKnown(p.all, lineKeys, "tag")
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
	e, kind := &p.entry, session.KindOther
	if stateLines[e.Type] {
		kind = session.KindData
	}
	if target := p.all.Find("leafUuid"); e.Type == lineLastPrompt && p.json.Kind(target) == '"' {
		e.Type, e.TargetID = session.TypeLeaf, p.json.String(target)
	}
	p.restOf(kind, jsonl.Value{}, p.all, lineKeys)
}

// readTitle reads a line that names the session.
func (p *parser) readTitle(key string, rank uint8) {
	e := &p.entry
	name := p.all.Find(key)
	e.Type, e.Name, e.NameRank = session.TypeSessionInfo, p.json.String(name), rank
	e.TargetID = p.json.String(p.all.Find("leafUuid"))
	p.part(session.KindTitle, name)
	p.notKnown(p.all, lineKeys, key)
}

// readAttachment reads what Claude Code attached to a prompt.
func (p *parser) readAttachment() {
	e, v := &p.entry, p.all.Find("attachment")
	p.notKnown(p.all, lineKeys, "attachment")
	all := p.json.Fields(v)
	e.CustomType = p.json.Name(all.Find("type"))
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
	all := p.json.Fields(p.all.Find("data"))
	p.notKnown(p.all, lineKeys, "data")
	p.entry.CustomType = p.json.Name(all.Find("type"))
	skip := ""
	if !all.Find("message").Empty() {
		skip = "prompt"
	}
	p.restOf(session.KindDetails, jsonl.Value{}, all, progressKeys, skip)
}

// readSystem reads what Claude Code says of the session.
func (p *parser) readSystem() {
	e, content := &p.entry, p.all.Find("content")
	e.CustomType = p.json.Name(p.all.Find("subtype"))
	kind, ok := subtypes[e.CustomType]
	if !ok {
		kind = session.KindOther
	}
	switch {
	case e.CustomType == "local_command" && p.json.Kind(content) == '"':
		p.readTexts(content)
		p.writeUser()
		p.notKnown(p.all, lineKeys, "content")
		return
	case e.CustomType == "compact_boundary":
		e.Type = session.TypeCompaction
		p.readBoundary(p.json.Fields(p.all.Find("compactMetadata")))
	case kind == session.KindNote || kind == session.KindSummary:
		e.Type = session.TypeCustomMessage
	}
	p.restOf(kind, content, p.all, systemKeys)
}

// readBoundary reads what a compaction keeps of the conversation before it.
func (p *parser) readBoundary(all jsonl.Fields) {
	kept := p.json.Fields(all.Find("preservedMessages"))
	for ids := p.json.Elements(kept.Find("uuids")); ids.Next(); {
		p.entry.FirstKeptID = p.json.String(ids.Val)
		return
	}
	p.entry.FirstKeptID = p.json.String(p.json.Fields(all.Find("preservedSegment")).Find("headUuid"))
}
