package entry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// A Conversation reads the entries of one session one at a time, so that its memory
// does not grow with the file.
type Conversation struct {
	Record *session.Record
	Tree   *session.Tree
	Redact bool // mask secrets in entries
	Facts  bool // read the facts of entries too
	Raw    bool // read the JSON of entries too

	Short func(id string) string // shortens the ids that are shown; nil: ShortIDs

	reader Reader
	files  []*session.Record // with its history, if there are several; its own is the last
	starts []int             // for each file, the number of its first entry
	others Reader            // of all but its own

	subagents []*session.Summary // that the session started
	name      func(id, path string) string
	started   map[string][]*session.Summary // by the call; nil until it is known
}

// NewConversation returns the conversation of a record and its session file. The
// caller closes the file.
func NewConversation(a adapter.Adapter, rec *session.Record, file io.ReaderAt) *Conversation {
	return &Conversation{Record: rec, Tree: rec.Tree(), reader: Reader{adapter: a, session: &rec.Summary, file: file}}
}

// Join adds what the conversation has in other files: see session.Join. The last record must
// be its own. Release closes the files.
func (c *Conversation) Join(src Source, files []*session.Record) {
	if own := files[len(files)-1]; len(files) > 1 && files[0].ID == own.ID && files[0].Part == own.Part {
		c.others = Reader{src: src, adapter: c.reader.adapter}
		c.Record, c.files, c.starts = session.Unite(files, c.isCopy)
		c.Tree = c.Record.Tree()
	} else if len(files) > 1 {
		c.Record, c.starts = session.Join(files)
		c.Tree, c.files, c.others = c.Record.Tree(), files, Reader{src: src, adapter: c.reader.adapter}
	}
}

// isCopy reports whether entries of two files are the same.
func (c *Conversation) isCopy(a *session.Record, i int, b *session.Record, j int) bool {
	read := func(rec *session.Record, at int) []byte {
		r := &c.reader
		if rec.Path != r.session.Path {
			c.others.Use(&rec.Summary)
			r = &c.others
		}
		data, err := r.JSON(RefOf(&rec.Nodes[at], rec.Contexts.At(at)))
		if err != nil {
			return nil
		}
		return bytes.Clone(data)
	}
	x, y := read(a, i), read(b, j)
	return bytes.Equal(x, y) || len(x) != len(y) && bytes.Equal(compact(x), compact(y))
}

// compact returns JSON without the space between its values.
func compact(data []byte) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, data) // what is not JSON is no copy
	return b.Bytes()
}

// Release closes the files that Join added.
func (c *Conversation) Release() { c.others.Use(nil) }

// place returns the record of the file that has entry i, its number there, and what reads it.
func (c *Conversation) place(i int) (*session.Record, int, *Reader) {
	if c.files == nil {
		return c.Record, i, &c.reader
	}
	at := sort.SearchInts(c.starts, i+1) - 1
	rec, i := c.files[at], i-c.starts[at]
	if at == len(c.files)-1 {
		return rec, i, &c.reader
	}
	c.others.Use(&rec.Summary)
	return rec, i, &c.others
}

// A FileLine says where a conversation goes on in another file.
type FileLine struct{ last string }

// Next returns the name of the file of an entry; "" if the entry before is in the same file.
func (f *FileLine) Next(e *Entry) (name string) {
	if e.Folded != "" {
		return ""
	}
	if f.last != "" && e.SessionPath != f.last {
		name = path.Base(session.Slashed(e.SessionPath))
	}
	f.last = e.SessionPath
	return name
}

// An Entry is an entry of a conversation with all that is shown of it. It stays valid
// after further reads.
type Entry struct {
	session.Entry
	View      *session.View
	Index     int    // in the file, from 0
	Branch    string // BranchActive or BranchAbandoned
	InContext bool
	Labelled  string    // its current label
	Time      time.Time // from the record, so never zero
	Raw       []byte    // its JSON as written in the file; nil unless Conversation.Raw
	Short     string    // its id as it is shown

	SessionPath string // of the file that has it, if the conversation is in several

	Folded string // in place of an entry: names the steps that are not shown here; Index is the first of them
}

// Read reads entry i of the file. Calls that edit files have the diffs of their
// results, wherever these are shown.
func (c *Conversation) Read(i int) (*Entry, error) {
	e, err := c.read(i)
	if err != nil {
		return nil, err
	}
	c.addDiffs(e)
	c.addSubagents(e)
	if c.Redact {
		e.redact()
	}
	return e, nil
}

// addDiffs adds to calls the diffs that their tools recorded. Calls without a recorded
// diff are shown by their arguments.
func (c *Conversation) addDiffs(e *Entry) {
	open := make(map[string]*session.Call)
	message := c.Record.Nodes[e.Index].Message
	for i := range e.View.Blocks {
		if call := e.View.Blocks[i].Call; call != nil && call.ID != "" && len(call.Edits)+len(call.Diff) > 0 {
			open[call.ID] = call
		}
	}
	for i := e.Index + 1; i < len(c.Record.Nodes) && len(open) > 0; i++ {
		switch n := &c.Record.Nodes[i]; {
		case n.Role == session.RoleToolResult:
			result, err := c.read(i)
			if err != nil {
				return // whoever reads it learns of that
			}
			if call := open[result.ToolCallID]; call != nil {
				delete(open, result.ToolCallID)
				if result.View.Diff != nil {
					call.Diff = result.View.Diff
				}
			}
		case n.Type == session.TypeMessage && (message == "" || n.Message != message):
			return
		}
	}
}

func (c *Conversation) read(i int) (*Entry, error) {
	rec, k, reader := c.place(i)
	n := &rec.Nodes[k]
	e := &Entry{
		Index: i, Branch: BranchOf(c.Tree, i), InContext: c.Tree.InContext(i),
		Labelled: c.Record.Labels[c.Record.Nodes[i].ID], Time: rec.TimeOf(n),
	}
	if c.files != nil {
		e.SessionPath = rec.Path
	}
	reader.Facts = c.Facts
	if n.Length > largeEntry {
		runtime.GC() // the entry before may be as large
	}
	err := reader.View(RefOf(n, rec.Contexts.At(k)), Identity{ID: n.ID}, func(parsed *session.Entry, view *session.View) {
		e.Entry, e.View = *parsed, view
		e.Message, e.Step = n.Message, n.Step // earlier lines may decide these
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the entry at byte %d of %s: %w", n.Offset, rec.Path, err)
	}
	if c.Raw {
		e.Raw = reader.buf
	}
	if c.Short == nil {
		c.Short = ShortIDs(c.Record)
	}
	e.Short = c.Short(c.Record.Nodes[i].ID)
	reader.buf = nil // the entry uses it, or nothing does
	return e, nil
}

// largeEntry is the length of an entry whose garbage must not wait.
const largeEntry = 32 << 20

// Through returns the path if entry i is on it, else the branch with i. An entry that a
// later one with the same id replaced is on no branch: then it returns i alone.
func (c *Conversation) Through(path []int, i int) []int {
	if slices.Contains(path, i) {
		return path
	}
	if path = c.Tree.Through(i); slices.Contains(path, i) {
		return path
	}
	return []int{i}
}

// Around returns the range [from, to) of a path around entry i, with up to so many entries before and
// after it. Steps between them are included but do not count. The pieces of a message count once.
func (c *Conversation) Around(path []int, i, before, after int) (from, to int) {
	from = slices.Index(path, i)
	to = from + 1
	continues := func(at int) bool { return c.Record.Nodes[path[at]].Continues(&c.Record.Nodes[path[at-1]]) }
	for count := 0; from > 0 && (count < before || count > 0 && continues(from)); from-- {
		if !continues(from) && !c.IsStep(path[from-1]) {
			count++
		}
	}
	for count := 0; to < len(path) && (count < after || count > 0 && continues(to)); to++ {
		if !continues(to) && !c.IsStep(path[to]) {
			count++
		}
	}
	return from, to
}

// Header returns the header's JSON as written in the file. end is where the next object
// begins, or the file ends.
func (c *Conversation) Header(end int64) ([]byte, error) {
	h := &c.Record.Header
	raw := make([]byte, min(max(0, end-h.Offset), maxHeader))
	if got, err := c.reader.file.ReadAt(raw, h.Offset); got < len(raw) {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrChanged
		}
		return nil, fmt.Errorf("cannot read the header of %s: %w", c.Record.Path, err)
	}
	if i := bytes.IndexByte(raw, '\n'); i >= 0 {
		raw = raw[:i]
	}
	return bytes.TrimRight(raw, "\r \t\x00"), nil
}

// maxHeader is the longest header that is read whole.
const maxHeader = 16 << 20

// The branches of an entry.
const (
	BranchActive    = "active"
	BranchAbandoned = "abandoned"
)

func BranchOf(t *session.Tree, i int) string { return BranchName(t.Active(i)) }

func BranchName(active bool) string {
	if active {
		return BranchActive
	}
	return BranchAbandoned
}

// ReadRecord reads the session record from a whole file that is not indexed. It keeps
// a node of each entry. A last line without a newline counts if it is complete.
func ReadRecord(a adapter.Adapter, path string, r adapter.Source, mtime time.Time) (*session.Record, error) {
	rec := &session.Record{Summary: session.Summary{Path: path}}
	rec.Mtime = mtime.UnixNano()
	state, err := adapter.Begin(a, path, r)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	state.Facts = true
	rec.Header = state.Header
	lines, limits := adapter.Lines(a, r, 0, 0), adapter.LimitsOf(a).Of(r)
	parser, facts, tools := a.Parse(state), &session.Facts{}, make(map[string]string)
	var used []session.UsageChange
	for {
		if rec.Full = limits.Reached(rec); rec.Full {
			break
		}
		line, err := lines.Next()
		if errors.Is(err, io.EOF) || err != nil && adapter.NoteEnd(rec, err) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path, err)
		}
		rec.NoteLine(line.Length, line.TooLong)
		problems := adapter.Parse(parser, line, func(e *session.Entry) {
			if !line.Ended { // as the indexer does
				e.Pending, e.Shadows = false, nil
			}
			rec.Add(e)
			f := e.Facts
			if f == nil || e.Repeats {
				return
			}
			used = facts.UseAll(used[:0], session.UsageFact{Source: e.Role, Model: cmp.Or(f.SubModel, session.FullModel(e.Provider, e.Model)), Usage: f.Usage}, f)
			rec.AddUsage(used)
			if tool := tools[e.ToolCallID]; f.IsResult && e.Tool == "" && tool != "" {
				delete(tools, e.ToolCallID)
				rec.AddTool(tool)
			}
			for i := range f.Calls {
				if c := &f.Calls[i]; c.Kind == session.CallPlain {
					tools[strings.Clone(c.ID)] = strings.Clone(c.Tool)
				}
			}
		})
		for _, p := range problems {
			if !p.Torn {
				rec.AddProblem(session.Problem{Line: p.Line, Offset: p.Offset, Reason: p.Reason})
			}
		}
		if rec.Checkpoint.Length = line.Offset + line.Length; line.Ended {
			rec.Checkpoint.Length++
		}
	}
	rec.Header = parser.State().Header
	return rec, nil
}

// OpenCalls returns the names of the tools that the last turn of the active
// branch called without getting a result.
func (c *Conversation) OpenCalls() ([]string, error) {
	answered := make(map[string]bool)
	message := "" // that the last turn consists of
	var open []string
	path := c.Tree.Path()
	for at := len(path) - 1; at >= 0; at-- {
		switch n := &c.Record.Nodes[path[at]]; n.Role {
		case session.RoleUser:
			return open, nil
		case session.RoleToolResult:
			e, err := c.Read(path[at])
			if err != nil {
				return nil, err
			}
			answered[e.ToolCallID] = true
		case session.RoleAssistant:
			if message != "" && n.Message != message {
				return open, nil
			}
			e, err := c.Read(path[at])
			if err != nil {
				return nil, err
			}
			var own []string
			for i := range e.View.Blocks {
				if call := e.View.Blocks[i].Call; call != nil && call.ID != "" && !call.Nested && !answered[call.ID] {
					own = append(own, call.Tool)
				}
			}
			open = append(own, open...)
			if n.Message == "" && len(e.View.Blocks) > 0 {
				return open, nil
			}
			message = n.Message
		}
	}
	return open, nil
}
