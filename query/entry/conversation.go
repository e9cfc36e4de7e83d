package entry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
)

// Conversation reads the entries of one session, each from its place in the
// file: it never holds more than the entry asked for, however large the file is.
type Conversation struct {
	Record *session.Record
	Tree   *session.Tree
	Redact bool // entries are read with their secrets masked

	reader Reader
}

// NewConversation returns the conversation that the record describes and the
// file holds. The caller closes the file.
func NewConversation(a adapter.Adapter, rec *session.Record, file io.ReaderAt) *Conversation {
	return &Conversation{Record: rec, Tree: rec.Tree(), reader: Reader{adapter: a, session: &rec.Summary, file: file}}
}

// Entry is an entry of a conversation as it is shown. It stays valid.
type Entry struct {
	session.Entry
	View      *session.View
	Index     int    // its number in the file, from 0
	Branch    string // "active" or "abandoned"
	InContext bool
	Labelled  string    // the label now in force
	Time      time.Time // of the record, so never zero
	Raw       []byte    // its JSON, as it stands in the file
}

// Read reads entry i of the file.
func (c *Conversation) Read(i int) (*Entry, error) {
	n := &c.Record.Nodes[i]
	e := &Entry{
		Index: i, Branch: BranchOf(c.Tree, i), InContext: c.Tree.InContext(i),
		Labelled: c.Record.Labels[n.ID], Time: c.Record.TimeOf(n),
	}
	c.reader.buf = nil // the one before is the caller's
	err := c.reader.View(RefOf(n), Identity{ID: n.ID}, func(parsed *session.Entry, view *session.View) {
		e.Entry, e.View = *parsed, view
	})
	if err != nil {
		return nil, fmt.Errorf("read the entry at byte %d of %s: %w", n.Offset, c.Record.Path, err)
	}
	e.Raw = c.reader.buf
	if c.Redact {
		e.redact()
	}
	return e, nil
}

// Through returns the path when entry i is on it, else the branch that i is on. An
// entry that a later one with its id replaced is on none, and stands alone.
func (c *Conversation) Through(path []int, i int) []int {
	if slices.Contains(path, i) {
		return path
	}
	if path = c.Tree.Through(i); slices.Contains(path, i) {
		return path
	}
	return []int{i}
}

// Around returns what is around entry i of a path, [from, to): up to n entries on
// each side, and between them those that are no part of the talk, which do not
// count.
func (c *Conversation) Around(path []int, i, n int) (from, to int) {
	isTalk := func(i int) bool {
		switch node := &c.Record.Nodes[i]; node.Type {
		case session.TypeMessage:
			return node.Role != session.RoleSystem
		case session.TypeCompaction, session.TypeBranchSummary, session.TypeCustomMessage:
			return true
		}
		return false
	}
	from = slices.Index(path, i)
	to = from + 1
	for count := 0; from > 0 && count < n; from-- {
		if isTalk(path[from-1]) {
			count++
		}
	}
	for count := 0; to < len(path) && count < n; to++ {
		if isTalk(path[to]) {
			count++
		}
	}
	return from, to
}

// Header returns the header's JSON as it stands in the file; end is where the
// next object begins, or the file ends.
func (c *Conversation) Header(end int64) ([]byte, error) {
	h := &c.Record.Header
	raw := make([]byte, min(max(0, end-h.Offset), maxHeader))
	if got, err := c.reader.file.ReadAt(raw, h.Offset); got < len(raw) {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrChanged
		}
		return nil, fmt.Errorf("read the header of %s: %w", c.Record.Path, err)
	}
	if i := bytes.IndexByte(raw, '\n'); i >= 0 {
		raw = raw[:i]
	}
	return bytes.TrimRight(raw, "\r \t\x00"), nil
}

// maxHeader is how much of a header is read.
const maxHeader = 16 << 20

// The two values of an entry's branch.
const (
	BranchActive    = "active"
	BranchAbandoned = "abandoned"
)

// BranchOf says which kind of branch entry i lies on.
func BranchOf(t *session.Tree, i int) string { return BranchName(t.Active(i)) }

func BranchName(active bool) string {
	if active {
		return BranchActive
	}
	return BranchAbandoned
}

// ReadRecord makes the session record of a file that is not indexed, from its
// first byte on. What it keeps of an entry is a node. A last line without a
// newline counts when it is complete.
func ReadRecord(a adapter.Adapter, path string, r io.Reader, mtime time.Time) (*session.Record, error) {
	rec := &session.Record{Summary: session.Summary{Path: path}}
	rec.Mtime = mtime.UnixNano()
	lines := jsonl.NewReader(r, 0, 0)
	parser := a.Parse(adapter.State{Path: path, Facts: true})
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		problems := parser.Parse(line, func(e *session.Entry) {
			rec.Add(e)
			if e.Facts != nil && e.Facts.HasUsage {
				rec.AddUsage(e.Facts.Usage)
			}
		})
		for _, p := range problems {
			if !p.Torn {
				rec.AddProblem(session.Problem{Line: p.Line, Offset: p.Offset, Reason: p.Reason})
			}
		}
		rec.Size = line.Offset + int64(len(line.Raw))
	}
	rec.Header = parser.State().Header
	return rec, nil
}

// OpenCalls returns the names of the tools that the last turn of the active
// branch called without getting a result.
func (c *Conversation) OpenCalls() ([]string, error) {
	answered := make(map[string]bool)
	path := c.Tree.Path()
	for at := len(path) - 1; at >= 0; at-- {
		switch n := &c.Record.Nodes[path[at]]; n.Role {
		case session.RoleUser:
			return nil, nil
		case session.RoleToolResult:
			e, err := c.Read(path[at])
			if err != nil {
				return nil, err
			}
			answered[e.ToolCallID] = true
		case session.RoleAssistant:
			e, err := c.Read(path[at])
			if err != nil {
				return nil, err
			}
			var open []string
			calls := 0
			for i := range e.View.Blocks {
				if call := e.View.Blocks[i].Call; call != nil {
					calls++
					if !answered[call.ID] {
						open = append(open, call.Tool)
					}
				}
			}
			if calls > 0 || len(e.View.Blocks) > 0 {
				return open, nil
			}
		}
	}
	return nil, nil
}
