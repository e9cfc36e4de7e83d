package query

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"pigrep/internal/session"
)

// EntryRow is an entry of a conversation in JSON.
type EntryRow struct {
	Type       string     `json:"type"` // "entry"
	EntryID    string     `json:"entryId"`
	ParentID   string     `json:"parentId,omitempty"`
	EntryType  string     `json:"entryType"`
	Role       string     `json:"role,omitempty"`
	Timestamp  Time       `json:"timestamp,omitzero"`
	Line       int        `json:"line"`
	Offset     int64      `json:"offset"`
	Length     int        `json:"length"`
	Branch     string     `json:"branch"`
	InContext  bool       `json:"inContext"`
	Label      string     `json:"label,omitempty"`
	IsError    bool       `json:"isError"`
	Focus      bool       `json:"focus,omitempty"` // it was asked for
	Provider   string     `json:"provider,omitempty"`
	Model      string     `json:"model,omitempty"`
	Tool       string     `json:"tool,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	CustomType string     `json:"customType,omitempty"`
	TargetID   string     `json:"targetId,omitempty"`
	Parts      []PartRow  `json:"parts"`
	Images     []ImageRow `json:"images,omitempty"`
}

// PartRow is a part of an entry in JSON.
type PartRow struct {
	Part       int             `json:"part"`
	Kind       session.Kind    `json:"kind"`
	Text       string          `json:"text"`
	Tool       string          `json:"tool,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
}

// ImageRow is what is said of an image of an entry.
type ImageRow struct {
	MimeType string `json:"mimeType"`
	Size     int    `json:"size"`
}

// Row returns the entry as it is in JSON; focus says that it was asked for.
func (e *Entry) Row(focus bool) EntryRow {
	r := EntryRow{
		Type: "entry", EntryID: e.ID, ParentID: e.ParentID, EntryType: e.Type, Role: e.Role, Timestamp: Time{Time: e.Time},
		Line: e.Line, Offset: e.Offset, Length: e.Length, Branch: e.Branch, InContext: e.InContext, Label: e.Labelled,
		IsError: e.IsError, Focus: focus, Provider: e.Provider, Model: e.Model, Tool: e.Tool, ToolCallID: e.ToolCallID,
		CustomType: e.CustomType, TargetID: e.TargetID, Parts: []PartRow{},
	}
	var calls []*session.Call
	for i := range e.View.Blocks {
		if b := &e.View.Blocks[i]; b.Call != nil {
			calls = append(calls, b.Call)
		} else if b.Image != nil {
			r.Images = append(r.Images, ImageRow{b.Image.MimeType, b.Image.Size})
		}
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		part := PartRow{Part: i, Kind: p.Kind, Text: string(p.Text), Tool: p.Tool, ToolCallID: p.ToolCallID}
		if p.Kind == session.KindCall && len(calls) > 0 {
			// Calls without a name and arguments have no part.
			for len(calls) > 1 && (calls[0].Tool != p.Tool || calls[0].ID != p.ToolCallID) {
				calls = calls[1:]
			}
			if calls[0].Tool == p.Tool && calls[0].ID == p.ToolCallID {
				part.Arguments = rawJSON(calls[0].Raw)
				calls = calls[1:]
			}
		}
		r.Parts = append(r.Parts, part)
	}
	return r
}

// rawJSON is JSON of a session file as JSON that everybody reads: such a file
// may hold bytes that are not UTF-8.
func rawJSON(raw []byte) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if !json.Valid(raw) { // nested too deep for a common reader
		return nil
	}
	return raw
}

// GrepPlace says in JSON where a match is, with the names that hits have.
type GrepPlace struct {
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	EntryID     string       `json:"entryId,omitempty"`
	Kind        session.Kind `json:"kind"`
	Role        string       `json:"role,omitempty"`
	Timestamp   Time         `json:"timestamp,omitzero"`
	Line        int          `json:"line"`
	Offset      int64        `json:"offset"`
	Length      int          `json:"length"`
	Part        int          `json:"part"`
	Tool        string       `json:"tool,omitempty"`
	ToolCallID  string       `json:"toolCallId,omitempty"`
	IsError     bool         `json:"isError"`
	Provider    string       `json:"provider,omitempty"`
	Model       string       `json:"model,omitempty"`
	CustomType  string       `json:"customType,omitempty"`
}

// Place returns where the match is.
func (m *GrepMatch) Place() GrepPlace {
	return GrepPlace{
		m.SessionPath, m.SessionID, m.EntryID, m.Kind, m.Role, m.Timestamp, m.Line, m.Offset, m.Length, m.Part,
		m.Tool, m.ToolCallID, m.IsError, m.Provider, m.Model, m.CustomType,
	}
}

// GrepRow is a line of a match in JSON.
type GrepRow struct {
	Type string `json:"type"` // "match" or "context"
	GrepPlace
	Number int      `json:"lineNumber"`
	At     int      `json:"lineOffset"`
	Text   string   `json:"text"`
	Spans  [][2]int `json:"spans,omitempty"`
}

// Rows returns the lines of the match.
func (m *GrepMatch) Rows() []GrepRow {
	rows := make([]GrepRow, len(m.Lines))
	for i, l := range m.Lines {
		rows[i] = GrepRow{"context", m.Place(), l.Number, l.Offset, l.Text, l.Spans}
		if l.Match {
			rows[i].Type = "match"
		}
	}
	return rows
}

// SessionRow is a session of a list in JSON. Score and hits are there when there
// was a text to search for.
type SessionRow struct {
	SessionHit
	Score      *float64 `json:"score,omitempty"`
	Hits       *int     `json:"hits,omitempty"`
	HitsAny    *int     `json:"hitsAny,omitempty"`
	ParentPath string   `json:"parentPath,omitempty"`
	Depth      int      `json:"depth,omitempty"`
	Best       string   `json:"entryId,omitempty"` // of the best hit
}

// Row returns the session as it is in JSON.
func (s *ListedSession) Row(searched bool) SessionRow {
	r := SessionRow{SessionHit: s.SessionHit, ParentPath: s.ParentPath, Depth: s.Depth}
	if searched {
		r.Score, r.Hits, r.HitsAny = &s.Score, &s.Hits, &s.HitsAny
		if s.Hit != nil {
			r.Best = s.Hit.EntryID
		}
	}
	return r
}
