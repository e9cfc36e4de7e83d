package adapter

import (
	"encoding/json"
	"reflect"
	"slices"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// A LineParser is what parsers have in common whose agent writes one JSON object a line, an entry each.
// Parsers embed it and set Read once. For each object, the LineParser
//
//	begins Entry        with its place, and All, the members of the object
//	calls Read          which sets the Entry, and adds its pieces in the order in which a person reads them
//	adds the rest       what Read passed to Miss is the part "other", what it passed to Detail the last one
//	completes Entry     an ID by the offset, a Timestamp by At, a Step by Steps and, unless Read made them, Facts
//	emits it            unless Read set Skip, as for a header
//
// and makes the view when it is asked. Memo is what the parser remembers of earlier lines besides Known: a struct
// whose zero value holds at the start of a file. It is kept as JSON in State.Memo.
type LineParser[M any] struct {
	Builder
	Known State // so far; Read keeps its Header
	Memo  M

	// Of the agent.
	Read   func(v jsonl.Value) // reads an object, whose members are All
	Tools  map[string]Tool
	ToolOf func(name string) Tool                                       // in place of Tools
	OnCall func(c *session.EntryCall, does Tool, arguments jsonl.Value) // reads the command and the files of a call, in place of what its Tool says
	Steps  map[string]session.Step                                      // see StepOf; nil if Read sets the step
	Anew   bool                                                         // pending entries are written again with their facts: see session.Repetition

	// Of the current entry.
	All          jsonl.Fields
	Kind         string    // its type, as it is written
	At           int64     // its time in Unix milliseconds: that of the member timestamp, unless Read sets it; 0 for that of the entry before, -1 for none
	Skip         bool      // the object is no entry
	Details      []Unknown // its last part has those that no other part contains
	Diff         []byte    // what a tool recorded of its edits
	TokensBefore int64     // of a summary
	pieces       []piece
}

// piece is what a part of an entry does not say of itself, or what is in no part.
type piece struct {
	session.Outcome      // of a nested call
	Nested          bool // another tool made the call

	part  int // the number of its part; of an image, that of the part that it stands before
	sort  pieceSort
	id    string
	tool  string
	input jsonl.Value
	image session.Block
}

type pieceSort uint8

const (
	callPiece pieceSort = iota
	imagePiece
	filePiece // an image that belongs to the part
	shellPiece
)

// State implements Parser.
func (p *LineParser[M]) State() State {
	s := p.Known
	if s.Memo = nil; !reflect.ValueOf(&p.Memo).Elem().IsZero() {
		s.Memo, _ = json.Marshal(&p.Memo) // which has only values that JSON has
	}
	return s
}

// Reset implements Parser.
func (p *LineParser[M]) Reset(state State) {
	var none M
	p.Known, p.Memo = state, none
	if state.Memo != nil {
		_ = json.Unmarshal(state.Memo, &p.Memo) // one of another form leaves what it can
	}
}

// Parse implements Parser.
func (p *LineParser[M]) Parse(line Line, emit func(*session.Entry)) []ParseError {
	p.Start(line)
	return Objects(&p.JSON, line, nil, func(v jsonl.Value) { p.Object(v, emit) })
}

// Start begins a line.
func (p *LineParser[M]) Start(line Line) {
	p.Known.Lines, p.Line = line.Number, line
	p.JSON.Trusting = line.Wanted != nil
}

// Object emits the entry of an object on the line.
func (p *LineParser[M]) Object(v jsonl.Value, emit func(*session.Entry)) {
	e := p.Begin(p.Line, v)
	p.All, p.Sparse = p.JSON.Fields(v), p.Line.Wanted != nil
	p.Kind, p.At, p.Skip = p.JSON.Name(p.All.Find("type")), p.JSON.Time(p.All.Find("timestamp")), false
	p.Details, p.Diff, p.TokensBefore, p.pieces = p.Details[:0], nil, 0, p.pieces[:0]
	if p.Read(v); p.Skip {
		return
	}
	p.Rest()
	p.addDetails()
	if e.ID == "" {
		e.ID = OffsetID(e.Offset)
	}
	if e.Timestamp.IsZero() && p.At >= 0 {
		e.Timestamp = p.Known.Time(p.At)
	}
	if p.Steps != nil {
		e.Step = p.StepOf(p.Steps, e.CustomType, p.Kind, e.Role)
	}
	if p.Known.Facts && !e.Repeats && (!e.Pending || p.Anew) {
		p.addFacts()
		e.Facts = p.FactsOf()
	}
	emit(e)
}

// NameSession reads a line that names a session in a database: see content.Database.
func (p *LineParser[M]) NameSession() {
	e := &p.Entry
	e.Type, e.Apart, p.At = session.TypeSessionInfo, true, p.JSON.Time(p.All.Find("begun"))
	e.About, e.Name = p.JSON.String(p.All.Find("id")), p.JSON.String(p.All.Find("name"))
	p.Part(session.KindTitle, p.All.Find("name"))
}

// Rest adds the part "other", with the values that no rule covers, in file order.
func (p *LineParser[M]) Rest() {
	if len(p.Unknown) > 0 {
		p.SortUnknown()
		p.AddLeaves(session.KindOther, p.Unknown, nil)
		p.Unknown = p.Unknown[:0]
	}
}

// Identify sets the id of the entry, which its copies in other files share.
func (p *LineParser[M]) Identify(id jsonl.Value) {
	if e := &p.Entry; p.JSON.Kind(id) == '"' {
		e.ID, e.Copy, e.Once = p.JSON.String(id), max(p.JSON.Hash(id), 1), true
	} else {
		e.ID = OffsetID(e.Offset)
	}
}

// AddUsage says that the entry has the usage in Facts, which copies of it repeat.
func (p *LineParser[M]) AddUsage() {
	f := &p.Facts
	f.HasUsage, f.Usage.NoCost, f.UsageOf = true, true, p.Entry.Copy
}

// Message makes the entry a message.
func (p *LineParser[M]) Message(role string) {
	p.Entry.Type, p.Entry.Role = session.TypeMessage, role
}

// AddPrompt adds a text that the user typed.
func (p *LineParser[M]) AddPrompt(v jsonl.Value) {
	if text := p.Part(session.KindPrompt, v); p.Entry.Side == "" {
		p.Builder.AddPrompt(text)
		p.Entry.UserText = string(p.Prompt)
	}
}

// AddCall adds a call.
func (p *LineParser[M]) AddCall(tool, id string, input jsonl.Value) *piece {
	c := piece{Outcome: UnknownOutcome, part: len(p.Entry.Parts), sort: callPiece, id: id, tool: tool, input: input}
	p.Call(tool, id, input)
	if len(p.Entry.Parts) == c.part {
		c.part = -1
	}
	p.pieces = append(p.pieces, c)
	return &p.pieces[len(p.pieces)-1]
}

// AddImage adds an image, whose data is base64. It reports whether it is one.
func (p *LineParser[M]) AddImage(kind session.Kind, mimeType, data jsonl.Value) bool {
	if p.JSON.Kind(data) != '"' {
		return false
	}
	p.ShowImage(kind, Image(&p.JSON, mimeType, data))
	return true
}

// ShowImage adds an image, whose data is only shown.
func (p *LineParser[M]) ShowImage(kind session.Kind, image session.Image) {
	p.Entry.Images = append(p.Entry.Images, session.Image{MimeType: image.MimeType, Size: image.Size})
	p.pieces = append(p.pieces, piece{part: len(p.Entry.Parts), sort: imagePiece, image: session.Block{Kind: kind, Image: &image}})
}

// ShowFile shows a file with the last part, which has its name.
func (p *LineParser[M]) ShowFile(file session.Image) {
	p.pieces = append(p.pieces, piece{part: len(p.Entry.Parts) - 1, sort: filePiece, image: session.Block{Image: &file}})
}

// AddShell adds a command that the user ran.
func (p *LineParser[M]) AddShell(command jsonl.Value) {
	before := len(p.Entry.Parts)
	if p.Part(session.KindShell, command); len(p.Entry.Parts) > before {
		p.pieces = append(p.pieces, piece{part: before, sort: shellPiece})
	}
}

// AddShellText is AddShell for a part of a text.
func (p *LineParser[M]) AddShellText(command []byte) {
	if len(command) > 0 {
		p.pieces = append(p.pieces, piece{part: len(p.Entry.Parts), sort: shellPiece})
		p.Add(session.KindShell, command)
	}
}

// IsShell reports whether a part is a command that the user ran.
func (p *LineParser[M]) IsShell(part int) bool {
	return slices.ContainsFunc(p.pieces, func(c piece) bool { return c.sort == shellPiece && c.part == part })
}

// AddResult adds text of the result of the entry's call.
func (p *LineParser[M]) AddResult(v jsonl.Value) {
	before := len(p.Entry.Parts)
	if p.JSON.Kind(v) == '"' {
		p.Part(session.KindResult, v)
	} else if !v.Empty() {
		p.AddLeaves(session.KindResult, []Unknown{{Value: v}}, nil)
	}
	if len(p.Entry.Parts) > before {
		p.Entry.Parts[before].ToolCallID = p.Entry.ToolCallID
	}
}

// AddStrings adds one part with the strings of the named members, in this order.
func (p *LineParser[M]) AddStrings(kind session.Kind, all jsonl.Fields, names ...string) {
	var values []Unknown
	for _, name := range names {
		if v := all.Find(name); !v.Empty() {
			values = append(values, Unknown{Value: v})
		}
	}
	p.AddLeaves(kind, values, nil)
}

// Detail adds a value to the details.
func (p *LineParser[M]) Detail(v jsonl.Value) {
	if !v.Empty() {
		p.Details = append(p.Details, Unknown{Value: v, Block: true})
	}
}

// addDetails adds the details that the parts so far do not contain. If only some texts are wanted and the
// details have none, nothing is added: they are the last part.
func (p *LineParser[M]) addDetails() {
	wanted := !p.Sparse
	for _, v := range p.Details {
		wanted = wanted || p.Line.Wanted(p.JSON.Raw(v.Value))
	}
	if !wanted || len(p.Details) == 0 {
		return
	}
	held := make([][]byte, 0, 8)
	for i := range p.Entry.Parts {
		part := &p.Entry.Parts[i]
		if part.JSON != nil {
			held = append(held, jsonl.AppendText(nil, part.JSON))
		} else if len(part.Text) > 0 {
			held = append(held, part.Text)
		}
	}
	p.AddLeaves(session.KindDetails, p.Details, held)
}

// addFacts makes the facts of calls and results. Read has set the usage, and how a result ended but for Failed.
func (p *LineParser[M]) addFacts() {
	e, f := &p.Entry, &p.Facts
	for i := range p.pieces {
		switch c := &p.pieces[i]; c.sort {
		case callPiece:
			if c.Nested || e.Role == session.RoleAssistant {
				f.Calls = append(f.Calls, p.callFacts(c))
			}
		case shellPiece:
			if e.Role != session.RoleShell {
				continue
			}
			f.Calls = append(f.Calls, session.EntryCall{
				Kind: session.CallShell, Part: c.part, Tool: session.ShellTool, Deed: session.DeedRun, Command: e.Parts[c.part].Text, Outcome: UnknownOutcome,
			})
		}
	}
	if e.Role != session.RoleToolResult || f.IsResult { // Read has said how it ended
		return
	}
	f.IsResult = true
	f.Failed = !f.Rejected && (e.IsError || f.Exit != session.Unknown && f.Exit != 0)
	for i := range e.Parts {
		if e.Parts[i].Kind == session.KindResult {
			f.Bytes += int64(len(e.Parts[i].Text))
		}
	}
}

func (p *LineParser[M]) tool(name string) Tool {
	if p.ToolOf != nil {
		return p.ToolOf(name)
	}
	return p.Tools[name]
}

func (p *LineParser[M]) callFacts(c *piece) session.EntryCall {
	does := p.tool(c.tool)
	f := session.EntryCall{Part: c.part, Tool: c.tool, ID: c.id, Deed: does.Deed, Dialect: does.Dialect, Outcome: c.Outcome, Ended: c.id == ""}
	if c.Nested {
		f.Kind = session.CallNested
	}
	if c.part >= 0 {
		f.Text = ArgumentsIn(p.Entry.Parts[c.part].Text, c.tool)
	}
	if p.OnCall != nil {
		p.OnCall(&f, does, c.input)
		return f
	}
	input := p.JSON.Fields(c.input)
	for _, v := range [...]jsonl.Value{c.input, input.Find("patch")} {
		if patch := p.JSON.Text(v); IsPatch(patch) {
			f.Files = PatchFiles(patch)
			return f
		}
	}
	argument := func(name string) []byte {
		if name == "" {
			return nil
		}
		return p.JSON.Text(input.Find(name))
	}
	f.Command, f.Dir = argument(does.Command), string(argument(does.Dir))
	f.Escapes = does.Escapes != "" && p.JSON.IsTrue(input.Find(does.Escapes))
	path := argument(does.File)
	for i := 0; does.File != "" && i < len(session.PathNames) && len(path) == 0; i++ {
		path = argument(session.PathNames[i])
	}
	if len(path) > 0 && len(path) <= MaxPath {
		f.Files = []session.FileUse{{Path: string(path), Deed: does.Use}}
	}
	return f
}

// View implements Viewer.
func (p *LineParser[M]) View(e *session.Entry) *session.View {
	view := &session.View{Rejected: p.Facts.Rejected, Diff: p.Diff, TokensBefore: p.TokensBefore}
	next := 0
	for i := range len(e.Parts) + 1 {
		var own *piece
		for ; next < len(p.pieces) && p.pieces[next].part <= i; next++ {
			switch c := &p.pieces[next]; {
			case c.sort == imagePiece:
				if e.Role == session.RoleToolResult {
					c.image.Kind = session.KindResult
				}
				view.Blocks = append(view.Blocks, c.image)
			case c.part == i:
				own = c
			}
		}
		if i == len(e.Parts) || len(e.Parts[i].Text) == 0 && own == nil {
			continue
		}
		b := session.Block{Kind: e.Parts[i].Kind, Text: e.Parts[i].Text}
		switch {
		case own == nil:
		case own.sort == callPiece:
			b.Text, b.Call = nil, p.viewCall(own)
		case own.sort == filePiece:
			b.Image = own.image.Image
		case own.sort == shellPiece:
			b.Text, b.Shell = nil, &session.Shell{Command: string(b.Text)}
		}
		view.Blocks = append(view.Blocks, b)
	}
	return view
}

func (p *LineParser[M]) viewCall(c *piece) *session.Call {
	f := p.callFacts(c)
	call := &session.Call{ID: c.id, Tool: c.tool, Deed: f.Deed, Command: f.Command, Nested: c.Nested, Failed: c.Failed}
	if c.input.Empty() {
		return call
	}
	call.Raw = p.JSON.Raw(c.input)
	if p.JSON.Kind(c.input) == '"' {
		call.Arguments = []session.Argument{{Name: "input", Value: p.JSON.Text(c.input), Text: true}}
	} else {
		call.Arguments = Arguments(&p.JSON, c.input)
	}
	AddEdits(call)
	return call
}
