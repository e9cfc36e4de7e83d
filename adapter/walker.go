package adapter

import (
	"encoding/json"
	"reflect"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// A Walker is the Parser of an agent that writes a JSON object a line, but for what the agent
// itself knows: Read. Parsers embed it and set Read once; embedded Builder methods write the parts,
// facts and views. For each object the walker
//
//	begins Entry        with its place, and All, the members of the object
//	calls Read          which reads All: it sets the Type (and Role, ID, parent …), adds parts, and
//	                    reports false if the object is no entry, such as a header
//	adds the rest       the values that Read passed to Miss are the part "other"
//	completes Entry     an ID by the offset, a Timestamp by At, and Facts, unless Read set them
//	emits it
//
// Memo is what the parser remembers of earlier lines, besides Past: a struct that JSON can have,
// whose zero value holds at the start of a file. See State.Memo for what it may be used for.
type Walker[M any] struct {
	Builder
	Past State // after the entries so far; Read keeps its Header
	Memo M
	Read func() bool

	// Of the current entry.
	Range jsonl.Value // the object
	All   jsonl.Fields
	At    int64 // its time in Unix milliseconds: that of the member timestamp, unless Read sets it; 0 for that of the entry before, -1 for none
}

// State implements Parser.
func (w *Walker[M]) State() State {
	s := w.Past
	if s.Memo = nil; !reflect.ValueOf(&w.Memo).Elem().IsZero() {
		s.Memo, _ = json.Marshal(&w.Memo)
	}
	return s
}

// Reset implements Parser.
func (w *Walker[M]) Reset(state State) {
	w.Past, w.Memo = state, *new(M)
	if state.Memo != nil {
		_ = json.Unmarshal(state.Memo, &w.Memo) // one of another form leaves what it can
	}
}

// Parse implements Parser.
func (w *Walker[M]) Parse(line Line, emit func(*session.Entry)) []ParseError {
	w.Start(line)
	return Objects(&w.JSON, line, nil, func(v jsonl.Value) { w.Object(v, emit) })
}

// Start begins a line.
func (w *Walker[M]) Start(line Line) {
	w.Past.Lines, w.Line = line.Number, line
	w.JSON.Trusting = line.Wanted != nil
}

// Object emits the entry of an object on the line, if it is one.
func (w *Walker[M]) Object(v jsonl.Value, emit func(*session.Entry)) {
	e := w.Begin(w.Line, v)
	w.Range = v
	w.All, w.Sparse = w.JSON.Fields(v), w.Line.Wanted != nil
	w.At = w.JSON.Time(w.All.Find("timestamp"))
	if !w.Read() {
		return
	}
	w.Rest()
	if e.ID == "" {
		e.ID = OffsetID(e.Offset)
	}
	if e.Timestamp.IsZero() && w.At >= 0 {
		e.Timestamp = w.Past.Time(w.At)
	}
	if w.Past.Facts && e.Facts == nil {
		e.Facts = w.FactsOf()
	}
	emit(e)
}

// Rest adds the part "other", with the values that no rule covers, in file order.
func (w *Walker[M]) Rest() {
	if len(w.Unknown) > 0 {
		w.SortUnknown()
		w.AddLeaves(session.KindOther, w.Unknown, nil)
		w.Unknown = w.Unknown[:0]
	}
}
