package entry

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
	"unsafe"

	"pigrep/internal/session"
)

// Row is an entry of a conversation in JSON.
type Row struct {
	Type       string       `json:"type"` // "entry"
	EntryID    string       `json:"entryId"`
	Short      string       `json:"shortEntryId,omitempty"` // as of session.EntryName
	ParentID   string       `json:"parentId,omitempty"`
	EntryType  string       `json:"entryType"`
	Role       string       `json:"role,omitempty"`
	Timestamp  session.Time `json:"timestamp,omitzero"`
	Line       int          `json:"line"`
	Offset     int64        `json:"offset"`
	Length     int          `json:"length"`
	Branch     string       `json:"branch"`
	InContext  bool         `json:"inContext"`
	Label      string       `json:"label,omitempty"`
	Step       bool         `json:"step,omitempty"` // a step of the machine or an empty entry, not conversation
	IsError    bool         `json:"isError"`
	Rejected   bool         `json:"rejected,omitempty"` // the person did not let the call of this result run
	Focus      bool         `json:"focus,omitempty"`    // the requested entry
	Provider   string       `json:"provider,omitempty"`
	Model      string       `json:"model,omitempty"`
	Tool       string       `json:"tool,omitempty"`
	ToolCallID string       `json:"toolCallId,omitempty"`
	CustomType string       `json:"customType,omitempty"`
	TargetID   string       `json:"targetId,omitempty"`
	Parts      []PartRow    `json:"parts"`
	Images     []ImageRow   `json:"images,omitempty"`

	SessionPath string `json:"sessionPath,omitempty"` // of the file that has it, if the conversation is in several
}

type PartRow struct {
	Part       int             `json:"part"`
	Kind       session.Kind    `json:"kind"`
	Text       string          `json:"text"`
	Tool       string          `json:"tool,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Subagents  []string        `json:"subagents,omitempty"` // that the call started
}

// ImageRow is an image of an entry in JSON, without its data.
type ImageRow struct {
	MimeType string `json:"mimeType"`
	Size     int    `json:"size"`
}

func ImageRowOf(i *session.Image) ImageRow { return ImageRow{i.MimeType, i.Size} }

// Named returns the name of the entry in its session.
func (e *Entry) Named() session.EntryName { return session.NewEntryName(e.ID, e.Short) }

// Row returns the entry in JSON, which shares the memory of its texts. focus marks the requested entry.
func (e *Entry) Row(focus bool) Row {
	r := Row{
		Type: "entry", EntryID: e.ID, Short: e.Named().ShortEntryID, ParentID: e.ParentID, EntryType: e.Type, Role: e.Role, Timestamp: session.Time{Time: e.Time},
		Line: e.Line, Offset: e.Offset, Length: e.Length, Branch: e.Branch, InContext: e.InContext, Label: e.Labelled,
		Step: e.Step != session.Talk, IsError: e.IsError, Rejected: e.View.Rejected, Focus: focus, Provider: e.Provider, Model: e.Model, Tool: e.Tool, ToolCallID: e.ToolCallID,
		CustomType: e.CustomType, TargetID: e.TargetID, Parts: []PartRow{}, SessionPath: e.SessionPath,
	}
	var calls []*session.Call
	for i := range e.View.Blocks {
		if b := &e.View.Blocks[i]; b.Call != nil {
			calls = append(calls, b.Call)
		} else if b.Image != nil {
			r.Images = append(r.Images, ImageRowOf(b.Image))
		}
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		if len(p.Text) == 0 {
			continue // an image
		}
		part := PartRow{Part: i, Kind: p.Kind, Text: unsafe.String(unsafe.SliceData(p.Text), len(p.Text)), Tool: p.Tool, ToolCallID: p.ToolCallID}
		if p.Kind == session.KindCall && len(calls) > 0 {
			// Calls without a name and arguments have no part.
			for len(calls) > 1 && (calls[0].Tool != p.Tool || calls[0].ID != p.ToolCallID) {
				calls = calls[1:]
			}
			if calls[0].Tool == p.Tool && calls[0].ID == p.ToolCallID {
				part.Arguments = rawJSON(calls[0].Raw)
				for _, s := range calls[0].Subagents {
					part.Subagents = append(part.Subagents, s.Name)
				}
				calls = calls[1:]
			}
		}
		r.Parts = append(r.Parts, part)
	}
	return r
}

// rawJSON makes JSON of a session file valid: it replaces bytes that are not UTF-8 and
// returns nil for what encoding/json rejects.
func rawJSON(raw []byte) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if !json.Valid(raw) { // nested too deeply
		return nil
	}
	return raw
}
