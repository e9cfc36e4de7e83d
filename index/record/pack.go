package record

import (
	"pigrep/index/format"
	"pigrep/internal/session"
)

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
		if err := p.decode(kind, []byte(facts[i]), false); err != nil {
			return nil, err
		}
	}
	r.Facts = &session.Facts{}
	p.appendTo(r.Facts)
	return r, nil
}
