package lite

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"
)

// The pages of a tree. A page of a table has rows, ordered by their numbers; a page of an index
// has records that end with the number of a row.
const (
	indexInterior = 2
	tableInterior = 5
	indexLeaf     = 10
	tableLeaf     = 13
)

const maxDepth = 24 // of a tree with 2^32 pages of two cells

// node is a page of a tree.
type node struct {
	data  []byte // of the page
	kind  byte
	cells []byte // two bytes for the offset of each
	right uint32 // the last child of an interior page
}

func (db *DB) node(number uint32, leaf, interior byte) (n node, err error) {
	if n.data, err = db.page(number); err != nil {
		return n, err
	}
	at := 0
	if number == 1 {
		at = headerSize
	}
	head := n.data[at:]
	n.kind = head[0]
	size := 8
	switch n.kind {
	case leaf:
	case interior:
		size, n.right = 12, binary.BigEndian.Uint32(head[8:])
	default:
		return n, ErrDamaged
	}
	count := 2 * int(binary.BigEndian.Uint16(head[3:]))
	if at+size+count > db.usable {
		return n, ErrDamaged
	}
	n.cells = head[size : size+count]
	return n, nil
}

func (n *node) count() int { return len(n.cells) / 2 }

// cell returns what begins at the offset of a cell.
func (n *node) cell(i int) ([]byte, error) {
	at := int(binary.BigEndian.Uint16(n.cells[2*i:]))
	if at < 8 || at > len(n.data)-4 {
		return nil, ErrDamaged
	}
	return n.data[at:], nil
}

// child returns the page before a cell of an interior page, or the last one, and the rest of the cell.
func (n *node) child(i int) (page uint32, rest []byte, err error) {
	if i == n.count() {
		return n.right, nil, nil
	}
	c, err := n.cell(i)
	if err != nil {
		return 0, nil, err
	}
	return binary.BigEndian.Uint32(c), c[4:], nil
}

// varint reads a number of one to nine bytes.
func varint(b []byte) (v uint64, rest []byte, err error) {
	for i := range min(9, len(b)) {
		if i == 8 {
			return v<<8 | uint64(b[8]), b[9:], nil
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, b[i+1:], nil
		}
	}
	return 0, nil, ErrDamaged
}

// payload is the record of a cell. What does not fit into the cell is read when it is needed.
type payload struct {
	db   *DB
	size int
	data []byte // the first bytes
	next uint32 // page with more of it; 0 for none
	left *int   // pages that may still be read, of all records of a scan
	page []byte // memory for one of them
}

// payload begins to read the record of a cell.
func (db *DB) payload(cell []byte, size uint64, ofTable bool, left *int) (p payload, err error) {
	if size > longestValue || size > uint64(db.pages)*uint64(db.usable) {
		return p, ErrDamaged
	}
	p = payload{db: db, size: int(size), left: left}
	most := db.usable - 35
	if !ofTable {
		most = (db.usable-12)*64/255 - 23
	}
	local := p.size
	if p.size > most {
		least := (db.usable-12)*32/255 - 23
		if local = least + (p.size-least)%(db.usable-4); local > most {
			local = least
		}
		if len(cell) < local+4 {
			return p, ErrDamaged
		}
		p.next = binary.BigEndian.Uint32(cell[local:])
	}
	if len(cell) < local {
		return p, ErrDamaged
	}
	p.data = cell[:local:local]
	return p, nil
}

// to returns the first bytes of the record.
func (p *payload) to(n int) ([]byte, error) {
	if n < 0 || n > p.size {
		return nil, ErrDamaged
	}
	for len(p.data) < n {
		if *p.left--; *p.left < 0 {
			return nil, ErrDamaged
		}
		if p.page == nil {
			p.page = make([]byte, p.db.pageSize)
		}
		page := p.page
		if err := p.db.read(p.next, page); err != nil {
			return nil, err
		}
		if cap(p.data) < n {
			p.data = slices.Grow(p.data, min(n-len(p.data), 2*len(p.data)+p.db.usable))
		}
		p.next = binary.BigEndian.Uint32(page)
		p.data = append(p.data, page[4:min(p.db.usable, 4+p.size-len(p.data))]...)
	}
	return p.data[:n], nil
}

// Kind is the type of a Value.
type Kind uint8

// The kinds, in the order in which SQLite sorts values.
const (
	Null Kind = iota
	Int
	Float
	Text
	Blob
)

// Value is what a row has in a column.
type Value struct {
	Kind  Kind
	Int   int64
	Float float64
	Bytes []byte // of a text or a blob
}

// String returns the text, "" for other values.
func (v Value) String() string {
	if v.Kind != Text {
		return ""
	}
	return string(v.Bytes)
}

// record has the types of the values in a payload.
type record struct {
	payload
	types []uint64
	begin int // where the values begin
}

func (p payload) record() (r record, err error) {
	r.payload = p
	head, err := p.to(min(9, p.size))
	if err != nil {
		return r, err
	}
	size, rest, err := varint(head)
	if err != nil || size > uint64(p.size) || size > 1<<17 {
		return r, ErrDamaged
	}
	used := len(head) - len(rest)
	if r.begin = int(size); r.begin < used {
		return r, ErrDamaged
	}
	if head, err = r.to(r.begin); err != nil {
		return r, err
	}
	for rest = head[used:]; len(rest) > 0; {
		var typ uint64
		if typ, rest, err = varint(rest); err != nil {
			return r, err
		}
		r.types = append(r.types, typ)
	}
	return r, nil
}

// value returns the value in a column. A row that is older than the column has none.
func (r *record) value(column int) (v Value, err error) {
	if column >= len(r.types) {
		return v, nil
	}
	at := r.begin
	for _, typ := range r.types[:column] {
		if at += length(typ); at > r.size {
			return v, ErrDamaged
		}
	}
	typ := r.types[column]
	n := length(typ)
	if n > r.size-at {
		return v, ErrDamaged
	}
	b, err := r.to(at + n)
	if err != nil {
		return v, err
	}
	b = b[at:]
	switch {
	case typ == 0:
	case typ <= 6:
		v.Kind, v.Int = Int, int64(int8(b[0]))
		for _, c := range b[1:] {
			v.Int = v.Int<<8 | int64(c)
		}
	case typ == 7:
		v.Kind, v.Float = Float, math.Float64frombits(binary.BigEndian.Uint64(b))
	case typ <= 9:
		v.Kind, v.Int = Int, int64(typ-8)
	case typ < 12:
		return v, ErrDamaged
	case typ%2 == 0:
		v.Kind, v.Bytes = Blob, b
	default:
		v.Kind, v.Bytes = Text, b
	}
	return v, nil
}

// length is how many bytes a value of a type has.
func length(typ uint64) int {
	switch {
	case typ < 5:
		return int(typ)
	case typ == 5:
		return 6
	case typ < 8:
		return 8
	case typ < 12:
		return 0
	}
	return int(min((typ-12)/2, longestValue+1))
}

// stop ends a walk.
type stop struct{}

func (stop) Error() string { return "stop" }

// rows visits the records of a table in the order of their numbers.
func (db *DB) rows(number uint32, depth int, left *int, visit func(id int64, p payload) error) error {
	if *left--; *left < 0 || depth > maxDepth {
		return ErrDamaged
	}
	n, err := db.node(number, tableLeaf, tableInterior)
	if err != nil {
		return err
	}
	if n.kind == tableInterior {
		for i := range n.count() + 1 {
			page, _, err := n.child(i)
			if err == nil {
				err = db.rows(page, depth+1, left, visit)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for i := range n.count() {
		c, err := n.cell(i)
		if err != nil {
			return err
		}
		id, p, err := db.row(c, left)
		if err == nil {
			err = visit(id, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// row reads a cell of a table.
func (db *DB) row(cell []byte, left *int) (id int64, p payload, err error) {
	size, rest, err := varint(cell)
	if err != nil {
		return 0, p, err
	}
	number, rest, err := varint(rest)
	if err != nil {
		return 0, p, err
	}
	p, err = db.payload(rest, size, true, left)
	return int64(number), p, err
}

// find returns the record of a table with a number. ok is false if there is none.
func (db *DB) find(root uint32, id int64, left *int) (p payload, ok bool, err error) {
	for range maxDepth {
		n, err := db.node(root, tableLeaf, tableInterior)
		if err != nil {
			return p, false, err
		}
		for low, high := 0, n.count(); ; {
			i := (low + high) / 2
			if low == high && n.kind == tableInterior {
				if root, _, err = n.child(low); err != nil {
					return p, false, err
				}
				break
			}
			if low == high {
				return p, false, nil
			}
			c, err := n.cell(i)
			if err != nil {
				return p, false, err
			}
			c = c[4*int(1-n.kind/tableLeaf):]
			if n.kind == tableLeaf {
				if _, c, err = varint(c); err != nil {
					return p, false, err
				}
			}
			number, _, err := varint(c)
			if err != nil {
				return p, false, err
			}
			switch own := int64(number); {
			case own == id && n.kind == tableLeaf:
				c, _ := n.cell(i)
				_, p, err = db.row(c, left)
				return p, err == nil, err
			case own < id:
				low = i + 1
			default:
				high = i
			}
		}
	}
	return p, false, ErrDamaged
}

// index visits the records of an index in its order: those for which compare returns 0, and no others if they are
// together in the index.
func (db *DB) index(number uint32, depth int, left *int, compare func(*record) (int, error), visit func(*record) error) error {
	if *left--; *left < 0 || depth > maxDepth {
		return ErrDamaged
	}
	n, err := db.node(number, indexLeaf, indexInterior)
	if err != nil {
		return err
	}
	for i := range n.count() + 1 {
		var c []byte
		var child uint32
		var r record
		isCell, order := i < n.count(), 1 // behind the last cell, all is greater
		if n.kind == indexInterior {
			child, c, err = n.child(i)
		} else if isCell {
			c, err = n.cell(i)
		}
		if err == nil && isCell {
			if r, err = db.entry(c, left); err == nil {
				order, err = compare(&r)
			}
		}
		if err == nil && child > 0 && order >= 0 {
			err = db.index(child, depth+1, left, compare, visit)
		}
		switch {
		case err != nil:
			return err
		case order > 0 && isCell:
			return stop{}
		case order == 0:
			if err := visit(&r); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry reads a cell of an index.
func (db *DB) entry(cell []byte, left *int) (r record, err error) {
	size, rest, err := varint(cell)
	if err != nil {
		return r, err
	}
	p, err := db.payload(rest, size, false, left)
	if err == nil {
		r, err = p.record()
	}
	if err == nil && len(r.types) < 2 {
		err = ErrDamaged
	}
	return r, err
}

// row returns the number of the row that an entry of an index is about.
func (r *record) row() (int64, error) {
	v, err := r.value(len(r.types) - 1)
	if err == nil && v.Kind != Int {
		err = ErrDamaged
	}
	return v.Int, err
}

// compareWith returns how the first value of a record compares with a text.
func compareWith(text []byte) func(*record) (int, error) {
	return func(r *record) (int, error) {
		v, err := r.value(0)
		if v.Kind == Text {
			return bytes.Compare(v.Bytes, text), err
		}
		return cmp.Compare(v.Kind, Text), err
	}
}

// Row is a row of a table: its number, and what it has in the columns that were asked for. It is
// valid until the next one.
type Row struct {
	ID     int64
	Values []Value
}

// Rows returns the rows of a table that have a text in a column, or all with "" for the column. If
// an index begins with the column, it is used, and the rows come in its order. Columns that
// the table does not have are Null, and so are those that rows are older than.
func (db *DB) Rows(table, column, text string, columns ...string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := db.scan(table, column, text, columns, func(r Row) error {
			if !yield(r, nil) {
				return stop{}
			}
			return nil
		})
		if err != nil && err != (stop{}) {
			yield(Row{}, err)
		}
	}
}

func (db *DB) scan(name, column, text string, columns []string, visit func(Row) error) error {
	t, err := db.described(name)
	if err != nil {
		return err
	}
	filter, at := t.place(column), make([]int, len(columns))
	for i, c := range columns {
		at[i] = t.place(c)
	}
	left := int(db.pages) + 1
	row := Row{Values: make([]Value, len(at))}
	read := func(id int64, p payload) error {
		row.ID = id
		r, err := p.record()
		if err != nil {
			return err
		}
		if column != "" {
			if v, err := r.value(filter); err != nil || v.Kind != Text || string(v.Bytes) != text {
				return err
			}
		}
		for i, place := range at {
			if row.Values[i], err = t.value(&r, place, id); err != nil {
				return err
			}
		}
		return visit(row)
	}
	for _, x := range db.indexes(t) {
		pages := left
		if column == "" { // all that is wanted may be in the index, which is shorter
			if at, ok := x.places(columns); ok {
				return db.index(x.root, 0, &pages, func(*record) (int, error) { return 0, nil }, func(r *record) (err error) {
					for i, place := range at {
						if row.Values[i], err = r.value(place); err != nil {
							return err
						}
					}
					if row.ID, err = r.row(); err != nil {
						return err
					}
					return visit(row)
				})
			}
		} else if x.columns[0] == strings.ToLower(column) {
			return db.index(x.root, 0, &pages, compareWith([]byte(text)), func(r *record) error {
				id, err := r.row()
				if err != nil {
					return err
				}
				p, ok, err := db.find(t.root, id, &left)
				if err != nil || !ok {
					return cmp.Or(err, ErrDamaged)
				}
				return read(id, p)
			})
		}
	}
	return db.rows(t.root, 0, &left, read)
}

// Get returns what a row has in the columns; nil if there is no row of this number.
func (db *DB) Get(name string, id int64, columns ...string) ([]Value, error) {
	t, err := db.described(name)
	if err != nil {
		return nil, err
	}
	left := int(db.pages) + 1
	p, ok, err := db.find(t.root, id, &left)
	if err != nil || !ok {
		return nil, err
	}
	r, err := p.record()
	values := make([]Value, len(columns))
	for i := 0; i < len(columns) && err == nil; i++ {
		values[i], err = t.value(&r, t.place(columns[i]), id)
	}
	return values, err
}
