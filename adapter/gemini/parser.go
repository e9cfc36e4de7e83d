package gemini

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// A line is a message, what the file says of the session, or a change:
//
//	{"id":…,"type":"gemini",…}      a message; written again with its id, it is the same, and newer
//	{"$set":{"messages":[…]}}       the conversation as it is now, in poorer copies; after a compression, the
//	                                only place of the summary
//	{"$rewindTo":id}                the message and all after it leave the conversation
//
// After a cancel, the messages so far are written again under new ids. A document of older versions
// has the messages in a list. Messages in a list are entries: they have bytes of their own.

type parser struct {
	adapter.LineParser[memo]
	listed bool   // the message is in a list of the conversation
	of     string // the id of the message with the call
	again  bool   // that message repeats another one
	text   uint64 // hash of what the message says, 0 if it says nothing
	copied bool   // it has the form of a copy
}

// memo is what a parser remembers of earlier lines.
type memo struct {
	ID      string  // of the session, which is one if it has a message
	Project string  // hash of the directory
	Tip     string  // the entry that the next one follows
	Chain   []link  // the messages of the conversation, the last ones
	Writes  []write // replies that may be written again
	Seen    []byte  // hashes of ids and texts of messages
	Forgot  bool    // there were more
	At      int64   // time of the last message
}

type link struct {
	ID     string
	Parent string
	Text   uint64 // hash of what it says
	Again  string // the id of its copy
}

type write struct {
	ID      uint64
	Offsets []int64 // of the reply and the results in it
}

// Limits of a memo, which keep its size below adapter.MaxMemo. Older entries are forgotten.
const (
	mostLinks  = 50
	mostWrites = 8
	mostSeen   = 800
	longestID  = 40
	hashBytes  = 5
)

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{}
	p.Read, p.Tools, p.Anew, p.Leaves.Omit = p.read, tools(), true, []string{"originalContent", "newContent"}
	p.Reset(state)
	return p
}

const setKey = `"$set"`

// Parse implements adapter.Parser.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.Start(line)
	if line.Ended && !bytes.HasSuffix(line.Raw, []byte("\n")) && bytes.HasPrefix(line.Data, []byte(`"`)) { // an entry that is no object, read alone
		p.JSON.Reset(line.Data)
		if v, err := p.JSON.Check(0); err == nil {
			p.Object(v, emit)
		}
		return nil
	}
	return adapter.Objects(&p.JSON, line, nil, func(v jsonl.Value) {
		all := p.JSON.Fields(v)
		set := p.JSON.Fields(all.Find("$set"))
		messages, title := set.Find("messages"), jsonl.Value{}
		if strings.HasSuffix(p.Known.Path, document) && !all.Find("messages").Empty() {
			messages, title = all.Find("messages"), all.Find("summary")
			p.header(all)
		}
		list := slices.Collect(p.JSON.Elements(messages))
		p.listed = false
		if p.JSON.Kind(messages) != '[' || p.summaryIn(list) != nil {
			p.message(v, emit)
			return
		}
		if !set.Find("messages").Empty() {
			p.listed = true
			title = set.Find("summary")
			if tip := p.keep(list); tip != p.Memo.Tip {
				p.Memo.Tip = tip
				i := bytes.Index(line.Data[v.Start:], []byte(setKey)) + v.Start
				p.Object(jsonl.Value{Extent: jsonl.Extent{Start: i, End: i + len(setKey)}}, emit)
			}
		}
		for _, message := range list {
			if p.JSON.Kind(message) == '{' {
				p.message(message, emit)
			}
		}
		if p.listed = false; p.JSON.Kind(title) == '"' {
			p.Object(title, emit)
		}
	})
}

// message emits an object, and the results of its calls, which are entries in it.
func (p *parser) message(v jsonl.Value, emit func(*session.Entry)) {
	p.of, p.again = "", false
	p.Object(v, emit)
	if p.Entry.Role != session.RoleAssistant {
		return
	}
	p.of, p.again = p.Entry.ID, p.Entry.Repeats
	for call := range p.JSON.Elements(p.JSON.Fields(v).Find("toolCalls")) {
		if all := p.JSON.Fields(call); !all.Find("result").Empty() {
			p.Object(call, emit)
		}
	}
}

// read reads an object, or a string within one.
func (p *parser) read(v jsonl.Value) {
	e := &p.Entry
	p.text, p.copied = 0, false
	e.ID = adapter.OffsetID(e.Offset)
	switch all := p.All; {
	case p.JSON.Kind(v) == '"' && string(p.JSON.Raw(v)) == setKey:
		p.mark("$set")
	case p.JSON.Kind(v) == '"':
		p.readTitle(v)
	case !all.Find("$set").Empty():
		p.readSet(p.JSON.Fields(all.Find("$set")))
	case !all.Find("$rewindTo").Empty():
		p.Memo.Tip = p.rewind(p.JSON.String(all.Find("$rewindTo")))
		p.mark("$rewindTo")
	case p.JSON.Kind(all.Find("name")) == '"' && !all.Find("result").Empty():
		p.readResult()
	case p.JSON.Kind(all.Find("id")) == '"' && p.Kind != "":
		p.readMessage()
	case p.JSON.Kind(all.Find("sessionId")) == '"' && !all.Find("projectHash").Empty():
		p.header(all)
		p.Skip = true
	default:
		e.Type = p.Kind
		p.Strange("line", p.Kind)
		p.MissOthers(all, nil, "id", "timestamp", "type")
		e.Step = session.StepRecord
		p.place()
	}
}

// mark makes the entry a place where the conversation goes on from an earlier one.
func (p *parser) mark(typ string) {
	e := &p.Entry
	e.Type, e.Step, e.HasParent, e.ParentID = typ, session.StepEmpty, true, p.Memo.Tip
	p.Memo.Tip = e.ID
}

// header reads what the file says of the session. It is written again after each resume.
func (p *parser) header(all jsonl.Fields) {
	h, m := &p.Known.Header, &p.Memo
	m.ID = cmp.Or(m.ID, adapter.Short(p.JSON.String(all.Find("sessionId")), longestID))
	m.Project = adapter.Short(p.JSON.String(all.Find("projectHash")), 2*longestID)
	if !h.Timestamp.IsZero() {
		return
	}
	if at := p.JSON.Time(all.Find("startTime")); at != 0 {
		h.Timestamp = adapter.TimeOf(at)
	}
	if _, rest := project(p.Known.Path); strings.ContainsAny(rest, `/\`) {
		h.Relation, h.ParentSession = session.Spawned, rest[:strings.IndexAny(rest, `/\`)]
	}
	for dir := range p.JSON.Elements(all.Find("directories")) {
		p.place1(p.JSON.String(dir))
	}
}

// place1 takes a directory for that of the session if it is.
func (p *parser) place1(dir string) {
	if h := &p.Known.Header; h.CWD == "" && len(dir) <= adapter.MaxPath && hashOf(dir) == p.Memo.Project {
		h.CWD = dir
	}
}

func (p *parser) readTitle(v jsonl.Value) {
	e := &p.Entry
	e.Type, e.Apart, e.Name = session.TypeSessionInfo, true, p.JSON.String(v)
	p.Part(session.KindTitle, v)
}

// readSet reads changes of what the file says of the session.
func (p *parser) readSet(set jsonl.Fields) {
	e := &p.Entry
	e.Type, e.Step = "$set", session.StepRecord
	list := slices.Collect(p.JSON.Elements(set.Find("messages")))
	if summary := p.summaryIn(list); summary != nil {
		e.Type, e.Step = session.TypeCompaction, session.Talk
		for _, message := range summary {
			for text := range p.texts(p.JSON.Fields(message).Find("content")) {
				p.Part(session.KindSummary, text)
			}
		}
		e.HasParent, e.ParentID = true, p.Memo.Tip
		p.Memo.Tip, p.Memo.Chain = e.ID, nil
		for _, message := range list {
			p.see(xxhash.Sum64(p.JSON.Text(p.JSON.Fields(message).Find("id"))))
		}
	} else {
		e.Apart = true
	}
	if title := set.Find("summary"); p.JSON.Kind(title) == '"' {
		if e.Type == "$set" {
			e.Type, e.Step, e.Name = session.TypeSessionInfo, session.Talk, p.JSON.String(title)
		}
		p.Part(session.KindTitle, title)
	}
	if pad := set.Find("memoryScratchpad"); !pad.Empty() {
		p.AddLeaves(session.KindData, []adapter.Unknown{{Value: pad}}, nil)
	}
	p.MissOthers(set, nil, "messages", "summary", "memoryScratchpad", "lastUpdated", "sessionId", "directories", "kind", "startTime", "projectHash")
	p.Skip = len(e.Parts)+len(p.Unknown) == 0
}

// thanks follows the summary of a compression.
const thanks = "Got it. Thanks for the additional context!"

// summaryIn returns the messages with the summary in a list that a compression left, nil if it is none.
func (p *parser) summaryIn(list []jsonl.Value) []jsonl.Value {
	for i := 1; i < min(len(list), 3); i++ {
		for text := range p.texts(p.JSON.Fields(list[i]).Find("content")) {
			if string(p.JSON.Text(text)) == thanks {
				return list[i-1 : i+1]
			}
			break
		}
	}
	return nil
}

// keep leaves of the conversation what a list has. It returns the entry at which it goes on.
func (p *parser) keep(list []jsonl.Value) string {
	m := &p.Memo
	for _, message := range slices.Backward(list) {
		all := p.JSON.Fields(message)
		i := m.find(p.JSON.String(all.Find("id")))
		if text := p.hashOf(p.JSON.Name(all.Find("type")), all.Find("content")); i < 0 && text != 0 {
			i = slices.IndexFunc(m.Chain, func(l link) bool { return l.Text == text })
		}
		if i >= 0 {
			if i == len(m.Chain)-1 {
				return m.Tip
			}
			m.Chain = m.Chain[:i+1]
			return m.Chain[i].ID
		}
	}
	if m.Forgot && len(list) > 1 || len(m.Chain) == 0 {
		return m.Tip
	}
	m.Chain = m.Chain[:0]
	return ""
}

// rewind takes a message and all after it out of the conversation, or all if it has no such message. It returns
// the entry at which it goes on.
func (p *parser) rewind(id string) string {
	m := &p.Memo
	i := max(0, m.find(id))
	if len(m.Chain) == 0 {
		return ""
	}
	parent := m.Chain[i].Parent
	m.Chain = m.Chain[:i]
	return parent
}

// find returns the place of a message in the conversation, by its id or that of its copy; -1 if it is not there.
func (m *memo) find(id string) int {
	return slices.IndexFunc(m.Chain, func(l link) bool { return id != "" && (l.ID == id || l.Again == id) })
}

// place says where the message that has been read is in the conversation, and what it repeats.
func (p *parser) place() {
	e, m := &p.Entry, &p.Memo
	id := xxhash.Sum64String(e.ID)
	at := e.Timestamp.UnixMilli()
	same := at == m.At
	m.At = at
	said := p.text != 0 && m.has(p.text)
	switch {
	case p.listed && (m.has(id) || said || m.Forgot), !p.listed && p.copied && (p.text == 0 || said),
		!p.listed && e.Role == session.RoleUser && said && same:
		e.Repeats, e.Apart = true, true
		i := slices.IndexFunc(m.Chain, func(l link) bool { return l.Text == p.text && l.Again == "" })
		if i < 0 {
			i = slices.IndexFunc(m.Chain, func(l link) bool { return l.Text == p.text })
		}
		if !p.listed && i >= 0 && p.text != 0 {
			m.Chain[i].Again = adapter.Short(e.ID, longestID)
		}
		p.see(id)
		return
	case e.Role == session.RoleSystem:
		e.Apart = true
		p.see(id)
		return
	}
	p.see(id)
	if p.text != 0 {
		p.see(p.text)
	}
	e.HasParent, e.ParentID = true, m.Tip
	if e.Role == session.RoleAssistant {
		if i := slices.IndexFunc(m.Writes, func(w write) bool { return w.ID == id }); i >= 0 {
			e.Shadows = append(e.Shadows, m.Writes[i].Offsets...)
			m.Writes = slices.Delete(m.Writes, i, i+1)
		}
		e.Pending = true
		m.Writes = adapter.Remember(m.Writes, write{id, []int64{e.Offset}}, mostWrites)
	}
	if i := m.find(e.ID); i >= 0 {
		e.ParentID, m.Chain[i].Text = m.Chain[i].Parent, p.text
		return
	}
	m.Forgot = m.Forgot || len(m.Chain) == mostLinks
	m.Chain = adapter.Remember(m.Chain, link{adapter.Short(e.ID, longestID), m.Tip, p.text, ""}, mostLinks)
	m.Tip = adapter.Short(e.ID, longestID)
}

// hashOf returns a hash of what a message says, beside its context and thoughts; 0 if it says nothing.
func (p *parser) hashOf(typ string, content jsonl.Value) uint64 {
	hash, some := xxhash.New(), false
	for item := range p.JSON.Elements(content) {
		text := item
		if p.JSON.Kind(item) == '{' {
			part := p.JSON.Fields(item)
			if text = part.Find("text"); p.JSON.IsTrue(part.Find("thought")) {
				continue
			}
		}
		if data := p.JSON.Text(text); p.JSON.Kind(text) == '"' && len(data) > 0 && !bytes.HasPrefix(data, contextTag) {
			_, _ = hash.Write(data)
			some = true
		}
	}
	if !some {
		return 0
	}
	_, _ = hash.WriteString(typ)
	return hash.Sum64()
}

// has reports whether a hash was seen.
func (m *memo) has(hash uint64) bool {
	want := short(hash)
	for i := 0; i < len(m.Seen); i += hashBytes {
		if bytes.Equal(m.Seen[i:i+hashBytes], want) {
			return true
		}
	}
	return false
}

func (p *parser) see(hash uint64) {
	m := &p.Memo
	if m.has(hash) {
		return
	}
	seen := m.Seen // which a State may share
	if len(seen) >= mostSeen*hashBytes {
		seen, m.Forgot = seen[hashBytes:], true
	}
	m.Seen = append(slices.Clip(seen), short(hash)...)
}

func short(hash uint64) []byte { return binary.BigEndian.AppendUint64(nil, hash)[:hashBytes] }
