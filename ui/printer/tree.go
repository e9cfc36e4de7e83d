package printer

import (
	"fmt"
	"iter"
	"strings"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/ui/transcript"
)

// Tree is the tree of a conversation.
type Tree struct {
	Session SessionFacts
	Rows    iter.Seq2[*entry.TreeRow, error]
}

// maxTreeIndent is the deepest indentation of branches, to leave room for text.
const maxTreeIndent = 12

// text prints a line for each entry: the active branch at the left, other branches
// below the entry where they fork, indented.
func (s *Tree) text(t *text) {
	p := &showText{text: t, s: &Show{Session: s.Session, Whole: true, Branches: true}, out: &strings.Builder{}}
	p.facts()
	p.out.WriteByte('\n')
	last := 0
	for r, err := range s.Rows {
		if t.fail(err); t.err != nil {
			return
		}
		p.treeRow(r, last)
		last = r.Depth
		p.flush()
	}
}

func (p *showText) treeRow(r *entry.TreeRow, last int) {
	depth := min(r.Depth, maxTreeIndent)
	if p.Width > 0 {
		depth = min(depth, p.Width/8)
	}
	indent := strings.Repeat("│ ", depth)
	if r.Starts && depth > 0 {
		indent = strings.Repeat("│ ", depth-1) + "├─"
	}
	dot := "● "
	if !r.Active {
		dot = "○ "
	}
	if r.Skipped > 0 {
		line := indent + "  " + "… " + human.Plural(r.Skipped, "entry", "entries")
		fmt.Fprintln(p.out, p.dim(p.cut(line, 0)))
		return
	}
	what, text := p.treeText(r.Entry)
	right := terminal.Clean(r.Entry.ID)
	var notes []string
	if l := r.Entry.Labelled; l != "" {
		notes = append(notes, "["+terminal.Clean(l)+"]")
	}
	if r.Leaf {
		notes = append(notes, "← leaf")
	}
	note := strings.Join(notes, " ")
	if note != "" {
		note = " " + note
	}
	room := p.Width - terminal.Width(indent) - terminal.Width(dot) - terminal.Width(what) - 1 - terminal.Width(note) - 2 - terminal.Width(right)
	tail := "  " + right
	switch {
	case p.Width == 0:
		tail = "  · " + right
	case room < minBodyColumns:
		room += terminal.Width(right) + 2
		tail = ""
		text = terminal.Clip(text, max(1, room))
	default:
		text = terminal.Clip(text, room)
		tail = strings.Repeat(" ", room-terminal.Width(text)) + tail
	}
	style := kindStyles[kindOfEntry(r.Entry)]
	if !r.Active {
		style = dimStyle
		text = p.dim(text)
	}
	fmt.Fprintln(p.out, strings.TrimRight(p.dim(indent)+dot+p.style(style, what)+" "+text+p.style(matchStyle, note)+p.dim(tail), " "))
}

// kindOfEntry is the kind of the first block that is not thinking.
func kindOfEntry(e *entry.Entry) session.Kind {
	for i := range e.View.Blocks {
		if e.View.Blocks[i].Kind != session.KindThinking {
			return e.View.Blocks[i].Kind
		}
	}
	return session.KindOther
}

// treeText returns what an entry is, and its text on one line.
func (p *showText) treeText(e *entry.Entry) (what, text string) {
	what = transcript.Describe(e).Name
	switch e.Type {
	case session.TypeLabel:
		return what, terminal.Clean(e.Label) + " on " + terminal.Clean(e.TargetID)
	case session.TypeSessionInfo:
		return "name", terminal.Clean(e.Name)
	}
	thought := ""
	for i := range e.View.Blocks {
		b := &e.View.Blocks[i]
		switch {
		case b.Call != nil:
			text = terminal.Clean(b.Call.Tool) + " "
			if c := transcript.CommandOf(b.Call); c != "" {
				text += "$ " + terminal.Clean(c)
			} else {
				text += transcript.CallSummary(b.Call, p.s.Session.CWD, false)
			}
			if e.Role == session.RoleToolResult {
				return what, text
			}
			return "call", text
		case b.Shell != nil:
			return what, "$ " + terminal.Clean(b.Shell.Command)
		case b.Image != nil && len(b.Text) == 0:
			text = imageText(b.Image)
		case b.Kind == session.KindDetails:
			continue
		case b.Kind == session.KindThinking:
			if thought == "" {
				thought = terminal.Clean(string(b.Text[:min(len(b.Text), transcript.LongestLine)]))
			}
			continue
		default:
			text = terminal.Clean(string(b.Text[:min(len(b.Text), transcript.LongestLine)]))
		}
		if text != "" {
			return what, text
		}
	}
	if thought != "" {
		return "thinking", thought
	}
	return what, text
}

// treeRowJSON is an entry of a tree, or the number of entries left out.
type treeRowJSON struct {
	Type      string       `json:"type"` // "node"
	EntryID   string       `json:"entryId,omitempty"`
	ParentID  string       `json:"parentId,omitempty"`
	EntryType string       `json:"entryType,omitempty"`
	Role      string       `json:"role,omitempty"`
	Timestamp session.Time `json:"timestamp,omitzero"`
	Depth     int          `json:"depth"`
	Branch    string       `json:"branch"`
	InContext bool         `json:"inContext"`
	Leaf      bool         `json:"leaf,omitempty"` // the current leaf
	Label     string       `json:"label,omitempty"`
	Text      string       `json:"text,omitempty"`
	Skipped   int          `json:"skipped,omitempty"` // entries left out here
}

func newTreeRowJSON(s *Tree, r *entry.TreeRow) treeRowJSON {
	j := treeRowJSON{Type: "node", Depth: r.Depth, Branch: entry.BranchAbandoned, Leaf: r.Leaf, Skipped: r.Skipped}
	if r.Active {
		j.Branch = entry.BranchActive
	}
	if e := r.Entry; e != nil {
		_, text := (&showText{text: &text{}, s: &Show{Session: s.Session}}).treeText(e)
		j.EntryID, j.ParentID, j.EntryType, j.Role, j.Timestamp = e.ID, e.ParentID, e.Type, e.Role, session.Time{Time: e.Time}
		j.InContext, j.Label, j.Text = e.InContext, e.Labelled, text
	}
	return j
}

func (s *Tree) json(j *jsonWriter) {
	j.stream(&stream{
		command: "show", session: &s.Session, name: "tree",
		rows: rowsFrom(s.Rows, func(r *entry.TreeRow) any { return newTreeRowJSON(s, r) }),
		tail: func(n int) any {
			if !j.lines {
				return nil
			}
			return struct {
				Total int `json:"total"`
			}{n}
		},
	})
}
