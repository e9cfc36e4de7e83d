package html

import (
	"cmp"
	"io"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/ui/transcript"
)

// writer writes the entries of a page. A reply with calls is held back until their
// results are there; entries in between are queued behind it.
type writer struct {
	page  *Page
	w     io.Writer
	names map[int]string
	index *index

	at       int       // the step
	branches []*branch // those that the entry is in, outermost first
	turn     *entryView
	calls    []*callView // of turn, without a result so far
	before   time.Time   // of the entry before, for how long a call took
	behind   []*entryView

	lastDay, lastModel string
	highlighted        int     // bytes of code so far
	squares            float64 // of the lengths of sections so far; see affords
}

// branch is one that leaves the main line, or another branch.
type branch struct {
	step    int // its first one
	written bool
}

// maxFolds bounds the nesting of folded branches, because browsers limit the depth of
// pages. Deeper branches are not folded.
const maxFolds = 8

func (x *writer) write(name string, data any) error {
	return templates().ExecuteTemplate(x.w, name, data)
}

// step writes the entry of a step, or keeps it.
func (x *writer) step(k int, e *entry.Entry) error {
	s := x.page.Steps[k]
	x.at = k
	if s.Starts {
		if err := x.leave(s.Depth - 1); err != nil {
			return err
		}
		x.branches = append(x.branches, &branch{step: k})
	} else if len(x.branches) > s.Depth {
		if err := x.leave(s.Depth); err != nil {
			return err
		}
	}
	if x.page.Pass != nil && !x.page.Pass(e) {
		return nil
	}
	if e.Role == session.RoleToolResult && x.answer(e) {
		return nil
	}
	if len(x.calls) > 0 && isRemark(e) {
		v, _ := x.newEntry(e)
		x.behind = append(x.behind, v)
		return nil
	}
	if err := x.flush(); err != nil {
		return err
	}
	if err := x.enter(e); err != nil {
		return err
	}
	if e.Role == session.RoleToolResult {
		return x.write("entry", x.newResult(e))
	}
	v, calls := x.newEntry(e)
	if e.Role == session.RoleAssistant && len(calls) > 0 {
		x.turn, x.calls, x.before = v, calls, e.Time
		return nil
	}
	return x.write("entry", v)
}

// isRemark reports whether an entry may occur between a call and its result.
func isRemark(e *entry.Entry) bool {
	return transcript.Describe(e).Class == transcript.Other
}

// flush writes what is held back.
func (x *writer) flush() error {
	for _, c := range x.calls {
		c.unanswered()
	}
	if x.turn != nil {
		if err := x.write("entry", x.turn); err != nil {
			return err
		}
	}
	for _, v := range x.behind {
		if err := x.write("entry", v); err != nil {
			return err
		}
	}
	x.turn, x.calls, x.behind = nil, nil, nil
	return nil
}

// leave ends all but the outermost n branches.
func (x *writer) leave(n int) error {
	if err := x.flush(); err != nil {
		return err
	}
	for len(x.branches) > n {
		last := len(x.branches) - 1
		if x.branches[last].written && last < maxFolds {
			if err := x.write("branch-end", nil); err != nil {
				return err
			}
		}
		x.branches = x.branches[:last]
	}
	return nil
}

// enter begins the branches of an entry that have none written yet.
func (x *writer) enter(e *entry.Entry) error {
	for depth, b := range x.branches {
		if b.written {
			continue
		}
		b.written = true
		if depth >= maxFolds {
			continue
		}
		where, entries := "Another branch from here", ""
		switch first, tree := x.page.Steps[b.step].Entry, x.page.Conversation.Tree; {
		case tree.Superseded(first):
			where = "Replaced by later entries with the same ids"
		case tree.Parent(first) < 0:
			where = "Another beginning"
		}
		if x.page.Pass == nil {
			entries = human.Plural(x.size(b.step), "entry", "entries")
		}
		err := x.write("branch", struct {
			Where, Text, Entries string
			When                 *when
			Address              string
		}{where, cmp.Or(x.index.branches[b.step], Line(indexText(e))), entries, x.page.time(e.Time, "2006-01-02 15:04"), x.page.branchAddress(b.step)})
		if err != nil {
			return err
		}
		x.lastDay = ""
	}
	return nil
}

// enclose begins the branches that contain step k, if it is in the middle of them.
func (x *writer) enclose(k int) {
	depth := 0
	if k < len(x.page.Steps) {
		depth = x.page.Steps[k].Depth
		if x.page.Steps[k].Starts {
			depth--
		}
	}
	for i := k - 1; i >= 0 && depth > 0; i-- {
		if s := x.page.Steps[i]; s.Starts && s.Depth == depth {
			x.branches = append([]*branch{{step: i}}, x.branches...)
			depth--
		}
	}
}

// branchAddress is the address of the branch that begins with step k; "" for none.
func (p *Page) branchAddress(k int) string {
	if p.Site == nil {
		return ""
	}
	return p.Site.Branch(p.Conversation.Record.Nodes[p.Steps[k].Entry].ID)
}

// size is the number of entries of a branch that starts at a step.
func (x *writer) size(k int) int {
	n := 1
	for _, s := range x.page.Steps[k+1:] {
		if s.Depth < x.page.Steps[k].Depth || s.Starts && s.Depth == x.page.Steps[k].Depth {
			break
		}
		n++
	}
	return n
}

// end writes what is left.
func (x *writer) end() error { return x.leave(0) }
