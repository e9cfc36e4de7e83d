package pi

import (
	"bytes"
	"cmp"
	"time"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

func newParser(state adapter.State) *parser {
	return &parser{state: state, leaves: jsonl.Leaves{Omit: noText}}
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
//
// Emitted values point into the line, into the scanner's memory or into slices that the
// parser reuses. Only the short strings of an entry are copies.
type parser struct {
	state  adapter.State
	json   jsonl.Scanner
	leaves jsonl.Leaves

	// Of the current entry.
	entry   session.Entry
	fields  jsonl.Fields
	message message
	blocks  []block   // of its message or its content
	unknown []unknown // for its part "other"
	prompt  []byte    // its UserText

	facts session.EntryFacts
	held  [][]byte // texts of parts that details may repeat

	// With wanted texts only, of the current entry.
	wanted  func(json []byte) bool // nil for all
	sparse  bool                   // unwanted texts are left out
	missing bool                   // parts may be missing: the numbers of later parts are unknown
	unsure  bool                   // later parts may depend on omitted text
}

// unknown is a value that no rule covers.
type unknown struct {
	jsonl.Value
	block bool
}

func (p *parser) State() adapter.State { return p.state }

func (p *parser) Reset(state adapter.State) { p.state = state }

// Parse implements adapter.Parser.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines = line.Number
	p.json.Reset(line.Data)
	p.json.Trusting, p.wanted = line.Wanted != nil, line.Wanted
	start := 0
	if line.Offset == 0 && bytes.HasPrefix(line.Data, jsonl.ByteOrderMark) {
		start = len(jsonl.ByteOrderMark)
	}
	if !line.Ended {
		if problem := p.torn(line, start); problem != nil {
			return problem
		}
	}
	var problems []adapter.ParseError
	notObject := false
	for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
		v, err := p.json.Check(i)
		if err != nil {
			return append(problems, adapter.ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: err.Error()})
		}
		switch {
		case line.Data[i] == '{':
			p.object(line, v, emit)
			notObject = false
		case p.isTransaction(v):
			for e := p.json.Elements(v); e.Next(); {
				p.object(line, e.Val, emit)
			}
			notObject = false
		case !notObject:
			problems = append(problems, adapter.ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: reasonNotObject})
			notObject = true // several in a row are one problem
		}
		i = v.End
	}
	return problems
}

// torn returns the problem with an unterminated line, nil when its JSON is complete.
func (p *parser) torn(line adapter.Line, start int) []adapter.ParseError {
	for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
		v, err := p.json.Check(i)
		if err != nil || line.Data[i] != '{' && !p.isTransaction(v) {
			return []adapter.ParseError{{Line: line.Number, Offset: line.Offset + int64(i), Reason: "unfinished last line", Torn: true}}
		}
		i = v.End
	}
	return nil
}

// reasonNotObject is the reason of a problem with JSON that is not an object.
const reasonNotObject = "not an object"

// object reads one object of a line.
func (p *parser) object(line adapter.Line, v jsonl.Value, emit func(*session.Entry)) {
	all := p.json.Fields(v)
	typ, kind := p.json.Name(all.Find("type")), p.json.Name(all.Find("kind"))
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
	if typ == "" {
		typ = kind
	}
	p.fields, p.sparse = all, p.wanted != nil
	e := p.begin(line, v, typ)
	p.read(all, kind)
	if p.unsure {
		p.sparse = false
		p.begin(line, v, typ)
		p.read(all, kind)
	}
	if e.ID == "" {
		e.ID = madeUpID(e.Offset)
	}
	if e.NameRank == slotRank {
		emit(e)
		return
	}
	own := p.json.Time(all.Find("timestamp"))
	if own == 0 && !e.MessageTime.IsZero() {
		own = e.MessageTime.UnixMilli()
	}
	if own != 0 && p.wanted == nil {
		e.Copy = p.copyHash(all)
	}
	at := own
	if at == 0 {
		at = p.state.LastTime
	}
	if at == 0 && !p.state.Header.Timestamp.IsZero() {
		at = p.state.Header.Timestamp.UnixMilli()
	}
	if at != 0 {
		e.Timestamp = time.UnixMilli(at).UTC()
		p.state.LastTime = at
	}
	if p.state.Facts {
		e.Facts = p.factsOf(all)
	}
	emit(e)
}

// begin begins the entry of an object.
func (p *parser) begin(line adapter.Line, v jsonl.Value, typ string) *session.Entry {
	e := &p.entry
	*e = session.Entry{
		Type:           typ,
		Offset:         line.Offset + int64(v.Start),
		Length:         v.End - v.Start,
		Line:           line.Number,
		FirstKeptIndex: -1,
		Images:         e.Images[:0],
		Parts:          e.Parts[:0],
	}
	p.message = message{}
	p.blocks, p.unknown, p.prompt = p.blocks[:0], p.unknown[:0], p.prompt[:0]
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
		h += p.json.HashMember(m)
	}
	return max(h, 1)
}

// header reads the header of a session.
func (p *parser) header(all jsonl.Fields, offset int64, fourth bool) session.Header {
	h := session.Header{
		ID:      p.json.String(all.Find("id")),
		CWD:     p.json.String(all.Find("cwd")),
		Version: 1,
		Offset:  offset,
	}
	if fourth {
		h.Version = 4
	}
	for _, key := range []string{"version", "v"} {
		if n, ok := p.json.Int(all.Find(key)); ok && n > 0 && n < 1<<31 {
			h.Version = int(n)
			break
		}
	}
	for _, key := range []string{"timestamp", "createdAt"} {
		if ms := p.json.Time(all.Find(key)); ms != 0 {
			h.Timestamp = time.UnixMilli(ms).UTC()
			break
		}
	}
	for _, key := range []string{"parentSession", "branchedFrom", "legacyParentSessionPath", "parentSessionId"} {
		if h.ParentSession = p.json.String(all.Find(key)); h.ParentSession != "" {
			break
		}
	}
	if parent := parentOf(p.state.Header.Agent, p.state.Path); parent != "" {
		h.ParentSession, h.Relation = cmp.Or(h.ParentSession, parent), session.Spawned
	}
	return h
}
