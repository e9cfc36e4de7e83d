package record

import (
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

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
	InContext bool // part of what its agent restores for the model
	Context   session.Context
}

// At returns the entry that begins at the byte offset; false if none does.
func (o *Outline) At(offset int64) (Entry, bool) { return o.Walk().At(offset) }

// First returns the first entry; false if there is none.
func (o *Outline) First() (Entry, bool) {
	w := o.Walk()
	if w.count > 0 {
		w.enter(0, 0)
	}
	return w.entry, w.count > 0 && !w.rows.Failed()
}

// Before returns the last entry that begins before the byte offset; false if none does.
func (o *Outline) Before(offset int64) (last Entry, ok bool) {
	w := o.Walk()
	g := w.groupOf(offset - 1)
	if g < 0 {
		return Entry{}, false
	}
	w.enter(g, offset)
	for last = w.entry; w.left > 0; last = w.entry {
		w.next()
		if w.entry.Offset >= offset {
			break
		}
	}
	return last, !w.rows.Failed()
}

// From visits the entries from the one that begins at the byte offset on; none if none does.
func (o *Outline) From(offset int64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		w := o.Walk()
		_, ok := w.At(offset)
		for ; ok && !w.rows.Failed() && yield(w.entry); ok = w.forward() {
		}
	}
}

// Abandon does what Abandon of session.Record does.
func (o *Outline) Abandon(line int) error {
	if line == 0 {
		return nil
	}
	r, err := o.Record, error(nil)
	if r.Nodes, err = o.nodes.all(0); err == nil {
		r.Abandon(line)
		o.nodes.active, o.nodes.inContext = r.Marks()
	}
	return err
}

// The entries of a record are stored in groups of nodeGroup entries that can be decoded
// separately. All but the last of them are in pieces of pieceEntries entries, which are
// stored apart and never change:
//
//	uint     SchemaVersion
//	groups
//
// and the record has
//
//	strings  types, roles and tools, without repetition
//	uint     number of entries
//	uint     number of pieces
//	runs     of the entries on the active branch
//	runs     of the entries in the context: uint how many numbers follow, each uint the
//	         difference from the one before
//	groups   of the entries that are in no piece
//
// where groups are
//
//	uint     number of groups
//	for each group: fixed offset of its first entry, fixed start of the group in the string
//	string   the groups: for each entry, numbers relative to the entry before in the group,
//	         uint flags, uint type, uint role, string id,
//	         string parent unless a flag says none or the entry before,
//	         string target, string first kept, string message, uint tool and uint step when flagged,
//	         int time, int offset, int length, int line
const (
	nodeHasParent   = 1 << iota // the entry has a parentId key
	nodeParentNamed             // the parent id follows
	nodeParentAbove             // the parent is the entry before
	nodeTarget
	nodeFirstKept
	nodeMessage
	nodeMessageAbove // it is that of the entry before
	nodeAside
	nodeApart
	nodeBeside
	nodeTool
	nodeStep

	nodeGroup    = 32
	pieceGroups  = 32
	pieceEntries = nodeGroup * pieceGroups
	groupRowLen  = 16
	minNodeLen   = 8
)

// nodes are the entries of a record, encoded.
type nodes struct {
	names             []string
	count             int
	active, inContext session.Runs
	contexts          session.Contexts
	parts             []nodeGroups // the pieces, and the rest
}

// nodeGroups are encoded groups of entries: the table that finds them, and their rows.
type nodeGroups struct {
	table string
	rows  string
}

// writeNodes writes the entries of a record that are in no piece. It returns the pieces
// of the others, from number first on.
func (c *coder) writeNodes(r *session.Record, known *session.Known, first int) (pieces [][]byte) {
	names := slices.Clone(known.Names)
	c.numbers = make(map[string]uint64)
	for i, s := range names {
		c.numbers[s] = uint64(i)
	}
	add := func(s string) {
		if _, ok := c.numbers[s]; !ok {
			c.numbers[s] = uint64(len(names))
			names = append(names, s)
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		add(n.Type)
		add(n.Role)
		if n.Tool != "" {
			add(n.Tool)
		}
	}
	for i := first; i < known.Pieces; i++ {
		at := i*pieceEntries - known.Left
		piece := coder{out: format.AppendUint(nil, format.SchemaVersion), writes: true, numbers: c.numbers}
		piece.writeGroups(r.Nodes[at : at+pieceEntries])
		pieces = append(pieces, format.Seal(piece.out))
	}
	known.Entries, known.Names = r.Len(), names
	known.Active, known.InContext = r.Marks()
	known.Moved = false
	c.strings(&names)
	count(c, &known.Entries)
	count(c, &known.Pieces)
	c.runs(&known.Active)
	c.runs(&known.InContext)
	c.writeGroups(r.Nodes[known.Pieces*pieceEntries-known.Left:])
	return pieces
}

func (c *coder) writeGroups(list []session.Node) {
	c.out = format.AppendUint(c.out, uint64(groupsOf(len(list))))
	rows := coder{writes: true, numbers: c.numbers}
	var above *session.Node
	for i := range list {
		n := &list[i]
		if i%nodeGroup == 0 {
			c.out = format.AppendFixed(c.out, uint64(n.Offset))
			c.out = format.AppendFixed(c.out, uint64(len(rows.out)))
			above = &session.Node{}
		}
		rows.writeNode(n, above)
		above = n
	}
	c.out = format.AppendString(c.out, string(rows.out))
}

func groupsOf(entries int) int { return (entries + nodeGroup - 1) / nodeGroup }

// writeNode writes an entry that follows another one in its group. Reading is apart from it,
// because most of the time of an answer with many entries goes into that.
func (c *coder) writeNode(n, above *session.Node) {
	isAbove := n.ParentID != "" && n.ParentID == above.ID
	isNamed := n.ParentID != "" && !isAbove
	isMessage := n.Message != "" && n.Message != above.Message
	flags := flag(n.HasParent, nodeHasParent) | flag(isAbove, nodeParentAbove) | flag(isNamed, nodeParentNamed) |
		flag(n.TargetID != "", nodeTarget) | flag(n.FirstKept != "", nodeFirstKept) |
		flag(isMessage, nodeMessage) | flag(n.Message != "" && !isMessage, nodeMessageAbove) |
		flag(n.Aside, nodeAside) | flag(n.Apart, nodeApart) | flag(n.Beside, nodeBeside) |
		flag(n.Tool != "", nodeTool) | flag(n.Step != session.Talk, nodeStep)
	for _, v := range [...]uint64{uint64(flags), c.numbers[n.Type], c.numbers[n.Role]} {
		c.out = format.AppendUint(c.out, v)
	}
	c.out = format.AppendString(c.out, n.ID)
	for _, s := range [...]struct {
		text  string
		isSet bool
	}{{n.ParentID, isNamed}, {n.TargetID, n.TargetID != ""}, {n.FirstKept, n.FirstKept != ""}, {n.Message, isMessage}} {
		if s.isSet {
			c.out = format.AppendString(c.out, s.text)
		}
	}
	if n.Tool != "" {
		c.out = format.AppendUint(c.out, c.numbers[n.Tool])
	}
	if n.Step != session.Talk {
		c.out = format.AppendUint(c.out, uint64(n.Step))
	}
	for _, v := range [...]int64{n.Time - above.Time, n.Offset - above.Offset, int64(n.Length), int64(n.Line) - int64(above.Line)} {
		c.out = format.AppendInt(c.out, v)
	}
}

// readNode reads the next entry of a group over the one before.
func (c *coder) readNode(n *session.Node) {
	name := func() string {
		i := c.Uint()
		if i >= uint64(len(c.names)) {
			c.Fail()
			return ""
		}
		return c.names[i]
	}
	above := n.ID
	flags := c.Uint()
	n.Type, n.Role = name(), name()
	n.ID = c.String()
	n.ParentID, n.TargetID, n.FirstKept = "", "", ""
	switch {
	case flags&nodeParentAbove != 0:
		n.ParentID = above
	case flags&nodeParentNamed != 0:
		n.ParentID = c.String()
	}
	if flags&nodeTarget != 0 {
		n.TargetID = c.String()
	}
	if flags&nodeFirstKept != 0 {
		n.FirstKept = c.String()
	}
	if flags&nodeMessage != 0 {
		n.Message = c.String()
	} else if flags&nodeMessageAbove == 0 {
		n.Message = ""
	}
	if n.Tool = ""; flags&nodeTool != 0 {
		n.Tool = name()
	}
	if n.Step = session.Talk; flags&nodeStep != 0 {
		n.Step = session.Step(min(c.Uint(), math.MaxUint8))
	}
	n.HasParent, n.Aside = flags&nodeHasParent != 0, flags&nodeAside != 0
	n.Apart, n.Beside = flags&nodeApart != 0, flags&nodeBeside != 0
	n.Time += c.Int()
	n.Offset += c.Int()
	n.Length = int(c.Int())
	n.Line += int(c.Int())
}

// readNodes reads the entries that follow without decoding them. It returns how many pieces
// are stored apart.
func (c *coder) readNodes(n *nodes) (pieces int) {
	c.strings(&n.names)
	count(c, &n.count)
	count(c, &pieces)
	c.runs(&n.active)
	c.runs(&n.inContext)
	rest := c.groups()
	if n.count < pieces*pieceEntries || len(rest.table) != groupRowLen*groupsOf(n.count-pieces*pieceEntries) ||
		len(rest.rows) < minNodeLen*(n.count-pieces*pieceEntries) {
		c.Fail()
	}
	n.parts = []nodeGroups{rest}
	return pieces
}

func (c *coder) groups() (g nodeGroups) {
	g.table = c.Bytes(groupRowLen * c.Items(groupRowLen))
	g.rows = c.String()
	return g
}

// attach adds the pieces that are stored apart, which come before the rest.
func (n *nodes) attach(pieces [][]byte) error {
	var parts []nodeGroups
	for _, b := range pieces {
		c, err := open(b, "entries of a session")
		if err != nil {
			return err
		}
		g := c.groups()
		if !c.Done() || len(g.table) != groupRowLen*pieceGroups || len(g.rows) < minNodeLen*pieceEntries {
			return errRecord
		}
		parts = append(parts, g)
	}
	n.parts = append(parts, n.parts...)
	return nil
}

// rows returns a coder that reads entries.
func (n *nodes) rows(s string) coder { return coder{Decoder: format.NewDecoder(s), names: n.names} }

// known returns the stored state of a record whose parts before number last were left in
// the index.
func (n *nodes) known(last int) *session.Known {
	k := &session.Known{
		Entries: n.count, Names: n.names, Active: n.active, InContext: n.inContext, Pieces: last, Left: last * pieceEntries,
	}
	left := &nodes{names: n.names, count: k.Left, parts: n.parts[:last]}
	k.Mentions = func(id string) bool {
		return slices.ContainsFunc(left.parts, func(g nodeGroups) bool { return strings.Contains(g.rows, id) })
	}
	k.Earlier = func() []session.Node {
		list, err := left.all(0)
		if err != nil {
			panic(err) // the checksums were right
		}
		return list
	}
	return k
}

// group returns the offset of the first entry of a group, and the bytes from there on.
func (n *nodes) group(g int) (offset int64, rows string) {
	part := min(g/pieceGroups, len(n.parts)-1)
	p := &n.parts[part]
	d := format.NewDecoder(p.table[(g-part*pieceGroups)*groupRowLen:])
	offset = int64(d.Fixed())
	return offset, p.rows[min(d.Fixed(), uint64(len(p.rows))):]
}

// all decodes the entries of the parts from number from on.
func (n *nodes) all(from int) (list []session.Node, err error) {
	if left := n.count - from*pieceEntries; left > 0 {
		list = make([]session.Node, 0, left)
	}
	for i, p := range n.parts[from:] {
		entries := pieceEntries
		if i += from; i == len(n.parts)-1 {
			entries = n.count - i*pieceEntries
		}
		table, rows, e := format.NewDecoder(p.table), n.rows(p.rows), session.Node{}
		for k := range entries {
			begins := k%nodeGroup == 0
			if begins {
				e = session.Node{}
			}
			at := rows.Offset()
			rows.readNode(&e)
			if begins && (int64(table.Fixed()) != e.Offset || table.Fixed() != uint64(at)) {
				return nil, errRecord
			}
			list = append(list, e)
		}
		if !rows.Done() {
			return nil, errRecord
		}
	}
	return list, nil
}

// groupOf returns the group of the last entry at or before the offset, -1 if there is none.
func (n *nodes) groupOf(offset int64) int {
	return sort.Search(groupsOf(n.count), func(g int) bool {
		first, _ := n.group(g)
		return first > offset
	}) - 1
}

// A Walk finds entries of an outline. It is fast if their offsets ascend. It is used by
// one goroutine.
type Walk struct {
	*nodes
	last  int // the group that was decoded last, -1 at first
	at    int // the number of the entry
	left  int // entries of the group that are not decoded
	rows  coder
	entry Entry
}

// Walk returns a new Walk.
func (o *Outline) Walk() *Walk { return &Walk{nodes: &o.nodes, last: -1} }

func (w *Walk) At(offset int64) (Entry, bool) {
	g := w.groupOf(offset)
	if g < 0 {
		return Entry{}, false
	}
	w.enter(g, offset)
	for w.left > 0 && w.entry.Offset < offset {
		w.next()
	}
	return w.entry, w.entry.Offset == offset && !w.rows.Failed()
}

// enter begins to decode a group, unless the entry at the offset is still ahead in it.
func (w *Walk) enter(g int, offset int64) {
	if g == w.last && w.entry.Offset <= offset {
		return
	}
	_, rows := w.group(g)
	w.last, w.at, w.left, w.rows, w.entry = g, g*nodeGroup-1, min(nodeGroup, w.count-g*nodeGroup), w.nodes.rows(rows), Entry{}
	w.next()
}

// forward goes to the next entry, if there is one.
func (w *Walk) forward() bool {
	switch {
	case w.left > 0:
		w.next()
	case w.at+1 < w.count:
		w.enter(w.last+1, 0)
	default:
		return false
	}
	return true
}

func (w *Walk) next() {
	w.rows.readNode(&w.entry.Node)
	w.at++
	w.left--
	w.entry.Active, w.entry.InContext = w.active.Has(w.at), w.inContext.Has(w.at)
	if len(w.contexts) > 0 {
		w.entry.Context = w.contexts.At(w.at)
	}
}

// IDs returns the ids of all entries.
func (o *Outline) IDs() []string {
	ids := make([]string, 0, o.nodes.count)
	w := o.Walk()
	if w.count > 0 {
		w.enter(0, 0)
	}
	for more := w.count > 0; more && !w.rows.Failed(); more = w.forward() {
		ids = append(ids, w.entry.ID)
	}
	return ids
}

// MayHaveOther reports whether an entry may have another id that begins with the first n bytes of
// this one. It decodes nothing, and errs on that side.
func (o *Outline) MayHaveOther(id string, n int) bool {
	for _, g := range o.nodes.parts {
		for rows := g.rows; ; {
			at := strings.Index(rows, id[:n])
			if at < 0 {
				break
			}
			if at == 0 || int(rows[at-1]) != len(id) || !strings.HasPrefix(rows[at:], id) { // a string follows its length
				return true
			}
			rows = rows[at+len(id):]
		}
	}
	return false
}
