package record

import (
	"sort"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// Outline is a session record whose entries are decoded one by one, as they are asked
// for: hits show a few entries of a long session. It may be used by several goroutines.
type Outline struct {
	Record session.Record // without Nodes

	nodes nodes
}

// Entry is an entry of a session record and its place in the tree.
type Entry struct {
	session.Node
	Active    bool // on the active branch
	InContext bool // part of what pi restores for the model
}

// At returns the entry that begins at the byte offset; false if none does.
func (o *Outline) At(offset int64) (Entry, bool) { return o.Walk().At(offset) }

// Before returns the last entry that begins before the byte offset; false if none does.
func (o *Outline) Before(offset int64) (last Entry, ok bool) {
	w := o.Walk()
	if g := w.groupOf(offset - 1); g < 0 || !w.enter(g, offset) {
		return Entry{}, false
	}
	for last = w.entry; w.left > 0; last = w.entry {
		if w.next(); w.entry.Offset >= offset {
			break
		}
	}
	return last, !w.d.Failed()
}

// The entries of a record are stored in groups that can be decoded separately:
//
//	strings  types and roles, without repetition
//	uint     number of entries
//	for each group of nodeGroup entries:
//	         fixed offset of its first entry, fixed start of the group in the string
//	string   the groups: for each entry, numbers relative to the entry before in the group,
//	         uint flags, uint type, uint role, string id,
//	         string parent unless a flag says none or the entry before,
//	         string target and string first kept when flagged,
//	         int time, int offset, int length, int line
const (
	nodeHasParent   = 1 << iota // the entry has a parentId key
	nodeParentNamed             // the parent id follows
	nodeParentAbove             // the parent is the entry before
	nodeTarget
	nodeFirstKept
	nodeActive
	nodeInContext

	nodeGroup    = 32
	groupRowLen  = 16
	minNodeLen   = 8
	minGroupsLen = groupRowLen + minNodeLen
)

// nodes are the entries of a record, encoded.
type nodes struct {
	names  []string
	count  int
	groups string // the table of groups
	rows   string
}

func appendNodes(b []byte, r *session.Record) []byte {
	var names []string
	number := make(map[string]uint64)
	for i := range r.Nodes {
		for _, s := range [2]string{r.Nodes[i].Type, r.Nodes[i].Role} {
			if _, ok := number[s]; !ok {
				number[s] = uint64(len(names))
				names = append(names, s)
			}
		}
	}
	b = format.AppendStrings(b, names)
	b = format.AppendUint(b, uint64(len(r.Nodes)))

	tree := r.Tree()
	var rows []byte
	var above *session.Node
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if i%nodeGroup == 0 {
			b = format.AppendFixed(b, uint64(n.Offset))
			b = format.AppendFixed(b, uint64(len(rows)))
			above = &session.Node{}
		}
		flag := func(bit uint64, set bool) uint64 {
			if set {
				return bit
			}
			return 0
		}
		isAbove := n.ParentID != "" && n.ParentID == above.ID
		isNamed := n.ParentID != "" && !isAbove
		flags := flag(nodeHasParent, n.HasParent) | flag(nodeParentAbove, isAbove) | flag(nodeParentNamed, isNamed) |
			flag(nodeTarget, n.TargetID != "") | flag(nodeFirstKept, n.FirstKept != "") |
			flag(nodeActive, tree.Active(i)) | flag(nodeInContext, tree.InContext(i))
		rows = format.AppendUint(rows, flags)
		rows = format.AppendUint(rows, number[n.Type])
		rows = format.AppendUint(rows, number[n.Role])
		rows = format.AppendString(rows, n.ID)
		if isNamed {
			rows = format.AppendString(rows, n.ParentID)
		}
		if n.TargetID != "" {
			rows = format.AppendString(rows, n.TargetID)
		}
		if n.FirstKept != "" {
			rows = format.AppendString(rows, n.FirstKept)
		}
		rows = format.AppendInt(rows, n.Time-above.Time)
		rows = format.AppendInt(rows, n.Offset-above.Offset)
		rows = format.AppendInt(rows, int64(n.Length))
		rows = format.AppendInt(rows, int64(n.Line)-int64(above.Line))
		above = n
	}
	b = format.AppendUint(b, uint64(len(rows)))
	return append(b, rows...)
}

// nodes reads the entries that follow without decoding them.
func (d *decoder) nodes() (n nodes) {
	n.names = d.Strings()
	count := d.Uint()
	groups := count / nodeGroup
	if count%nodeGroup > 0 {
		groups++
	}
	if left := uint64(d.Left()); groups > left/minGroupsLen || count > left/minNodeLen {
		d.Fail()
		return nodes{}
	}
	n.count = int(count)
	n.groups = d.Bytes(int(groups) * groupRowLen)
	n.rows = d.String()
	return n
}

// group returns the offset of the first entry of a group, and the start of the group.
func (n *nodes) group(g int) (offset int64, start uint64) {
	d := format.NewDecoder(n.groups[g*groupRowLen:])
	return int64(d.Fixed()), d.Fixed()
}

// all decodes all entries.
func (n *nodes) all() ([]session.Node, error) {
	if n.count == 0 {
		if n.rows != "" {
			return nil, errRecord
		}
		return nil, nil
	}
	list := make([]session.Node, n.count)
	d := decoder{format.NewDecoder(n.rows)}
	e := Entry{}
	for i := range list {
		if i%nodeGroup == 0 {
			offset, start := n.group(i / nodeGroup)
			if start != uint64(d.Offset()) {
				return nil, errRecord
			}
			e = Entry{}
			d.node(&e, n.names)
			if e.Offset != offset {
				return nil, errRecord
			}
		} else {
			d.node(&e, n.names)
		}
		list[i] = e.Node
	}
	if !d.Done() {
		return nil, errRecord
	}
	return list, nil
}

// groupOf returns the group of the last entry at or before the offset, -1 if there is none.
func (n *nodes) groupOf(offset int64) int {
	return sort.Search(len(n.groups)/groupRowLen, func(g int) bool {
		first, _ := n.group(g)
		return first > offset
	}) - 1
}

// A Walk finds entries of an outline. It is fast if their offsets ascend. It is used by
// one goroutine.
type Walk struct {
	*nodes
	last  int // the group that was decoded last, -1 at first
	left  int // entries of it that are not decoded
	d     decoder
	entry Entry
}

// Walk returns a new Walk.
func (o *Outline) Walk() *Walk { return &Walk{nodes: &o.nodes, last: -1} }

// At is Outline.At.
func (w *Walk) At(offset int64) (Entry, bool) {
	if g := w.groupOf(offset); g < 0 || !w.enter(g, offset) {
		return Entry{}, false
	}
	for w.left > 0 && w.entry.Offset < offset {
		w.next()
	}
	return w.entry, w.entry.Offset == offset && !w.d.Failed()
}

// enter begins to decode a group, unless the entry at the offset is still ahead in it.
func (w *Walk) enter(g int, offset int64) bool {
	if g == w.last && w.entry.Offset <= offset {
		return true
	}
	_, start := w.group(g)
	if start > uint64(len(w.rows)) {
		return false
	}
	w.last, w.left, w.d, w.entry = g, min(nodeGroup, w.count-g*nodeGroup), decoder{format.NewDecoder(w.rows[start:])}, Entry{}
	w.next()
	return true
}

func (w *Walk) next() {
	w.d.node(&w.entry, w.names)
	w.left--
}

// node decodes the next entry of a group over the one before.
func (d *decoder) node(e *Entry, names []string) {
	name := func() string {
		i := d.Uint()
		if i >= uint64(len(names)) {
			d.Fail()
			return ""
		}
		return names[i]
	}
	above := e.ID
	flags := d.Uint()
	e.HasParent = flags&nodeHasParent != 0
	e.Active, e.InContext = flags&nodeActive != 0, flags&nodeInContext != 0
	e.Type, e.Role = name(), name()
	e.ID = d.String()
	e.ParentID, e.TargetID, e.FirstKept = "", "", ""
	switch {
	case flags&nodeParentAbove != 0:
		e.ParentID = above
	case flags&nodeParentNamed != 0:
		e.ParentID = d.String()
	}
	if flags&nodeTarget != 0 {
		e.TargetID = d.String()
	}
	if flags&nodeFirstKept != 0 {
		e.FirstKept = d.String()
	}
	e.Time += d.Int()
	e.Offset += d.Int()
	e.Length = int(d.Int())
	e.Line += int(d.Int())
}
