package session

import "sort"

// Tree is the conversation tree of a session file, as pi builds it: the leaf is
// the last entry in file order, the active branch runs from it along the parent
// ids; of entries with one id, the last in file order counts. Parents that are
// missing or form a cycle end the branch and harm nothing.
type Tree struct {
	nodes   []Node
	path    []int // the active branch, root first
	active  []bool
	context []bool
}

// Tree works out the tree of the record's nodes.
func (r *Record) Tree() *Tree {
	t := &Tree{nodes: r.Nodes, active: make([]bool, len(r.Nodes)), context: make([]bool, len(r.Nodes))}
	if len(r.Nodes) == 0 {
		return t
	}
	byID := make(map[string]int, len(r.Nodes))
	for i := range r.Nodes {
		byID[r.Nodes[i].ID] = i
	}
	if r.Version <= 1 && !t.nodes[0].HasParent {
		// Version 1 is a list.
		for i := range t.nodes {
			t.path = append(t.path, i)
		}
	} else {
		t.path = t.branch(t.leaf(byID), byID)
	}
	onPath := make(map[string]bool, len(t.path))
	for _, i := range t.path {
		onPath[t.nodes[i].ID] = true
	}
	for i := range t.nodes {
		t.active[i] = onPath[t.nodes[i].ID]
	}
	t.markContext()
	return t
}

// leaf returns the index of the current leaf: the last entry, or the entry that
// a last "leaf" entry points at.
func (t *Tree) leaf(byID map[string]int) int {
	last := len(t.nodes) - 1
	if n := &t.nodes[last]; n.Type == "leaf" {
		if i, ok := byID[n.TargetID]; ok {
			return i
		}
	}
	return last
}

// branch returns the way from a root to the node, root first.
func (t *Tree) branch(i int, byID map[string]int) []int {
	var path []int
	seen := make(map[int]bool)
	for !seen[i] {
		seen[i] = true
		path = append(path, i)
		parent, ok := byID[t.nodes[i].ParentID]
		if !ok || t.nodes[i].ParentID == "" {
			break
		}
		i = parent
	}
	for a, b := 0, len(path)-1; a < b; a, b = a+1, b-1 {
		path[a], path[b] = path[b], path[a]
	}
	return path
}

// markContext marks what pi would send to the model: the active branch, without
// what its last compaction dropped and what context edits took out.
func (t *Tree) markContext() {
	last := -1
	for at, i := range t.path {
		if t.nodes[i].Type == "compaction" {
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
	edited := make(map[string]bool)
	for _, i := range t.path {
		if t.nodes[i].Type == "context_edit" {
			edited[t.nodes[i].TargetID] = true
		}
	}
	kept := make(map[string]bool)
	for _, i := range t.path[keep:] {
		kept[t.nodes[i].ID] = !edited[t.nodes[i].ID]
	}
	for i := range t.nodes {
		t.context[i] = kept[t.nodes[i].ID]
	}
}

// Active reports whether entry i of the file lies on the active branch.
func (t *Tree) Active(i int) bool { return t.active[i] }

// InContext reports whether entry i is part of what pi restores for the model:
// on the active branch, and neither compacted away nor edited out.
func (t *Tree) InContext(i int) bool { return t.context[i] }

// Path returns the indexes of the entries on the active branch, root first.
func (t *Tree) Path() []int { return t.path }

// NodeAt returns the index of the entry that begins at the byte offset, or -1.
func (r *Record) NodeAt(offset int64) int {
	i := sort.Search(len(r.Nodes), func(i int) bool { return r.Nodes[i].Offset >= offset })
	if i < len(r.Nodes) && r.Nodes[i].Offset == offset {
		return i
	}
	return -1
}
