package adapter

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/scope"
)

// A Builder makes an entry from the JSON of a line. Parsers embed it. Emitted values point
// into the line, into the scanner's memory or into slices that the builder reuses. Only the
// short strings of an entry are copies.
type Builder struct {
	JSON   jsonl.Scanner
	Leaves jsonl.Leaves
	OnPart func(*session.Part) // completes each part before it is added; may be nil

	// Of the current entry.
	Entry   session.Entry
	Unknown []Unknown // for its part "other"
	Prompt  []byte    // its UserText
	Facts   session.EntryFacts

	// With wanted texts only, of the current entry.
	Line   Line // of the entry, with what says which they are
	Sparse bool // unwanted texts are left out
}

// Unknown is a value that no rule covers.
type Unknown struct {
	jsonl.Value
	Block bool // its type and id are no text
}

// Begin begins the entry of an object.
func (b *Builder) Begin(line Line, v jsonl.Value) *session.Entry {
	e := &b.Entry
	*e = session.Entry{
		Identity: session.Identity{Offset: line.Offset + int64(v.Start), Length: v.End - v.Start, Line: line.Number},
		Position: session.Position{FirstKeptIndex: -1, BehindTorn: v.Start > 0 && IsBehindTorn(line.Data, v.Start)}, Said: session.Said{Images: e.Images[:0]}, Repetition: session.Repetition{Shadows: e.Shadows[:0]}, Parts: e.Parts[:0],
	}
	b.Unknown, b.Prompt = b.Unknown[:0], b.Prompt[:0]
	b.Facts = session.EntryFacts{Calls: b.Facts.Calls[:0], Inner: b.Facts.Inner[:0], Others: b.Facts.Others[:0], Outcome: UnknownOutcome}
	return e
}

// Strange notes the name of something that the adapter does not know, such as a "line".
func (b *Builder) Strange(what, name string) {
	if len(b.Entry.Strange) < session.MaxStrange {
		b.Entry.Strange = append(b.Entry.Strange, what+" "+session.Cut(name, longestStrange))
	}
}

const longestStrange = 60

// Miss records a value that no rule covers.
func (b *Builder) Miss(v jsonl.Value) { b.Unknown = append(b.Unknown, Unknown{Value: v}) }

// MissOthers records the members that no rule covers.
func (b *Builder) MissOthers(all jsonl.Fields, known Keys, names ...string) {
	b.Unknown = AppendOthers(b.Unknown, all, known, names...)
}

// AppendOthers appends the members that are neither in the set nor among the names.
func AppendOthers(list []Unknown, all jsonl.Fields, known Keys, names ...string) []Unknown {
	for _, m := range all {
		if !known.Has(m.Key) && !slices.Contains(names, string(m.Key)) {
			list = append(list, Unknown{Value: m.Val})
		}
	}
	return list
}

// Part adds a part with the text of a string, and returns that text. A value of another
// shape is unknown.
func (b *Builder) Part(kind session.Kind, v jsonl.Value) []byte {
	if c := b.JSON.Kind(v); c == '{' || c == '[' {
		b.Miss(v)
		return nil
	}
	if b.Sparse {
		if json := b.JSON.JSON(v); len(json) > 0 {
			b.addPart(session.Part{Kind: kind, JSON: json})
		}
		return nil
	}
	text := b.JSON.Text(v)
	b.Add(kind, text)
	return text
}

// Add adds a part, unless its text is empty.
func (b *Builder) Add(kind session.Kind, text []byte) {
	if len(text) > 0 {
		b.addPart(session.Part{Kind: kind, Text: text})
	}
}

func (b *Builder) addPart(part session.Part) {
	if b.OnPart != nil {
		b.OnPart(&part)
	}
	b.Entry.Parts = append(b.Entry.Parts, part)
}

// AddLeaves adds one part with the strings of the values, except those that a held text
// contains, and returns its text.
func (b *Builder) AddLeaves(kind session.Kind, values []Unknown, held [][]byte) []byte {
	size := 0
	for _, v := range values {
		size += v.End - v.Start
	}
	if size == 0 {
		return nil
	}
	b.Leaves.Begin(&b.JSON, b.JSON.Room(size), false, held)
	for _, v := range values {
		b.Leaves.Add(v.Value, v.Block)
	}
	text := b.JSON.Keep(b.Leaves.End())
	b.Add(kind, text)
	return text
}

// Call adds the part of a call, and returns its text. Without a name and arguments it has none.
func (b *Builder) Call(tool, id string, arguments jsonl.Value) (text []byte) {
	var names [][2]int
	if !b.Sparse || tool == "" || b.Line.Wanted([]byte(tool)) || !arguments.Empty() && b.Line.Wanted(b.JSON.Raw(arguments)) {
		if text = b.CallText(&b.JSON, tool, arguments); len(text) == 0 {
			return nil
		}
		names = b.Leaves.Names
	}
	b.Entry.Parts = append(b.Entry.Parts, session.Part{Kind: session.KindCall, Text: text, Names: names, Tool: tool, ToolCallID: id})
	return text
}

// CallText returns the name of a tool and the arguments of its call, which are of a scanner.
func (b *Builder) CallText(scan *jsonl.Scanner, tool string, arguments jsonl.Value) []byte {
	room := scan.Room(len(tool) + arguments.End - arguments.Start + 64)
	b.Leaves.Begin(scan, append(room, tool...), true, nil)
	if !arguments.Empty() && scan.Kind(arguments) != 'n' {
		b.Leaves.Add(arguments, false)
	}
	return scan.Keep(b.Leaves.End())
}

// ArgumentsIn returns the text of the arguments in that of a call.
func ArgumentsIn(text []byte, tool string) []byte {
	return bytes.TrimPrefix(text[min(len(tool), len(text)):], []byte("\n"))
}

// SortUnknown sorts the values that no rule covers in file order.
func (b *Builder) SortUnknown() {
	slices.SortFunc(b.Unknown, func(a, b Unknown) int { return a.Start - b.Start })
}

// Findable adds an empty part to an entry that has only images: without any part no search
// could find it.
func (b *Builder) Findable(part session.Part) {
	if len(b.Entry.Parts) == 0 && len(b.Entry.Images) > 0 {
		b.Entry.Parts = append(b.Entry.Parts, part)
	}
}

// Has reports whether the entry has a part of a kind.
func (b *Builder) Has(kind session.Kind) bool {
	return slices.ContainsFunc(b.Entry.Parts, func(p session.Part) bool { return p.Kind == kind })
}

// MaxPrompt bounds Entry.UserText, which is only shown.
const MaxPrompt = 64 << 10

// AddPrompt adds a text to what the user typed.
func (b *Builder) AddPrompt(text []byte) {
	if len(b.Prompt) > 0 && len(b.Prompt) < MaxPrompt {
		b.Prompt = append(b.Prompt, ' ')
	}
	b.Prompt = append(b.Prompt, session.Cut(text, MaxPrompt-len(b.Prompt))...)
}

// StepOf says whether the entry is conversation: the table says so of the first of the names that
// it has, else the kinds of the parts. Results count even without a text, as names and summaries do.
func (b *Builder) StepOf(table map[string]session.Step, names ...string) session.Step {
	e, said := &b.Entry, false
	switch {
	case b.Line.Wanted != nil: // texts are missing
		return session.Talk
	case e.Role == session.RoleToolResult, e.Type == session.TypeCompaction, e.Type == session.TypeLabel, e.Type == session.TypeSessionInfo && e.Name == "":
		said = true
	case len(e.Images) == 0 && !slices.ContainsFunc(e.Parts, func(p session.Part) bool { return len(bytes.TrimSpace(p.Text)) > 0 }):
		return session.StepEmpty
	}
	for _, name := range names {
		if step, ok := table[name]; ok {
			return step
		}
	}
	if said || len(e.Images) > 0 || slices.ContainsFunc(e.Parts, func(p session.Part) bool { return scope.Conversations.Holds(p.Kind) }) {
		return session.Talk
	}
	if e.Type == session.TypeMessage && e.Role != session.RoleSystem { // of an unknown role
		return session.Talk
	}
	return session.StepRecord
}

// FactsOf returns the facts of the entry, nil if it has none.
func (b *Builder) FactsOf() *session.EntryFacts {
	if f := &b.Facts; f.HasUsage || f.IsResult || len(f.Calls)+len(f.ReadFiles)+len(f.ModifiedFiles) > 0 {
		return f
	}
	return nil
}

// Time returns the time of an entry that says so, in Unix milliseconds, or with 0 that of the
// entry before or of the header; no time if none is known.
func (s *State) Time(at int64) time.Time {
	at = cmp.Or(at, s.LastTime)
	if at == 0 && !s.Header.Timestamp.IsZero() {
		at = s.Header.Timestamp.UnixMilli()
	}
	if at == 0 {
		return time.Time{}
	}
	s.LastTime = at
	return TimeOf(at)
}

// TimeOf returns the time of Unix milliseconds.
func TimeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
