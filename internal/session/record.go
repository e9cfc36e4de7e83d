package session

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"time"
)

// Checkpoint says how far a file is indexed, and what it was like at that time.
// Record.Blocks and Partial prove that the indexed bytes are unchanged.
type Checkpoint struct {
	Offset   int64 // end of the last complete line that is indexed, or within a line that is too long
	Lines    int   // complete lines before Offset
	Within   int64 // bytes before Offset of the line that is too long; 0 if there is none
	Revision int   // of the agent's parser that read the file: see adapter.Agent

	Stat
	Extent
	Lengths
}

// Stat is how a file looked when it was last compared.
type Stat struct {
	Size  int64 // as it is stored
	Mtime int64 // nanoseconds
	Ctime int64 // nanoseconds, 0 if the system has none
	Inode uint64
}

// Extent says which text of a file was read, and from which kind of file. At most one of Damaged,
// LeftOut and Spoilt is set.
type Extent struct {
	Length    int64 // of the text: Size, unless the file is compressed
	TailBytes int64 // bytes after Offset that are indexed as an unterminated last line
	Packed    bool  // the name of the file had the suffix of a compression
	Damaged   bool  // the compressed file was damaged: text after Length is missing
	Kept      bool  // the file was gone, and this is a copy of it: see package keep
	LeftOut   bool  // text after Length was left out: it is longer than max-session
	Spoilt    bool  // the file was damaged later; the text up to Length is the text before the damage
	Full      bool  // text after the checkpoint was left out: the file has more entries or lines than an index takes
}

// Lengths tell whether another limit on the length of a line would leave out other lines.
type Lengths struct {
	LongestLine  int64 // bytes of the longest line that was read
	ShortestLeft int64 // bytes of the shortest complete line that was left out as too long; 0 if there is none
}

// NoteLine records the length of a complete line, or of an unterminated last one.
func (c *Lengths) NoteLine(length int64, tooLong bool) {
	switch {
	case !tooLong:
		c.LongestLine = max(c.LongestLine, length)
	case c.ShortestLeft == 0 || length < c.ShortestLeft:
		c.ShortestLeft = length
	}
}

// LeavesOut reports whether text was left out: lines that are too long, or what is not read of
// a compressed file.
func (c *Checkpoint) LeavesOut() bool {
	return c.leavesLines() || c.Damaged || c.LeftOut || c.Spoilt || c.Full
}

func (c *Checkpoint) leavesLines() bool { return c.ShortestLeft > 0 || c.Within > 0 }

// Fits reports whether the same text would be left out with these limits on the length of a
// line, and on the bytes of text of a compressed file; 0 for no limit.
func (c *Checkpoint) Fits(line, text int64) bool {
	if c.LeftOut && c.Length != text || text > 0 && c.Length > text && c.Length != c.Size {
		return false
	}
	if line <= 0 {
		return !c.leavesLines()
	}
	return c.LongestLine <= line && (c.ShortestLeft == 0 || c.ShortestLeft > line) && (c.Within == 0 || c.Within > line)
}

// Bits returns the length of the text and the flags as one number, as they are stored.
func (x *Extent) Bits() uint64 {
	n := uint64(x.Length) << 5
	for i, flag := range []bool{x.Packed, x.Damaged || x.Spoilt, x.LeftOut || x.Spoilt, x.Kept, x.Full} {
		if flag {
			n |= 1 << i
		}
	}
	return n
}

// SetBits reverses Bits.
func (x *Extent) SetBits(n uint64) {
	x.Length, x.Packed, x.Kept, x.Full = int64(n>>5), n&1 != 0, n&8 != 0, n&16 != 0
	x.Damaged, x.LeftOut, x.Spoilt = n&6 == 2, n&6 == 4, n&6 == 6
}

// Summary describes a file without its tree: enough to filter and list sessions,
// and to see whether the file has changed.
type Summary struct {
	File uint32 // number of the file in this index
	Path string `wire:"exact"`
	Checkpoint

	Header
	Name        string    `wire:"lines"` // of the last session_info entry in file order of those with the highest NameRank
	NameRank    uint8     // of Name
	FirstPrompt string    `wire:"lines"` // first user text, shortened to MaxFirstPrompt bytes
	Subject     string    `wire:"lines"` // what the prompts are about: see Subject; "" if FirstPrompt says it
	LastMessage time.Time // latest user or assistant message; zero if there is none
	Oldest      time.Time // smallest timestamp of an entry; zero without entries
	Newest      time.Time // largest timestamp of an entry; zero without entries
	Messages    int       // message entries; the pieces of one message count once
	Entries     int
	Models      []string     // "provider/model" of assistant messages, in order of first use
	UsedTokens  int64        // tokens used by all entries; in a fork this includes the copied ones
	UsedCost    float64      // cost of all entries, as far as the file names it
	Unpriced    []ModelUsage // usage of entries without a cost in the file: a sum for each price
	Delegated   bool         // results of tools tell the usage of subagents
	LabelNames  []string     // distinct current labels, sorted; not updated beyond MaxLabelled labels

	Begins  uint64 // hash of the first message and its time; 0 without one
	Follows string // the parent of an entry up to this message, if the file does not have the parent

	Documents int       // documents in the index
	Tokens    uint64    // tokens of their text fields, for the average length in BM25
	Queued    bool      // FirstPrompt waits in a queue: the first prompt of the conversation itself takes its place
	Strange   []Strange // sorted by name

	Skipped int // malformed pieces of lines that were skipped
}

// Strange is a name in the lines of a file that its adapter does not know, such as "line foo", and how often
// it occurs.
type Strange struct {
	Name  string
	Count int
}

// MaxStrange is how many such names of a file are counted.
const MaxStrange = 20

// Title is what the session is called: its name, else its subject. It may have several
// lines, and is "" without a prompt.
func (s *Summary) Title() string { return cmp.Or(s.Name, s.Subject, s.FirstPrompt) }

// EntryPlace says where an entry of the session is.
func (s *Summary) EntryPlace(id string) EntryPlace {
	return EntryPlace{SessionPath: s.Path, SessionID: s.ID, SessionName: s.Name, Agent: ShortAgent(s.Agent), Kept: s.Kept, Host: HostOf(s.Path), CWD: s.CWD, EntryName: EntryName{EntryID: id}}
}

// IsSession reports whether the file is a session: it has a header, or messages. Others are
// empty, or something else.
func (s *Summary) IsSession() bool { return s.Version != 0 || s.Messages > 0 }

// Record is the session record: everything the index knows about one session file.
type Record struct {
	Summary
	Nodes    []Node            // entries in file order
	Labels   map[string]string // target entry id → current label
	Problems []Problem         // the first MaxProblems malformed pieces
	Blocks   []uint64          // xxhash of each complete HashedBlock before Checkpoint.Offset
	Volatile Volatile
	Partial  []byte // state of the hash over the bytes after the last complete block, up to Checkpoint.Offset

	Memo     []byte    // of the parser at the checkpoint: see adapter.State
	Pending  []Pending // entries that may still be shadowed: the last MaxPending, of Notes all
	Hidden   Runs      // entries whose text others have: see Entry.Repeats and Entry.Shadows
	Contexts Contexts
	Piece    string   // Entry.Message of the last entry that has one
	Awaited  []Naming // names of entries that are not in the file so far, the last MaxAwaited

	Dead      Runs // entries that were abandoned when the session went on in another file: see Abandon
	Inherited int  // how many of the entries are in other files: see Join

	Numbers map[string]int // by id, of the first entry in Nodes with each; not stored, and nil until it is needed

	Facts *Facts // for audits; nil if there are none, or they were not requested
	Known *Known // what the index has of a record to continue, or of one that was put into a batch
}

// Known is the stored state of a record, so that an addition to a long session
// neither reads nor writes all of its entries.
type Known struct {
	Entries   int      // of the record
	Names     []string // types, roles and tools of the entries, in order of first use
	Active    Runs     // the active branch
	InContext Runs
	Pieces    int // pieces of entries that are stored

	Moved bool // an entry that is stored has another place now

	Left     int                  // entries that were left in the index; Nodes begins after them
	Earlier  func() []Node        // decodes these entries
	Mentions func(id string) bool // reports whether one of them has the id, or names it; it may err on that side
}

// Len returns the number of entries.
func (r *Record) Len() int { return r.left() + len(r.Nodes) }

func (r *Record) left() int {
	if r.Known == nil {
		return 0
	}
	return r.Known.Left
}

func (r *Record) all() []Node {
	if r.left() == 0 {
		return r.Nodes
	}
	return append(r.Known.Earlier(), r.Nodes...)
}

// Volatile are bytes at the start of the file that its agent overwrites in place: see
// adapter.Overwriter. Blocks and Partial leave them out.
type Volatile struct {
	Length int64
	Hash   uint64 // xxhash
}

// ContextsFrom is the context from an entry on, until the next one.
type ContextsFrom struct {
	Entry int // its number
	Context
}

// Contexts are the contexts of the entries of a file, in order.
type Contexts []ContextsFrom

func (c Contexts) At(i int) Context {
	at := sort.Search(len(c), func(k int) bool { return c[k].Entry > i })
	if at == 0 {
		return Context{}
	}
	return c[at-1].Context
}

// Naming is a session_info entry that names the session if it has the entry Target.
type Naming struct {
	Target, Name string
	Rank         uint8
}

// Pending is an entry that later ones may shadow: see Entry.Pending. In Notes, it is the last
// one about its session.
type Pending struct {
	Offset    int64
	Documents int    // it has in the index
	Tokens    uint64 // of these

	About, Name string // of an entry of Notes
}

// PendingAt returns the place of the entry at an offset in a list, which is in file order; -1 if
// it is not there.
func PendingAt(list []Pending, offset int64) int {
	at, ok := slices.BinarySearchFunc(list, offset, func(p Pending, offset int64) int { return cmp.Compare(p.Offset, offset) })
	if !ok {
		return -1
	}
	return at
}

// Node is an entry in the tree.
type Node struct {
	ID        string
	ParentID  string
	HasParent bool
	Type      string
	Role      string
	TargetID  string // leaf and context_edit entries
	FirstKept string // compaction: id of the first entry it kept, "" if none
	Message   string // Message, Aside and Apart of the Entry
	Tool      string // of the call that a result answers, if the result does not name it
	Aside     bool
	Apart     bool
	Beside    bool // it has a Side
	Step      Step
	Time      int64 // milliseconds since 1970; 0 if unknown
	Offset    int64
	Length    int
	Line      int
}

// IsMessage reports whether an entry counts as a message, after a piece of one.
func (n *Node) IsMessage(piece string) bool {
	return n.Type == TypeMessage && n.Step.counts(n.Message == "") && (n.Message == "" || n.Message != piece)
}

// IsSummary reports whether an entry sums up what was before it, or on another branch.
func (n *Node) IsSummary() bool {
	return n.Type == TypeCompaction || n.Type == TypeBranchSummary || n.Role == RoleCompactionSummary || n.Role == RoleBranchSummary
}

// Continues reports whether an entry is a further piece of the message of another one.
func (n *Node) Continues(above *Node) bool { return n.Message != "" && n.Message == above.Message }

// Problem is a piece of a session file that was skipped, with the reason.
type Problem struct {
	Line   int
	Offset int64
	Reason string
}

// Limits of a record.
const (
	MaxFirstPrompt = 240
	MaxLabelled    = 100
	MaxProblems    = 20
	MaxAwaited     = 100
	MaxPending     = 500
	HashedBlock    = 1 << 20
)

// CompareStarts orders sessions by the times of their headers, oldest first, those
// without a time last. Of several duplicates, the one in the first session is the
// original.
func CompareStarts(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return a.Compare(b)
}

// Identity is what copies of a session on several machines have in common: a hash of its agent,
// id, part and time; 0 without an id.
func (s *Summary) Identity() uint64 {
	if s.ID == "" {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%d", ShortAgent(s.Agent), s.ID, s.Part, s.Timestamp.UnixMilli())
	return h.Sum64()
}
