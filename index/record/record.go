// Package record says how session records, outlines and facts are encoded: everything that
// the index stores about a session file besides its documents. It encodes the Summary (in
// the Table of all files), the record with the tree of entries (Outline decodes entries on
// demand), and the facts (FactSet). A coder writes and reads records; facts have a function
// for each direction. The layout of each encoding is described above.
//
// The package knows bytes, not where they are stored. It may import index/format and
// internal/session only. Whatever bytes it is given, it returns a value or an error
// that wraps format.ErrDamaged or format.ErrVersion; it neither panics nor allocates
// more than the bytes account for.
package record

import (
	"maps"
	"slices"

	"pigrep/index/format"
	"pigrep/internal/session"
)

// The stored form of a session record:
//
//	uint    SchemaVersion
//	string  the record as of the checkpoint
//	string  the record with an unterminated last line, empty when it is the same
//
// and each of the two:
//
//	summary
//	uint    number of labels, then string target, string label, ordered by target
//	uint    number of problems, then int line, int offset, string reason
//	uint    number of blocks, then fixed each
//	string  partial
//	int     length of the volatile bytes, then fixed hash
//	string  memo of the parser
//	uint    number of pending entries, then int offset, int documents, uint tokens, string about, string name
//	runs    of the entries that are hidden
//	uint    number of contexts, then uint entry, string provider, string model, string cwd, string git
//	string  the last message in pieces
//	uint    number of awaited names, then string target, string name, int rank
//	the entries, as in outline.go
//
// Most entries of a long session are in pieces, which are stored apart.

// Encoded is the stored form of a record.
type Encoded struct {
	Record []byte
	Pieces [][]byte       // those that are not stored yet
	First  int            // number of the first of them
	Known  *session.Known // of the record as of the checkpoint, once these are stored
}

// Encode returns the stored form of a record: base as of the checkpoint, full with
// an unterminated last line, nil when there is none.
func Encode(base, full *session.Record) Encoded {
	e := Encoded{Known: &session.Known{}}
	if base.Known != nil {
		*e.Known = *base.Known
	}
	e.First = e.Known.Pieces
	e.Known.Pieces = max(e.First, (base.Len()-1)/pieceEntries) // one entry at least is in the record
	b := format.AppendUint(nil, format.SchemaVersion)
	stored, pieces := appendRecord(nil, base, e.Known, e.First)
	e.Pieces = pieces
	b = format.AppendString(b, string(stored))
	if full == nil {
		b = format.AppendString(b, "")
	} else {
		known := *e.Known
		stored, _ = appendRecord(nil, full, &known, known.Pieces)
		b = format.AppendString(b, string(stored))
	}
	e.Record = format.Seal(b)
	return e
}

// Pieces reads the first n pieces of the entries of a record.
type Pieces func(n int) ([][]byte, error)

// Decode decodes a stored record: as of the checkpoint if base, else with the
// unterminated last line. The record shares the memory of b and of the pieces.
func Decode(b []byte, base bool, pieces Pieces) (*session.Record, error) {
	o, err := decodeOutline(b, base, pieces)
	if err != nil {
		return nil, err
	}
	if o.Record.Nodes, err = o.nodes.all(0); err != nil {
		return nil, err
	}
	return &o.Record, nil
}

// DecodeToContinue is Decode as of the checkpoint, without decoding the entries in pieces.
func DecodeToContinue(b []byte, pieces Pieces) (*session.Record, error) {
	o, err := decodeOutline(b, true, pieces)
	if err != nil {
		return nil, err
	}
	last := len(o.nodes.parts) - 1
	if o.Record.Nodes, err = o.nodes.all(last); err != nil {
		return nil, err
	}
	o.Record.Known = o.nodes.known(last)
	return &o.Record, nil
}

// DecodeOutline is Decode with an unterminated last line, without decoding the
// entries.
func DecodeOutline(b []byte, pieces Pieces) (*Outline, error) { return decodeOutline(b, false, pieces) }

func decodeOutline(b []byte, base bool, pieces Pieces) (*Outline, error) {
	c, err := open(b, "session record")
	if err != nil {
		return nil, err
	}
	first, second := c.String(), c.String()
	if !c.Done() {
		return nil, errRecord
	}
	if second == "" || base {
		second = first
	}
	c = &coder{Decoder: format.NewDecoder(second)}
	o := &Outline{}
	c.record(&o.Record)
	n := c.readNodes(&o.nodes)
	if !c.Done() {
		return nil, errRecord
	}
	o.nodes.contexts = o.Record.Contexts
	if n == 0 {
		return o, nil
	}
	list, err := pieces(n)
	if err != nil {
		return nil, err
	}
	return o, o.nodes.attach(list)
}

var errRecord = format.Damaged("session record: unreadable")

// open returns a coder that reads what format.Seal has ended. what names it in errors.
func open(sealed []byte, what string) (*coder, error) {
	s, ok := format.Unseal(sealed)
	if !ok {
		return nil, format.Damaged("%s: wrong checksum", what)
	}
	c := &coder{Decoder: format.NewDecoder(s)}
	if v := c.Uint(); v != format.SchemaVersion && !c.Failed() {
		return nil, format.OtherVersion(v)
	}
	return c, nil
}

// appendRecord appends a record and returns the pieces of its entries from number first on.
// known is the state that was stored; it becomes the state of this record.
func appendRecord(b []byte, r *session.Record, known *session.Known, first int) (_ []byte, pieces [][]byte) {
	c := &coder{out: b, writes: true}
	c.record(r)
	pieces = c.writeNodes(r, known, first)
	return c.out, pieces
}

// record codes a record without its entries.
func (c *coder) record(r *session.Record) {
	c.summary(&r.Summary)
	c.labels(&r.Labels)
	list(c, &r.Problems, 3, func(p *session.Problem) {
		number(c, &p.Line)
		number(c, &p.Offset)
		c.text(&p.Reason)
	})
	list(c, &r.Blocks, 8, func(hash *uint64) { fixed(c, hash) })
	c.bytes(&r.Partial)
	number(c, &r.Volatile.Length)
	fixed(c, &r.Volatile.Hash)
	c.bytes(&r.Memo)
	list(c, &r.Pending, 5, func(p *session.Pending) {
		number(c, &p.Offset)
		number(c, &p.Documents)
		natural(c, &p.Tokens)
		c.text(&p.About, &p.Name)
	})
	c.runs(&r.Hidden)
	list(c, &r.Contexts, 5, func(from *session.ContextsFrom) {
		count(c, &from.Entry)
		c.text(&from.Provider, &from.Model, &from.CWD, &from.Git)
	})
	c.text(&r.Piece)
	list(c, &r.Awaited, 3, func(n *session.Naming) {
		c.text(&n.Target, &n.Name)
		number(c, &n.Rank)
	})
}

func (c *coder) labels(labels *map[string]string) {
	targets := slices.Sorted(maps.Keys(*labels))
	list(c, &targets, 2, func(target *string) {
		label := (*labels)[*target]
		c.text(target, &label)
		if !c.writes {
			if *labels == nil {
				*labels = make(map[string]string)
			}
			(*labels)[*target] = label
		}
	})
}

func (c *coder) bytes(v *[]byte) {
	s := string(*v)
	c.text(&s)
	if !c.writes && s != "" {
		*v = []byte(s)
	}
}

func (c *coder) runs(runs *session.Runs) {
	last := 0
	list(c, runs, 1, func(v *int) {
		more := *v - last
		count(c, &more)
		if last += more; !c.writes {
			*v = last
		}
	})
}

// The packed form of a record, for a place without an index:
//
//	string  the record, as of Encode
//	strings the pieces of its entries
//	string  its facts of each of SourceKinds, in one piece; empty when there are none
//
// Like what it consists of, it is checked whatever bytes it is read from.

// Pack returns the packed form of a record, with all of its entries and facts.
func Pack(r *session.Record) []byte {
	all := *r
	all.Known = nil
	e := Encode(&all, nil)
	b := format.AppendString(nil, string(e.Record))
	b = format.AppendUint(b, uint64(len(e.Pieces)))
	for _, piece := range e.Pieces {
		b = format.AppendString(b, string(piece))
	}
	for _, kind := range SourceKinds {
		var facts []byte
		if r.Facts != nil {
			facts = EncodeFacts(kind, r.Facts)
		}
		b = format.AppendString(b, string(facts))
	}
	return b
}

// Unpack is the inverse of Pack.
func Unpack(b []byte) (*session.Record, error) {
	d := format.NewDecoder(string(b))
	stored := d.String()
	var pieces [][]byte
	for range d.Items(1) {
		pieces = append(pieces, []byte(d.String()))
	}
	facts := make([]string, len(SourceKinds))
	for i := range facts {
		facts[i] = d.String()
	}
	if !d.Done() {
		return nil, errRecord
	}
	r, err := Decode([]byte(stored), true, func(n int) ([][]byte, error) {
		if n > len(pieces) {
			return nil, errRecord
		}
		return pieces[:n], nil
	})
	if err != nil {
		return nil, err
	}
	var p Piece
	for i, kind := range SourceKinds {
		if facts[i] == "" {
			continue
		}
		if err := p.decode(kind, []byte(facts[i])); err != nil {
			return nil, err
		}
	}
	r.Facts = &session.Facts{}
	p.appendTo(r.Facts)
	return r, nil
}
