package pi

import (
	"cmp"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

func newParser(state adapter.State) *parser {
	p := &parser{}
	p.Known, p.Leaves.Omit, p.OnPart, p.Read = state, noText, p.onPart, p.read
	p.ToolOf, p.OnCall = toolOf, p.onCall
	return p
}

// noText lists the keys of strings that are never text: signatures, and the copies of
// arguments that streaming leaves in a call.
var noText = []string{
	"textSignature", "thinkingSignature", "thoughtSignature",
	"partialJson", "partialArgs", "streamIndex",
}

// parser reads lines of a pi session file.
type parser struct {
	adapter.LineParser[struct{}]

	// Of the current entry.
	message jsonl.Fields // none when the entry has no message
	held    [][]byte     // texts of parts that details may repeat

	// With wanted texts only, of the current entry.
	missing bool // parts may be missing: the numbers of later parts are unknown
	unsure  bool // later parts may depend on omitted text
}

// Parse implements adapter.Parser. Lines of the fourth format may be several in one array.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.Start(line)
	return adapter.Objects(&p.JSON, line, p.isTransaction, func(v jsonl.Value) {
		if line.Data[v.Start] == '{' {
			p.Object(v, emit)
			return
		}
		for item := range p.JSON.Elements(v) {
			p.Object(item, emit)
		}
	})
}

// read reads the line.
func (p *parser) read(v jsonl.Value) {
	e, all := &p.Entry, p.All
	if p.Known.Header.Notes {
		p.NameSession()
		return
	}
	typ, kind := p.JSON.Name(all.Find("type")), p.JSON.Name(all.Find("kind"))
	if (typ == "session" || typ == "" && kind == "header") && all.Find("delegationDepth").Empty() { // else DeepSeek's
		if p.Known.Header.Version == 0 {
			p.Known.Header = p.header(all, e.Offset, kind == "header")
		}
		p.Skip = p.Known.Header.Offset != e.Offset || !p.headerTitle(all)
		return
	}
	kind = fourthKind(typ, kind)
	typ = cmp.Or(typ, kind)
	p.begin(typ)
	p.readLine(all, kind)
	if p.unsure {
		p.Sparse = false
		p.Begin(p.Line, v)
		p.begin(typ)
		p.readLine(all, kind)
	}
	e.Again = e.ID != ""
	e.Step = p.stepOf(all)
	if e.NameRank == slotRank {
		p.At = -1
		return
	}
	if p.At == 0 && !e.MessageTime.IsZero() {
		p.At = e.MessageTime.UnixMilli()
	}
	if p.At != 0 && p.Line.Wanted == nil {
		e.Copy = p.copyHash(all)
	}
	if p.Known.Facts {
		p.readFacts(all)
	}
}

func (p *parser) begin(typ string) {
	p.Entry.Type = typ
	p.message = nil
	p.missing, p.unsure = false, false
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
	if parent := parentOf(p.Known.Header.Agent, p.Known.Path); parent != "" {
		h.ParentSession, h.Relation = cmp.Or(h.ParentSession, parent), session.Spawned
	}
	if known := &p.Known.Header; known.Relation != session.Unrelated { // a database says so
		h.ParentSession, h.Relation = known.ParentSession, known.Relation
	}
	return h
}
