// Package session defines the nouns of pigrep: kinds, entries, parts, session
// records. It does no I/O and imports no other package of the project, so that
// every package can use them.
//
// A session file is a sequence of lines. The first parsable line is the header,
// every later JSON object is an entry, and every searchable piece of an entry is
// a part with a kind.
package session

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Kind says what a part is. Package scope has the table of kinds and their
// scopes.
type Kind string

// The kinds of parts. Package scope describes each.
const (
	KindPrompt   Kind = "prompt"
	KindReply    Kind = "reply"
	KindThinking Kind = "thinking"
	KindCall     Kind = "call"
	KindResult   Kind = "result"
	KindShell    Kind = "shell"
	KindSummary  Kind = "summary"
	KindNote     Kind = "note"
	KindTitle    Kind = "title"
	KindLabel    Kind = "label"
	KindError    Kind = "error"
	KindSystem   Kind = "system"
	KindDetails  Kind = "details"
	KindData     Kind = "data"
	KindMeta     Kind = "meta"
	KindOther    Kind = "other"
)

// Header is what a session file says about the session as a whole: in a header line, in
// several lines, or in its name. Later lines may change it.
type Header struct {
	ID            string    // "" only if neither the file nor its name has one
	CWD           string    // where the session began
	ParentSession string    // path or id of the session that Relation is to, as the file or its place says
	Version       int       // 0 if no line of a session was seen; 1 if the format has no versions and entries name no parents, else 2 or more
	Timestamp     time.Time // of the beginning; zero if absent or unreadable
	Offset        int64     // where the JSON object of the header line begins; that of the first entry if there is no such line

	// Agent and Notes say who read the file, and as what. They are set when a file is new, and
	// parsers leave them alone; a path is never asked again.
	Agent string // adapter.Agent.Name of the parser; "" if the index is older
	Notes bool   // the file is no session: its entries are about other sessions, see Entry.About

	Relation Relation // to ParentSession
	Part     string   // which file of its session this is, if there are several; "" for the first or only one
	Base     Base     // where its history begins in another file; zero if it begins here
	Ordinal  int64    // of the first line, if lines are numbered throughout the files of a session
	Git      string   // the last branch; "" if unknown
	Nested   bool     // texts may be JSON within JSON strings, so that the raw bytes of an entry rule out no word
}

// ShortAgent returns what an agent is called on command lines and in JSON, such as "claude":
// what its adapter.Agent.Name begins with, up to a dot.
func ShortAgent(name string) string {
	short, _, _ := strings.Cut(name, ".")
	return short
}

// ToolKey returns what names of a tool that differ in case only have in common: agents write bash and Bash.
func ToolKey(name string) string { return strings.ToLower(name) }

// ToolName returns the one of several names of a tool that lists show, the one in small letters.
func ToolName(written []string) string { return slices.Max(written) }

// JoinTools adds up what is counted for names of the same tool.
func JoinTools(counts map[string]int) map[string]int {
	written := make(map[string][]string)
	for name := range counts {
		written[ToolKey(name)] = append(written[ToolKey(name)], name)
	}
	joined := make(map[string]int, len(written))
	for _, names := range written {
		for _, name := range names {
			joined[ToolName(names)] += counts[name]
		}
	}
	return joined
}

// FullModel returns provider/model as far as they are known, "" without a model.
func FullModel(provider, model string) string {
	if provider == "" || model == "" {
		return model
	}
	return provider + "/" + model
}

// Relation says what a session is to the one that its header names.
type Relation uint8

// The relations.
const (
	Unrelated Relation = iota // or not known
	Copied                    // it begins with copies of the other's entries: a fork
	Continued                 // it goes on where its Base says, and copies nothing: a fork
	Reverted                  // as Continued, with the same id: what the other has from Base on is abandoned
	Spawned                   // it is a subagent of the other
)

// Base is a place in another file: before its line with this ordinal. The offset is only a
// hint, because that file may be converted later.
type Base struct {
	Session, Part string
	Ordinal       int64
	Offset        int64
}

// Context is what holds from one line of a file on until another line says otherwise. A
// record has the contexts of a file, and nodes the number of theirs, because an entry that
// is read alone does not say it.
type Context struct{ Provider, Model, CWD, Git string }

// EntryPlace names the session of an entry, as answers in JSON do.
type EntryPlace struct {
	SessionPath string `json:"sessionPath" wire:"session"`
	SessionID   string `json:"sessionId,omitempty"`
	SessionName string `json:"sessionName,omitempty" wire:"lines"`
	Agent       string `json:"agent,omitempty"`            // as of ShortAgent
	Kept        bool   `json:"kept,omitempty"`             // its file is gone, and this is a copy
	Host        string `json:"host,omitempty" wire:"host"` // that has it, if not this one
	ShortID     string `json:"-" wire:"name"`              // as commands accept it, if another machine has the session
	CWD         string `json:"cwd,omitempty"`
	EntryName
}

// EntryName is the name of an entry in its session, as answers in JSON have it.
type EntryName struct {
	EntryID      string `json:"entryId,omitempty"`
	ShortEntryID string `json:"shortEntryId,omitempty"` // as of entry.Naming, if that is shorter
}

// NewEntryName returns the name of an entry by its id, and its short one, which may be the same.
func NewEntryName(id, short string) EntryName {
	if short == id {
		short = ""
	}
	return EntryName{id, short}
}

// Entry returns the id of the entry as it is shown and typed.
func (n EntryName) Entry() string { return cmp.Or(n.ShortEntryID, n.EntryID) }

// At says where a part is in its session file, as answers in JSON do.
type At struct {
	Line   int   `json:"line"`   // of the session file, from 1
	Offset int64 `json:"offset"` // of the entry's JSON object, in bytes
	Length int   `json:"length"` // of this object
	Part   int   `json:"part"`   // number of the part in its entry
}

// Origin says who or what wrote a part, as answers in JSON do.
type Origin struct {
	Tool       string `json:"tool,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
	IsError    bool   `json:"isError"`
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	CustomType string `json:"customType,omitempty"`
}

func (e *Entry) OriginOf(p *Part) Origin {
	return Origin{p.Tool, p.ToolCallID, e.IsError, e.Provider, e.Model, e.CustomType}
}

// Entry is one JSON object of a session file other than its header.
//
// An entry is read again alone, from its own bytes and the Header. So Identity, Said, Named and
// Parts must depend on nothing else. The exceptions are Line, and a Timestamp that comes from the
// previous entry. Position, Repetition, Context and Facts may also depend on earlier lines.
//
// The strings and slices of an Entry from a parser, Parts included, are valid
// only until the parser continues; copy what you keep.
type Entry struct {
	Identity
	Position
	Said
	Named
	Repetition

	// Context is what holds at this entry. An assistant message that names no model has the model
	// of its context. The working directory and the branch of an entry are in its context, if they
	// are known. The parser sets Context on every entry, or on none.
	Context Context

	Parts []Part
	Facts *EntryFacts // nil unless requested from the parser, or if there are none
}

// Identity says what an entry is, and where. Every entry has a Type, an ID, an Offset, a Length
// and a Line.
type Identity struct {
	Type string // TypeMessage, TypeCompaction, …, or as written
	Role string // of a message entry: RoleUser, RoleAssistant, …, or as written
	ID   string // "@<byte offset>" if the file has none

	Timestamp time.Time // of the entry, message, previous entry or header, in this order; zero if none has one

	Offset int64 // first byte of the JSON object in the file
	Length int   // bytes of the JSON object
	Line   int   // 1-based number of the physical line

	// Copy identifies the entry among its copies in forks, clones, imports
	// and re-appended lines: equal for entries with the same timestamp and
	// the same content, ignoring ids and parents. 0 if the entry has no own
	// timestamp, and so no copies.
	Copy uint64
}

// Position is the place of an entry in the conversation.
type Position struct {
	ParentID  string // "" if absent or null
	HasParent bool   // the entry has a parentId key, null included

	Message    string // the id of the message that it is a piece of, if its agent writes messages in pieces, an entry each; "" for a whole one
	Side       string // the conversation beside the main one that it belongs to, such as that of a subagent in the same file; "" for the main one
	Aside      bool   // it hangs beside the branch, as the results of parallel calls do: it is active if its parent is, and never the leaf
	Apart      bool   // it is not part of the tree: state that its agent repeats anywhere in the file
	BehindTorn bool   // a piece that cannot be read stands before it on its line
	About      string // in Notes: the id of the session that it is about
	Step       Step   // its kind if it is not part of the conversation

	FirstKeptID    string // compaction (v2 and later)
	FirstKeptIndex int    // compaction in v1: index into all parsed lines, header included; -1 if absent
}

// Said is what an entry says besides Parts.
type Said struct {
	IsError     bool   // a result with isError, a reply with errorMessage, a shell with a non-zero exit code
	Provider    string // assistant messages, model_change, usage
	Model       string // the same
	Tool        string // toolResult: the tool's name
	ToolCallID  string // toolResult: the call it answers
	CustomType  string
	Images      []Image   // in order, without their data
	MessageTime time.Time // the message's own timestamp, zero if absent
	Strange     []string  // names that the adapter does not know: "line foo", "role bar"
	UserText    string    // user messages: the text shown as the prompt (text blocks joined with a space)
	Command     string    // user messages without UserText: a command that the user typed, with its arguments
}

// Named is the name that an entry gives to another entry or to the session.
type Named struct {
	TargetID string // label, leaf, context_edit: the entry it is about
	Label    string // label entries; "" clears
	Name     string // session_info entries; "" clears

	// Of a session_info entry. NameRank is how much a name counts: of those with the highest
	// rank, the last one names the session. An empty one clears names of its rank and below.
	// With a TargetID, it names the session only if an entry with this ID is in the file, or
	// comes later: old versions of some agents wrote names into the files of other sessions.
	NameRank uint8
}

// Repetition says which text a file has twice. An entry that repeats another one has no documents, does
// not count and is not shown; its node stays, hidden. There are three ways to say so: Once, Repeats,
// and Shadows of Pending entries.
type Repetition struct {
	Once    bool    // its agent writes an entry once: it repeats an earlier entry with the same ID, and follows the entry before it if its parent was lost in damage
	Again   bool    // its agent may write an entry again: only the first of those with one ID, place, time and length counts as a message
	Repeats bool    // it repeats an earlier entry, as the parser knows from its Memo; it needs no parts then, but for being read alone
	Shadows []int64 // offsets of earlier Pending entries that repeat this one: they are hidden from now on
	Pending bool    // a later entry may say Shadows of it; it has no facts, or those of the later one take their place: usage with a UsageOf, calls with an id
}

// Part is one searchable piece of an entry.
//
// A part of an entry with nothing but images has no text. If only some texts are wanted, a text that is one string of the file comes as JSON,
// without its quotes, and is not decoded. Other parts without wanted text have neither.
type Part struct {
	Kind       Kind
	Text       []byte   // decoded UTF-8
	Names      [][2]int // of arguments, in the text of a call: where each begins and ends
	JSON       []byte   // instead of Text: a JSON string without its quotes
	Tool       string   // calls, nested calls and results: the tool's name
	ToolCallID string   // calls, nested calls and results

	// Search says that it is a call or a result of this program, which repeat what other
	// sessions say. The entry alone does not tell: see audit.Folder.
	Search bool
}

// Slashed returns a path with slashes. A session may have been recorded on another
// system.
func Slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// Extension ends the names of session files.
const Extension = ".jsonl"

func BaseName(file string) string { return strings.TrimSuffix(path.Base(Slashed(file)), Extension) }

func IsPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, Extension)
}

// SplitHost splits HOST:PATH, by which answers call a session file of another machine. ok is false
// for a path of this one.
func SplitHost(name string) (host, path string, ok bool) {
	host, path, ok = strings.Cut(name, ":")
	ok = ok && len(host) > 1 && !strings.ContainsAny(host, `/\`) // C:\ is a drive
	return host, path, ok
}

// HostOf returns the machine that has a session file; "" for this one.
func HostOf(path string) string {
	if host, _, ok := SplitHost(path); ok {
		return host
	}
	return ""
}

// Handle returns the name to show for a session, which commands accept: its id. For a file
// without an id that can be typed it returns the id in the file name: ID in
// 2026-01-15T10-30-00-000Z_ID.jsonl.
func Handle(id, file string) string {
	if IsTypable(id) {
		return id
	}
	base := BaseName(file)
	return cmp.Or(strings.TrimLeft(base[strings.LastIndexByte(base, '_')+1:], "-"), base) // a flag is no name
}

// IsTypable reports whether a name can stand for a session in SESSION:ENTRY: it is neither a
// path nor a flag, and has no colon, no @, and no character that needs quoting.
func IsTypable(name string) bool {
	return name != "" && name[0] != '-' && !strings.HasSuffix(name, Extension) && !strings.ContainsFunc(name, func(r rune) bool {
		switch { // almost all ids are of these
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return false
		}
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// Time is a time whose JSON is in UTC with milliseconds, as in pi's files.
type Time struct{ time.Time }

// MarshalJSON writes 2026-01-15T10:30:03.000Z.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(`"2006-01-02T15:04:05.000Z"`))
	b = t.UTC().AppendFormat(append(b, '"'), time.RFC3339) // much faster than a layout with a fraction
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"'), nil
}

// View is an entry laid out for reading: its pieces in their original order, whereas
// Parts are pieces for searching. It is valid as long as its entry.
type View struct {
	Blocks       []Block
	TokensBefore int64  // compaction: tokens of the context before it, 0 if unknown
	Diff         []byte // result: what the tool recorded of its edits, nil if it recorded no diff
	Rejected     bool   // result: the person did not let its call run
}

// Block is one piece of a View. At most one of Call, Image and Shell is set;
// otherwise the block is text.
type Block struct {
	Kind  Kind
	Text  []byte // decoded UTF-8; the output of a Shell
	Call  *Call
	Image *Image
	Shell *Shell
}

// Call is a tool call.
type Call struct {
	ID        string
	Tool      string
	Deed      Deed       // what it does
	Arguments []Argument // in file order
	Raw       []byte     // the arguments as JSON, nil if there are none
	Command   []byte     // the shell command among the arguments, nil if it runs none
	Nested    bool       // another tool made it
	Failed    bool       // known only for nested calls
	Edits     []Edit     // what it changes in files, nil if it changes none or says so in another form
	Diff      []byte     // of its edits, as the tool recorded it in its result or was given it; nil if there is none

	Subagents []Subagent // that it started; who shows the conversation sets it
}

// Subagent is a session that a call started.
type Subagent struct {
	Name     string // as commands accept it
	Title    string
	Path, ID string
}

// Edit is one change of a file.
type Edit struct {
	Path     string
	Old, New []byte // decoded text: Old is replaced by New
	Whole    bool   // New is the whole file
	All      bool   // every Old is replaced, not only one
}

// PathNames are the names of arguments that hold the path a tool works on.
var PathNames = []string{"path", "file_path", "filePath", "filename", "file", "dir", "directory"}

// Path returns the path that the call works on, "" if it names none.
func (c *Call) Path() string { return c.Argument(PathNames...) }

// Argument is one argument of a call.
type Argument struct {
	Name  string
	Value []byte // decoded text of a string, otherwise JSON
	Text  bool   // it is a string
	Edits bool   // Edits or Diff of the call has it
}

// Find returns the first of the named arguments that is a string, nil if none is.
func (c *Call) Find(names ...string) *Argument {
	for _, name := range names {
		for i := range c.Arguments {
			if a := &c.Arguments[i]; a.Name == name && a.Text {
				return a
			}
		}
	}
	return nil
}

// Argument returns the text of the first of the named arguments that is a string.
func (c *Call) Argument(names ...string) string {
	if a := c.Find(names...); a != nil {
		return string(a.Value)
	}
	return ""
}

// Image is an image in a message.
type Image struct {
	MimeType string
	Size     int    // bytes of the image
	Base64   []byte // the image as it is in the file
}

// Shell is a command that the user ran.
type Shell struct {
	Command   string
	ExitCode  int64
	HasExit   bool
	Cancelled bool
}
