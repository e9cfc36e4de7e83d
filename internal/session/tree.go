package session

import (
	"slices"
	"sort"
)

// Tree is the conversation tree of a session file: the leaf is the last entry in file
// order that can be one, and the active branch follows the parent ids from it to a root.
// Dead entries are on no active branch.
// Entries that hang aside belong to the branch of their parent. Of several entries with
// one id, the last in file order counts that does not repeat an earlier one. A missing
// parent or a cycle ends the branch. Entries apart, and hidden ones, are in no branch.
type Tree struct {
	nodes   []Node
	hidden  Runs
	dead    Runs
	byID    map[string]int // the entry that counts with each id
	list    bool           // the entries name no parents: each follows the previous one
	path    []int          // the active branch, root first
	active  []bool
	context []bool

	parents  []int // made on demand; -1 for a root
	children [][]int
	roots    []int
	pieces   map[string][]int
	pieced   bool // some entries are pieces of a message
	aside    bool // some hang beside a branch
}

func (r *Record) Tree() *Tree {
	nodes := r.all()
	t := &Tree{nodes: nodes, hidden: r.Hidden, dead: r.Dead, active: make([]bool, len(nodes)), context: make([]bool, len(nodes))}
	if len(nodes) == 0 {
		return t
	}
	t.byID = make(map[string]int, len(nodes))
	for i := range nodes {
		if _, ok := t.byID[nodes[i].ID]; !ok || !t.hidden.Has(i) {
			t.byID[nodes[i].ID] = i
		}
		t.pieced, t.aside = t.pieced || nodes[i].Message != "", t.aside || nodes[i].Aside
	}
	t.list = r.Version <= 1 && !t.nodes[0].HasParent || !slices.ContainsFunc(t.nodes, func(n Node) bool { return n.HasParent })
	t.path = t.branch(t.Leaf())
	if len(t.dead) > 0 {
		t.path = slices.DeleteFunc(t.path, t.dead.Has)
	}
	for _, i := range t.path {
		t.active[i] = true
	}
	for i := range nodes {
		t.active[i] = t.active[i] || t.outside(i) && !t.dead.Has(i)
	}
	t.path = t.complete(t.path, t.active)
	t.markContext()
	t.path = t.Together(t.path)
	if len(t.byID) < len(t.nodes) && !t.list {
		// Other entries with the same id get the state of the one that counts.
		for i := range t.nodes {
			last := t.byID[t.nodes[i].ID]
			t.active[i], t.context[i] = t.active[last], t.context[last]
		}
	}
	return t
}

// Leaf returns the index of the current leaf: the last entry that can be one, or its
// target if it is a "leaf" or "lane" entry. Such an entry may also stand apart; without a target it then undoes earlier ones. It is -1 if there
// is none.
func (t *Tree) Leaf() int {
	chosen := true // nothing has undone the choice of a leaf
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		if t.dead.Has(i) {
			continue
		}
		if n.Type == TypeLeaf && n.Apart && n.TargetID == "" {
			chosen = false
		} else if (n.Type == TypeLeaf || n.Type == TypeLane) && chosen {
			if target := t.Find(n.TargetID); target >= 0 {
				return target
			}
		}
		if !n.Aside && !n.Beside && !t.outside(i) {
			return i
		}
	}
	return -1
}

func (t *Tree) outside(i int) bool { return t.nodes[i].Apart || t.hidden.Has(i) }

// complete adds the entries beside a branch to it, in file order behind their parents. It
// leaves out hidden ones. on says which entries are on the branch, and is updated.
func (t *Tree) complete(path []int, on []bool) []int {
	if len(t.hidden) > 0 {
		path = slices.DeleteFunc(path, t.hidden.Has)
	}
	var asides []int
	for i := 0; t.aside && i < len(t.nodes); i++ {
		if t.nodes[i].Aside && !on[i] && !t.outside(i) {
			if p := t.parent(i); p >= 0 && p < i && on[p] && t.dead.Has(i) == t.dead.Has(p) {
				on[i] = true
				asides = append(asides, i)
			}
		}
	}
	if len(asides) > 0 {
		branch := path
		path = nil
		for at, i := range branch {
			path = append(path, i)
			for len(asides) > 0 && asides[0] > i && (at+1 == len(branch) || asides[0] < branch[at+1]) {
				path, asides = append(path, asides[0]), asides[1:]
			}
		}
		path = append(path, asides...)
	}
	return path
}

// Together returns entries that are in the order of a branch or of the file, but the pieces
// of each message together: the results that arrived between them follow.
func (t *Tree) Together(list []int) []int {
	return Together(t, list, func(i int) (entry int, begins bool) { return i, false })
}

// Together is Tree.Together for what stands for entries. begins says that something begins
// another branch or line, so that no piece is moved across it.
func Together[T any](t *Tree, list []T, of func(T) (entry int, begins bool)) []T {
	if !t.pieced {
		return list
	}
	together, between, message := make([]T, 0, len(list)), []T(nil), ""
	for _, x := range list {
		i, begins := of(x)
		n := &t.nodes[i]
		switch talks := n.Type == TypeCompaction || n.Type == TypeMessage && (n.Role == RoleUser || n.Role == RoleAssistant); {
		case begins, message == "", talks && n.Message != message:
			together = append(append(together, between...), x)
			between, message = between[:0], n.Message
		case talks:
			together = append(together, x)
		default:
			between = append(between, x)
		}
	}
	return append(together, between...)
}

// parent returns the index of the entry that i follows, or -1.
func (t *Tree) parent(i int) int {
	if t.list {
		for i--; i >= 0 && t.outside(i); i-- {
		}
		return i
	}
	if id := t.nodes[i].ParentID; id != "" {
		return t.Find(id)
	}
	return -1
}

// Branch returns the path from a root to entry i, root first, with what hangs beside it.
func (t *Tree) Branch(i int) []int {
	path := t.branch(i)
	return t.Together(t.complete(path, t.on(path)))
}

func (t *Tree) on(path []int) []bool {
	on := make([]bool, len(t.nodes))
	for _, i := range path {
		on[i] = true
	}
	return on
}

func (t *Tree) branch(i int) []int {
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
		t.parents[i] = -1
		p := t.parent(i)
		for steps := 0; p >= 0 && t.outside(p) && steps < len(t.nodes); steps++ {
			p = t.parent(p)
		}
		if p != i && !t.outside(i) {
			t.parents[i] = p
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
		case t.Superseded(i), t.outside(i):
		case p < 0:
			t.roots = append(t.roots, i)
		default:
			t.children[p] = append(t.children[p], i)
		}
	}
}

// Superseded reports whether another entry with the id of entry i counts in its place.
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
	main, last := -1, -1
	for _, last = range t.Children(i) {
		switch {
		case t.nodes[last].Aside:
		case t.active[last]:
			return last
		default:
			main = last
		}
	}
	if main < 0 {
		return last
	}
	return main
}

// Pieces returns the indexes of the entries that are pieces of the same message as entry i,
// in file order: i alone if it is a whole one. Callers must not change the slice.
func (t *Tree) Pieces(i int) []int {
	message := t.nodes[i].Message
	if message == "" {
		return []int{i}
	}
	if t.pieces == nil {
		t.pieces = make(map[string][]int)
		for k := range t.nodes {
			if m := t.nodes[k].Message; m != "" && !t.hidden.Has(k) {
				t.pieces[m] = append(t.pieces[m], k)
			}
		}
	}
	return t.pieces[message]
}

// Hidden reports whether other entries have the text of entry i, so that it is not shown.
func (t *Tree) Hidden(i int) bool { return t.hidden.Has(i) }

// Shown returns the entries of all branches that are not hidden, in the order of the file.
func (t *Tree) Shown() (list []int) {
	for i := range t.nodes {
		if !t.Hidden(i) {
			list = append(list, i)
		}
	}
	return t.Together(list)
}

// Through returns the branch of entry i: from its root to the entry, then along the
// main children to a leaf. For an entry on the active branch, that is the active
// branch.
func (t *Tree) Through(i int) []int {
	if i = t.byID[t.nodes[i].ID]; t.active[i] {
		return t.path
	}
	path := t.branch(i)
	seen := t.on(path)
	for next := t.Main(i); next >= 0 && !seen[next]; next = t.Main(next) {
		seen[next] = true
		path = append(path, next)
	}
	return t.Together(t.complete(path, seen))
}

// markContext marks the entries that the agent would send to the model: the active branch,
// without entries dropped by its last compaction or removed by context edits.
func (t *Tree) markContext() {
	last, keep := -1, 0
	for at, i := range t.path {
		if t.nodes[i].Type == TypeCompaction {
			last = at
		}
	}
	if last >= 0 {
		first := t.nodes[t.path[last]].FirstKept
		if keep = slices.IndexFunc(t.path[:last], func(i int) bool { return t.nodes[i].ID == first }); keep < 0 {
			keep = last
		}
	}
	for at, i := range t.path[keep:] {
		t.context[i] = t.nodes[i].Type != TypeCompaction || keep+at == last
	}
	for _, i := range t.path {
		if t.nodes[i].Type == TypeContextEdit {
			if target := t.Find(t.nodes[i].TargetID); target >= 0 {
				t.context[target] = false
			}
		}
	}
}

func (t *Tree) Active(i int) bool { return t.active[i] }

// InContext reports whether the agent would restore entry i for the model: it is on the
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

// with returns ranges that also have i. They may share the memory of r.
func (r Runs) with(i int) Runs {
	at := sort.SearchInts(r, i+1)
	switch {
	case at == len(r):
		return r.add(i)
	case at%2 == 1: // it has it
		return r
	}
	r = slices.Insert(slices.Clone(r), at, i, i+1)
	if r[at+1] == r[at+2] { // the next range goes on from it
		r = slices.Delete(r, at+1, at+3)
	}
	if at > 0 && r[at-1] == r[at] {
		r = slices.Delete(r, at-1, at+1)
	}
	return r
}

// Has reports whether a number is in one of the ranges.
func (r Runs) Has(i int) bool { return sort.SearchInts(r, i+1)%2 == 1 }

// Abandon marks the entries from a line on as dead; 0 for none.
func (r *Record) Abandon(line int) {
	if from := r.before(line); from < len(r.Nodes) {
		r.Dead = Runs{from, len(r.Nodes)}
	}
}

// before returns how many entries are before a line.
func (r *Record) before(line int) int {
	if line == 0 {
		return len(r.Nodes)
	}
	return sort.Search(len(r.Nodes), func(i int) bool { return r.Nodes[i].Line >= line })
}

// Marks returns which entries are on the active branch, and which are in the context.
func (r *Record) Marks() (active, context Runs) {
	if k := r.Known; k != nil && len(r.Dead) == 0 {
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
// lengthens the active branch and the context, hangs beside them, is in no branch, or begins
// another branch, and no other entry names it.
func (r *Record) moreMarks(k *Known) (active, context Runs, ok bool) {
	first := k.Entries - k.Left // of the new entries
	if k.Moved || first < len(r.Nodes) && (first == 0 || len(r.Nodes)-first > fewNew || r.Version <= 1) {
		return nil, nil, false
	}
	active, context = slices.Clone(k.Active), slices.Clone(k.InContext)
	leaf, plain := -1, r.Memo == nil && len(r.Hidden) == 0 && !slices.ContainsFunc(r.Nodes, Node.isSpecial)
	if first < len(r.Nodes) {
		if leaf = r.leafBefore(first); leaf < 0 || r.lastWith(r.Nodes[leaf].ID, first) != leaf {
			return nil, nil, false
		}
	}
	for i := first; i < len(r.Nodes); i++ {
		n, number := &r.Nodes[i], k.Left+i
		named := func(id string) bool {
			names := func(o Node) bool { return o.ID == id || o.ParentID == id || o.TargetID == id || o.FirstKept == id }
			return slices.ContainsFunc(r.Nodes[:i], names) || k.Left > 0 && k.Mentions(id)
		}
		switch {
		case n.ID == "", n.HasParent && !r.Nodes[leaf].HasParent, named(n.ID):
			return nil, nil, false
		case n.Apart && n.Type == TypeLeaf && n.TargetID == r.Nodes[leaf].ID, n.Apart && n.Type != TypeLeaf && n.Type != TypeLane:
			active = active.add(number) // in no branch
		case r.Hidden.Has(number), n.Apart, n.Type == TypeLeaf, n.Type == TypeLane, n.Type == TypeCompaction, n.Type == TypeContextEdit, !n.HasParent, n.Beside:
			return nil, nil, false
		case n.Aside:
			above := r.lastWith(n.ParentID, i)
			if above < 0 {
				return nil, nil, false
			}
			if active.Has(k.Left + above) {
				active, context = active.add(number), context.add(number)
			}
		case n.ParentID == r.Nodes[leaf].ID && active.Has(k.Left+leaf):
			active, context, leaf = active.add(number), context.add(number), i
		case plain && n.ParentID != n.ID && (n.ParentID == "" || !named(n.ParentID)):
			active, context, leaf = Runs(nil).add(number), Runs(nil).add(number), i
		default:
			return nil, nil, false
		}
	}
	return active, context, true
}

// leafBefore returns the leaf of the first n entries at hand, -1 if it is not certain.
func (r *Record) leafBefore(n int) int {
	for i := n - 1; i >= 0; i-- {
		switch x := &r.Nodes[i]; {
		case x.Type == TypeLeaf || x.Type == TypeLane:
			if !x.Apart {
				return -1
			}
			return r.lastWith(x.TargetID, n)
		case !x.Aside && !x.Beside && !x.Apart && !r.Hidden.Has(r.left()+i):
			return i
		}
	}
	return -1
}

// lastWith returns the last of the first n entries at hand that has an id, -1 if it is hidden or
// there is none.
func (r *Record) lastWith(id string, n int) int {
	for i := n - 1; i >= 0; i-- {
		if r.Nodes[i].ID == id {
			if r.Hidden.Has(r.left() + i) {
				return -1
			}
			return i
		}
	}
	return -1
}

// isSpecial reports whether the place of an entry depends on more than its parent.
func (n Node) isSpecial() bool { return n.Aside || n.Apart || n.Beside }

// NodeAt returns the index of the entry that begins at the byte offset, or -1.
func (r *Record) NodeAt(offset int64) int {
	own := r.Nodes[r.Inherited:]
	i := sort.Search(len(own), func(i int) bool { return own[i].Offset >= offset })
	if i < len(own) && own[i].Offset == offset {
		return r.Inherited + i
	}
	return -1
}
