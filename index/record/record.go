// Package record says how session records, outlines and facts are encoded: everything that
// the index stores about a session file besides its documents. It encodes the Summary (in
// the Table of all files), the record with the tree of entries (Outline decodes entries on
// demand), and the facts (FactSet). Each encoding has a function that writes it and one
// that reads it. Its layout is described above them.
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
	s, ok := format.Unseal(b)
	if !ok {
		return nil, format.Damaged("session record: wrong checksum")
	}
	d := &decoder{format.NewDecoder(s)}
	if v := d.Uint(); v != format.SchemaVersion && !d.Failed() {
		return nil, format.OtherVersion(v)
	}
	first, second := d.String(), d.String()
	if !d.Done() {
		return nil, errRecord
	}
	if second == "" || base {
		second = first
	}
	d = &decoder{format.NewDecoder(second)}
	o := &Outline{}
	n := d.record(&o.Record, &o.nodes)
	if !d.Done() {
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

// appendRecord appends a record and returns the pieces of its entries from number first on.
// known is the state that was stored; it becomes that of this record.
func appendRecord(b []byte, r *session.Record, known *session.Known, first int) (_ []byte, pieces [][]byte) {
	b = appendSummary(b, &r.Summary)

	targets := slices.Sorted(maps.Keys(r.Labels))
	b = format.AppendUint(b, uint64(len(targets)))
	for _, t := range targets {
		b = format.AppendString(b, t)
		b = format.AppendString(b, r.Labels[t])
	}

	b = format.AppendUint(b, uint64(len(r.Problems)))
	for _, p := range r.Problems {
		b = format.AppendInt(b, int64(p.Line))
		b = format.AppendInt(b, p.Offset)
		b = format.AppendString(b, p.Reason)
	}

	b = format.AppendUint(b, uint64(len(r.Blocks)))
	for _, h := range r.Blocks {
		b = format.AppendFixed(b, h)
	}
	b = format.AppendString(b, string(r.Partial))
	b = format.AppendFixed(format.AppendInt(b, r.Volatile.Length), r.Volatile.Hash)
	b = format.AppendString(b, string(r.Memo))
	b = format.AppendUint(b, uint64(len(r.Pending)))
	for _, p := range r.Pending {
		b = format.AppendInt(format.AppendInt(b, p.Offset), int64(p.Documents))
		b = format.AppendString(format.AppendString(format.AppendUint(b, p.Tokens), p.About), p.Name)
	}
	b = appendRuns(b, r.Hidden)
	b = format.AppendUint(b, uint64(len(r.Contexts)))
	for _, c := range r.Contexts {
		b = format.AppendUint(b, uint64(c.Entry))
		for _, s := range [...]string{c.Provider, c.Model, c.CWD, c.Git} {
			b = format.AppendString(b, s)
		}
	}
	b = format.AppendString(b, r.Piece)
	b = format.AppendUint(b, uint64(len(r.Awaited)))
	for _, n := range r.Awaited {
		b = format.AppendString(b, n.Target)
		b = format.AppendString(b, n.Name)
		b = format.AppendInt(b, int64(n.Rank))
	}
	return appendNodes(b, r, known, first)
}

// record decodes a record without its entries. It returns how many pieces of them are
// stored apart.
func (d *decoder) record(r *session.Record, n *nodes) (pieces int) {
	d.summary(&r.Summary)

	if n := d.Items(2); n > 0 {
		r.Labels = make(map[string]string, n)
		for range n {
			target := d.String()
			r.Labels[target] = d.String()
		}
	}

	if n := d.Items(3); n > 0 {
		r.Problems = make([]session.Problem, n)
		for i := range r.Problems {
			p := &r.Problems[i]
			p.Line, p.Offset, p.Reason = int(d.Int()), d.Int(), d.String()
		}
	}

	if n := d.Items(8); n > 0 {
		r.Blocks = make([]uint64, n)
		for i := range r.Blocks {
			r.Blocks[i] = d.Fixed()
		}
	}
	if s := d.String(); s != "" {
		r.Partial = []byte(s)
	}
	r.Volatile = session.Volatile{Length: d.Int(), Hash: d.Fixed()}
	if s := d.String(); s != "" {
		r.Memo = []byte(s)
	}
	for range d.Items(5) {
		r.Pending = append(r.Pending, session.Pending{
			Offset: d.Int(), Documents: int(d.Int()), Tokens: d.Uint(), About: d.String(), Name: d.String(),
		})
	}
	r.Hidden = d.runs()
	for range d.Items(5) {
		r.Contexts = append(r.Contexts, session.ContextsFrom{Entry: d.Count(), Context: session.Context{
			Provider: d.String(), Model: d.String(), CWD: d.String(), Git: d.String(),
		}})
	}
	r.Piece = d.String()
	for range d.Items(3) {
		r.Awaited = append(r.Awaited, session.Naming{Target: d.String(), Name: d.String(), Rank: uint8(d.Int())})
	}
	return d.nodes(n)
}
