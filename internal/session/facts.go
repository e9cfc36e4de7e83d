package session

import (
	"maps"
	"slices"
)

// Usage is what an entry says of the tokens it took and what they cost.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
	Cost                                 float64 // in the currency of the provider's prices

	// Unusable says that a figure was there and is no number, negative or
	// beyond reason. It counts as 0.
	Unusable bool
}

// Tokens is the number of tokens of all four sorts.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// CallKind says where a call of a tool stands in a session.
type CallKind uint8

// The kinds of calls.
const (
	CallPlain   CallKind = iota // a reply called the tool
	CallNested                  // a tool called it
	CallShell                   // the person ran a shell command
	CallMissing                 // a result is there, its call is not
)

func (k CallKind) String() string {
	return [...]string{"call", "nested", "shell", "missing"}[k]
}

// ShellTool is the tool that commands of the person count for.
const ShellTool = "!"

// Unknown is a number of milliseconds, or an exit code, that is not known.
const Unknown = -1 << 31

// EntryFacts is what an entry says about the use of tools and of tokens. Like
// the entry it is valid only until the parser reads on.
type EntryFacts struct {
	Usage    Usage
	HasUsage bool

	Calls []EntryCall // that the entry makes, in order

	// Of a result: the entry answers the call ToolCallID of the entry.
	IsResult bool
	Outcome

	ReadFiles, ModifiedFiles []string // that a summary lists
}

// EntryCall is one call of a tool as an entry tells it.
type EntryCall struct {
	Kind    CallKind
	Part    int // number of its part, -1 when it has none
	ID      string
	Tool    string
	Text    []byte // the arguments, "name: value", one a line
	Command []byte // the shell command, nil when it runs none
	Paths   []string
	Outcome // of nested calls and shells
}

// Outcome is how a call ended.
type Outcome struct {
	Failed   bool
	Bytes    int64 // of its output
	Exit     int32 // Unknown when nothing tells it
	Duration int32 // milliseconds; Unknown when nothing tells it
}

// Facts is what an audit asks of one session file: the calls of tools and the
// use of tokens in it. They are kept beside the session record, and read by
// audits only.
type Facts struct {
	Usages  []UsageFact // in file order
	Calls   []CallFact  // in file order
	Touches []TouchFact // files that summaries list, in file order

	open  map[string]int // calls without a result, by id
	kept  factCounts     // how many of each are stored
	stale map[int]bool   // stored chunks that have changed since
}

// FactsChunk is how many uses of tokens, calls and touched files are stored in
// one piece: what is added to a long session must not have all of it written
// again.
const FactsChunk = 500

// Chunks returns the number of pieces in which the facts are stored.
func (f *Facts) Chunks() int {
	if f == nil {
		return 0
	}
	return (max(len(f.Usages), len(f.Calls), len(f.Touches)) + FactsChunk - 1) / FactsChunk
}

// Chunk returns one of these pieces, which shares the memory of the facts.
func (f *Facts) Chunk(i int) *Facts {
	return &Facts{Usages: chunk(f.Usages, i), Calls: chunk(f.Calls, i), Touches: chunk(f.Touches, i)}
}

func chunk[T any](list []T, i int) []T {
	return list[min(i*FactsChunk, len(list)):min((i+1)*FactsChunk, len(list))]
}

// Stored notes that the facts are stored as they are now.
func (f *Facts) Stored() {
	f.kept = factCounts{len(f.Usages), len(f.Calls), len(f.Touches)}
	f.stale = nil
}

// IsStored reports whether a piece is stored as it is now.
func (f *Facts) IsStored(i int) bool {
	end := (i + 1) * FactsChunk
	same := func(now, kept int) bool { return min(now, end) == min(kept, end) }
	return same(len(f.Usages), f.kept.usages) && same(len(f.Calls), f.kept.calls) && same(len(f.Touches), f.kept.touches) && !f.stale[i]
}

// factCounts is how many facts of each sort there are.
type factCounts struct{ usages, calls, touches int }

// change notes that a call has changed.
func (f *Facts) change(i int) {
	if i < f.kept.calls {
		if f.stale == nil {
			f.stale = make(map[int]bool)
		}
		f.stale[i/FactsChunk] = true
	}
}

// UsageFact is the use of tokens by one entry.
type UsageFact struct {
	Offset int64  // of the entry
	Time   int64  // milliseconds since 1970; 0 when unknown
	Copy   uint64 // Entry.Copy
	Source string // what used them: the role of a message, else the type of the entry
	Model  string // provider/model, "" when the entry names none
	Usage
}

// CallFact is one call of a tool, joined with its result.
type CallFact struct {
	Offset int64 // of the entry that has the call, or of the result when that is missing
	Time   int64 // milliseconds since 1970; 0 when unknown
	Copy   uint64
	Kind   CallKind
	Part   int // number of its part, -1 when it has none
	Tool   string
	Model  string // provider/model of the reply that called it, "" when none did

	HasResult  bool
	Result     int64  // offset of the entry with the result
	ResultCopy uint64 // Entry.Copy of that entry
	Outcome

	Programs []string // that its shell command runs, with their subcommands, as often as they run
	Broken   bool     // the shell command is not one that can be parsed

	// The details, which are kept apart: counting needs none of them.
	ID    string // toolCallId, "" when there is none
	Line  string // the arguments on one line or the shell command as typed; shortened
	Cut   bool   // Line is not all of it
	Shell bool   // Line is a shell command
	Paths []string
}

// TouchFact is what a summary says of a file.
type TouchFact struct {
	Offset int64
	Time   int64
	Copy   uint64
	Path   string
	Write  bool // it was changed; else read
}

// Clone returns facts that share no memory which adding to them changes.
func (f *Facts) Clone() *Facts {
	if f == nil {
		return nil
	}
	return &Facts{
		Usages: slices.Clone(f.Usages), Calls: slices.Clone(f.Calls), Touches: slices.Clone(f.Touches),
		open: maps.Clone(f.open), kept: f.kept, stale: maps.Clone(f.stale),
	}
}

// AddCall adds a call. A call of a reply that has an id waits for its result.
func (f *Facts) AddCall(c CallFact) {
	if c.waits() {
		f.load()
		f.open[c.ID] = len(f.Calls) // the later of two with one id gets the result
	}
	f.Calls = append(f.Calls, c)
}

func (c *CallFact) waits() bool { return c.Kind == CallPlain && c.ID != "" && !c.HasResult }

// Answer joins a result to the last call with the id, and returns the call; nil
// when there is no such call, or it has a result.
func (f *Facts) Answer(id string) *CallFact {
	if id == "" {
		return nil
	}
	f.load()
	i, ok := f.open[id]
	if !ok {
		return nil
	}
	delete(f.open, id)
	f.change(i)
	c := &f.Calls[i]
	c.HasResult = true
	return c
}

// load finds the calls without a result.
func (f *Facts) load() {
	if f.open != nil {
		return
	}
	f.open = make(map[string]int)
	for i := range f.Calls {
		if c := &f.Calls[i]; c.waits() {
			f.open[c.ID] = i
		} else if c.Kind == CallPlain {
			delete(f.open, c.ID)
		}
	}
}
