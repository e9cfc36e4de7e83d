package entry

import (
	"iter"
	"slices"

	"pigrep/internal/session"
)

// Unfolded reports whether a step is shown as an entry of its own. Otherwise it shares a line with the
// steps around it; first is the first of these.
type Unfolded func(step, first int) bool

// AllSteps unfolds every step.
func AllSteps(int, int) bool { return true }

// Entries reads the entries of a list that pass the filter; nil passes all. Steps that shows does not
// unfold become one Entry with Folded, before the next entry that says something: steps between the
// calls of a turn are therefore together, after the calls. Without a filter, folded steps are not read.
func (c *Conversation) Entries(list []int, pass func(*Entry) bool, shows Unfolded) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		var folded session.Steps
		first := -1 // of the steps that stand together
		flush := func() bool {
			e := &Entry{Index: first, Folded: folded.String()}
			first, folded = -1, session.Steps{}
			return e.Folded == "" || yield(e, nil)
		}
		for _, i := range list {
			step, isShown := c.Record.Nodes[i].Step, true
			if step != session.Talk {
				if first < 0 {
					first = i
				}
				isShown = shows(i, first)
			}
			if !isShown && pass == nil {
				folded.Add(step)
				continue
			}
			e, err := c.Read(i)
			switch {
			case err == nil && pass != nil && !pass(e):
				continue
			case err == nil && !isShown:
				folded.Add(step)
				continue
			case err == nil && step == session.Talk && first >= 0 && e.Says() && !flush():
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if first >= 0 {
			flush()
		}
	}
}

// Says reports whether an entry is more than calls, their results, and thinking about them.
func (e *Entry) Says() bool {
	if e.Role == session.RoleToolResult {
		return false
	}
	for i := range e.View.Blocks {
		if b := &e.View.Blocks[i]; b.Call == nil && b.Kind != session.KindThinking {
			return true
		}
	}
	return e.Role != session.RoleAssistant
}

// IsStep reports whether entry i is a step, not conversation.
func (c *Conversation) IsStep(i int) bool { return c.Record.Nodes[i].Step != session.Talk }

// Talk returns the entries of a list that are conversation or named.
func (c *Conversation) Talk(list []int, named ...int) (talk []int) {
	for _, i := range list {
		if !c.IsStep(i) || slices.Contains(named, i) {
			talk = append(talk, i)
		}
	}
	return talk
}

// Count returns the number of entries that are conversation, and how many of them are on abandoned
// branches.
func (c *Conversation) Count() (all, abandoned int) {
	for i := range c.Record.Nodes {
		if c.IsStep(i) {
			continue
		}
		if all++; !c.Tree.Active(i) {
			abandoned++
		}
	}
	return all, abandoned
}

// Before and After are how many entries are read around a named one by default: readers look for the
// outcome more often than for what led to it.
const (
	Before = 2
	After  = 4
)

// Reading returns the entries to read around entry i of a path, in order: around entries on each side,
// with the steps between them. If around is negative, it returns Before and After entries, and the prompt
// and the answer of the turn.
func (c *Conversation) Reading(path []int, i, around int) []int {
	if around >= 0 {
		from, to := c.Around(path, i, around, around)
		return path[from:to]
	}
	from, to := c.Around(path, i, Before, After)
	prompt, answer := c.Turn(path, i)
	first, last := slices.Index(path, prompt), slices.Index(path, answer)
	if first >= 0 && !slices.ContainsFunc(path[min(first+1, from):from], c.isTalk) { // only steps are between
		from = min(first, from)
	}
	if last >= to && !slices.ContainsFunc(path[to:last], c.isTalk) {
		to = last + 1
	}
	list := path[from:to:to]
	if first >= 0 && first < from {
		list = slices.Concat([]int{prompt}, list)
	}
	if last >= to {
		list = append(list, answer)
	}
	return list
}

func (c *Conversation) isTalk(i int) bool { return !c.IsStep(i) }

// Turn returns the prompt of the turn of entry i of a path, and the last reply before the next prompt; -1
// for none.
func (c *Conversation) Turn(path []int, i int) (prompt, answer int) {
	prompt, answer = -1, -1
	named := false
	for _, k := range path {
		n := &c.Record.Nodes[k]
		named = named || k == i
		switch {
		case n.Step != session.Talk:
		case n.Role == session.RoleUser && named && k != i:
			return prompt, answer
		case n.Role == session.RoleUser:
			prompt, answer = k, -1
		case n.Role == session.RoleAssistant:
			answer = k
		}
	}
	return prompt, answer
}
