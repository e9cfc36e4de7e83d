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
func (o *Outline) At(offset int64) (Entry, bool) {
	if e, ok := o.nodes.before(offset + 1); ok && e.Offset == offset {
		return e, true
	}
	return Entry{}, false
}

// Before returns the last entry that begins before the byte offset; false if none does.
func (o *Outline) Before(offset int64) (Entry, bool) { return o.nodes.before(offset) }

// The entries of a record are stored in groups, each of which can be decoded by itself:
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

// before decodes the last entry that begins before the offset.
func (n *nodes) before(offset int64) (Entry, bool) {
	g := sort.Search(len(n.groups)/groupRowLen, func(g int) bool {
		first, _ := n.group(g)
		return first >= offset
	}) - 1
	if g < 0 {
		return Entry{}, false
	}
	_, start := n.group(g)
	if start > uint64(len(n.rows)) {
		return Entry{}, false
	}
	d := decoder{format.NewDecoder(n.rows[start:])}
	var last, e Entry
	for range min(nodeGroup, n.count-g*nodeGroup) {
		if d.node(&e, n.names); d.Failed() || e.Offset >= offset {
			break
		}
		last = e
	}
	return last, !d.Failed()
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
