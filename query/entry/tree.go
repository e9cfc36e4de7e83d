package entry

import (
	"iter"

	"pigrep/internal/session"
)

// A TreeRow is a row of a tree as it is shown: an entry, or a number of skipped
// entries.
type TreeRow struct {
	Entry   *Entry // nil if Skipped is not 0
	Skipped int
	Depth   int  // 0 on the main line, one more for each branch off
	Starts  bool // the first entry of a branch off
	Active  bool
	Leaf    bool // the current leaf
}

// TreeRows walks the tree of a conversation. The main line is the active branch, or the
// one written to last; a branch off is walked to its end before its parent continues.
// Unless all is set, only landmarks are read and shown: prompts, the replies before
// them, summaries, labelled entries, forks and the ends of branches.
func (c *Conversation) TreeRows(all bool) iter.Seq2[*TreeRow, error] {
	return func(yield func(*TreeRow, error) bool) {
		type step struct {
			at, depth int
			starts    bool
		}
		var stack []step
		roots := c.Tree.Roots()
		main := -1
		for _, r := range roots {
			if c.Tree.Active(r) {
				main = r
			}
		}
		if main < 0 && len(roots) > 0 {
			main = roots[len(roots)-1]
		}
		for i := len(roots) - 1; i >= 0; i-- {
			if roots[i] != main {
				stack = append(stack, step{roots[i], 1, true})
			}
		}
		if main >= 0 {
			// Other roots come first, as branches off do.
			stack = append([]step{{main, 0, false}}, stack...)
		}
		skipped, leaf := 0, c.Tree.Leaf()
		var gap TreeRow
		flush := func() bool {
			if skipped == 0 {
				return true
			}
			row := gap
			row.Skipped, skipped = skipped, 0
			return yield(&row, nil)
		}
		for len(stack) > 0 {
			s := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			next := c.Tree.Main(s.at)
			if !all && !s.starts && s.at != leaf && !c.isLandmark(s.at, next) {
				if gap.Depth != s.depth && !flush() {
					return
				}
				if skipped == 0 {
					gap = TreeRow{Depth: s.depth, Active: c.Tree.Active(s.at)}
				}
				skipped++
			} else {
				if !flush() {
					return
				}
				e, err := c.Read(s.at)
				if err != nil {
					yield(nil, err)
					return
				}
				row := &TreeRow{Entry: e, Depth: s.depth, Starts: s.starts, Active: c.Tree.Active(s.at), Leaf: s.at == leaf}
				if !yield(row, nil) {
					return
				}
			}
			if next < 0 {
				continue
			}
			stack = append(stack, step{next, s.depth, false})
			children := c.Tree.Children(s.at)
			for i := len(children) - 1; i >= 0; i-- {
				if children[i] != next {
					stack = append(stack, step{children[i], s.depth + 1, true})
				}
			}
		}
		flush()
	}
}

// isLandmark reports whether entry i shows the shape of the tree or the subject of the
// conversation. next is its successor on the main line, -1 for none.
func (c *Conversation) isLandmark(i, next int) bool {
	n := &c.Record.Nodes[i]
	switch {
	case n.Role == session.RoleUser || n.Role == session.RoleShell || n.Type == session.TypeCompaction || n.Type == session.TypeBranchSummary:
		return true
	case c.Record.Labels[n.ID] != "" || len(c.Tree.Children(i)) > 1:
		return true
	case n.Role != session.RoleAssistant:
		return next < 0 && n.Type == session.TypeMessage
	}
	return next < 0 || c.Record.Nodes[next].Role == session.RoleUser
}
