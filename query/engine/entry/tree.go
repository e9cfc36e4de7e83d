package entry

import (
	"fmt"
	"io"
	"iter"
	"time"

	"pigrep/adapter"
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

// A Step is an entry of a walk through a tree.
type Step struct {
	Entry  int  // its index in the file
	Depth  int  // 0 on the main line, one more for each branch off
	Starts bool // the first entry of a branch off
}

// Steps walks the tree of a conversation. The main line is the active branch, or the one
// written to last; a branch off is walked to its end before its parent continues. Entries
// that later ones with the same id replaced are on no branch: they follow as if each run
// of them were one.
func (c *Conversation) Steps() []Step {
	walk := c.walk()
	for i, last := 0, -2; i < len(c.Record.Nodes); i++ {
		if c.Tree.Superseded(i) && !c.Tree.Hidden(i) {
			walk = append(walk, Step{i, 1, last != i-1})
			last = i
		}
	}
	return walk
}

// walk is like Steps without replaced entries.
func (c *Conversation) walk() []Step {
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
	var stack, walk []Step
	if main >= 0 {
		stack = append(stack, Step{main, 0, false}) // after other roots, as after branches off
	}
	for i := len(roots) - 1; i >= 0; i-- {
		if roots[i] != main {
			stack = append(stack, Step{roots[i], 1, true})
		}
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		walk = append(walk, s)
		next := c.Tree.Main(s.Entry)
		if next < 0 {
			continue
		}
		stack = append(stack, Step{next, s.Depth, false})
		children := c.Tree.Children(s.Entry)
		for i := len(children) - 1; i >= 0; i-- {
			if children[i] != next && !c.isAside(children[i]) {
				stack = append(stack, Step{children[i], s.Depth + 1, true})
			}
		}
		for i := len(children) - 1; i >= 0; i-- {
			if children[i] != next && c.isAside(children[i]) {
				stack = append(stack, Step{children[i], s.Depth, false})
			}
		}
	}
	depth := 0
	return session.Together(c.Tree, walk, func(s Step) (entry int, begins bool) {
		begins, depth = s.Starts || s.Depth != depth, s.Depth
		return s.Entry, begins
	})
}

// forks reports whether several branches continue entry i.
func (c *Conversation) forks(i int) bool {
	branches := 0
	for _, k := range c.Tree.Children(i) {
		if !c.isAside(k) {
			branches++
		}
	}
	return branches > 1
}

// isAside reports whether entry i hangs beside the branch of its parent.
func (c *Conversation) isAside(i int) bool { return c.Record.Nodes[i].Aside }

// TreeRows reads the entries of the tree. Unless all is set, only landmarks are read and
// shown: prompts, the replies before them, summaries, labelled entries, forks and the
// ends of branches; steps of the machine do not count.
func (c *Conversation) TreeRows(all bool) iter.Seq2[*TreeRow, error] {
	return func(yield func(*TreeRow, error) bool) {
		var gap TreeRow // the entries skipped since the last row
		flush := func() bool {
			row := gap
			gap = TreeRow{}
			return row.Skipped == 0 || yield(&row, nil)
		}
		leaf := c.Tree.Leaf()
		for steps := 0; !all && leaf >= 0 && c.IsStep(leaf) && steps < len(c.Record.Nodes); steps++ {
			leaf = c.Tree.Parent(leaf)
		}
		starts := 0 // the depth of a branch that starts with a step
		for _, s := range c.walk() {
			if !all && c.IsStep(s.Entry) && c.Record.Labels[c.Record.Nodes[s.Entry].ID] == "" {
				if s.Starts {
					starts = s.Depth
				}
				continue
			}
			s.Starts = s.Starts || starts > 0 && starts == s.Depth
			starts = 0
			if !all && !s.Starts && s.Entry != leaf && !c.isLandmark(s.Entry, c.nextTalk(s.Entry)) {
				if gap.Depth != s.Depth && !flush() {
					return
				}
				if gap.Skipped == 0 {
					gap = TreeRow{Depth: s.Depth, Active: c.Tree.Active(s.Entry)}
				}
				gap.Skipped++
				continue
			}
			if !flush() {
				return
			}
			e, err := c.Read(s.Entry)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&TreeRow{Entry: e, Depth: s.Depth, Starts: s.Starts, Active: c.Tree.Active(s.Entry), Leaf: s.Entry == leaf}, nil) {
				return
			}
		}
		flush()
	}
}

// nextTalk returns the entry of conversation that follows entry i on the main line; -1 for none.
func (c *Conversation) nextTalk(i int) int {
	for steps := 0; steps < len(c.Record.Nodes); steps++ {
		if i = c.Tree.Main(i); i < 0 || !c.IsStep(i) {
			return i
		}
	}
	return -1
}

// isLandmark reports whether entry i shows the shape of the tree or the subject of the
// conversation. next is its successor on the main line, -1 for none.
func (c *Conversation) isLandmark(i, next int) bool {
	n := &c.Record.Nodes[i]
	switch {
	case n.Role == session.RoleUser || n.Role == session.RoleShell || n.IsSummary():
		return true
	case c.Record.Labels[n.ID] != "" || c.forks(i):
		return true
	case c.isAside(i):
		return false
	case n.Role != session.RoleAssistant:
		return next < 0 && n.Type == session.TypeMessage
	}
	return next < 0 || c.Record.Nodes[next].Role == session.RoleUser
}

// ParseBranch returns BranchActive, BranchAbandoned or, for "any" and "", "".
func ParseBranch(name string) (string, error) {
	switch name {
	case "", "any":
		return "", nil
	case BranchActive, BranchAbandoned:
		return name, nil
	}
	return "", fmt.Errorf("unknown branch %q: use active, abandoned or any", name)
}

func HasBranch(rec *session.Record, branch string) bool {
	tree := rec.Tree()
	for i := range rec.Nodes {
		if BranchOf(tree, i) == branch {
			return true
		}
	}
	return false
}

// Places says what the entries of a file that is searched without the index are in the
// conversation.
type Places struct {
	rec  *session.Record
	tree *session.Tree
}

// LoadPlaces returns the Places of a file of a size, from a record of the whole file, or without
// one by reading the file.
func LoadPlaces(a adapter.Adapter, rec *session.Record, path string, file io.ReaderAt, size int64) (*Places, error) {
	if rec == nil {
		var err error
		if rec, err = ReadRecord(a, path, io.NewSectionReader(file, 0, size), time.Time{}); err != nil {
			return nil, err
		}
	}
	return &Places{rec, rec.Tree()}, nil
}

func (p *Places) OnBranch(offset int64, branch string) bool {
	n := p.rec.NodeAt(offset)
	return n >= 0 && BranchOf(p.tree, n) == branch
}

// Complete adds to an entry what earlier lines say of it.
func (p *Places) Complete(e *session.Entry) {
	if n := p.rec.NodeAt(e.Offset); n >= 0 && p.rec.Nodes[n].ID == e.ID {
		ref := RefOf(&p.rec.Nodes[n], p.rec.Contexts.At(n))
		ref.complete(e)
	}
}

// Hidden reports whether other entries have the text of the entry at the offset.
func (p *Places) Hidden(offset int64) bool {
	n := p.rec.NodeAt(offset)
	return n >= 0 && p.tree.Hidden(n)
}
