package session

import (
	"maps"
	"math/bits"
	"slices"
)

// Usage is the tokens that an entry used, and their cost.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
	LongWrite                            int64   // of CacheWrite: what stays in the cache for an hour, at another price
	Cost                                 float64 // in the currency of the provider's prices

	// Unusable says that a figure is not a number, is negative or is
	// impossibly large. It counts as 0.
	Unusable bool

	// NoCost says that the agent writes no costs, so they may be estimated. A written cost of 0
	// means that the model is free, or that the agent knew no price.
	NoCost bool

	// Faster says that the provider served it at a faster tier, at a higher price.
	Faster bool
}

// Tokens is the sum of all four kinds of tokens.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Unpriced reports whether tokens were used without a cost: the model has no price.
func (u *Usage) Unpriced() bool { return u.Cost == 0 && !u.Unusable && u.Tokens() > 0 }

// ModelUsage is what uses of one model used together. They have the same price.
type ModelUsage struct {
	Model string // provider/model
	Uses  int
	Usage
}

// add adds a use, or takes it away.
func (m *ModelUsage) add(u *Usage, sign int64) {
	m.Uses += int(sign)
	m.Input += sign * u.Input
	m.Output += sign * u.Output
	m.CacheRead += sign * u.CacheRead
	m.CacheWrite += sign * u.CacheWrite
	m.LongWrite += sign * u.LongWrite
}

// hasPriceOf reports whether a use of a model has the same price.
func (m *ModelUsage) hasPriceOf(model string, u *Usage) bool {
	return m.Model == model && m.NoCost == u.NoCost && m.Faster == u.Faster
}

// UsageChange is the change that a fact makes to the usage of a session. Before is the usage that an earlier
// fact of the same response stood for.
type UsageChange struct {
	Model, Source string
	Before, After Usage
}

// CallKind says who made a tool call.
type CallKind uint8

// The kinds of calls.
const (
	CallPlain   CallKind = iota // a reply called the tool
	CallNested                  // a tool called it
	CallShell                   // the user ran a shell command
	CallMissing                 // there is a result but no call
)

func (k CallKind) String() string {
	return [...]string{"call", "nested", "shell", "missing"}[k]
}

// ShellTool is the tool name of commands that the user ran.
const ShellTool = "!"

// Unknown is an unknown duration or exit code.
const Unknown = -1 << 31

// EntryFacts is the information of an entry about tools and tokens. Like the entry, it is
// valid only until the parser continues.
type EntryFacts struct {
	Usage    Usage
	HasUsage bool
	SubModel string // provider/model that the usage is of, if the entry does not say it: that of subagents, or of the turn

	// UsageOf identifies the response that the usage is of, in all files: a hash of its id. Of
	// several usages of one response in a file, the figures of the last count, at the place
	// of the first; of several files, the first one counts. 0: the response is the entry.
	UsageOf uint64

	// Others are uses by further models for the same response, such as an adviser.
	Others []OtherUsage

	Calls []EntryCall // in order

	// Of a result: it answers the call Entry.ToolCallID.
	IsResult bool
	Outcome

	// Ended reports that the calls within a result's call have ended. Inner has an outcome for each output that
	// can be told apart, in order. Stopped is the first word of the error that ended the calls.
	Ended   bool
	Inner   []Outcome
	Stopped string

	// Amends is the id of an earlier call whose outcome this result completes, beside that
	// of its own call: that of a command which went on in the background. Figures that are
	// known replace those of the earlier call, and bytes are added to its. "" for none.
	Amends string

	ReadFiles, ModifiedFiles []string // listed by a summary
}

// OtherUsage is a use of tokens by a model other than the model of its entry.
type OtherUsage struct {
	Usage
	Model string // provider/model
}

type EntryCall struct {
	Kind    CallKind
	Part    int // number of its part, -1 if it has none
	ID      string
	Tool    string // as written
	Deed    Deed
	Text    []byte    // the arguments, "name: value", one per line
	Command []byte    // the shell command, nil if it runs none: as a person would type it, not the list of words that runs a shell
	Dialect Dialect   // of the command
	Dir     string    // where the command runs, or where relative paths begin; "" for the working directory of the entry
	Files   []FileUse // that the arguments name
	Outcome           // of nested calls, shells and calls that have Ended
	Ended   bool      // no result follows: its agent writes none, or its Outcome is known
	Escapes bool      // it asks to run outside of the agent's sandbox
	Unread  bool      // it is a script that runs commands which are not literal
}

// Deed says what a call does, in words that all agents share.
type Deed uint8

// The deeds.
const (
	DeedOther    Deed = iota
	DeedRun           // a command
	DeedRead          // a file
	DeedWrite         // a whole file
	DeedEdit          // a part of a file
	DeedDelete        // a file
	DeedList          // files, or lines in files: names, patterns
	DeedFetch         // something from the network
	DeedDelegate      // work to another agent
	DeedPlan          // keeps a list of what is to be done
	DeedAsk           // the person
	DeedPoll          // waits for a command that goes on in the background, or ends it
)

// Deeds are the names of the deeds.
var Deeds = [...]string{"other", "run", "read", "write", "edit", "delete", "list", "fetch", "delegate", "plan", "ask", "poll"}

func (d Deed) String() string { return Deeds[d] }

func (d Deed) Writes() bool { return d == DeedWrite || d == DeedEdit || d == DeedDelete }

// FileUse is a file among the arguments of a call, and what the call does to it: moving a
// file deletes one and writes another.
type FileUse struct {
	Path string
	Deed Deed // DeedOther: that of the call
}

// Dialect is the language of a shell command.
type Dialect uint8

// The dialects.
const (
	DialectPOSIX Dialect = iota
	DialectPowerShell
	DialectCmd
)

// Outcome is how a call ended.
type Outcome struct {
	Failed   bool
	Rejected bool  // the person did not let it run; it did not fail
	NoMatch  bool  // it did not fail: its exit code says no, as that of grep does when nothing matches
	Bytes    int64 // size of its output
	Exit     int32 // exit code, or Unknown
	Duration int32 // milliseconds, or Unknown
}

// Succeeded reports whether a call that has a result ran without failing.
func (o *Outcome) Succeeded() bool { return !o.Failed && !o.Rejected }

// Facts is what audits need from one session file: tool calls and token usage. They
// are stored next to the session record and read only by audits.
type Facts struct {
	Usages  []UsageFact // in file order
	Calls   []CallFact  // in file order
	Touches []TouchFact // files listed by summaries, in file order

	byID   map[string]int // the last call of a reply with each id; nil until it is needed
	starts []factCounts   // of the second and further pieces
	kept   factCounts     // the numbers that are stored
	stale  map[int]bool   // stored pieces that have changed since

	left    int                             // pieces before, which were left in the index
	earlier func(piece int) (*Facts, error) // reads one of them
	err     error
}

// FactsChunk is the number of usages, calls or touched files after which the next entry
// begins another piece. Pieces are stored separately, so that an addition to a long session
// reads and writes the last one only.
const FactsChunk = 500

// factCounts is the number of facts of each kind.
type factCounts [3]int

const (
	usages = iota
	calls
	touches
)

func (c factCounts) plus(o factCounts) factCounts {
	return factCounts{c[usages] + o[usages], c[calls] + o[calls], c[touches] + o[touches]}
}

func (f *Facts) counts() factCounts {
	return factCounts{len(f.Usages), len(f.Calls), len(f.Touches)}
}

// Begin begins an entry. All facts of an entry are in one piece.
func (f *Facts) Begin() {
	var from factCounts
	if n := len(f.starts); n > 0 {
		from = f.starts[n-1]
	}
	to := f.counts()
	if max(to[usages]-from[usages], to[calls]-from[calls], to[touches]-from[touches]) >= FactsChunk {
		f.starts = append(f.starts, to)
	}
}

// Chunks returns the number of pieces that store the facts.
func (f *Facts) Chunks() int {
	if f == nil || f.left == 0 && f.counts() == (factCounts{}) {
		return 0
	}
	return f.left + len(f.starts) + 1
}

func (f *Facts) bounds(i int) (from, to factCounts) {
	i -= f.left
	to = f.counts()
	if i > 0 {
		from = f.starts[i-1]
	}
	if i < len(f.starts) {
		to = f.starts[i]
	}
	return from, to
}

// Chunk returns one of the pieces that were not left in the index. It shares the memory of
// the facts.
func (f *Facts) Chunk(i int) *Facts {
	from, to := f.bounds(i)
	return &Facts{
		Usages: f.Usages[from[usages]:to[usages]], Calls: f.Calls[from[calls]:to[calls]], Touches: f.Touches[from[touches]:to[touches]],
	}
}

// Stored records that the facts are stored in their current state.
func (f *Facts) Stored() { f.kept, f.stale = f.counts(), nil }

// IsStored reports whether a piece is stored in its current state.
func (f *Facts) IsStored(i int) bool {
	if i < f.left {
		return true
	}
	_, to := f.bounds(i)
	return to[usages] <= f.kept[usages] && to[calls] <= f.kept[calls] && to[touches] <= f.kept[touches] && !f.stale[i]
}

// Continue makes these facts the last stored piece of a file's facts. Pieces before it are
// read when they are needed.
func (f *Facts) Continue(left int, earlier func(piece int) (*Facts, error)) {
	f.left, f.earlier = left, earlier
	f.Stored()
}

// Err returns the error of reading an earlier piece. What was added since may be wrong.
func (f *Facts) Err() error { return f.err }

// extend reads as many of the earlier pieces as there are later ones.
func (f *Facts) extend() bool {
	if f.left == 0 || f.err != nil {
		return false
	}
	e, from := Facts{}, max(0, f.left-len(f.starts)-1)
	for i := from; i < f.left; i++ {
		p, err := f.earlier(i)
		if err != nil {
			f.err = err
			return false
		}
		e.Usages, e.Calls, e.Touches = append(e.Usages, p.Usages...), append(e.Calls, p.Calls...), append(e.Touches, p.Touches...)
		e.starts = append(e.starts, e.counts())
	}
	n := e.counts()
	f.Usages, f.Calls, f.Touches = append(e.Usages, f.Usages...), append(e.Calls, f.Calls...), append(e.Touches, f.Touches...)
	for _, start := range f.starts {
		e.starts = append(e.starts, start.plus(n))
	}
	f.starts, f.kept = e.starts, f.kept.plus(n)
	f.left, f.byID = from, nil
	return true
}

// changed records that the fact of a kind with this number has changed.
func (f *Facts) changed(kind, number int) {
	if number >= f.kept[kind] {
		return
	}
	piece := f.left
	for piece-f.left < len(f.starts) && f.starts[piece-f.left][kind] <= number {
		piece++
	}
	if f.stale == nil {
		f.stale = make(map[int]bool)
	}
	f.stale[piece] = true
}

// UsageFact is the token usage of one entry.
type UsageFact struct {
	Offset int64  // of the entry
	Time   int64  // milliseconds since 1970; 0 if unknown
	Copy   uint64 // Entry.Copy
	Bare   bool   // the entry has no parts
	Source string // the role of the message that used them, or the type of another entry
	Model  string // provider/model, "" if the entry names none
	Usage
}

// CallFact is one call of a tool, joined with its result.
type CallFact struct {
	Offset int64 // of the entry with the call, or with the result if the call is missing
	Time   int64 // milliseconds since 1970; 0 if unknown
	Copy   uint64
	Bare   bool // the entry has no parts
	Kind   CallKind
	Part   int // number of its part, -1 if it has none
	Tool   string
	Deed   Deed
	Model  string // provider/model of the reply that made it, "" if there is none

	HasResult  bool
	Result     int64  // offset of the entry with the result, or of the last one that amended the outcome
	ResultCopy uint64 // Entry.Copy of the entry with the result
	Outcome

	Programs []string // run by its shell command, with subcommands, once per occurrence
	Blamed   uint64   // those of the first 64 programs, by bits, that made the call fail if it failed
	Rules    uint32   // a shellcmd.RuleSet: the rules that it matches
	Broken   bool     // the shell command cannot be parsed
	Unread   bool     // it is a script that runs commands which are not literal
	Search   bool     // it asks this program
	Escapes  bool     // it asks to run outside of the agent's sandbox

	// The details, which are stored separately because counting does not need them.
	ID      string    // toolCallId, "" if there is none
	Line    string    // the arguments on one line, or the shell command as typed; shortened
	Cut     bool      // Line is shortened
	Shell   bool      // Line is a shell command
	Dialect Dialect   // of the command
	Dir     string    // where it runs and its relative paths begin; "" if unknown
	Files   []FileUse // that the arguments name, each with its Deed
}

// TouchFact is a file listed by a summary.
type TouchFact struct {
	Offset int64
	Time   int64
	Copy   uint64
	Path   string
	Write  bool // it was changed, not only read
}

// Clone returns a copy that adding to f does not change.
func (f *Facts) Clone() *Facts {
	if f == nil {
		return nil
	}
	c := *f
	c.Usages, c.Calls, c.Touches = slices.Clone(f.Usages), slices.Clone(f.Calls), slices.Clone(f.Touches)
	c.byID, c.starts, c.stale = maps.Clone(f.byID), slices.Clone(f.starts), maps.Clone(f.stale)
	return &c
}

// usesBack is how many uses back the same response is looked for: its pieces stand near each
// other.
const usesBack = 200

// UseAll adds the usages of an entry, as Use does, and appends what that changes. fact is the first of them.
func (f *Facts) UseAll(changes []UsageChange, fact UsageFact, e *EntryFacts) []UsageChange {
	if !e.HasUsage {
		return changes
	}
	changes = append(changes, f.Use(fact, e.UsageOf))
	for i := range e.Others {
		other := &e.Others[i]
		fact.Usage, fact.Model = other.Usage, other.Model
		of := e.UsageOf
		if of != 0 {
			of += uint64(i) + 1
		}
		changes = append(changes, f.Use(fact, of))
	}
	return changes
}

// Use adds a usage, and returns what that changes. Of several usages of one
// response, whose identity is of, the last figures count at the place of the first; 0 is
// that of no other.
func (f *Facts) Use(u UsageFact, of uint64) UsageChange {
	if of == 0 {
		f.Usages = append(f.Usages, u)
		return UsageChange{u.Model, u.Source, Usage{}, u.Usage}
	}
	u.Copy, u.Bare = of, true // what its documents share says nothing about it
	for len(f.Usages) < usesBack && f.extend() {
	}
	for i := len(f.Usages) - 1; i >= max(0, len(f.Usages)-usesBack); i-- {
		if f.Usages[i].Copy == of {
			change := UsageChange{f.Usages[i].Model, u.Source, f.Usages[i].Usage, u.Usage}
			f.Usages[i].Usage = u.Usage
			f.changed(usages, i)
			return change
		}
	}
	f.Usages = append(f.Usages, u)
	return UsageChange{u.Model, u.Source, Usage{}, u.Usage}
}

// Amend completes the outcome of the last call with this id, and returns the call; nil if
// there is none.
func (f *Facts) Amend(id string, with Outcome) *CallFact {
	i := f.last(id)
	if i < 0 {
		return nil
	}
	f.changed(calls, i)
	c := &f.Calls[i]
	if with.Exit != Unknown || with.Failed || with.Rejected {
		c.Exit, c.Failed, c.Rejected, c.NoMatch = with.Exit, with.Failed, with.Rejected, with.NoMatch
	}
	if with.Duration != Unknown {
		c.Duration = with.Duration
	}
	c.Bytes += with.Bytes
	return c
}

// Inner returns the calls that a call made, as Amend and Answer return it, if they are in its entry. They
// count as changed.
func (f *Facts) Inner(c *CallFact) []CallFact {
	first := 1
	for &f.Calls[first-1] != c {
		first++
	}
	last := first
	for ; last < len(f.Calls) && f.Calls[last].Kind == CallNested && f.Calls[last].Offset == c.Offset; last++ {
		f.changed(calls, last)
	}
	return f.Calls[first:last]
}

// AddCall adds a call. A call by a reply waits for its result if it has an id.
func (f *Facts) AddCall(c CallFact) {
	f.Calls = append(f.Calls, c)
	if f.byID != nil {
		f.note(len(f.Calls) - 1)
	}
}

func (c *CallFact) MadeFail(program string) bool {
	if !c.Failed {
		return false
	}
	for left := c.Blamed; left != 0; left &= left - 1 {
		if k := bits.TrailingZeros64(left); k < len(c.Programs) && c.Programs[k] == program {
			return true
		}
	}
	return false
}

// Replace puts a call in the place of the same one in an entry at one of these offsets, which is hidden now. It
// reports whether there was one.
func (f *Facts) Replace(c CallFact, of []int64) bool {
	if len(of) == 0 {
		return false
	}
	i := f.last(c.ID)
	if i < 0 || !slices.Contains(of, f.Calls[i].Offset) {
		return false
	}
	f.changed(calls, i)
	f.Calls[i] = c
	return true
}

// Answer joins a result with the last call with the id, and returns the call; nil
// if there is no such call, or it already has a result.
func (f *Facts) Answer(id string) *CallFact {
	i := f.last(id)
	if i < 0 || f.Calls[i].HasResult {
		return nil
	}
	f.changed(calls, i)
	c := &f.Calls[i]
	c.HasResult = true
	return c
}

// last returns the number of the last call of a reply with this id, -1 if there is none.
func (f *Facts) last(id string) int {
	for id != "" {
		if f.byID == nil {
			f.byID = make(map[string]int, len(f.Calls))
			for i := range f.Calls {
				f.note(i)
			}
		}
		if i, ok := f.byID[id]; ok {
			return i
		}
		if !f.extend() {
			break
		}
	}
	return -1
}

func (f *Facts) note(i int) {
	if c := &f.Calls[i]; c.Kind == CallPlain {
		f.byID[c.ID] = i
	}
}

// Whole reads the pieces that were left in the index.
func (f *Facts) Whole() error {
	for f.extend() {
	}
	return f.err
}
