package codex

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{}
	p.Leaves.Omit, p.Read = noText, p.read
	p.Reset(state)
	return p
}

type parser struct {
	adapter.LineParser[memo]
	tip, group named         // the entries at Memo.Tip and Memo.Group
	inner      jsonl.Scanner // of JSON that is in a string

	// Of the current entry. Sparse means that texts that are one string are not decoded.
	payload jsonl.Fields      // of the line; the line itself in the oldest dialect
	typ     string            // of the payload
	keys    []uint64          // of its texts, which events may repeat
	first   []byte            // the first of these texts
	said    []byte            // these texts together, if there are several
	values  []adapter.Unknown // memory of leavesOf
	call    call
	inside  []call // calls that this one, a script, makes
	unread  bool   // some commands of the script are not literal
	output  output
}

// named keeps the id of an entry.
type named struct {
	offset int64
	id     string
}

func (n *named) at(offset int64) string {
	if n.offset != offset || n.id == "" {
		n.offset, n.id = offset, adapter.OffsetID(offset)
	}
	return n.id
}

// read reads the line, and says where its entry is in the conversation.
func (p *parser) read(jsonl.Value) {
	e, m := &p.Entry, &p.Memo
	p.call, p.output, p.unread = call{}, output{}, false
	p.inside = p.inside[:0]
	p.keys, p.said = p.keys[:0], p.said[:0]
	p.inner.Trusting = p.Sparse
	if p.Known.Header.Notes {
		p.readNote()
		return
	}
	if !m.Begun {
		m.Begun, m.Tip, m.Group = true, -1, -1
	}
	kind := p.kindOfLine()
	p.begin()
	p.readType(kind)
	e.Step = p.stepOf(kind)
	e.Context = m.Context
	if e.Apart {
		e.HasParent, e.ParentID = false, ""
	} else {
		m.Tip = e.Offset
	}
	if p.At != 0 && len(e.Parts) > 0 && !p.Sparse && (e.Type == session.TypeMessage || e.Type == session.TypeCompaction) {
		e.Copy = p.copyHash()
	}
}

// kindOfLine returns the type of the line, and finds its payload. In the oldest dialect, the
// line itself is an item, the header, or a state.
func (p *parser) kindOfLine() string {
	kind, v := p.JSON.Name(p.All.Find("type")), p.All.Find("payload")
	if p.JSON.Kind(v) == '{' {
		p.payload = p.JSON.Fields(v)
		p.typ = p.JSON.Name(p.payload.Find("type"))
		return kind
	}
	p.payload, p.typ = p.All, kind
	switch {
	case v.Empty() && itemTypes[kind]:
		return lineItem
	case kind == "" && flatHeader.Of(&p.JSON, p.All) != adapter.Foreign:
		return lineMeta
	case kind == "" && p.JSON.Kind(p.All.Find("record_type")) == '"':
		return p.JSON.Name(p.All.Find("record_type"))
	}
	return kind
}

// Versions of the format, for Header.Version.
const (
	versionFlat = 2 // lines have neither type nor time: of versions before 0.34, which no later one opens
	version     = 3
)

// begin reads what every line says.
func (p *parser) begin() {
	e, h, m := &p.Entry, &p.Known.Header, &p.Memo
	if h.Version == 0 {
		h.Version, h.Offset, h.Nested = version, e.Offset, true
		h.ID, h.Part = idsOf(p.Known.Path)
		h.Ordinal, _ = p.JSON.Int(p.All.Find("ordinal"))
		if p.At != 0 {
			h.Timestamp = adapter.TimeOf(p.At)
		}
	}
	if e.HasParent = true; m.Tip >= 0 {
		e.ParentID = p.tip.at(m.Tip)
	}
}

// copyHash returns what an entry and its copies in forks have in common. Their times
// differ. Short texts occur in many sessions: only ids, and long encrypted texts, do not.
func (p *parser) copyHash() uint64 {
	h := xxhash.Sum64String(p.typ)
	for _, key := range [...]string{"content", "message", "text", "summary", "arguments", "input", "output", "action"} {
		if v := p.payload.Find(key); !v.Empty() {
			h = mix(h, p.JSON.Hash(v))
		}
	}
	strong := false
	for _, key := range [...]string{"id", "call_id"} {
		if id := p.JSON.JSON(p.payload.Find(key)); len(id) >= strongID {
			h, strong = mix(h, xxhash.Sum64(id)), true
		}
	}
	if !strong {
		h = mix(h, p.family())
	}
	return max(h, 1)
}

// strongID is the length of an id that no two sessions make.
const strongID = 24

// idsOf returns the id of a session, and that of the segment if it has several files, as the
// name of the file says: rollout-TIME-ID, or rollout-TIME-ID_SEGMENT.
func idsOf(file string) (id, part string) {
	const uuid, before = 36, len("2006-01-02T15-04-05-")
	rest, ok := strings.CutPrefix(session.BaseName(file), "rollout-")
	if !ok || len(rest) < before+uuid {
		return "", ""
	}
	if id, part, _ = strings.Cut(rest[before:], "_"); len(id) != uuid {
		return "", ""
	}
	return id, part
}

// readMeta reads a header. The first one counts; in a fork, those of its ancestors may follow.
func (p *parser) readMeta() {
	h, m, all := &p.Known.Header, &p.Memo, p.payload
	p.Entry.Apart = true
	id := p.JSON.String(all.Find("id"))
	git := p.JSON.String(p.JSON.Fields(all.Find("git")).Find("branch"))
	if m.HasMeta {
		if id == h.ID && git != "" {
			h.Git, m.Context.Git = git, adapter.Short(git, longestModel)
		}
		return
	}
	if m.Tip >= 0 && h.ID != "" && id != h.ID {
		return // the file begins in its middle, with lines of an ancestor
	}
	m.HasMeta = true
	if p.All.Find("type").Empty() {
		h.Version = versionFlat
	}
	if id != "" {
		h.ID = id
	}
	h.CWD, h.Git, h.Offset = p.JSON.String(all.Find("cwd")), git, p.Entry.Offset
	if at := p.JSON.Time(all.Find("timestamp")); at != 0 {
		h.Timestamp = adapter.TimeOf(at)
	}
	h.Ordinal, _ = p.JSON.Int(p.All.Find("ordinal"))
	m.Context.CWD, m.Context.Git = adapter.Short(h.CWD, longestDir), adapter.Short(git, longestModel)
	m.Context.Provider = adapter.Short(p.JSON.Name(all.Find("model_provider")), longestModel)
	p.readOrigin(all)
}

// readOrigin reads what a header says of another session.
func (p *parser) readOrigin(all jsonl.Fields) {
	h := &p.Known.Header
	h.ParentSession = p.JSON.String(all.Find("forked_from_id"))
	if h.ParentSession != "" {
		h.Relation = session.Copied
	}
	if v := all.Find("history_base"); p.JSON.Kind(v) == '{' {
		base := p.JSON.Fields(v)
		h.Base.Session = p.JSON.String(base.Find("thread_id"))
		h.Base.Part = p.JSON.String(base.Find("segment_id"))
		h.Base.Ordinal, _ = p.JSON.Int(base.Find("end_ordinal_exclusive"))
		h.Base.Offset, _ = p.JSON.Int(base.Find("end_byte_offset"))
		h.Relation, h.ParentSession = session.Continued, h.Base.Session
		if h.Base.Session == h.ID {
			h.Relation = session.Reverted
		}
	}
	source := p.JSON.Fields(all.Find("source"))
	agent := source.Find("subagent")
	if agent.Empty() {
		agent = source.Find("subAgent")
	}
	parent := p.JSON.String(all.Find("parent_thread_id"))
	spawn := p.JSON.Fields(p.JSON.Fields(agent).Find("thread_spawn"))
	if id := p.JSON.String(spawn.Find("parent_thread_id")); id != "" {
		parent = id
	}
	if !agent.Empty() && h.Relation != session.Reverted || parent != "" && h.Relation == session.Unrelated {
		h.Relation = session.Spawned
		if parent != "" {
			h.ParentSession = parent
		}
	}
}

// family identifies the session and those that it was copied from or into.
func (p *parser) family() uint64 {
	h := &p.Known.Header
	if p.isBeforeHeader() {
		id, _ := idsOf(p.Known.Path)
		return xxhash.Sum64String(id)
	}
	if h.ParentSession != "" && (h.Relation == session.Copied || h.Relation == session.Spawned) {
		return xxhash.Sum64String(h.ParentSession)
	}
	return xxhash.Sum64String(h.ID)
}

// isBeforeHeader reports whether the entry comes before the header in the file, as in one that
// begins in its middle. What the header says was not known then.
func (p *parser) isBeforeHeader() bool { return p.Entry.Offset < p.Known.Header.Offset }
