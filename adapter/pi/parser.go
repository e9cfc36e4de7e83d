package pi

import (
	"cmp"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

func newParser(state adapter.State) *parser {
	p := &parser{state: state}
	p.Leaves.Omit, p.OnPart = noText, p.onPart
	return p
}

// noText lists the keys of strings that are never text: signatures, and the copies of
// arguments that streaming leaves in a call.
var noText = []string{
	"textSignature", "thinkingSignature", "thoughtSignature",
	"partialJson", "partialArgs", "streamIndex",
}

// parser reads lines of a pi session file.
//
//	line ─ Check ─▶ value ─ read ─▶ message, blocks ─┬─▶ parts
//	              (checked         (spans,           ├─▶ facts, when they are wanted
//	               bytes)           no copies)       └─▶ view, when it is wanted
type parser struct {
	adapter.Builder
	state adapter.State

	// Of the current entry.
	fields  jsonl.Fields
	message message
	blocks  []block  // of its message or its content
	held    [][]byte // texts of parts that details may repeat

	// With wanted texts only, of the current entry.
	missing bool // parts may be missing: the numbers of later parts are unknown
	unsure  bool // later parts may depend on omitted text
}

func (p *parser) State() adapter.State { return p.state }

func (p *parser) Reset(state adapter.State) { p.state = state }

// Parse implements adapter.Parser.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines = line.Number
	p.JSON.Trusting, p.Line = line.Wanted != nil, line
	if line.Count != nil && p.countMessage(line, emit) {
		return nil
	}
	return adapter.Objects(&p.JSON, line, p.isTransaction, func(v jsonl.Value) {
		if line.Data[v.Start] == '{' {
			p.object(line, v, emit)
			return
		}
		for item := range p.JSON.Elements(v) {
			p.object(line, item, emit)
		}
	})
}

func (p *parser) object(line adapter.Line, v jsonl.Value, emit func(*session.Entry)) {
	all := p.JSON.Fields(v)
	typ, kind := p.JSON.Name(all.Find("type")), p.JSON.Name(all.Find("kind"))
	if (typ == "session" || typ == "" && kind == "header") && all.Find("delegationDepth").Empty() { // else DeepSeek's
		if p.state.Header.Version == 0 {
			p.state.Header = p.header(all, line.Offset+int64(v.Start), kind == "header")
		}
		if p.state.Header.Offset == line.Offset+int64(v.Start) {
			p.headerTitle(line, v, all, emit)
		}
		return
	}
	kind = fourthKind(typ, kind)
	typ = cmp.Or(typ, kind)
	p.fields, p.Sparse = all, line.Wanted != nil
	e := p.begin(line, v, typ)
	p.read(all, kind)
	if p.unsure {
		p.Sparse = false
		p.begin(line, v, typ)
		p.read(all, kind)
	}
	if e.Again = e.ID != ""; !e.Again {
		e.ID = adapter.OffsetID(e.Offset)
	}
	e.Step = p.stepOf(all)
	if e.NameRank == slotRank {
		emit(e)
		return
	}
	own := p.JSON.Time(all.Find("timestamp"))
	if own == 0 && !e.MessageTime.IsZero() {
		own = e.MessageTime.UnixMilli()
	}
	if own != 0 && line.Wanted == nil {
		e.Copy = p.copyHash(all)
	}
	e.Timestamp = p.state.Time(own)
	if p.state.Facts {
		e.Facts = p.factsOf(all)
	}
	emit(e)
}

func (p *parser) begin(line adapter.Line, v jsonl.Value, typ string) *session.Entry {
	e := p.Begin(line, v)
	e.Type = typ
	p.message, p.blocks = message{}, p.blocks[:0]
	p.missing, p.unsure = false, false
	return e
}

// copyHash returns a hash that an entry and its copies have in common. It covers all
// members except those that copying may change.
func (p *parser) copyHash(all jsonl.Fields) uint64 {
	h := uint64(0)
	for _, m := range all {
		switch string(m.Key) {
		case "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex":
			continue
		}
		h += p.JSON.HashMember(m)
	}
	return max(h, 1)
}

func (p *parser) header(all jsonl.Fields, offset int64, fourth bool) session.Header {
	h := session.Header{
		ID:      p.JSON.String(all.Find("id")),
		CWD:     p.JSON.String(all.Find("cwd")),
		Version: 1,
		Offset:  offset,
	}
	if fourth {
		h.Version = 4
	}
	for _, key := range []string{"version", "v"} {
		if n, ok := p.JSON.Int(all.Find(key)); ok && n > 0 && n < 1<<31 {
			h.Version = int(n)
			break
		}
	}
	if ms := cmp.Or(p.JSON.Time(all.Find("timestamp")), p.JSON.Time(all.Find("createdAt"))); ms != 0 {
		h.Timestamp = adapter.TimeOf(ms)
	}
	for _, key := range []string{"parentSession", "branchedFrom", "legacyParentSessionPath", "parentSessionId"} {
		h.ParentSession = cmp.Or(h.ParentSession, p.JSON.String(all.Find(key)))
	}
	if parent := parentOf(p.state.Header.Agent, p.state.Path); parent != "" {
		h.ParentSession, h.Relation = cmp.Or(h.ParentSession, parent), session.Spawned
	}
	return h
}
