package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/content"
	"pigrep/internal/jsonl"
	"pigrep/internal/lite"
)

// The tables that are read. The database also holds tokens: no other table is.
const (
	sessionTable = "session"
	messageTable = "message"
	partTable    = "part"
	secondTable  = "session_message" // in place of messages and parts, of sessions that another program began by the second API
	eventTable   = "event_sequence"  // the number of the last change
)

// Owns implements content.Database.
func (Agent) Owns(db *lite.DB) bool {
	return db.Has(sessionTable) && db.Has(messageTable) && db.Has(partTable)
}

// Sessions implements content.Database. OpenCode numbers the changes of a session, but for those of old versions: of
// these sessions, the rows are counted.
func (Agent) Sessions(db *lite.DB) iter.Seq2[content.Session, error] {
	return func(yield func(content.Session, error) bool) {
		events := make(map[string]int64)
		err := each(db, eventTable, func(v []lite.Value) { events[v[0].String()] = v[1].Int }, "aggregate_id", "seq")
		type count struct{ rows, last int64 }
		counts := make(map[string]count)
		var list []content.Session
		uncounted := false
		err = cmp.Or(err, each(db, sessionTable, func(v []lite.Value) {
			s := content.Session{ID: v[0].String(), Parent: v[1].String(), Begun: v[3].Int, Time: v[4].Int}
			if title := v[2].String(); !isPlaceholder(title) {
				s.Title = title
			}
			uncounted = uncounted || events[s.ID] == 0
			list = append(list, s)
		}, "id", "parent_id", "title", "time_created", "time_updated"))
		for _, table := range []string{messageTable, partTable, secondTable} {
			if !uncounted {
				break
			}
			err = cmp.Or(err, each(db, table, func(v []lite.Value) {
				c := counts[v[0].String()]
				counts[v[0].String()] = count{c.rows + 1, max(c.last, v[1].Int)}
			}, "session_id", "time_updated"))
		}
		if err != nil {
			yield(content.Session{}, err)
			return
		}
		for _, s := range list {
			c := counts[s.ID]
			s.Time = max(s.Time, c.last)
			s.Size = usualRow * max(c.rows, events[s.ID]/4, 1)
			s.Mark = fmt.Sprint(s.Time, events[s.ID], c)
			if !yield(s, nil) {
				return
			}
		}
	}
}

// usualRow is about how long the lines of a row are.
const usualRow = 900

func isPlaceholder(title string) bool {
	for _, begin := range []string{"New session - ", "Child session - "} {
		if len(title) > len(begin) && title[:len(begin)] == begin {
			return true
		}
	}
	return false
}

func each(db *lite.DB, table string, visit func([]lite.Value), columns ...string) error {
	if !db.Has(table) {
		return nil
	}
	for row, err := range db.Rows(table, "", "", columns...) {
		if err != nil {
			return err
		}
		visit(row.Values)
	}
	return nil
}

// message is a row of messages.
type message struct {
	id    string
	at    int64 // when it was created
	data  []byte
	parts []part
}

// part is where a row of parts is.
type part struct {
	id  string
	row int64
}

// messages returns the messages of a session with their parts, in order. The ids of parts are ordered within a
// message only.
func messages(db *lite.DB, id string) (list []*message, err error) {
	byID := make(map[string]*message)
	for row, err := range db.Rows(messageTable, "session_id", id, "id", "time_created", "data") {
		if err != nil {
			return nil, err
		}
		m := &message{id: row.Values[0].String(), at: row.Values[1].Int, data: row.Values[2].Bytes}
		byID[m.id] = m
		list = append(list, m)
	}
	for row, err := range db.Rows(partTable, "session_id", id, "id", "message_id") {
		if err != nil {
			return nil, err
		}
		if m := byID[row.Values[1].String()]; m != nil {
			m.parts = append(m.parts, part{row.Values[0].String(), row.ID})
		}
	}
	slices.SortFunc(list, func(a, b *message) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	for _, m := range list {
		slices.SortFunc(m.parts, func(a, b part) int { return cmp.Compare(a.id, b.id) })
	}
	return list, nil
}

// errEnd ends the lines of a session before what may still change.
var errEnd = errors.New("the rest may still change")

// Lines implements content.Database. A line has only what does not change any more:
//
//	session    id, directory, version, time
//	TYPE       a part: its id, the role and the model of its message, and what it says
//	call, result, shell    what a part of type tool says
//	message    the end of an assistant's message: tokens, cost, error
//
// The lines end before the first part that may still change; if that is text, it is the last line, without newline.
func (Agent) Lines(db *lite.DB, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		w := &writer{emit: func(line []byte) bool { return yield(line, nil) }}
		if err := w.session(db, id); err != nil && err != errEnd {
			yield(nil, err)
		}
	}
}

// writer writes the lines of a session.
type writer struct {
	json jsonl.Scanner
	line []byte
	emit func([]byte) bool // passes the line on

	apart bool // the tokens of the output do not include those of reasoning
}

func (w *writer) session(db *lite.DB, id string) error {
	for row, err := range db.Rows(sessionTable, "id", id, "id", "directory", "version", "time_created") {
		if err != nil {
			return err
		}
		w.begin("session", id, row.Values[3].Int)
		w.text("directory", row.Values[1].String())
		w.text("version", row.Values[2].String())
		if err := w.end(); err != nil {
			return err
		}
	}
	list, err := messages(db, id)
	if err != nil {
		return err
	}
	for i, m := range list {
		if err := w.message(db, m, i == len(list)-1); err != nil {
			return err
		}
	}
	if len(list) == 0 && db.Has(secondTable) {
		return w.second(db, id)
	}
	return nil
}

// begin begins a line.
func (w *writer) begin(kind, id string, at int64) {
	w.line = append(w.line[:0], `{"type":`...)
	w.line = appendString(w.line, kind)
	w.text("id", id)
	w.raw("time", strconv.AppendInt(nil, at, 10))
}

func (w *writer) text(name, value string) {
	if value != "" {
		w.raw(name, appendString(nil, value))
	}
}

// raw adds a member with JSON, unless that is empty.
func (w *writer) raw(name string, value []byte) {
	if len(value) == 0 || string(value) == "null" {
		return
	}
	w.line = append(w.line, ',')
	w.line = append(appendString(w.line, name), ':')
	w.line = append(w.line, bytes.ReplaceAll(value, []byte("\n"), []byte(" "))...)
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string never fails
	return append(b, quoted...)
}

// end passes the line on.
func (w *writer) end() error {
	if w.line = append(w.line, '}', '\n'); !w.emit(w.line) {
		return errEnd
	}
	return nil
}

// open passes the line on as one that may still change, and ends the lines.
func (w *writer) open() error {
	w.emit(append(w.line, '}'))
	return errEnd
}

// object reads JSON of a row. What is none has no members.
func (w *writer) object(data []byte) jsonl.Fields {
	w.json.Reset(data)
	v, err := w.json.Check(jsonl.SkipPadding(data, 0))
	if err != nil {
		return nil
	}
	return w.json.Fields(v)
}

func (w *writer) of(all jsonl.Fields, names ...string) (v jsonl.Value) {
	for i, name := range names {
		if v = all.Find(name); i < len(names)-1 {
			all = w.json.Fields(v)
		}
	}
	return v
}

// speaker is what the lines of a message say of it.
type speaker struct{ id, role, provider, model string }

func (w *writer) speaker(s speaker) {
	w.text("message", s.id)
	w.text("role", s.role)
	w.text("provider", s.provider)
	w.text("model", s.model)
}

// message writes the lines of a message. The last one of a session may still change.
func (w *writer) message(db *lite.DB, m *message, last bool) error {
	all := w.object(m.data)
	s := speaker{m.id, w.json.String(all.Find("role")), w.json.String(all.Find("providerID")), w.json.String(all.Find("modelID"))}
	done := !last || !w.of(all, "time", "completed").Empty() || !all.Find("error").Empty()
	summary := string(w.json.Raw(all.Find("summary"))) == "true"
	parts, step := m.parts, false
	for _, p := range parts {
		data, err := db.Get(partTable, p.row, "data")
		if err != nil {
			return err
		}
		kind, err := w.part(p.id, s, m.at, data[0].Bytes, done, summary, step)
		if err != nil {
			return err
		}
		step = step || kind == "step-start"
	}
	if s.role != "assistant" || !done {
		return nil
	}
	all = w.object(m.data)
	at := m.at
	if n, ok := w.json.Int(w.of(all, "time", "completed")); ok {
		at = n
	}
	return w.close(s, at, all)
}

// close writes the end of an assistant's message.
func (w *writer) close(s speaker, at int64, all jsonl.Fields) error {
	w.begin("message", s.id, at)
	s.id = ""
	w.speaker(s)
	for _, name := range []string{"tokens", "cost", "finish", "error"} {
		if v := all.Find(name); name != "error" || w.json.Kind(v) != '{' {
			w.raw(name, w.json.Raw(v))
			continue
		}
		e := w.json.Fields(all.Find(name))
		text := w.json.String(w.of(e, "data", "message"))
		w.text(name, cmp.Or(w.json.String(e.Find("name")), w.json.String(e.Find("type")))+": "+cmp.Or(text, w.json.String(e.Find("message"))))
	}
	if w.apart {
		w.raw("apart", []byte("true"))
	}
	return w.end()
}

// second writes the lines of rows of the second API. Each is rewritten until it is complete.
func (w *writer) second(db *lite.DB, id string) error {
	w.apart = true
	type row struct {
		id, kind string
		seq, at  int64
		data     []byte
	}
	var list []row
	for r, err := range db.Rows(secondTable, "session_id", id, "id", "type", "seq", "time_created", "data") {
		if err != nil {
			return err
		}
		v := r.Values
		list = append(list, row{v[0].String(), v[1].String(), v[2].Int, v[3].Int, v[4].Bytes})
	}
	slices.SortFunc(list, func(a, b row) int { return cmp.Compare(a.seq, b.seq) })
	for i, r := range list {
		all := w.object(r.data)
		s := speaker{r.id, r.kind, w.json.String(w.of(all, "model", "providerID")), w.json.String(w.of(all, "model", "id"))}
		if i == len(list)-1 && r.kind != "user" && w.of(all, "time", "completed").Empty() {
			return nil
		}
		if text := all.Find("text"); !text.Empty() {
			w.begin("text", r.id, r.at)
			w.speaker(s)
			w.raw("text", w.json.Raw(text))
			if err := w.end(); err != nil {
				return err
			}
		}
		n := 0
		for item := range w.json.Elements(all.Find("content")) {
			n++
			if err := w.content(fmt.Sprint(r.id, ".", n), s, r.at, w.json.Fields(item)); err != nil {
				return err
			}
		}
		if r.kind == "assistant" {
			if err := w.close(s, r.at, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// resultID is the id of the line with the result of a part.
func resultID(id string) string { return "result_" + strings.TrimPrefix(id, "prt_") }

// content writes the lines of a piece of a row of the second API.
func (w *writer) content(id string, s speaker, at int64, all jsonl.Fields) error {
	if n, ok := w.json.Int(w.of(all, "time", "created")); ok {
		at = n
	}
	kind := w.json.String(all.Find("type"))
	if kind != "tool" {
		w.begin(kind, id, at)
		w.speaker(s)
		w.raw("text", w.json.Raw(all.Find("text")))
		return w.end()
	}
	w.begin("call", id, at)
	w.speaker(s)
	w.raw("tool", w.json.Raw(all.Find("name")))
	w.raw("call", w.json.Raw(all.Find("id")))
	w.raw("input", w.json.Raw(w.of(all, "state", "input")))
	if err := w.end(); err != nil {
		return err
	}
	from := at
	if n, ok := w.json.Int(w.of(all, "time", "completed")); ok {
		at = n
	}
	state := w.json.Fields(all.Find("state"))
	w.begin("result", resultID(id), at)
	w.raw("call", w.json.Raw(all.Find("id")))
	w.raw("tool", w.json.Raw(all.Find("name")))
	w.raw("status", w.json.Raw(state.Find("status")))
	var texts []string
	for item := range w.json.Elements(state.Find("content")) {
		texts = append(texts, w.json.String(w.json.Fields(item).Find("text")))
	}
	w.text("output", strings.Join(texts, "\n"))
	w.raw("error", w.json.Raw(w.of(state, "error", "message")))
	w.raw("exit", w.json.Raw(w.of(state, "structured", "exit")))
	w.raw("duration", strconv.AppendInt(nil, at-from, 10))
	return w.end()
}

// part writes the lines of a part, and returns its type. A part of a message that is not done may still change.
func (w *writer) part(id string, s speaker, at int64, data []byte, done, summary, step bool) (kind string, err error) {
	all := w.object(data)
	kind = w.json.String(all.Find("type"))
	if n, ok := w.json.Int(w.of(all, "time", "start")); ok {
		at = n
	}
	settled := done || !w.of(all, "time", "end").Empty() || kind == "step-start" || kind == "step-finish"
	switch kind {
	case "tool":
		return kind, w.tool(id, s, at, all, done, step || s.role != "assistant")
	case "text":
		if summary {
			kind = "summary"
		}
	}
	w.begin(kind, id, at)
	w.speaker(s)
	for _, f := range all {
		switch name := string(f.Key); name {
		case "type", "time", "snapshot", "tokens", "cost", "hash", "metadata", "url", "source", "id", "messageID", "sessionID":
		default:
			w.raw(name, w.json.Raw(f.Val))
		}
	}
	if settled {
		return kind, w.end()
	}
	return kind, w.open()
}

// tool writes the call and the result of a part. The user ran it if the message has no step.
func (w *writer) tool(id string, s speaker, at int64, all jsonl.Fields, done, step bool) error {
	state := w.json.Fields(all.Find("state"))
	status := w.json.String(state.Find("status"))
	ended := status == "completed" || status == "error"
	if !ended && !done {
		return errEnd
	}
	if n, ok := w.json.Int(w.of(state, "time", "start")); ok {
		at = n
	}
	from := at
	if step {
		w.begin("call", id, at)
		w.speaker(s)
		w.raw("tool", w.json.Raw(all.Find("tool")))
		w.raw("call", w.json.Raw(all.Find("callID")))
		w.raw("input", w.json.Raw(state.Find("input")))
		if err := w.end(); err != nil || !ended {
			return err
		}
	}
	if n, ok := w.json.Int(w.of(state, "time", "end")); ok {
		at = n
	}
	if step {
		w.begin("result", resultID(id), at)
		w.raw("call", w.json.Raw(all.Find("callID")))
	} else {
		w.begin("shell", id, at)
		w.raw("command", w.json.Raw(w.of(state, "input", "command")))
	}
	w.raw("tool", w.json.Raw(all.Find("tool")))
	w.text("status", status)
	for _, name := range []string{"output", "error", "title"} {
		w.raw(name, w.json.Raw(state.Find(name)))
	}
	for _, name := range []string{"exit", "diff", "sessionId"} {
		w.raw(name, w.json.Raw(w.of(state, "metadata", name)))
	}
	if at > from {
		w.raw("duration", strconv.AppendInt(nil, at-from, 10))
	}
	return w.end()
}
