package record

import (
	"iter"
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
	return w.entry, w.count > 0 && !w.d.Failed()
}

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

// From visits the entries from the one that begins at the byte offset on; none if none does.
func (o *Outline) From(offset int64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		w := o.Walk()
		_, ok := w.At(offset)
		for ; ok && !w.d.Failed() && yield(w.entry); ok = w.forward() {
		}
	}
}

// Abandon is that of session.Record.
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
//	         string target, string first kept, string message and uint tool when flagged,
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

// appendNodes appends the entries of a record that are in no piece. It returns the pieces
// of the others, from number first on.
func appendNodes(b []byte, r *session.Record, known *session.Known, first int) (_ []byte, pieces [][]byte) {
	names := slices.Clone(known.Names)
	number := make(map[string]uint64)
	for i, s := range names {
		number[s] = uint64(i)
	}
	add := func(s string) {
		if _, ok := number[s]; !ok {
			number[s] = uint64(len(names))
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
		piece := appendGroups(format.AppendUint(nil, format.SchemaVersion), r.Nodes[at:at+pieceEntries], number)
		pieces = append(pieces, format.Seal(piece))
	}
	known.Entries, known.Names = r.Len(), names
	known.Active, known.InContext = r.Marks()
	known.Moved = false
	b = format.AppendStrings(b, names)
	b = format.AppendUint(b, uint64(known.Entries))
	b = format.AppendUint(b, uint64(known.Pieces))
	b = appendRuns(appendRuns(b, known.Active), known.InContext)
	return appendGroups(b, r.Nodes[known.Pieces*pieceEntries-known.Left:], number), pieces
}

func appendRuns(b []byte, runs session.Runs) []byte {
	b = format.AppendUint(b, uint64(len(runs)))
	last := 0
	for _, v := range runs {
		b = format.AppendUint(b, uint64(v-last))
		last = v
	}
	return b
}

func appendGroups(b []byte, list []session.Node, number map[string]uint64) []byte {
	b = format.AppendUint(b, uint64(groupsOf(len(list))))
	var rows []byte
	var above *session.Node
	for i := range list {
		n := &list[i]
		if i%nodeGroup == 0 {
			b = format.AppendFixed(b, uint64(n.Offset))
			b = format.AppendFixed(b, uint64(len(rows)))
			above = &session.Node{}
		}
		rows = appendNode(rows, n, above, number)
		above = n
	}
	return format.AppendString(b, string(rows))
}

func appendNode(rows []byte, n, above *session.Node, number map[string]uint64) []byte {
	flag := func(bit uint64, set bool) uint64 {
		if set {
			return bit
		}
		return 0
	}
	isAbove := n.ParentID != "" && n.ParentID == above.ID
	isNamed := n.ParentID != "" && !isAbove
	isMessage := n.Message != "" && n.Message != above.Message
	flags := flag(nodeHasParent, n.HasParent) | flag(nodeParentAbove, isAbove) | flag(nodeParentNamed, isNamed) |
		flag(nodeTarget, n.TargetID != "") | flag(nodeFirstKept, n.FirstKept != "") |
		flag(nodeMessage, isMessage) | flag(nodeMessageAbove, n.Message != "" && !isMessage) |
		flag(nodeAside, n.Aside) | flag(nodeApart, n.Apart) | flag(nodeBeside, n.Beside) |
		flag(nodeTool, n.Tool != "")
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
	if isMessage {
		rows = format.AppendString(rows, n.Message)
	}
	if n.Tool != "" {
		rows = format.AppendUint(rows, number[n.Tool])
	}
	rows = format.AppendInt(rows, n.Time-above.Time)
	rows = format.AppendInt(rows, n.Offset-above.Offset)
	rows = format.AppendInt(rows, int64(n.Length))
	return format.AppendInt(rows, int64(n.Line)-int64(above.Line))
}

func groupsOf(entries int) int { return (entries + nodeGroup - 1) / nodeGroup }

// nodes reads the entries that follow without decoding them. It returns how many pieces
// are stored apart.
func (d *decoder) nodes(n *nodes) (pieces int) {
	n.names = d.Strings()
	n.count, pieces = d.Count(), d.Count()
	n.active, n.inContext = d.runs(), d.runs()
	rest := d.groups()
	if n.count < pieces*pieceEntries || len(rest.table) != groupRowLen*groupsOf(n.count-pieces*pieceEntries) ||
		len(rest.rows) < minNodeLen*(n.count-pieces*pieceEntries) {
		d.Fail()
	}
	n.parts = []nodeGroups{rest}
	return pieces
}

func (d *decoder) runs() (runs session.Runs) {
	last := 0
	for range d.Items(1) {
		last += d.Count()
		runs = append(runs, last)
	}
	return runs
}

func (d *decoder) groups() (g nodeGroups) {
	g.table = d.Bytes(groupRowLen * d.Items(groupRowLen))
	g.rows = d.String()
	return g
}

// attach adds the pieces that are stored apart, which come before the rest.
func (n *nodes) attach(pieces [][]byte) error {
	var parts []nodeGroups
	for _, b := range pieces {
		s, ok := format.Unseal(b)
		if !ok {
			return format.Damaged("entries of a session: wrong checksum")
		}
		d := decoder{format.NewDecoder(s)}
		if v := d.Uint(); v != format.SchemaVersion && !d.Failed() {
			return format.OtherVersion(v)
		}
		g := d.groups()
		if !d.Done() || len(g.table) != groupRowLen*pieceGroups || len(g.rows) < minNodeLen*pieceEntries {
			return errRecord
		}
		parts = append(parts, g)
	}
	n.parts = append(parts, n.parts...)
	return nil
}

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
		table, d, e := format.NewDecoder(p.table), decoder{format.NewDecoder(p.rows)}, Entry{}
		for k := range entries {
			begins := k%nodeGroup == 0
			if begins {
				e = Entry{}
			}
			at := d.Offset()
			if d.node(&e, n.names); begins && (int64(table.Fixed()) != e.Offset || table.Fixed() != uint64(at)) {
				return nil, errRecord
			}
			list = append(list, e.Node)
		}
		if !d.Done() {
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
	d     decoder
	entry Entry
}

// Walk returns a new Walk.
func (o *Outline) Walk() *Walk { return &Walk{nodes: &o.nodes, last: -1} }

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
	_, rows := w.group(g)
	w.last, w.at, w.left, w.d, w.entry = g, g*nodeGroup-1, min(nodeGroup, w.count-g*nodeGroup), decoder{format.NewDecoder(rows)}, Entry{}
	w.next()
	return true
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
	w.d.node(&w.entry, w.names)
	w.at++
	w.left--
	w.entry.Active, w.entry.InContext = w.active.Has(w.at), w.inContext.Has(w.at)
	if len(w.contexts) > 0 {
		w.entry.Context = w.contexts.At(w.at)
	}
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
	if flags&nodeMessage != 0 {
		e.Message = d.String()
	} else if flags&nodeMessageAbove == 0 {
		e.Message = ""
	}
	if e.Tool = ""; flags&nodeTool != 0 {
		e.Tool = name()
	}
	e.Aside, e.Apart, e.Beside = flags&nodeAside != 0, flags&nodeApart != 0, flags&nodeBeside != 0
	e.Time += d.Int()
	e.Offset += d.Int()
	e.Length = int(d.Int())
	e.Line += int(d.Int())
}
