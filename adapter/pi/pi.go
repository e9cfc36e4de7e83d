package pi

import (
	"bytes"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
)

// Name identifies the session files of pi.
const Name = "pi.sessions_jsonl.v1"

// Agent is the pi coding agent, in every version from 0.7 on, and the programs
// made with its agent library.
type Agent struct{}

// New returns the adapter for pi.
func New() Agent { return Agent{} }

// Name implements adapter.Agent.
func (Agent) Name() string { return Name }

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	return &parser{state: state, hash: xxhash.New()}
}

// parser reads lines of a pi session file.
//
//	line ─ scanner.check ─▶ object ─ collect ─▶ members ─ entry ─▶ parts
//	                       (checked           (spans,     (text in the line
//	                        bytes)             no copies)  or in the arena)
//
// Everything it hands out lies in the line, in the arena or in slices that it
// uses again, except the short strings of an entry, which are its own.
type parser struct {
	state   adapter.State
	scan    jsonl.Scanner
	obj     jsonl.Object
	arena   jsonl.Arena
	leaves  jsonl.Leaves
	members []member          // stack of the members of the objects being read
	unknown []unknown         // of the entry, for its part "other"
	held    [][]byte          // texts of parts that details may repeat
	names   map[string]string // short strings that come again and again
	prompt  []byte            // the entry's UserText
	entry   session.Entry
	facts   session.EntryFacts
	hash    *xxhash.Digest
}

// unknown is a value that no rule names.
type unknown struct {
	jsonl.Value
	block bool
}

func (p *parser) State() adapter.State { return p.state }

func (p *parser) Reset(state adapter.State) { p.state = state }

// Parse implements Parser.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines = line.Number
	p.obj.Data = line.Data
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
		end, err := p.obj.Check(&p.scan, i)
		if err != nil {
			return append(problems, adapter.ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: err.Error()})
		}
		switch v := jsonl.At(i, end); {
		case line.Data[i] == '{':
			p.object(line, v, emit)
			notObject = false
		case p.isTransaction(v):
			for e := p.obj.ElementsOf(v); e.Next(); {
				p.object(line, e.Val, emit)
			}
			notObject = false
		case !notObject:
			problems = append(problems, adapter.ParseError{Line: line.Number, Offset: line.Offset + int64(i), Reason: reasonNotObject})
			notObject = true // one problem for all that follow one another
		}
		i = end
	}
	return problems
}

// torn returns the problem with an unterminated line, nil when it is complete.
func (p *parser) torn(line adapter.Line, start int) []adapter.ParseError {
	for i := jsonl.SkipPadding(line.Data, start); i < len(line.Data); i = jsonl.SkipPadding(line.Data, i) {
		end, err := p.obj.Check(&p.scan, i)
		if err != nil || line.Data[i] != '{' && !p.isTransaction(jsonl.At(i, end)) {
			return []adapter.ParseError{{Line: line.Number, Offset: line.Offset + int64(i), Reason: "unfinished last line", Torn: true}}
		}
		i = end
	}
	return nil
}

// reasonNotObject is the reason of a problem with JSON of another kind.
const reasonNotObject = "not an object"

// isTransaction reports whether v is an array of objects of the fourth format,
// which were written together.
func (p *parser) isTransaction(v jsonl.Value) bool {
	if p.obj.Kind(v) != '[' {
		return false
	}
	n := 0
	for e := p.obj.ElementsOf(v); e.Next(); n++ {
		m := p.obj.MembersOf(e.Val)
		if !m.Next() || string(m.Key) != "kind" {
			return false
		}
	}
	return n > 0
}

// object reads one object of a line.
func (p *parser) object(line adapter.Line, v jsonl.Value, emit func(*session.Entry)) {
	p.arena.Reset()
	p.members = p.members[:0]
	all := p.collect(v)
	typ, kind := p.name(find(all, "type")), p.name(find(all, "kind"))
	if typ == "session" || typ == "" && kind == "header" {
		if p.state.Header.Version == 0 {
			p.state.Header = p.header(all, line.Offset+int64(v.Start), kind == "header")
		}
		return
	}
	kind = fourthKind(typ, kind)
	if typ == "" {
		typ = kind
	}
	e := &p.entry
	*e = session.Entry{
		Type:           typ,
		Offset:         line.Offset + int64(v.Start),
		Length:         v.End - v.Start,
		Line:           line.Number,
		FirstKeptIndex: -1,
		MimeTypes:      e.MimeTypes[:0],
		Parts:          e.Parts[:0],
	}
	p.unknown = p.unknown[:0]
	p.prompt = p.prompt[:0]
	p.project(all, kind)
	if e.ID == "" {
		e.ID = madeUpID(e.Offset)
	}
	own := p.when(find(all, "timestamp"))
	if own == 0 && !e.MessageTime.IsZero() {
		own = e.MessageTime.UnixMilli()
	}
	if own != 0 {
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
	emit(e)
}

// fourthKind returns what kind of line of the fourth format this is, "" when it
// is none: other formats have members of that name too.
func fourthKind(typ, kind string) string {
	switch kind {
	case "entry", "record":
		if typ != "usage" {
			return kind
		}
	case "lane", "fact", "value", "list", "usage":
		if typ == "" {
			return kind
		}
	}
	return ""
}

// header reads the header of a session.
func (p *parser) header(all []member, offset int64, fourth bool) session.Header {
	h := session.Header{
		ID:      p.string(find(all, "id")),
		CWD:     p.string(find(all, "cwd")),
		Version: 1,
		Offset:  offset,
	}
	if fourth {
		h.Version = 4
	}
	for _, key := range []string{"version", "v"} {
		if n, ok := p.integer(find(all, key)); ok && n > 0 && n < 1<<31 {
			h.Version = int(n)
			break
		}
	}
	for _, key := range []string{"timestamp", "createdAt"} {
		if ms := p.when(find(all, key)); ms != 0 {
			h.Timestamp = time.UnixMilli(ms).UTC()
			break
		}
	}
	for _, key := range []string{"parentSession", "branchedFrom", "legacyParentSessionPath", "parentSessionId"} {
		if h.ParentSession = p.string(find(all, key)); h.ParentSession != "" {
			break
		}
	}
	return h
}

// member is one member of an object; of several with the same key the last.
type member struct {
	key []byte
	val jsonl.Value
}

// collect returns the members of an object, on top of p.members.
func (p *parser) collect(v jsonl.Value) []member {
	base := len(p.members)
	var places map[string]int
	for m := p.obj.MembersOf(v); m.Next(); {
		if k := place(p.members[base:], m.Key, &places); k >= 0 {
			p.members[base+k].val = m.Val
			continue
		}
		p.members = append(p.members, member{m.Key, m.Val})
	}
	return p.members[base:len(p.members):len(p.members)]
}

const manyKeys = 32 // more keys than this are looked up in a map

// place returns the index of the member with this key, or -1. It fills the map
// once there are many.
func place(all []member, key []byte, places *map[string]int) int {
	if len(all) < manyKeys {
		for k := range all {
			if bytes.Equal(all[k].key, key) {
				return k
			}
		}
		return -1
	}
	if *places == nil {
		*places = make(map[string]int, 2*manyKeys)
		for k := range all {
			(*places)[string(all[k].key)] = k
		}
	}
	if k, ok := (*places)[string(key)]; ok {
		return k
	}
	(*places)[string(key)] = len(all)
	return -1
}

// find returns the value of the member with this key.
func find(all []member, key string) jsonl.Value {
	for k := range all {
		if string(all[k].key) == key {
			return all[k].val
		}
	}
	return jsonl.Value{}
}

// string returns the text of a string value as a string of its own.
func (p *parser) string(v jsonl.Value) string { return string(p.obj.Text(v, &p.arena)) }

// Limits of the strings that are kept for the next time.
const (
	longestName = 64
	mostNames   = 1000
)

// name is string for the few texts that come again and again, and allocates
// each of them once.
func (p *parser) name(v jsonl.Value) string {
	text := p.obj.Text(v, &p.arena)
	if len(text) == 0 {
		return ""
	}
	if s, ok := p.names[string(text)]; ok {
		return s
	}
	s := string(text)
	if len(s) > longestName {
		return s
	}
	if p.names == nil || len(p.names) >= mostNames {
		p.names = make(map[string]string)
	}
	p.names[s] = s
	return s
}

func (p *parser) isTrue(v jsonl.Value) bool { return p.obj.Kind(v) == 't' }

// splitModel splits "provider/model", as version 0.7 writes it. A name without
// a slash is a model.
func splitModel(s string) (provider, model string) {
	if provider, model, ok := strings.Cut(s, "/"); ok {
		return provider, model
	}
	return "", s
}
