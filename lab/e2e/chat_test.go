package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// chat is the agent of docs/adding-an-adapter.md, whose session files have a line
// {"room":…,"dir":…} first and then one {"at":…,"who":…,"says":…} for each message. What
// else it writes is one of each surprise that the files of agents have: see chatLine.
type chat struct{}

func (chat) Name() string { return "chat.v1" }

func (chat) Label() string { return "Chat" }

func (chat) Revision() int { return 0 }

func (chat) Recognize(head []byte) adapter.Sort {
	switch {
	case bytes.HasPrefix(head, []byte(`{"room":`)), bytes.HasPrefix(head, []byte(`{"slot":`)):
		return adapter.Transcript
	case bytes.HasPrefix(head, []byte(`{"note":`)):
		return adapter.Notes
	}
	return adapter.Foreign
}

// Volatile makes it an adapter.Overwriter. A file may begin with a line for its title.
func (chat) Volatile(head []byte) int64 {
	if !bytes.HasPrefix(head, []byte(`{"slot":`)) {
		return 0
	}
	return int64(bytes.IndexByte(head, '\n') + 1)
}

func (chat) Roots(env adapter.Environment) ([]adapter.Root, error) {
	return []adapter.Root{{Path: filepath.Join(env.Home, ".chat"), Origin: "default", Usual: true}}, nil
}

func (chat) Parse(state adapter.State) adapter.Parser { return newChatParser(state) }

// chatLine is a line.
type chatLine struct {
	Room, Dir string // of the header
	Part      string // of the header: which file of the room it is
	Base      string // of the header: the room in whose file its history begins
	BasePart  string // that file
	First     int64  // the ordinal of the first line
	Until     int64  // that of the first line of the base that is not its history
	Boss      string // of the header: the room that it works for
	At        int64  // Unix milliseconds; the line before counts if it is absent

	Who, Says string // a message, of me or it

	ID, On string // of an entry, and of the one that it follows. An entry may be written again with its id
	Of     string // the message that this is a piece of
	Beside string // the conversation beside the main one that it belongs to

	Tokens   int64  // used so far by the response
	Response string // its id, if several lines repeat its tokens

	Queued string // a prompt that waits; the message with the same text, if it comes, replaces it
	Echo   string // what the last message said, once more; if it did not, it is said only here

	Call, Cmd    string // the id of a call, and the command that it runs
	Result       string // the id of a call that has ended, or goes on
	Exit         *int32
	Amends, Text string // an earlier call that has ended by now, and what a result printed

	Slot *string // the title, overwritten in place
	Note string  // in Notes: the room that the name is of
	Name string  // of the session
	Rank uint8   // of the name: one that me chose counts more
	For  string  // the entry of the session that the name is of, if it may be another one

	Leaf  string // the entry at which the conversation goes on
	Model string // from here on
}

// chatMemo is what the parser remembers of earlier lines.
type chatMemo struct {
	Queued  []chatQueued // of prompts that wait, the last eight
	Said    uint64       // the hash of what the last message said
	Last    string       // the id of the last entry
	Context session.Context
}

type chatQueued struct {
	Text   uint64 // its hash
	Offset int64
}

type chatParser struct {
	state adapter.State
	memo  chatMemo
}

func newChatParser(state adapter.State) *chatParser {
	p := &chatParser{}
	p.Reset(state)
	return p
}

func (p *chatParser) State() adapter.State {
	s := p.state
	s.Memo, _ = json.Marshal(p.memo)
	return s
}

func (p *chatParser) Reset(state adapter.State) {
	p.state, p.memo = state, chatMemo{}
	if state.Memo != nil {
		_ = json.Unmarshal(state.Memo, &p.memo)
	}
}

func (p *chatParser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines = line.Number
	data := bytes.TrimSpace(line.Data)
	if len(data) == 0 {
		return nil
	}
	offset := line.Offset + int64(bytes.Index(line.Data, data))
	var m chatLine
	if err := json.Unmarshal(data, &m); err != nil {
		return []adapter.ParseError{{Line: line.Number, Offset: offset, Reason: err.Error(), Torn: !line.Ended}}
	}
	if m.Room != "" {
		if p.state.Header.Version == 0 {
			h := session.Header{ID: m.Room, CWD: m.Dir, Version: 2, Offset: offset, Part: m.Part, Ordinal: m.First}
			switch {
			case m.Base != "":
				h.Base, h.Relation, h.ParentSession = session.Base{Session: m.Base, Part: m.BasePart, Ordinal: m.Until}, session.Continued, m.Base
				if m.Base == m.Room {
					h.Relation = session.Reverted
				}
			case m.Boss != "":
				h.Relation, h.ParentSession = session.Spawned, m.Boss
			}
			p.state.Header = h
		}
		return nil
	}
	at := m.At
	if at == 0 {
		at = p.state.LastTime
	}
	p.state.LastTime = at
	e := &session.Entry{
		Identity: session.Identity{ID: m.ID, Offset: offset, Length: len(data), Line: line.Number}, Position: session.Position{ParentID: m.On, HasParent: true, Message: m.Of, Side: m.Beside, FirstKeptIndex: -1}, Repetition: session.Repetition{Once: m.ID != ""},
	}
	if e.ID == "" {
		e.ID = "@" + strconv.FormatInt(offset, 10)
	}
	if at != 0 {
		e.Timestamp = time.UnixMilli(at).UTC()
	}
	if m.ID != "" {
		e.Copy = max(1, xxhash.Sum64String(m.ID))
	}
	if m.On == "" && m.ID == "" { // it follows the entry before
		e.ParentID = p.memo.Last
	}
	p.entry(e, &m)
	if !p.state.Facts {
		e.Facts = nil
	}
	e.Context = p.memo.Context
	if !e.Apart && !e.Aside && e.Side == "" {
		p.memo.Last = e.ID
	}
	emit(e)
	return nil
}

// entry fills in what depends on the sort of the line.
func (p *chatParser) entry(e *session.Entry, m *chatLine) {
	part := func(kind session.Kind, text string) {
		if text != "" {
			e.Parts = append(e.Parts, session.Part{Kind: kind, Text: []byte(text), ToolCallID: m.Call + m.Result})
		}
	}
	e.Type, e.Facts = session.TypeMessage, &session.EntryFacts{}
	switch {
	case m.Who == "me":
		e.Role, e.UserText = session.RoleUser, m.Says
		part(session.KindPrompt, m.Says)
		p.shadow(e, m.Says)
	case m.Who != "":
		e.Role = session.RoleAssistant
		part(session.KindReply, m.Says)
		p.memo.Said = xxhash.Sum64String(m.Says)
	case m.Queued != "":
		e.Role, e.UserText, e.Pending, e.Aside = session.RoleUser, m.Queued, true, true
		part(session.KindPrompt, m.Queued)
		p.memo.Queued = append(p.memo.Queued, chatQueued{xxhash.Sum64String(m.Queued), e.Offset})
		p.memo.Queued = p.memo.Queued[max(0, len(p.memo.Queued)-8):]
	case m.Echo != "":
		e.Role, e.Repeats = session.RoleAssistant, p.memo.Said == xxhash.Sum64String(m.Echo)
		part(session.KindReply, m.Echo)
	case m.Call != "":
		e.Role = session.RoleAssistant
		part(session.KindCall, "run\ncmd: "+m.Cmd)
		e.Facts.Calls = []session.EntryCall{{
			ID: m.Call, Tool: "run", Deed: session.DeedRun, Command: []byte(m.Cmd), Text: []byte("cmd: " + m.Cmd),
			Outcome: session.Outcome{Exit: session.Unknown, Duration: session.Unknown},
		}}
	case m.Result != "":
		e.Role, e.ToolCallID, e.Tool, e.Aside = session.RoleToolResult, m.Result, "run", true
		part(session.KindResult, m.Text)
		e.Facts.IsResult, e.Facts.Amends = true, m.Amends
		e.Facts.Outcome = session.Outcome{Exit: session.Unknown, Duration: session.Unknown, Bytes: int64(len(m.Text))}
		if m.Exit != nil {
			e.Facts.Exit, e.Facts.Failed = *m.Exit, *m.Exit != 0
			e.IsError = e.Facts.Failed
		}
	case p.state.Header.Notes:
		e.Type, e.Name, e.About, e.Apart = session.TypeSessionInfo, m.Name, m.Note, true
		part(session.KindTitle, m.Name)
	case m.Slot != nil:
		e.Type, e.Name, e.NameRank, e.Apart, e.Facts = session.TypeSessionInfo, *m.Slot, 9, true, nil
		part(session.KindTitle, *m.Slot)
	case m.Name != "":
		e.Type, e.Name, e.NameRank, e.TargetID, e.Apart = session.TypeSessionInfo, m.Name, m.Rank, m.For, true
		part(session.KindTitle, m.Name)
	case m.Leaf != "":
		e.Type, e.TargetID, e.Apart = session.TypeLeaf, m.Leaf, true
	case m.Model != "" || m.Dir != "":
		e.Type, e.Apart = "state", true
		part(session.KindMeta, m.Model+m.Dir)
		p.memo.Context.Model, p.memo.Context.CWD = m.Model, m.Dir
	}
	if m.Tokens > 0 && m.Slot == nil {
		e.Facts.HasUsage, e.Facts.Usage = true, session.Usage{Output: m.Tokens}
		if m.Response != "" {
			e.Facts.UsageOf = xxhash.Sum64String(m.Response)
		}
	}
}

// shadow makes a prompt replace the first one with the same text that waits.
func (p *chatParser) shadow(e *session.Entry, text string) {
	hash := xxhash.Sum64String(text)
	if i := slices.IndexFunc(p.memo.Queued, func(q chatQueued) bool { return q.Text == hash }); i >= 0 {
		e.Shadows = []int64{p.memo.Queued[i].Offset}
		p.memo.Queued = slices.Delete(p.memo.Queued, i, i+1)
	}
}

// ResumeCommand and Resume make it an adapter.Resumer.
func (chat) ResumeCommand(_ adapter.Environment, s *session.Summary) (dir string, argv []string) {
	return s.CWD, []string{"chat", "--room", s.ID}
}

func (c chat) Resume(env adapter.Environment, q *adapter.ResumeRequest) (*adapter.Resumption, error) {
	if q.Fork {
		return nil, &adapter.Obstacle{Program: "chat", Reason: "it has no copies"}
	}
	_, argv := c.ResumeCommand(env, &q.Record.Summary)
	return &adapter.Resumption{Argv: argv, Install: "install chat"}, nil
}
