package session

import (
	"slices"
	"sort"
)

// Tree is the conversation tree of a session file, as pi builds it: the leaf is the
// last entry in file order, and the active branch follows the parent ids from it to
// a root. Of several entries with one id, the last in file order counts. A missing
// parent or a cycle ends the branch.
type Tree struct {
	nodes   []Node
	byID    map[string]int // the last entry with each id
	list    bool           // the entries name no parents: each follows the previous one
	path    []int          // the active branch, root first
	active  []bool
	context []bool

	parents  []int // made on demand; -1 for a root
	children [][]int
	roots    []int
}

// Tree builds the tree of the record's nodes.
func (r *Record) Tree() *Tree {
	nodes := r.all()
	t := &Tree{nodes: nodes, active: make([]bool, len(nodes)), context: make([]bool, len(nodes))}
	if len(nodes) == 0 {
		return t
	}
	t.byID = make(map[string]int, len(nodes))
	for i := range nodes {
		t.byID[nodes[i].ID] = i
	}
	t.list = r.Version <= 1 && !t.nodes[0].HasParent || !slices.ContainsFunc(t.nodes, func(n Node) bool { return n.HasParent })
	t.path = t.Branch(t.Leaf())
	for _, i := range t.path {
		t.active[i] = true
	}
	t.markContext()
	if len(t.byID) < len(t.nodes) && !t.list {
		// Earlier entries with the same id get the state of the last one.
		for i := range t.nodes {
			last := t.byID[t.nodes[i].ID]
			t.active[i], t.context[i] = t.active[last], t.context[last]
		}
	}
	return t
}

// Leaf returns the index of the current leaf: the last entry, or its target if it is
// a "leaf" or "lane" entry. It is -1 if there are no entries.
func (t *Tree) Leaf() int {
	last := len(t.nodes) - 1
	if last < 0 {
		return -1
	}
	if n := &t.nodes[last]; n.Type == TypeLeaf || n.Type == TypeLane {
		if i, ok := t.byID[n.TargetID]; ok {
			return i
		}
	}
	return last
}

// parent returns the index of the entry that i follows, or -1.
func (t *Tree) parent(i int) int {
	if t.list {
		return i - 1
	}
	if id := t.nodes[i].ParentID; id != "" {
		if p, ok := t.byID[id]; ok {
			return p
		}
	}
	return -1
}

// Branch returns the path from a root to entry i, root first.
func (t *Tree) Branch(i int) []int {
	var path []int
	seen := make([]bool, len(t.nodes))
	for i >= 0 && !seen[i] {
		seen[i] = true
		path = append(path, i)
		i = t.parent(i)
	}
	slices.Reverse(path)
	return path
}

// Find returns the index of the last entry with this id, or -1.
func (t *Tree) Find(id string) int {
	if i, ok := t.byID[id]; ok {
		return i
	}
	return -1
}

// link finds the children of every entry. Superseded entries are not part of the
// tree, and the first entry of a cycle is a root, so that every other entry is below
// exactly one root.
func (t *Tree) link() {
	if t.parents != nil || len(t.nodes) == 0 {
		return
	}
	t.parents = make([]int, len(t.nodes))
	t.children = make([][]int, len(t.nodes))
	for i := range t.nodes {
		if t.parents[i] = t.parent(i); t.parents[i] == i {
			t.parents[i] = -1
		}
	}
	walk := make([]int, len(t.nodes)) // the number of the walk that passed, from 1
	for i := range t.nodes {
		for at := i; at >= 0; at = t.parents[at] {
			if walk[at] == i+1 {
				first := at
				for next := t.parents[at]; next != at; next = t.parents[next] {
					first = min(first, next)
				}
				t.parents[first] = -1
				break
			}
			if walk[at] != 0 {
				break
			}
			walk[at] = i + 1
		}
	}
	for i := range t.nodes {
		switch p := t.parents[i]; {
		case t.Superseded(i):
		case p < 0:
			t.roots = append(t.roots, i)
		default:
			t.children[p] = append(t.children[p], i)
		}
	}
}

// Superseded reports whether a later entry has the same id as entry i and replaces
// it.
func (t *Tree) Superseded(i int) bool { return t.byID[t.nodes[i].ID] != i }

// Parent returns the index of the entry that entry i follows, or -1.
func (t *Tree) Parent(i int) int {
	t.link()
	return t.parents[i]
}

// Roots returns the indexes of the entries without a parent, in file order. Callers
// must not change the slice.
func (t *Tree) Roots() []int {
	t.link()
	return t.roots
}

// Children returns the indexes of the entries that follow entry i, in file order.
// Callers must not change the slice.
func (t *Tree) Children(i int) []int {
	t.link()
	return t.children[i]
}

// Main returns the child that continues the branch of entry i: the active one, or
// else the last; -1 if there is none.
func (t *Tree) Main(i int) int {
	children := t.Children(i)
	if len(children) == 0 {
		return -1
	}
	for _, c := range children {
		if t.active[c] {
			return c
		}
	}
	return children[len(children)-1]
}

// Through returns the branch of entry i: from its root to the entry, then along the
// main children to a leaf. For an entry on the active branch, that is the active
// branch.
func (t *Tree) Through(i int) []int {
	if i = t.byID[t.nodes[i].ID]; t.active[i] {
		return t.path
	}
	path := t.Branch(i)
	seen := make(map[int]bool, len(path))
	for _, n := range path {
		seen[n] = true
	}
	for next := t.Main(i); next >= 0 && !seen[next]; next = t.Main(next) {
		seen[next] = true
		path = append(path, next)
	}
	return path
}

// markContext marks the entries that pi would send to the model: the active branch,
// without entries dropped by its last compaction or removed by context edits.
func (t *Tree) markContext() {
	last := -1
	for at, i := range t.path {
		if t.nodes[i].Type == TypeCompaction {
			last = at
		}
	}
	keep := 0
	if last >= 0 {
		keep = last
		for at, i := range t.path[:last] {
			if t.nodes[i].ID == t.nodes[t.path[last]].FirstKept {
				keep = at
				break
			}
		}
	}
	for at, i := range t.path[keep:] {
		older := t.nodes[i].Type == TypeCompaction && keep+at != last
		t.context[i] = !older
	}
	for _, i := range t.path {
		if t.nodes[i].Type == TypeContextEdit {
			if target, ok := t.byID[t.nodes[i].TargetID]; ok {
				t.context[target] = false
			}
		}
	}
}

// Active reports whether entry i is on the active branch.
func (t *Tree) Active(i int) bool { return t.active[i] }

// InContext reports whether pi would restore entry i for the model: it is on the
// active branch, and neither compacted away nor edited out.
func (t *Tree) InContext(i int) bool { return t.context[i] }

// Path returns the indexes of the entries on the active branch, root first.
func (t *Tree) Path() []int { return t.path }

// Runs are ranges of numbers in ascending order: pairs of the first number and the one after
// the last.
type Runs []int

func (r Runs) add(i int) Runs {
	if n := len(r); n > 0 && r[n-1] == i {
		r[n-1]++
		return r
	}
	return append(r, i, i+1)
}

// Has reports whether a number is in one of the ranges.
func (r Runs) Has(i int) bool { return sort.SearchInts(r, i+1)%2 == 1 }

// Marks returns which entries are on the active branch, and which are in the context.
func (r *Record) Marks() (active, context Runs) {
	if k := r.Known; k != nil {
		if active, context, ok := r.moreMarks(k); ok {
			return active, context
		}
	}
	t := r.Tree()
	for i := range t.nodes {
		if t.active[i] {
			active = active.add(i)
		}
		if t.context[i] {
			context = context.add(i)
		}
	}
	return active, context
}

// fewNew is the largest number of new entries that are compared with each older one. For
// more, building the tree takes less time.
const fewNew = 50

// moreMarks returns the marks without reading the older entries. That works if each new entry
// only lengthens the active branch and the context, or begins another branch, and no other
// entry names it.
func (r *Record) moreMarks(k *Known) (active, context Runs, ok bool) {
	active, context = slices.Clone(k.Active), slices.Clone(k.InContext)
	first := k.Entries - k.Left // of the new entries
	if first < len(r.Nodes) && (first == 0 || len(r.Nodes)-first > fewNew || r.Version <= 1) {
		return nil, nil, false
	}
	for i := first; i < len(r.Nodes); i++ {
		n, above := &r.Nodes[i], &r.Nodes[i-1]
		named := func(id string) bool {
			names := func(o Node) bool { return o.ID == id || o.ParentID == id || o.TargetID == id || o.FirstKept == id }
			return slices.ContainsFunc(r.Nodes[:i], names) || k.Left > 0 && k.Mentions(id)
		}
		switch n.Type {
		case TypeLeaf, TypeLane, TypeCompaction, TypeContextEdit:
			return nil, nil, false
		}
		switch {
		case !n.HasParent || n.ID == "" || named(n.ID):
			return nil, nil, false
		case n.ParentID == "" || n.ParentID != n.ID && !named(n.ParentID):
			active, context = nil, nil
		case n.ParentID != above.ID || !above.HasParent || above.Type == TypeLeaf || above.Type == TypeLane || !active.Has(k.Left+i-1):
			return nil, nil, false
		}
		active, context = active.add(k.Left+i), context.add(k.Left+i)
	}
	return active, context, true
}

// NodeAt returns the index of the entry that begins at the byte offset, or -1.
func (r *Record) NodeAt(offset int64) int {
	i := sort.Search(len(r.Nodes), func(i int) bool { return r.Nodes[i].Offset >= offset })
	if i < len(r.Nodes) && r.Nodes[i].Offset == offset {
		return i
	}
	return -1
}
